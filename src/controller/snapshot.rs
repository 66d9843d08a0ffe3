//! All that is known about one Certificate at one moment.

use jiff::SignedDuration;

use super::Run;
use crate::resource::{
    Account, BannedKeys, Certificate, CertificateRecord, CertificateRequest, ConditionStatus,
    ConditionType, Issuer, KeptPair, KeyFacts, LeafFacts, Order, PublishedPair, Repair, Settings,
};

/// What the controllers decide from. Gathered by the engine, never by a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// What the user wants.
    pub certificate: Certificate,
    /// Who issues.
    pub issuer: Issuer,
    /// The Certificate's settings, with the Issuer's as defaults.
    pub settings: Settings,
    /// What is remembered.
    pub record: CertificateRecord,
    /// What is live; `None` when nothing was ever published.
    pub secret: Option<PublishedPair>,
    /// What is wrong with the links to it, when they are to be put right.
    pub repair: Option<Repair>,
    /// The kept sets, where a revision is to go live again.
    pub sets: Vec<KeptPair>,
    /// Digest of all live files; `None` when they were published in this run.
    pub files_digest: Option<String>,
    /// The request of the live revision.
    pub current_request: Option<CertificateRequest>,
    /// The request of the next revision.
    pub next_request: Option<CertificateRequest>,
    /// The next private key; `Err` when it cannot be decoded.
    pub next_key: Option<Result<KeyFacts, String>>,
    /// The account at the issuer's CA.
    pub account: Option<Account>,
    /// The newest order for the next revision.
    pub order: Option<Order>,
    /// Older orders that still owe a clean-up.
    pub retired: Vec<Order>,
    /// How many orders the next revision has had.
    pub order_count: u32,
    /// Digest over everything whose edit may bypass the backoff (DESIGN section 4).
    pub input_digest: String,
    /// Keys that are never used again.
    pub banned_keys: BannedKeys,
    /// The intervals in force.
    pub intervals: Intervals,
    /// What has happened in this run, and is not remembered.
    pub run: Run,
}

impl Snapshot {
    /// Whether the Issuing condition is True.
    pub fn is_issuing(&self) -> bool {
        self.record
            .status
            .condition(ConditionType::Issuing)
            .is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// The leaf that is live, when it can be decoded.
    pub fn live_leaf(&self) -> Option<&LeafFacts> {
        self.secret.as_ref()?.leaf()
    }

    /// The revision that an issuance now would make.
    pub fn next_revision(&self) -> u32 {
        self.record.next_revision()
    }

    /// The order that belongs to the next request, and was made by today's account at today's CA.
    pub fn current_order(&self) -> Option<&Order> {
        let request = self.next_request.as_ref()?;
        let account_url = self.account.as_ref().and_then(|account| account.url.as_deref());
        self.order.as_ref().filter(|order| {
            order.spec.request == request.spec.request
                && order.spec.directory_url == self.issuer.acme.server
                && Some(order.spec.account_url.as_str()) == account_url
        })
    }

    /// The order that belongs to something that is not wanted any more, if there is one.
    pub fn stale_order(&self) -> Option<&Order> {
        match self.current_order() {
            Some(_) => None,
            None => self.order.as_ref(),
        }
    }
}

/// How often things are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Between two self-checks of one challenge (`--self-check-interval`).
    pub self_check: SignedDuration,
}
