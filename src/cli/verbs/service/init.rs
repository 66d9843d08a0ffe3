//! `run` as the first process of a container.
//!
//! The kernel gives that process the children of all that have ended, hooks' among them, and keeps
//! each until it is waited for. tokio waits for its own alone. So process 1 starts `run` as its
//! child, passes signals on, and waits for whatever ends.

use rustix::process::{Pid, WaitOptions, kill_process, wait};
use tokio::signal::unix::{SignalKind, signal};

use super::args::RunArgs;
use super::program::Program;
use super::signals::Signals;
use crate::cli::{CliError, Ending, ExitCode, escape};

/// Runs `run`, and ends with it.
pub(super) async fn run(program: &Program, args: &RunArgs) -> Result<Vec<Ending>, CliError> {
    let failed = |error| CliError::new(ExitCode::Failed, error);
    let mut signals = Signals::new().map_err(failed)?;
    let mut ended = signal(SignalKind::child()).map_err(failed)?;
    let child = program.run(args).into_std().spawn().map_err(|error| {
        let message = format!("cannot start {}: {error}", escape(&program.name()));
        CliError::new(ExitCode::Failed, message).hinted("a container needs /proc and /dev/null")
    })?;
    let child = Pid::from_child(&child);
    loop {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == child {
                let code = ExitCode::of_process(status.exit_status(), status.terminating_signal());
                return Ok(vec![Ending::Like(code)]);
            }
        }
        tokio::select! {
            _ = ended.recv() => {}
            request = signals.next() => {
                // It may just have ended.
                kill_process(child, request.signal()).ok();
            }
        }
    }
}
