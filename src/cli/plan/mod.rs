//! `certctl plan`: what `issue` would do now, and why.
//!
//! Contract: writes nothing, takes no lock, uses no network, and decides nothing.

mod render;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::args::{Format, PlanArgs};
use super::document::{self, Items};
use super::error::CliError;
use super::exit::{self, ExitCode};
use super::issue::{nothing_found, tell_orphans};
use super::run::on_one_thread;
use super::shell::Shell;
use super::targets::{open, request, targets};
use crate::engine::Task;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::resource::FailureClass;
use crate::workspace::Request;

/// Prints what `issue` would do with the same arguments.
pub(crate) fn plan(args: &PlanArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    if shell.global.format() == Format::Prometheus {
        let error = CliError::new(ExitCode::Usage, "plan does not support this format");
        return Err(error.hinted("-o json"));
    }
    let request = request(shell, &args.targets)?;
    let request = Request { has_edited_copies: true, ..request };
    on_one_thread(async {
        let mut workspace = open(shell).await?;
        let targets = targets(shell, &mut workspace, &request)?;
        tell_orphans(shell, &targets.orphans);
        if targets.loaded.certificates.is_empty() && !targets.has_errors {
            return nothing_found(shell, workspace.records().len());
        }
        let now = SystemClock.now();
        let items = Box::pin(workspace.plan(&targets, now)).await?;
        let by_key = targets.tasks.iter().map(|task| (task.certificate.metadata.key(), task));
        let by_key: BTreeMap<_, &Task> = by_key.collect();
        let active = items.iter().filter(|item| item.changes());
        let tasks: Vec<&Task> =
            active.filter_map(|item| by_key.get(&item.key()).copied()).collect();
        let unmet = workspace.unmet(&targets.loaded, &targets.secrets, &tasks).await?;
        let text = match shell.global.format() {
            format @ (Format::Json | Format::Yaml) => {
                document::text(&Items { items: &items }, format)?
            }
            Format::Name => render::names(&items),
            Format::Text | Format::Wide | Format::Prometheus => {
                render::page(&items, now, shell.output.data_has_color())
            }
        };
        shell.output.data(&text)?;
        for one in &unmet {
            shell.output.finding(one);
        }
        let is_broken = targets.has_errors || !unmet.is_empty();
        let broken = is_broken.then_some(exit::Ending::Failed(FailureClass::Precondition));
        let changes = items.iter().filter(|item| item.changes()).map(|_| exit::Ending::Changed);
        Ok(exit::of_run(changes.chain(broken), shell.global.exit_code))
    })
}
