//! Effects: what certctl can do for a certificate, and all that is the same for every one of a kind.

use super::step::{DeedErrorKind, Secret};
use crate::resource::{DeployStep, KeyAlgorithm, RevocationReason};

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

    /// What did not work when it fails, as cert-manager says it; empty where the error says it all.
    pub fn doing(&self) -> &'static str {
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
    pub fn ends_the_run(&self, kind: DeedErrorKind) -> bool {
        match self.place() {
            Place::Here | Place::Account => true,
            Place::Ca => kind.is_our_own(),
            Place::Outside => false,
        }
    }

    fn place(&self) -> Place {
        self.facts().0
    }

    /// The list of all effects: place, stage, and what failed when it fails.
    fn facts(&self) -> (Place, &'static str, &'static str) {
        use Place::{Account, Ca, Here, Outside};
        const ACCOUNT: &str = "Failed to register ACME account";
        const KEY: &str = "Failed to make the private key";
        const PRESENTING: &str = "Error presenting challenge";
        const SECRET: &str = "Failed to write the Secret";
        match self {
            Self::Prepare { .. } => (Here, "checking what is needed", ""),
            Self::GenerateKey { .. } => (Here, "making a private key", KEY),
            Self::ReuseKey => (Here, "taking the live private key", KEY),
            Self::BuildRequest => (Here, "building the CSR", "Failed to generate CSR"),
            Self::ObtainAccountKey | Self::FindAccount | Self::RegisterAccount => {
                (Account, "account", ACCOUNT)
            }
            Self::UpdateContacts => (Account, "account", "Failed to update ACME account"),
            Self::CreateOrder => (Ca, "order", "Failed to create Order"),
            Self::ReadOrder => (Ca, "order", "Failed to retrieve Order resource"),
            Self::ReadAuthorization { .. } => {
                (Ca, "authorizations", "Failed to fetch authorization")
            }
            Self::Locate { .. } => (Outside, "finding the zone", PRESENTING),
            Self::Present { .. } => (Outside, "presenting", PRESENTING),
            Self::SelfCheck { .. } => (Outside, "self-check", ""),
            Self::Accept { .. } => (Ca, "asking the CA to look", "Error accepting challenge"),
            Self::CleanUp { .. } => (Outside, "cleaning up", "Error cleaning up challenge"),
            Self::Finalize => (Ca, "sending the CSR", "Failed to finalize Order"),
            Self::Download => {
                (Ca, "fetching the certificate", "Failed to retrieve signed certificate")
            }
            Self::Publish | Self::PublishTemporary | Self::Rewrite => (Here, "publishing", SECRET),
            Self::Deploy { .. } => (Outside, "deploying", ""),
            Self::Revoke { .. } => (Outside, "revoking", ""),
            Self::SwitchBack { .. } => (Here, "going back", ""),
            Self::RestoreLinks { .. } => (Here, "restoring links", ""),
            Self::DeactivateAccount => (Account, "account", ""),
        }
    }
}
