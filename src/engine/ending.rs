//! How a run ended for one certificate.

use std::fmt;

use jiff::Timestamp;

use crate::controller::{Deferral, Snapshot};
use crate::resource::{
    Challenge, ChallengeSpec, Failure, FailureClass, Identifier, LeafFacts, NamespacedName, Order,
    OrderState, RevokedCertificate,
};
use crate::store::DamageCourse;

/// One certificate, and its ending.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub certificate: NamespacedName,
    pub ending: Ending,
    /// Set when the certificate is issued but not deployed.
    pub undeployed: Option<Undeployed>,
    /// Why the live pair was rewritten in other formats, in one sentence, if it was.
    pub rewritten: Option<String>,
    /// Whether to report this: false when an unattended run reported the same within a day.
    pub is_new: bool,
    /// What was deployed: outputs, hooks, reloads.
    pub deployed: Vec<String>,
    /// The first step of the deployment that a run with `--hooks later` leaves to another one.
    pub left: Option<String>,
    /// The revocation by its CA that made the run replace the live certificate.
    pub revoked: Option<RevokedCertificate>,
    /// Details of a failure or a wait beside its message.
    pub evidence: Evidence,
    /// Until when nothing is due, as long as no file changes; `None` when that is not known.
    pub idle_until: Option<Timestamp>,
}

/// Details of a failure or a wait beside its message, for reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The issuer's name.
    pub issuer: String,
    /// The order that failed or waits, as it was left.
    pub order: Option<Box<Order>>,
    /// The failure of the previous attempt, when this one waits.
    pub last_failure: Option<Failure>,
    /// When the live certificate expires, if there is one.
    pub not_after: Option<Timestamp>,
    /// Which pair was adopted, in one sentence, if one was.
    pub adopted: Option<String>,
    /// Whether a URL of the order gave no answer.
    pub of_order: bool,
    /// Whether nothing is requested any more, as the run that was to force an issuance lacked something.
    pub taken_back: bool,
    /// What the next run does with the part of the state that could not be used.
    pub damage: Option<DamageCourse>,
}

impl Evidence {
    /// Reads the details from a snapshot. An order that failed in an earlier attempt is left out.
    pub(super) fn of(snapshot: &Snapshot, ending: &Ending) -> Self {
        let record = &snapshot.record;
        let known = Self {
            issuer: snapshot.issuer().metadata.name.clone(),
            not_after: record.status.not_after,
            adopted: snapshot.run.adopted.clone(),
            taken_back: snapshot.run.taken_back,
            ..Self::default()
        };
        match ending {
            Ending::Failed { failure, .. } => {
                let url = failure.cause.at_the_ca().map_or("", |failed| failed.url.as_str());
                let of_order = snapshot.current_order().is_some_and(|order| order.has_url(url));
                let failed_now = |order: &&Order| {
                    order.failure_time().is_some()
                        && order.failure_time() == record.status.last_failure_time
                };
                let order = snapshot.order.as_ref().filter(failed_now);
                let order = order.filter(|_| snapshot.run.error.is_none());
                Self { order: order.cloned().map(Box::new), of_order, ..known }
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

/// A pair that is issued but not deployed.
#[derive(Clone, Debug, PartialEq)]
pub struct Undeployed {
    /// The step, and why it failed.
    pub failure: Failure,
    /// Whether to report this: false when an unattended run reported the same within a day.
    pub is_new: bool,
    /// When the step failed before; `None` when this run has tried it.
    pub last_try: Option<Timestamp>,
    /// When it is retried; `None` for the next run.
    pub next_try: Option<Timestamp>,
}

impl Ended {
    /// An ending to report, with nothing rewritten.
    pub fn new(certificate: NamespacedName, ending: Ending) -> Self {
        Self {
            certificate,
            ending,
            undeployed: None,
            rewritten: None,
            is_new: true,
            deployed: Vec::new(),
            left: None,
            revoked: None,
            evidence: Evidence::default(),
            idle_until: None,
        }
    }
}

/// The kind of ending.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Nothing was due.
    Unchanged { not_after: Option<Timestamp>, renewal_time: Option<Timestamp> },
    /// A new pair is live.
    Issued(Box<Issued>),
    /// Due, but it must wait.
    Deferred {
        until: Option<Timestamp>,
        why: Deferral,
        /// The class of the last failure, when the live certificate is about to expire: such a
        /// wait is an error.
        urgent: Option<FailureClass>,
    },
    /// Another process holds the lock.
    Locked { holder: String },
    /// The order is pending, and this run stops waiting for it.
    Pending {
        order: String,
        since: Timestamp,
        why: PendingOn,
        /// Whether it has waited so long, or the live certificate is so near expiry, that this counts
        /// as a validation failure; also where no wait ends it: a DNS provider denied permission, or
        /// this host's own web server does not serve the webroot.
        overdue: bool,
    },
    /// It failed.
    Failed {
        failure: Failure,
        /// The number of consecutive failures, when this one counts.
        attempts: Option<u32>,
        next_attempt: Option<Timestamp>,
    },
    /// A signal ended the run.
    Interrupted { signal: i32 },
}

/// What a pending order waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingOn {
    /// A challenge, for its own reason; it is empty where the challenge waits for a free slot.
    Challenge { identifier: Identifier, is_wildcard: bool, reason: String },
    /// The CA, which says the order is in this state.
    Order(OrderState),
    /// Nothing that comes by itself; see [`Order::stuck`].
    Stuck(&'static str),
}

impl PendingOn {
    /// The challenge.
    pub(super) fn challenge(challenge: &Challenge) -> Self {
        let ChallengeSpec { identifier, wildcard, .. } = &*challenge.spec;
        let (identifier, reason) = (identifier.clone(), challenge.reason.clone());
        Self::Challenge { identifier, is_wildcard: *wildcard, reason }
    }

    /// An order without challenges.
    pub(super) fn order(order: &Order) -> Self {
        order.stuck().map_or_else(|| Self::Order(order.state.clone()), Self::Stuck)
    }
}

impl fmt::Display for PendingOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Challenge { identifier, is_wildcard, reason } => {
                let star = if *is_wildcard { "*." } else { "" };
                let reason = if reason.is_empty() { "waiting for a free slot" } else { reason };
                write!(f, "{star}{identifier}: {reason}")
            }
            Self::Order(state) => write!(f, "the CA says the order is {}", state.as_str()),
            Self::Stuck(why) => f.write_str(why),
        }
    }
}

/// A newly published pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Issued {
    pub revision: u32,
    pub leaf: LeafFacts,
    /// Its names and addresses that the certificate before it lacked; none of the first one.
    pub added: Vec<String>,
    /// Those of the certificate before it that it lacks.
    pub removed: Vec<String>,
    /// When its renewal is due.
    pub renewal_time: Option<Timestamp>,
    pub secret_name: String,
}
