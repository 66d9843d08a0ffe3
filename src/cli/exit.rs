//! Exit codes, and the rule for runs over several certificates.
//!
//! Contract: these numbers are documented in the book and the man page and never change their
//! meaning. 101, 134 and 139 are never used: a panic is a bug and ends in 1 (`crate::cli::panic`).

use crate::resource::FailureClass;

/// The exit codes of certctl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitCode {
    /// 0: done, or nothing to do.
    Done,
    /// 1: failed, with no class below, or with several classes at once.
    Failed,
    /// 2: a flag or an argument is wrong.
    Usage,
    /// 3: a manifest, a reference or a precondition is wrong; nothing was started.
    Manifest,
    /// 4: domain validation failed.
    Validation,
    /// 5: the CA refused or cannot be reached.
    Ca,
    /// 6: issued, but an output or a hook failed.
    Output,
    /// 7: the state directory: disk, permission, corrupt file.
    State,
    /// 8: something needs attention (`status`, `inspect` and `doctor` with `--exit-code` only).
    Attention,
    /// 10: something was issued, or written again in other forms, and nothing failed
    /// (`--exit-code` only).
    Changed,
    /// 75: deferred, run again later (EX_TEMPFAIL of sysexits).
    Deferred,
    /// 128 + n: ended by signal n.
    Signal(u8),
}

impl ExitCode {
    /// The number for the operating system.
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Manifest => 3,
            Self::Validation => 4,
            Self::Ca => 5,
            Self::Output => 6,
            Self::State => 7,
            Self::Attention => 8,
            Self::Changed => 10,
            Self::Deferred => 75,
            Self::Signal(number) => number.saturating_add(128),
        }
    }
}

/// All but the signals.
pub const PLAIN: [ExitCode; 11] = [
    ExitCode::Done,
    ExitCode::Failed,
    ExitCode::Usage,
    ExitCode::Manifest,
    ExitCode::Validation,
    ExitCode::Ca,
    ExitCode::Output,
    ExitCode::State,
    ExitCode::Attention,
    ExitCode::Changed,
    ExitCode::Deferred,
];

/// Each code and its meaning, as the book, the manual and nothing else say it.
pub fn meanings() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("exit.txt").lines().filter_map(|line| line.split_once(": "))
}

impl ExitCode {
    /// The code of a process of certctl that ended with this number.
    pub fn of_number(number: i32) -> Self {
        let Ok(number) = u8::try_from(number) else { return Self::Failed };
        let plain = PLAIN.into_iter().find(|code| code.number() == number);
        let signal = || number.checked_sub(128).filter(|signal| *signal > 0).map(Self::Signal);
        plain.or_else(signal).unwrap_or(Self::Failed)
    }

    /// The code of a process of certctl, by the number it ended with or the signal that ended it.
    pub fn of_process(number: Option<i32>, signal: Option<i32>) -> Self {
        match (number, signal) {
            (Some(number), _) => Self::of_number(number),
            (None, Some(signal)) => Self::Signal(u8::try_from(signal).unwrap_or_default()),
            (None, None) => Self::Failed,
        }
    }

    /// The class of errors that it stands for, in one word, for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => FailureClass::Other.word(),
            Self::Usage => "usage",
            Self::Manifest => FailureClass::Precondition.word(),
            Self::Validation => FailureClass::Validation.word(),
            Self::Ca => FailureClass::Ca.word(),
            Self::Output => FailureClass::Output.word(),
            Self::State => FailureClass::State.word(),
            Self::Attention => "attention",
            Self::Changed => "changed",
            Self::Deferred => "deferred",
            Self::Signal(_) => "interrupted",
        }
    }
}

impl From<FailureClass> for ExitCode {
    fn from(class: FailureClass) -> Self {
        match class {
            FailureClass::Other => Self::Failed,
            FailureClass::Precondition => Self::Manifest,
            FailureClass::Validation => Self::Validation,
            FailureClass::Ca | FailureClass::Unreachable => Self::Ca,
            FailureClass::Output => Self::Output,
            FailureClass::State => Self::State,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

/// Ending of a verb, or of its work on one certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing to do.
    Unchanged,
    /// Issued, or written again in other forms.
    Changed,
    /// Wanted, but not attempted or not finished: backoff, rate limit, lock, pending order.
    Deferred,
    /// Failed.
    Failed(FailureClass),
    /// The subject needs attention: 8 with `--exit-code`, else the code of this class, or none.
    Attention(Option<FailureClass>),
    /// Nothing failed but the report of an earlier failure.
    Unreported,
    /// Ends with this code: of a run that a signal ended, an error that was printed before, another
    /// certctl.
    Like(ExitCode),
}

/// The code of a verb, the only one that makes it: a signal > failure > 8 > 10 > 75 > 6 of a report > 0.
/// Failures that share a code give that code, others 1. 8 and 10 are for `detailed` (`--exit-code`).
pub fn of_endings(endings: &[Ending], detailed: bool) -> ExitCode {
    let mut failure: Option<ExitCode> = None;
    for ending in endings {
        let code = match *ending {
            Ending::Like(signal @ ExitCode::Signal(_)) => return signal,
            Ending::Like(code) if code != ExitCode::Done => code,
            Ending::Failed(class) => class.into(),
            Ending::Attention(Some(class)) if !detailed => class.into(),
            Ending::Like(_)
            | Ending::Unchanged
            | Ending::Attention(_)
            | Ending::Changed
            | Ending::Deferred
            | Ending::Unreported => continue,
        };
        failure = match failure {
            Some(earlier) if earlier != code => Some(ExitCode::Failed),
            Some(_) | None => Some(code),
        };
    }
    match failure {
        Some(code) => code,
        None if detailed && endings.iter().any(|one| matches!(one, Ending::Attention(_))) => {
            ExitCode::Attention
        }
        None if detailed && endings.contains(&Ending::Changed) => ExitCode::Changed,
        None if endings.contains(&Ending::Deferred) => ExitCode::Deferred,
        None if endings.contains(&Ending::Unreported) => ExitCode::Output,
        None => ExitCode::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_documented_number() {
        for (code, number) in [
            (ExitCode::Done, 0),
            (ExitCode::Failed, 1),
            (ExitCode::Usage, 2),
            (ExitCode::Manifest, 3),
            (ExitCode::Validation, 4),
            (ExitCode::Ca, 5),
            (ExitCode::Output, 6),
            (ExitCode::State, 7),
            (ExitCode::Attention, 8),
            (ExitCode::Changed, 10),
            (ExitCode::Deferred, 75),
            (ExitCode::Signal(2), 130),
            (ExitCode::Signal(15), 143),
        ] {
            assert_eq!(code.number(), number, "{code:?}");
            assert_eq!(ExitCode::of_number(number.into()), code);
        }
        for number in [-1, 9, 101, 128, 256] {
            assert_eq!(ExitCode::of_number(number), ExitCode::Failed, "{number}");
        }
        assert_eq!(ExitCode::of_process(None, Some(9)), ExitCode::Signal(9));
        assert_eq!(ExitCode::of_process(Some(3), None), ExitCode::Manifest);
    }

    #[test]
    fn the_book_has_the_meaning_of_each_code() {
        let page = include_str!("../../docs/src/reference/exit-codes.md");
        let rows = page.lines().skip_while(|line| *line != "| 0 | done, or nothing to do |");
        let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
        let meanings = meanings().map(|(code, meaning)| format!("| {code} | {meaning} |"));
        assert_eq!(rows, meanings.collect::<Vec<_>>());
    }

    #[test]
    fn every_failure_class_has_its_code() {
        for (class, number) in [
            (FailureClass::Other, 1),
            (FailureClass::Precondition, 3),
            (FailureClass::Validation, 4),
            (FailureClass::Ca, 5),
            (FailureClass::Unreachable, 5),
            (FailureClass::Output, 6),
            (FailureClass::State, 7),
        ] {
            assert_eq!(ExitCode::from(class).number(), number, "{class:?}");
        }
    }

    #[test]
    fn mixed_runs_end_by_the_rule() {
        use Ending::{Attention, Changed, Deferred, Failed, Like, Unchanged, Unreported};
        use FailureClass::{Ca, Other, Output, Precondition, State, Unreachable, Validation};
        for (endings, plain, detailed) in [
            (vec![], 0, 0),
            (vec![Unchanged], 0, 0),
            (vec![Changed], 0, 10),
            (vec![Deferred, Unchanged], 75, 75),
            (vec![Changed, Deferred], 75, 10),
            (vec![Failed(Validation)], 4, 4),
            (vec![Failed(Validation), Changed, Deferred], 4, 4),
            (vec![Failed(Validation), Failed(Validation)], 4, 4),
            (vec![Failed(Ca), Failed(Unreachable)], 5, 5),
            (vec![Failed(Validation), Failed(Output)], 1, 1),
            (vec![Failed(Validation), Failed(Output), Failed(Validation)], 1, 1),
            (vec![Failed(Other), Failed(Ca)], 1, 1),
            (vec![Attention(None)], 0, 8),
            (vec![Attention(Some(Precondition)), Changed], 3, 8),
            (vec![Attention(None), Failed(State)], 7, 7),
            (vec![Unreported], 6, 6),
            (vec![Unreported, Deferred], 75, 75),
            (vec![Failed(Ca), Like(ExitCode::Signal(2))], 130, 130),
            (vec![Like(ExitCode::Done), Changed], 0, 10),
            (vec![Like(ExitCode::Usage)], 2, 2),
        ] {
            assert_eq!(of_endings(&endings, false).number(), plain, "{endings:?}");
            assert_eq!(of_endings(&endings, true).number(), detailed, "{endings:?} detailed");
        }
    }
}
