//! The words already on the line: the verb, its arguments, and the values of flags.
//!
//! Contract: never fails. It skips what it cannot parse, so that an error in one word does not
//! affect the others.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The words of the verb that are no flags, without the one at the cursor.
    pub(super) words: Vec<OsString>,
    /// The flags that may be given once, and are.
    given: BTreeSet<String>,
    values: BTreeMap<String, Vec<String>>,
}

impl Line {
    /// Reads a line, the first word being the program; `tree` is built.
    pub(super) fn read(tree: &Command, line: &[OsString], cursor: usize) -> Self {
        let mut found = Self::default();
        let mut command = tree;
        let mut pending: Option<&Arg> = None;
        let mut is_escaped = false;
        for (index, word) in line.iter().enumerate().skip(1) {
            let text = word.to_string_lossy();
            let value_of = pending.take();
            if index == cursor {
                continue;
            }
            if let Some(flag) = value_of {
                found.note(flag, Some(&text));
            } else if is_escaped || text == "-" || !text.starts_with('-') {
                match command.find_subcommand(word).filter(|_| !is_escaped) {
                    Some(verb) => command = verb,
                    None => found.words.push(word.clone()),
                }
            } else if text == "--" {
                is_escaped = true;
            } else if let Some(long) = text.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let flag = command.get_arguments().find(|arg| arg.get_long() == Some(name));
                pending = flag.and_then(|flag| found.flag(flag, value));
            } else {
                pending = found.shorts(command, text.trim_start_matches('-'));
            }
        }
        found
    }

    /// The values of a flag, by the name of its argument.
    pub(super) fn values(&self, flag: &str) -> &[String] {
        self.values.get(flag).map(Vec::as_slice).unwrap_or_default()
    }

    /// The last value of a flag.
    pub(super) fn value(&self, flag: &str) -> Option<&str> {
        self.values(flag).last().map(String::as_str)
    }

    /// Whether a flag is there that may be given only once.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.given.contains(flag)
    }

    fn shorts<'c>(&mut self, command: &'c Command, letters: &str) -> Option<&'c Arg> {
        for (at, letter) in letters.char_indices() {
            let flag = command.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
            let rest = letters.get(at.saturating_add(letter.len_utf8())..).unwrap_or_default();
            if takes_value(flag) {
                let value = Some(rest.strip_prefix('=').unwrap_or(rest));
                return self.flag(flag, value.filter(|value| !value.is_empty()));
            }
            self.note(flag, None);
        }
        None
    }

    /// Notes a flag; it comes back when its value is the next word.
    fn flag<'c>(&mut self, flag: &'c Arg, value: Option<&str>) -> Option<&'c Arg> {
        let is_pending = value.is_none() && takes_value(flag);
        if !is_pending {
            self.note(flag, value);
        }
        Some(flag).filter(|_| is_pending)
    }

    fn note(&mut self, flag: &Arg, value: Option<&str>) {
        let name = flag.get_id().to_string();
        if !matches!(flag.get_action(), ArgAction::Append | ArgAction::Count) {
            self.given.insert(name.clone());
        }
        self.values.entry(name).or_default().extend(value.map(str::to_owned));
    }
}

fn takes_value(flag: &Arg) -> bool {
    flag.get_num_args().is_some_and(|number| number.takes_values())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Arguments;

    #[test]
    fn words_and_flags_are_told_apart_wherever_they_stand() {
        let mut tree = Arguments::command();
        tree.build();
        for (line, words, flags) in [
            ("renew web @ mail", vec!["web", "mail"], vec![]),
            ("-n prod renew web @", vec!["web"], vec![("namespace", "prod")]),
            ("renew --namespace=prod web @", vec!["web"], vec![("namespace", "prod")]),
            ("renew web @ -vnprod", vec!["web"], vec![("namespace", "prod")]),
            ("renew -n=prod -n @ web", vec!["web"], vec![("namespace", "prod")]),
            ("check acme -f a.yaml -f b.yaml @", vec![], vec![("filename", "b.yaml")]),
            ("renew --bogus web @", vec!["web"], vec![]),
            ("renew --bogus=1 -Z9 web @", vec!["web"], vec![]),
            ("renew -- --all status @", vec!["--all", "status"], vec![]),
            ("issue - --state-dir /s @", vec!["-"], vec![("state_dir", "/s")]),
            ("renew -n", vec![], vec![]),
            ("", vec![], vec![]),
        ] {
            let mut all: Vec<OsString> = vec!["certctl".into()];
            all.extend(line.split(' ').map(OsString::from));
            let cursor = all.iter().position(|word| word == "@").unwrap_or(all.len());
            let found = Line::read(&tree, &all, cursor);
            let wanted: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            assert_eq!(
                found.words,
                if line.is_empty() { vec!["".into()] } else { wanted },
                "{line}"
            );
            let names = ["namespace", "filename", "state_dir"];
            let found_flags: Vec<(&str, &str)> =
                names.iter().filter_map(|name| Some((*name, found.value(name)?))).collect();
            assert_eq!(found_flags, flags, "{line}");
        }
        let line = ["certctl", "renew", "--all", "-v"].map(OsString::from);
        let found = Line::read(&tree, &line, 4);
        assert_eq!(
            (found.has("all"), found.has("verbose"), found.has("new_key")),
            (true, false, false)
        );
    }
}
