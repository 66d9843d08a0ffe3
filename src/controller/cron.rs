//! When a cron expression fires: five fields (minute, hour, day, month, weekday), a descriptor
//! such as `@daily`, or `@every 4h`.
//!
//! Days are restricted as cron has it: when day and weekday both are, either is enough. Times
//! that a zone skips never come, and times that it has twice come twice.

use std::ops::RangeInclusive;

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::resource::GoDuration;

/// An expression, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cron {
    /// Five fields.
    Fields(Fields),
    /// `@every`.
    Every(SignedDuration),
}

/// The values of each field, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Neither day nor weekday is `*`: one of them is enough.
    either_day: bool,
}

impl Cron {
    /// Reads an expression; `None` when it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(every) = text.strip_prefix("@every ") {
            let every = every.parse::<GoDuration>().ok()?.0;
            let seconds = SignedDuration::from_secs(every.as_secs().max(1));
            return Some(Self::Every(seconds));
        }
        let text = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let mut fields = text.split_ascii_whitespace();
        let mut next = |low, high, names| values(fields.next()?, low, high, names);
        let (minutes, _) = next(0, 59, &[])?;
        let (hours, _) = next(0, 23, &[])?;
        let (days, any_day) = next(1, 31, &[])?;
        let (months, _) = next(1, 12, MONTHS)?;
        let (weekdays, any_weekday) = next(0, 6, WEEKDAYS)?;
        let either_day = !any_day && !any_weekday;
        let read = Fields { minutes, hours, days, months, weekdays, either_day };
        fields.next().is_none().then_some(Self::Fields(read))
    }

    /// The first time it fires in `[from, to]`. `@every` counts from `from`.
    pub(super) fn first(
        &self,
        zone: &TimeZone,
        from: Timestamp,
        to: Timestamp,
    ) -> Option<Timestamp> {
        let fields = match self {
            Self::Fields(fields) => fields,
            Self::Every(_) => return (from <= to).then_some(from),
        };
        let last_day = zone.to_datetime(to).date();
        let mut day = zone.to_datetime(from).date();
        while day <= last_day {
            if let Some(found) = fields.times(day, zone, from..=to).into_iter().min() {
                return Some(found);
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    /// The last time it fires in `[from, to]`. `@every` counts from `from`.
    pub(super) fn last(
        &self,
        zone: &TimeZone,
        from: Timestamp,
        to: Timestamp,
    ) -> Option<Timestamp> {
        let fields = match self {
            Self::Fields(fields) => fields,
            Self::Every(every) => {
                let whole = from.duration_until(to).as_secs().checked_div(every.as_secs())?;
                let whole = i32::try_from(whole).ok().filter(|whole| *whole >= 0)?;
                return from.checked_add(every.checked_mul(whole)?).ok();
            }
        };
        let first_day = zone.to_datetime(from).date();
        let mut day = zone.to_datetime(to).date();
        while day >= first_day {
            if let Some(found) = fields.times(day, zone, from..=to).into_iter().max() {
                return Some(found);
            }
            day = day.yesterday().ok()?;
        }
        None
    }
}

impl Fields {
    fn has_day(&self, date: Date) -> bool {
        let in_days = has(self.days, date.day());
        let in_week = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let right_day = if self.either_day { in_days || in_week } else { in_days && in_week };
        right_day && has(self.months, date.month())
    }

    /// Every time of one day that lies within `within`.
    fn times(
        &self,
        date: Date,
        zone: &TimeZone,
        within: RangeInclusive<Timestamp>,
    ) -> Vec<Timestamp> {
        let mut times = Vec::new();
        if !self.has_day(date) {
            return times;
        }
        for hour in (0..24).filter(|hour| has(self.hours, *hour)) {
            for minute in (0..60).filter(|minute| has(self.minutes, *minute)) {
                let local = date.at(hour, minute, 0, 0);
                match zone.to_ambiguous_timestamp(local).offset() {
                    AmbiguousOffset::Unambiguous { offset } => {
                        times.extend(offset.to_timestamp(local));
                    }
                    AmbiguousOffset::Gap { .. } => {}
                    AmbiguousOffset::Fold { before, after } => {
                        times.extend(before.to_timestamp(local));
                        times.extend(after.to_timestamp(local));
                    }
                }
            }
        }
        times.retain(|time| within.contains(time));
        times
    }
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits.checked_shr(value).unwrap_or(0) & 1 == 1)
}

/// The values of one field, and whether it leaves everything open (`*`, `?`).
fn values(text: &str, low: u32, high: u32, names: &[&str]) -> Option<(u64, bool)> {
    let mut bits = 0;
    let mut open = false;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|s| *s > 0)?)),
            None => (part, None),
        };
        let value = |word: &str| {
            let by_name = names.iter().zip(low..).find(|(name, _)| name.eq_ignore_ascii_case(word));
            let value = by_name.map_or_else(|| word.parse().ok(), |(_, value)| Some(value));
            value.filter(|value| (low..=high).contains(value))
        };
        let (from, to) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => {
                open |= step.unwrap_or(1) == 1;
                (low, high)
            }
            Some((from, to)) => (value(from)?, value(to)?),
            // A single value with a step runs to the end.
            None if step.is_some() => (value(range)?, high),
            None => (value(range)?, value(range)?),
        };
        let step = usize::try_from(step.unwrap_or(1)).ok()?;
        bits |= (from..=to).step_by(step).fold(0_u64, |bits, value| bits | 1 << value);
    }
    Some((bits, open))
}

const MONTHS: &[&str] =
    &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::window::zone;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Expression, zone, from, the next time and the last time before it.
    const CASES: &[(&str, &str, &str, &str, &str)] = &[
        ("0 2 * * *", "", "2026-01-02T02:00:00Z", "2026-01-02T02:00:00Z", "2026-01-02T02:00:00Z"),
        ("0 2 * * *", "", "2026-01-02T02:00:01Z", "2026-01-03T02:00:00Z", "2026-01-02T02:00:00Z"),
        (
            "*/20 5/9 * * *",
            "",
            "2026-01-02T05:41:00Z",
            "2026-01-02T14:00:00Z",
            "2026-01-02T05:40:00Z",
        ),
        ("0 0 31 * *", "", "2026-02-01T00:00:00Z", "2026-03-31T00:00:00Z", "2026-01-31T00:00:00Z"),
        (
            "0 0 13 * fri",
            "",
            "2026-01-03T00:00:00Z",
            "2026-01-09T00:00:00Z",
            "2026-01-02T00:00:00Z",
        ),
        (
            "0 0 */2 * fri",
            "",
            "2026-01-03T00:00:00Z",
            "2026-01-03T00:00:00Z",
            "2026-01-03T00:00:00Z",
        ),
        ("0 0 * * fri", "", "2026-01-03T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("@monthly", "", "2026-01-02T00:00:00Z", "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        (
            "0 0 29 feb ?",
            "",
            "2026-01-02T00:00:00Z",
            "2028-02-29T00:00:00Z",
            "2024-02-29T00:00:00Z",
        ),
        // 02:30 does not exist in Berlin on 29 March 2026, and 02:30 comes twice on 25 October.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-29T00:00:00Z",
            "2026-03-30T00:30:00Z",
            "2026-03-28T01:30:00Z",
        ),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-25T00:31:00Z",
            "2026-10-25T01:30:00Z",
            "2026-10-25T00:30:00Z",
        ),
    ];

    #[test]
    fn an_expression_fires_when_all_its_fields_fit() {
        for (text, name, from, next, last) in CASES {
            let (cron, zone) = (Cron::parse(text).unwrap(), zone(name).unwrap());
            let first = cron.first(&zone, at(from), at("2036-01-01T00:00:00Z"));
            assert_eq!(first, Some(at(next)), "{text} from {from}");
            let last_before = cron.last(&zone, at("2016-01-01T00:00:00Z"), at(from));
            assert_eq!(last_before, Some(at(last)), "{text} before {from}");
        }
        let never = Cron::parse("0 0 30 feb *").unwrap();
        let (from, to) = (at("2026-01-01T00:00:00Z"), at("2036-01-01T00:00:00Z"));
        assert_eq!(never.first(&TimeZone::UTC, from, to), None);
        assert_eq!(never.last(&TimeZone::UTC, from, to), None);
        let every = Cron::parse("@every 1h30m").unwrap();
        let last = every.last(&TimeZone::UTC, from, at("2026-01-01T04:00:00Z"));
        assert_eq!(last, Some(at("2026-01-01T03:00:00Z")));
    }

    #[test]
    fn what_is_no_expression_is_not_read() {
        for bad in
            ["", "* * * *", "* * * * * *", "60 * * * *", "* * 0 * *", "@dayly", "*/0 * * * *"]
        {
            assert_eq!(Cron::parse(bad), None, "{bad}");
        }
    }
}
