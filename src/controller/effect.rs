//! Effects: what certctl can do for a certificate, and all that is the same for every one of a kind.

use super::secret::Secret;
use crate::resource::{CauseKind, DeployStep, Doing, KeyAlgorithm, RevocationReason};

/// Every effect certctl can have for a certificate. Each may run twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Make sure, before any request, that everything local is in order.
    Prepare {
        /// Whether challenges will have to be presented.
        solving: bool,
    },
    GenerateKey {
        algorithm: KeyAlgorithm,
        /// In bits.
        size: u32,
    },
    /// Take the key that is live.
    ReuseKey,
    /// Build and sign the CSR.
    BuildRequest,
    /// Take the account key from the referenced secret, or make one.
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
    ReadAuthorization { url: String },
    /// Find where a DNS-01 challenge's answer belongs.
    Locate {
        /// The challenge's URL, here as in the next three.
        url: String,
    },
    /// Put a challenge's answer into the world.
    Present { url: String },
    /// Look at the answer from outside, once.
    SelfCheck { url: String },
    /// Tell the CA to look.
    Accept { url: String },
    /// Take a challenge's answer back.
    CleanUp {
        /// Name of the order, which may be a retired one.
        order: String,
        /// The challenge's URL.
        url: String,
    },
    /// POST the CSR.
    Finalize,
    /// Fetch the chain, choose among alternates, and verify it.
    Download,
    /// Put key and chain in place.
    Publish,
    /// Put the next key in place with a temporary certificate.
    PublishTemporary,
    /// Put the live key and chain in place again, in the forms the spec asks for now.
    Rewrite,
    /// Bring the live files to where they are used.
    Deploy { step: DeployStep },
    /// POST revokeCert.
    Revoke {
        /// In PEM.
        certificate: String,
        fingerprint: String,
        reason: RevocationReason,
        /// The certificate's own key in PEM, which any CA takes instead of the account's.
        key: Option<Secret>,
    },
    /// Make a kept set live again.
    SwitchBack {
        set: String,
        /// Its revision.
        to: u32,
        /// The revision that is live until then.
        from: u32,
    },
    /// Put the links to the live files right.
    RestoreLinks {
        /// The set that `..data` is to lead to; `None` when `..data` is that set, as a folder.
        set: Option<String>,
        /// Its revision.
        revision: u32,
    },
    /// POST "deactivated" to the account.
    DeactivateAccount,
}

/// Where an effect takes place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On this machine.
    Here,
    /// At the account: its key, or what the CA knows of it.
    Account,
    /// At the CA, in the name of an account that it knows.
    Ca,
    /// Where a challenge is answered, or where certificates are used.
    Outside,
}

impl Effect {
    /// What a run that has this effect is at, for people who watch.
    pub fn stage(&self) -> &'static str {
        self.facts().1
    }

    /// What did not work when it fails.
    pub fn doing(&self) -> Doing {
        self.facts().2
    }

    /// Whether it works on the account itself, which is done with all others kept out.
    pub fn needs_the_account(&self) -> bool {
        self.place() == Place::Account
    }

    /// Whether the CA is asked in the name of an account that it is to know.
    pub fn acts_for_the_account(&self) -> bool {
        self.place() == Place::Ca || *self == Self::UpdateContacts
    }

    /// Whether its requests wait for those of the same certificate.
    pub fn goes_to_the_ca(&self) -> bool {
        matches!(self.place(), Place::Account | Place::Ca) || matches!(self, Self::Revoke { .. })
    }

    /// Whether a run in which it fails by this ends: no answer of the CA, and no waiting, helps.
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
            Self::ObtainAccountKey | Self::FindAccount | Self::RegisterAccount => {
                (Account, "account", Doing::RegisterAccount)
            }
            Self::UpdateContacts => (Account, "account", Doing::UpdateAccount),
            Self::CreateOrder => (Ca, "order", Doing::CreateOrder),
            Self::ReadOrder => (Ca, "order", Doing::ReadOrder),
            Self::ReadAuthorization { .. } => (Ca, "authorizations", Doing::ReadAuthorization),
            Self::Locate { .. } => (Outside, "finding the zone", Doing::Present),
            Self::Present { .. } => (Outside, "presenting", Doing::Present),
            Self::SelfCheck { .. } => (Outside, "self-check", Doing::Nothing),
            Self::Accept { .. } => (Ca, "asking the CA to look", Doing::Accept),
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
