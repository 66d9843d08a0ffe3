//! How one certificate's part of a run ended.

use jiff::Timestamp;

use crate::controller::{Deferral, Snapshot};
use crate::resource::{Failure, FailureClass, LeafFacts, NamespacedName, Order};

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
    pub is_new: bool,
    /// What was deployed: outputs, hooks, reloads.
    pub deployed: Vec<String>,
    /// What is known of a failure or a wait beside its sentence.
    pub evidence: Evidence,
}

/// What is known of a failure, or of a wait, beside its sentence: for whoever tells of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The issuer's name.
    pub issuer: String,
    /// The order that it happened to, as it was left.
    pub order: Option<Box<Order>>,
    /// What the attempt before failed by, when this one waits.
    pub last_failure: Option<Failure>,
    /// When the live certificate ends, if there is one.
    pub not_after: Option<Timestamp>,
}

impl Evidence {
    /// What a snapshot holds of an ending. An order that failed in an earlier attempt is none.
    pub(super) fn of(snapshot: &Snapshot, ending: &Ending) -> Self {
        let record = &snapshot.record;
        let known = Self {
            issuer: snapshot.issuer.metadata.name.clone(),
            not_after: record.status.not_after,
            ..Self::default()
        };
        match ending {
            Ending::Failed { .. } => {
                let failed_now = |order: &&Order| {
                    order.failure_time().is_some()
                        && order.failure_time() == record.status.last_failure_time
                };
                let order = snapshot.order.as_ref().filter(failed_now);
                let order = order.filter(|_| snapshot.run.error.is_none());
                Self { order: order.cloned().map(Box::new), ..known }
            }
            Ending::Pending { .. } => {
                Self { order: snapshot.current_order().cloned().map(Box::new), ..known }
            }
            Ending::Deferred { .. } => Self { last_failure: record.last_failure.clone(), ..known },
            Ending::Unchanged { .. }
            | Ending::Issued(_)
            | Ending::Locked { .. }
            | Ending::Interrupted { .. } => known,
        }
    }
}

impl Evidence {
    /// What the last self-check of each challenge saw, a line for each place asked.
    pub fn checks(&self) -> String {
        let challenges = self.order.iter().flat_map(|order| &order.challenges);
        let checks = challenges.filter_map(|challenge| challenge.check.as_deref());
        checks.map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
}

/// A pair that is issued and not where it is to be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Undeployed {
    /// Which step, and why.
    pub failure: Failure,
    /// Whether this is to be told: nobody watches, and the same was told within a day, when not.
    pub is_new: bool,
}

impl Ended {
    /// An ending that is to be told, with nothing written again.
    pub fn new(certificate: NamespacedName, ending: Ending) -> Self {
        Self {
            certificate,
            ending,
            undeployed: None,
            rewritten: None,
            is_new: true,
            deployed: Vec::new(),
            evidence: Evidence::default(),
        }
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
        why: Deferral,
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
        /// Whether it has waited so long, or the live certificate is so near its end, or who keeps
        /// the DNS refuses so firmly, that this counts as a validation failure.
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
