//! How one certificate's part of a run ended.

use jiff::Timestamp;

use crate::controller::Failure;
use crate::resource::{FailureClass, LeafFacts, NamespacedName};

/// One certificate, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The certificate.
    pub certificate: NamespacedName,
    /// How it ended.
    pub ending: Ending,
    /// What is issued and not where it is to be used.
    pub undeployed: Option<Undeployed>,
    /// Why the live pair was written again in other forms, in one sentence, when it was.
    pub rewritten: Option<String>,
    /// Whether this is to be told: nobody watches, and the same was told within a day, when not.
    pub is_news: bool,
}

/// A pair that is issued and not where it is to be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Undeployed {
    /// Which step, and why.
    pub failure: Failure,
    /// Whether this is to be told: nobody watches, and the same was told within a day, when not.
    pub is_news: bool,
}

impl Ended {
    /// An ending that is to be told, with nothing written again.
    pub fn new(certificate: NamespacedName, ending: Ending) -> Self {
        Self { certificate, ending, undeployed: None, rewritten: None, is_news: true }
    }
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Nothing was due.
    Unchanged {
        /// When it expires.
        not_after: Option<Timestamp>,
        /// When it is due.
        renewal_time: Option<Timestamp>,
    },
    /// A new pair is live.
    Issued(Box<Issued>),
    /// Due, but it must wait.
    Deferred {
        /// Until when.
        until: Option<Timestamp>,
        /// Why, in one sentence.
        why: String,
        /// The class of the last failure, when the live certificate is near its end: such a wait
        /// is not harmless any more.
        urgent: Option<FailureClass>,
    },
    /// Somebody else is at work on it.
    Locked {
        /// Who.
        holder: String,
    },
    /// The order is under way, and this run does not wait for it any longer.
    Pending {
        /// The order's name.
        order: String,
        /// When the order was made.
        since: Timestamp,
        /// What is waited for.
        why: String,
        /// The self-checks' reports, a line for each place asked.
        report: String,
        /// Whether it has waited so long, or the live certificate is so near its end, that this
        /// counts as a validation failure.
        overdue: bool,
    },
    /// It failed.
    Failed {
        /// What and why.
        failure: Failure,
        /// How many failures in a row, when this one counts.
        attempts: Option<u32>,
        /// When the next attempt may be made.
        next_attempt: Option<Timestamp>,
    },
    /// A signal ended the run.
    Interrupted {
        /// The signal's number.
        signal: i32,
    },
}

/// A new pair that is live.
#[derive(Clone, Debug, PartialEq)]
pub struct Issued {
    /// Its revision.
    pub revision: u32,
    /// Its leaf.
    pub leaf: LeafFacts,
    /// When it is due again.
    pub renewal_time: Option<Timestamp>,
    /// The secret's name.
    pub secret_name: String,
}

impl Ending {
    /// The failure class that decides an exit code, if this is a failure.
    pub fn failure_class(&self) -> Option<FailureClass> {
        match self {
            Self::Failed { failure, .. } => Some(failure.class),
            Self::Pending { overdue: true, .. } => Some(FailureClass::Validation),
            Self::Deferred { urgent, .. } => *urgent,
            Self::Unchanged { .. }
            | Self::Issued(_)
            | Self::Locked { .. }
            | Self::Pending { .. }
            | Self::Interrupted { .. } => None,
        }
    }
}
