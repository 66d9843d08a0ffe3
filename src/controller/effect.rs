//! Effects: everything that certctl does for a certificate, and the properties of each kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::secret::Secret;
use crate::resource::{
    CauseKind, ChallengeSpec, DeployTarget, Dns01Target, Doing, Identifier, KeyAlgorithm,
    OrderUrls, PublicKeyDigest, RevocationReason,
};

/// All effects, with what performing them needs beside the manifests. Each may run twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Check every local precondition, before any request.
    Prepare {
        /// Whether challenges will have to be presented.
        solving: bool,
        contents: SecretContents,
        /// The targets of the deployment to come.
        targets: Vec<DeployTarget>,
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
    RegisterAccount {
        contacts: Vec<String>,
    },
    /// POST the contacts to the account.
    UpdateContacts {
        /// The account's URL, here and below.
        account: String,
        contacts: Vec<String>,
    },
    /// newOrder.
    CreateOrder {
        account: String,
        identifiers: Vec<Identifier>,
        /// Empty for none.
        profile: String,
        not_after: Option<Timestamp>,
        /// The certificate that the order replaces, to be named to a CA that has renewalInfo.
        replaces: Option<String>,
    },
    /// GET of the renewal information of a certificate.
    AskForRenewalInformation {
        certificate_id: String,
    },
    /// POST-as-GET of the order.
    ReadOrder {
        account: String,
        url: String,
    },
    /// POST-as-GET of an authorization.
    ReadAuthorization {
        account: String,
        url: String,
    },
    /// Find the zone and name of a DNS-01 challenge's TXT record.
    Locate {
        challenge: Arc<ChallengeSpec>,
    },
    /// Present a challenge.
    Present {
        challenge: Arc<ChallengeSpec>,
        /// The TXT record of a DNS-01 challenge, here and below.
        target: Option<Dns01Target>,
    },
    /// Check the challenge from outside, once.
    SelfCheck {
        challenge: Arc<ChallengeSpec>,
        target: Option<Dns01Target>,
    },
    /// POST to the challenge, so that the CA validates it.
    Accept {
        account: String,
        url: String,
    },
    /// Clean up a challenge.
    CleanUp {
        /// The order's name; it may be a retired one.
        order: String,
        challenge: Arc<ChallengeSpec>,
        target: Option<Dns01Target>,
    },
    /// POST the CSR.
    Finalize {
        account: String,
        urls: OrderUrls,
        /// The CSR in PEM.
        request: String,
    },
    /// Fetch the chain, choose among alternates, and verify it.
    Download {
        account: String,
        url: String,
        /// The preferred topmost issuer; empty for the default chain.
        preferred_chain: String,
        /// The key and the names of the request.
        public_key: PublicKeyDigest,
        identifiers: Vec<Identifier>,
    },
    /// Publish the next key and this chain; where the live files follow the record, store them.
    Publish {
        /// The chain in PEM, leaf first.
        certificate: String,
        revision: u32,
        contents: SecretContents,
        /// The account that ordered.
        account: String,
        /// Whether it has the names of the live certificate.
        renewal: bool,
        /// Whether the CA's limits do not apply to it: ARI asked for it.
        exempt: bool,
    },
    /// Publish the next key with a temporary certificate.
    PublishTemporary {
        revision: u32,
        contents: SecretContents,
    },
    /// Publish the live key and chain again, in the formats of the spec.
    Rewrite {
        revision: u32,
        contents: SecretContents,
    },
    /// Deploy the live files.
    Deploy {
        target: DeployTarget,
        revision: u32,
        /// The fingerprints of newer certificates that it may replace.
        replaces: Vec<String>,
    },
    /// POST revokeCert.
    Revoke {
        /// In PEM.
        certificate: String,
        fingerprint: String,
        reason: RevocationReason,
        signer: RevocationSigner,
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
    /// Publish what is left of the live files, and copies of key and chain, again.
    RestoreFiles {
        revision: u32,
    },
    /// Publish the stored pair that the record names.
    Follow {
        revision: u32,
        fingerprint: String,
        contents: SecretContents,
    },
    /// POST "deactivated" to the account.
    DeactivateAccount {
        account: String,
    },
}

/// What a Secret holds beside key and chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretContents {
    /// The annotations, without those of the leaf.
    pub annotations: BTreeMap<String, String>,
    pub labels: BTreeMap<String, String>,
    /// ca.crt.
    pub authorities: Option<String>,
    /// Keystores and truststores by file name, with alias or profile.
    pub keystores: BTreeMap<&'static str, String>,
}

/// Who signs a revocation (RFC 8555 section 7.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevocationSigner {
    /// The account with this URL; the certificate's own key, where that account is not there any
    /// more or the CA does not take it.
    Account(String),
    /// The certificate's own key, in a set of its Secret: no account is known.
    OwnKey,
    /// The certificate's own key, in PEM.
    Certificate(Secret),
}

/// What must be durable before an effect starts.
///
/// The effects of an issuance rely on nothing but [`Self::Order`] and [`Self::Request`]: a run that
/// is cut before or after one of them goes on from the state of the order at the CA. An account's
/// documents are durable as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReliesOn {
    /// All documents: it does what a record says was requested.
    Record,
    /// The key and the request, of which the CA learns by it; and the order.
    Request,
    /// The URL of the order, and the challenges that owe a clean-up.
    Order,
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

    /// The URL at the CA that it is sent to, if that is one of an order.
    pub fn url(&self) -> Option<&str> {
        let (Self::ReadOrder { url, .. }
        | Self::ReadAuthorization { url, .. }
        | Self::Accept { url, .. }
        | Self::Download { url, .. }
        | Self::Finalize { urls: OrderUrls { finalize_url: url, .. }, .. }) = self
        else {
            return None;
        };
        Some(url)
    }

    /// What must be durable before it starts.
    pub fn relies_on(&self) -> ReliesOn {
        self.facts().3
    }

    /// Whether it works on the account itself, which needs exclusive access.
    pub fn needs_the_account(&self) -> bool {
        self.place() == Place::Account
    }

    /// Whether its requests are signed by a registered account.
    pub fn acts_for_the_account(&self) -> bool {
        self.place() == Place::Ca || matches!(self, Self::UpdateContacts { .. })
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

    /// The list of all effects: place, stage, what failed when it fails, and what it relies on.
    fn facts(&self) -> (Place, &'static str, Doing, ReliesOn) {
        use Place::{Account, Ca, Here, Outside};
        use ReliesOn::{Order, Record, Request};
        match self {
            Self::Prepare { .. } => (Here, "checking the preconditions", Doing::Nothing, Order),
            Self::GenerateKey { .. } => (Here, "making a private key", Doing::MakeKey, Order),
            Self::ReuseKey => (Here, "taking the live private key", Doing::MakeKey, Order),
            Self::BuildRequest => (Here, "building the CSR", Doing::BuildRequest, Order),
            Self::FindAccount | Self::RegisterAccount { .. } => {
                (Account, "account", Doing::RegisterAccount, Order)
            }
            Self::UpdateContacts { .. } => (Account, "account", Doing::UpdateAccount, Order),
            Self::CreateOrder { .. } => (Ca, "order", Doing::CreateOrder, Order),
            Self::ReadOrder { .. } => (Ca, "order", Doing::ReadOrder, Order),
            Self::ReadAuthorization { .. } => {
                (Ca, "authorizations", Doing::ReadAuthorization, Order)
            }
            Self::Locate { .. } => (Outside, "finding the zone", Doing::Present, Order),
            Self::Present { .. } => (Outside, "presenting", Doing::Present, Order),
            Self::SelfCheck { .. } => (Outside, "self-check", Doing::Nothing, Order),
            Self::Accept { .. } => (Ca, "asking the CA to validate", Doing::Accept, Order),
            Self::CleanUp { .. } => (Outside, "cleaning up", Doing::CleanUp, Order),
            Self::Finalize { .. } => (Ca, "sending the CSR", Doing::Finalize, Request),
            Self::Download { .. } => (Ca, "fetching the certificate", Doing::Download, Order),
            Self::Publish { .. } => (Here, "publishing", Doing::WriteSecret, Order),
            Self::PublishTemporary { .. } | Self::Rewrite { .. } | Self::Follow { .. } => {
                (Here, "publishing", Doing::WriteSecret, Record)
            }
            Self::AskForRenewalInformation { .. } => {
                (Outside, "asking when to renew", Doing::Nothing, Order)
            }
            Self::Deploy { .. } => (Outside, "deploying", Doing::Nothing, Record),
            Self::Revoke { .. } => (Outside, "revoking", Doing::Nothing, Record),
            Self::SwitchBack { .. } => (Here, "going back", Doing::Nothing, Record),
            Self::RestoreLinks { .. } => (Here, "restoring links", Doing::Nothing, Record),
            Self::RestoreFiles { .. } => (Here, "restoring files", Doing::WriteSecret, Record),
            Self::ObtainAccountKey | Self::DeactivateAccount { .. } => {
                (Account, "account", Doing::Nothing, Order)
            }
        }
    }
}
