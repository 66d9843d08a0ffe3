//! What to do next, as a value: what is printed of it depends on the reader's folders, and on what
//! was typed.
//!
//! Contract: where a hint is made, it is known what it is; its text is never read again.

use std::fmt;

use serde::{Serialize, Serializer};

use super::typed_flags::TypedFlags;
use crate::resource::{Fix, NamespacedName};

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// One command of certctl, which is printed with the flags that were typed and that it needs.
    Command(String),
    /// Several commands of certctl, each with what it is for, or nothing.
    Commands(Vec<(String, String)>),
    /// What was typed, once more and by another user: what stands before it, and what behind it.
    Again {
        /// Such as `sudo `.
        by: String,
        /// A note, with its comma; or empty.
        note: String,
    },
    /// What was typed, once more with each of these in the place of a word.
    Instead { word: String, by: Vec<String> },
    /// What was typed, once more with each of these as the value of a flag.
    Value { flag: String, by: Vec<String> },
    /// A command line of other programs; printed as it stands.
    Shell(String),
    /// A sentence; printed as it stands.
    Text(String),
}

/// What of a line is typed anew.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    Word(&'a str),
    /// Of this flag, such as `--server`.
    Value(&'a str),
}

impl Hint {
    /// The command to copy, where it is one.
    pub(super) fn command(&self) -> Option<&str> {
        match self {
            Self::Command(line) | Self::Shell(line) => Some(line),
            Self::Commands(_)
            | Self::Again { .. }
            | Self::Instead { .. }
            | Self::Value { .. }
            | Self::Text(_) => None,
        }
    }

    /// The same with the flags that were typed.
    pub(super) fn with_flags(self, flags: &TypedFlags) -> Self {
        match self {
            Self::Command(line) => Self::Command(flags.on(&line)),
            Self::Commands(lines) => {
                let lines = lines.into_iter().map(|(line, note)| (flags.on(&line), note));
                Self::Commands(lines.collect())
            }
            hint @ (Self::Again { .. }
            | Self::Instead { .. }
            | Self::Value { .. }
            | Self::Shell(_)
            | Self::Text(_)) => hint,
        }
    }

    /// The same with a line for each word or value that may stand instead, as `line` makes it.
    pub(super) fn instead(self, line: impl Fn(Place<'_>, &str) -> String) -> Self {
        let lines = |place: Place<'_>, by: Vec<String>| {
            let lines: Vec<String> = by.iter().map(|by| line(place, by)).collect();
            Self::Text(lines.join("\n"))
        };
        match self {
            Self::Instead { word, by } => lines(Place::Word(&word), by),
            Self::Value { flag, by } => lines(Place::Value(&flag), by),
            hint @ (Self::Command(_)
            | Self::Commands(_)
            | Self::Again { .. }
            | Self::Shell(_)
            | Self::Text(_)) => hint,
        }
    }

    /// The same with this line for what was typed.
    pub(super) fn again(self, line: &str) -> Self {
        match self {
            Self::Again { by, note } => Self::Text([&by, line, &note].concat()),
            hint @ (Self::Command(_)
            | Self::Commands(_)
            | Self::Instead { .. }
            | Self::Value { .. }
            | Self::Shell(_)
            | Self::Text(_)) => hint,
        }
    }
}

impl From<Fix> for Hint {
    fn from(fix: Fix) -> Self {
        match fix {
            Fix::Certctl(line) => Self::Command(line),
            Fix::Command(line) => Self::Shell(line),
            Fix::Advice(text) => Self::Text(text),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(text) | Self::Shell(text) | Self::Text(text) => f.write_str(text),
            Self::Commands(lines) => {
                let line = |(line, note): &(String, String)| {
                    if note.is_empty() { line.clone() } else { format!("{line} # {note}") }
                };
                f.write_str(&lines.iter().map(line).collect::<Vec<_>>().join("\n"))
            }
            Self::Again { by, note } => write!(f, "{by}certctl …{note}"),
            Self::Instead { by, .. } | Self::Value { by, .. } => f.write_str(&by.join("\n")),
        }
    }
}

/// As its text.
impl Serialize for Hint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Whether a verb gives something up: its command is not to be pasted for what was not named.
pub(super) fn is_destructive(verb: &str) -> bool {
    DESTRUCTIVE.contains(&verb)
}

/// The name alone in the default namespace, else with its namespace.
pub(crate) fn short(name: &NamespacedName) -> String {
    if name.namespace == "default" { name.name.clone() } else { name.to_string() }
}

/// The same of the printed form of a name.
pub(crate) fn short_form(name: &str) -> &str {
    name.strip_prefix("default/").unwrap_or(name)
}

/// The verbs that give up a certificate, a key, an account or what certctl knows of them.
const DESTRUCTIVE: &[&str] = &["deactivate", "forget", "revoke", "rollback"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_the_flags_that_were_typed_and_all_else_stays_as_it_is() {
        let flags = TypedFlags::of_folders(" --state-dir s");
        let again = || Hint::Again { by: "sudo ".to_owned(), note: ", for those".to_owned() };
        let typed = Hint::Text("sudo /bin/certctl plan, for those".to_owned());
        assert_eq!(again().with_flags(&flags).again("/bin/certctl plan"), typed);
        assert_eq!(again().to_string(), "sudo certctl …, for those");
        let command = Hint::Command("certctl inspect host:443".to_owned());
        let expected = Hint::Command("certctl inspect host:443 --state-dir s".to_owned());
        assert_eq!(command.with_flags(&flags).again("x"), expected);
        let text = Hint::Text("certctl issue".to_owned());
        assert_eq!(text.clone().with_flags(&flags).again("x"), text);
    }
}
