//! The Ready condition and the renewal time, from what is published and the clock.
//!
//! | what | becomes |
//! | --- | --- |
//! | first violation of `policy::READINESS` | Ready=False with its reason |
//! | none | Ready=True, `Certificate is up to date and has not expired` |

use jiff::{SignedDuration, Timestamp, Unit};

use super::policy::{READINESS, first_violation};
use super::{Change, Record, Snapshot, Step};
use crate::resource::{
    CertificateRecord, CertificateSpec, Condition, ConditionStatus, ConditionType, LeafFacts,
    Reason, RenewalPolicy,
};

/// Keeps the stored conditions and dates in step with what is published. Settled when they are.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    let wanted = refreshed(snapshot, now);
    if wanted == snapshot.record {
        Step::Settled
    } else {
        Step::Record(Record::of(Change::Certificate(Box::new(wanted))))
    }
}

/// The record with the Ready condition and the dates as they are at `now`.
pub fn refreshed(snapshot: &Snapshot, now: Timestamp) -> CertificateRecord {
    let mut record = snapshot.record.clone();
    let leaf = published_leaf(snapshot);
    record.status.not_before = leaf.map(|leaf| leaf.not_before);
    record.status.not_after = leaf.map(|leaf| leaf.not_after);
    record.status.renewal_time =
        leaf.and_then(|leaf| renewal_time(&snapshot.certificate.spec, leaf));
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

/// When a renewal is due: notAfter minus renewBefore, a percentage of the real lifetime, or a
/// third of it; floored to the second. `None` when renewal is disabled.
pub fn renewal_time(spec: &CertificateSpec, leaf: &LeafFacts) -> Option<Timestamp> {
    if spec.renewal.as_ref().and_then(|renewal| renewal.policy) == Some(RenewalPolicy::Disabled) {
        return None;
    }
    let lifetime = leaf.not_before.duration_until(leaf.not_after);
    let before = spec
        .renew_before
        .map(|before| before.0)
        .filter(|before| before.is_positive() && *before < lifetime)
        .or_else(|| percentage_of(lifetime, spec.renew_before_percentage?))
        .unwrap_or(lifetime / 3);
    let due = leaf.not_after.checked_sub(before).ok()?;
    due.round(jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Floor)).ok()
}

fn percentage_of(lifetime: SignedDuration, percentage: i32) -> Option<SignedDuration> {
    (0 < percentage && percentage < 100).then(|| {
        let nanos = lifetime.as_nanos() * i128::from(percentage) / 100;
        i64::try_from(nanos).map_or(lifetime / 3, SignedDuration::from_nanos)
    })
}

fn published_leaf(snapshot: &Snapshot) -> Option<&LeafFacts> {
    snapshot.secret.as_ref()?.certificate.as_ref()?.as_ref().ok()
}
