//! `certctl plan`: what `issue` would do now, and why.
//!
//! Contract: writes nothing, takes no lock, sends nothing, and decides nothing. It looks whether the
//! port of HTTP-01 is free.

mod render;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::Args;

use crate::cli::targets::{request, targets};
use crate::cli::verbs::doctor;
use crate::cli::verbs::issue::nothing_found;
use crate::cli::{
    CliError, Ending, ExitCode, Format, Hint, Items, Level, Message, Shell, VerbArgs, document,
    escape, on_one_thread, short,
};
use crate::engine::Task;
use crate::engine::ports::{DamageCourse, StoreError, WrongEntry};
use crate::manifest::{self, Diagnostic};
use crate::resource::{FailureClass, Finding, NamespacedName, Severity};
use crate::workspace::Blocked;
use crate::workspace::outlook::{Action, When};
use crate::workspace::plan::{Item, Plan};
use crate::workspace::unmanaged::without_manifest;
use crate::workspace::{Request, Scope, Workspace, diagnostics};

/// Show the actions of `issue` and their reasons; changes nothing.
///
/// For each certificate, it shows the action, its reason, the differences, the solver of each name,
/// the cost in orders, and how much of the CA's rate limits is left. It contacts no server. With
/// --exit-code, it exits with 10 if anything would change.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Manifests, folders of them, `-` for standard input, or names of known certificates.
    #[arg(value_name = "FILE|DIR|-|NAME")]
    pub targets: Vec<OsString>,
}

impl VerbArgs for PlanArgs {
    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        if shell.global.format() == Format::Prometheus {
            let error = CliError::usage("plan does not support this format");
            return Err(error.hinted("-o json"));
        }
        let request = request(shell, &self.targets)?;
        let request = Request { has_edited_copies: true, is_only_shown: true, ..request };
        on_one_thread(async {
            // Files may hold what is not named: everything is read beside them.
            let names = if request.sources.is_empty() { request.names.as_slice() } else { &[] };
            let opened = Workspace::open_shown(shell.settings()?, names, Scope::Named).await;
            let mut workspace = opened?;
            let targets = targets(shell, &mut workspace, &request)?;
            workspace.forget_manifests();
            shell.print_findings(&without_manifest(&targets.orphans));
            if targets.loaded.certificates.is_empty() && !targets.has_errors {
                return Err(nothing_found(shell, workspace.record_count()));
            }
            if targets.tasks.is_empty() && !targets.has_errors {
                shell.output.talk(Level::Info, "nothing to plan: no Certificate matches");
            }
            let scene = shell.scene();
            let Plan { mut items, damaged } = Box::pin(workspace.plan(&targets, scene.now)).await?;
            let by_key = targets.tasks.iter().map(|task| (task.certificate.metadata.key(), task));
            let by_key: BTreeMap<_, &Task> = by_key.collect();
            let (active, idle): (Vec<&Item>, Vec<&Item>) =
                items.iter().partition(|item| item.outlook.changes());
            let tasks = |items: Vec<&Item>| -> Vec<&Task> {
                items.into_iter().filter_map(|item| by_key.get(&item.key()).copied()).collect()
            };
            let (loaded, secrets) = (&targets.loaded, &targets.secrets);
            let (active, idle) = (tasks(active), tasks(idle));
            // A deployment needs no port.
            let (ordering, others): (Vec<&Item>, Vec<&Item>) =
                items.iter().partition(|item| item.outlook.orders());
            let (ordering, others) = (tasks(ordering), tasks(others));
            let host = doctor::blocking(shell, &ordering);
            let lacks = workspace.lacks(loaded, secrets, &active).await?;
            let unmet = diagnostics(lacks.clone(), loaded);
            // What only a later run needs is no error of this one.
            let later = workspace.unmet(loaded, secrets, &idle).await?;
            let later = later.into_iter().filter(|one| !unmet.contains(one));
            let later: Vec<Diagnostic> = later.map(|one| one.as_warning("W0402")).collect();
            let wrong = host.iter().filter(|(found, _)| found.is_wrong()).cloned().collect();
            let is_refused = items.iter().any(|item| item.outlook.when == When::Blocked);
            block(&mut items, &Blocked::of(lacks, wrong, &targets, &active));
            match shell.global.format() {
                format @ (Format::Json | Format::Yaml) => {
                    shell.output.data(&document::text(&Items { items: &items }, format)?)?;
                }
                Format::Name => shell.output.data(&render::names(&items))?,
                Format::Text | Format::Wide | Format::Prometheus => {
                    shell.page(render::page(&items, damaged.len(), &scene))?;
                }
            }
            for one in unmet.iter().chain(&later).chain(&manifest::placeholders(loaded)) {
                shell.output.finding(one);
            }
            // What only a later run needs is no error of this one.
            let later = doctor::blocking(shell, &others).into_iter();
            let later: Vec<_> =
                later.map(|(found, _)| Finding { severity: Severity::Warning, ..found }).collect();
            for finding in host.iter().map(|(found, _)| found).chain(&later) {
                shell.output.print(&Message::of_finding(finding));
            }
            for (name, of) in &damaged {
                shell.output.print(&unusable(name, of).to_message());
            }
            let unread = damaged.iter().map(|_| Ending::Failed(FailureClass::State));
            let is_broken = is_refused
                || targets.has_errors
                || !unmet.is_empty()
                || host.iter().any(|(found, _)| found.is_wrong());
            let broken = is_broken.then_some(Ending::Failed(FailureClass::Precondition));
            let changes =
                items.iter().filter(|item| item.outlook.changes()).map(|_| Ending::Changed);
            Ok(changes.chain(unread).chain(broken).collect())
        })
    }
}

/// Marks the items that an obstacle on this host keeps from being actions of a run.
fn block(items: &mut [Item], blocked: &[Blocked]) {
    for item in items {
        let is_held = |one: &&Blocked| match item.outlook.now() {
            Some(Action::Issue | Action::Renew) => true,
            Some(Action::Deploy) => one.is_of_deployment,
            Some(_) | None => false,
        };
        let key = item.key();
        if let Some(one) = blocked.iter().filter(|one| one.is_of(&key)).find(is_held) {
            item.block(&one.fact);
        }
    }
}

/// Error for a certificate whose state cannot be read, with the command that helps.
fn unusable(name: &NamespacedName, why: &StoreError) -> CliError {
    let message = format!("{}: {}", short(name), escape(&why.to_string()));
    let permit = why.wrong_entry().as_ref().and_then(WrongEntry::permit);
    let hint = match (permit, why.course()) {
        (Some(permit), _) => Some(Hint::from(&permit)),
        (None, DamageCourse::SetAside) => {
            Some(Hint::Command(format!("certctl issue {}", short(name))))
        }
        (None, DamageCourse::LeftToNewer | DamageCourse::Unusable) => {
            Some(Hint::Command(format!("certctl status {}", short(name))))
        }
    };
    CliError { hint, ..CliError::new(ExitCode::State, message) }
}
