//! Which verb and which exit code is shown where.
//!
//! Contract: the tables below are held against the tree of verbs and against the scenes: a verb
//! without a scene fails, and so does a row whose scene does not show what it says.

use certctl::workspace::outlook::State;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use certctl::cli::args::Arguments;
use clap::{Command, CommandFactory as _};

use crate::kept::folder;

/// A verb; the scene in which it does what it is for; the scene in which there is nothing to do,
/// when that can be; and every exit code with which it ends in some scene.
type Row = (&'static str, &'static str, Option<&'static str>, &'static [u8]);

const VERBS: &[Row] = &[
    ("issue", "issue-first", Some("issue-idle"), &[0, 1, 2, 3, 4, 5, 6, 7, 10, 75, 129, 130, 143]),
    ("renew", "renew", Some("renew"), &[0, 1, 2, 3, 4, 5, 10, 75]),
    ("plan", "plan", Some("plan"), &[0, 1, 3, 10]),
    ("validate", "validate", Some("validate"), &[0, 3]),
    ("status", "status", Some("status-nothing"), &[0, 1, 2, 3, 7, 8]),
    ("describe", "describe", None, &[0, 2, 3, 8]),
    ("inspect", "inspect", None, &[0, 1, 2, 3, 8]),
    ("check acme", "check", Some("check-nothing"), &[0, 1, 3]),
    ("check alerts", "check-alerts", Some("check-alerts"), &[0, 3, 6]),
    ("check dns", "check", None, &[0, 1, 2, 4]),
    ("check http", "check", None, &[0, 1, 2, 3, 4]),
    ("check tls-alpn", "check", None, &[0, 3]),
    ("doctor", "doctor", Some("doctor-bare"), &[0, 2, 3, 7, 8]),
    ("rehearse", "rehearse", Some("rehearse"), &[0, 3, 4]),
    ("deploy", "deploy", Some("deploy"), &[0, 3, 6]),
    ("revoke", "revoke", Some("revoke"), &[0, 1, 2, 3, 5]),
    ("rollback", "rollback", Some("rollback"), &[0, 2, 3, 10]),
    ("create issuer", "create-manifests", None, &[0, 2, 3]),
    ("create certificate", "create-manifests", None, &[0, 2, 3]),
    ("create certificaterequest", "create", None, &[0, 2, 3]),
    ("account show", "account", Some("account"), &[0, 1, 3]),
    ("account register", "account", Some("account"), &[0]),
    ("account update", "account", Some("account"), &[0]),
    ("account thumbprint", "account", None, &[3]),
    ("account deactivate", "account", Some("account"), &[0, 1, 2, 3]),
    ("forget", "forget", Some("forget"), &[0, 1, 2, 3, 75]),
    ("timer print", "timer", None, &[0, 1, 2]),
    ("run", "run", None, &[0, 2, 3]),
    ("explain", "explain", None, &[0, 1, 2]),
    ("schema", "schema", None, &[0, 1, 2]),
    ("version", "version", None, &[0, 1]),
    ("completion", "generated", None, &[0, 1, 2]),
    ("man", "generated", None, &[0, 1]),
    ("help", "help", None, &[0, 2]),
];

/// Each exit code, and the scene that is about it.
const CODES: &[(u8, &str)] = &[
    (0, "issue-first"),
    (1, "exit-1"),
    (2, "exit-2"),
    (3, "exit-3"),
    (4, "exit-4"),
    (5, "exit-5"),
    (6, "exit-6"),
    (7, "exit-7"),
    (8, "exit-8"),
    (10, "issue-due"),
    (75, "exit-75-locked"),
    (130, "exit-130"),
    (143, "exit-130"),
];

/// Each word of `status`, and the scene in which a certificate really gets there.
const STATES: &[(&str, &str)] = &[
    ("STATE DAMAGED", "status-states"),
    ("INVALID", "status-states"),
    ("NO MANIFEST", "status-states"),
    ("EXPIRED", "status-expired"),
    ("REVOKED", "status-states"),
    ("LINKS MISSING", "status-states"),
    ("FILES DAMAGED", "damaged"),
    ("OVERDUE", "status-overdue"),
    ("ISSUING", "status-working"),
    ("RENEWING", "status-working"),
    ("DEFERRED", "status-states"),
    ("FAILED", "status-states"),
    ("WAITING", "status-states"),
    ("PENDING DEPLOY", "status-states"),
    ("READY", "status"),
    ("PENDING", "status-states"),
];

#[test]
fn every_state_of_status_has_its_scene() {
    let words: BTreeSet<&str> = State::ALL.map(State::word).into();
    assert_eq!(STATES.iter().map(|(word, _)| *word).collect::<BTreeSet<_>>(), words);
    for (word, scene) in STATES {
        let path = folder().join(scene).with_extension("txt");
        let text = fs::read_to_string(path).unwrap();
        let is_cell = |cell: &str| cell == *word || cell.ends_with(&format!(":{word}}}"));
        let is_row = |line: &str| {
            let is_heading = line.contains("EXPIRES");
            !is_heading && line.split("   ").any(|cell| is_cell(cell.trim()))
        };
        let is_page = |line: &str| {
            let status = line.strip_prefix("Status:").map(str::trim_start);
            status.is_some_and(|status| status.starts_with(&format!("{word} - ")))
        };
        assert!(text.lines().any(|line| is_row(line) || is_page(line)), "no {word} in {scene}");
    }
}

/// Verb and exit code of each command line of certctl, by scene.
fn shown() -> BTreeMap<String, BTreeSet<(String, u8)>> {
    let verbs = verbs();
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let scene = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let (mut found, mut verb) = (BTreeSet::new(), None);
        for line in fs::read_to_string(path).unwrap().lines() {
            if let Some(words) = line.strip_prefix("$ ").or_else(|| line.strip_prefix("tty$ ")) {
                verb = verb_of(words, &verbs);
            } else if let Some(code) = line.strip_prefix("--- exit ")
                && let Some(verb) = verb.take()
            {
                found.insert((verb, code.parse().unwrap()));
            }
        }
        all.insert(scene, found);
    }
    all
}

/// The verb of a command line, when certctl is what ends it.
fn verb_of(line: &str, verbs: &BTreeSet<String>) -> Option<String> {
    let words = line.split_once("certctl ")?.1;
    if words.contains(['|', '&']) {
        return None;
    }
    let words: Vec<&str> = words.split(' ').collect();
    let is_it = |verb: &&String| {
        let verb: Vec<&str> = verb.split(' ').collect();
        words.windows(verb.len()).next() == Some(&verb[..])
    };
    verbs.iter().find(is_it).cloned()
}

/// The verbs of the command line, those of two words too.
fn verbs() -> BTreeSet<String> {
    let of = |command: &Command| -> Vec<String> {
        let below = command.get_subcommands().map(Command::get_name);
        let name = command.get_name();
        let names: Vec<String> = below.map(|below| format!("{name} {below}")).collect();
        if names.is_empty() { vec![name.to_owned()] } else { names }
    };
    Arguments::command().get_subcommands().flat_map(of).collect()
}

#[test]
fn every_verb_is_shown_in_success_and_with_nothing_to_do() {
    let in_table: BTreeSet<String> = VERBS.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(in_table, verbs());
    let shown = shown();
    for (verb, success, nothing, _) in VERBS {
        for scene in [Some(success), nothing.as_ref()].into_iter().flatten() {
            let found = shown.get(*scene).unwrap_or_else(|| panic!("no scene {scene}"));
            assert!(found.iter().any(|(name, _)| name == verb), "no {verb} in {scene}");
        }
    }
}

#[test]
fn every_verb_ends_in_the_codes_of_its_row() {
    let shown: BTreeSet<(String, u8)> = shown().into_values().flatten().collect();
    for (verb, _, _, codes) in VERBS {
        let found: Vec<u8> =
            shown.iter().filter(|(name, _)| name == verb).map(|(_, code)| *code).collect();
        assert_eq!(found, *codes, "{verb}");
    }
}

#[test]
fn every_exit_code_has_its_scene() {
    let codes: Vec<u8> = CODES.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 75, 130, 143]);
    let shown = shown();
    for (code, scene) in CODES {
        assert!(shown[*scene].iter().any(|(_, found)| found == code), "no exit {code} in {scene}");
    }
}

#[test]
fn every_scene_is_played() {
    let source = folder().parent().unwrap().to_owned();
    let mut text = String::new();
    for entry in fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    for scene in shown().into_keys() {
        let is_played = [")", ","].map(|end| text.contains(&format!("(\"{scene}\"{end}")));
        assert!(is_played.contains(&true), "no test plays {scene}");
    }
}
