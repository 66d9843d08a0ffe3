//! Programs of the operator's: hooks and exec solvers. A manifest names one, single path components
//! in a folder that is the operator's; nothing else about it comes from a manifest.
//!
//! Contract: no shell; arguments as given; a small environment; standard input as given; its own
//! process group, ended at the time limit; umask 077; what it says is read and cut, never in the
//! way. Files that others could have written are not run.

mod escape;
mod file;
mod run;

use thiserror::Error;

pub(crate) use escape::shown;
pub(crate) use file::{Program, is_component};
pub(crate) use run::{Limits, Run};

/// Why a program did not do its work. What it said is one line, cut and escaped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// It cannot be run, or may not be.
    #[error("{reason}")]
    Unusable {
        /// What is wrong.
        reason: String,
    },
    /// It took too long.
    #[error("{program} was stopped after {seconds} s: {said}")]
    Stopped {
        /// The program, from its folder on.
        program: String,
        /// The time limit.
        seconds: u64,
        /// Its last words.
        said: String,
    },
    /// It ended in another way than with exit code 0.
    #[error("{program}: {status}: {said}")]
    Failed {
        /// The program, from its folder on.
        program: String,
        /// The exit code, or the signal.
        status: String,
        /// Its last words.
        said: String,
    },
}

/// What every program finds in its environment, when certctl does.
pub(crate) const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];
