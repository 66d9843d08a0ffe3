//! Challenge responses that interrupted runs left published, for certificates outside this run: a
//! run that writes removes them, or prints what remains.

use std::collections::BTreeSet;

use crate::cli::run::run;
use crate::cli::{CliError, Shell};
use crate::resource::NamespacedName;
use crate::workspace::Workspace;
use crate::workspace::unmanaged::not_cleaned_up;

/// Cleans up the challenges of all known certificates that are not in `done`.
pub(crate) async fn clean_up(
    shell: &mut Shell,
    workspace: &mut Workspace,
    done: &BTreeSet<NamespacedName>,
    verb: &'static str,
) -> Result<(), CliError> {
    let Some(orphans) = workspace.orphans(done).await? else { return Ok(()) };
    shell.print_findings(&not_cleaned_up(&orphans.left));
    if orphans.tasks.is_empty() {
        return Ok(());
    }
    // Failed clean-ups are logged as they happen; the next run retries them.
    Box::pin(run(shell, workspace, &orphans.tasks, orphans.job(verb))).await.map(drop)
}

/// The same for a run that finds no Certificate. Without anything to clean up, no state is made.
pub(crate) async fn clean_up_all(
    shell: &mut Shell,
    workspace: &mut Workspace,
    verb: &'static str,
) -> Result<(), CliError> {
    if workspace.owing(&BTreeSet::new()).await?.is_empty() {
        return Ok(());
    }
    if workspace.make_writable().is_err() {
        return warn(shell, workspace).await;
    }
    clean_up(shell, workspace, &BTreeSet::new(), verb).await
}

/// Warns of published challenge responses, for a run that cannot start.
pub(crate) async fn warn(shell: &mut Shell, workspace: &Workspace) -> Result<(), CliError> {
    let left = workspace.owing(&BTreeSet::new()).await?;
    shell.print_findings(&not_cleaned_up(&left));
    Ok(())
}
