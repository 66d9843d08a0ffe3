//! How far a renewal is overdue, and when the operator's hook runs.

use jiff::{SignedDuration, Timestamp};

use super::fixture::{now, record};
use crate::controller::alert::{Overdue, Stage, due, overdue};

const DAY: SignedDuration = SignedDuration::from_hours(24);
const SECOND: SignedDuration = SignedDuration::from_secs(1);

#[test]
fn a_renewal_is_overdue_when_more_than_a_tenth_of_its_time_has_gone() {
    let renewal = now();
    let end = renewal + DAY * 30;
    let stage_at = |at: Timestamp| overdue(Some(renewal), Some(end), at).map(|found| found.stage);
    let steps = [
        (renewal + DAY * 3, None, Some(Stage::Overdue)),
        (renewal + DAY * 15, Some(Stage::Overdue), Some(Stage::Half)),
        (renewal + DAY * 27, Some(Stage::Half), Some(Stage::NineTenths)),
    ];
    for (at, until_then, from_then) in steps {
        assert_eq!((stage_at(at), stage_at(at + SECOND)), (until_then, from_then), "{at}");
    }
    // A certificate is expired at its notAfter.
    assert_eq!(stage_at(end - SECOND), Some(Stage::NineTenths));
    let expired = Overdue { due: renewal, since: renewal + DAY * 3, stage: Stage::Expired };
    assert_eq!(overdue(Some(renewal), Some(end), end), Some(expired));
    // Nothing is due where nothing is issued, or where renewal is disabled.
    assert_eq!(overdue(None, Some(end), end), None);
    assert_eq!(overdue(Some(renewal), None, end), None);
    // A window that moved the renewal behind the end.
    let late = overdue(Some(end + DAY), Some(end), end - SECOND);
    assert_eq!((late, stage_at(renewal - DAY)), (None, None));
    let late = Overdue { due: end + DAY, since: end, stage: Stage::Expired };
    assert_eq!(overdue(Some(end + DAY), Some(end), end), Some(late));
}

#[test]
fn each_stage_is_reported_once() {
    let begin = now();
    for (has_failed, expected) in [
        (true, vec![(0, "failed"), (64, "overdue"), (76, "half"), (88, "nine-tenths")]),
        (false, vec![(64, "overdue"), (76, "half"), (88, "nine-tenths")]),
    ] {
        let mut record = record();
        record.status.not_before = Some(begin);
        record.status.renewal_time = Some(begin + DAY * 60);
        record.status.not_after = Some(begin + DAY * 90);
        let mut reported = Vec::new();
        for day in 0..95 {
            if let Some(stage) = due(&record, has_failed, begin + DAY * day) {
                record.alerted = stage.number();
                reported.push((day, stage.name()));
            }
        }
        assert_eq!(reported, [expected, vec![(90, "expired")]].concat());
    }
}

#[test]
fn a_failure_without_a_renewal_time_is_reported_once_and_at_expiry() {
    let mut record = record();
    record.status.renewal_time = None;
    record.status.not_after = None;
    assert_eq!(due(&record, true, now()), Some(Stage::Failed), "no certificate yet");
    assert_eq!(due(&record, false, now()), None);
    record.alerted = Stage::Failed.number();
    record.status.not_after = Some(now() + DAY);
    assert_eq!(due(&record, true, now()), None);
    assert_eq!(due(&record, true, now() + DAY), Some(Stage::Expired));
}
