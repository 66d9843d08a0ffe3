//! Completion: the candidates that the script of a shell requests.
//!
//! Contract: a script contains no words of its own. At each TAB it starts certctl with
//! `CERTCTL_COMPLETE` set to its shell and the line after `--`, and gets the candidates at the
//! cursor. This reads manifests and state only: it takes no lock, uses no network, writes nothing,
//! and ignores what it cannot read.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `CERTCTL_COMPLETE` | the shell |
//! | `CERTCTL_COMPLETE_INDEX` | which word the cursor is in; not for bash |
//! | `CERTCTL_COMPLETE_POINT` | of bash: the place of the cursor on the line, in bytes |
//! | `CERTCTL_COMPLETE_BREAKS` | of bash: COMP_WORDBREAKS |

mod bash;
mod candidate;
mod known;
mod line;
mod position;
pub mod script;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use clap::{Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use jiff::Timestamp;

use crate::cli::args::Arguments;
use crate::cli::environment::Environment;
use crate::resource::is_hidden;
use candidate::{Scene, WordCompleter};
use known::Known;
use line::Line;
use position::position;

/// The candidates for a script; `None` when no completion script started this process. Paths are
/// relative to `folder`.
pub fn answer(
    arguments: &[OsString],
    environment: &Environment,
    folder: &Path,
    now: Timestamp,
) -> Option<String> {
    let text = |name: &str| environment.value(name).and_then(|value| value.to_str());
    let number = |name: &str| text(name).and_then(|value| value.parse().ok());
    let shell = text("CERTCTL_COMPLETE")?;
    let [_, separator, given @ ..] = arguments else { return None };
    if separator != "--" {
        return None;
    }
    let ask = |words: Vec<OsString>, cursor, described| {
        candidates(words, cursor, environment, folder, described)
    };
    Some(match shell {
        "bash" => {
            let line = given.first().and_then(|line| line.to_str()).unwrap_or_default();
            let point = number("CERTCTL_COMPLETE_POINT").unwrap_or(line.len());
            let split =
                bash::split(line, point, text("CERTCTL_COMPLETE_BREAKS").unwrap_or_default());
            let found = ask(split.words.clone(), split.cursor, None);
            lines(&found, |value, _| split.spelled(value, is_open(value)))
        }
        "zsh" | "fish" | "powershell" | "elvish" => {
            let index = number("CERTCTL_COMPLETE_INDEX");
            let index = index.unwrap_or(given.len().saturating_sub(1));
            let found = ask(given.to_vec(), index, Some(now));
            let write = if shell == "zsh" { zsh_line } else { tab_line };
            lines(&found, |value, about| Some(write(value, about)))
        }
        _ => return None,
    })
}

/// The candidates at the cursor.
fn candidates(
    mut words: Vec<OsString>,
    cursor: usize,
    environment: &Environment,
    folder: &Path,
    described: Option<Timestamp>,
) -> Vec<CompletionCandidate> {
    // An empty word at the end is lost on the way from some shells.
    if words.len() == cursor {
        words.push(OsString::new());
    }
    let is_blank = words.get(cursor).is_none_or(|word| word.is_empty());
    let mut tree = Arguments::command();
    tree.build();
    let line = Line::read(&tree, &words, cursor);
    let known = Known::new(&line, environment, folder);
    let scene = Arc::new(Scene { line, known, described });
    let mut tree = asking(tree, "", &scene);
    let mut found = complete(&mut tree, words, cursor, None).unwrap_or_default();
    let flag = |candidate: &CompletionCandidate| {
        candidate.get_id().and_then(|id| id.strip_prefix("arg::")).map(str::to_owned)
    };
    found.retain(|candidate| flag(candidate).is_none_or(|flag| !scene.line.has(&flag)));
    // On an empty word, offer names; offer flags after a dash, or when there is nothing else.
    if is_blank && found.iter().any(|candidate| flag(candidate).is_none()) {
        found.retain(|candidate| flag(candidate).is_none());
    }
    found
}

/// The tree, with each argument's values completed from the scene.
fn asking(command: Command, verb: &str, scene: &Arc<Scene>) -> Command {
    let command = command.mut_args(|arg| match position(verb, arg.get_id().as_str()) {
        Some(position) => {
            let completer = WordCompleter { scene: Arc::clone(scene), position };
            arg.add(ArgValueCompleter::new(completer))
        }
        None => arg,
    });
    command.mut_subcommands(|inner| {
        let verb = format!("{verb} {}", inner.get_name());
        asking(inner, verb.trim_start(), scene)
    })
}

/// Whether a word is a prefix: then no space follows it.
fn is_open(value: &str) -> bool {
    value.ends_with(['/', '=', '.', ','])
}

fn lines(
    found: &[CompletionCandidate],
    write: impl Fn(&str, Option<&str>) -> Option<String>,
) -> String {
    let mut text = String::new();
    for candidate in found {
        let about = candidate.get_help().map(ToString::to_string);
        let about = about.as_deref().and_then(|about| about.lines().next());
        // A file's name with a line feed would be two candidates, and the second one unquoted.
        let value = candidate.get_value().to_str().filter(|value| !value.contains(is_hidden));
        let line = value.and_then(|value| write(value, about));
        if let Some(line) = line {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// `-` before a complete word and `+` before a prefix, for `_describe`.
fn zsh_line(value: &str, about: Option<&str>) -> String {
    let sign = if is_open(value) { '+' } else { '-' };
    let value = value.replace('\\', "\\\\").replace(':', "\\:");
    match about {
        Some(about) => format!("{sign}{value}:{about}"),
        None => format!("{sign}{value}"),
    }
}

fn tab_line(value: &str, about: Option<&str>) -> String {
    match about {
        Some(about) => format!("{value}\t{about}"),
        None => value.to_owned(),
    }
}
