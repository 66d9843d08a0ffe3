//! All verbs as data, for what describes them: help and manual.

use clap::Command;

/// The verbs.
#[derive(Clone, Copy, Debug)]
pub struct Verbs {
    /// Builds clap's tree of verbs and flags.
    pub tree: fn() -> Command,
}

impl Verbs {
    /// The examples of a verb, such as `check dns`; of a verb that only has verbs below it, the
    /// first of each of those.
    pub fn examples(&self, verb: &str) -> Vec<Example> {
        let tree = (self.tree)();
        let mut words = verb.split(' ');
        let command = words.try_fold(&tree, |above, word| above.find_subcommand(word));
        let is_above = command.is_some_and(Command::has_subcommands);
        let mut found: Vec<Example> = examples().filter(|example| example.is_of(verb)).collect();
        if is_above {
            let depth = verb.split(' ').count();
            found.dedup_by_key(|example| example.line.split(' ').nth(depth + 1));
        }
        found
    }
}

/// A command line to copy, and what it does.
#[derive(Debug)]
pub struct Example {
    /// The command line.
    pub line: &'static str,
    /// Purpose of the example, in one sentence.
    pub about: &'static str,
}

impl Example {
    /// Returns whether the line begins with the words of this verb.
    fn is_of(&self, verb: &str) -> bool {
        let mut words = self.line.split(' ').skip(1);
        verb.split(' ').all(|word| words.next() == Some(word))
    }
}

/// All examples, in the order of the verbs. In the file, the purpose stands behind each as a comment.
fn examples() -> impl Iterator<Item = Example> {
    let rows = include_str!("examples.txt").lines();
    rows.filter_map(|row| row.split_once("  # ")).map(|(line, about)| Example { line, about })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::VERBS;

    /// The verbs that have none below them, such as `check dns`.
    fn verbs(command: &Command, above: &str, found: &mut Vec<String>) {
        for inner in command.get_subcommands() {
            let verb = format!("{above} {}", inner.get_name()).trim_start().to_owned();
            if !inner.has_subcommands() {
                found.push(verb.clone());
            }
            verbs(inner, &verb, found);
        }
    }

    #[test]
    fn every_verb_has_one_to_four_examples_of_its_own() {
        let mut all = Vec::new();
        verbs(&(VERBS.tree)(), "", &mut all);
        let mut left: Vec<&str> = examples().map(|example| example.line).collect();
        for verb in all {
            let examples = VERBS.examples(&verb);
            assert!((1..=4).contains(&examples.len()), "{verb}");
            for Example { line, about } in examples {
                assert!(about.ends_with('.') && about.len() <= 72, "{line}");
                assert_eq!(left.remove(0), line, "in the order of the verbs");
            }
        }
        assert_eq!(left, [""; 0], "examples of no verb");
    }

    #[test]
    fn a_verb_with_verbs_below_it_has_an_example_of_each() {
        let lines: Vec<&str> = VERBS.examples("check").iter().map(|example| example.line).collect();
        let expected = [
            "certctl check acme letsencrypt",
            "certctl check alerts",
            "certctl check dns www.example.com",
            "certctl check http www.example.com",
            "certctl check tls-alpn www.example.com",
        ];
        assert_eq!(lines, expected);
    }
}
