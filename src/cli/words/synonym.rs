//! Words of other tools (certbot, lego, acme.sh, kubectl), each with the sentence that leads on.
//!
//! Contract: a word that means the same as a verb is an alias of that verb (`args`) and has no row. All
//! other errors of the command line are clap's.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Advice on a word that another tool has; `None` leaves the error to clap. The tree is that of all
/// verbs.
pub(in crate::cli) fn advice(
    refusal: &clap::Error,
    words: &[OsString],
    tree: &Command,
) -> Option<String> {
    let is_first = !is_below(refusal, words, tree);
    let kind = if refusal.kind() == ErrorKind::InvalidSubcommand && is_first {
        ContextKind::InvalidSubcommand
    } else if refusal.kind() == ErrorKind::UnknownArgument {
        ContextKind::InvalidArg
    } else {
        return None;
    };
    let Some(ContextValue::String(word)) = refusal.get(kind) else { return None };
    let word = word.split('=').next().unwrap_or(word);
    let (_, sentence) = rows().find(|(words, _)| words.split(' ').any(|one| one == word))?;
    Some(format!("there is no `{word}`: {sentence}"))
}

/// Returns whether the refused verb stands below another, which gives it another meaning: `account
/// delete`.
fn is_below(refusal: &clap::Error, words: &[OsString], tree: &Command) -> bool {
    let Some(ContextValue::String(word)) = refusal.get(ContextKind::InvalidSubcommand) else {
        return false;
    };
    let mut before = words.iter().skip(1).take_while(|one| *one != word.as_str());
    before.any(|one| tree.find_subcommand(one).is_some())
}

/// Takes from clap's suggestions those that are no typing error: `tls-alpn` is none of `ls`, and
/// `revert` none of `revoke`.
pub(in crate::cli) fn near(mut refusal: clap::Error) -> clap::Error {
    for (of, by) in [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    ] {
        let Some(ContextValue::String(word)) = refusal.get(of) else { continue };
        let is_near = |one: &String| is_typo(word, one);
        let near = match refusal.get(by) {
            Some(ContextValue::String(one)) => {
                is_near(one).then(|| ContextValue::String(one.clone()))
            }
            Some(ContextValue::Strings(all)) => {
                let near: Vec<String> = all.iter().filter(|one| is_near(one)).cloned().collect();
                (!near.is_empty()).then_some(ContextValue::Strings(near))
            }
            _ => continue,
        };
        match near {
            Some(near) => drop(refusal.insert(by, near)),
            None => drop(refusal.remove(by)),
        }
    }
    refusal
}

/// Returns whether a word is this one with a typing error: one letter, or two of a long one, and
/// never the first, which makes another word (`reactivate`).
fn is_typo(word: &str, meant: &str) -> bool {
    let [word, meant] = [word, meant].map(|one| one.trim_start_matches('-'));
    let word = word.split('=').next().unwrap_or(word);
    let errors = strsim::osa_distance(word, meant);
    word.chars().next() == meant.chars().next() && errors <= (meant.len() / 4).clamp(1, 2)
}

/// Words, each row with a sentence below it that continues "there is no `word`:". At most 40 rows.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut lines = include_str!("synonyms.txt").lines();
    std::iter::from_fn(move || Some((lines.next()?, lines.next()?.trim_start())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Arguments;

    fn refused(line: &str) -> (clap::Error, Vec<OsString>) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let refusal = Arguments::command().try_get_matches_from(&words).unwrap_err();
        (near(refusal), words)
    }

    fn message(line: &str) -> Option<String> {
        let (refusal, words) = refused(line);
        advice(&refusal, &words, &Arguments::command())
    }

    #[test]
    fn a_word_of_another_tool_leads_to_the_verb_for_it() {
        for (line, verb) in [
            ("certctl certonly --nginx -d a.example", "certctl create"),
            ("certctl issue -d a.example", "certctl create certificate DNSNAME"),
            ("certctl init", "certctl create"),
            ("certctl delete web", "certctl forget NAME"),
            ("certctl plan --dry-run", "certctl plan"),
            ("certctl issue web --staging", "certctl create issuer letsencrypt-staging"),
            (
                "certctl issue --server=https://ca.example",
                "certctl create issuer NAME --server URL",
            ),
            ("certctl renew --cert-name web", "certctl renew NAME"),
            ("certctl --upgrade", "certctl version -v"),
            ("certctl orders web-1-1", "certctl status order"),
        ] {
            assert!(message(line).unwrap().contains(&format!("`{verb}`")), "{line}");
        }
    }

    #[test]
    fn a_word_without_a_row_or_below_a_verb_is_left_to_clap() {
        for line in [
            "certctl isue",
            "certctl nonsense",
            "certctl web",
            "certctl issue --tiemout 5m",
            "certctl check dnss",
            "certctl account delete letsencrypt",
            "certctl timer install",
            "certctl issue --timeout 90d",
            "certctl revoke",
        ] {
            assert_eq!(message(line), None, "{line}");
        }
    }

    #[test]
    fn a_suggestion_of_clap_is_near() {
        let is_suggested = |line: &str| refused(line).0.to_string().contains("similar");
        for line in [
            "certctl isue",
            "certctl statu",
            "certctl revok",
            "certctl revoek web",
            "certctl rolbak",
            "certctl account deactivte",
            "certctl check dnss",
            "certctl issue --tiemout 5m",
            "certctl issue --tiemout=5m",
        ] {
            assert!(is_suggested(line), "{line}");
        }
        for line in [
            "certctl tls-alpn",
            "certctl recover",
            "certctl reset",
            "certctl format",
            "certctl purge",
            "certctl callback",
            "certctl roll",
            "certctl account activate",
            "certctl account reactivate",
            "certctl issue --new-key",
        ] {
            assert!(!is_suggested(line), "{line}: {}", refused(line).0);
        }
    }

    #[test]
    fn a_word_for_the_same_thing_is_the_verb_itself() {
        for (line, same) in [
            ("certctl describe web", "describe"),
            ("certctl get certificates", "status"),
            ("certctl list", "status"),
            ("certctl ls", "status"),
            ("certctl show web", "status"),
            ("certctl certificates", "status"),
            ("certctl apply -f web.yaml", "issue"),
        ] {
            let matches = Arguments::command().try_get_matches_from(line.split(' ')).unwrap();
            assert_eq!(matches.subcommand_name(), Some(same), "{line}");
        }
    }

    #[test]
    fn a_word_stands_in_one_of_forty_rows_and_is_no_verb() {
        let tree = Arguments::command();
        let mut seen = BTreeSet::new();
        for word in rows().flat_map(|(words, _)| words.split(' ')) {
            assert!(seen.insert(word), "{word}");
            assert!(tree.find_subcommand(word).is_none(), "{word}");
        }
        assert!(rows().count() <= 40 && !seen.contains("run"), "{}", rows().count());
    }

    #[test]
    fn every_command_of_a_row_is_one_that_is_taken() {
        for (_, sentence) in rows() {
            for command in sentence.split('`').skip(1).step_by(2) {
                let command = command.replace("PROVIDER", "cloudflare");
                let command = command.replace("URL", "https://ca.example/dir");
                if command.starts_with("certctl ") {
                    let taken = Arguments::command().try_get_matches_from(command.split(' '));
                    assert!(taken.is_ok(), "{command}: {:?}", taken.err());
                }
            }
        }
    }
}
