//! Retry-After (RFC 9110 section 10.2.3).

use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};

/// The delay in `value`, from now; `None` when it is absent or unusable: garbage, zero, negative,
/// past. It is capped at seven days.
///
/// A date is relative to the answer's own `Date` header, so a wrong clock on this machine has no
/// effect; without that header a date is unusable.
pub(super) fn parse(value: &str, date: Option<&str>) -> Option<SignedDuration> {
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // A number too long to parse exceeds seven days as well.
        SignedDuration::from_secs(value.parse().unwrap_or(i64::MAX))
    } else {
        timestamp(value)?.duration_since(timestamp(date?)?)
    };
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
        const DATE: &str = "Fri, 20 Nov 2026 12:00:00 GMT";
        let cases = [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("0", None),
            ("-5", None),
            ("1.5", None),
            ("", None),
            ("soon", None),
            ("99999999", Some(604_800)),
            ("99999999999999999999999999", Some(604_800)),
            ("Fri, 20 Nov 2026 12:01:30 GMT", Some(90)),
            ("Fri, 20 Nov 2026 11:59:59 GMT", None),
            ("Fri, 20 Nov 2026 12:00:00 GMT", None),
            ("Sat, 20 Nov 2036 12:00:00 GMT", None),
            ("Thu, 20 Nov 2036 12:00:00 GMT", Some(604_800)),
        ];
        for (value, seconds) in cases {
            let expected = seconds.map(SignedDuration::from_secs);
            assert_eq!(parse(value, Some(DATE)), expected, "{value:?}");
        }
        assert_eq!(parse("Fri, 20 Nov 2026 12:01:30 GMT", None), None);
    }
}
