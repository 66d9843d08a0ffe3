//! What the certificates of one run share.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use crate::controller::EffectError;
use crate::engine::pace::Paces;
use crate::engine::ports::{Clock, Store};
use crate::engine::run::Options;
use crate::engine::schedule::Schedule;
use crate::engine::task::Task;
use crate::resource::Doing;

/// What the certificates of one run share.
pub(in crate::engine) struct Shared<'a, C, S: Store> {
    pub(in crate::engine) schedule: Schedule<'a, C, S>,
    pub(in crate::engine) accounts: AccountGates,
    pub(in crate::engine) paces: Paces,
    pub(in crate::engine) reloads: Reloads,
}

impl<'a, C: Clock, S: Store> Shared<'a, C, S> {
    /// What a run begins with.
    pub(in crate::engine) fn new(clock: &'a C, store: &'a S, options: &Options) -> Self {
        Self {
            schedule: Schedule::new(clock, store, options),
            accounts: AccountGates::default(),
            paces: Paces::default(),
            reloads: Reloads::default(),
        }
    }
}

/// One certificate at a time works on an account in this process; the file lock keeps others out.
#[derive(Default)]
pub(in crate::engine) struct AccountGates {
    gates: RefCell<HashMap<String, Arc<Mutex<()>>>>,
    /// Accounts that the CA had forgotten and this run registered again: at most once per run.
    pub(super) renewed: RefCell<HashSet<String>>,
    /// Accounts whose CA could not be reached: it is tried once per run.
    pub(super) unreachable: RefCell<HashMap<String, (Doing, EffectError)>>,
}

impl AccountGates {
    pub(super) fn gate(&self, id: &str) -> Arc<Mutex<()>> {
        Arc::clone(self.gates.borrow_mut().entry(id.to_owned()).or_default())
    }
}

/// Which programs to run, and for which certificates.
#[derive(Default)]
pub(in crate::engine) struct Reloads(RefCell<Owed>);

/// The reloads that are owed since the last ones ran.
#[derive(Default)]
struct Owed {
    programs: BTreeMap<String, Vec<Task>>,
    /// When the first and the latest of them were asked for.
    requested: Option<(Timestamp, Timestamp)>,
}

impl Reloads {
    pub(super) fn ask(&self, program: String, task: &Task, now: Timestamp) {
        let mut owed = self.0.borrow_mut();
        owed.programs.entry(program).or_default().push(task.clone());
        let first = owed.requested.map_or(now, |(first, _)| first);
        owed.requested = Some((first, now));
    }

    /// When the reloads run although certificates are still worked on: when no certificate was
    /// deployed for a minute, and after ten minutes at the latest. A certificate that waits for its
    /// validation must not keep a server on the old files of another.
    pub(in crate::engine) fn due(&self) -> Option<Timestamp> {
        let (first, latest) = self.0.borrow().requested?;
        let quiet = latest.saturating_add(QUIET).unwrap_or(Timestamp::MAX);
        Some(quiet.min(first.saturating_add(LONGEST).unwrap_or(Timestamp::MAX)))
    }

    /// The programs, each with its certificates; they are not owed any more.
    pub(super) fn take(&self) -> BTreeMap<String, Vec<Task>> {
        self.0.take().programs
    }
}

/// How long after a deployment its reload waits for others, each program being run once for all.
const QUIET: SignedDuration = SignedDuration::from_mins(1);
/// The same while others keep coming.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);
