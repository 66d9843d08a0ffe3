//! Record of the runs, for `/healthz`.
//!
//! It is about certctl and not about certificates: a container that is restarted because a CA
//! refuses a name does not help. Certificates are what `/metrics` is for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::ExitCode;
use crate::resource::Rfc3339;

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// By itself.
    Ended(ExitCode),
    /// By a signal that was passed on; what this process ends with.
    Stopped(ExitCode),
    /// It could not be started.
    NotRun(String),
}

/// The runs until now.
#[derive(Debug)]
pub(super) struct Record {
    health: Mutex<Health>,
    /// A run that takes longer hangs.
    longest: SignedDuration,
}

/// The body of `/healthz`. Times are RFC 3339, in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    /// True if runs are made, end, and can be recorded.
    pub(super) healthy: bool,
    /// Since when there is a run under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    running_since: Option<Rfc3339>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<LastRun>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_run: Option<Rfc3339>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct LastRun {
    /// 1 for the first of this process.
    number: u64,
    started_at: Rfc3339,
    ended_at: Rfc3339,
    /// Exit code of `certctl issue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u8>,
    /// Reason for a missing exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Record {
    pub(super) fn new(longest: SignedDuration) -> Self {
        Self { health: Mutex::default(), longest }
    }

    pub(super) fn begins(&self, now: Timestamp) {
        let mut health = self.health();
        // Nothing is known to be wrong before the first run has ended.
        health.healthy |= health.last_run.is_none();
        health.running_since = Some(Rfc3339(now));
        health.next_run = None;
    }

    pub(super) fn ends(&self, now: Timestamp, outcome: &Outcome) {
        let mut health = self.health();
        let (exit_code, error) = match outcome {
            Outcome::Ended(code) | Outcome::Stopped(code) => (Some(*code), None),
            Outcome::NotRun(error) => (None, Some(error.clone())),
        };
        health.healthy = exit_code.is_some_and(is_healthy);
        let started_at = health.running_since.take().unwrap_or(Rfc3339(now));
        let exit_code = exit_code.map(ExitCode::number);
        let before = health.last_run.as_ref().map_or(0, |last| last.number);
        let number = before.saturating_add(1);
        health.last_run =
            Some(LastRun { number, started_at, ended_at: Rfc3339(now), exit_code, error });
    }

    pub(super) fn waits(&self, next: Timestamp) {
        self.health().next_run = Some(Rfc3339(next));
    }

    pub(super) fn at(&self, now: Timestamp) -> Health {
        let mut health = self.health().clone();
        health.healthy &= health
            .running_since
            .is_none_or(|Rfc3339(since)| now.duration_since(since) <= self.longest);
        health
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether the run did its work, whatever it found.
fn is_healthy(code: ExitCode) -> bool {
    match code {
        ExitCode::Done
        | ExitCode::Changed
        | ExitCode::Deferred
        | ExitCode::Manifest
        | ExitCode::Validation
        | ExitCode::Ca
        | ExitCode::Output
        | ExitCode::Attention
        // Failures of several classes, or a bug: the next run is a new process in any case, and a
        // restart of this one would not help.
        | ExitCode::Failed => true,
        ExitCode::Usage | ExitCode::State | ExitCode::Signal(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        // The fraction is not shown.
        Timestamp::new(second, 460_943_149).unwrap()
    }

    fn json(record: &Record) -> String {
        serde_json::to_string(&record.at(at(5))).unwrap()
    }

    fn new() -> Record {
        Record::new(SignedDuration::from_mins(70))
    }

    #[test]
    fn a_run_that_does_not_end_is_not_healthy() {
        let record = new();
        record.begins(at(0));
        let is_healthy = |second| record.at(at(second)).healthy;
        assert_eq!([0, 4200, 4201, 90_000].map(is_healthy), [true, true, false, false]);
        record.ends(at(90_000), &Outcome::Ended(ExitCode::Done));
        assert!(record.at(at(90_001)).healthy);
    }

    #[test]
    fn health_tells_of_the_last_and_of_the_next_run() {
        let record = new();
        record.begins(at(0));
        let expected = r#"{"healthy":true,"runningSince":"1970-01-01T00:00:00Z"}"#;
        assert_eq!(json(&record), expected);
        record.ends(at(5), &Outcome::Ended(ExitCode::Ca));
        record.waits(at(3600));
        let expected = r#"{"healthy":true,"lastRun":{"number":1,"startedAt":"1970-01-01T00:00:00Z","endedAt":"1970-01-01T00:00:05Z","exitCode":5},"nextRun":"1970-01-01T01:00:00Z"}"#;
        assert_eq!(json(&record), expected);
    }

    #[test]
    fn what_no_run_can_do_its_work_with_is_not_healthy_until_one_has() {
        let record = new();
        for outcome in [
            Outcome::Ended(ExitCode::State),
            Outcome::Ended(ExitCode::Signal(9)),
            Outcome::NotRun("no such file".to_owned()),
        ] {
            record.begins(at(0));
            record.ends(at(1), &outcome);
            assert!(!record.at(at(3)).healthy, "{outcome:?}");
            record.begins(at(2));
            assert!(!record.at(at(3)).healthy, "{outcome:?}");
            record.ends(at(3), &Outcome::Ended(ExitCode::Done));
            assert!(record.at(at(3)).healthy);
        }
    }
}
