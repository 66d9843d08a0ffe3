//! Trait of a verb: its arguments, and all else that certctl must know of it, in the verb's own
//! file.
//!
//! Contract: a verb is a file that defines its arguments (a doc comment there is the help text) and
//! this trait for them, and one line in the list of `args`. What it prints with -o json has a line
//! in the list of documents in `cli`. Manual, help, completions and the tables of the book are made
//! of these.

use crate::cli::{CliError, Ending, Shell};

/// The arguments of a verb.
pub(super) trait VerbArgs {
    /// True if an error in `config.toml` stops it.
    const NEEDS_SETTINGS: bool = true;
    /// True if it changes what `--metrics-file` shows.
    const WRITES_METRICS: bool = false;

    /// Returns whether root acts as the owner of the state: the verb does what a run does, or
    /// judges what a run would be able to do. `_has_files`: whether the command line has `-f`.
    fn acts_as_owner(&self, _has_files: bool) -> bool {
        true
    }

    /// Returns whether it is the run that a timer or cron starts, whose log is short without a
    /// terminal.
    fn is_routine(&self) -> bool {
        false
    }

    /// Does it.
    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError>;
}
