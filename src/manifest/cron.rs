//! The syntax of a cron expression, as cert-manager's renewal windows take it: five fields, or a
//! descriptor such as `@daily`.

use crate::resource::GoDuration;

/// Why a text is not a cron expression.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if let Some(duration) = text.strip_prefix("@every ") {
        let duration = duration.parse::<GoDuration>().map_err(|error| error.to_string())?;
        return if duration.0.is_positive() { Ok(()) } else { Err("@every needs a time".into()) };
    }
    if text.starts_with('@') {
        return if DESCRIPTORS.contains(&text) {
            Ok(())
        } else {
            Err(format!("unknown descriptor: use {}", DESCRIPTORS.join(", ")))
        };
    }
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let found = fields.len();
        return Err(format!("expected 5 fields (minute hour day month weekday), found {found}"));
    }
    for (text, (name, low, high, names)) in fields.iter().zip(FIELDS) {
        for part in text.split(',') {
            if !is_range(part, *low, *high, names) {
                return Err(format!("`{part}` is not a {name} ({low}-{high})"));
            }
        }
    }
    Ok(())
}

/// `*`, `?`, `n`, `n-m`, each with `/step`.
fn is_range(text: &str, low: u32, high: u32, names: &[&str]) -> bool {
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (text, None),
    };
    if step.is_some_and(|step| number(step).is_none_or(|step| step == 0)) {
        return false;
    }
    if matches!(range, "*" | "?") {
        return true;
    }
    let value = |word: &str| {
        let by_name = names.iter().position(|name| name.eq_ignore_ascii_case(word));
        let by_name = by_name.and_then(|index| u32::try_from(index).ok());
        let by_name = by_name.map(|index| index + low);
        by_name.or_else(|| number(word)).filter(|value| (low..=high).contains(value))
    };
    match range.split_once('-') {
        Some((from, to)) => value(from).zip(value(to)).is_some_and(|(from, to)| from <= to),
        None => value(range).is_some(),
    }
}

fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

const DESCRIPTORS: &[&str] =
    &["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Name, smallest, largest, names of the values.
type FieldRule = (&'static str, u32, u32, &'static [&'static str]);

const FIELDS: &[FieldRule] = &[
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of the month", 1, 31, &[]),
    ("month", 1, 12, MONTHS),
    ("day of the week", 0, 6, WEEKDAYS),
];

const MONTHS: &[&str] =
    &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(check(good), Ok(()), "{good}");
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
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
