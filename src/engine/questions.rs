//! Which certificates a run asks the CA about (renewal information, RFC 9773), and when.
//!
//! Beside the work that is due, which it never holds up: those that wait longest first, at most a
//! quarter of all certificates in one run, a few at once. A CA that does not answer is left alone
//! for the rest of the run.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::ending::Ended;
use super::task::Task;
use crate::controller::renewal_information::Question;

/// As many as have requests in flight at one CA.
pub(super) const AT_ONCE: usize = 8;
/// A run with few certificates may ask about all.
const LEAST: usize = 256;
/// After so many failures at a CA it is asked nothing more in this run.
const FAILURES: u32 = 8;

/// A certificate that is asked about, and how its run ended otherwise.
pub(super) struct Asked<'t> {
    pub(super) task: &'t Task,
    pub(super) ended: Ended,
    pub(super) question: Question,
}

/// The questions of a run.
pub(super) struct Questions<'t> {
    /// By the time since when the CA may be asked, and then in the order of arrival.
    waiting: BTreeMap<(Timestamp, usize), Asked<'t>>,
    arrived: usize,
    left: usize,
    /// Failures by directory URL.
    failures: BTreeMap<String, u32>,
}

impl<'t> Questions<'t> {
    /// The questions of a run over this many certificates.
    pub(super) fn new(certificates: usize) -> Self {
        let left = LEAST.max(certificates / 4);
        Self { waiting: BTreeMap::new(), arrived: 0, left, failures: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, asked: Asked<'t>) {
        self.arrived += 1;
        self.waiting.insert((asked.question.since, self.arrived), asked);
    }

    /// The next one to ask about, if the run may ask more.
    pub(super) fn next(&mut self) -> Option<Asked<'t>> {
        let left = self.left.checked_sub(1)?;
        let failures = &self.failures;
        let answers = |asked: &Asked<'_>| {
            failures.get(&asked.task.issuer.acme.server).is_none_or(|count| *count < FAILURES)
        };
        let next = self.waiting.iter().find(|(_, asked)| answers(asked)).map(|(key, _)| *key)?;
        self.left = left;
        self.waiting.remove(&next)
    }

    /// The CA of a task did not answer.
    pub(super) fn note_failure(&mut self, task: &Task) {
        *self.failures.entry(task.issuer.acme.server.clone()).or_default() += 1;
    }

    /// No more is asked. Returns how the runs of the others ended.
    pub(super) fn end(self) -> impl Iterator<Item = Ended> {
        self.waiting.into_values().map(|asked| asked.ended)
    }
}
