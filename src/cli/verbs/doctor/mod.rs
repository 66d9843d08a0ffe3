//! `certctl doctor`: what on this host would stop a run, with the command that puts it right.
//!
//! Contract: read-only. Each check is a function that returns findings; what a check cannot read is
//! a finding too, and stops none of the others. What the manifests need is judged by the functions
//! that `issue` uses. What may cause another finding comes before it, so that the first command is the
//! one to run first: folders, then what the manifests need, then the network, then the runs.

mod alike;
mod bundle;
mod ca;
mod dns;
mod folder;
mod http01;
mod need;
pub(in crate::cli) mod page;
mod schedule;
mod served;
mod usage;

use clap::Args;

use crate::cli::signal::cleaned_up_at_signal;
use crate::cli::verbs::check::{format_of, known};
use crate::cli::{
    CliError, Ending, Format, Items, Message, Scene, Shell, VerbArgs, document, folders,
    on_one_thread,
};
use crate::engine::Task;
use crate::engine::ports::{Clock as _, StoreError, SystemClock};
use crate::manifest::Loaded;
use crate::resource::{FailureClass, Finding, NamespacedName};
use crate::workspace::check::Known;
use crate::workspace::view::CertificateView;
use crate::workspace::{AutomaticRun, Depth};
pub(in crate::cli) use http01::blocking;
use schedule::{Certificates, Starter, not_checked};
pub(in crate::cli) use schedule::{NOT_REPORTED, scheduler, way_to_report};
pub(in crate::cli) use served::is_web_server;
pub(in crate::cli) use usage::Use;

/// Show problems of this host that would stop a run, and their fixes.
///
/// Changes nothing. Checks folders, hooks, outputs, secrets, the HTTP-01 port, the scheduler and
/// overdue certificates. Over the network, it also checks CAs, accounts, the clock, DNS, and that
/// webroots serve a test file, which it then removes. It checks that reloaded web servers present
/// the live certificate on port 443. Exits with 3 if something is wrong (with --exit-code: 8), and
/// with 7 if the state is damaged. Warnings (WARN) do not change the exit code.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Skip the checks that need the network.
    #[arg(long)]
    pub offline: bool,
}

impl VerbArgs for DoctorArgs {
    const NEEDS_SETTINGS: bool = false;

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        format_of(shell, "doctor")?;
        let config = shell.environment.config_dir(shell.global.config_dir.as_deref())?;
        if folders::unread(shell).is_some() && !config.path.exists() {
            let message = "this user has no manifests";
            return Err(CliError { is_absence: true, ..CliError::manifest(message) });
        }
        on_one_thread(async {
            let known = known(shell, false).await?;
            let uses = Use::of_tasks(&known.targets.tasks);
            let mut found = host(shell, &known, &uses, !self.offline).await;
            if !self.offline {
                found.extend(dns::dns(known.workspace.settings(), &uses).await);
                found.extend(ca::cas(&known).await);
                let answered = http01::answered(known.workspace.settings(), &uses);
                found.extend(cleaned_up_at_signal(answered).await);
                found.extend(served::served(&known.workspace, &uses).await);
            }
            let is_closed = found.iter().any(|one| one.is_wrong() && one.subject == "state");
            let (of_runs, is_damaged) = runs(shell, &known, !uses.is_empty(), is_closed).await?;
            found.extend(of_runs);
            print(shell, &found)?;
            // As of `check`: something is to be put right first.
            let wrong = Ending::Attention(Some(FailureClass::Precondition));
            Ok(if is_damaged {
                vec![Ending::Failed(FailureClass::State)]
            } else {
                found.iter().filter(|one| one.is_wrong()).map(|_| wrong).collect()
            })
        })
    }
}

/// The folders, and what the manifests need on this host; whether webroots are served only where that is not
/// tried.
async fn host(shell: &Shell, known: &Known, uses: &[Use<'_>], is_tried: bool) -> Vec<Finding> {
    let Known { workspace, targets, .. } = known;
    let tasks: Vec<&Task> = targets.tasks.iter().collect();
    let mut found = folder::config(shell);
    found.push(folder::state(shell));
    found.extend(folder::manifests(shell, &targets.loaded));
    let lacks = workspace.lacks(&targets.loaded, &targets.secrets, &tasks).await;
    let lacks = lacks.unwrap_or_default();
    found.extend(need::needs(&lacks, uses, workspace.settings()));
    found.extend(http01::http01(shell, uses, is_tried));
    found.extend(bundle::expiring(&targets.loaded, SystemClock.now()));
    found.extend(bundle::unverified(&targets.loaded));
    found
}

/// Checks the remains of runs, their scheduler, and the state. Where it `is_closed`, records that
/// cannot be read give no finding.
async fn runs(
    shell: &Shell,
    known: &Known,
    has_certificates: bool,
    is_closed: bool,
) -> Result<(Vec<Finding>, bool), CliError> {
    let Known { workspace, targets, .. } = known;
    let starter = Starter::of(shell, workspace.automatic_run());
    let scheduler = starter.as_ref().map_or_else(not_checked, Starter::finding);
    if known.state().is_none() {
        return Ok((vec![scheduler], true));
    }
    let scene = Scene { format: Format::Text, ..shell.scene() };
    let mut certificates = Certificates::default();
    let show = |view: CertificateView| {
        certificates.add(&view);
        Ok::<_, StoreError>(())
    };
    Box::pin(workspace.each_view(targets, None, Depth::Line, scene.now, show)).await?;
    let has_runs = has_certificates || !workspace.records().is_empty();
    let last_run = has_runs.then(|| schedule::last_run(workspace, &certificates, &scene));
    let failed = starter.as_ref().and_then(Starter::failed_run);
    let reports = starter.as_ref().and_then(|starter| starter.reports(shell));
    let unsent = schedule::unsent(workspace);
    let found =
        last_run.into_iter().chain(failed).chain(unsent).chain(certificates.findings(is_closed));
    let found = found.chain([scheduler]).chain(reports);
    Ok((found.collect(), certificates.are_damaged()))
}

/// Findings that `validate --host` adds to those of the manifests.
pub(in crate::cli) fn of_host(shell: &Shell, loaded: &Loaded) -> Result<Vec<Finding>, CliError> {
    let uses = Use::of_manifests(loaded);
    let settings = shell.settings()?;
    let mut found = folder::config(shell);
    found.push(folder::state(shell));
    found.extend(need::alert_hook(&settings));
    found.extend(http01::http01(shell, &uses, false));
    found.extend(bundle::expiring(loaded, SystemClock.now()));
    found.push(scheduler(shell, AutomaticRun::at(&settings.state_dir)));
    Ok(found)
}

/// Obstacle of a run to the port of HTTP-01 that this certificate, which is new, needs.
pub(in crate::cli) fn usual_port(shell: &Shell, certificate: &str) -> Option<Finding> {
    http01::usual_port(shell, NamespacedName::new("default", certificate))
}

/// Prints findings as the result.
fn print(shell: &mut Shell, findings: &[Finding]) -> Result<(), CliError> {
    let text = match shell.global.format() {
        format @ (Format::Json | Format::Yaml) => {
            let items: Vec<page::Item<'_>> = findings.iter().map(page::Item::from).collect();
            document::text(&Items { items: &items }, format)?
        }
        Format::Text | Format::Wide | Format::Name | Format::Prometheus => {
            return Ok(shell.page(page::page(findings))?);
        }
    };
    Ok(shell.output.data(&text)?)
}

/// Prints findings below the result of another verb; where that is for programs, beside it.
pub(in crate::cli) fn add(shell: &mut Shell, findings: &[Finding]) -> Result<(), CliError> {
    if shell.wants_document() {
        findings
            .iter()
            .filter(|one| one.is_wrong())
            .for_each(|one| shell.output.print(&Message::of_finding(one)));
        return Ok(());
    }
    Ok(shell.page(page::page(findings))?)
}

/// Warns of the roots in the `caBundle` of these Issuers that have expired, or will soon.
pub(in crate::cli) fn warn_of_roots(loaded: &Loaded, shell: &mut Shell) {
    for found in bundle::expiring(loaded, SystemClock.now()) {
        shell.output.print(&Message::of_finding(&found));
    }
}
