//! How far a renewal is overdue, and when the operator's `on-failure` hook runs.
//!
//! | time since renewalTime, of the time between it and notAfter | stage |
//! | --- | --- |
//! | at most a tenth | none; a failure that was not reported since the last success is `failed` |
//! | more than a tenth | `overdue` |
//! | more than half | `half` |
//! | more than nine tenths | `nine-tenths` |
//! | all of it | `expired` |
//!
//! The hook runs once for each stage. Why the renewal has not succeeded is not asked: a missing
//! secret, an unreachable CA, a lock that another process holds, a full disk, or no run at all.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::resource::CertificateRecord;

/// How urgent it is, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// A new failure.
    Failed,
    Overdue,
    Half,
    NineTenths,
    Expired,
}

impl Stage {
    /// The stored form; 0 is "nothing was reported".
    pub fn number(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Overdue => 2,
            Self::Half => 3,
            Self::NineTenths => 4,
            Self::Expired => 5,
        }
    }

    /// The name that the hook and the metrics use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Overdue => "overdue",
            Self::Half => "half",
            Self::NineTenths => "nine-tenths",
            Self::Expired => "expired",
        }
    }
}

/// A renewal that should have succeeded by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// When it was due.
    pub due: Timestamp,
    /// When it became overdue.
    pub since: Timestamp,
    pub stage: Stage,
}

/// Whether the renewal of a certificate with this renewalTime and notAfter is overdue: see the
/// table.
pub fn overdue(
    renewal_time: Option<Timestamp>,
    not_after: Option<Timestamp>,
    now: Timestamp,
) -> Option<Overdue> {
    let (due, end) = (renewal_time?, not_after?);
    let window = due.duration_until(end);
    let at_tenths =
        |tenths: i32| due.checked_add(window * tenths / 10).map_or(end, |at| at.min(end));
    let since = at_tenths(1);
    let stage = if now >= end {
        Stage::Expired
    } else if now > at_tenths(9) {
        Stage::NineTenths
    } else if now > at_tenths(5) {
        Stage::Half
    } else if now > since {
        Stage::Overdue
    } else {
        return None;
    };
    Some(Overdue { due, since, stage })
}

/// Whether a renewal is further overdue now than it was then.
pub fn is_worse(
    renewal_time: Option<Timestamp>,
    not_after: Option<Timestamp>,
    then: Timestamp,
    now: Timestamp,
) -> bool {
    let stage = |at| overdue(renewal_time, not_after, at).map(|overdue| overdue.stage);
    stage(then) < stage(now)
}

/// What notes that the hook ran for a stage of the certificate with this end, where its record
/// cannot.
pub fn mark(stage: Stage, not_after: Option<Timestamp>) -> String {
    format!("{}-{}", stage.name(), not_after.map_or(0, Timestamp::as_second))
}

/// The stage to report now, when it is beyond the last reported one. `has_failed`: whether this run
/// ended in a failure.
pub fn due(record: &CertificateRecord, has_failed: bool, now: Timestamp) -> Option<Stage> {
    let status = &record.status;
    let is_expired = status.not_after.is_some_and(|end| now >= end);
    let of_failure = if is_expired { Stage::Expired } else { Stage::Failed };
    let stage = overdue(status.renewal_time, status.not_after, now).map(|overdue| overdue.stage);
    let stage = stage.or(has_failed.then_some(of_failure))?;
    (stage.number() > record.alerted).then_some(stage)
}
