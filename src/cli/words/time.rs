//! Times for people and for machines.
//!
//! Contract: pure; `now` and the time zone are arguments. People get local time with a relative
//! one beside it, machines get RFC 3339 in UTC with whole seconds.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

pub use crate::resource::rfc3339;

/// Local date and time with the zone: `2026-12-03 04:12 CET`.
pub fn local(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

/// The local date alone: `2026-12-03`.
pub fn local_date(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d").to_string()
}

/// Seen from `now`: `in 59d`, `in 3h52m`, `2m ago`; `now` within the same second.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    let distance = at.duration_since(now);
    if distance.as_secs() == 0 {
        "now".to_owned()
    } else if distance.is_negative() {
        format!("{} ago", length(distance))
    } else {
        format!("in {}", length(distance))
    }
}

/// RFC 3339 with the relative time beside it: `2026-11-21T03:12:09Z (in 3h52m)`.
fn both(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", rfc3339(at), relative(at, now))
}

/// For a person in this zone, `2026-12-03 04:12 CET, in 12d`; without one as in a log.
pub fn dated(at: Timestamp, now: Timestamp, zone: Option<&TimeZone>) -> String {
    match zone {
        Some(zone) => format!("{}, {}", local(at, zone), relative(at, now)),
        None => both(at, now),
    }
}

/// A length without its sign, rounded to the nearest: `45s`, `12m`, `3h52m`, `31h`, `59d`. Seconds
/// below a minute, minutes below an hour, hours and minutes below a day, hours below two days, then
/// days.
pub fn length(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().unsigned_abs();
    let nearest = |unit: u64| seconds.saturating_add(unit / 2) / unit;
    let (minutes, hours) = (nearest(60), nearest(3600));
    match minutes {
        _ if seconds < 60 => format!("{seconds}s"),
        0..60 => format!("{minutes}m"),
        60..1440 if minutes.is_multiple_of(60) => format!("{}h", minutes / 60),
        60..1440 => format!("{}h{}m", minutes / 60, minutes % 60),
        _ if hours < 48 => format!("{hours}h"),
        _ => format!("{}d", nearest(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn relative_times_name_the_two_largest_units_that_matter() {
        let now = at("2026-11-21T03:12:09Z");
        for (seconds, text) in [
            (0, "now"),
            (1, "in 1s"),
            (59, "in 59s"),
            (60, "in 1m"),
            (89, "in 1m"),
            (90, "in 2m"),
            (3_569, "in 59m"),
            (3_599, "in 1h"),
            (3_600, "in 1h"),
            (3 * 3_600 + 52 * 60 + 29, "in 3h52m"),
            (23 * 3_600 + 59 * 60, "in 23h59m"),
            (24 * 3_600 - 1, "in 24h"),
            (31 * 3_600, "in 31h"),
            (48 * 3_600 - 1, "in 2d"),
            (48 * 3_600, "in 2d"),
            (59 * 86_400 + 40_000, "in 59d"),
            (90 * 86_400 - 1, "in 90d"),
            (-45, "45s ago"),
            (-125, "2m ago"),
            (-3 * 86_400, "3d ago"),
        ] {
            let then = now + SignedDuration::from_secs(seconds);
            assert_eq!(relative(then, now), text, "{seconds}");
        }
    }

    #[test]
    fn people_read_local_time_and_machines_utc() {
        let then = at("2026-12-03T03:12:09.75Z");
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(local(then, &berlin), "2026-12-03 04:12 CET");
        assert_eq!(local(then, &TimeZone::UTC), "2026-12-03 03:12 UTC");
        assert_eq!(local_date(at("2026-12-03T23:30:00Z"), &berlin), "2026-12-04");
        assert_eq!(rfc3339(then), "2026-12-03T03:12:09Z");
        let now = at("2026-11-21T03:12:09Z");
        assert_eq!(both(then, now), "2026-12-03T03:12:09Z (in 12d)");
        assert_eq!(dated(then, now, None), both(then, now));
        assert_eq!(dated(then, now, Some(&berlin)), "2026-12-03 04:12 CET, in 12d");
    }
}
