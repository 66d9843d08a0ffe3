//! When the operator's hook runs.

use jiff::SignedDuration;

use super::fixture::{now, record};
use crate::controller::alert::due;

#[test]
fn a_failure_is_reported_when_new_and_twice_when_time_runs_out() {
    let mut record = record();
    record.status.not_before = None;
    record.status.not_after = None;
    let begin = now();
    assert_eq!(due(&record, begin), Some(1), "no certificate yet");
    record.status.not_before = Some(begin);
    record.status.not_after = Some(begin + SignedDuration::from_hours(90 * 24));
    let mut reported = Vec::new();
    for day in 0..95 {
        let now = begin + SignedDuration::from_hours(day * 24);
        if let Some(stage) = due(&record, now) {
            record.alerted = stage;
            reported.push((day, stage));
        }
    }
    assert_eq!(reported, [(0, 1), (61, 2), (82, 3)]);
}
