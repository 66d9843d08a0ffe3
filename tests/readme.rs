//! Promise: what README and CONTRIBUTING tell people to type is understood, what they show is what
//! comes out, and what they name is there.
//!
//! A fence `console NAME` is a session: its commands are run here in their order, and `…` stands
//! for whatever came. A fence `console` is read by the command line's own parser.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test ends the test")]

#[cfg(test)]
#[path = "crds/mod.rs"]
mod crds;
#[expect(dead_code, unused_imports, reason = "other tests use the rest")]
#[cfg(test)]
#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use certctl::cli::args::Arguments;
use certctl::cli::exit::ExitCode;
use certctl::manifest::{Diagnostic, Options, Source, check_references, load};
use certctl::resource::Reason;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use crds::{Crds, objects};
use support::{CertificateYaml, World, finish};

const README: &str = include_str!("../README.md");
const CONTRIBUTING: &str = include_str!("../CONTRIBUTING.md");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The fenced blocks: what stands behind the fence, and the text.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(kind) if !open => {
                found.push((kind, String::new()));
                open = true;
            }
            Some(_) => open = false,
            None if open => {
                let text = &mut found.last_mut().unwrap().1;
                *text += line;
                text.push('\n');
            }
            None => {}
        }
    }
    found
}

/// The spans of code in the running text and the tables.
fn spans(page: &str) -> Vec<String> {
    let mut fenced = false;
    let text: String = page
        .lines()
        .filter(|line| {
            let fence = line.starts_with("```");
            fenced ^= fence;
            !fence && !fenced
        })
        .flat_map(|line| [line, " "])
        .collect();
    text.split('`').skip(1).step_by(2).map(|span| span.replace("\\|", "|")).collect()
}

/// A typed command, and the lines that it is shown to answer.
#[derive(Debug)]
struct Typed {
    line: String,
    shown: Vec<String>,
}

fn typed(block: &str) -> Vec<Typed> {
    let mut found: Vec<Typed> = Vec::new();
    for line in block.replace("\\\n", " ").lines() {
        if let Some(line) = line.strip_prefix("$ ") {
            let line = line.split("  #").next().unwrap_or_default().trim().to_owned();
            found.push(Typed { line, shown: Vec::new() });
        } else {
            found.last_mut().unwrap().shown.push(line.to_owned());
        }
    }
    found
}

/// The calls of certctl in a line for a shell, as words.
fn calls(line: &str) -> Vec<Vec<&str>> {
    let parts = line.split([';', '|', '>']).map(str::trim);
    let without = |part: &'static str| move |line| str::strip_prefix(line, part).unwrap_or(line);
    let parts = parts.map(without("sudo ")).map(without("-u certctl "));
    let calls = parts.filter(|part| part.starts_with("certctl "));
    calls.map(|part| part.split_whitespace().skip(1).collect()).collect()
}

/// What the command line's parser has against the words.
fn refusal(words: &[&str]) -> Option<String> {
    let error = Arguments::try_parse_from(std::iter::once(&"certctl").chain(words)).err()?;
    let shows = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    (!shows).then(|| error.to_string())
}

#[test]
fn every_command_that_is_shown_is_understood() {
    let mut count = 0;
    for page in [README, CONTRIBUTING] {
        let blocks = blocks(page).into_iter().filter(|(kind, _)| kind.starts_with("console"));
        let typed = blocks.flat_map(|(_, text)| typed(&text)).map(|typed| typed.line);
        // Those with VERB are about all verbs, and those with a bracket about several.
        let spans = spans(page).into_iter().filter(|span| !span.contains(['[', '…', '|']));
        for line in typed.chain(spans.filter(|span| !span.contains(" VERB"))) {
            for words in calls(&line) {
                assert_eq!(refusal(&words), None, "{line}");
                count += 1;
            }
        }
    }
    assert!(count > 40, "{count}");
    assert!(refusal(&["isue"]).is_some() && refusal(&["issue", "--no-such-flag"]).is_some());
}

#[test]
fn every_verb_has_its_line_and_every_line_its_verb() {
    let table = section("## Verbs");
    let firsts = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let told: BTreeSet<&str> = firsts.flat_map(first_words).collect();
    let command = Arguments::command();
    let known: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    assert_eq!(told, known);
}

/// The verbs of a row: of each span in its first cell, the first word.
fn first_words(row: &'static str) -> Vec<&'static str> {
    let cell = row.split(" | ").next().unwrap_or_default();
    let spans = cell.split('`').step_by(2);
    spans.filter_map(|span| span.split([' ', '`']).next()).filter(|word| !word.is_empty()).collect()
}

/// A section of the README.
fn section(title: &str) -> &'static str {
    let (_, rest) = README.split_once(&format!("\n{title}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// The session of this name.
fn session(name: &str) -> Vec<Typed> {
    let wanted = format!("console {name}");
    let (_, text) = blocks(README).into_iter().find(|(kind, _)| *kind == wanted).unwrap();
    typed(&text)
}

/// Fails unless the output is what is shown.
#[track_caller]
fn compare(typed: &Typed, output: &str) {
    let shown: Vec<&str> = typed.shown.iter().map(String::as_str).collect();
    let lines: Vec<&str> = output.lines().collect();
    assert!(fits(&shown, &lines), "{}\nshown: {shown:#?}\nsaid: {output}", typed.line);
}

fn fits(shown: &[&str], lines: &[&str]) -> bool {
    match (shown, lines) {
        ([], lines) => lines.is_empty(),
        (["…", rest @ ..], lines) => {
            fits(rest, lines) || lines.split_first().is_some_and(|(_, lines)| fits(shown, lines))
        }
        ([first, rest @ ..], [line, lines @ ..]) => line_fits(first, line) && fits(rest, lines),
        ([_, ..], []) => false,
    }
}

fn line_fits(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    rest.is_empty() || last == Some("")
}

#[test]
fn the_first_run_goes_as_it_is_shown() {
    let world = World::start();
    for typed in session("first-run") {
        for words in calls(&typed.line) {
            let port = world.port.number().to_string();
            let words: Vec<String> = words.iter().map(|w| w.replace("5002", &port)).collect();
            let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
            world.surround(command.args(&words));
            let run = finish(command.current_dir(ROOT).spawn().unwrap()).ends_in(0);
            compare(&typed, &(run.stdout + &run.stderr));
        }
    }
    assert_eq!(fs::read_dir(world.path("home")).unwrap().count(), 0, "nothing was written");
    assert!(!world.path("state").exists(), "nothing was written");
}

#[test]
fn the_mistake_is_reported_as_shown() {
    let world = World::start();
    let wrong = include_str!("../examples/web.yaml").replace("dnsNames:", "dnsName:");
    world.write("web.yaml", &wrong);
    for typed in session("mistake") {
        let [words] = &calls(&typed.line)[..] else { panic!("{typed:?}") };
        compare(&typed, &world.run(words).ends_in(3).stderr);
    }
}

#[test]
fn the_first_certificate_is_issued_as_it_is_shown() {
    let world = World::start();
    world.dns.set("www.example.com", vec!["127.0.0.1".parse().unwrap()]);
    let (_, manifest) = blocks(README).into_iter().find(|(kind, _)| *kind == "yaml").unwrap();
    let example = include_str!("../examples/web.yaml");
    assert!(example.ends_with(&manifest), "it is examples/web.yaml");
    // Another CA; everything else as it is printed.
    let server = manifest.lines().find(|line| line.trim_start().starts_with("server: ")).unwrap();
    let issuer = world.issuer().to_string();
    let ours = |line: &&str| ["server: ", "caBundle: "].iter().any(|key| line.contains(key));
    let ours: Vec<&str> = issuer.lines().filter(ours).collect();
    world.write("config/web.yaml", &manifest.replace(server, &ours.join("\n")));
    for typed in session("first-certificate") {
        let [words] = &calls(&typed.line)[..] else { panic!("{typed:?}") };
        let run = world.run(words).ends_in(0);
        compare(&typed, &(run.stdout + &run.stderr));
    }
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_pair_of_another_client_is_taken_over_as_it_is_shown() {
    let elsewhere = World::prepared(&[CertificateYaml::new("web")]);
    elsewhere.issue().ends_in(0);
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let theirs = world.path("live");
    fs::create_dir(&theirs).unwrap();
    let secret = elsewhere.path("state/secrets/default/web-tls");
    fs::copy(secret.join("tls.crt"), theirs.join("fullchain.pem")).unwrap();
    fs::copy(secret.join("tls.key"), theirs.join("privkey.pem")).unwrap();
    for typed in session("adoption") {
        if let [words] = &calls(&typed.line)[..] {
            world.run(words).ends_in(0);
            continue;
        }
        let here = |path: &Path| path.display().to_string();
        let line = typed
            .line
            .replace("sudo ", "")
            .replace("/var/lib/certctl", &here(&world.path("state")))
            .replace("/etc/letsencrypt/live/www.example.com", &here(&theirs));
        let status = Command::new("sh").args(["-ec", &line]).status().unwrap();
        assert!(status.success(), "{line}");
    }
    assert_eq!(world.ca.requests(), 0);
    assert_eq!(world.state().readiness("web"), Reason::Ready);
    let now = world.state().path("secrets/default/web-tls/tls.crt");
    assert_eq!(fs::read(now).unwrap(), fs::read(secret.join("tls.crt")).unwrap());
}

#[test]
fn every_manifest_and_every_part_of_one_is_valid() {
    let crds = Crds::load();
    let whole = blocks(README).into_iter().find(|(kind, _)| *kind == "yaml").unwrap().1;
    let mut count = 0;
    for (_, text) in blocks(README).into_iter().filter(|(kind, _)| *kind == "yaml") {
        let text = complete(&whole, &text);
        let mut loaded = load(&[Source::Stdin(text.clone().into())], &Options::default());
        check_references(&mut loaded);
        let found: Vec<String> = loaded.diagnostics.iter().map(Diagnostic::render).collect();
        assert_eq!(found, Vec::<String>::new(), "{text}");
        assert_eq!((loaded.certificates.len(), loaded.issuers.len()), (1, 1), "{text}");
        for object in objects(&text) {
            assert_eq!(crds.fault(&object), None, "{text}");
        }
        count += 1;
    }
    assert!(count >= 4, "{count}");
}

/// A part of a manifest within the whole one: the metadata of the Certificate, or the solvers of
/// the Issuer.
fn complete(whole: &str, part: &str) -> String {
    let (issuer, certificate) = whole.split_once("---\n").unwrap();
    if part.starts_with("metadata:\n") {
        let text = certificate.replacen("metadata:\n", part, 1);
        return format!("{issuer}---\n{text}");
    }
    if part.starts_with("    solvers:\n") {
        let (head, _) = issuer.split_once("    solvers:\n").unwrap();
        return format!("{head}{part}---\n{certificate}");
    }
    assert!(part.starts_with("apiVersion: "), "what is this a part of?\n{part}");
    part.to_owned()
}

#[test]
fn every_file_that_is_named_is_there() {
    let ours =
        ["examples", "tests", "man", "completions", "src", "packaging", ".ci", "CONTRIBUTING.md"];
    let mut count = 0;
    for span in [README, CONTRIBUTING].into_iter().flat_map(spans) {
        let path = span.split_whitespace().next().unwrap_or_default();
        if path
            .split('/')
            .next()
            .is_some_and(|first| ours.contains(&first) && path.contains(['/', '.']))
        {
            assert!(Path::new(ROOT).join(path).exists(), "{span}");
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
    let recipes = include_str!("../justfile");
    for span in [README, CONTRIBUTING].into_iter().flat_map(spans) {
        if let Some(recipe) = span.strip_prefix("just ") {
            assert!(recipes.contains(&format!("\n{recipe}:")), "{span}");
        }
    }
}

/// All of them: a new one does not compile without being told here.
fn exit_codes() -> Vec<String> {
    use ExitCode::{Attention, Ca, Changed, Deferred, Done, Failed, Manifest, Output, Signal};
    use ExitCode::{State, Usage, Validation};
    let mut all = Vec::new();
    let mut next = Some(Done);
    while let Some(code) = next {
        let number = code.number().to_string();
        let (told, following) = match code {
            Done => (number, Some(Failed)),
            Failed => (number, Some(Usage)),
            Usage => (number, Some(Manifest)),
            Manifest => (number, Some(Validation)),
            Validation => (number, Some(Ca)),
            Ca => (number, Some(Output)),
            Output => (number, Some(State)),
            State => (number, Some(Attention)),
            Attention => (number, Some(Changed)),
            Changed => (number, Some(Deferred)),
            Deferred => (number, Some(Signal(0))),
            Signal(_) => (format!("{number}+n"), None),
        };
        all.push(told);
        next = following;
    }
    all
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let rows = section("## Exit codes").lines().filter_map(|line| line.strip_prefix("| "));
    let codes =
        rows.filter_map(|row| row.split(" | ").next()).skip(1).filter(|code| *code != "---");
    assert_eq!(codes.collect::<Vec<_>>(), exit_codes());
}
