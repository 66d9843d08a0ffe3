//! The command line, variables and `config.toml`.
//!
//! Contract: flag > variable > `config.toml` > default, by clap's own rules: what the file says
//! becomes the default of its flag. A variable that is set but empty counts as unset.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _};

use crate::cli::args::{Arguments, VERBS};
use crate::cli::config::{self, Config};
use crate::cli::verbs::help::tree::whole;
use crate::cli::words::synonym::near;
use crate::cli::{Environment, GlobalArgs, LogFormat};

/// Everything that a run was started with.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Verb and flags.
    pub(crate) arguments: Arguments,
    /// Variables and directories.
    pub(crate) environment: Environment,
    /// The file, and what is wrong with it.
    pub(crate) config: Config,
    /// Result of clap, out of which the settings are read.
    pub(crate) matches: ArgMatches,
}

/// Reads the command line and the file. A file with errors is ignored; the verb decides whether
/// that stops the run.
pub(crate) fn parse(words: &[OsString], environment: Environment) -> Result<Parsed, clap::Error> {
    let (matches, environment, config) = settled(environment, |environment, adapt| {
        // Help and errors come from the whole tree: they name other verbs and their flags.
        read(words, environment, adapt, of_these_verbs(words))
            .or_else(|_: clap::Error| read(words, environment, adapt, whole(&VERBS)))
    })
    .map_err(|error| refusal(words, error))?;
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| refusal(words, error))?;
    Ok(Parsed { arguments, environment, config, matches })
}

/// The flags of all verbs on a line that is still being typed, and where its directories are. What is
/// wrong with it is passed over.
pub(crate) fn unfinished(
    words: &[OsString],
    environment: Environment,
) -> Option<(GlobalArgs, Environment)> {
    let tree = Arguments::command().ignore_errors(true);
    let (matches, environment, _) =
        settled(environment, |environment, adapt| read(words, environment, adapt, tree.clone()))
            .ok()?;
    Some((GlobalArgs::from_arg_matches(&matches).ok()?, environment))
}

/// The matches, with what `config.toml` says as the defaults of the flags.
fn settled(
    environment: Environment,
    read: impl Fn(&Environment, &dyn Fn(Command) -> Command) -> Result<ArgMatches, clap::Error>,
) -> Result<(ArgMatches, Environment, Config), clap::Error> {
    let mut matches = read(&environment, &|tree| tree)?;
    let flag = matches.get_one::<PathBuf>("config_dir").map(PathBuf::as_path);
    let config = environment
        .config_dir(flag)
        .map_or_else(|_| Config::default(), |directory| Config::read(&directory.path, VERBS.tree));
    let in_force = config.in_force(&matches, &environment);
    if !in_force.is_empty() {
        matches = read(&environment, &|tree| Config::defaults(tree, &in_force))?;
    }
    let state = config.entry(config::STATE_DIR).and_then(|e| Some((e.words.first()?, e.line)));
    let environment = match state {
        Some((path, line)) => environment.with_configured_state(path.into(), line),
        None => environment,
    };
    Ok((matches, environment, config))
}

/// Reads the words by a tree, in which a variable that is set to nothing is unset.
fn read(
    words: &[OsString],
    environment: &Environment,
    adapt: &dyn Fn(Command) -> Command,
    tree: Command,
) -> Result<ArgMatches, clap::Error> {
    let tree = tree.mut_args(|arg| {
        let is_blank = arg.get_env().is_some_and(|name| environment.is_blank(name));
        if is_blank { arg.env(Resettable::Reset) } else { arg }
    });
    adapt(tree).try_get_matches_from(words)
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
    near(error)
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
    let config = directory.map(|found| Config::read(&found.path, VERBS.tree));
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
    fn an_error_names_what_only_the_whole_tree_knows() {
        for line in ["certctl isue", "certctl issue --exit", "certctl plan --help"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let refusal = parse(&words, Environment::default()).unwrap_err();
            let whole = whole(&VERBS).try_get_matches_from(&words).unwrap_err();
            assert_eq!(refusal.to_string(), near(whole).to_string(), "{line}");
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
