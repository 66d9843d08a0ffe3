//! Challenge responses that interrupted runs left published, for certificates outside this run: a
//! run that writes removes them, or prints what remains.

use std::collections::BTreeSet;

use crate::cli::error::CliError;
use crate::cli::render::message::Level;
use crate::cli::run::run;
use crate::cli::shell::Shell;
use crate::resource::{Challenge, ChallengeType, NamespacedName, Order};
use crate::workspace::Workspace;

/// Cleans up the challenges of all known certificates that are not in `done`.
pub(crate) async fn clean_up(
    shell: &mut Shell,
    workspace: &mut Workspace,
    done: &BTreeSet<NamespacedName>,
    verb: &'static str,
) -> Result<(), CliError> {
    let Some(orphans) = workspace.orphans(done).await? else { return Ok(()) };
    for (name, orders) in &orphans.left {
        warn_of(shell, name, orders);
    }
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
    for (name, orders) in workspace.owing(&BTreeSet::new()).await? {
        warn_of(shell, &name, &orders);
    }
    Ok(())
}

fn warn_of(shell: &mut Shell, name: &NamespacedName, orders: &[Order]) {
    let what: Vec<String> =
        orders.iter().flat_map(|order| &order.challenges).filter_map(place).collect();
    let text = format!(
        "{name}: not cleaned up by an interrupted run: {}\n  its Certificate or Issuer is \
         missing; the next run that finds both cleans up",
        what.join("; ")
    );
    if !what.is_empty() && shell.prints(&text) {
        shell.output.talk(Level::Warn, &text);
    }
}

/// The challenge response that may still be published, and where.
pub(crate) fn place(challenge: &Challenge) -> Option<String> {
    let spec = &challenge.spec;
    match (&challenge.presented.target, &spec.kind) {
        _ if !challenge.owes_clean_up() => None,
        (Some(target), _) => Some(target.to_string()),
        // Nothing is written before its place is known.
        (None, ChallengeType::Dns01) => None,
        (None, kind @ (ChallengeType::Http01 | ChallengeType::Other(_))) => {
            Some(format!("{} for {}, token {}", kind.as_str(), spec.identifier, spec.token))
        }
    }
}
