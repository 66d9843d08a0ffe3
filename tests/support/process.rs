//! Processes: what one said and how it ended, and waiting for what they do.

use std::process::{Child, Output};
use std::thread;
use std::time::Duration;

use super::PATIENCE;

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Fails unless the run ended so.
    #[track_caller]
    pub(crate) fn ends_in(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Fails unless it ended in 0 and nothing was said.
    #[track_caller]
    pub(crate) fn says_nothing(self) {
        let silent = Self { code: Some(0), stdout: String::new(), stderr: String::new() };
        assert_eq!(self, silent);
    }

    /// Fails unless stderr contains this.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "not said: {text:?}\nstderr: {}", self.stderr);
        self
    }
}

/// Waits for the end.
pub(crate) fn finish(child: Child) -> Run {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = status.code();
    Run { code, stdout: text(stdout), stderr: text(stderr) }
}

/// Waits until something is so, and fails when that takes too long.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let mut left = PATIENCE;
    while !is_so() {
        assert!(!left.is_zero(), "never happened: {what}");
        thread::park_timeout(STEP);
        left = left.saturating_sub(STEP);
    }
}

const STEP: Duration = Duration::from_millis(5);
