//! When the operator's `on-failure` hook is run: at a new failure, and again when less than a
//! third, and less than a tenth, of the live certificate's life is left. A success makes the next
//! failure a new one.

use jiff::Timestamp;

use crate::resource::CertificateRecord;

/// How far it has come. Stored as a number: 0 is "nothing was told".
pub type Stage = u8;

/// The stage that is to be told of now, when it is further than the one told of before.
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
