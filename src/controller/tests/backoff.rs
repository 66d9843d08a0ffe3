//! Delays, and what a failure leaves behind.

use jiff::SignedDuration;

use super::fixture::{
    Phase, error, from_now, hours, live, now, phase_of, solving, written_order, written_record,
};
use crate::controller::backoff::{self, delay, is_urgent, next_attempt, record_failure};
use crate::controller::{Snapshot, readiness, trigger};
use crate::resource::{
    CaFault, Cause, CauseKind, CertificateStatus, ConditionStatus, ConditionType, Doing, Failure,
    FailureClass, OrderState, Reason,
};

fn failure(class: FailureClass) -> Failure {
    let message = "b.example: no".to_owned();
    let failure = Failure::new(class, Doing::Nothing, Cause::local(message));
    Failure { retry_after: Some(hours(3)), ..failure }
}

#[test]
fn each_failure_doubles_the_delay_up_to_32_hours() {
    let cases = [
        (None, 1),
        (Some(0), 1),
        (Some(1), 1),
        (Some(2), 2),
        (Some(3), 4),
        (Some(4), 8),
        (Some(5), 16),
        (Some(6), 32),
        (Some(7), 32),
        (Some(31), 32),
        (Some(32), 32),
        (Some(33), 32),
        (Some(u32::MAX), 32),
    ];
    for (attempts, expected) in cases {
        assert_eq!(delay(attempts), hours(expected), "{attempts:?}");
    }
}

#[test]
fn the_next_attempt_is_the_later_of_backoff_and_retry_after() {
    let mut record = live().record;
    assert_eq!(next_attempt(&record), None);
    record.retry_after = Some(from_now(hours(1)));
    assert_eq!(next_attempt(&record), Some(from_now(hours(1))));
    record.status.last_failure_time = Some(now());
    record.status.failed_issuance_attempts = Some(3);
    assert_eq!(next_attempt(&record), Some(from_now(hours(4))));
    record.retry_after = Some(from_now(hours(5)));
    assert_eq!(next_attempt(&record), Some(from_now(hours(5))));
}

/// The delays, in seconds, of a certificate whose renewal is due with `left` to live, and fails at
/// once whenever it is attempted.
fn delays(left: SignedDuration) -> Vec<i64> {
    let (mut record, end) = (live().record, from_now(left));
    record.status.not_after = Some(end);
    let (mut at, mut delays) = (now(), Vec::new());
    for attempts in 1.. {
        record.status.last_failure_time = Some(at);
        record.status.failed_issuance_attempts = Some(attempts);
        let next = next_attempt(&record).unwrap();
        delays.push(at.duration_until(next).as_secs());
        if at >= end {
            break;
        }
        at = next;
    }
    delays
}

#[test]
fn the_delays_of_a_certificate_of_90_days_are_exact_to_the_second_until_the_last_36_hours() {
    let hour = 3600;
    let exact = [1, 2, 4, 8, 16].map(|hours| hours * hour);
    // 30 days: 31h for the first five, 21 times 32h, and 17h are left.
    let plain = [&exact[..], &[32 * hour; 21]].concat();
    let delays = delays(hours(30 * 24));
    assert_eq!(delays[..plain.len()], plain);
    // 7/8 of 17h, and of what is left each time; then 5 minutes; then the plain backoff.
    let last = [53_550, 6_693, 836, 300, 32 * hour];
    assert_eq!(delays[plain.len()..], last);
}

#[test]
fn the_delays_of_a_certificate_of_6_days_shrink_with_what_is_left_of_it() {
    let hour = 3600;
    let first = [1, 2, 4, 8, 16].map(|hours| hours * hour);
    // 48h, of which 17h are left after the first five.
    let expected = [&first[..], &[53_550, 6_693, 836, 300, 32 * hour]].concat();
    assert_eq!(delays(hours(48)), expected);
}

#[test]
fn an_expired_certificate_has_the_plain_backoff_and_the_cas_wish_is_kept() {
    let mut record = live().record;
    record.status.last_failure_time = Some(now());
    record.status.failed_issuance_attempts = Some(7);
    for (end, expected) in [
        (None, hours(32)),
        (Some(from_now(-hours(1))), hours(32)),
        (Some(now()), hours(32)),
        (Some(from_now(hours(8))), hours(7)),
        (Some(from_now(SignedDuration::from_secs(1))), SignedDuration::from_mins(5)),
    ] {
        record.status.not_after = end;
        assert_eq!(next_attempt(&record), Some(from_now(expected)), "{end:?}");
    }
    record.status.not_after = Some(from_now(hours(8)));
    record.retry_after = Some(from_now(hours(9)));
    assert_eq!(next_attempt(&record), Some(from_now(hours(9))));
}

#[test]
fn a_failure_at_home_takes_nothing_off_the_cas_wish() {
    let mut snapshot = live();
    for (request, left) in [(hours(5), Some(hours(5))), (hours(0), None)] {
        snapshot.record.retry_after = Some(from_now(request));
        let failure = Failure { retry_after: None, ..failure(FailureClass::Precondition) };
        let record = record_failure(&snapshot, &failure, now());
        assert_eq!(written_record(&record).retry_after, left.map(from_now));
    }
}

#[test]
fn a_counted_failure_closes_the_issuance_in_one_record() {
    let mut snapshot = solving(&[Phase::SelfChecking, Phase::Accepted, Phase::Queued]);
    snapshot.record.status.failed_issuance_attempts = Some(u32::MAX);
    let record = record_failure(&snapshot, &failure(FailureClass::Validation), now());
    let after_it = written_record(&record);
    let status = &after_it.status;
    assert_eq!(status.failed_issuance_attempts, Some(u32::MAX), "it does not wrap");
    assert_eq!(status.last_failure_time, Some(now()));
    assert_eq!(after_it.retry_after, Some(from_now(hours(3))));
    assert_eq!(after_it.attempted_inputs, ["input"]);
    assert_eq!(after_it.last_failure.as_ref().unwrap().class, FailureClass::Validation);
    let issuing = status.condition(ConditionType::Issuing).unwrap();
    assert_eq!(issuing.status, ConditionStatus::False);
    assert!(issuing.message.contains("b.example: no"), "{}", issuing.message);
    assert!(issuing.message.contains("2026-01-03T11:04:05Z"), "{}", issuing.message);

    let order = written_order(&record);
    assert_eq!((order.phase.word(), &order.state), ("failed", &OrderState::Errored));
    assert_eq!((order.failure_time(), order.reason.as_str()), (Some(now()), "b.example: no"));
    let left: Vec<_> = order.challenges.iter().map(|c| (phase_of(c), c.owes_clean_up())).collect();
    let owed = (Phase::Final, true);
    assert_eq!(left, [owed, owed, (Phase::Final, false)]);
}

/// After a forced attempt too: it counts like any other.
#[test]
fn each_counted_failure_adds_one_and_is_said_with_the_time_of_the_next_attempt() {
    let cases = [
        (None, 1, "2026-01-02T04:04:05Z"),
        (Some(1), 2, "2026-01-02T05:04:05Z"),
        (Some(2), 3, "2026-01-02T07:04:05Z"),
        (Some(3), 4, "2026-01-02T11:04:05Z"),
        (Some(4), 5, "2026-01-02T19:04:05Z"),
        (Some(5), 6, "2026-01-03T11:04:05Z"),
        (Some(6), 7, "2026-01-03T11:04:05Z"),
    ];
    for (before, attempts, next) in cases {
        let mut snapshot = solving(&[]);
        snapshot.record.status.failed_issuance_attempts = before;
        snapshot.record.status.last_failure_time = before.map(|_| from_now(-hours(1)));
        let failure = Failure { retry_after: None, ..failure(FailureClass::Validation) };
        let record = record_failure(&snapshot, &failure, now());
        let status = &written_record(&record).status;
        assert_eq!(status.failed_issuance_attempts, Some(attempts), "{before:?}");
        assert_eq!(status.last_failure_time, Some(now()), "{before:?}");
        let message = &status.condition(ConditionType::Issuing).unwrap().message;
        let suffix = format!("(attempt {attempts}; next attempt at {next})");
        assert!(message.contains(&suffix), "{before:?}: {message}");
    }
}

#[test]
fn a_renewal_that_failed_stands_beside_a_pair_that_is_ready() {
    let mut snapshot = live();
    snapshot.record = readiness::refreshed(&snapshot, now());
    let ready = snapshot.record.status.clone();
    snapshot.record = trigger::issuing(&snapshot.record, Reason::Renewing, "due", now());
    let record = record_failure(&snapshot, &failure(FailureClass::Ca), from_now(hours(1)));
    let status = &written_record(&record).status;
    let condition = |kind| status.condition(kind).map(|found| (found.status, found.reason));
    let issuing = Some((ConditionStatus::False, Reason::Failed));
    assert_eq!(condition(ConditionType::Issuing), issuing);
    assert_eq!(condition(ConditionType::Ready), Some((ConditionStatus::True, Reason::Ready)));
    assert_eq!((status.revision, status.not_after), (Some(1), ready.not_after));
}

#[test]
fn the_count_is_there_only_while_it_fails() {
    let mut status = CertificateStatus::default();
    assert_eq!(serde_json::to_string(&status).unwrap(), "{}");
    status.failed_issuance_attempts = Some(3);
    let written = r#"{"failedIssuanceAttempts":3}"#;
    assert_eq!(serde_json::to_string(&status).unwrap(), written);
    assert_eq!(serde_json::from_str::<CertificateStatus>(written).unwrap(), status);
}

#[test]
fn a_second_failure_of_one_input_notes_it_once() {
    let mut snapshot = solving(&[]);
    snapshot.record.attempted_inputs = vec!["input".to_owned()];
    snapshot.record.status.failed_issuance_attempts = Some(1);
    let record = record_failure(&snapshot, &failure(FailureClass::Ca), now());
    assert_eq!(written_record(&record).attempted_inputs, ["input"]);
    assert_eq!(written_record(&record).status.failed_issuance_attempts, Some(2));
}

#[test]
fn the_failure_of_an_edited_input_ends_what_the_edit_let_through() {
    let mut snapshot = solving(&[]);
    snapshot.record.attempted_inputs = vec!["before".to_owned()];
    let record = record_failure(&snapshot, &failure(FailureClass::Ca), now());
    assert_eq!(written_record(&record).attempted_inputs, ["before", "input"]);
}

#[test]
fn a_failure_that_does_not_count_leaves_the_issuance_open() {
    let uncounted = [
        FailureClass::Precondition,
        FailureClass::Unreachable,
        FailureClass::Output,
        FailureClass::State,
    ];
    for class in uncounted {
        let snapshot = solving(&[Phase::SelfChecking]);
        let record = record_failure(&snapshot, &failure(class), now());
        assert_eq!(record.changes.len(), 1, "{class:?}");
        let mut expected = snapshot.record.clone();
        expected.retry_after = Some(from_now(hours(3)));
        expected.last_failure.clone_from(&written_record(&record).last_failure);
        assert_eq!(*written_record(&record), expected, "{class:?}");
    }
}

#[test]
fn each_kind_of_error_has_its_class() {
    let cases = [
        (CauseKind::Transient, FailureClass::Unreachable),
        (CauseKind::Refused, FailureClass::Ca),
        (CauseKind::Gone, FailureClass::Ca),
        (CauseKind::Unusable, FailureClass::Ca),
        (CauseKind::Precondition, FailureClass::Precondition),
        (CauseKind::State, FailureClass::State),
        (CauseKind::Local, FailureClass::Other),
    ];
    for (kind, class) in cases {
        assert_eq!(error(kind).cause.class(), class, "{kind:?}");
    }
    let failure = error(CauseKind::Local).failure(Doing::Finalize);
    assert_eq!(failure.to_string(), "Failed to finalize Order: it went wrong");
}

#[test]
fn a_wait_is_urgent_after_two_thirds_of_the_renewal_window() {
    let mut record = live().record;
    assert!(!is_urgent(&record, now()), "nothing is live");
    record.status.not_after = Some(from_now(hours(30)));
    assert!(!is_urgent(&record, from_now(hours(29))) && is_urgent(&record, from_now(hours(30))));
    record.status.renewal_time = Some(now());
    assert!(!is_urgent(&record, from_now(hours(20)) - SignedDuration::from_secs(1)));
    assert!(is_urgent(&record, from_now(hours(20))));
    assert_eq!(backoff::class_of_last_failure(&record), FailureClass::Other);
}

#[test]
fn a_server_error_counts_when_it_has_come_back_for_a_day() {
    let mut snapshot = live();
    let broken = |fault| Failure::of(Doing::CreateOrder, Cause::ca(fault, "no"));
    let story = [
        (0, CaFault::Unreachable, Some(0), false),
        (1, CaFault::ServerError, Some(1), false),
        (24, CaFault::ServerError, Some(1), false),
        (25, CaFault::ServerError, Some(1), true),
        (30, CaFault::Unreachable, Some(30), false),
        (50, CaFault::ServerError, Some(50), false),
    ];
    for (hour, fault, since, counts) in story {
        let now = from_now(hours(hour));
        let found = backoff::lasting(&snapshot, broken(fault), now);
        assert_eq!(
            (found.since, found.counts()),
            (since.map(|h| from_now(hours(h))), counts),
            "{hour}"
        );
        snapshot.record.last_failure = Some(Failure { at: Some(now), ..found });
    }
}

#[test]
fn a_failure_is_past_when_what_failed_is_no_longer_asked_for() {
    let failed = |class, counted_with: Option<&str>| {
        let mut snapshot = live();
        let cause = Cause::precondition("no secret".to_owned());
        snapshot.record.last_failure = Some(Failure::new(class, Doing::Nothing, cause));
        snapshot.record.status.last_failure_time = counted_with.map(|_| now());
        snapshot.record.attempted_inputs = counted_with.map(str::to_owned).into_iter().collect();
        snapshot
    };
    let lacking = || failed(FailureClass::Precondition, None);
    let issuing = |mut snapshot: Snapshot| {
        let record = trigger::issuing(&snapshot.record, Reason::Renewing, "", now());
        snapshot.record = record;
        snapshot
    };
    let input = live().input_digest;
    for (what, snapshot, is_past) in [
        ("no failure", live(), false),
        ("nothing is due", lacking(), true),
        ("it is tried again", issuing(lacking()), false),
        ("something is due", Snapshot { secret: None, ..lacking() }, false),
        ("it would fail again, and need not", failed(FailureClass::Ca, Some(&input)), true),
        ("it is edited", failed(FailureClass::Ca, Some("another")), true),
    ] {
        assert_eq!(backoff::is_past(&snapshot, now()), is_past, "{what}");
    }
}

#[test]
fn a_retry_after_is_believed_for_at_most_half_of_the_life_that_is_left() {
    let hours = |hours| now() + SignedDuration::from_hours(hours);
    let mut snapshot = live();
    let believed = |snapshot: &Snapshot, wish| {
        let retry_after = Some(SignedDuration::from_hours(wish));
        let cause = Cause::ca(CaFault::Unreachable, "busy");
        let failure = Failure { retry_after, ..Failure::of(Doing::CreateOrder, cause) };
        let record = record_failure(snapshot, &failure, now());
        written_record(&record).retry_after
    };
    for (left, wish, expected) in
        [(48, 1, 1), (48, 24, 24), (48, 25, 24), (48, 168, 24), (-1, 168, 168)]
    {
        snapshot.record.status.not_after = Some(hours(left));
        assert_eq!(believed(&snapshot, wish), Some(hours(expected)), "{left} {wish}");
    }
    snapshot.record.status.not_after = None;
    assert_eq!(believed(&snapshot, 168), Some(hours(168)));
}
