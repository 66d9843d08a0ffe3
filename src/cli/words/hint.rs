//! Next steps, as values.
//!
//! Contract: where a hint is made, it is known what it is; its text is never read again.

use std::fmt;

use crate::resource::NamespacedName;

/// Next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A command of certctl.
    Command(String),
    /// Several commands of certctl, each with what it is for, or nothing.
    Commands(Vec<(String, String)>),
    /// The same call, by sudo, with these words behind that.
    Again(String),
    /// A command line of other programs; printed as it stands.
    Shell(String),
    /// A sentence; printed as it stands.
    Text(String),
}

impl Hint {
    /// The command to copy, where it is one.
    pub(in crate::cli) fn command(&self) -> Option<&str> {
        match self {
            Self::Command(line) | Self::Shell(line) => Some(line),
            Self::Commands(_) | Self::Again(_) | Self::Text(_) => None,
        }
    }

    /// For programs: commands, each by itself, or one sentence.
    pub(in crate::cli) fn lines(&self) -> Vec<String> {
        match self {
            Self::Commands(lines) => lines.iter().map(|(line, _)| line.clone()).collect(),
            Self::Command(_) | Self::Again(_) | Self::Shell(_) | Self::Text(_) => {
                vec![self.to_string()]
            }
        }
    }

    /// Proposes the word that was probably meant.
    pub(in crate::cli) fn instead(word: &str, by: &[String]) -> Self {
        let by: Vec<String> = by.iter().map(|one| format!("`{one}`")).collect();
        Self::Text(format!("{} instead of `{word}`", by.join(" or ")))
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(text) | Self::Shell(text) | Self::Text(text) => f.write_str(text),
            Self::Again(words) => write!(f, "the same with sudo{words}"),
            Self::Commands(lines) => {
                let line = |(line, note): &(String, String)| {
                    if note.is_empty() { line.clone() } else { format!("{line} # {note}") }
                };
                f.write_str(&lines.iter().map(line).collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

/// The form of a name for people.
pub(crate) fn short(name: &NamespacedName) -> String {
    name.short()
}
