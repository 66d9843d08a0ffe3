//! What a run would do first, without writing anything or contacting a server.
//!
//! The decisions are those of the run itself: the same pipeline on the same snapshot. Records are
//! applied to the snapshot in memory; rewriting and deploying are assumed to succeed. It ends where
//! the run would need a key, the CA or the time.

use jiff::{SignedDuration, Timestamp};

use super::drive::{may_adopt_now, pair_of_the_manifests, refused};
use super::perform::changed_passwords;
use super::ports::{Store, StoreError};
use super::session::{Seen, Session};
use super::task::Task;
use crate::controller::{
    Effect, Intervals, Snapshot, Step, backoff, challenge, deploy, links, next_step, trigger,
};
use crate::manifest::SecretSource;
use crate::resource::{DeployStep, Rollback};

/// The first actions of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRun {
    /// The snapshot, with a pair to adopt as if it were live.
    pub snapshot: Snapshot,
    /// Whether the run would adopt an existing pair.
    pub adopts: bool,
    /// Why the run would replace a pair that it did not issue, and how to keep it.
    pub why_replaced: Option<String>,
    /// The revision that the run would roll back to first.
    pub goes_back: Option<Rollback>,
    /// Challenges of earlier runs that the run would clean up.
    pub clean_ups: usize,
    /// Whether the run would rewrite the live pair.
    pub rewrites: bool,
    /// The targets that the run would deploy to.
    pub deploys: Vec<DeployStep>,
    /// The snapshot after these actions.
    pub then: Snapshot,
    /// The step of the run after these actions.
    pub step: Step,
}

/// Decides for a certificate as a run at `now` would, before its first effect; and what is stored of it.
pub async fn dry_run<S: Store>(
    store: &S,
    task: &Task,
    secrets: &SecretSource,
    now: Timestamp,
) -> Result<(Seen, DryRun), StoreError> {
    let intervals = Intervals { self_check: SignedDuration::ZERO };
    let mut session = Session::load(store, task, intervals, now).await?;
    let stored = session.snapshot.clone();
    let is_known = session.is_known();
    let mut snapshot = Snapshot::clone(&session.snapshot);
    if let Some(record) = backoff::corrected(&snapshot.record, now) {
        snapshot.record = record;
    }
    let mut may_adopt = !is_known;
    let of_the_manifests = pair_of_the_manifests(&snapshot, task, now).map(|(pair, _)| pair);
    let refusal = if may_adopt || of_the_manifests.is_some() {
        refused(store, &snapshot, of_the_manifests.as_ref(), now).await?
    } else {
        None
    };
    let found = of_the_manifests.as_ref().filter(|_| is_known);
    if let Some(record) = refusal {
        if may_adopt {
            session.apply(record);
            snapshot.record = session.snapshot.record.clone();
            may_adopt = false;
        }
    } else if let Some(record) = may_adopt_now(&snapshot, found, now) {
        session.apply(record);
        snapshot = Snapshot::clone(&session.snapshot);
        snapshot.secret = of_the_manifests.or(snapshot.secret);
        may_adopt = true;
    } else if may_adopt && of_the_manifests.is_some() {
        snapshot.secret = of_the_manifests;
    }
    let pair = snapshot.secret.as_ref().filter(|_| may_adopt);
    let adopts = pair.is_some_and(|pair| trigger::is_adoptable(pair, now));
    let may_stay = may_adopt || trigger::is_first_for_other(&snapshot.record);
    let why_replaced = trigger::why_replaced(&snapshot, now).filter(|_| may_stay);
    if let Some(live) = &snapshot.secret {
        snapshot.run.changed_passwords = changed_passwords(secrets, &task.certificate, live);
    }
    snapshot.run.deployment.at_once = task.is_named;
    let goes_back = snapshot.record.rollback.clone().filter(Rollback::is_owed);
    *session.snapshot = snapshot.clone();
    session.resume();
    let Ahead { step, rewrites, mut deploys } = Ahead::of(&mut session, now);
    let then = *std::mem::replace(&mut session.snapshot, stored);
    deploys.extend(deploy::reload(&then, now).map(|_| DeployStep::Reload));
    let dry_run = DryRun {
        clean_ups: challenge::clean_ups(&snapshot).len(),
        snapshot,
        adopts,
        why_replaced,
        goes_back,
        rewrites,
        deploys,
        then,
        step,
    };
    Ok((session.into_seen(), dry_run))
}

/// What a run does without a key, the CA or the time, and its step then.
struct Ahead {
    step: Step,
    rewrites: bool,
    deploys: Vec<DeployStep>,
}

impl Ahead {
    fn of<S: Store>(session: &mut Session<'_, S>, now: Timestamp) -> Self {
        let (mut rewrites, mut deploys) = (false, Vec::new());
        let step = loop {
            let step = next_step(&session.snapshot, now).1;
            let then = &mut session.snapshot;
            match &step {
                Step::Record(record) => session.apply(record.clone()),
                Step::Act(effects) => match effects.as_slice() {
                    [Effect::Follow { .. }] => {
                        links::follow(then);
                        then.files_digest = None;
                    }
                    [Effect::Rewrite { .. }] => {
                        rewrites = true;
                        then.run.rewritten = Some(String::new());
                        then.run.deployment.done.clear();
                        then.files_digest = None;
                    }
                    [Effect::Deploy { target, .. }] => {
                        deploys.push(target.step());
                        if target.step() == DeployStep::Output {
                            then.lost_output = None;
                        }
                        then.run.deployment.done.insert(target.step());
                    }
                    _ => break step,
                },
                Step::Settled | Step::Wait { .. } | Step::Defer { .. } | Step::Fail(_) => {
                    break step;
                }
            }
        };
        Self { step, rewrites, deploys }
    }
}
