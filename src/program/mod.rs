//! Programs of the operator's: hooks and exec solvers. A manifest names one, single path components
//! in a folder that is the operator's; nothing else about it comes from a manifest.
//!
//! Contract: no shell; arguments as given; a small environment; standard input as given; its own
//! process group, ended at the time limit; umask 077; what it says is read and cut, never in the
//! way. Files that others could have written are not run.

mod file;
mod run;

use thiserror::Error;

pub(crate) use file::Program;
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

/// A program's words, fit to be shown: one line, control characters escaped, at most 300
/// characters.
fn shown(text: &str) -> String {
    const LONGEST: usize = 300;
    let text = text.trim();
    let mut line = String::new();
    for c in text.chars().take(LONGEST) {
        if c == '\t' {
            line.push(' ');
        } else if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    if line.is_empty() { "it said no more".to_owned() } else { line }
}
