//! The shell around the controllers, and the only loop: load → decide → perform → absorb → record,
//! until a goal is reached, waits or has failed.
//!
//! Certificates of one run are processed concurrently on one thread; a failure of one never stops
//! the others. Everything is recorded before the effect that needs it starts, and the same code
//! absorbs an outcome whether this run or an earlier one started the effect.

mod banned_keys;
mod claim;
mod drive;
mod dry_run;
mod ending;
mod gather;
mod goal;
mod hooks;
mod host_section;
pub mod inputs;
mod links;
mod lost_output;
mod notice;
mod pace;
pub mod pair;
mod perform;
pub mod ports;
pub mod precondition;
mod questions;
mod run;
mod schedule;
mod session;
mod task;

use std::collections::{BTreeMap, HashMap};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;

use crate::controller::{Intervals, Snapshot};
use crate::program;
use crate::resource::NamespacedName;

pub use banned_keys::ban;
use drive::Answer;
pub use dry_run::{DryRun, dry_run};
pub use ending::{Ended, Ending, Evidence, Issued, PendingOn, Undeployed};
pub use gather::published_pair;
pub use goal::{AccountRequest, Goal};
pub use hooks::{Hooks, HooksDir, examples, missing_hook, programs_in, similar_hook};
pub use links::{SeenFiles, live_files};
pub use notice::is_recent;
pub use perform::{
    Dns01Options, Environment, IssuerAccess, ProviderAccess, RefusedProfiles, StandIn, World,
    WorldOptions, alert_of, check_alert_hook, dns_api, has_alert_hook, try_alert_hook,
};
pub use ports::{Alert, Observer, Performer, Wait, WaitLimit};
use ports::{Clock, Ports, Store};
use questions::{Query, Questions};
pub use run::{Engine, Options};
pub use session::Seen;
pub use task::{Force, Task};

impl<P: Ports> Engine<'_, P> {
    /// Works on these tasks if they are due, and asks the CAs about some that are not. Returns one
    /// entry for each, in the order in which they ended.
    pub async fn run(&self, tasks: &[Task]) -> Vec<Ended> {
        let shared = drive::Shared::new(self.ports.clock(), self.ports.store(), &self.options);
        let mut waiting = tasks.iter();
        let mut running = FuturesUnordered::new();
        let mut asking = FuturesUnordered::new();
        let mut questions = Questions::new(tasks.len().max(self.options.certificates));
        let (mut to_renew, mut revoked, mut issued) = (Vec::new(), BTreeMap::new(), Vec::new());
        let (mut reloading, mut reloaded) = (FuturesUnordered::new(), HashMap::new());
        let mut asks_until = None;
        let mut ended = Vec::with_capacity(tasks.len());
        let end = |end: Ended, ended: &mut Vec<Ended>| {
            self.observer.ended(&end);
            ended.push(end);
        };
        loop {
            while running.len() < self.options.parallel.max(1) {
                let Some(task) = to_renew.pop().or_else(|| waiting.next()) else { break };
                if let Some(signal) = *self.shutdown.borrow() {
                    let certificate = task.certificate.metadata.key();
                    ended.push(Ended::new(certificate, Ending::Interrupted { signal }));
                    continue;
                }
                let run = drive::certificate(self, &shared, task);
                running.push(async move { (task, run.await) });
            }
            // Only now those that wait longest are known.
            while waiting.as_slice().is_empty()
                && asking.len() < questions::AT_ONCE
                && self.may_ask(&mut asks_until)
                && let Some(query) = questions.next()
            {
                asking.push(drive::ask(self, query));
            }
            let is_working = !running.is_empty() || !asking.is_empty();
            let reload_due = shared.reloads.due().filter(|_| is_working && reloading.is_empty());
            tokio::select! {
                biased;
                Some(done) = reloading.next() => reloaded.extend(done),
                Some((task, (one, question))) = running.next() => match question {
                    Some(question) if matches!(one.ending, Ending::Issued(_)) => {
                        issued.push(Query { task, ended: one.clone(), question });
                        end(one, &mut ended);
                    }
                    Some(question) => questions.add(Query { task, ended: one, question }),
                    None => end(one, &mut ended),
                },
                Some((query, answer)) = asking.next() => {
                    questions.note(&query.question, !matches!(answer, Answer::Unreachable));
                    if let Answer::Due(found) = answer {
                        revoked.extend(found.map(|found| (query.ended.certificate, found)));
                        to_renew.push(query.task);
                        continue;
                    }
                    end(query.ended, &mut ended);
                }
                () = self.until(reload_due), if reload_due.is_some() => {
                    reloading.push(Box::pin(drive::reload(self, &shared.reloads)));
                }
                else => break,
            }
        }
        questions.turn_to(issued).for_each(|one| end(one, &mut ended));
        reloaded.extend(Box::pin(drive::reload(self, &shared.reloads)).await);
        let mut informed = Box::pin(self.ask_about_issued(questions)).await;
        for one in &mut ended {
            one.revoked = revoked.remove(&one.certificate);
            if let Some(ending) = informed.remove(&one.certificate) {
                one.ending = ending;
            }
            if let Some(reloaded) = reloaded.remove(&one.certificate) {
                reloaded.complete(one);
            }
        }
        Box::pin(drive::alert(self, tasks, &ended)).await;
        program::end_stopped().await;
        ended
    }

    /// Asks about what this run issued, when all of it is live, deployed and reloaded. Returns the
    /// endings with the dates of renewal that the CAs suggest.
    async fn ask_about_issued(
        &self,
        mut questions: Questions<'_>,
    ) -> HashMap<NamespacedName, Ending> {
        let ends = self.ports.clock().now().saturating_add(questions::AT_THE_END);
        let ends = ends.unwrap_or(Timestamp::MAX);
        let (mut asking, mut informed) = (FuturesUnordered::new(), HashMap::new());
        loop {
            while asking.len() < questions::AT_ONCE
                && self.ports.clock().now() <= ends
                && self.shutdown.borrow().is_none()
                && let Some(query) = questions.next()
            {
                asking.push(drive::ask(self, query));
            }
            let Some((query, answer)) = asking.next().await else { return informed };
            questions.note(&query.question, !matches!(answer, Answer::Unreachable));
            informed.insert(query.ended.certificate, query.ended.ending);
        }
    }

    /// Sleeps until this time.
    async fn until(&self, time: Option<Timestamp>) {
        if let Some(time) = time {
            self.ports.clock().sleep(self.ports.clock().now().duration_until(time)).await;
        }
    }

    /// Whether the run asks about more certificates: for as long as one certificate may take, from
    /// the first question on.
    fn may_ask(&self, until: &mut Option<Timestamp>) -> bool {
        let now = self.ports.clock().now();
        let ends = || now.saturating_add(self.options.timeout).unwrap_or(Timestamp::MAX);
        now <= *until.get_or_insert_with(ends) && self.shutdown.borrow().is_none()
    }

    /// Runs the operator's hook for tasks that cannot be worked on, because the state cannot be
    /// written.
    pub async fn alert(&self, tasks: &[Task], error: &ports::StoreError) {
        let failed =
            |task: &Task| Ended::new(task.certificate.metadata.key(), drive::state_failure(error));
        let ended: Vec<Ended> = tasks.iter().map(failed).collect();
        Box::pin(drive::alert(self, tasks, &ended)).await;
    }

    /// Works on one task alone: its ending and its final snapshot. Neither reloads nor the
    /// operator's hook for failures follow.
    pub async fn reach(&self, task: &Task) -> Result<(Ending, Snapshot), ports::StoreError> {
        let shared = drive::Shared::new(self.ports.clock(), self.ports.store(), &self.options);
        let (ended, snapshot) = Box::pin(drive::reach(self, &shared, task)).await?;
        Ok((ended.ending, snapshot))
    }
}

/// Kills the programs that a signal stopped, and that do not end.
pub fn kill_stopped_programs() {
    program::kill_stopped();
}

/// What is stored of a task's certificate, for read-only verbs; nothing is written.
pub async fn look<S: Store>(
    store: &S,
    task: &Task,
    intervals: Intervals,
    now: Timestamp,
) -> Result<Seen, ports::StoreError> {
    Ok(Box::pin(session::Session::load(store, task, intervals, now)).await?.into_seen())
}
