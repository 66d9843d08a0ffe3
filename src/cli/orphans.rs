//! What runs that were cut off have left in the world, of certificates that this run is not about:
//! a run that writes takes it back, or says what stays where.

use std::collections::BTreeSet;

use super::error::CliError;
use super::message::Level;
use super::run::run;
use super::shell::Shell;
use crate::resource::{Challenge, ChallengeType, NamespacedName, Order};
use crate::workspace::Workspace;

/// Looks at all known certificates that are not among `done`, and takes back what they owe.
pub(crate) async fn clean_up(
    shell: &mut Shell,
    workspace: &mut Workspace,
    done: &BTreeSet<NamespacedName>,
    verb: &'static str,
) -> Result<(), CliError> {
    let Some(orphans) = workspace.orphans(done).await? else { return Ok(()) };
    for (name, orders) in &orphans.left {
        tell(shell, name, orders);
    }
    if orphans.tasks.is_empty() {
        return Ok(());
    }
    // What could not be taken back was said as it happened, and is tried again by the next run.
    Box::pin(run(shell, workspace, &orphans.tasks, orphans.job(verb))).await.map(drop)
}

/// Says what is left in the world, for a run that may not begin.
pub(crate) async fn warn(shell: &mut Shell, workspace: &Workspace) -> Result<(), CliError> {
    for (name, orders) in workspace.owing(&BTreeSet::new()).await? {
        tell(shell, &name, &orders);
    }
    Ok(())
}

fn tell(shell: &mut Shell, name: &NamespacedName, orders: &[Order]) {
    let what: Vec<String> =
        orders.iter().flat_map(|order| &order.challenges).filter_map(place).collect();
    if !what.is_empty() {
        shell.output.talk(
            Level::Warn,
            &format!(
                "{name}: left by a run that was cut off: {}\n  its Certificate and Issuer \
             are not there to take it back; the first run that finds them does",
                what.join("; ")
            ),
        );
    }
}

/// What a challenge may have out in the world, and where.
pub(crate) fn place(challenge: &Challenge) -> Option<String> {
    let spec = &challenge.spec;
    match (&challenge.target, &spec.kind) {
        _ if !challenge.owes_clean_up() => None,
        (Some(target), _) => Some(target.to_string()),
        // Nothing is written before its place is known.
        (None, ChallengeType::Dns01) => None,
        (None, kind @ (ChallengeType::Http01 | ChallengeType::Other(_))) => {
            Some(format!("{} for {}, token {}", kind.as_str(), spec.identifier, spec.token))
        }
    }
}
