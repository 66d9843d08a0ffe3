//! A run that also replaces what the CAs have revoked by themselves.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::result::{Revoked, RevokedState};
use crate::cli::run::run;
use crate::cli::signal::unless_signalled;
use crate::cli::{CliError, Level, Shell};
use crate::engine::Task;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::report::Report;
use crate::resource::{NamespacedName, RevokedCertificate};
use crate::workspace::{Job, Workspace};

/// Runs the tasks, then looks at CRLs, which hold nothing up, and runs again those whose
/// certificate is revoked. `samples`: these are all certificates.
pub(crate) async fn issue(
    shell: &mut Shell,
    workspace: &Workspace,
    tasks: &[Task],
    samples: bool,
    job: impl Fn() -> Job,
) -> Result<Vec<Report>, CliError> {
    let mut ended = Box::pin(run(shell, workspace, tasks, job())).await?;
    for report in &ended {
        if let Some(found) = &report.details.revoked {
            print(shell, &report.key(), found);
        }
    }
    if !samples || ended.iter().any(|report| report.details.signal.is_some()) {
        return Ok(ended);
    }
    let look = workspace.find_revoked(tasks, SystemClock.now());
    let revoked = unless_signalled(look).await.unwrap_or_default();
    if revoked.is_empty() {
        return Ok(ended);
    }
    for (certificate, found) in &revoked {
        print(shell, certificate, found);
    }
    let revoked: BTreeMap<NamespacedName, RevokedCertificate> = revoked.into_iter().collect();
    let again = tasks.iter().filter_map(|task| {
        let found = revoked.get(&task.certificate.metadata.key())?;
        Some(Task { revoked: Some(found.clone()), ..task.clone() })
    });
    let again: Vec<Task> = again.collect();
    let again = Box::pin(run(shell, workspace, &again, job())).await?;
    let replaced: BTreeSet<NamespacedName> = again.iter().map(Report::key).collect();
    ended.retain(|earlier| !replaced.contains(&earlier.key()));
    ended.extend(again);
    Ok(ended)
}

fn print(shell: &mut Shell, certificate: &NamespacedName, found: &RevokedCertificate) {
    let RevokedCertificate { serial, reason, .. } = found;
    shell.results.revoked(Revoked::new(Some(certificate), serial, *reason, RevokedState::Revoked));
    shell.output.talk(
        Level::Warn,
        format!(
            "{}: its CA has revoked serial {serial} ({reason}); this run replaces it",
            certificate.short()
        ),
    );
}
