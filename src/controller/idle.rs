//! Until when is nothing due for a certificate for which nothing is due now?
//!
//! | until | because |
//! | --- | --- |
//! | its renewal is due | the trigger decides |
//! | it ends | Ready changes |
//! | its CA may be asked when to renew | a question is sent |
//! | a failed attempt may be repeated, or the CA's Retry-After is over | the backoff ends |
//! | 12 to 24 hours after it was looked at, by its name | a file can rot without a trace |
//!
//! One that is revoked and not replaced has no forecast: a run tells that once a day. Nor has one
//! that is not deployed, or that owes a clean-up: every run reports it, or retries.
//!
//! A record with a time that has not come yet, of a clock that was ahead, is no ground for a
//! forecast.

use jiff::{SignedDuration, Timestamp};

use super::renewal_information::{fractions, next_question, part};
use super::{Snapshot, backoff, deploy, renewal, revocation};
use crate::resource::Order;

/// The shortest time between two looks at all files of a certificate; the longest is twice that.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_hours(12);

/// See the table; `None` when there is no forecast. The snapshot is settled at `now`.
pub fn until(snapshot: &Snapshot, now: Timestamp) -> Option<Timestamp> {
    let status = &snapshot.record.status;
    let leaf = snapshot.live_leaf().filter(|leaf| !leaf.is_temporary())?;
    let mut orders = snapshot.retired.iter().chain(&snapshot.order);
    if revocation::ends_here(snapshot)
        || deploy::owed(snapshot).is_some()
        || orders.any(Order::owes_clean_up)
    {
        return None;
    }
    let known = status.acme.ari.as_ref();
    let window = known.and_then(|known| known.suggested_window.as_ref());
    let passed = [
        Some(leaf.not_before),
        known.and_then(|known| known.last_checked),
        window.map(|window| window.reported_at),
        status.last_failure_time,
    ];
    if passed.into_iter().flatten().any(|time| time > now) {
        return None;
    }
    let name = snapshot.certificate.metadata.key().to_string();
    let look = LOOK_AGAIN + part(LOOK_AGAIN, fractions(&name).0);
    let until = [
        renewal::due(snapshot, leaf, now).map(|due| due.time),
        Some(leaf.not_after),
        next_question(snapshot, now).map(|question| question.since),
        backoff::next_attempt(&snapshot.record).filter(|next| *next > now),
        now.checked_add(look).ok(),
    ];
    until.into_iter().flatten().min().filter(|until| *until > now)
}
