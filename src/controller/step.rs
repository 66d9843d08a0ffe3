//! What passes between the controllers and the engine: steps, and what came of effects.

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::Effect;
use super::secret::Secret;
use crate::resource::{
    Account, AuthorizationState, BannedKey, Cause, CauseKind, CertificateRecord,
    CertificateRequest, CheckReport, Dns01Target, Doing, Event, EventType, Failure, Identifier,
    KeyFacts, LeafFacts, OfferedChallenge, Order, OrderState, Problem, PublicKeyDigest, Reason,
};

/// What one controller wants next, given what is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing.
    Settled,
    /// Write this down, then decide again.
    Record(Record),
    /// Do these effects, side by side.
    Act(Vec<Effect>),
    /// Nothing can be done before a time or an event.
    Wait {
        /// The time, if one is known.
        until: Option<Timestamp>,
        /// What else may end the wait.
        wake: Wake,
        /// What is waited for, and whether the run stays for it.
        why: Deferral,
    },
    /// This issuance has failed.
    Fail(Failure),
}

/// What ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Only the time.
    Time,
    /// The scheduler grants a slot.
    Slot,
    /// The HTTP-01 responder was asked.
    ChallengeHit,
}

/// Why something waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// The backoff after failed issuances: the run leaves.
    Backoff {
        /// How many failed in a row.
        attempts: u32,
    },
    /// The CA asked to be left alone: the run leaves.
    RetryAfter,
    /// Something that moves within this run: the run stays.
    Progress(String),
}

/// Changes that belong together, and what to say about them. They are written in this order, and
/// each order leaves a state from which the next run goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The changes.
    pub changes: Vec<Change>,
    /// For the journal.
    pub events: Vec<Event>,
}

impl Record {
    /// One change, nothing to say.
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
    /// The account's private key, PKCS#8 PEM, then the account that goes with it.
    AccountKey(Secret, Box<Account>),
    /// An account. With one that is deactivated its key goes.
    Account(Box<Account>),
    /// A key that is never used again.
    Ban(BannedKey),
}

/// What came of a effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// `Prepare`: all is in order.
    Prepared,
    /// `GenerateKey`, `ReuseKey`: the key.
    Key(Secret, KeyFacts),
    /// `BuildRequest`: the CSR in PEM, and the digest of its key.
    Request(String, PublicKeyDigest),
    /// `ObtainAccountKey`: the key.
    AccountKey {
        /// PKCS#8 PEM.
        pem: Secret,
        /// Digest of its public half.
        public_key: PublicKeyDigest,
        /// Made just now: no CA can know it.
        fresh: bool,
    },
    /// `FindAccount`, `RegisterAccount`, `UpdateContacts`: the account.
    Account {
        /// Its URL.
        url: String,
        /// The contacts that the CA knows now.
        contacts: Vec<String>,
        /// The terms of service named in the directory.
        terms_of_service: Option<String>,
    },
    /// `FindAccount`: there is none with this key.
    NoAccount,
    /// `CreateOrder`, `ReadOrder`, `Finalize`: the order.
    Order(Box<OrderSeen>),
    /// `ReadAuthorization`: the authorization.
    Authorization(Box<AuthorizationSeen>),
    /// `Locate`: the place.
    Located(Dns01Target),
    /// `Present`: it is out.
    Presented,
    /// `SelfCheck`: what was seen.
    Checked(Box<CheckReport>),
    /// `Accept`: the challenge, as the CA answered.
    Accepted(ChallengeSeen),
    /// `CleanUp`: nothing of ours is out there any more.
    CleanedUp,
    /// `Download`: the chain, verified.
    Certificate {
        /// PEM, leaf first.
        pem: String,
        /// What the leaf says.
        leaf: Box<LeafFacts>,
    },
    /// `Publish`: key and chain are live.
    Published(Box<LeafFacts>),
    /// `PublishTemporary`: the next key and a temporary certificate are live.
    PublishedTemporary(Box<LeafFacts>),
    /// `Rewrite`: the new forms are live.
    Rewritten,
    /// `Deploy`: done.
    Deployed {
        /// Digest of the files it was done with.
        files: String,
    },
    /// `Revoke`, `SwitchBack`, `RestoreLinks`, `DeactivateAccount`: done.
    Done,
    /// Any effect: it did not work.
    Failed(EffectError),
}

impl Outcome {
    /// A word for it, without its contents.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Key(..) => "key",
            Self::Request(..) => "request",
            Self::AccountKey { .. } => "account key",
            Self::Account { .. } => "account",
            Self::NoAccount => "no account",
            Self::Order(_) => "order",
            Self::Authorization(_) => "authorization",
            Self::Located(_) => "located",
            Self::Presented => "presented",
            Self::Checked(_) => "checked",
            Self::Accepted(_) => "accepted",
            Self::CleanedUp => "cleaned up",
            Self::Certificate { .. } => "certificate",
            Self::Published(_) => "published",
            Self::PublishedTemporary(_) => "published temporarily",
            Self::Rewritten => "rewritten",
            Self::Deployed { .. } => "deployed",
            Self::Done => "done",
            Self::Failed(_) => "failed",
        }
    }
}

/// An order as the CA answered (RFC 8555 section 7.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderSeen {
    /// Its URL.
    pub url: String,
    /// Its state.
    pub state: OrderState,
    /// Its authorizations' URLs.
    pub authorizations: Vec<String>,
    /// Where the CSR goes.
    pub finalize_url: String,
    /// Where the certificate is, once there is one.
    pub certificate_url: Option<String>,
    /// When the CA forgets it.
    pub expires: Option<Timestamp>,
    /// Why it is invalid.
    pub problem: Option<Problem>,
    /// How long the CA asks to wait before the next look.
    pub retry_after: Option<SignedDuration>,
}

/// An authorization as the CA answered (RFC 8555 section 7.1.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationSeen {
    /// What it is about, without `*.`.
    pub identifier: Identifier,
    /// Whether it is for `*.` identifier.
    pub wildcard: bool,
    /// Its state.
    pub state: AuthorizationState,
    /// The challenges on offer, with the key authorization of each token.
    pub challenges: Vec<(OfferedChallenge, String)>,
    /// What the CA said of each challenge, by URL.
    pub seen: Vec<(String, ChallengeSeen)>,
}

/// A challenge as the CA answered (RFC 8555 section 7.1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeSeen {
    /// Its state; the words are those of authorizations.
    pub state: AuthorizationState,
    /// Why it is invalid.
    pub problem: Option<Problem>,
}

/// Why an effect did not work.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{cause}")]
pub struct EffectError {
    /// What happened.
    pub cause: Cause,
    /// How long the server asks to wait.
    pub retry_after: Option<SignedDuration>,
}

impl EffectError {
    /// Whether the CA does not let the account do anything any more.
    pub fn is_of_a_gone_account(&self) -> bool {
        let kind = self.problem().map(Problem::short_kind);
        matches!(kind, Some("unauthorized" | "accountDoesNotExist"))
    }

    /// An error that says nothing of when to come back.
    pub fn new(cause: Cause) -> Self {
        Self { cause, retry_after: None }
    }

    /// How it is treated.
    pub fn kind(&self) -> CauseKind {
        self.cause.kind()
    }

    /// What the CA refused with.
    pub fn problem(&self) -> Option<&Problem> {
        self.cause.problem()
    }

    /// The failure that it amounts to.
    pub fn failure(&self, doing: Doing) -> Failure {
        Failure { retry_after: self.retry_after, ..Failure::of(doing, self.cause.clone()) }
    }
}

/// An outcome that does not belong to the state it met: a mistake of this program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("outcome `{outcome}` cannot happen in state `{state}`")]
pub struct IllegalOutcome {
    /// The state.
    pub state: String,
    /// The outcome's word.
    pub outcome: &'static str,
}

impl IllegalOutcome {
    /// Names the two.
    pub fn new(state: impl Into<String>, outcome: &Outcome) -> Self {
        Self { state: state.into(), outcome: outcome.word() }
    }
}
