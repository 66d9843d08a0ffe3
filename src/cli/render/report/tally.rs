//! The last line of a run over several certificates: `8 issued, 1 failed, 1991 not due, 6 s`.

use std::time::Duration;

use crate::report::{Ending, Report};

/// The line; `None` for one certificate, of which another line tells as much. So many more were left out
/// because of an error in their manifests.
pub(crate) fn tally(reports: &[Report], invalid: usize, took: Duration) -> Option<String> {
    if reports.len().saturating_add(invalid) < 2 {
        return None;
    }
    let invalid = std::iter::repeat_n(INVALID, invalid);
    let words: Vec<&str> = reports.iter().map(word_of).chain(invalid).collect();
    Some(format!("{}, {} s", counts(&words).join(", "), took.as_secs()))
}

/// Number of of each of these words there are.
pub(crate) fn counts(words: &[&str]) -> Vec<String> {
    let count = |word: &&str| words.iter().filter(|one| *one == word).count();
    let counts = ENDINGS.iter().map(|word| (count(word), word)).filter(|(count, _)| *count > 0);
    counts.map(|(count, word)| format!("{count} {word}")).collect()
}

const ENDINGS: [&str; 9] = [
    "issued",
    "rewritten",
    "not deployed",
    "failed",
    INVALID,
    "pending",
    "deferred",
    "interrupted",
    "not due",
];
const INVALID: &str = "invalid";

/// Result of a certificate, in a word.
pub(crate) fn word_of(report: &Report) -> &'static str {
    if report.error.is_some() {
        return "failed";
    }
    if report.deploy_error.is_some() {
        return "not deployed";
    }
    match report.ending {
        Ending::Issued => "issued",
        Ending::Rewritten => "rewritten",
        Ending::Unchanged if report.details.rewritten.is_some() => "rewritten",
        Ending::Unchanged => "not due",
        Ending::Failed => "failed",
        Ending::Pending => "pending",
        Ending::Deferred | Ending::Locked => "deferred",
        Ending::Interrupted => "interrupted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Ended, Ending as End};
    use crate::report::Fault;
    use crate::resource::{FailureClass, NamespacedName};

    fn report(ending: End) -> Report {
        Report::of(Ended::new(NamespacedName::new("default", "web"), ending))
    }

    #[test]
    fn each_certificate_is_counted_once_by_what_became_of_it() {
        let locked = || report(End::Locked { holder: "another".to_owned() });
        let unchanged = || report(End::Unchanged { not_after: None, renewal_time: None });
        let mut undeployed = unchanged();
        let message = "no room".to_owned();
        let fault = Fault { class: FailureClass::Output, message, problem: None, failure: None };
        undeployed.deploy_error = Some(fault);
        let took = Duration::from_millis(6900);
        let all = [unchanged(), locked(), undeployed, unchanged()];
        let expected = "1 not deployed, 1 deferred, 2 not due, 6 s";
        assert_eq!(tally(&all, 0, took).as_deref(), Some(expected));
        assert_eq!(tally(&all[..1], 0, took), None);
        let expected = "1 invalid, 1 not due, 6 s";
        assert_eq!(tally(&all[..1], 1, took).as_deref(), Some(expected));
    }
}
