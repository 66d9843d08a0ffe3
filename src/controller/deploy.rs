//! Is the live pair deployed? Issued but not deployed is a state of its own: every run continues
//! it, and it never causes a new order.
//!
//! | step | done by | owed while |
//! | --- | --- | --- |
//! | Output | `WriteOutput`: the files in `output-dir` | the live files were not written, or are missing or damaged there |
//! | Hook | `RunHook`: the certificate's own program | it has not succeeded for the live files |
//! | Reload | the engine, once per program and run | the same |
//!
//! A step waits for the steps before it, and is done again after an output that servers had lost.
//! Before a step is repeated for the same files, it is recorded that it and those after it are owed:
//! a run may be killed between an output and the reload. A
//! failed step is owed until it succeeds, also if it had succeeded for the same files before. It is
//! not retried in the same run, but by the next; then after 5 minutes, doubling up to an hour. A new
//! pair starts without failures. A run for a named certificate waits for nothing. A step that could not start because
//! this machine lacks a hook or a folder is looked at again by every run. A run that leaves the hooks
//! to another one (`--hooks later`) leaves them owed, and that is no failure.

use jiff::Timestamp;

use super::{Change, Effect, IllegalOutcome, Outcome, Record, Snapshot, Step};
use crate::resource::{
    CertificateRecord, DeployStep, DeployTarget, Deployment, Failure, Pause, Reason, Settings,
};

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    if let Some(folder) = abandoned(snapshot) {
        return Step::Record(abandon(snapshot, folder, now));
    }
    let Some(target) = owed(snapshot).filter(|target| may_try(snapshot, target, now)) else {
        return Step::Settled;
    };
    if let Some(record) = owe_again(snapshot, target.step()) {
        return Step::Record(Record::of(Change::Certificate(Box::new(record))));
    }
    if target.step() == DeployStep::Reload {
        return Step::Settled;
    }
    let revision = snapshot.record.status.revision.unwrap_or_default();
    let replaces = snapshot.replaced().to_vec();
    Step::Act(vec![Effect::Deploy { target, revision, replaces }])
}

/// The folder of an output that was written: only such a one has files.
fn written_to(record: &CertificateRecord) -> Option<&str> {
    let mut written = record.deployments.iter().filter(|known| known.files.is_some());
    written.find_map(|known| known.target.folder())
}

/// The same, where the manifest names no folder any more.
fn abandoned(snapshot: &Snapshot) -> Option<&str> {
    written_to(&snapshot.record).filter(|_| snapshot.settings.output_dir.is_none())
}

/// Forgets it, and says what that means for a server that reads it.
fn abandon(snapshot: &Snapshot, folder: &str, now: Timestamp) -> Record {
    let mut record = snapshot.record.clone();
    record.deployments.retain(|known| known.target.step() != DeployStep::Output);
    let message = format!(
        "the manifest no longer names an output: the files in {folder}, including the key, stay \
         there and are not renewed"
    );
    let event = Record::default().normal(now, Reason::Deployed, message);
    Record { changes: vec![Change::Certificate(Box::new(record))], ..event }
}

/// The program to run when all certificates of the run are done, if one is owed and due.
pub fn reload(snapshot: &Snapshot, now: Timestamp) -> Option<String> {
    match owed(snapshot).filter(|target| may_try(snapshot, target, now)) {
        Some(DeployTarget::Reload { name }) => Some(name),
        Some(DeployTarget::Output { .. } | DeployTarget::Hook { .. }) | None => None,
    }
}

/// The first step not done for the live files.
pub fn owed(snapshot: &Snapshot) -> Option<DeployTarget> {
    let pair = snapshot.secret.as_ref()?;
    let (Some(Ok(_)), Some(Ok(_))) = (&pair.key, &pair.certificate) else { return None };
    snapshot.settings.deploy_targets().into_iter().find(|target| {
        let done = known(snapshot, target).filter(|known| known.failed_attempts == 0);
        let done = done.and_then(|known| known.files.as_ref());
        let is_done = match &snapshot.files_digest {
            Some(live) => done == Some(live),
            // Published in this run: no earlier step used these files.
            None => false,
        };
        let is_lost = target.step() == DeployStep::Output && snapshot.lost_output.is_some();
        let is_owed = !is_done || is_lost || snapshot.run.deployment.again;
        is_owed && !snapshot.run.deployment.done.contains(&target.step())
    })
}

/// The record in which this step and those after it are owed, if they were done with the live files.
/// The folder of an output shows by itself whether it is written.
fn owe_again(snapshot: &Snapshot, step: DeployStep) -> Option<CertificateRecord> {
    let live = snapshot.files_digest.as_ref()?;
    let mut record = snapshot.record.clone();
    for known in &mut record.deployments {
        let is_repeated = known.target.step() >= step && known.target.step() != DeployStep::Output;
        known.files = known.files.take().filter(|files| !is_repeated || files != live);
    }
    (record != snapshot.record).then_some(record)
}

/// Another pair is live: the failures with the one before it put nothing off.
pub(super) fn begin_anew(record: &mut CertificateRecord) {
    for failed in record.deployments.iter_mut().filter(|known| known.failed_attempts > 0) {
        let files = failed.files.take().filter(|_| failed.target.step() == DeployStep::Output);
        *failed = Deployment { files, ..Deployment::new(failed.target.clone()) };
    }
}

fn known<'a>(snapshot: &'a Snapshot, target: &DeployTarget) -> Option<&'a Deployment> {
    snapshot.record.deployments.iter().find(|deployment| deployment.target == *target)
}

fn may_try(snapshot: &Snapshot, target: &DeployTarget, now: Timestamp) -> bool {
    if is_left(snapshot, target) || snapshot.run.deployment.failed.contains(&target.step()) {
        return false;
    }
    let next = known(snapshot, target).and_then(next_try);
    snapshot.run.deployment.at_once || next.is_none_or(|next| next <= now)
}

/// Whether another run does this step.
fn is_left(snapshot: &Snapshot, target: &DeployTarget) -> bool {
    snapshot.run.deployment.leaves_hooks && target.step() != DeployStep::Output
}

/// When a failed step is retried.
pub fn next_try(deployment: &Deployment) -> Option<Timestamp> {
    let failed = deployment.last_failure_time?;
    if deployment.is_lacking() {
        return Some(failed);
    }
    let Some(doublings) = deployment.failed_attempts.checked_sub(2) else { return Some(failed) };
    failed.checked_add(Pause::DEPLOY.length(doublings)).ok()
}

/// What another run is to do first, as this one leaves its hooks.
pub fn left(snapshot: &Snapshot) -> Option<DeployTarget> {
    owed(snapshot).filter(|target| is_left(snapshot, target))
}

/// Issued but not deployed, as a failure of the run.
pub fn failure(snapshot: &Snapshot) -> Option<Failure> {
    let target = owed(snapshot).filter(|target| !is_left(snapshot, target))?;
    let known = known(snapshot, &target).cloned();
    Some(known.unwrap_or_else(|| Deployment::new(target)).failure())
}

/// When the owed step was tried before, unless this run has tried it; and when it is retried, if
/// that is not by the next run.
pub fn tries(snapshot: &Snapshot) -> (Option<Timestamp>, Option<Timestamp>) {
    let Some(target) = owed(snapshot) else { return (None, None) };
    let known = known(snapshot, &target);
    let is_tried = snapshot.run.deployment.failed.contains(&target.step());
    let last = known.and_then(|known| known.last_failure_time);
    let waits = |known: &&Deployment| known.failed_attempts > 1 && !known.is_lacking();
    let next = known.filter(waits).and_then(next_try);
    (last.filter(|_| !is_tried), next)
}

/// The step of these settings.
pub fn target(settings: &Settings, step: DeployStep) -> Option<DeployTarget> {
    settings.deploy_targets().into_iter().find(|target| target.step() == step)
}

/// Records that a step succeeded, or why it failed.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other outcome is refused, not kept")]
pub fn absorb(
    snapshot: &mut Snapshot,
    step: DeployStep,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let wanted = snapshot.settings.deploy_targets();
    let Some(target) = wanted.iter().find(|target| target.step() == step) else {
        return Err(IllegalOutcome::new("nothing to deploy", &outcome));
    };
    let mut record = snapshot.record.clone();
    record
        .deployments
        .retain(|known| known.target.step() != step && wanted.contains(&known.target));
    let mut deployment =
        known(snapshot, target).cloned().unwrap_or_else(|| Deployment::new(target.clone()));
    let event = match outcome {
        Outcome::Deployed { files } => {
            deployment = Deployment { files: Some(files), ..Deployment::new(target.clone()) };
            if record.last_failure.is_none() {
                record.alerted = 0;
            }
            let before = written_to(&snapshot.record);
            let stays = before.filter(|before| target.folder().is_some_and(|now| now != *before));
            let stays = stays.map_or_else(String::new, |folder| {
                format!("; the earlier files in {folder} stay there")
            });
            let lost = snapshot.lost_output.take_if(|_| step == DeployStep::Output);
            let lost = lost.map_or_else(String::new, |what| format!("; it had lost files: {what}"));
            snapshot.run.deployment.done.insert(step);
            snapshot.run.deployment.texts.push(target.to_string());
            Record::default().normal(now, Reason::Deployed, format!("Done: {target}{lost}{stays}"))
        }
        Outcome::Failed(error) => {
            snapshot.run.deployment.failed.insert(step);
            // A try by hand does not put off the one that is due without it.
            if next_try(&deployment).is_none_or(|next| next <= now) {
                deployment.failed_attempts = deployment.failed_attempts.saturating_add(1);
                deployment.last_failure_time = Some(now);
            }
            deployment.cause = Some(error.cause);
            let message = deployment.failure().cause.to_string();
            Record::default().warning(now, Reason::DeployFailed, message)
        }
        other => return Err(IllegalOutcome::new("deploying", &other)),
    };
    record.deployments.push(deployment);
    record.deployments.sort_by(|a, b| a.target.cmp(&b.target));
    Ok(Record { changes: vec![Change::Certificate(Box::new(record))], ..event })
}
