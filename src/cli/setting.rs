//! The global flags: their values with where each comes from, and as words for another certctl.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command};

use crate::cli::config::{self, Config};
use crate::cli::environment::Environment;
use crate::cli::global::{GlobalArgs, HTTP01_LISTEN, RESOLVERS, TLSALPN01_LISTEN};

/// The value of one global flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The flag's long name.
    pub(crate) name: String,
    /// Its value; `None` when there is none.
    pub(crate) value: Option<String>,
    pub(crate) origin: Origin,
}

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line.
    Flag(String),
    /// A variable.
    Variable(String),
    /// `config.toml`, in this line.
    Config(usize),
    /// The default.
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag --{flag}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Config(line) => write!(f, "{}:{line}", config::FILE),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The global flags of the command line, as words for another certctl, each with its long name.
/// Variables and `config.toml` are there for that one, too.
pub(crate) fn flags(matches: &ArgMatches) -> Vec<(String, OsString)> {
    let tree = globals();
    let mut flags = Vec::new();
    for arg in tree.get_arguments() {
        let (id, Some(name)) = (arg.get_id().as_str(), arg.get_long()) else { continue };
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let bare = OsString::from(format!("--{name}"));
        let action = arg.get_action();
        if action.takes_values() {
            for value in matches.get_raw(id).into_iter().flatten() {
                let mut word = bare.clone();
                word.push("=");
                word.push(value);
                flags.push((name.to_owned(), word));
            }
            continue;
        }
        let is_counted = matches!(action, ArgAction::Count);
        let count = if is_counted { usize::from(matches.get_count(id)) } else { 1 };
        flags.extend(std::iter::repeat_n((name.to_owned(), bare), count));
    }
    flags
}

/// Every setting except the directories, which have their own rules, and its origin.
pub(crate) fn settings(
    matches: &ArgMatches,
    environment: &Environment,
    config: &Config,
) -> Vec<Setting> {
    let in_force = config.in_force(matches, environment);
    let tree = globals();
    let mut settings = Vec::new();
    for name in config::keys() {
        let Some(arg) = tree.get_arguments().find(|arg| arg.get_long() == Some(name.as_str()))
        else {
            continue;
        };
        if name != config::STATE_DIR {
            settings.push(setting(arg, name, matches, environment, &in_force));
        }
    }
    settings
}

fn setting(
    arg: &Arg,
    name: String,
    matches: &ArgMatches,
    environment: &Environment,
    in_force: &BTreeMap<&str, &config::Entry>,
) -> Setting {
    let id = arg.get_id().as_str();
    let raw = |words: Vec<String>| Some(words.join(", ")).filter(|text| !text.is_empty());
    let found =
        matches.get_raw(id).map(|words| words.map(|w| w.to_string_lossy().into()).collect());
    // Of a flag that is counted clap keeps no words.
    let value = if matches!(arg.get_action(), ArgAction::Count) {
        Some(matches.get_count(id).to_string())
    } else {
        found.and_then(raw)
    };
    let variable = |name: &str| {
        let value = environment.value(name).map(|value| value.to_string_lossy().into_owned());
        value.map(|value| (value, Origin::Variable(name.to_owned())))
    };
    let unclaimed = || match (name.as_str(), in_force.get(name.as_str())) {
        (_, Some(entry)) => (value.clone(), Origin::Config(entry.line)),
        (key, None) => {
            let set_to = config::variable_of(key).and_then(variable);
            let (set_to, origin) = set_to.unzip();
            (
                set_to.or_else(|| value.clone()).or_else(|| by_itself(key)),
                origin.unwrap_or(Origin::Default),
            )
        }
    };
    let (value, origin) = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => (value, Origin::Flag(name.clone())),
        Some(ValueSource::EnvVariable) => {
            let name = arg.get_env().map(|name| name.to_string_lossy().into_owned());
            (value, Origin::Variable(name.unwrap_or_default()))
        }
        Some(_) | None => unclaimed(),
    };
    Setting { name, value, origin }
}

/// Default of a flag that clap has none for.
fn by_itself(name: &str) -> Option<String> {
    match name {
        "http01-listen" => Some(HTTP01_LISTEN.to_owned()),
        "tlsalpn01-listen" => Some(TLSALPN01_LISTEN.to_owned()),
        "resolver" => Some(RESOLVERS.to_owned()),
        _ => None,
    }
}

/// The global flags with their variables, without verbs.
fn globals() -> Command {
    GlobalArgs::augment_args(Command::new("certctl"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Arguments;

    #[test]
    fn the_flags_of_a_line_are_the_same_for_another_verb() {
        let line = "certctl -vv run -f a.yaml --filename b=c.yaml -A --resolver 192.0.2.1,192.0.2.2 \
                    --timeout 1h --every 2h";
        let matches = Arguments::command().try_get_matches_from(line.split_whitespace()).unwrap();
        let words: Vec<String> =
            flags(&matches).into_iter().map(|(_, word)| word.into_string().unwrap()).collect();
        let expected = [
            "--filename=a.yaml",
            "--filename=b=c.yaml",
            "--verbose",
            "--verbose",
            "--all-namespaces",
            "--timeout=1h",
            "--resolver=192.0.2.1",
            "--resolver=192.0.2.2",
        ];
        assert_eq!(words, expected);
    }
}
