//! The tree of verbs and flags as help shows it.
//!
//! Contract: certctl's own help has the verbs by groups. A verb's help has its own flags, then its
//! examples, then one line for the global flags, which are in `certctl help flags`.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::Styles;

use super::topic::TOPICS;
use crate::cli::Verbs;
use crate::cli::render::text::{USUAL, behind};

/// The verbs by groups.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Certificates",
        &["create", "issue", "renew", "deploy", "revoke", "rollback", "forget", "account"],
    ),
    ("Look", &["status", "describe", "plan", "inspect", "validate", "rehearse", "explain", "help"]),
    ("This host", &["doctor", "check", "timer", "run", "version"]),
    ("Files for other programs", &["schema", "completion", "man"]),
];

/// The last line of each help.
const GLOBAL: &str = "Global options: certctl help flags (-f, -n, -o, -v, -q and others)";

/// The tree with what help shows behind the flags.
pub fn whole(verbs: &Verbs) -> Command {
    let tree = (verbs.tree)().mut_args(|arg| {
        let is_global = arg.is_global_set();
        arg.hide_short_help(is_global).hide_long_help(is_global)
    });
    let mut topics = "Topics (certctl help TOPIC):\n".to_owned();
    for topic in TOPICS {
        // Writing to a String does not fail.
        _ = writeln!(topics, "  {:<10}  {}", topic.name, topic.about);
    }
    let template = template(&tree);
    let tree = tree.help_template(template).after_help(format!("{topics}\n{GLOBAL}"));
    tree.mut_subcommands(|verb| of_verb(verb, "", *verbs))
}

/// clap's own, with the verbs by groups.
fn template(tree: &Command) -> String {
    let styles = Styles::default();
    let style = styles.get_header();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (group, verbs) in GROUPS {
        _ = writeln!(text, "{style}{group}:{style:#}");
        for verb in verbs.iter().filter_map(|verb| tree.find_subcommand(verb)) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            let label = format!("  {:<10}  ", verb.get_name());
            _ = writeln!(text, "{}", behind(&label, &about, label.len(), USUAL));
        }
        text.push('\n');
    }
    _ = write!(text, "{style}Options:{style:#}\n{{options}}{{after-help}}");
    text
}

fn of_verb(command: Command, above: &str, verbs: Verbs) -> Command {
    let verb = format!("{above} {}", command.get_name()).trim_start().to_owned();
    let mut shown = String::new();
    for (at, example) in verbs.examples(&verb).iter().enumerate() {
        if at == 0 {
            shown.push_str("Examples:\n");
        }
        _ = writeln!(shown, "  {}\n      {}", example.line, example.about);
    }
    if !shown.is_empty() {
        shown.push('\n');
    }
    let command = command.after_help(GLOBAL).after_long_help(shown + GLOBAL);
    command.mut_subcommands(|inner| of_verb(inner, &verb, verbs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::VERBS;

    fn each(command: &mut Command, check: &mut impl FnMut(&mut Command)) {
        check(command);
        for inner in command.get_subcommands_mut() {
            each(inner, check);
        }
    }

    #[test]
    fn the_help_of_a_verb_has_its_own_flags_and_one_line_for_the_global_ones() {
        let mut tree = whole(&VERBS);
        tree.build();
        each(&mut tree, &mut |command| {
            for text in [command.render_help(), command.render_long_help()] {
                let text = text.to_string();
                assert!(text.ends_with(&format!("\n\n{GLOBAL}\n")), "{text}");
                for flag in ["-f, --filename", "-v, --verbose", "--state-dir", "--timeout"] {
                    assert!(
                        !text.lines().any(|line| line.trim_start().starts_with(flag)),
                        "{text}"
                    );
                }
            }
        });
        let long = tree.find_subcommand_mut("revoke").unwrap().render_long_help().to_string();
        let at = |words: &str| long.find(words).unwrap_or_else(|| panic!("{words}: {long}"));
        assert!(at("--reason") < at("Examples:") && at("Examples:") < at(GLOBAL), "{long}");
    }

    /// clap breaks each line of a text that is taken as it stands.
    #[test]
    fn help_that_is_taken_as_it_stands_fits_a_terminal() {
        each(&mut whole(&VERBS), &mut |command| {
            let text = command.get_long_about().map(ToString::to_string).unwrap_or_default();
            for (line, next) in text.lines().zip(text.lines().skip(1)) {
                assert!(line.len() <= USUAL || next.is_empty(), "{}: {line}", command.get_name());
            }
        });
    }

    #[test]
    fn every_verb_is_in_one_group() {
        let tree = (VERBS.tree)();
        let mut verbs: Vec<&str> = tree.get_subcommands().map(Command::get_name).collect();
        let mut grouped = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect::<Vec<_>>();
        verbs.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, verbs);
        let long = whole(&VERBS).render_long_help().to_string();
        assert!(long.lines().all(|line| line.len() <= USUAL), "{long}");
    }

    #[test]
    fn certctl_lists_its_verbs_and_topics() {
        let short = whole(&VERBS).render_help().to_string();
        for name in ["issue", "revoke", "help", "exit-codes", "flags", "hooks", "files"] {
            let is_row = |line: &str| line.starts_with(&format!("  {name} "));
            assert!(short.lines().any(is_row), "{name}: {short}");
        }
    }
}
