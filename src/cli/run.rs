//! A run of the engine from the command line, and its reports.

use jiff::Timestamp;

use crate::cli::render::progress::Progress;
use crate::cli::render::report::{self, Style};
use crate::cli::signal::Signals;
use crate::cli::{CliError, Ending, ExitCode, Level, Shell};
use crate::engine::{Observer, Task};
use crate::report::{self as ran, Report};
use crate::resource::FailureClass;

use crate::store::Store;
use crate::workspace::{Job, Workspace};

/// Runs a future on the one thread that everything runs on.
pub(crate) fn on_one_thread<T>(
    task: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::new(ExitCode::Failed, error))?;
    runtime.block_on(task)
}

/// Runs the tasks, reports progress, and returns how each ended.
pub(crate) async fn run(
    shell: &Shell,
    workspace: &Workspace,
    tasks: &[Task],
    job: Job,
) -> Result<Vec<Report>, CliError> {
    let progress = Progress::new(&shell.output, &shell.global, &shell.environment, tasks.len());
    let reports = run_with(workspace, tasks, job, &progress).await;
    progress.finish();
    reports
}

/// The same, with another observer.
pub(crate) async fn run_with(
    workspace: &Workspace,
    tasks: &[Task],
    job: Job,
    observer: &dyn Observer,
) -> Result<Vec<Report>, CliError> {
    let signals = Signals::take();
    let ended = Box::pin(workspace.run(tasks, job, observer, signals.first.clone())).await;
    drop(signals);
    Ok(ended?.into_iter().map(Report::of).collect())
}

/// Reports each certificate, and returns how the run ended.
pub(crate) async fn conclude(
    shell: &mut Shell,
    state: &impl Store,
    reports: &[Report],
    has_errors: bool,
    now: Timestamp,
) -> Result<Vec<Ending>, CliError> {
    let mut style = Style::of(&shell.output, &shell.environment, now);
    let is_many = shell.output.talks_to_terminal() && reports.len() > MANY;
    // What a log would leave out, too.
    let is_quiet =
        shell.global.quiet > 0 && shell.output.talks_to_terminal() && !shell.output.talks_json();
    let is_shown = |report: &Report| {
        let is_one_of_many = is_many && report::is_idle(report);
        !(is_one_of_many || is_quiet && report::is_well(report))
    };
    let lines = reports.iter().filter(|report| report.error.is_none() && is_shown(report));
    style.names = report::width_of_names(lines);
    // A program gets an object for each certificate.
    let each = || reports.iter().map(|report| (report, Vec::new())).collect();
    let groups = if shell.output.talks_json() { each() } else { report::alike(reports) };
    for (report, alike) in groups.into_iter().filter(|(report, _)| is_shown(report)) {
        report::print(&mut shell.output, state, report, &alike, &style);
    }
    if shell.wants_document() {
        shell.results.note(state, reports).await?;
    }
    Ok(endings_of(reports, has_errors))
}

/// On a terminal: the last line of a run over several certificates, of which so many were left out
/// because of an error in their manifests.
pub(crate) fn print_tally(shell: &mut Shell, reports: &[Report], invalid: usize) {
    let is_quiet = shell.global.quiet > 0;
    if !shell.output.talks_to_terminal() || shell.output.talks_json() || is_quiet {
        return;
    }
    if let Some(text) = report::tally(reports, invalid, shell.begun.elapsed()) {
        shell.output.talk(Level::Info, &text);
    }
}

/// Number of certificates above which unchanged ones are only counted.
const MANY: usize = 10;

/// Collects the endings of a run: each certificate, rewritten files, and errors of the manifests.
pub(crate) fn endings_of(reports: &[Report], has_errors: bool) -> Vec<Ending> {
    let signal = reports.iter().find_map(|report| report.details.signal);
    let signal = signal.and_then(|signal| u8::try_from(signal).ok()).map(ExitCode::Signal);
    let rewritten = reports.iter().filter(|report| report.details.rewritten.is_some());
    let broken = has_errors.then_some(Ending::Failed(FailureClass::Precondition));
    let endings = reports.iter().map(ending_of).chain(rewritten.map(|_| Ending::Changed));
    endings.chain(broken).chain(signal.map(Ending::Like)).collect()
}

/// The ending of one certificate.
fn ending_of(report: &Report) -> Ending {
    if let Some(fault) = report.error.as_ref().or(report.deploy_error.as_ref()) {
        return Ending::Failed(fault.class);
    }
    if report.ending == ran::Ending::Issued {
        Ending::Changed
    } else if report.ending.is_well() {
        Ending::Unchanged
    } else {
        Ending::Deferred
    }
}
