//! When a certificate is renewed: `renewBefore` ahead of its end, or when the CA suggests (ARI), then
//! moved into the maintenance windows of `spec.renewal.windows`; otherwise after a rollback.
//!
//! | the CA's window | the desired time |
//! | --- | --- |
//! | none | `renewBefore` ahead of the end; a third of the lifetime by default |
//! | the last question brought it | the instant chosen in it |
//! | the same, and the manifest has renewBefore or renewBeforePercentage | the earlier of the two |
//! | the last question failed | the earlier of the two |
//! | told after a rollback | the earlier of the instant and the rollback's time |
//! | of a certificate that ARI alone had renewed | the instant, but a third of the lifetime from its start at the earliest |
//!
//! | the desired time | the renewal |
//! | --- | --- |
//! | lies in a window | then |
//! | lies in none | at the first start of a window after it |
//! | no window starts before the certificate's end | an error, and at the desired time all the same |

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Unit};
use thiserror::Error;

use super::{Snapshot, rollback};
use crate::resource::{CertificateSpec, Cron, LeafFacts, RenewalWindow};

/// When a renewal is due without the CA's renewal information: [`renew_before`] ahead of the leaf's
/// end, floored to the second, then moved into `spec.renewal.windows`. `None` when renewal is
/// disabled.
pub fn renewal_time(spec: &CertificateSpec, leaf: &LeafFacts) -> Option<RenewalTime> {
    in_a_window(spec, leaf, before_the_end(spec, leaf, USUAL)?)
}

/// `default`: which part of the lifetime is left then, when the manifest does not say.
fn before_the_end(spec: &CertificateSpec, leaf: &LeafFacts, default: i32) -> Option<Timestamp> {
    if spec.never_renews() {
        return None;
    }
    let lifetime = lifetime(leaf);
    let before = own_renew_before(spec, lifetime).unwrap_or(lifetime / default);
    leaf.not_after.checked_sub(before).ok()
}

fn lifetime(leaf: &LeafFacts) -> SignedDuration {
    leaf.not_before.duration_until(leaf.not_after)
}

fn in_a_window(spec: &CertificateSpec, leaf: &LeafFacts, due: Timestamp) -> Option<RenewalTime> {
    let floor = jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Floor);
    let desired = due.round(floor).ok()?;
    let windows = spec.renewal.as_ref().map(|renewal| renewal.windows.as_slice());
    let windows = windows.unwrap_or_default();
    Some(match fit(desired, leaf.not_before, leaf.not_after, windows) {
        Ok(time) => RenewalTime { time, window_error: None, is_suggested: false },
        // An expired certificate helps no maintenance window.
        Err(error) => RenewalTime { time: desired, window_error: Some(error), is_suggested: false },
    })
}

/// When a renewal of the live leaf is due: see the tables. One that was due at the time of a
/// rollback to this leaf is due when a third of the lifetime that was left then is left. Without
/// renewBefore and its percentage, one of the `shortlived` profile is due at half its lifetime.
pub fn due(snapshot: &Snapshot, leaf: &LeafFacts, now: Timestamp) -> Option<RenewalTime> {
    let spec = &snapshot.certificate.spec;
    let natural = before_the_end(spec, leaf, default(snapshot))?;
    let suggestion = suggestion(snapshot, leaf, now);
    let desired = match rollback::in_force(snapshot).map(|rollback| rollback.requested_at) {
        Some(back_since) => {
            let own = after_rollback(spec, leaf, (natural, back_since))?;
            suggestion.map_or(own, |suggestion| suggestion.at.min(own))
        }
        None => suggestion.map_or(natural, |suggestion| {
            let own = own_renew_before(spec, lifetime(leaf));
            let is_capped = !suggestion.is_current || own.is_some();
            if is_capped { suggestion.at.min(natural) } else { suggestion.at }
        }),
    };
    let is_suggested = suggestion.is_some_and(|suggestion| suggestion.at == desired);
    Some(RenewalTime { is_suggested, ..in_a_window(spec, leaf, desired)? })
}

fn after_rollback(
    spec: &CertificateSpec,
    leaf: &LeafFacts,
    (natural, back_since): (Timestamp, Timestamp),
) -> Option<Timestamp> {
    if in_a_window(spec, leaf, natural)?.time > back_since {
        return Some(natural);
    }
    let left = back_since.duration_until(leaf.not_after);
    leaf.not_after.checked_sub(left / 3).ok()
}

/// When the CA suggests to renew the live leaf.
#[derive(Clone, Copy)]
struct Suggestion {
    at: Timestamp,
    /// The last question brought it.
    is_current: bool,
}

/// When the CA suggests to renew this leaf; `None` when it has not said, when it said so before a
/// rollback, or when it is not to be asked. An instant that had passed when the CA named it is that
/// time, unless a clock that was ahead told it.
fn suggestion(snapshot: &Snapshot, leaf: &LeafFacts, now: Timestamp) -> Option<Suggestion> {
    let known = snapshot.record.renewal_information(leaf)?;
    if !snapshot.issuer().acme.asks_when_to_renew() {
        return None;
    }
    let window = known.suggested_window.as_ref()?;
    if rollback::in_force(snapshot)
        .is_some_and(|rollback| window.reported_at <= rollback.requested_at)
    {
        return None;
    }
    let reported_at = if window.reported_at <= now { window.reported_at } else { Timestamp::MIN };
    // Without this, a CA that names a time in the past for every certificate has each run renew.
    let earliest = if known.follows_early_renewal {
        leaf.not_before.checked_add(lifetime(leaf) / 3).unwrap_or(Timestamp::MAX)
    } else {
        Timestamp::MIN
    };
    let at = window.renew_at.max(earliest).max(reported_at);
    Some(Suggestion { at, is_current: known.last_error.is_none() })
}

/// Whether only the CA's renewal information makes a renewal of the live leaf due.
pub fn is_early(snapshot: &Snapshot, now: Timestamp) -> bool {
    let spec = &snapshot.certificate.spec;
    snapshot.live_leaf().is_some_and(|leaf| {
        suggestion(snapshot, leaf, now).is_some_and(|suggestion| suggestion.at <= now)
            && before_the_end(spec, leaf, default(snapshot)).is_some_and(|natural| now < natural)
    })
}

/// Which part of the lifetime is left by default when a renewal is due.
fn default(snapshot: &Snapshot) -> i32 {
    let is_short_lived = snapshot.issued_profile.as_deref() == Some(SHORT_LIVED)
        && snapshot.certificate.spec.renew_before_percentage.is_none();
    if is_short_lived { 2 } else { USUAL }
}

/// A third of the lifetime is left.
const USUAL: i32 = 3;

/// Let's Encrypt's profile for certificates of six days. A third of that is too short to correct
/// what fails.
const SHORT_LIVED: &str = "shortlived";

/// When a renewal is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewalTime {
    pub time: Timestamp,
    /// Why it lies in none of the windows.
    pub window_error: Option<WindowError>,
    /// The CA suggests it.
    pub is_suggested: bool,
}

/// How long before expiry the renewal of a certificate with this `lifetime` is due:
/// renewBefore if that is shorter, else the percentage of the lifetime, else a third of it.
pub fn renew_before(spec: &CertificateSpec, lifetime: SignedDuration) -> SignedDuration {
    own_renew_before(spec, lifetime).unwrap_or(lifetime / USUAL)
}

/// The same, if the manifest says so.
fn own_renew_before(spec: &CertificateSpec, lifetime: SignedDuration) -> Option<SignedDuration> {
    spec.renew_before
        .map(|before| before.0)
        .filter(|before| before.is_positive() && *before < lifetime)
        .or_else(|| percentage_of(lifetime, spec.renew_before_percentage?))
}

fn percentage_of(lifetime: SignedDuration, percentage: i32) -> Option<SignedDuration> {
    (0 < percentage && percentage < 100).then(|| {
        let nanos = lifetime.as_nanos() * i128::from(percentage) / 100;
        i64::try_from(nanos).map_or(lifetime / 3, SignedDuration::from_nanos)
    })
}

/// Why there is no renewal time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WindowError {
    /// No window opens in time.
    #[error(
        "cannot find a time with the given windows between {} and {}",
        go_time(*.desired),
        go_time(*.end)
    )]
    NoneOpens { desired: Timestamp, end: Timestamp },
}

/// A time in Go's format, which cert-manager's messages use.
pub(super) fn go_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string()
}

/// The first time in the windows at or after `desired`; `desired` itself when
/// there are no windows. The certificate is valid from `start` to `end`.
fn fit(
    desired: Timestamp,
    start: Timestamp,
    end: Timestamp,
    windows: &[RenewalWindow],
) -> Result<Timestamp, WindowError> {
    if windows.is_empty() {
        return Ok(desired);
    }
    let mut earliest: Option<Timestamp> = None;
    for window in windows {
        let (cron, zone) = (&window.cron, window.timezone.rules());
        let length = window.window_duration.0;
        let from = start.saturating_sub(length).unwrap_or(Timestamp::MIN);
        if is_open(cron, zone, length, from, desired) {
            return Ok(desired);
        }
        let latest = end.saturating_add(length).unwrap_or(Timestamp::MAX);
        let to = desired.saturating_add(HORIZON).unwrap_or(Timestamp::MAX).min(latest);
        let next = match cron.every() {
            None => cron.first(zone, desired, to),
            Some(every) => {
                let last = cron.last(zone, from, desired);
                last.and_then(|last| last.checked_add(every).ok()).filter(|next| *next <= to)
            }
        };
        earliest = match (earliest, next) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    earliest.ok_or(WindowError::NoneOpens { desired, end })
}

/// Whether the window's latest start leaves it open at `time`.
fn is_open(
    cron: &Cron,
    zone: &TimeZone,
    length: SignedDuration,
    from: Timestamp,
    time: Timestamp,
) -> bool {
    // An earlier start than this one has closed in any case.
    let opened = time.saturating_sub(length).unwrap_or(Timestamp::MIN).max(from);
    let begin = if cron.every().is_some() { from } else { opened };
    let start = cron.last(zone, begin, time);
    start.and_then(|start| start.checked_add(length).ok()).is_some_and(|closes| time < closes)
}

/// Windows that open only after this time never open: an expression such as 30 February.
const HORIZON: SignedDuration = SignedDuration::from_hours(24 * 366 * 5);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn window(cron: &str, duration: &str, timezone: &str) -> RenewalWindow {
        RenewalWindow {
            cron: cron.parse().unwrap(),
            window_duration: duration.parse().unwrap(),
            timezone: timezone.parse().unwrap(),
        }
    }

    #[test]
    fn a_renewal_waits_for_the_first_window_that_is_open() {
        let (start, end) = (at("2025-12-01T00:00:00Z"), at("2026-01-10T00:00:00Z"));
        let night = || window("0 22 * * *", "4h", "");
        let noon = || window("0 12 * * *", "1h", "America/New_York");
        let cases = [
            (vec![], "2026-01-02T13:00:00Z", Some("2026-01-02T13:00:00Z")),
            (vec![night()], "2026-01-02T13:00:00Z", Some("2026-01-02T22:00:00Z")),
            (vec![night()], "2026-01-02T22:00:00Z", Some("2026-01-02T22:00:00Z")),
            // A window that opened yesterday stays open past midnight, and closes on time.
            (vec![night()], "2026-01-03T01:59:59Z", Some("2026-01-03T01:59:59Z")),
            (vec![night()], "2026-01-03T02:00:00Z", Some("2026-01-03T22:00:00Z")),
            (vec![night(), noon()], "2026-01-02T13:00:00Z", Some("2026-01-02T17:00:00Z")),
            (vec![noon(), night()], "2026-01-02T23:00:00Z", Some("2026-01-02T23:00:00Z")),
            (
                vec![window("@every 24h", "1h", "")],
                "2026-01-02T13:00:00Z",
                Some("2026-01-02T23:00:00Z"),
            ),
            (vec![window("0 0 1 * *", "1h", "")], "2026-01-02T13:00:00Z", None),
            (vec![window("0 0 30 2 *", "1h", "")], "2026-01-02T13:00:00Z", None),
        ];
        for (windows, desired, expected) in cases {
            let desired = at(desired);
            let wanted = expected.map(at).ok_or(WindowError::NoneOpens { desired, end });
            assert_eq!(fit(desired, start, end, &windows), wanted, "{windows:?} {desired}");
        }
    }
}
