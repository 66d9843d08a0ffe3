//! certctl itself, as the processes that `run` starts.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use clap::ArgMatches;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};

use super::args::RunArgs;
use crate::cli::render::output::UNATTENDED;
use crate::cli::setting::flags;
use crate::cli::{CliError, ExitCode};

/// The program, and the flags of this process.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    flags: Vec<(String, OsString)>,
}

impl Program {
    /// The file is that of the start: an upgrade puts another in its place, and this one's name then
    /// ends in "(deleted)".
    pub(super) fn of(matches: &ArgMatches) -> Result<Self, CliError> {
        let path = std::env::current_exe().map_err(|error| {
            let message = format!("cannot find the path of certctl: {error}");
            CliError::new(ExitCode::Failed, message)
        })?;
        Ok(Self { path, flags: flags(matches) })
    }

    /// Its path, for messages.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// A run. It has a process group of its own: who presses Ctrl-C sends a signal to a whole group,
    /// and this process passes it on once.
    pub(super) fn issue(&self) -> Command {
        let mut command = self.command("issue", &[]);
        command.process_group(0);
        // On a terminal as well: no person starts each run, so it says what a scheduled one says.
        command.env(UNATTENDED, "1");
        command
    }

    /// Command for the answer to `/metrics`.
    pub(super) fn metrics(&self) -> Command {
        let mut command = self.command("status", &["output", "metrics-file", "ping", "exit-code"]);
        command.args(["-o", "prometheus"]).kill_on_drop(true);
        command
    }

    /// `run` again.
    pub(super) fn run(&self, args: &RunArgs) -> Command {
        let mut command = self.command("run", &[]);
        command.arg(format!("--every={}", args.every));
        if let Some(endpoint) = &args.serve {
            command.arg(format!("--serve={endpoint}"));
        }
        command
    }

    fn command(&self, verb: &str, without: &[&str]) -> Command {
        let current = Path::new("/proc/self/exe");
        let is_gone = !self.path.exists() && current.exists();
        let mut command = Command::new(if is_gone { current } else { &self.path });
        let flags = self.flags.iter().filter(|(name, _)| !without.contains(&name.as_str()));
        command.arg(verb).args(flags.map(|(_, word)| word)).stdin(Stdio::null());
        command
    }
}

/// Sends a signal to a process that has not been waited for.
pub(super) fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = pid_of(child) {
        // It may just have ended.
        kill_process(pid, signal).ok();
    }
}

/// Ends a run that does not end by itself, with what it has started.
pub(super) fn kill(child: &Child) {
    if let Some(pid) = pid_of(child) {
        kill_process_group(pid, Signal::KILL).ok();
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(id.cast_signed()))
}

/// Exit code of a process of certctl.
pub(super) fn code_of(status: ExitStatus) -> ExitCode {
    ExitCode::of_process(status.code(), status.signal())
}

#[cfg(test)]
impl Program {
    /// A program that starts nothing.
    pub(super) fn none() -> Self {
        Self { path: "/nonexistent".into(), flags: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_on_a_terminal_what_a_scheduled_one_says() {
        let program = Program { path: "certctl".into(), flags: Vec::new() };
        let is_set = |command: Command| {
            let mut variables = command.as_std().get_envs();
            variables.any(|(name, value)| name == UNATTENDED && value.is_some())
        };
        assert!(is_set(program.issue()));
        assert!(!is_set(program.metrics()));
    }
}
