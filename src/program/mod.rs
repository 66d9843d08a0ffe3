//! The operator's programs: hooks and exec solvers. A manifest names one, as plain path components
//! in a folder that the operator owns; nothing else about it comes from a manifest.
//!
//! Contract: no shell; arguments and standard input as given; a small environment, which is root's
//! where the program runs as root, whatever this process has; its own process group, ended at the
//! time limit; umask 077; output is read and cut, and never blocks the program.
//! Files that other users could have written are not run.

mod escape;
mod file;
mod first;
mod process_state;
mod run;

use thiserror::Error;

pub(crate) use escape::shown;
pub(crate) use file::{Program, Runner, is_component};
pub(crate) use first::{end_earlier, is_running};
pub(crate) use process_state::ProcessState;
pub(crate) use run::{Limits, Run, end_stopped, kill_stopped};

/// Why a program failed. Its output is one line, cut and escaped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// It cannot be run, or must not be.
    #[error("{reason}")]
    Unusable { reason: String },
    /// It took too long.
    #[error("{program} was stopped after {seconds} s: {output}")]
    Stopped {
        /// The program, from its folder on.
        program: String,
        seconds: u64,
        /// The last lines of its output.
        output: String,
    },
    /// It ended with another exit code than 0, or by a signal.
    #[error("{program}: {status}: {output}")]
    Failed {
        /// The program, from its folder on.
        program: String,
        /// The exit code, or the signal.
        status: String,
        /// The last lines of its output.
        output: String,
    },
}

/// The variables that every program inherits, when they are set; one that runs as root gets root's
/// own `HOME` and a fixed `PATH`.
pub(crate) const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];
