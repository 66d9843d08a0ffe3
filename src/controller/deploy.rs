//! Is the live pair where it is to be used? Issued but not deployed is a state of its own: it is
//! gone on with by every run, and never a reason to issue again.
//!
//! | step | done by | owed as long as |
//! | --- | --- | --- |
//! | Output | `WriteOutput`: the files in `output-dir` | those there are not the live ones |
//! | Hook | `RunHook`: the certificate's own program | it did not succeed for the live files |
//! | Reload | the engine, once per program and run | the same |
//!
//! A step waits for those before it. One that fails is not tried again in the same run, but by the
//! next; then after 5 minutes, doubling up to an hour.

use jiff::{SignedDuration, Timestamp};

use super::{Change, Effect, Failure, IllegalOutcome, Outcome, Record, Snapshot, Step};
use crate::resource::{DeployStep, Deployment, FailureClass, Reason, Settings};

/// The wait after the second failure.
const FIRST_WAIT: SignedDuration = SignedDuration::from_mins(5);
/// The longest wait: a run an hour tries each time.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(59);

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    match owed(snapshot) {
        Some((step, target))
            if step != DeployStep::Reload && may_try(snapshot, step, &target, now) =>
        {
            Step::Act(vec![Effect::Deploy { step }])
        }
        Some(_) | None => Step::Settled,
    }
}

/// The program to be run when all certificates of the run are done, if one is owed and due.
pub fn reload(snapshot: &Snapshot, now: Timestamp) -> Option<String> {
    let (step, target) = owed(snapshot)?;
    let due = step == DeployStep::Reload && may_try(snapshot, step, &target, now);
    due.then_some(target)
}

/// What the settings ask for, in its order.
pub fn wanted(settings: &Settings) -> Vec<(DeployStep, String)> {
    let mut wanted = Vec::new();
    if let Some(folder) = &settings.output_dir {
        let owner = settings.output_owner.iter().map(|owner| format!(" owner {owner}"));
        let group = settings.output_group.iter().map(|group| format!(" group {group}"));
        let mode = settings.output_mode.iter().map(|mode| format!(" mode {mode:04o}"));
        let target = [folder.clone()].into_iter().chain(owner).chain(group).chain(mode).collect();
        wanted.push((DeployStep::Output, target));
    }
    wanted.extend(settings.deploy_hook.clone().map(|name| (DeployStep::Hook, name)));
    wanted.extend(settings.reload.clone().map(|name| (DeployStep::Reload, name)));
    wanted
}

/// The first step that is not done for the live files.
pub fn owed(snapshot: &Snapshot) -> Option<(DeployStep, String)> {
    let pair = snapshot.secret.as_ref()?;
    let (Some(Ok(_)), Some(Ok(_))) = (&pair.key, &pair.certificate) else { return None };
    wanted(&snapshot.settings).into_iter().find(|(step, target)| {
        let done = known(snapshot, *step, target).and_then(|known| known.files.as_ref());
        let is_done = match &snapshot.files_digest {
            Some(live) => done == Some(live),
            // Published in this run: nothing that was done before was done with these files.
            None => false,
        };
        !is_done && !snapshot.run.deployed.contains(step)
    })
}

fn known<'a>(snapshot: &'a Snapshot, step: DeployStep, target: &str) -> Option<&'a Deployment> {
    let mut all = snapshot.record.deployments.iter();
    all.find(|deployment| deployment.step == step && deployment.target == target)
}

fn may_try(snapshot: &Snapshot, step: DeployStep, target: &str, now: Timestamp) -> bool {
    if snapshot.run.not_deployed.contains(&step) {
        return false;
    }
    let next = known(snapshot, step, target).and_then(next_try);
    snapshot.run.deploy_now || next.is_none_or(|next| next <= now)
}

/// When a step that failed is tried again.
pub fn next_try(deployment: &Deployment) -> Option<Timestamp> {
    let failed = deployment.last_failure_time?;
    let Some(doublings) = deployment.failed_attempts.checked_sub(2) else { return Some(failed) };
    let doublings = doublings.min(10);
    let factor = 1_i32.checked_shl(doublings).unwrap_or(i32::MAX);
    let wait = FIRST_WAIT.checked_mul(factor).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
    failed.checked_add(wait).ok()
}

/// What is issued and not where it is to be used, as a failure of the run.
pub fn failure(snapshot: &Snapshot) -> Option<Failure> {
    let (step, target) = owed(snapshot)?;
    let why = match known(snapshot, step, &target) {
        Some(Deployment { message, .. }) if !message.is_empty() => message.clone(),
        Some(_) | None => "not done yet".to_owned(),
    };
    Some(Failure {
        class: FailureClass::Output,
        reason: Reason::DeployFailed,
        message: format!("issued but not deployed: {}: {why}", what(step, &target)),
        retry_after: None,
    })
}

/// A step of these settings that was done, for people.
pub fn done(settings: &Settings, done: DeployStep) -> Option<String> {
    let (step, target) = wanted(settings).into_iter().find(|(step, _)| *step == done)?;
    Some(what(step, &target))
}

/// A step, for people.
pub fn what(step: DeployStep, target: &str) -> String {
    match step {
        DeployStep::Output => format!("output to {target}"),
        DeployStep::Hook => format!("deploy hook {target}"),
        DeployStep::Reload => format!("reload {target}"),
    }
}

/// Notes that a step was done, or why it was not.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other outcome is refused, not kept")]
pub fn absorb(
    snapshot: &mut Snapshot,
    step: DeployStep,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let wanted = wanted(&snapshot.settings);
    let Some((_, target)) = wanted.iter().find(|(wanted, _)| *wanted == step) else {
        return Err(IllegalOutcome::new("nothing to deploy", &outcome));
    };
    let mut record = snapshot.record.clone();
    record.deployments.retain(|known| {
        wanted.iter().any(|(step, target)| known.step == *step && known.target == *target)
    });
    let mut deployment = known(snapshot, step, target)
        .cloned()
        .unwrap_or_else(|| Deployment::new(step, target.clone()));
    record.deployments.retain(|known| known.step != step);
    let what = what(step, target);
    let event = match outcome {
        Outcome::Deployed { files } => {
            deployment = Deployment::new(step, target.clone());
            deployment.files = Some(files);
            if record.last_failure.is_none() {
                record.alerted = 0;
            }
            let folder = |target: &str| target.split(' ').next().unwrap_or_default().to_owned();
            let moved = snapshot.record.deployments.iter().find(|known| {
                let elsewhere = folder(&known.target) != folder(target);
                step == DeployStep::Output && known.step == step && elsewhere
            });
            let stays = moved.map_or_else(String::new, |known| {
                format!("; what was written to {} before stays there", folder(&known.target))
            });
            let message = format!("Done: {what}{stays}");
            snapshot.run.deployed.insert(step);
            snapshot.run.deployments.push(what);
            Record::default().normal(now, Reason::Deployed, message)
        }
        Outcome::Failed(error) => {
            snapshot.run.not_deployed.insert(step);
            deployment.failed_attempts = deployment.failed_attempts.saturating_add(1);
            deployment.last_failure_time = Some(now);
            deployment.message = error.to_string();
            Record::default().warning(now, Reason::DeployFailed, format!("{what}: {error}"))
        }
        other => return Err(IllegalOutcome::new("deploying", &other)),
    };
    record.deployments.push(deployment);
    record.deployments.sort_by_key(|deployment| deployment.step);
    Ok(Record { changes: vec![Change::Certificate(Box::new(record))], ..event })
}
