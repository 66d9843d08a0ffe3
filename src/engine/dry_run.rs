//! What a run would do first, for those who only look: nothing is written and nobody is asked.
//!
//! The decisions are those of the run itself: the same pipeline on the same snapshot. What it
//! would record is taken into the snapshot in memory; rewriting and deploying are taken to succeed.
//! It ends where the run would need a key, the CA or the time.

use jiff::{SignedDuration, Timestamp};

use super::drive::pair_of_the_manifests;
use super::perform::changed_passwords;
use super::ports::{Store, StoreError};
use super::session::{Session, Task};
use crate::controller::{
    Effect, Intervals, Snapshot, Step, backoff, challenge, deploy, next_step, trigger,
};
use crate::manifest::SecretSource;
use crate::resource::{DeployStep, Rollback};

/// What a run would begin with, and how far that leads.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRun {
    /// What is known, with a pair to take over as if it were live.
    pub snapshot: Snapshot,
    /// Whether a pair that was there before certctl would be taken over.
    pub adopts: bool,
    /// A revision that would go live again before anything else.
    pub goes_back: Option<Rollback>,
    /// Answers to challenges of earlier runs that would be taken back.
    pub clean_ups: usize,
    /// Whether the live pair would be written again.
    pub rewrites: bool,
    /// What would be deployed.
    pub deploys: Vec<DeployStep>,
    /// What is known then.
    pub then: Snapshot,
    /// What the run would do then.
    pub step: Step,
}

/// Looks at a certificate as a run at `now` would, before its first effect.
pub async fn dry_run<S: Store>(
    store: &S,
    task: &Task,
    secrets: &SecretSource,
    now: Timestamp,
) -> Result<DryRun, StoreError> {
    let intervals = Intervals { self_check: SignedDuration::ZERO };
    let mut session = Session::load(store, task, intervals, now).await?;
    let is_known = session.is_known();
    let mut snapshot = session.snapshot.clone();
    if let Some(record) = backoff::corrected(&snapshot.record, now) {
        snapshot.record = record;
    }
    if !is_known && let Some((pair, _)) = pair_of_the_manifests(&snapshot, task, now) {
        snapshot.secret = Some(pair);
    }
    let pair = snapshot.secret.as_ref().filter(|_| !is_known);
    let adopts = pair.is_some_and(|pair| trigger::is_adoptable(pair, now));
    snapshot.run.changed_passwords = changed_passwords(secrets, &snapshot);
    let goes_back = snapshot.record.rollback.clone().filter(Rollback::is_owed);
    let clean_ups = challenge::clean_ups(&snapshot).len();
    session.snapshot = snapshot.clone();
    session.resume();
    let (mut rewrites, mut deploys) = (false, Vec::new());
    let step = loop {
        let step = next_step(&session.snapshot, now).1;
        let then = &mut session.snapshot;
        match &step {
            Step::Record(record) => session.apply(record.clone()),
            Step::Act(effects) => match effects.as_slice() {
                [Effect::Rewrite] => {
                    rewrites = true;
                    then.run.rewritten = Some(String::new());
                    then.run.deployed.clear();
                    then.files_digest = None;
                }
                [Effect::Deploy { step }] => {
                    deploys.push(*step);
                    then.run.deployed.insert(*step);
                }
                _ => break step,
            },
            Step::Settled | Step::Wait { .. } | Step::Fail(_) => break step,
        }
    };
    let then = session.snapshot;
    deploys.extend(deploy::reload(&then, now).map(|_| DeployStep::Reload));
    Ok(DryRun { snapshot, adopts, goes_back, clean_ups, rewrites, deploys, then, step })
}
