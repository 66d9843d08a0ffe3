//! Retry-After (RFC 9110 section 10.2.3).

use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};

/// The delay in `value`, from now; `None` for garbage. That of a date may be negative.
///
/// A date is relative to the answer's own `Date` header, so a wrong clock on this machine has no
/// effect; without that header a date is unusable.
pub(super) fn read(value: &str, date: Option<&str>) -> Option<SignedDuration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // A number too long to parse exceeds seven days as well.
        Some(SignedDuration::from_secs(value.parse().unwrap_or(i64::MAX)))
    } else {
        Some(timestamp(value)?.duration_since(timestamp(date?)?))
    }
}

/// The delay to wait for; `None` when it is zero or past. It is capped at seven days.
pub(super) fn bounded(wait: SignedDuration) -> Option<SignedDuration> {
    wait.is_positive().then(|| wait.min(LONGEST))
}

/// The time of a header such as `Date` (RFC 9110 section 5.6.7).
pub(super) fn timestamp(value: &str) -> Option<Timestamp> {
    PARSER.parse_timestamp(value.trim()).ok()
}

const PARSER: DateTimeParser = DateTimeParser::new();
const LONGEST: SignedDuration = SignedDuration::from_hours(7 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_bounded() {
        const FOREVER: i64 = i64::MAX;
        const DATE: &str = "Fri, 20 Nov 2026 12:00:00 GMT";
        let cases = [
            ("120", Some(120), Some(120)),
            (" 7 ", Some(7), Some(7)),
            ("0", Some(0), None),
            ("-5", None, None),
            ("1.5", None, None),
            ("", None, None),
            ("soon", None, None),
            ("99999999", Some(99_999_999), Some(604_800)),
            ("99999999999999999999999999", Some(FOREVER), Some(604_800)),
            ("Fri, 20 Nov 2026 12:01:30 GMT", Some(90), Some(90)),
            ("Fri, 20 Nov 2026 11:59:59 GMT", Some(-1), None),
            ("Fri, 20 Nov 2026 12:00:00 GMT", Some(0), None),
            ("Sat, 20 Nov 2036 12:00:00 GMT", None, None),
            ("Thu, 20 Nov 2036 12:00:00 GMT", Some(315_619_200), Some(604_800)),
        ];
        for (value, sent, seconds) in cases {
            let found = read(value, Some(DATE));
            assert_eq!(found, sent.map(SignedDuration::from_secs), "{value:?}");
            let expected = seconds.map(SignedDuration::from_secs);
            assert_eq!(found.and_then(bounded), expected, "{value:?}");
        }
        assert_eq!(read("Fri, 20 Nov 2026 12:01:30 GMT", None), None);
    }
}
