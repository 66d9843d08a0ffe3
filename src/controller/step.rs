//! The interface between the controllers and the engine: steps and outcomes.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::Effect;
use super::secret::Secret;
use crate::resource::{
    Account, AuthorizationState, BannedKey, Cause, CauseKind, CertificateRecord,
    CertificateRequest, Challenge, ChallengeSpec, CheckReport, Dns01Target, Doing, Event,
    EventType, Failure, GoDuration, Identifier, KeyFacts, LeafFacts, OfferedChallenge, Order,
    OrderState, Pause, Problem, PublicKeyDigest, Reason, RevocationAnswer, RevokedCertificate,
    Spent,
};

/// What one controller wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing.
    Settled,
    /// Record this, then decide again.
    Record(Record),
    /// Perform these effects, concurrently.
    Act(Vec<Effect>),
    /// Nothing can be done before a time or an event, for which the run waits.
    Wait { until: Option<Timestamp>, wake: Wake, what: Awaited },
    /// Nothing can be done before a time, for which the run does not wait: it ends.
    Defer { until: Timestamp, why: Deferral },
    /// This issuance has failed.
    Fail(Failure),
}

/// The event that ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Only the time.
    Time,
    /// The scheduler grants a slot.
    Slot,
    /// The HTTP-01 responder received a request.
    ChallengeHit,
}

/// What a run waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A free slot for the challenge of this name.
    Slot(Identifier),
    /// The next effect of a challenge, or the verdict on it.
    Challenge(Box<Challenge>),
    /// The end of a challenge's wait instead of a self-check.
    InsteadOfSelfCheck { challenge: Arc<ChallengeSpec>, left: GoDuration },
    /// The CA, which works on the order.
    Ca,
    /// The order that the CA gave, and that a run of another certificate works on.
    OthersOrder,
    /// Its turn among the certificates that ask an account's CA for orders.
    Turn,
    /// The time from which the CA accepts new orders again.
    NewOrder { not_before: Timestamp },
}

/// Why a run ends without having issued what is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// The backoff after failed issuances.
    Backoff {
        /// The number of consecutive failures.
        attempts: u32,
    },
    /// The CA's Retry-After.
    RetryAfter,
    /// A published limit of the CA is used up.
    Limit(Box<Spent>),
    /// The CA cannot be reached for a while, which needs no attention yet.
    Outage(Box<Failure>),
}

impl fmt::Display for Deferral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backoff { .. } => {
                f.write_str("Backing off from issuance due to previously failed issuance(s)")
            }
            Self::RetryAfter => f.write_str("the CA requested a delay (Retry-After)"),
            Self::Limit(usage) => write!(f, "the CA would refuse an order: {usage}"),
            Self::Outage(failure) => write!(f, "{failure}"),
        }
    }
}

/// Changes that belong together, and their events. They are written in this order, and each prefix
/// is a state from which the next run continues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub changes: Vec<Change>,
    /// Events for the journal.
    pub events: Vec<Event>,
}

impl Record {
    /// One change, without an event.
    pub fn of(change: Change) -> Self {
        Self { changes: vec![change], events: Vec::new() }
    }

    /// Adds a Normal event.
    #[must_use]
    pub fn normal(self, time: Timestamp, reason: Reason, message: impl Into<String>) -> Self {
        self.event(time, EventType::Normal, reason, message.into())
    }

    /// Adds a Warning event.
    #[must_use]
    pub fn warning(self, time: Timestamp, reason: Reason, message: impl Into<String>) -> Self {
        self.event(time, EventType::Warning, reason, message.into())
    }

    fn event(mut self, time: Timestamp, kind: EventType, reason: Reason, message: String) -> Self {
        self.events.push(Event { time, kind, reason, message });
        self
    }
}

/// One document to write or remove.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// `status.json`.
    Certificate(Box<CertificateRecord>),
    /// The request of one revision.
    Request(Box<CertificateRequest>),
    /// Remove the request of one revision.
    DropRequest(u32),
    /// An order with its challenges.
    Order(Box<Order>),
    /// The next private key, PKCS#8 PEM.
    NextKey(Secret, KeyFacts),
    /// Remove the next private key.
    DropNextKey,
    /// The account's private key, PKCS#8 PEM, then its account.
    AccountKey(Secret, Box<Account>),
    /// An account. Deactivating it removes its key.
    Account(Box<Account>),
    /// A key that must not be used again.
    Ban(BannedKey),
    /// A certificate that its CA has revoked.
    Revoked(RevokedCertificate),
}

/// The result of an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// `Prepare`: every precondition holds.
    Prepared,
    /// `GenerateKey`, `ReuseKey`: the key.
    Key(Secret, KeyFacts),
    /// `BuildRequest`: the CSR in PEM, and the digest of its key.
    Request(String, PublicKeyDigest),
    /// `ObtainAccountKey`: the key.
    AccountKey {
        pem: Secret,
        public_key: PublicKeyDigest,
        /// Just generated: no CA can know it.
        fresh: bool,
    },
    /// `FindAccount`, `RegisterAccount`, `UpdateContacts`: the account.
    Account {
        url: String,
        /// The contacts that the CA has now.
        contacts: Vec<String>,
        /// The terms of service named in the directory.
        terms_of_service: Option<String>,
    },
    /// `FindAccount`: the CA has none with this key.
    NoAccount,
    /// `CreateOrder`, `ReadOrder`, `Finalize`: the order.
    Order(Box<OrderSeen>),
    /// `CreateOrder`: the order, by its URL, that a run of another certificate works on.
    HeldOrder(String),
    /// `AskForRenewalInformation`: what the CA says.
    RenewalInformation(Box<RenewalInformationSeen>),
    /// `AskForRenewalInformation`: the CA's directory has no renewalInfo.
    NoRenewalInformation,
    /// `ReadAuthorization`: the authorization.
    Authorization(Box<AuthorizationSeen>),
    /// `Locate`: the zone and name.
    Located(Dns01Target),
    /// `Present`: it is presented.
    Presented,
    /// `SelfCheck`: the report.
    Checked(Box<CheckReport>),
    /// `Accept`: the challenge, as the CA returned it.
    Accepted(ChallengeSeen),
    /// `CleanUp`: the challenge is not presented any more.
    CleanedUp,
    /// `Download`: the chain, verified.
    Certificate {
        /// PEM, leaf first.
        pem: String,
        /// The facts of the leaf.
        leaf: Box<LeafFacts>,
    },
    /// `Download`: the chain is for another key than the request's; the error, if that is one.
    OtherKey(EffectError),
    /// `Publish`: key and chain are live, or stored where the live files follow the record.
    Published(Box<LeafFacts>),
    /// `PublishTemporary`: the next key and a temporary certificate are live.
    PublishedTemporary(Box<LeafFacts>),
    /// `Rewrite`: the new formats are live.
    Rewritten,
    /// `Deploy`: done.
    Deployed {
        /// Digest of the deployed files.
        files: String,
    },
    /// `Revoke`: the CA's answer.
    Revoked(RevocationAnswer),
    /// `SwitchBack`, `RestoreLinks`, `RestoreFiles`, `Follow`, `DeactivateAccount`: done.
    Done,
    /// Any effect: it failed.
    Failed(EffectError),
}

impl Outcome {
    /// The variant's name, without its contents.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Key(..) => "key",
            Self::Request(..) => "request",
            Self::AccountKey { .. } => "account key",
            Self::Account { .. } => "account",
            Self::NoAccount => "no account",
            Self::Order(_) => "order",
            Self::HeldOrder(_) => "another certificate's order",
            Self::RenewalInformation(_) => "renewal information",
            Self::NoRenewalInformation => "no renewal information",
            Self::Authorization(_) => "authorization",
            Self::Located(_) => "located",
            Self::Presented => "presented",
            Self::Checked(_) => "checked",
            Self::Accepted(_) => "accepted",
            Self::CleanedUp => "cleaned up",
            Self::Certificate { .. } => "certificate",
            Self::OtherKey(_) => "a certificate for another key",
            Self::Published(_) => "published",
            Self::PublishedTemporary(_) => "published temporarily",
            Self::Rewritten => "rewritten",
            Self::Deployed { .. } => "deployed",
            Self::Revoked(_) => "revoked",
            Self::Done => "done",
            Self::Failed(_) => "failed",
        }
    }
}

/// An order as the CA returned it (RFC 8555 section 7.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderSeen {
    pub url: String,
    pub state: OrderState,
    /// Its authorizations' URLs.
    pub authorizations: Vec<String>,
    /// Where the CSR goes.
    pub finalize_url: String,
    /// Where the certificate is, once there is one.
    pub certificate_url: Option<String>,
    /// When the order expires.
    pub expires: Option<Timestamp>,
    pub problem: Option<Problem>,
    /// The CA's Retry-After before the next read.
    pub retry_after: Option<SignedDuration>,
}

/// The renewal information of a certificate, as the CA returned it (RFC 9773 section 4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewalInformationSeen {
    /// The window for the renewal.
    pub start: Timestamp,
    pub end: Timestamp,
    /// A page that explains the window.
    pub explanation_url: Option<String>,
    /// The CA's Retry-After.
    pub retry_after: Option<SignedDuration>,
}

/// An authorization as the CA returned it (RFC 8555 section 7.1.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationSeen {
    /// Its identifier, without `*.`.
    pub identifier: Identifier,
    /// Whether it is for `*.` identifier.
    pub wildcard: bool,
    pub state: AuthorizationState,
    /// The offered challenges, with the key authorization of each token.
    pub challenges: Vec<(OfferedChallenge, String)>,
    /// The CA's state of each challenge, by URL.
    pub seen: Vec<(String, ChallengeSeen)>,
}

/// A challenge as the CA returned it (RFC 8555 section 7.1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeSeen {
    /// Its state; the values are those of authorizations.
    pub state: AuthorizationState,
    pub problem: Option<Problem>,
}

/// Why an effect failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{cause}")]
pub struct EffectError {
    pub cause: Cause,
    /// The server's Retry-After.
    pub retry_after: Option<SignedDuration>,
}

impl EffectError {
    /// Whether the CA refuses all further requests of the account.
    pub fn is_of_a_gone_account(&self) -> bool {
        let kind = self.problem().map(Problem::short_kind);
        matches!(kind, Some("unauthorized" | "accountDoesNotExist"))
    }

    /// An error without a Retry-After.
    pub fn new(cause: Cause) -> Self {
        Self { cause, retry_after: None }
    }

    /// Whether the CA asks for a longer pause than a run makes.
    pub fn outlasts_a_run(&self) -> bool {
        self.retry_after.is_some_and(|wait| wait > Pause::LONGEST_WISH)
    }

    /// The kind of the cause.
    pub fn kind(&self) -> CauseKind {
        self.cause.kind()
    }

    /// The CA's problem document.
    pub fn problem(&self) -> Option<&Problem> {
        self.cause.problem()
    }

    /// The resulting failure.
    pub fn failure(&self, doing: Doing) -> Failure {
        Failure { retry_after: self.retry_after, ..Failure::of(doing, self.cause.clone()) }
    }
}

/// An outcome that does not fit the state: a bug in certctl.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("outcome `{outcome}` cannot happen in state `{state}`")]
pub struct IllegalOutcome {
    pub state: String,
    /// The outcome's name.
    pub outcome: &'static str,
}

impl IllegalOutcome {
    /// An error that names both.
    pub fn new(state: impl Into<String>, outcome: &Outcome) -> Self {
        Self { state: state.into(), outcome: outcome.word() }
    }
}
