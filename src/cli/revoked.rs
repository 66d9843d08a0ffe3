//! A run that also replaces what the CAs have revoked by themselves.

use super::error::CliError;
use super::message::Level;
use super::result::{Revoked, RevokedState};
use super::run::{run, unless_signalled};
use super::shell::Shell;
use crate::controller::revocation::FoundRevocation;
use crate::engine::Task;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::report::Report;
use crate::resource::NamespacedName;
use crate::workspace::{Job, Workspace};

/// Runs the tasks, then looks at CRLs, which hold nothing up, and runs again those whose
/// certificate is revoked. Those that their CA suddenly wants to be renewed now come last: whether
/// they get another key depends on the CRL. `samples`: these are all certificates.
pub(crate) async fn issue(
    shell: &mut Shell,
    workspace: &Workspace,
    tasks: &[Task],
    samples: bool,
    job: impl Fn() -> Job,
) -> Result<Vec<Report>, CliError> {
    let now = SystemClock.now();
    let is_called_back = |task: &&Task| workspace.is_called_back(task, now);
    let called_back: Vec<Task> = tasks.iter().filter(is_called_back).cloned().collect();
    let mut ended = if called_back.is_empty() {
        Box::pin(run(shell, workspace, tasks, job())).await?
    } else if called_back.len() == tasks.len() {
        Vec::new()
    } else {
        let others = tasks.iter().filter(|task| !is_called_back(task)).cloned();
        Box::pin(run(shell, workspace, &others.collect::<Vec<Task>>(), job())).await?
    };
    let is_interrupted = ended.iter().any(|report| report.details.signal.is_some());
    if is_interrupted {
        return Ok(ended);
    }
    let look = workspace.find_revoked(tasks, samples, SystemClock.now());
    let revoked = unless_signalled(look).await.unwrap_or_default();
    for (certificate, found) in &revoked {
        tell(shell, certificate, found);
    }
    let found_for = |task: &Task| {
        let key = task.certificate.metadata.key();
        let found = revoked.iter().find(|(certificate, _)| *certificate == key);
        found.map(|(_, found)| found.clone())
    };
    let again = tasks.iter().filter_map(|task| {
        let revoked = found_for(task);
        (revoked.is_some() || is_called_back(&task)).then(|| Task { revoked, ..task.clone() })
    });
    let again: Vec<Task> = if revoked.is_empty() { called_back } else { again.collect() };
    if again.is_empty() {
        return Ok(ended);
    }
    for report in Box::pin(run(shell, workspace, &again, job())).await? {
        ended.retain(|earlier| earlier.key() != report.key());
        ended.push(report);
    }
    Ok(ended)
}

fn tell(shell: &mut Shell, certificate: &NamespacedName, found: &FoundRevocation) {
    let FoundRevocation { serial, reason, .. } = found;
    shell.results.revoked(Revoked::new(Some(certificate), serial, *reason, RevokedState::Revoked));
    shell.output.talk(
        Level::Warn,
        &format!(
            "{certificate}: its CA has revoked serial {serial} ({reason}); it is replaced now"
        ),
    );
}
