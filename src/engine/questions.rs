//! Which certificates a run asks the CA about (renewal information, RFC 9773), and when.
//!
//! Beside the work that is due, which it never holds up: those that wait longest first, at most a
//! quarter of all certificates in one run, a few at once; in the end those that it issued. A CA that
//! does not answer is left alone for the rest of the run: at once when the first question fails, and
//! after a few failures among answers.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::ending::Ended;
use super::task::Task;
use crate::controller::renewal_information::Question;

/// As many as have requests in flight at one CA.
pub(super) const AT_ONCE: usize = 8;
/// No question about what was issued begins later than this: the next run asks.
pub(super) const AT_THE_END: SignedDuration = SignedDuration::from_secs(10);
/// A run with few certificates may ask about all.
const LEAST: usize = 256;
/// After so many failures a CA that has answered is asked nothing more in this run.
const FAILURES: u32 = 8;

/// A certificate that is asked about, and how its run ended otherwise.
pub(super) struct Query<'t> {
    pub(super) task: &'t Task,
    pub(super) ended: Ended,
    pub(super) question: Question,
}

/// The questions of a run.
pub(super) struct Questions<'t> {
    /// By the time since when the CA may be asked, and then in the order of arrival.
    waiting: BTreeMap<(Timestamp, usize), Query<'t>>,
    arrived: usize,
    left: usize,
    /// By directory URL.
    servers: BTreeMap<String, Server>,
}

/// What a CA made of the questions so far.
#[derive(Default)]
struct Server {
    has_answered: bool,
    failures: u32,
}

impl Server {
    fn may_be_queried(&self) -> bool {
        self.failures < if self.has_answered { FAILURES } else { 1 }
    }
}

impl<'t> Questions<'t> {
    /// The questions of a run over this many certificates.
    pub(super) fn new(certificates: usize) -> Self {
        let left = LEAST.max(certificates / 4);
        Self { waiting: BTreeMap::new(), arrived: 0, left, servers: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, query: Query<'t>) {
        self.arrived += 1;
        self.waiting.insert((query.question.since, self.arrived), query);
    }

    /// The next one to ask about, if the run may ask more.
    pub(super) fn next(&mut self) -> Option<Query<'t>> {
        let left = self.left.checked_sub(1)?;
        let servers = &self.servers;
        let answers = |query: &Query<'_>| {
            servers.get(&query.question.issuer.acme.server).is_none_or(Server::may_be_queried)
        };
        let next = self.waiting.iter().find(|(_, query)| answers(query)).map(|(key, _)| *key)?;
        self.left = left;
        self.waiting.remove(&next)
    }

    /// Whether the CA answered a question.
    pub(super) fn note(&mut self, question: &Question, is_answer: bool) {
        let server = self.servers.entry(question.issuer.acme.server.clone()).or_default();
        if is_answer {
            server.has_answered = true;
        } else {
            server.failures += 1;
        }
    }

    /// From now on, these are asked about, all of them. Returns how the runs of the others ended.
    pub(super) fn turn_to(
        &mut self,
        issued: Vec<Query<'t>>,
    ) -> impl Iterator<Item = Ended> + use<> {
        self.left = issued.len();
        let others: Vec<Ended> =
            std::mem::take(&mut self.waiting).into_values().map(|query| query.ended).collect();
        for query in issued {
            self.add(query);
        }
        others.into_iter()
    }
}
