//! The command line, variables and `config.toml`.
//!
//! Contract: flag > variable > `config.toml` > default, by clap's own rules: what the file says
//! becomes the default of its flag. A variable that is set but empty counts as unset.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};

use super::args::{Arguments, HTTP01_LISTEN, RESOLVERS};
use super::config::{self, Config};
use super::environment::Environment;
use super::help::tree::whole;
use super::output::LogFormat;
use super::synonym::without_destructive;

/// Everything that a run was started with.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Verb and flags.
    pub(crate) arguments: Arguments,
    /// Variables and directories.
    pub(crate) environment: Environment,
    /// The file, and what is wrong with it.
    pub(crate) config: Config,
    /// What clap made of it all: [`settings`] are read out of it.
    pub(crate) matches: ArgMatches,
}

/// The value of one global flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The flag's long name.
    pub name: String,
    /// Its value; `None` when there is none.
    pub value: Option<String>,
    pub origin: Origin,
}

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
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

/// Reads the command line and the file. A file with errors is ignored; the verb decides whether
/// that stops the run.
pub(crate) fn parse(words: &[OsString], environment: Environment) -> Result<Parsed, clap::Error> {
    let (mut matches, mut arguments) = read(words, &environment, |tree| tree)?;
    let directory = environment.config_dir(arguments.global.config_dir.as_deref());
    let config =
        directory.map_or_else(|_| Config::default(), |directory| Config::read(&directory.path));
    let in_force = config.in_force(&matches, &environment);
    if !in_force.is_empty() {
        (matches, arguments) = read(words, &environment, |tree| Config::defaults(tree, &in_force))?;
    }
    let state = config.entry(config::STATE_DIR).and_then(|e| Some((e.words.first()?, e.line)));
    let environment = match state {
        Some((path, line)) => environment.with_configured_state(path.into(), line),
        None => environment,
    };
    Ok(Parsed { arguments, environment, config, matches })
}

/// Reads the words by the tree that `adapt` makes of ours.
fn read(
    words: &[OsString],
    environment: &Environment,
    adapt: impl Fn(Command) -> Command,
) -> Result<(ArgMatches, Arguments), clap::Error> {
    let read = |tree: Command| {
        let tree = tree.mut_args(|arg| {
            let is_blank = arg.get_env().is_some_and(|name| environment.is_blank(name));
            if is_blank { arg.env(Resettable::Reset) } else { arg }
        });
        let matches = adapt(tree).try_get_matches_from(words)?;
        let arguments = Arguments::from_arg_matches(&matches)?;
        Ok((matches, arguments))
    };
    // Help and errors come from the whole tree: they name other verbs and their flags.
    read(of_these_verbs(words))
        .or_else(|_: clap::Error| read(whole()))
        .map_err(|error| refusal(words, error))
}

/// The tree with the verbs that are among the words. clap copies every global flag into every
/// verb, which takes longer than all else that a short run does.
fn of_these_verbs(words: &[OsString]) -> Command {
    let tree = Arguments::command();
    let is_meant = |verb: &&Command| {
        let mut names = verb.get_all_aliases().chain([verb.get_name()]);
        names.any(|name| words.iter().any(|word| word == name))
    };
    Command::new(tree.get_name().to_owned())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .groups(tree.get_groups().cloned())
        .args(tree.get_arguments().cloned())
        .subcommands(tree.get_subcommands().filter(is_meant).cloned())
}

/// The error of the command line. What a variable sets counts as given, and clap's usage line would
/// show it among the words: without variables, the same error has the usage of the verb.
fn refusal(words: &[OsString], error: clap::Error) -> clap::Error {
    let bare = Arguments::command().mut_args(|arg| arg.env(Resettable::Reset));
    // A page of help names the variables.
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let same = bare.try_get_matches_from(words).err();
    let is_same = |same: &clap::Error| same.kind() == error.kind();
    let error =
        same.filter(|same| error.use_stderr() && !is_help && is_same(same)).unwrap_or(error);
    without_destructive(error)
}

/// The log format, from a command line with errors, or from the file.
pub(crate) fn log_format(words: &[OsString], environment: &Environment) -> LogFormat {
    let read = |text: &OsStr| {
        text.to_str().and_then(|text| <LogFormat as clap::ValueEnum>::from_str(text, false).ok())
    };
    if let Some(format) = scanned(words, "--log-format").and_then(|found| read(&found)) {
        return format;
    }
    let directory = scanned(words, "--config-dir").map(PathBuf::from);
    let directory = environment.config_dir(directory.as_deref()).ok();
    let config = directory.map(|found| Config::read(&found.path));
    let entry = config.as_ref().and_then(|config| config.entry("log-format"));
    entry.and_then(|entry| entry.words.first()).and_then(|word| read(word)).unwrap_or_default()
}

/// The last value of a flag among unparsed words.
fn scanned(words: &[OsString], flag: &str) -> Option<OsString> {
    let nexts = words.iter().skip(1).map(Some).chain([None]);
    let flags = words.iter().zip(nexts).take_while(|(word, _)| *word != "--");
    let value = |(word, next): (&OsString, Option<&OsString>)| {
        let rest = word.to_str()?.strip_prefix(flag)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(OsString::from(value)),
            None if rest.is_empty() => next.cloned(),
            None => None,
        }
    };
    flags.filter_map(value).last()
}

/// The global flags of the command line, as words for another certctl, each with its long name.
/// Variables and `config.toml` are there for that one, too.
pub(crate) fn flags(matches: &ArgMatches) -> Vec<(String, OsString)> {
    let tree = Arguments::command();
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
    let tree: Command = Arguments::command();
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
            let said = config::variable_of(key).and_then(variable);
            let (said, origin) = said.unzip();
            (
                said.or_else(|| value.clone()).or_else(|| by_itself(key)),
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

/// What holds without a flag whose default is none of clap's.
fn by_itself(name: &str) -> Option<String> {
    match name {
        "http01-listen" => Some(HTTP01_LISTEN.to_owned()),
        "resolver" => Some(RESOLVERS.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_one_verb_reads_a_line_as_the_whole_tree_does() {
        let whole = Arguments::command();
        for verb in whole.get_subcommands().map(Command::get_name) {
            let rest: &[&str] = match verb {
                "check" => &["dns", "a.test"],
                "create" => &["cr", "one-off", "--from-certificate-file", "a.yaml"],
                "account" => &["register", "ca"],
                "timer" => &["print", "--cron"],
                "inspect" | "describe" | "explain" | "forget" | "rollback" | "revoke" | "renew" => {
                    &["plan"]
                }
                "completion" => &["bash"],
                "rehearse" => &["a.yaml"],
                _ => &[],
            };
            let line = ["certctl", "-n", "issue", verb, "-vv", "--timeout", "1h"];
            let words: Vec<OsString> =
                line.iter().chain(rest).copied().map(OsString::from).collect();
            let by = |tree: Command| {
                let matches = tree.try_get_matches_from(&words).unwrap();
                let sources: Vec<_> = matches
                    .ids()
                    .map(|id| (id.clone(), matches.value_source(id.as_str())))
                    .collect();
                (sources, format!("{:?}", Arguments::from_arg_matches(&matches).unwrap()))
            };
            assert_eq!(by(of_these_verbs(&words)), by(Arguments::command()), "{words:?}");
        }
    }

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

    #[test]
    fn an_error_names_what_only_the_whole_tree_knows() {
        for line in ["certctl isue", "certctl issue --exit", "certctl plan --help"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let said = read(&words, &Environment::default(), |tree| tree).unwrap_err();
            let whole = whole().try_get_matches_from(&words).unwrap_err();
            assert_eq!(said.to_string(), whole.to_string(), "{line}");
        }
    }

    #[test]
    fn the_log_format_is_found_on_a_broken_command_line() {
        use LogFormat::{Auto, Json, Text};
        for (line, wanted) in [
            ("certctl isue --log-format json", Json),
            ("certctl --log-format=json isue", Json),
            ("certctl --log-format json isue --log-format text", Text),
            ("certctl isue -- --log-format json", Auto),
            ("certctl isue --log-format", Auto),
            ("certctl isue --log-format xml", Auto),
            ("certctl isue", Auto),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(log_format(&words, &Environment::default()), wanted, "{line}");
        }
    }
}
