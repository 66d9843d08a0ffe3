//! The manual, generated from the tree of verbs and flags and the texts beside this
//! file.
//!
//! The same pages are kept in `man/`; a test below fails when they are stale and writes them anew
//! when `CERTCTL_REGENERATE` is set. Pages carry neither a date nor a version: they change when
//! what they say does.

mod fields;

use std::path::Path;

use clap::{Arg, Command};
use clap_mangen::Man;

use crate::cli::Verbs;
use crate::cli::command_tree::Example;
use crate::cli::exit::meanings;

/// Page of the manual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The name of its file, such as `certctl-issue.1`.
    pub file: String,
    /// Text of the page, for man(1).
    pub text: String,
}

impl Page {
    /// Returns whether this word is its name, with or without `certctl-` before it. `./issue` is a
    /// path, and no name.
    pub(in crate::cli) fn is_named(&self, word: &Path) -> bool {
        let name = self.file.rsplit_once('.').map_or(self.file.as_str(), |(name, _)| name);
        let short = name.strip_prefix("certctl-").unwrap_or(name);
        word.to_str().is_some_and(|word| word == name || word == short)
    }
}

/// The manual: certctl(1), a page per verb, and what is not about one verb.
pub fn pages(verbs: &Verbs) -> Vec<Page> {
    let mut tree = (verbs.tree)()
        .override_usage("certctl [OPTIONS] VERB [ARGUMENT]...")
        .subcommand_help_heading("VERBS")
        .mut_args(with_variable);
    tree.build();
    let mut of_each = Vec::new();
    of_verbs(&tree, "", *verbs, &mut of_each);
    let mut see_also = ".SH \"SEE ALSO\"\n".to_owned();
    for page in &of_each {
        let name = escaped(page.file.trim_end_matches(".1"));
        see_also.push_str(&[".BR ", &name, " (1),\n"].concat());
    }
    see_also.push_str(SEE_ALSO);
    let mut all = vec![Page {
        file: "certctl.1".to_owned(),
        text: [&of_command(&tree, true), include_str!("certctl.roff"), &see_also].concat(),
    }];
    all.append(&mut of_each);
    let yaml =
        [include_str!("yaml-head.roff"), &fields::sections(), include_str!("yaml-tail.roff")];
    for (name, section, about, text) in [
        ("certctl.yaml", '5', "manifests of certctl", &*yaml.concat()),
        ("certctl-exit-codes", '7', "exit codes of certctl", &*exit_codes()),
        (
            "certctl-failures",
            '7',
            "how to be alerted when a renewal fails",
            include_str!("failures.roff"),
        ),
        (
            "certctl-hooks",
            '7',
            "programs that certctl runs: hooks and exec solvers",
            include_str!("hooks.roff"),
        ),
        (
            "certctl-port-80",
            '7',
            "how to issue when port 80 is in use",
            include_str!("port-80.roff"),
        ),
        (
            "certctl-renewal",
            '7',
            "when a certificate is renewed, and how to test it",
            include_str!("renewal.roff"),
        ),
    ] {
        let head = format!("{}.SH NAME\n{} \\- {about}\n", title(name, section), escaped(name));
        all.push(Page { file: format!("{name}.{section}"), text: head + text });
    }
    all
}

/// The text on the exit codes.
fn exit_codes() -> String {
    let mut text = ".SH DESCRIPTION\n".to_owned();
    for (code, meaning) in meanings() {
        // Words between backticks are bold.
        let parts = escaped(meaning);
        let parts = parts.split('`').enumerate();
        let meaning: String = parts
            .map(|(at, part)| if at % 2 == 0 { part.to_owned() } else { format!("\\fB{part}\\fR") })
            .collect();
        text.push_str(&[".TP\n.B ", code, "\n", &meaning, "\n"].concat());
    }
    text + include_str!("exit-codes.roff")
}

/// The option with its variable in its meaning: clap_mangen leaves out a variable whose value is
/// hidden.
fn with_variable(arg: Arg) -> Arg {
    let Some(variable) = arg.get_env() else { return arg };
    let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let about = format!("{about} [env: {}]", variable.to_string_lossy());
    arg.help(about)
}

/// The section with the examples of a verb; empty for one without.
fn of_examples(examples: &[Example]) -> String {
    let mut text = String::new();
    for example in examples {
        let heading = if text.is_empty() { ".SH EXAMPLES\n" } else { "" };
        let (line, about) = (escaped(example.line), escaped(example.about));
        text.push_str(&[heading, ".TP\n.B ", &line, "\n", &about, "\n"].concat());
    }
    text
}

fn of_verbs(command: &Command, above: &str, verbs: Verbs, found: &mut Vec<Page>) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        // The global flags stand in certctl(1) once.
        let own = verb.clone().mut_args(|arg| {
            let is_global = arg.is_global_set();
            with_variable(arg).hide(is_global)
        });
        let name = verb.get_display_name().unwrap_or_else(|| verb.get_name());
        let words = format!("{above} {}", verb.get_name()).trim_start().to_owned();
        let text = of_command(&own, false) + &of_examples(&verbs.examples(&words)) + VERB_TAIL;
        found.push(Page { file: format!("{name}.1"), text });
        of_verbs(verb, &words, verbs, found);
    }
}

fn of_command(command: &Command, is_whole: bool) -> String {
    let man = Man::new(command.clone());
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut text = title(name, '1').into_bytes();
    let rendered = man
        .render_name_section(&mut text)
        .and_then(|()| man.render_synopsis_section(&mut text))
        .and_then(|()| man.render_description_section(&mut text))
        .and_then(|()| man.render_options_section(&mut text))
        .and_then(|()| {
            if command.has_subcommands() {
                man.render_subcommands_section(&mut text)
            } else {
                Ok(())
            }
        });
    debug_assert!(rendered.is_ok(), "memory takes all that is written");
    // Each part brings the definition of its apostrophe along.
    let text = String::from_utf8_lossy(&text).replacen(APOSTROPHE, "\0", 1);
    let text = text.replace(APOSTROPHE, "").replacen('\0', APOSTROPHE, 1);
    // A verb without options of its own has --help only.
    if is_whole { text } else { text + GLOBAL }
}

/// The line that a page begins with; clap_mangen's own lets an empty date vanish.
fn title(name: &str, section: char) -> String {
    format!(".TH {} {section} \"\" \"certctl\" \"\"\n", escaped(name))
}

fn escaped(name: &str) -> String {
    name.replace('-', "\\-")
}

const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
const SEE_ALSO: &str = ".BR certctl.yaml (5),\n.BR certctl\\-exit\\-codes (7),\n\
                        .BR certctl\\-failures (7),\n.BR certctl\\-hooks (7),\n.BR certctl\\-port\\-80 (7),\n.BR certctl\\-renewal (7)\n";
const GLOBAL: &str = ".PP\nThe global options are in\n.BR certctl (1).\n";
const VERB_TAIL: &str = ".SH \"SEE ALSO\"\n.BR certctl (1),\n.BR certctl.yaml (5),\n\
                         .BR certctl\\-exit\\-codes (7),\n.BR certctl\\-failures (7)\n";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write as _;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::{Arguments, VERBS};
    use crate::cli::exit::PLAIN;

    #[test]
    fn the_pages_in_man_are_up_to_date() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
        let pages = pages(&VERBS);
        if std::env::var_os("CERTCTL_REGENERATE").is_some() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten() {
                std::fs::remove_file(entry.unwrap().path()).unwrap();
            }
            for page in &pages {
                let mut file = std::fs::File::create(folder.join(&page.file)).unwrap();
                file.write_all(page.text.as_bytes()).unwrap();
            }
        }
        let committed: BTreeSet<String> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let made: BTreeSet<String> = pages.iter().map(|page| page.file.clone()).collect();
        assert_eq!(committed, made, "CERTCTL_REGENERATE=1 cargo test --lib cli");
        for page in pages {
            let text = std::fs::read_to_string(folder.join(&page.file)).unwrap_or_default();
            let file = page.file;
            assert!(
                text == page.text,
                "{file} is stale: CERTCTL_REGENERATE=1 cargo test --lib cli"
            );
        }
    }

    #[test]
    fn each_verb_has_a_page_and_no_page_a_date_or_version() {
        let pages = pages(&VERBS);
        for verb in Arguments::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let file = format!("certctl-{}.1", verb.get_name());
            assert!(pages.iter().any(|page| page.file == file), "{file}");
        }
        for page in &pages {
            let title = page.text.lines().find(|line| line.starts_with(".TH")).unwrap();
            assert!(title.ends_with(" \"\" \"certctl\" \"\""), "{title}");
            assert!(!page.text.contains(env!("CARGO_PKG_VERSION")), "{}", page.file);
        }
    }

    #[test]
    fn a_word_that_names_a_page_is_no_folder() {
        let found = |word: &str| {
            let pages = pages(&VERBS).into_iter();
            let named = pages.filter(|page| page.is_named(Path::new(word)));
            named.map(|page| page.file).collect::<Vec<_>>()
        };
        for (word, file) in [
            ("certctl", "certctl.1"),
            ("issue", "certctl-issue.1"),
            ("certctl-issue", "certctl-issue.1"),
            ("check-dns", "certctl-check-dns.1"),
            ("exit-codes", "certctl-exit-codes.7"),
            ("certctl.yaml", "certctl.yaml.5"),
        ] {
            assert_eq!(found(word), [file], "{word}");
        }
        for folder in ["./issue", "issue/..", "pages", "/usr/local/share/man/man1"] {
            assert_eq!(found(folder), [""; 0], "{folder}");
        }
    }

    #[test]
    fn every_exit_code_is_explained() {
        let pages = pages(&VERBS);
        let page = pages.iter().find(|page| page.file == "certctl-exit-codes.7").unwrap();
        for code in PLAIN {
            let line = format!(".TP\n.B {}\n", code.number());
            assert!(page.text.contains(&line), "{code:?}");
        }
    }
}
