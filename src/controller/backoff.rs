//! When a failed attempt is retried.
//!
//! Attempt n fails at t: the next one is not before t + 1h·2^(n−1), at most 32h later, and not
//! before the CA's Retry-After. While the live certificate is valid, it is at most 7/8 of the time
//! from t to its end later, and at least 5 minutes: so a certificate of a few days is renewed by a
//! CA that recovers shortly before the end, and the formula is exact until 36h before it. Success
//! clears everything; an edit of what goes to the CA lets one attempt through for each distinct
//! input, and clears nothing.

use jiff::{SignedDuration, Timestamp};

use super::policy::first_trigger;
use super::{Change, Effect, Outcome, Record, Snapshot, Step, formats};
use crate::resource::{
    AuthorizationState, CaFailure, CauseKind, CertificateRecord, Challenge, Condition,
    ConditionStatus, ConditionType, FailedOrder, Failure, FailureClass, OrderPhase, OrderState,
    Reason, Waiting, rfc3339,
};

/// The first delay.
pub const MINIMUM: SignedDuration = SignedDuration::from_hours(1);
/// The longest delay.
pub const MAXIMUM: SignedDuration = SignedDuration::from_hours(32);
/// The shortest delay, when the live certificate is about to expire.
pub const SHORTEST: SignedDuration = SignedDuration::from_mins(5);
/// How long an error must come back before the order is given up, or the failure counts.
pub(super) const LASTING: SignedDuration = SignedDuration::from_hours(24);
/// The longest Retry-After that the ACME client returns.
pub const LONGEST_WISH: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The delay after this many failures in a row. Records without a count, or with none, get the
/// first delay.
pub fn delay(attempts: Option<u32>) -> SignedDuration {
    let doublings = attempts.unwrap_or(1).max(1) - 1;
    1_i32
        .checked_shl(doublings)
        .filter(|factor| *factor > 0)
        .and_then(|factor| MINIMUM.checked_mul(factor))
        .map_or(MAXIMUM, |delay| delay.min(MAXIMUM))
}

/// The longest delay with this much life left.
fn within(life: SignedDuration) -> SignedDuration {
    (life / 8 * 7).max(SHORTEST)
}

/// Until when a Retry-After that came at `at` is believed: for at most half of the time that the live
/// certificate still had, so that a wrong one does not let it expire.
pub fn believed(record: &CertificateRecord, at: Timestamp, until: Timestamp) -> Timestamp {
    let life = record.status.not_after.map(|end| at.duration_until(end));
    let most =
        life.filter(SignedDuration::is_positive).map(|life| (life / 2).max(SHORTEST.min(life)));
    most.and_then(|most| at.checked_add(most).ok()).map_or(until, |latest| until.min(latest))
}

/// The time of the next attempt, as decided by failures and the CA's Retry-After.
pub fn next_attempt(record: &CertificateRecord) -> Option<Timestamp> {
    let status = &record.status;
    let after_failure = status.last_failure_time.map(|failed| {
        let delay = delay(status.failed_issuance_attempts);
        let life = status.not_after.map(|end| failed.duration_until(end));
        let within = life.filter(SignedDuration::is_positive).map_or(delay, within);
        failed.checked_add(delay.min(within)).unwrap_or(Timestamp::MAX)
    });
    match (after_failure, record.retry_after) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// When a certificate with this record is tried again: without a reason to issue it, such as after a
/// renewal that was only requested, not before it is due. An issuance that has begun waits for the
/// CA's Retry-After only.
pub fn next_try(
    snapshot: &Snapshot,
    record: &CertificateRecord,
    now: Timestamp,
) -> Option<Timestamp> {
    next_attempt(record)?;
    next_after_failure(snapshot, record, now)
}

/// The same of one that has just failed, also where that is not counted, and is not on record.
pub fn next_after_failure(
    snapshot: &Snapshot,
    record: &CertificateRecord,
    now: Timestamp,
) -> Option<Timestamp> {
    if snapshot.is_issuing() {
        return record.retry_after;
    }
    when_due(snapshot, record, next_attempt(record), now)
}

/// The time of what is tried next: what there is no reason to issue, not before it is due.
fn when_due(
    snapshot: &Snapshot,
    record: &CertificateRecord,
    next: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    if first_trigger(snapshot, now).is_some() {
        return next;
    }
    // `None` is before every time.
    record.status.renewal_time.and_then(|due| next.max(Some(due)))
}

/// The record with times corrected that can only come from a wrong clock: a failure in the future
/// counts from now, and a Retry-After is limited to the longest one. `None` when nothing changes.
/// It must be recorded, or the wait would start anew with each run.
pub fn corrected(record: &CertificateRecord, now: Timestamp) -> Option<CertificateRecord> {
    let failed = record.status.last_failure_time;
    let latest = now.checked_add(LONGEST_WISH).unwrap_or(Timestamp::MAX);
    let mut right = record.clone();
    right.status.last_failure_time = failed.map(|failed| failed.min(now));
    right.retry_after = record.retry_after.map(|time| time.min(latest));
    (right != *record).then_some(right)
}

/// Until when the trigger must wait; `None` when it may continue.
pub fn holds_until(snapshot: &Snapshot, now: Timestamp) -> Option<Timestamp> {
    let record = &snapshot.record;
    if is_edited(snapshot) && record.retry_after.is_none_or(|time| time <= now) {
        return None;
    }
    next_attempt(record).filter(|next| *next > now)
}

/// Whether what goes to the CA differs from that of each attempt that failed.
fn is_edited(snapshot: &Snapshot) -> bool {
    let record = &snapshot.record;
    record.status.last_failure_time.is_some()
        && !record.attempted_inputs.is_empty()
        && !record.attempted_inputs.contains(&snapshot.input_digest)
}

/// Whether the last failure no longer holds, although no issuance has succeeded since: nothing is
/// to be issued or written again.
pub fn is_past(snapshot: &Snapshot, now: Timestamp) -> bool {
    let record = &snapshot.record;
    (record.status.last_failure_time.is_some() || record.last_failure.is_some())
        && !snapshot.is_issuing()
        && first_trigger(snapshot, now).is_none()
        && formats::decide(snapshot, now) == Step::Settled
}

/// When a rewrite fails while an issuance waits, the message has both: the rewrite's error alone
/// would hide the issuance's.
pub fn beside_a_wait(snapshot: &Snapshot, failure: Failure, until: Option<Timestamp>) -> Failure {
    let (Some(until), Some(last)) = (until, &snapshot.record.last_failure) else { return failure };
    let besides = Some(Box::new(Waiting { until, failure: last.clone() }));
    Failure { besides, ..failure }
}

/// A server error of the CA that has come back for a day is a failure like any other: the class
/// counts, and the failure says since when. So is an order that could not be reached for a day,
/// unless another one takes its place.
pub fn lasting(snapshot: &Snapshot, failure: Failure, now: Timestamp) -> Failure {
    let Some(since) = since(snapshot, &failure, now) else {
        let is_outage = failure.class == FailureClass::Unreachable;
        let since = is_outage.then(|| outage_began(&snapshot.record, now));
        return Failure { since, ..failure };
    };
    let class = if since.duration_until(now) < LASTING { failure.class } else { FailureClass::Ca };
    Failure { class, since: Some(since), ..failure }
}

/// Since when the CA could not be reached, whatever was asked for.
fn outage_began(record: &CertificateRecord, now: Timestamp) -> Timestamp {
    let last = record.last_failure.as_ref();
    let last = last.filter(|last| last.class == FailureClass::Unreachable);
    last.and_then(|last| last.since).unwrap_or(now)
}

/// Whether a failure needs no attention yet: the CA could not be reached for less than a day,
/// and the live certificate has time.
pub fn is_passing(record: &CertificateRecord, failure: &Failure, now: Timestamp) -> bool {
    failure.class == FailureClass::Unreachable
        && failure.since.is_some_and(|since| since.duration_until(now) < LASTING)
        && !is_urgent(record, now)
}

/// Since when an error has come back: a server error of the CA, or that there is no answer at a URL
/// of the order. `None` for other errors.
pub(super) fn since(snapshot: &Snapshot, failure: &Failure, now: Timestamp) -> Option<Timestamp> {
    let is_it = |other: &Failure| {
        if failure.is_server_error() {
            other.is_server_error() && other.doing == failure.doing
        } else {
            !other.is_server_error() && is_unreachable(snapshot, other)
        }
    };
    if !failure.is_server_error() && !is_unreachable(snapshot, failure) {
        return None;
    }
    let before = snapshot.record.last_failure.as_ref().filter(|last| is_it(last));
    Some(before.and_then(|last| last.since).unwrap_or(now))
}

/// Whether a URL of the current order gave no answer.
fn is_unreachable(snapshot: &Snapshot, failure: &Failure) -> bool {
    let order = snapshot.current_order();
    let is_busy = failure.cause.at_the_ca().is_some_and(CaFailure::is_busy);
    failure.cause.kind() == CauseKind::Transient
        && !is_busy
        && order.zip(failure.cause.at_the_ca()).is_some_and(|(order, ca)| order.has_url(&ca.url))
}

/// The change when the CA answers the request that failed again and again: that error has not
/// lasted. Others of the same kind answer for it once the order that it was for is gone. That there
/// is no account does not answer the request for one.
pub fn answered(snapshot: &Snapshot, effect: &Effect, outcome: &Outcome) -> Option<Change> {
    let record = &snapshot.record;
    let last = record.last_failure.as_ref().filter(|last| last.since.is_some())?;
    let is_unanswered = matches!(outcome, Outcome::Failed(_) | Outcome::NoAccount);
    let failed = last.cause.at_the_ca().map_or("", |ca| ca.url.as_str());
    let is_another = snapshot.current_order().is_some_and(|order| order.has_url(failed))
        && effect.url() != Some(failed);
    if is_unanswered || is_another || last.doing != effect.doing() {
        return None;
    }
    let last_failure = Some(Failure { since: None, ..last.clone() });
    Some(Change::Certificate(Box::new(CertificateRecord { last_failure, ..record.clone() })))
}

/// The record after a failure: a counted one raises the attempts and closes the issuance; one that
/// does not count leaves the issuance open, to be continued.
pub fn record_failure(snapshot: &Snapshot, failure: &Failure, now: Timestamp) -> Record {
    let mut record = snapshot.record.clone();
    // An issuance's failure stays as long as it waits.
    let waits = record.status.last_failure_time.is_some() && !snapshot.is_issuing();
    if failure.counts() || !waits {
        // What to do about an obstacle stands where it is still in the way.
        record.last_failure = Some(Failure { at: Some(now), ..failure.without_fixes() });
    }
    // A failure without a request to the CA, such as a keystore without a password, keeps the CA's
    // Retry-After.
    let requested = failure.retry_after.and_then(|wait| now.checked_add(wait).ok());
    let requested = requested.map(|until| believed(&record, now, until));
    record.retry_after = requested.max(record.retry_after).filter(|time| *time > now);
    if !failure.counts() {
        return Record::of(Change::Certificate(Box::new(record)));
    }
    let attempts = record.status.failed_issuance_attempts.unwrap_or(0).saturating_add(1);
    record.status.failed_issuance_attempts = Some(attempts);
    record.status.last_failure_time = Some(now);
    if !record.attempted_inputs.contains(&snapshot.input_digest) {
        record.attempted_inputs.push(snapshot.input_digest.clone());
    }
    let next = next_attempt(&record).and_then(|next| when_due(snapshot, &record, Some(next), now));
    let next = next.unwrap_or(now);
    let message = format!(
        "The certificate request has failed to complete and will be retried: {failure} (attempt \
         {attempts}; next attempt at {})",
        rfc3339(next)
    );
    record.status.set_condition(Condition {
        kind: ConditionType::Issuing,
        status: ConditionStatus::False,
        reason: failure.reason(),
        message: message.clone(),
        last_transition_time: now,
        observed_generation: Some(record.generation),
    });
    let mut changes = Vec::new();
    changes.extend(failed_order(snapshot, failure, now));
    changes.extend(failed_request(snapshot, failure, now));
    changes.push(Change::Certificate(Box::new(record)));
    Record { changes, events: Vec::new() }.warning(now, failure.reason(), message)
}

/// The order after a failure: final.
fn failed_order(snapshot: &Snapshot, failure: &Failure, now: Timestamp) -> Option<Change> {
    let mut order = snapshot.current_order()?.clone();
    if order.failure_time().is_some() {
        return None;
    }
    if !order.state.is_failure() {
        // One refused authorization makes the CA's order invalid (RFC 8555 section 7.1.6).
        let refused =
            order.challenges.iter().any(|c| *c.authorization() == AuthorizationState::Invalid);
        order.state = if refused { OrderState::Invalid } else { OrderState::Errored };
    }
    order.phase = OrderPhase::Failed(FailedOrder { at: Some(now), ..order.phase.failed() });
    if order.reason.is_empty() {
        order.reason = failure.to_string();
    }
    order.challenges.iter_mut().for_each(Challenge::end);
    Some(Change::Order(Box::new(order)))
}

fn failed_request(snapshot: &Snapshot, failure: &Failure, now: Timestamp) -> Option<Change> {
    let mut request = snapshot.next_request.clone()?;
    request.failure_time = Some(now);
    request.conditions = vec![Condition {
        kind: ConditionType::Ready,
        status: ConditionStatus::False,
        reason: Reason::Failed,
        message: failure.to_string(),
        last_transition_time: now,
        observed_generation: None,
    }];
    Some(Change::Request(Box::new(request)))
}

/// Whether a live certificate is so near expiry that a wait is an error: expired, or two thirds of
/// the time between renewal and expiry gone.
pub fn is_urgent(record: &CertificateRecord, now: Timestamp) -> bool {
    match (record.status.renewal_time, record.status.not_after) {
        (Some(renewal), Some(end)) => {
            let window = renewal.duration_until(end);
            renewal.checked_add(window / 3 * 2).is_ok_and(|time| now >= time)
        }
        (None, Some(end)) => now >= end,
        (_, None) => false,
    }
}

/// The class that a deferred run of an urgent certificate ends with.
pub fn class_of_last_failure(record: &CertificateRecord) -> FailureClass {
    record.last_failure.as_ref().map_or(FailureClass::Other, |failure| failure.class)
}
