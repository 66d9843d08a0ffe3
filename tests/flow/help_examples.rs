//! Promise: a command line that help or the manual shows is one that certctl takes; what can be
//! tried without harm does what it says.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use certctl::cli::args::{Arguments, VERBS, Verb};
use certctl::cli::man;
use certctl::cli::verbs::help;
use clap::Parser as _;
use clap::error::ErrorKind;

/// Every command line in a text: between backticks, behind the name of a shell, or at the beginning
/// of a line that is set off.
fn in_text(text: &str, found: &mut BTreeSet<String>) {
    for quoted in text.split('`').skip(1).step_by(2) {
        if quoted.starts_with("certctl ") {
            found.insert(quoted.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    for line in text.lines() {
        let plain = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let set_off = plain.trim_start();
        let is_set_off = set_off.len() < plain.len() && set_off.starts_with("certctl ");
        // Behind the name of a shell, not in the middle of a sentence.
        let is_name = |before: &str| {
            before == "Global options" || !before.trim().contains(' ') && before != "Usage"
        };
        let behind_colon = plain.split_once(": certctl ").filter(|(before, _)| is_name(before));
        if let Some((_, rest)) = behind_colon {
            found.insert(shown(&format!("certctl {rest}")));
        } else if is_set_off {
            found.insert(shown(set_off));
        }
    }
}

/// Without the explanation behind it, and without what the shell does with it.
fn shown(line: &str) -> String {
    let ends = ["  ", " > ", " | ", " #", " (", "`"];
    let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    line[..end].trim_end().to_owned()
}

/// Every command line in a page of the manual.
fn in_page(page: &str, found: &mut BTreeSet<String>) {
    let text = page.replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", "\"");
    let mut is_example = false;
    for line in text.lines() {
        match line {
            ".EX" => is_example = true,
            ".EE" => is_example = false,
            _ if is_example => {
                // Behind a time and a user in a crontab.
                let command = line
                    .strip_prefix("certctl ")
                    .or_else(|| line.split_once(" root certctl ").map(|(_, command)| command));
                found.extend(command.map(|command| shown(&format!("certctl {command}"))));
            }
            _ => {
                let bold = line.strip_prefix(".B ").map(|bold| bold.replace('"', ""));
                let quoted = [".BR \"", ".RB \"", ".BI \""];
                let quoted = quoted.iter().find_map(|start| line.strip_prefix(start));
                let quoted = quoted.and_then(|rest| rest.split('"').next()).map(str::to_owned);
                let commands = bold.into_iter().chain(quoted);
                found.extend(
                    commands
                        .filter(|command| command.starts_with("certctl "))
                        .map(|line| shown(&line)),
                );
                if !line.starts_with('.') {
                    in_text(line, found);
                }
            }
        }
    }
}

fn in_help(command: &clap::Command, found: &mut BTreeSet<String>) {
    in_text(&command.clone().render_long_help().to_string(), found);
    in_text(&command.clone().render_help().to_string(), found);
    for inner in command.get_subcommands() {
        in_help(inner, found);
    }
}

fn examples() -> BTreeSet<String> {
    let mut tree = help::tree::whole(&VERBS);
    tree.build();
    let mut found = BTreeSet::new();
    in_help(&tree, &mut found);
    for page in man::pages(&VERBS) {
        in_page(&page.text, &mut found);
    }
    found
}

fn words(line: &str) -> Vec<String> {
    // No example has a space within a word; a test fails when one comes.
    assert!(!line.contains(['"', '\'']), "{line}");
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn certctl_takes_every_example() {
    let found = examples();
    for known in [
        "certctl validate web.yaml",
        "certctl completion bash",
        "certctl explain certificate.spec.renewBefore",
        "certctl issue",
        "certctl deploy",
        "certctl status web",
        "certctl version -v",
        "certctl renew web --new-key",
        "certctl help flags",
    ] {
        assert!(found.contains(known), "{known} is not among {found:#?}");
    }
    let mut refused = Vec::new();
    for line in &found {
        match Arguments::try_parse_from(words(line)) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {}
            Err(error) => refused.push(format!("{line}: {error}")),
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

const WEB: &str = "\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: web
spec:
  secretName: web-tls
  dnsNames: [www.example.com]
  issuerRef: {name: letsencrypt}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: letsencrypt
spec:
  acme:
    server: https://acme-staging-v02.api.letsencrypt.org/directory
    privateKeySecretRef: {name: letsencrypt-account}
    solvers: [{http01: {ingress: {}}}]
";

fn run(line: &str, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.args(words(line).iter().skip(1)).current_dir(folder);
    command.env_clear().env("HOME", folder).env("CERTCTL_FILES", folder.join("web.yaml"));
    command.output().unwrap()
}

#[test]
fn what_changes_nothing_can_be_tried() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = File::create(folder.path().join("web.yaml")).unwrap();
    file.write_all(WEB.as_bytes()).unwrap();
    // The folder of which certctl(1) speaks.
    let checked_out = folder.path().join("deploy/certificates");
    fs::create_dir_all(&checked_out).unwrap();
    let mut file = File::create(checked_out.join("api.yaml")).unwrap();
    file.write_all(WEB.replace("web", "api").as_bytes()).unwrap();
    let mut tried = Vec::new();
    for line in examples() {
        let Ok(arguments) = Arguments::try_parse_from(words(&line)) else { continue };
        let Some(verb) = arguments.verb else { continue };
        let is_harmless = matches!(
            verb,
            Verb::Validate(_)
                | Verb::Plan(_)
                | Verb::Status(_)
                | Verb::Explain(_)
                | Verb::Schema(_)
                | Verb::Completion(_)
                | Verb::Version(_)
                | Verb::Help(_)
        ) || matches!(&verb, Verb::Man(args) if args.target.is_none())
            || (matches!(verb, Verb::Timer(_)) && !line.contains("--dir"));
        // What stands for a name of the reader's own is in capitals.
        let is_template = line.split(' ').any(|word| word.chars().all(|c| c.is_ascii_uppercase()));
        if is_harmless && !is_template {
            let run = run(&line, folder.path());
            assert!(run.status.success(), "{line}: {run:?}");
            tried.push(line);
        }
    }
    assert!(tried.len() >= 4, "{tried:?}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
