//! The Ready condition and the renewal time, from what is published and the clock.
//!
//! | what | becomes |
//! | --- | --- |
//! | first violation of `policy::READINESS` | Ready=False with its reason |
//! | none | Ready=True, `Certificate is up to date and has not expired` |

use jiff::Timestamp;

use super::policy::{READINESS, first_violation};
use super::{Change, Record, Snapshot, Step, renewal};
use crate::resource::{
    CertificateRecord, Condition, ConditionStatus, ConditionType, LeafFacts, Reason,
};

/// Updates the stored conditions and dates. Settled when they match what is published.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    let wanted = refreshed(snapshot, now);
    if wanted == snapshot.record {
        Step::Settled
    } else {
        Step::Record(Record::of(Change::Certificate(Box::new(wanted))))
    }
}

/// The same after a rollback: its leaf's dates apply from then on.
pub fn decide_after_rollback(snapshot: &Snapshot, now: Timestamp) -> Step {
    if snapshot.run.went_back.is_some() { decide(snapshot, now) } else { Step::Settled }
}

/// The record with the Ready condition and the dates of `now`.
pub fn refreshed(snapshot: &Snapshot, now: Timestamp) -> CertificateRecord {
    let mut record = snapshot.record.clone();
    let leaf = published_leaf(snapshot);
    record.status.not_before = leaf.map(|leaf| leaf.not_before);
    record.status.not_after = leaf.map(|leaf| leaf.not_after);
    record.status.renewal_time =
        leaf.and_then(|leaf| renewal::due(snapshot, leaf, now)).map(|due| due.time);
    record.status.set_condition(ready(snapshot, now));
    record
}

/// The Ready condition at `now`.
pub fn ready(snapshot: &Snapshot, now: Timestamp) -> Condition {
    let (status, reason, message) = match first_violation(READINESS, snapshot, now) {
        Some(violation) => (ConditionStatus::False, violation.reason, violation.message),
        None => (
            ConditionStatus::True,
            Reason::Ready,
            "Certificate is up to date and has not expired".to_owned(),
        ),
    };
    Condition {
        kind: ConditionType::Ready,
        status,
        reason,
        message,
        last_transition_time: now,
        observed_generation: Some(snapshot.record.generation),
    }
}

/// What is published, unless it is temporary.
fn published_leaf(snapshot: &Snapshot) -> Option<&LeafFacts> {
    snapshot.live_leaf().filter(|leaf| !leaf.is_temporary())
}
