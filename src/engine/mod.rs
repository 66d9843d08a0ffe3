//! The shell around the rooms, and the only loop: load → decide → act → record, until settled,
//! waiting or failed.
//!
//! Certificates of one run go on side by side on one thread; one failing never stops the others.
//! Everything is written down before the deed that needs it is started, and an outcome is
//! absorbed by the same code whether the deed was begun in this run or an earlier one.

mod drive;
pub mod effect;
mod ending;
mod foresee;
mod gather;
pub mod inputs;
mod links;
mod news;
mod perform;
pub mod ports;
mod registration;
mod revoke;
mod rollback;
mod schedule;
mod session;

use std::collections::BTreeSet;
use std::rc::Rc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};

use crate::controller::{Effect, EffectError, Intervals, Outcome, Snapshot};
use crate::resource::{Event, NamespacedName};

pub use ending::{Ended, Ending, Evidence, Issued, Undeployed};
pub use foresee::{Foreseen, foresee};
pub use gather::published_pair;
pub use links::{LiveFiles, live_files};
pub use perform::{
    Dns01Options, Environment, IssuerAccess, ProviderAccess, StandIn, World, WorldOptions, dns_api,
};
use ports::{Clock, Store};
pub use registration::{AccountWish, settle_account};
pub use revoke::{AskError, Asked, Told, Wish, ask_to_revoke, revoke_owed};
pub use rollback::{BackError, KeptRevision, WentBack, roll_back};
use schedule::Schedule;
pub use session::{Force, Only, Task};

/// Does the deeds. Replaced by tests.
pub trait Performer {
    /// Does one deed; every trouble is an outcome.
    fn perform(&self, snapshot: Rc<Snapshot>, effect: Effect) -> impl Future<Output = Outcome>;

    /// When the HTTP-01 responder was last asked for a token, by somebody else than us.
    fn last_hit(&self, token: &str) -> Option<Timestamp>;

    /// How often the responder was asked, in all.
    fn hits(&self) -> u64;

    /// Waits until it was asked more often than `seen`.
    fn hit_after(&self, seen: u64) -> impl Future<Output = ()>;

    /// Runs the program that lets servers take up what was deployed, for these certificates.
    fn reload(
        &self,
        _program: &str,
        _certificates: &[NamespacedName],
    ) -> impl Future<Output = Result<(), EffectError>> {
        std::future::ready(Ok(()))
    }

    /// Whether the operator has a hook for failures.
    fn hears_of_failures(&self) -> bool {
        false
    }

    /// Runs the operator's hook for failures.
    fn alert(&self, _alert: &Alert) -> impl Future<Output = Result<(), EffectError>> {
        std::future::ready(Ok(()))
    }

    /// Live keystores, by file name, whose password is not the one that the spec names now. One
    /// whose password cannot be had is not among them.
    fn changed_passwords(&self, _snapshot: &Snapshot) -> BTreeSet<String> {
        BTreeSet::new()
    }
}

/// What the operator's hook for failures is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Of which certificate.
    pub certificate: NamespacedName,
    /// The root cause, in one sentence.
    pub message: String,
    /// How many attempts have failed in a row.
    pub attempts: u32,
    /// When the next one may be made.
    pub next_attempt: Option<Timestamp>,
    /// When the live certificate ends, if there is one.
    pub not_after: Option<Timestamp>,
    /// 1: the failure is new; 2: less than a third of the life is left; 3: less than a tenth.
    pub stage: u8,
}

/// Hears what happens, to show it. Never asked anything.
pub trait Observer {
    /// Something happened.
    fn event(&self, certificate: &NamespacedName, event: &Event);

    /// A certificate's work goes on with this.
    fn stage(&self, certificate: &NamespacedName, stage: &str);

    /// A certificate's work is over; reloads, and the operator's hook for failures, come later.
    fn ended(&self, _end: &Ended) {}
}

impl<O: Observer> Observer for Rc<O> {
    fn event(&self, certificate: &NamespacedName, event: &Event) {
        O::event(self, certificate, event);
    }

    fn stage(&self, certificate: &NamespacedName, stage: &str) {
        O::stage(self, certificate, stage);
    }

    fn ended(&self, end: &Ended) {
        O::ended(self, end);
    }
}

/// What a run may do, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Certificates at once.
    pub parallel: usize,
    /// Challenges at once.
    pub max_concurrent_challenges: usize,
    /// For each certificate, from its first slot.
    pub timeout: SignedDuration,
    /// For a lock that somebody else holds.
    pub lock_timeout: SignedDuration,
    /// How often things are looked at.
    pub intervals: Intervals,
    /// Nobody watches: a challenge that was pending before gets at most a minute of probing.
    pub unattended: bool,
}

/// The longest wait for a verdict after the timeout.
const GRACE: SignedDuration = SignedDuration::from_secs(60);
/// An order younger than this is pending; an older one is a failure to look at.
const OVERDUE: SignedDuration = SignedDuration::from_hours(1);

/// A run over some certificates.
pub struct Engine<'a, C, S: Store, P, O> {
    /// The time.
    pub clock: &'a C,
    /// The state.
    pub store: &'a S,
    /// The deeds.
    pub performer: &'a P,
    /// Who hears of it.
    pub observer: &'a O,
    /// How long, how many.
    pub options: Options,
    /// The signal that ends the run, once there is one.
    pub shutdown: tokio::sync::watch::Receiver<Option<i32>>,
}

impl<C: Clock, S: Store, P: Performer, O: Observer> Engine<'_, C, S, P, O> {
    /// Makes these certificates true, as far as they are due. One entry for each task, in the
    /// order in which they ended.
    pub async fn run(&self, tasks: &[Task]) -> Vec<Ended> {
        let schedule = Schedule::new(self.clock, self.store, &self.options);
        let accounts = drive::AccountGates::default();
        let reloads = drive::Reloads::default();
        let shared = drive::Shared { schedule: &schedule, accounts: &accounts, reloads: &reloads };
        let mut waiting = tasks.iter();
        let mut running = FuturesUnordered::new();
        let mut ended = Vec::with_capacity(tasks.len());
        loop {
            while running.len() < self.options.parallel.max(1) {
                let Some(task) = waiting.next() else { break };
                if let Some(signal) = *self.shutdown.borrow() {
                    let certificate = task.certificate.metadata.key();
                    ended.push(Ended::new(certificate, Ending::Interrupted { signal }));
                    continue;
                }
                running.push(drive::certificate(self, shared, task));
            }
            match running.next().await {
                Some(end) => {
                    self.observer.ended(&end);
                    ended.push(end);
                }
                None => break,
            }
        }
        Box::pin(drive::reload(self, &reloads, &mut ended)).await;
        Box::pin(drive::alert(self, tasks, &ended)).await;
        ended
    }
}

/// Everything known of a task's certificate, for those who only look; nothing is written.
pub async fn look<S: Store>(
    store: &S,
    task: &Task,
    intervals: Intervals,
    now: Timestamp,
) -> Result<Snapshot, ports::StoreError> {
    Ok(session::Session::load(store, task, intervals, now).await?.snapshot)
}
