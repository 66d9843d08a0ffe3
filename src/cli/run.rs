//! A run of the engine from the command line: the signals, and what is said of it.

use std::rc::Rc;

use jiff::Timestamp;

use super::error::CliError;
use super::exit::{self, ExitCode};
use super::progress::Progress;
use super::report::{self, Look};
use super::result;
use super::shell::Shell;
use crate::engine::{Ended, Ending, Observer, Task};
use crate::resource::FailureClass;
use crate::store::StateDirectory;
use crate::workspace::{Job, Workspace};

/// Runs a future on the one thread that everything runs on.
pub(crate) fn on_one_thread<T>(
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::new(ExitCode::Failed, error))?;
    runtime.block_on(work)
}

/// Makes the tasks true, telling what happens, and returns how each ended.
pub(crate) async fn run(
    shell: &Shell,
    workspace: &Workspace,
    tasks: &[Task],
    job: Job,
) -> Result<Vec<Ended>, CliError> {
    let progress = Rc::new(Progress::new(shell, tasks.len()));
    let ended = run_with(workspace, tasks, job, Rc::clone(&progress)).await;
    progress.finish();
    ended
}

/// The same, with another observer.
pub(crate) async fn run_with<O: Observer>(
    workspace: &Workspace,
    tasks: &[Task],
    job: Job,
    observer: O,
) -> Result<Vec<Ended>, CliError> {
    let (sender, shutdown) = tokio::sync::watch::channel(None);
    let signals = tokio::spawn(watch_signals(sender));
    let ended = Box::pin(workspace.run(tasks, job, &observer, shutdown)).await;
    signals.abort();
    Ok(ended?)
}

/// The first signal ends the run in good order, the second at once.
async fn watch_signals(sender: tokio::sync::watch::Sender<Option<i32>>) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else { return };
    loop {
        let number = tokio::select! {
            _ = interrupt.recv() => 2,
            _ = terminate.recv() => 15,
            _ = hangup.recv() => 1,
        };
        if sender.borrow().is_some() {
            std::process::exit(128 + number);
        }
        // Nobody listens any more when the run has just ended.
        if sender.send(Some(number)).is_err() {
            return;
        }
    }
}

/// Says how each certificate ended, and which exit code that makes.
pub(crate) async fn conclude(
    shell: &mut Shell,
    state: &StateDirectory,
    ended: &[Ended],
    has_errors: bool,
    now: Timestamp,
) -> Result<ExitCode, CliError> {
    let look = Look::of(shell, now);
    for end in ended {
        if shell.output.talks_json() {
            result::tell(&mut shell.output, state, end, &look);
        } else {
            report::ending(&mut shell.output, state, end, &look);
        }
    }
    if result::is_wanted(shell) {
        shell.results.note(state, ended).await?;
    }
    Ok(exit_code(shell, ended, has_errors))
}

/// The exit code of a run.
pub(crate) fn exit_code(shell: &Shell, ended: &[Ended], has_errors: bool) -> ExitCode {
    let signal = ended.iter().find_map(|end| match end.ending {
        Ending::Interrupted { signal } => u8::try_from(signal).ok(),
        Ending::Unchanged { .. }
        | Ending::Issued(_)
        | Ending::Deferred { .. }
        | Ending::Locked { .. }
        | Ending::Pending { .. }
        | Ending::Failed { .. } => None,
    });
    if let Some(signal) = signal {
        return ExitCode::Signal(signal);
    }
    let broken = has_errors.then_some(exit::Ending::Failed(FailureClass::Precondition));
    exit::of_run(endings_of(ended).chain(broken), shell.global.exit_code)
}

/// What each certificate means for the exit code: how it ended, and that its files were written
/// again.
pub(crate) fn endings_of(ended: &[Ended]) -> impl Iterator<Item = exit::Ending> {
    let rewritten = ended.iter().filter_map(|end| end.rewritten.as_ref());
    ended.iter().map(code_of).chain(rewritten.map(|_| exit::Ending::Changed))
}

/// How one certificate's part counts.
pub(crate) fn code_of(ended: &Ended) -> exit::Ending {
    let undeployed = ended.undeployed.as_ref().map(|undeployed| undeployed.failure.class);
    if let Some(class) = ended.ending.failure_class().or(undeployed) {
        return exit::Ending::Failed(class);
    }
    match &ended.ending {
        Ending::Unchanged { .. } => exit::Ending::Unchanged,
        Ending::Issued(_) => exit::Ending::Changed,
        Ending::Deferred { .. }
        | Ending::Locked { .. }
        | Ending::Pending { .. }
        | Ending::Failed { .. }
        | Ending::Interrupted { .. } => exit::Ending::Deferred,
    }
}
