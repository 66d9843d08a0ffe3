//! When the operator's `on-failure` hook runs: at a new failure, and again when less than a
//! third, and less than a tenth, of the live certificate's lifetime is left. After a success, the
//! next failure is new.

use jiff::Timestamp;

use crate::resource::CertificateRecord;

/// How urgent it is. Stored as a number: 0 is "nothing was reported".
pub type Stage = u8;

/// The stage to report now, when it is beyond the last reported one.
pub fn due(record: &CertificateRecord, now: Timestamp) -> Option<Stage> {
    let stage = match (record.status.not_before, record.status.not_after) {
        (Some(begin), Some(end)) => {
            let (life, left) = (begin.duration_until(end), now.duration_until(end));
            if left < life / 10 {
                3
            } else if left < life / 3 {
                2
            } else {
                1
            }
        }
        _ => 1,
    };
    (stage > record.alerted).then_some(stage)
}
