//! When a cron expression fires: five fields (minute, hour, day, month, weekday), a descriptor
//! such as `@daily`, or `@every 4h`, as cert-manager's renewal windows take it.
//!
//! Days are restricted as cron has it: when day and weekday both are, either is enough. Times
//! that a zone skips never come, and times that it has twice come twice.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{GoDuration, GoDurationError};

/// An expression, kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Cron {
    text: String,
    schedule: Schedule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Schedule {
    Fields(Fields),
    Every(SignedDuration),
}

/// The values of each field, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Neither day nor weekday is `*`: one of them is enough.
    either_day: bool,
}

/// Why a text is not a cron expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CronError {
    /// `@every` without a duration.
    #[error(transparent)]
    Duration(#[from] GoDurationError),
    /// `@every` with a duration that is not positive.
    #[error("@every needs a time")]
    NoTime,
    /// `@` and an unknown word.
    #[error("unknown descriptor: use {}", DESCRIPTORS.map(|(name, _)| name).join(", "))]
    Descriptor,
    /// Too few or too many fields.
    #[error("expected 5 fields (minute hour day month weekday), found {found}")]
    Count {
        /// How many there are.
        found: usize,
    },
    /// A part of a field.
    #[error("`{part}` is not a {field} ({low}-{high})")]
    Value {
        /// The part as written.
        part: String,
        /// What the field is called.
        field: &'static str,
        /// Its smallest value.
        low: u32,
        /// Its largest value.
        high: u32,
    },
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let schedule = match text.strip_prefix("@every ") {
            Some(every) => match every.parse::<GoDuration>()?.0 {
                every if every.is_positive() => {
                    Schedule::Every(SignedDuration::from_secs(every.as_secs().max(1)))
                }
                _ => return Err(CronError::NoTime),
            },
            None if text.starts_with('@') => {
                let descriptor = DESCRIPTORS.iter().find(|(name, _)| *name == text);
                let (_, fields) = descriptor.ok_or(CronError::Descriptor)?;
                Schedule::Fields(fields.parse()?)
            }
            None => Schedule::Fields(text.parse()?),
        };
        Ok(Self { text: text.to_owned(), schedule })
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Cron {
    /// The time between two starts, for `@every`; other expressions follow the calendar.
    pub fn every(&self) -> Option<SignedDuration> {
        match self.schedule {
            Schedule::Fields(_) => None,
            Schedule::Every(every) => Some(every),
        }
    }

    /// The first time it fires in `[from, to]`. `@every` counts from `from`.
    pub fn first(&self, zone: &TimeZone, from: Timestamp, to: Timestamp) -> Option<Timestamp> {
        let fields = match &self.schedule {
            Schedule::Fields(fields) => fields,
            Schedule::Every(_) => return (from <= to).then_some(from),
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
    pub fn last(&self, zone: &TimeZone, from: Timestamp, to: Timestamp) -> Option<Timestamp> {
        let fields = match &self.schedule {
            Schedule::Fields(fields) => fields,
            Schedule::Every(every) => {
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

impl FromStr for Fields {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = words.as_slice() else {
            return Err(CronError::Count { found: words.len() });
        };
        let (minutes, _) = MINUTE.values(minutes)?;
        let (hours, _) = HOUR.values(hours)?;
        let (days, any_day) = DAY.values(days)?;
        let (months, _) = MONTH.values(months)?;
        let (weekdays, any_weekday) = WEEKDAY.values(weekdays)?;
        let either_day = !any_day && !any_weekday;
        Ok(Self { minutes, hours, days, months, weekdays, either_day })
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
                    AmbiguousOffset::Fold { before, after: second } => {
                        times.extend(before.to_timestamp(local));
                        times.extend(second.to_timestamp(local));
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

/// What a field may hold.
struct Field {
    name: &'static str,
    low: u32,
    high: u32,
    /// Names of the values, from the lowest on.
    names: &'static [&'static str],
}

impl Field {
    /// The values as bits, and whether the text leaves everything open (`*`, `?`).
    fn values(&self, text: &str) -> Result<(u64, bool), CronError> {
        let (mut bits, mut is_open) = (0, false);
        for part in text.split(',') {
            let (part_bits, open) = self.range(part).ok_or_else(|| CronError::Value {
                part: part.to_owned(),
                field: self.name,
                low: self.low,
                high: self.high,
            })?;
            bits |= part_bits;
            is_open |= open;
        }
        Ok((bits, is_open))
    }

    /// `*`, `?`, `n`, `n-m`, each with `/step`.
    fn range(&self, part: &str) -> Option<(u64, bool)> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let is_all = matches!(range, "*" | "?");
        let (from, to) = match range.split_once('-') {
            _ if is_all => (self.low, self.high),
            Some((from, to)) => (self.value(from)?, self.value(to)?),
            // A single value with a step runs to the end.
            None if step.is_some() => (self.value(range)?, self.high),
            None => (self.value(range)?, self.value(range)?),
        };
        let step = step.unwrap_or(1);
        let stride = usize::try_from(step).ok()?;
        let bits = (from..=to).step_by(stride).fold(0, |bits, value| bits | 1_u64 << value);
        (from <= to).then_some((bits, is_all && step == 1))
    }

    fn value(&self, word: &str) -> Option<u32> {
        let mut named = self.names.iter().zip(self.low..);
        let by_name = named.find(|(name, _)| name.eq_ignore_ascii_case(word));
        let value = by_name.map_or_else(|| number(word), |(_, value)| Some(value));
        value.filter(|value| (self.low..=self.high).contains(value))
    }
}

fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

const DESCRIPTORS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const MINUTE: Field = Field { name: "minute", low: 0, high: 59, names: &[] };
const HOUR: Field = Field { name: "hour", low: 0, high: 23, names: &[] };
const DAY: Field = Field { name: "day of the month", low: 1, high: 31, names: &[] };
const MONTH: Field = Field {
    name: "month",
    low: 1,
    high: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAY: Field = Field {
    name: "day of the week",
    low: 0,
    high: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Zone;

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
            let cron: Cron = text.parse().unwrap();
            let zone: Zone = name.parse().unwrap();
            let first = cron.first(zone.rules(), at(from), at("2036-01-01T00:00:00Z"));
            assert_eq!(first, Some(at(next)), "{text} from {from}");
            let last_before = cron.last(zone.rules(), at("2016-01-01T00:00:00Z"), at(from));
            assert_eq!(last_before, Some(at(last)), "{text} before {from}");
        }
        let never = "0 0 30 feb *".parse::<Cron>().unwrap();
        let (from, to) = (at("2026-01-01T00:00:00Z"), at("2036-01-01T00:00:00Z"));
        assert_eq!(never.first(&TimeZone::UTC, from, to), None);
        assert_eq!(never.last(&TimeZone::UTC, from, to), None);
        let every = "@every 1h30m".parse::<Cron>().unwrap();
        let last = every.last(&TimeZone::UTC, from, at("2026-01-01T04:00:00Z"));
        assert_eq!(last, Some(at("2026-01-01T03:00:00Z")));
    }

    #[test]
    fn five_fields_or_a_descriptor() {
        for good in [
            "0 2 * * *",
            "*/15 0-6,22 1 jan-mar mon,FRI",
            "0 0 ? * 0",
            "5/10 * * * *",
            "@daily",
            "@every 1h30m",
        ] {
            assert_eq!(good.parse::<Cron>().map(String::from).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "*/0 * * * *",
            "5-1 * * * *",
            "a * * * *",
            "@dayly",
            "@every",
            "@every x",
            "1- * * * *",
            "+1 * * * *",
        ] {
            assert!(bad.parse::<Cron>().is_err(), "{bad}");
        }
    }
}
