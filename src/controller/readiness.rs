//! The Ready condition and the renewal time, from what is published and the clock.
//!
//! | what | becomes |
//! | --- | --- |
//! | first violation of `policy::READINESS` | Ready=False with its reason |
//! | none | Ready=True, `Certificate is up to date and has not expired` |

use jiff::{SignedDuration, Timestamp, Unit};

use super::policy::{READINESS, first_violation};
use super::window::{self, WindowError};
use super::{Change, Record, Snapshot, Step, rollback};
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
    record.status.renewal_time = leaf.and_then(|leaf| due(snapshot, leaf)).map(|due| due.time);
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

/// When a renewal is due: [`renew_before`] ahead of the leaf's end, floored to the second, then
/// moved into `spec.renewal.windows`. `None` when renewal is disabled.
pub fn renewal_time(spec: &CertificateSpec, leaf: &LeafFacts) -> Option<RenewalTime> {
    let renewal = spec.renewal.as_ref();
    if renewal.and_then(|renewal| renewal.policy) == Some(RenewalPolicy::Disabled) {
        return None;
    }
    let lifetime = leaf.not_before.duration_until(leaf.not_after);
    in_a_window(spec, leaf, leaf.not_after.checked_sub(renew_before(spec, lifetime)).ok()?)
}

fn in_a_window(spec: &CertificateSpec, leaf: &LeafFacts, due: Timestamp) -> Option<RenewalTime> {
    let floor = jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Floor);
    let desired = due.round(floor).ok()?;
    let windows = spec.renewal.as_ref().map(|renewal| renewal.windows.as_slice());
    let windows = windows.unwrap_or_default();
    Some(match window::fit(desired, leaf.not_before, leaf.not_after, windows) {
        Ok(time) => RenewalTime { time, window_error: None },
        // A certificate that expires helps no maintenance window.
        Err(error) => RenewalTime { time: desired, window_error: Some(error) },
    })
}

/// When a renewal of the live leaf is due: see [`renewal_time`]. One that was due when somebody
/// went back to this leaf is due when a third of what was left of its life then is left.
pub fn due(snapshot: &Snapshot, leaf: &LeafFacts) -> Option<RenewalTime> {
    let spec = &snapshot.certificate.spec;
    let natural = renewal_time(spec, leaf)?;
    let Some(back_since) = rollback::in_force(snapshot).map(|rollback| rollback.asked_at) else {
        return Some(natural);
    };
    if natural.time > back_since {
        return Some(natural);
    }
    let left = back_since.duration_until(leaf.not_after);
    in_a_window(spec, leaf, leaf.not_after.checked_sub(left / 3).ok()?)
}

/// When a renewal is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewalTime {
    /// The time.
    pub time: Timestamp,
    /// Why it lies in none of the windows.
    pub window_error: Option<WindowError>,
}

/// How long before the end of a certificate that lives `lifetime` its renewal is wished for:
/// renewBefore if that is shorter, else the percentage of the lifetime, else a third of it.
pub fn renew_before(spec: &CertificateSpec, lifetime: SignedDuration) -> SignedDuration {
    spec.renew_before
        .map(|before| before.0)
        .filter(|before| before.is_positive() && *before < lifetime)
        .or_else(|| percentage_of(lifetime, spec.renew_before_percentage?))
        .unwrap_or(lifetime / 3)
}

fn percentage_of(lifetime: SignedDuration, percentage: i32) -> Option<SignedDuration> {
    (0 < percentage && percentage < 100).then(|| {
        let nanos = lifetime.as_nanos() * i128::from(percentage) / 100;
        i64::try_from(nanos).map_or(lifetime / 3, SignedDuration::from_nanos)
    })
}

/// What is published, unless that only stands in for it.
fn published_leaf(snapshot: &Snapshot) -> Option<&LeafFacts> {
    snapshot.live_leaf().filter(|leaf| !leaf.is_temporary())
}
