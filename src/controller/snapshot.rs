//! Everything known about one Certificate at one moment.

use std::sync::Arc;

use jiff::SignedDuration;

use super::{Run, fallback};
use crate::resource::{
    Account, BannedKeys, Cause, Certificate, CertificateRecord, CertificateRequest,
    ConditionStatus, ConditionType, Issuer, Issuers, KeyFacts, LeafFacts, Order, PublishedPair,
    Repair, Settings, StoredPair,
};

/// The input of the controllers. Gathered by the engine, never by a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub certificate: Certificate,
    /// The issuers, of which one is asked at a time.
    pub issuers: Issuers,
    /// The Certificate's settings, with those of the first Issuer as defaults.
    pub settings: Settings,
    pub record: CertificateRecord,
    /// What is live; `None` when nothing was ever published.
    pub secret: Option<PublishedPair>,
    /// The repair of its links or files, when servers do not find what was published.
    pub repair: Option<Repair>,
    /// The kept sets, for a rollback.
    pub sets: Vec<StoredPair>,
    /// Digest of all live files; `None` when they were published in this run, or are deployed
    /// nowhere.
    pub files_digest: Option<String>,
    /// What servers do not find in the output folder any more as it was written there.
    pub lost_output: Option<String>,
    /// The request of the live revision.
    pub current_request: Option<CertificateRequest>,
    /// The ACME profile of the order that the live revision was issued by; `None` when that order
    /// is not kept.
    pub issued_profile: Option<String>,
    /// The account of that order.
    pub issued_account: Option<String>,
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
    /// Keys that must not be used again.
    pub banned_keys: BannedKeys,
    /// The polling intervals.
    pub intervals: Intervals,
    /// What happened in this run only.
    pub run: Run,
}

impl Snapshot {
    /// The issuer whose CA is asked now.
    pub fn issuer(&self) -> &Arc<Issuer> {
        fallback::choose(&self.issuers, &self.record)
    }

    /// Whether the Issuing condition is True.
    pub fn is_issuing(&self) -> bool {
        self.record
            .status
            .condition(ConditionType::Issuing)
            .is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// The live leaf, if it can be decoded.
    pub fn live_leaf(&self) -> Option<&LeafFacts> {
        self.secret.as_ref()?.leaf()
    }

    /// There is no account to work on.
    pub fn not_registered(&self) -> Cause {
        Cause::precondition(format!("no account is known at {}", self.issuer().acme.server))
    }

    /// The fingerprints of the newer certificates that the live pair may replace in an output,
    /// after a rollback.
    pub fn replaced(&self) -> &[String] {
        let rollback = self.record.rollback.as_ref().filter(|rollback| !rollback.is_owed());
        let live = self.live_leaf().map(|leaf| leaf.fingerprint.as_str());
        let of_live = rollback.filter(|rollback| Some(rollback.fingerprint.as_str()) == live);
        of_live.map_or(&[], |rollback| &rollback.left)
    }

    /// The revision of the next issuance.
    pub fn next_revision(&self) -> u32 {
        self.record.next_revision()
    }

    /// The order for the next request, made by the current account at the current CA for the
    /// current profile.
    pub fn current_order(&self) -> Option<&Order> {
        let request = self.next_request.as_ref()?;
        let account_url = self.account.as_ref().and_then(|account| account.url.as_deref());
        self.order.as_ref().filter(|order| {
            order.spec.request == request.spec.request
                && order.spec.directory_url == self.issuer().acme.server
                && order.spec.profile == self.issuer().acme.profile
                && Some(order.spec.account_url.as_str()) == account_url
        })
    }

    /// The order whose request is obsolete, if there is one.
    pub fn stale_order(&self) -> Option<&Order> {
        match self.current_order() {
            Some(_) => None,
            None => self.order.as_ref(),
        }
    }
}

/// The polling intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Between two self-checks of one challenge (`--self-check-interval`).
    pub self_check: SignedDuration,
}
