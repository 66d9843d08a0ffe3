//! `config.toml` in the config directory: the global flags, written down.
//!
//! Contract: a key is the long name of a global flag, and its value goes through the parser of
//! that flag. Flags and variables override it; it overrides the defaults. All errors are reported
//! together, each with file, line and column; a file with an error gives no setting at all, and
//! nothing in it is ignored. Relative paths start at the file's folder. A missing file is not an
//! error.

mod file;
mod key;
mod schema;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::cli::Environment;
use crate::manifest::Diagnostic;
pub(super) use key::STATE_DIR;
pub use key::{Entry, FILE, globals, keys};
pub use schema::schema;

/// The contents of `config.toml`.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The file, when there is one.
    pub path: Option<PathBuf>,
    /// Its errors.
    pub mistakes: Vec<Diagnostic>,
    entries: BTreeMap<String, Entry>,
}

impl Config {
    /// Reads the file in a config directory. `verbs`: the whole command line, for the verb that a
    /// wrong key is a flag of.
    pub fn read(directory: &Path, verbs: fn() -> Command) -> Self {
        let path = directory.join(FILE);
        match file::text(&path) {
            Ok(None) => Self::default(),
            Ok(Some(text)) => Self::parse(path, &text, verbs),
            Err(mistake) => Self { path: Some(path), mistakes: vec![*mistake], ..Self::default() },
        }
    }

    /// Reads the text of such a file.
    pub fn parse(path: PathBuf, text: &str, verbs: fn() -> Command) -> Self {
        let (entries, mistakes) = value::entries(&path, text, verbs);
        let entries = if mistakes.is_empty() { entries } else { BTreeMap::new() };
        Self { path: Some(path), mistakes, entries }
    }

    /// The entry for the flag with this long name.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The keys in effect: those that no flag, variable or conflicting flag overrides.
    pub fn in_force(
        &self,
        matches: &ArgMatches,
        environment: &Environment,
    ) -> BTreeMap<&str, &Entry> {
        let explicit = |key: &str| {
            let source = matches.value_source(&key.replace('-', "_"));
            matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
        };
        let overridden = |key: &str| {
            let mut rivals =
                RIVALS.iter().filter(|rivals| rivals.contains(&key)).copied().flatten();
            explicit(key)
                || rivals.any(|rival| explicit(rival))
                || variable_of(key).is_some_and(|name| environment.value(name).is_some())
        };
        let entries = self.entries.iter().filter(|(key, _)| !overridden(key));
        entries.map(|(key, entry)| (key.as_str(), entry)).collect()
    }

    /// The command with these values as its defaults. `state-dir` is not among them: it is weaker
    /// than a variable of systemd's, which the environment reads.
    pub fn defaults(command: Command, in_force: &BTreeMap<&str, &Entry>) -> Command {
        command.mut_args(|arg| {
            let key = arg.get_long().unwrap_or_default();
            match in_force.get(key) {
                Some(entry) if key != STATE_DIR && !entry.words.is_empty() => {
                    arg.default_values(entry.words.iter().map(clap::builder::OsStr::from))
                }
                Some(_) | None => arg,
            }
        })
    }
}

/// The variable that stands for a flag without clap knowing.
pub(super) fn variable_of(key: &str) -> Option<&'static str> {
    VARIABLES.iter().find(|(of, _)| *of == key).map(|(_, name)| *name)
}

/// Variables that clap does not know of.
const VARIABLES: &[(&str, &str)] =
    &[("filename", "CERTCTL_FILES"), ("verbose", "CERTCTL_LOG"), ("quiet", "CERTCTL_LOG")];

/// Flags that say the same thing: one of them on the command line silences all of them here.
const RIVALS: &[&[&str]] = &[&["verbose", "quiet"], &["namespace", "all-namespaces"]];
