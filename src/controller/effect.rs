//! Effects: everything that certctl does for a certificate, and the properties of each kind.

use super::secret::Secret;
use crate::resource::{CauseKind, DeployStep, Doing, KeyAlgorithm, RevocationReason};

/// All effects. Each may run twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Check every local precondition, before any request.
    Prepare {
        /// Whether challenges will have to be presented.
        solving: bool,
    },
    GenerateKey {
        algorithm: KeyAlgorithm,
        size: u32,
    },
    /// Use the live key.
    ReuseKey,
    /// Build and sign the CSR.
    BuildRequest,
    /// Read the account key from the referenced secret, or generate one.
    ObtainAccountKey,
    /// newAccount with onlyReturnExisting.
    FindAccount,
    /// newAccount.
    RegisterAccount,
    /// POST the contacts to the account.
    UpdateContacts,
    /// newOrder.
    CreateOrder,
    /// POST-as-GET of the order.
    ReadOrder,
    /// POST-as-GET of an authorization.
    ReadAuthorization {
        url: String,
    },
    /// Find the zone and name of a DNS-01 challenge's TXT record.
    Locate {
        /// The challenge's URL, also in the next three.
        url: String,
    },
    /// Present a challenge.
    Present {
        url: String,
    },
    /// Check the challenge from outside, once.
    SelfCheck {
        url: String,
    },
    /// POST to the challenge, so that the CA validates it.
    Accept {
        url: String,
    },
    /// Clean up a challenge.
    CleanUp {
        /// The order's name; it may be a retired one.
        order: String,
        url: String,
    },
    /// POST the CSR.
    Finalize,
    /// Fetch the chain, choose among alternates, and verify it.
    Download,
    /// Publish key and chain.
    Publish,
    /// Publish the next key with a temporary certificate.
    PublishTemporary,
    /// Publish the live key and chain again, in the formats of the spec.
    Rewrite,
    /// Deploy the live files.
    Deploy {
        step: DeployStep,
    },
    /// POST revokeCert.
    Revoke {
        /// In PEM.
        certificate: String,
        fingerprint: String,
        reason: RevocationReason,
        /// The certificate's own key in PEM, which can sign instead of the account's.
        key: Option<Secret>,
    },
    /// Make a kept set live again.
    SwitchBack {
        set: String,
        to: u32,
        /// The previously live revision.
        from: u32,
    },
    /// Repair the links to the live files.
    RestoreLinks {
        /// The set that `..data` must point to; `None` when `..data` is that set, as a folder.
        set: Option<String>,
        revision: u32,
    },
    /// POST "deactivated" to the account.
    DeactivateAccount,
}

/// Where an effect happens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On this machine.
    Here,
    /// At the account: its key, or its state at the CA.
    Account,
    /// At the CA, signed by a registered account.
    Ca,
    /// At a DNS provider, a listener or a deployment target.
    Outside,
}

impl Effect {
    /// The stage of a run with this effect in flight, for progress lines.
    pub fn stage(&self) -> &'static str {
        self.facts().1
    }

    /// What failed when the effect fails.
    pub fn doing(&self) -> Doing {
        self.facts().2
    }

    /// Whether it works on the account itself, which needs exclusive access.
    pub fn needs_the_account(&self) -> bool {
        self.place() == Place::Account
    }

    /// Whether its requests are signed by a registered account.
    pub fn acts_for_the_account(&self) -> bool {
        self.place() == Place::Ca || *self == Self::UpdateContacts
    }

    /// Whether its requests wait for those of the same certificate.
    pub fn goes_to_the_ca(&self) -> bool {
        matches!(self.place(), Place::Account | Place::Ca) || matches!(self, Self::Revoke { .. })
    }

    /// Whether this error ends the run: no response of the CA, and no waiting, helps.
    pub fn ends_the_run(&self, kind: CauseKind) -> bool {
        match self.place() {
            Place::Here | Place::Account => true,
            Place::Ca => matches!(kind, CauseKind::Precondition | CauseKind::State),
            Place::Outside => false,
        }
    }

    fn place(&self) -> Place {
        self.facts().0
    }

    /// The list of all effects: place, stage, and what failed when it fails.
    fn facts(&self) -> (Place, &'static str, Doing) {
        use Place::{Account, Ca, Here, Outside};
        match self {
            Self::Prepare { .. } => (Here, "checking what is needed", Doing::Nothing),
            Self::GenerateKey { .. } => (Here, "making a private key", Doing::MakeKey),
            Self::ReuseKey => (Here, "taking the live private key", Doing::MakeKey),
            Self::BuildRequest => (Here, "building the CSR", Doing::BuildRequest),
            Self::ObtainAccountKey => (Account, "account", Doing::Nothing),
            Self::FindAccount | Self::RegisterAccount => {
                (Account, "account", Doing::RegisterAccount)
            }
            Self::UpdateContacts => (Account, "account", Doing::UpdateAccount),
            Self::CreateOrder => (Ca, "order", Doing::CreateOrder),
            Self::ReadOrder => (Ca, "order", Doing::ReadOrder),
            Self::ReadAuthorization { .. } => (Ca, "authorizations", Doing::ReadAuthorization),
            Self::Locate { .. } => (Outside, "finding the zone", Doing::Present),
            Self::Present { .. } => (Outside, "presenting", Doing::Present),
            Self::SelfCheck { .. } => (Outside, "self-check", Doing::Nothing),
            Self::Accept { .. } => (Ca, "asking the CA to validate", Doing::Accept),
            Self::CleanUp { .. } => (Outside, "cleaning up", Doing::CleanUp),
            Self::Finalize => (Ca, "sending the CSR", Doing::Finalize),
            Self::Download => (Ca, "fetching the certificate", Doing::Download),
            Self::Publish | Self::PublishTemporary | Self::Rewrite => {
                (Here, "publishing", Doing::WriteSecret)
            }
            Self::Deploy { .. } => (Outside, "deploying", Doing::Nothing),
            Self::Revoke { .. } => (Outside, "revoking", Doing::Nothing),
            Self::SwitchBack { .. } => (Here, "going back", Doing::Nothing),
            Self::RestoreLinks { .. } => (Here, "restoring links", Doing::Nothing),
            Self::DeactivateAccount => (Account, "account", Doing::Nothing),
        }
    }
}
