//! The errors of clap, in the words and the form of all other errors.
//!
//! Contract: what clap found is read from its kind and its context, never from its text. Help and the
//! version are no errors here.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};

use crate::cli::args::Arguments;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::synonym::is_typo;
use crate::cli::words::hint::Hint;
use crate::resource::RevocationReason;

/// The error of a command line that clap refused; `None` for a page of help, or the version.
pub(super) fn error(refusal: &clap::Error, words: &[OsString]) -> Option<CliError> {
    let is_help = refusal.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !refusal.use_stderr() || is_help {
        return None;
    }
    let found = Found { refusal, path: path(words) };
    let error = CliError::new(ExitCode::Usage, found.message().unwrap_or_else(|| found.first()));
    Some(match found.instead() {
        Some(hint) => CliError { hint: Some(hint), ..error },
        None => error.trying(format!("certctl help {}", found.path).trim_end()),
    })
}

/// What clap found.
struct Found<'a> {
    refusal: &'a clap::Error,
    /// The verbs on the line, as far as they are ours.
    path: String,
}

impl Found<'_> {
    fn message(&self) -> Option<String> {
        let kind = self.refusal.kind();
        if kind == ErrorKind::InvalidSubcommand {
            let word = self.string(ContextKind::InvalidSubcommand)?;
            let path = [&self.path, &word].map(String::as_str).join(" ");
            return Some(format!("there is no verb `{}`", path.trim_start()));
        }
        if kind == ErrorKind::MissingRequiredArgument {
            let missing = self.strings(ContextKind::InvalidArg);
            let missing: Vec<&str> = missing.iter().map(|arg| without_brackets(arg)).collect();
            return Some(format!("`{}` needs {}", self.path, missing.join(" ")));
        }
        let arg = self.string(ContextKind::InvalidArg)?;
        if kind == ErrorKind::UnknownArgument {
            return self.unknown(&arg);
        }
        let arg = name(&arg);
        if kind == ErrorKind::ArgumentConflict {
            let prior = self.strings(ContextKind::PriorArg);
            let prior = prior.iter().map(|arg| name(arg)).collect::<Vec<_>>().join(", ");
            return Some(if arg == prior {
                format!("{arg} may be given only once")
            } else {
                format!("{arg} cannot be used together with {prior}")
            });
        }
        let value = self.string(ContextKind::InvalidValue)?;
        let possible = self.strings(ContextKind::ValidValue).join(", ");
        if let Some(source) = self.refusal.source() {
            Some(format!("{arg}: `{value}`: {source}"))
        } else if value.is_empty() && possible.is_empty() {
            Some(format!("{arg} needs a value"))
        } else if value.is_empty() {
            Some(format!("{arg} needs a value: {possible}"))
        } else if possible.is_empty() {
            None
        } else {
            Some(format!("{arg}: `{value}` is none of {possible}"))
        }
    }

    /// A flag or a word that the verb does not take, and the verbs that take it.
    fn unknown(&self, word: &str) -> Option<String> {
        let flag = word.split('=').next()?;
        if !flag.starts_with('-') {
            return Some(format!("`{}` does not take `{word}`", self.path));
        }
        let subject =
            if self.path.is_empty() { "certctl".to_owned() } else { format!("`{}`", self.path) };
        let has = |verb: &&Command| {
            verb.get_arguments().any(|arg| arg.get_long() == flag.strip_prefix("--"))
        };
        let tree = Arguments::command();
        let others = tree.get_subcommands().filter(|_| flag.starts_with("--")).filter(has);
        let others: Vec<String> = others.map(|verb| format!("`{}`", verb.get_name())).collect();
        let (others, have) = match others.as_slice() {
            [] => return Some(format!("{subject} has no flag `{flag}`")),
            [one] => (one.clone(), "has"),
            [rest @ .., last] => (format!("{} and {last}", rest.join(", ")), "have"),
        };
        Some(format!("{subject} has no flag `{flag}`; {others} {have} it"))
    }

    /// The same line with what was probably meant.
    fn instead(&self) -> Option<Hint> {
        let kind = self.refusal.kind();
        let (of, by) = if kind == ErrorKind::InvalidSubcommand {
            (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand)
        } else if kind == ErrorKind::UnknownArgument {
            (ContextKind::InvalidArg, ContextKind::SuggestedArg)
        } else {
            (ContextKind::InvalidValue, ContextKind::SuggestedValue)
        };
        let (word, mut by) = (self.string(of)?, self.strings(by));
        let is_flag = kind == ErrorKind::UnknownArgument;
        // A flag may have its value behind it, which stays.
        let word = if is_flag { word.split('=').next()?.to_owned() } else { word };
        // Where one is a typing error away, the others are not meant; another flag never is.
        if is_flag || by.iter().any(|verb| is_typo(&word, verb)) {
            by.retain(|verb| is_typo(&word, verb));
        }
        // Of the reasons, not what only the CA can say of itself, which is spelled alike.
        let of_key = RevocationReason::KeyCompromise.to_string();
        if word.to_lowercase().contains("compromise")
            && !by.is_empty()
            && self.strings(ContextKind::ValidValue).contains(&of_key)
        {
            by = vec![of_key];
        }
        if by.is_empty() {
            return None;
        }
        // Of a flag, its value.
        let of_flag = || self.string(ContextKind::InvalidArg).filter(|arg| arg.starts_with("--"));
        let flag = of_flag().filter(|_| of == ContextKind::InvalidValue);
        let flag = flag.and_then(|arg| arg.split([' ', '=']).next().map(str::to_owned));
        Some(match flag {
            Some(flag) => Hint::value(&flag, &by),
            None => Hint::instead(&word, &by),
        })
    }

    fn string(&self, kind: ContextKind) -> Option<String> {
        self.strings(kind).into_iter().next()
    }

    fn strings(&self, kind: ContextKind) -> Vec<String> {
        match self.refusal.get(kind) {
            Some(ContextValue::String(text)) => vec![text.clone()],
            Some(ContextValue::Strings(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    /// The first sentence of clap, for what has none of ours.
    fn first(&self) -> String {
        let text = self.refusal.render().to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        first.strip_prefix("error: ").unwrap_or(first).trim_end().to_owned()
    }
}

/// An argument without its value: `--output <OUTPUT>` is `--output`.
fn name(arg: &str) -> String {
    let name = arg.split([' ', '=']).next().unwrap_or(arg);
    name.trim_end_matches("...").trim_matches(['<', '>', '[', ']']).to_owned()
}

/// What is required, as our own errors write it: `<NAME>` is `NAME`.
fn without_brackets(arg: &str) -> &str {
    arg.strip_prefix('<').and_then(|arg| arg.strip_suffix('>')).unwrap_or(arg)
}

/// The verbs among these words.
fn path(words: &[OsString]) -> String {
    let (tree, mut path) = (Arguments::command(), Vec::new());
    let mut verb = &tree;
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = verb.find_subcommand(word) {
            path.push(below.get_name());
            verb = below;
        }
    }
    path.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::synonym::without_destructive;

    fn refused(line: &str) -> (String, String) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let refusal = Arguments::command().try_get_matches_from(&words).unwrap_err();
        let error = error(&without_destructive(refusal), &words).unwrap();
        assert_eq!(error.code, ExitCode::Usage);
        (error.message, error.hint.unwrap().to_string())
    }

    const TIMEOUT: &str = "`--timeout` instead of `--tiemout`";

    #[test]
    fn a_line_that_clap_refuses_has_one_sentence_and_a_command() {
        for (line, message, hint) in [
            ("certctl statu", "there is no verb `statu`", "`status` instead of `statu`"),
            ("certctl isue", "there is no verb `isue`", "`issue` instead of `isue`"),
            ("certctl check dnss", "there is no verb `check dnss`", "`dns` instead of `dnss`"),
            ("certctl nonsense", "there is no verb `nonsense`", "certctl help"),
            ("certctl issue --tiemout 5m", "`issue` has no flag `--tiemout`", TIMEOUT),
            ("certctl issue --tiemout=5m", "`issue` has no flag `--tiemout`", TIMEOUT),
            (
                "certctl issue --new-key",
                "`issue` has no flag `--new-key`; `renew` has it",
                "certctl help issue",
            ),
            (
                "certctl revoke web --revision 1",
                "`revoke` has no flag `--revision`",
                "certctl help revoke",
            ),
            (
                "certctl status -o json={.status}",
                "--output: `json={.status}` is none of wide, json, yaml, name, prometheus",
                "`--output json`",
            ),
            ("certctl version x", "`version` does not take `x`", "certctl help version"),
            (
                "certctl completion tcsh",
                "SHELL: `tcsh` is none of bash, elvish, fish, powershell, zsh",
                "`zsh` instead of `tcsh`",
            ),
            (
                "certctl timer print",
                "`timer print` needs --systemd|--cron|--launchd",
                "certctl help timer print",
            ),
            (
                "certctl issue -q -v",
                "--quiet cannot be used together with --verbose",
                "certctl help issue",
            ),
            ("certctl status --config-dir", "--config-dir needs a value", "certctl help status"),
        ] {
            assert_eq!(refused(line), (message.to_owned(), hint.to_owned()), "{line}");
        }
    }

    #[test]
    fn help_is_no_error() {
        for line in ["certctl --help", "certctl check", "certctl --version"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let refusal = Arguments::command().try_get_matches_from(&words).unwrap_err();
            assert_eq!(error(&refusal, &words), None, "{line}");
        }
    }
}
