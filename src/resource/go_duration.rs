//! Durations as cert-manager writes them: Go's syntax, `2160h`, `1h30m`, `300ms`.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A duration in Go syntax; printed as Go prints it (`2160h0m0s`).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct GoDuration(pub SignedDuration);

impl GoDuration {
    /// A duration of whole hours.
    pub const fn from_hours(hours: i64) -> Self {
        Self(SignedDuration::from_hours(hours))
    }
}

impl FromStr for GoDuration {
    type Err = GoDurationError;

    fn from_str(text: &str) -> Result<Self, GoDurationError> {
        let (negative, unsigned) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        };
        if unsigned == "0" {
            return Ok(Self(SignedDuration::ZERO));
        }
        if unsigned.is_empty() {
            return Err(GoDurationError::Syntax);
        }
        let mut total: i128 = 0;
        let mut rest = unsigned;
        while !rest.is_empty() {
            let (part, behind) = one_part(rest)?;
            total = total.checked_add(part).ok_or(GoDurationError::Overflow)?;
            rest = behind;
        }
        let signed = if negative { -total } else { total };
        // Go counts nanoseconds in 64 bits: about 292 years either way.
        let nanos = i64::try_from(signed).map_err(|_| GoDurationError::Overflow)?;
        Ok(Self(SignedDuration::from_nanos(nanos)))
    }
}

/// Reads one number with its unit, and returns its nanoseconds and what follows it.
fn one_part(text: &str) -> Result<(i128, &str), GoDurationError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, behind) = text.split_at(end);
    let unit_end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
    let (unit, rest) = behind.split_at(unit_end);
    let scale: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" => return Err(GoDurationError::MissingUnit),
        "d" => return Err(GoDurationError::Days { hours: hours_of(number) }),
        other => return Err(GoDurationError::UnknownUnit { unit: other.to_owned() }),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(GoDurationError::Syntax);
    }
    let whole: i128 = match whole {
        "" => 0,
        digits => digits.parse().map_err(|_| GoDurationError::Overflow)?,
    };
    let mut nanos = whole.checked_mul(scale).ok_or(GoDurationError::Overflow)?;
    let mut place = scale;
    for digit in fraction.chars().filter_map(|c| c.to_digit(10)) {
        place /= 10;
        nanos += i128::from(digit) * place;
    }
    Ok((nanos, rest))
}

/// Days in hours; one day of what is no whole number of them.
fn hours_of(days: &str) -> u64 {
    days.parse().ok().and_then(|days: u64| days.checked_mul(24)).unwrap_or(24)
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_negative() {
            f.write_str("-")?;
        }
        let nanos = self.0.as_nanos().unsigned_abs();
        if nanos == 0 {
            return f.write_str("0s");
        }
        if nanos < 1_000_000_000 {
            let (scale, unit) = match nanos {
                0..1_000 => (1, "ns"),
                1_000..1_000_000 => (1_000, "µs"),
                _ => (1_000_000, "ms"),
            };
            return write!(f, "{}{unit}", Decimal { nanos, scale });
        }
        let hours = nanos / 3_600_000_000_000;
        let minutes = nanos / 60_000_000_000 % 60;
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        write!(f, "{}s", Decimal { nanos: nanos % 60_000_000_000, scale: 1_000_000_000 })
    }
}

/// `nanos / scale`, with as many decimals as it needs and no more.
struct Decimal {
    nanos: u128,
    scale: u128,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.nanos / self.scale)?;
        let mut rest = self.nanos % self.scale;
        if rest > 0 {
            f.write_str(".")?;
        }
        let mut scale = self.scale;
        while rest > 0 {
            scale /= 10;
            write!(f, "{}", rest / scale)?;
            rest %= scale;
        }
        Ok(())
    }
}

/// Why a text is not a duration in Go syntax.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GoDurationError {
    /// Not a number followed by a unit.
    #[error("not a duration: write it like `2160h` or `1h30m`")]
    Syntax,
    /// A number without a unit.
    #[error("missing unit: one of ns, us, ms, s, m, h must follow the number")]
    MissingUnit,
    /// Days, which Go does not have, in hours.
    #[error("a duration has no days: write {hours}h")]
    Days { hours: u64 },
    /// Some other unit.
    #[error("unknown unit `{unit}`: use ns, us, ms, s, m or h")]
    UnknownUnit {
        /// The unit as written.
        unit: String,
    },
    /// More than 64 bits of nanoseconds.
    #[error("duration too long: at most about 292 years")]
    Overflow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_syntax_is_read_and_printed_as_go_does() {
        for (text, printed) in [
            ("2160h", "2160h0m0s"),
            ("1h30m", "1h30m0s"),
            ("1.5h", "1h30m0s"),
            ("300ms", "300ms"),
            ("1.5s", "1.5s"),
            ("90s", "1m30s"),
            ("-5m", "-5m0s"),
            ("0", "0s"),
            ("1500us", "1.5ms"),
        ] {
            let duration: GoDuration = text.parse().unwrap();
            assert_eq!(duration.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<GoDuration>().unwrap(), duration, "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused_with_the_way_out() {
        for (text, error) in [
            ("", GoDurationError::Syntax),
            ("90d", GoDurationError::Days { hours: 2160 }),
            ("1.5d", GoDurationError::Days { hours: 24 }),
            ("90", GoDurationError::MissingUnit),
            ("1w", GoDurationError::UnknownUnit { unit: "w".into() }),
            ("h", GoDurationError::Syntax),
            ("1.2.3h", GoDurationError::Syntax),
            ("999999999h", GoDurationError::Overflow),
        ] {
            assert_eq!(text.parse::<GoDuration>(), Err(error), "{text}");
        }
    }
}
