//! Promise: what README, CONTRIBUTING and the book tell people to type is understood, what they show
//! is what comes out, and what they name is there.
//!
//! A fence `console NAME` is a session: its commands are run (`sessions`) in their order, and
//! `…` stands for whatever came; with `…` behind the name no output is shown. The commands of a fence
//! `console`, and those in the text, are run as well (`commands`), but for those that are
//! listed there with the reason.

mod commands;
mod pages;
#[cfg(feature = "real-servers")]
mod pebble;
mod sessions;
mod shell;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use certctl::cli::args::Arguments;
use certctl::cli::exit::ExitCode;
use certctl::manifest::{Diagnostic, Options, Source, check_references, load};
use certctl::workspace::outlook::State;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use serde_json::Value;

use crate::crds::{Crds, objects};
use pages::{Page, ROOT, book, calls, page, pages, typed};
use tables::tables;

/// What the command line's parser has against the words.
fn refusal(words: &[&str]) -> Option<String> {
    let error = Arguments::try_parse_from(std::iter::once(&"certctl").chain(words)).err()?;
    let shows = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    (!shows).then(|| error.to_string())
}

/// Whether it is the name of a verb, such as `certctl check dns`, and no more.
fn is_verb(span: &str) -> bool {
    let Some(words) = span.strip_prefix("certctl ") else { return false };
    let mut command = Arguments::command();
    words.split(' ').all(|word| {
        let found = command.find_subcommand(word).cloned();
        let is_one = found.is_some();
        command = found.unwrap_or_default();
        is_one
    })
}

/// The calls of certctl in the running text and in the tables.
fn commands_in_text(page: &Page) -> Vec<String> {
    // Those with VERB are about all verbs, and those with a bracket about several.
    let spans = page.spans().into_iter().filter(|span| !span.contains(['[', '…', '|']));
    let spans = spans.filter(|span| !span.contains(" VERB") && !is_verb(span));
    spans.filter(|span| !calls(span).is_empty()).collect()
}

#[test]
fn every_command_that_is_shown_is_understood() {
    let (mut count, mut refused) = (0, Vec::new());
    for page in pages() {
        let blocks = page.blocks().into_iter().filter(|(kind, _)| kind.starts_with("console"));
        let typed = blocks.flat_map(|(_, text)| typed(&text)).map(|typed| typed.line);
        for line in typed.chain(commands_in_text(&page)) {
            for words in calls(&line) {
                refused.extend(refusal(&words).map(|why| format!("{}: {line}: {why}", page.path)));
                count += 1;
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(count > 120, "{count}");
    assert!(refusal(&["isue"]).is_some() && refusal(&["issue", "--no-such-flag"]).is_some());
}

#[test]
fn commands_stand_in_sessions_or_blocks_of_commands() {
    for page in pages() {
        for (kind, text) in page.blocks() {
            let kind = kind.split(' ').next().unwrap();
            assert!(["console", "yaml", "toml", "text"].contains(&kind), "{}: {kind}", page.path);
            let is_command = |line: &str| calls(line.trim_start_matches("$ ")).is_empty();
            assert!(kind == "console" || text.lines().all(is_command), "{}: {text}", page.path);
        }
    }
}

#[test]
fn the_readme_is_short() {
    let readme = page("README.md");
    assert!(readme.text.lines().count() <= 150, "{}", readme.text.lines().count());
    for line in readme.prose() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn the_number_of_dns_providers_is_that_of_the_build() {
    if !cfg!(feature = "more-dns-providers") {
        return;
    }
    let number = certctl::solver::dns01::names().len();
    for (path, text) in [
        ("README.md", format!("{number} DNS providers")),
        ("CHANGELOG.md", format!("{number} DNS providers")),
        ("docs/src/explanation/why.md", format!("| DNS providers | {number} |")),
    ] {
        assert!(page(path).text.contains(&text), "{path}: {text}");
    }
}

#[test]
fn pages_are_read_in_a_terminal_too() {
    for page in pages() {
        let is_text = |line: &&str| !line.starts_with('|') && line.contains(' ');
        for line in page.prose().filter(is_text) {
            assert!(line.chars().count() <= 80, "{}: {line}", page.path);
        }
        for line in page.text.lines().filter(|line| !line.starts_with('|')) {
            assert!(line.chars().count() <= 100, "{}: {line}", page.path);
        }
    }
}

#[test]
fn the_first_screen_has_both_commands_for_a_clone() {
    let readme = page("README.md").text;
    let screen: Vec<&str> = readme.lines().take(25).collect();
    for command in ["$ cargo run --example quickstart", "$ tests/run"] {
        assert!(screen.iter().any(|line| line.starts_with(command)), "{command}: {screen:#?}");
    }
}

#[test]
fn every_page_is_in_the_table_of_contents_and_every_link_leads_somewhere() {
    let summary = page("docs/src/SUMMARY.md");
    let listed: Vec<String> = summary.links().into_iter().map(|(path, _)| path).collect();
    let mut sorted = listed.clone();
    sorted.sort();
    let found: Vec<String> = book().into_iter().map(|page| page.path).collect();
    assert_eq!(sorted, found, "docs/src/SUMMARY.md lists each page once");
    let anchors: BTreeMap<String, Vec<String>> =
        pages().into_iter().map(|page| (page.path.clone(), page.anchors())).collect();
    let mut count = 0;
    for page in pages() {
        for (path, anchor) in page.links() {
            assert!(Path::new(ROOT).join(&path).exists(), "{}: {path}", page.path);
            if let Some(anchor) = anchor {
                assert!(anchors[&path].contains(&anchor), "{}: {path}#{anchor}", page.path);
            }
            // mdbook copies nothing from outside of the book.
            let inside = path.starts_with("docs/src/") || !page.path.starts_with("docs/src/");
            assert!(inside, "{}: {path} is not in the book", page.path);
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn every_verb_has_its_line_and_every_line_its_verb() {
    let rows = page("docs/src/reference/verbs.md").rows("# Verbs");
    let told: BTreeSet<String> = rows.iter().flat_map(|row| first_words(&row[0])).collect();
    let command = Arguments::command();
    let known: BTreeSet<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    assert_eq!(told, known);
}

/// The first word of each span of a cell.
fn first_words(cell: &str) -> Vec<String> {
    let spans = cell.split('`').skip(1).step_by(2);
    spans.filter_map(|span| span.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn every_flag_has_its_line_with_its_variable_and_default() {
    let rows = page("docs/src/reference/flags.md").rows("# Flags and environment");
    let mut told: Vec<String> = Vec::new();
    let command = Arguments::command();
    for row in &rows {
        let (_, flag) = row[0].split_once("--").unwrap();
        let name = flag.split(['`', ' ']).next().unwrap();
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name)).unwrap();
        let short = arg.get_short().map(|short| format!("`-{short}`"));
        assert_eq!(row[0].split_once(", ").map(|(short, _)| short.to_owned()), short, "{name}");
        let help = arg.get_help().unwrap().to_string();
        let in_help =
            help.split_once("[env: ").map(|(_, rest)| rest.trim_end_matches(']').to_owned());
        let variable = arg.get_env().map(|env| env.to_str().unwrap().to_owned()).or(in_help);
        assert_eq!(row[1].replace('`', ""), variable.unwrap_or_default(), "{name}");
        for default in arg.get_default_values() {
            assert_eq!(row[2], format!("`{}`", default.to_str().unwrap()), "{name}");
        }
        told.push(name.to_owned());
    }
    let all = command.get_arguments().filter(|arg| arg.is_global_set() && !arg.is_hide_set());
    let known: Vec<String> = all.filter_map(|arg| arg.get_long().map(str::to_owned)).collect();
    let (told, known): (BTreeSet<_>, BTreeSet<_>) =
        (told.into_iter().collect(), known.into_iter().collect());
    assert_eq!(told, known);
}

#[test]
fn every_setting_that_is_shown_is_one() {
    let example = include_str!("../../../examples/config.toml");
    let page = page("docs/src/reference/config.md");
    let (_, text) = page.blocks().into_iter().find(|(kind, _)| *kind == "toml").unwrap();
    for line in text.lines() {
        let (key, _) = line.split_once(" = ").unwrap();
        assert!(example.contains(&format!("\n#{key} = ")), "{key}");
    }
}

/// The fields that the manual has below a heading.
fn fields_of_the_manual(section: &str) -> BTreeSet<String> {
    let manual = include_str!("../../../man/certctl.yaml.5").replace("\\-", "-");
    let (_, rest) = manual.split_once(&format!("\n.SH {section}\n")).unwrap();
    let section = rest.split("\n.SH ").next().unwrap();
    let fields = section.lines().filter_map(|line| line.strip_prefix(".BR ")?.split_once(" \" ("));
    fields.map(|(field, _)| field.to_owned()).collect()
}

/// `CERTCTL_REGENERATE=1 cargo test --test repo tables` writes them.
#[test]
fn the_tables_of_fields_and_providers_are_those_of_the_source() {
    let mut pages: BTreeMap<&str, String> = BTreeMap::new();
    for table in tables() {
        let text = pages.entry(table.page).or_insert_with(|| page(table.page).text);
        *text = table.put_into(text);
    }
    for (path, text) in pages {
        if std::env::var_os("CERTCTL_REGENERATE").is_some() {
            let mut file = File::create(Path::new(ROOT).join(path)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        let is_kept = page(path).text == text;
        assert!(is_kept, "{path} is stale: CERTCTL_REGENERATE=1 cargo test --test repo tables");
    }
}

#[test]
fn every_annotation_has_its_line() {
    let rows = page("docs/src/reference/annotations.md").rows("# Annotations");
    let told: BTreeSet<String> = rows.iter().flat_map(|row| first_words(&row[0])).collect();
    assert_eq!(told, fields_of_the_manual("ANNOTATIONS"));
}

#[test]
fn every_kind_of_output_has_its_line() {
    let rows = page("docs/src/reference/json.md").rows("# JSON output");
    let kinds = rows.iter().filter(|row| row.len() == 2 && row[0].starts_with('`'));
    let first = |row: &&Vec<String>| row[1] != "further fields" && !row[0].contains("certificate");
    let told: BTreeSet<String> = kinds.filter(first).flat_map(|row| first_words(&row[0])).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    let schema = command.args(["schema", "output"]).env_clear().output().unwrap().stdout;
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let all = schema["oneOf"].as_array().unwrap().iter();
    let kind = |object: &Value| object["properties"]["kind"]["const"].as_str().map(str::to_owned);
    let known: BTreeSet<String> = all.filter_map(kind).collect();
    assert_eq!(told, known);
}

#[test]
fn every_word_of_status_has_its_line() {
    let rows = page("docs/src/reference/status.md").rows("# Status");
    let told: BTreeSet<String> =
        rows.iter().flat_map(|row| row[0].split(", ").map(str::to_owned)).collect();
    let known: BTreeSet<String> = State::ALL.map(|state| state.word().to_owned()).into();
    assert_eq!(told, known);
}

#[test]
fn every_manifest_and_every_part_of_one_is_valid() {
    let crds = Crds::load();
    let guide = page("docs/src/guide/first-certificate.md");
    let whole = guide.blocks().into_iter().find(|(kind, _)| *kind == "yaml").unwrap().1;
    let mut count = 0;
    for page in pages() {
        for (_, text) in page.blocks().into_iter().filter(|(kind, _)| *kind == "yaml") {
            let text = complete(&whole, &text);
            let mut loaded = load(&[Source::Stdin(text.clone().into())], &Options::default());
            check_references(&mut loaded);
            let found: Vec<String> = loaded.diagnostics.iter().map(Diagnostic::render).collect();
            assert_eq!(found, Vec::<String>::new(), "{}: {text}", page.path);
            let both = (loaded.certificates.len(), loaded.issuers.len());
            assert_eq!(both, (1, 1), "{}: {text}", page.path);
            for object in objects(&text) {
                assert_eq!(crds.fault(&object), None, "{}: {text}", page.path);
            }
            count += 1;
        }
    }
    assert!(count >= 8, "{count}");
}

/// A part of a manifest within the whole one: the Certificate, its metadata, or the solvers of the
/// Issuer.
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
    let is_whole = part.contains("kind: Issuer\n");
    if is_whole { part.to_owned() } else { format!("{issuer}---\n{part}") }
}

#[test]
fn every_file_that_is_named_is_there() {
    let ours = [
        "examples",
        "tests",
        "man",
        "completions",
        "src",
        "packaging",
        ".ci",
        "docs",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ];
    let mut count = 0;
    let recipes = include_str!("../../../justfile");
    for page in pages() {
        for span in page.spans() {
            let path = span.split_whitespace().next().unwrap_or_default();
            let first = path.split('/').next();
            if first.is_some_and(|first| ours.contains(&first) && path.contains(['/', '.'])) {
                assert!(Path::new(ROOT).join(path).exists(), "{}: {span}", page.path);
                count += 1;
            }
            if let Some(recipe) = span.strip_prefix("just ") {
                assert!(recipes.contains(&format!("\n{recipe}:")), "{}: {span}", page.path);
            }
        }
    }
    assert!(count > 40, "{count}");
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
    let rows = page("docs/src/reference/exit-codes.md").rows("# Exit codes");
    let codes: Vec<String> = rows.into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(codes, exit_codes());
}
