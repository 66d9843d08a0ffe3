//! Promise: a module imports what the table in `src/lib.rs` allows, the files of one module do not
//! import each other in a circle, modules, types and public functions have docs, and each file is
//! declared by a module.
//!
//! The sources are read as text. What only tests compile does not count. A name that comes through
//! a re-export counts as an import of the file that defines it, so a `mod.rs` that only re-exports
//! is in no circle; `mod x;` is no import.

#![expect(clippy::wildcard_enum_match_arm, reason = "an item that defines no name is passed over")]

mod command_line;
mod declared;
mod imports;
mod issuers;
mod literals;
mod store;
mod tree;
mod validation_method;

use std::collections::{BTreeMap, BTreeSet};

use certctl::cli::args::VERBS;
use declared::strays;
use imports::{Import, imports};
use literals::literals;
use syn::visit::{self, Visit};
use tree::{Tree, sources};

/// The circles that are there: the files, and why. A file that is in no circle any more must leave
/// the list, so that the list only shrinks.
const CIRCLES: &[(&[&str], &str)] = &[(
    &[
        "src/rehearsal/account.rs",
        "src/rehearsal/authorization.rs",
        "src/rehearsal/certificate.rs",
        "src/rehearsal/challenge.rs",
        "src/rehearsal/directory.rs",
        "src/rehearsal/dispatch.rs",
        "src/rehearsal/dns01.rs",
        "src/rehearsal/faults.rs",
        "src/rehearsal/faults/spoil.rs",
        "src/rehearsal/finalize.rs",
        "src/rehearsal/http01.rs",
        "src/rehearsal/jws.rs",
        "src/rehearsal/mod.rs",
        "src/rehearsal/options.rs",
        "src/rehearsal/order.rs",
        "src/rehearsal/route.rs",
        "src/rehearsal/server.rs",
        "src/rehearsal/tlsalpn01.rs",
        "src/rehearsal/validate.rs",
        "src/rehearsal/world.rs",
    ],
    "the built-in CA is a small server around one shared world; it stays",
)];

/// The rows of the table `module | may import` in the documentation of `src/lib.rs`.
fn table(crate_docs: &str) -> BTreeMap<String, BTreeSet<String>> {
    let words = |cell: &str| -> BTreeSet<String> {
        let words = cell.split(',').map(|word| word.trim_matches([' ', '`', '[', ']']).to_owned());
        words.filter(|word| !word.is_empty()).collect()
    };
    let lines = crate_docs.lines().map(str::trim);
    let rows = lines.filter_map(|line| line.strip_prefix('|')?.strip_suffix('|')?.split_once('|'));
    let rows = rows.skip_while(|(head, _)| head.trim() != "module").skip(2);
    rows.map(|(module, allowed)| (words(module).pop_first().unwrap(), words(allowed))).collect()
}

/// What is wrong with the imports between modules, by the table.
fn faults_between_modules(
    table: &BTreeMap<String, BTreeSet<String>>,
    modules: &BTreeSet<String>,
    imports: &[Import],
) -> Vec<String> {
    let mut faults = Vec::new();
    for module in modules {
        if !table.contains_key(module) {
            faults.push(format!("{module} has no row"));
        }
    }
    for (module, allowed) in table {
        if !modules.contains(module) {
            faults.push(format!("the row {module} names no module"));
        }
        let of_module = imports.iter().filter(|import| import.from_module == *module);
        let mut used = BTreeSet::new();
        for import in of_module.filter(|import| import.to_module != *module) {
            used.insert(import.to_module.clone());
            if !allowed.contains(&import.to_module) {
                let Import { from, to_module, name, .. } = import;
                faults.push(format!("{module} may not import {to_module}: {from} uses {name}"));
            }
        }
        for unused in allowed.difference(&used) {
            faults.push(format!("{module} may import {unused} and does not: take it from its row"));
        }
    }
    let arrows = table.iter().map(|(module, allowed)| (module.as_str(), allowed));
    let arrows = arrows.map(|(module, to)| (module, to.iter().map(String::as_str).collect()));
    for circle in circles(&arrows.collect()) {
        faults.push(format!("modules in a circle: {circle:?}"));
    }
    faults
}

/// The sets of nodes that reach each other.
fn circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<BTreeSet<&'a str>> {
    let reached = |start: &'a str| {
        let mut reached = BTreeSet::new();
        let mut next = vec![start];
        while let Some(node) = next.pop() {
            let targets = arrows.get(node).into_iter().flatten();
            next.extend(targets.filter(|target| reached.insert(**target)));
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|node| (*node, reached(node))).collect();
    let is_way = |from: &str, to: &str| reached.get(from).is_some_and(|to_all| to_all.contains(to));
    let in_a_circle = arrows.keys().filter(|node| is_way(node, node));
    let circle = |node: &&'a str| {
        let mates = reached.get(node).into_iter().flatten();
        mates.copied().filter(|mate| is_way(mate, node)).collect()
    };
    in_a_circle.map(circle).collect()
}

/// The circles between the files of one module that are in no listed one, and listed files that
/// are in no circle any more.
fn faults_between_files(listed: &[(&[&str], &str)], imports: &[Import]) -> Vec<String> {
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports.iter().filter(|import| import.from_module == import.to_module) {
        arrows.entry(&import.from).or_default().insert(&import.to);
    }
    let mut found = circles(&arrows);
    let in_circles: BTreeSet<&str> = found.iter().flatten().copied().collect();
    let mut faults = Vec::new();
    for (files, _) in listed {
        for file in files.iter().filter(|file| !in_circles.contains(*file)) {
            faults.push(format!("{file} is in no circle any more: take it from the list"));
        }
        found.retain(|circle| !circle.iter().all(|file| files.contains(file)));
    }
    for circle in found {
        faults.push(format!("files in a circle that is not listed: {circle:?}"));
        let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for import in imports {
            let (from, to) = (import.from.as_str(), import.to.as_str());
            if circle.contains(from) && circle.contains(to) {
                names.entry(format!("    {from} -> {to}")).or_default().insert(&import.name);
            }
        }
        faults.extend(names.iter().map(|(arrow, names)| format!("{arrow}: {names:?}")));
    }
    faults
}

#[test]
fn a_module_imports_what_the_table_in_the_crates_documentation_allows() {
    let tree = Tree::read();
    let faults = faults_between_modules(&table(&tree.crate_docs()), &tree.tops(), &imports(&tree));
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// What performing an effect may import of the controllers: the types of effects, outcomes and
/// errors. All else is decided before, and is in the effect.
const OF_EFFECTS: &[&str] =
    &["src/controller/effect.rs", "src/controller/secret.rs", "src/controller/step.rs"];

#[test]
fn performing_an_effect_asks_no_controller() {
    let imports = imports(&Tree::read());
    let performs = |import: &&Import| import.from.starts_with("src/engine/perform");
    let of_controllers = imports.iter().filter(performs).filter(|i| i.to_module == "controller");
    let decides = |import: &&Import| !OF_EFFECTS.contains(&import.to.as_str());
    let faults: Vec<String> =
        of_controllers.filter(decides).map(|i| format!("{} uses {}", i.from, i.name)).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn files_of_one_module_do_not_import_each_other_in_a_circle() {
    let faults = faults_between_files(CIRCLES, &imports(&Tree::read()));
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// What gives an exit code in `cli`, beside `exit.rs`: the caller of the function that makes it of endings,
/// the program itself, and what reads how another certctl ended.
const OF_EXIT_CODES: &[&str] = &[
    "src/cli/mod.rs: refuse",
    "src/cli/mod.rs: run",
    "src/cli/shell.rs: code_of",
    "src/cli/verbs/service/mod.rs: after_stop",
    "src/cli/verbs/service/program.rs: code_of",
];

/// The functions that return an exit code, and those that call the one that makes it.
#[derive(Default)]
struct ExitCodes {
    function: String,
    is_returned: bool,
    returning: BTreeSet<String>,
    making: BTreeSet<String>,
}

impl<'a> Visit<'a> for ExitCodes {
    fn visit_signature(&mut self, signature: &'a syn::Signature) {
        self.function = signature.ident.to_string();
        self.is_returned = true;
        self.visit_return_type(&signature.output);
        self.is_returned = false;
    }

    fn visit_path_segment(&mut self, segment: &'a syn::PathSegment) {
        if segment.ident == "ExitCode" && self.is_returned {
            self.returning.insert(self.function.clone());
        } else if segment.ident == "of_endings" {
            self.making.insert(self.function.clone());
        }
        visit::visit_path_segment(self, segment);
    }
}

#[test]
fn endings_become_an_exit_code_in_one_place() {
    let tree = Tree::read();
    let (mut returning, mut making) = (BTreeSet::new(), BTreeSet::new());
    let of_cli = tree.files.iter().filter(|file| file.path.starts_with("src/cli/"));
    for file in of_cli.filter(|file| file.path != "src/cli/exit.rs") {
        let mut found = ExitCodes::default();
        found.visit_file(&file.syntax);
        returning.extend(found.returning.iter().map(|name| format!("{}: {name}", file.path)));
        making.extend(found.making.iter().map(|name| format!("{}: {name}", file.path)));
    }
    let returning: Vec<&str> = returning.iter().map(String::as_str).collect();
    assert_eq!(returning, OF_EXIT_CODES);
    assert_eq!(making, BTreeSet::from(["src/cli/shell.rs: code_of".to_owned()]));
}

/// The commands in words in the literals of a file: ours, followed by one of these verbs, and those that
/// change who may use a file, which `host` may name as programs.
fn commands_in(path: &str, texts: &[String], verbs: &BTreeSet<String>) -> Vec<String> {
    let is_plain = |c: char| !c.is_alphanumeric() && c != '-' && c != '_';
    let is_command = |text: &&String| {
        let words: Vec<&str> =
            text.split_whitespace().map(|word| word.trim_matches(is_plain)).collect();
        let is_ours = |two: &[&str]| two[0] == "certctl" && verbs.contains(two[1]);
        let mut parts = text.split(is_plain);
        words.windows(2).any(is_ours)
            || (!path.starts_with("src/host/") && parts.any(|part| OF_RIGHTS.contains(&part)))
    };
    texts.iter().filter(is_command).map(|text| format!("{path}: {text}")).collect()
}

const OF_RIGHTS: [&str; 4] = ["sudo", "chown", "chmod", "setfacl"];

#[test]
fn no_command_in_words_stands_below_cli() {
    let verbs: BTreeSet<String> =
        (VERBS.tree)().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let tree = Tree::read();
    let below = tree.files.iter().filter(|file| !file.path.starts_with("src/cli/"));
    let found: Vec<String> =
        below.flat_map(|file| commands_in(&file.path, &literals(&file.syntax), &verbs)).collect();
    assert!(found.is_empty(), "an intent is a `Fix`:\n{}", found.join("\n"));
}

#[test]
fn a_command_in_words_is_found_wherever_code_has_it() {
    let text = "/// Run `certctl issue`, or chmod it.
        #[derive(Error)] #[error(\"try certctl issue {0}\")] struct Fault(u8);
        const LINE: &str = \"certctl reads this\";
        fn line() -> String { format!(\"{}chmod 0640 {}\", own(\"by sudo\"), 1) }
        #[cfg(test)] mod tests { const OF_TESTS: &str = \"certctl issue web\"; }";
    let texts = literals(&syn::parse_file(text).unwrap());
    let verbs = BTreeSet::from(["issue".to_owned()]);
    let expected = ["try certctl issue {0}", "{}chmod 0640 {}", "by sudo"];
    assert_eq!(
        commands_in("src/store/output.rs", &texts, &verbs),
        expected.map(|text| format!("src/store/output.rs: {text}"))
    );
    assert_eq!(commands_in("src/host/rights.rs", &texts, &verbs).len(), 1);
}

#[test]
fn modules_types_and_public_functions_have_docs() {
    let bare = Tree::read().without_docs();
    assert!(bare.is_empty(), "no docs:\n{}", bare.join("\n"));
}

/// The roots of the crate, of the binary, and of what runs instead of them.
const SOURCES: &[&str] = &["src/lib.rs", "src/main.rs"];
const TESTS: &[&str] = &[
    "tests/sim/main.rs",
    "tests/flow/main.rs",
    "tests/golden/main.rs",
    "tests/servers/main.rs",
    "tests/repo/main.rs",
    "tests/bare_protocol/example.rs",
];

/// The files of a folder that no module declares.
fn strays_in(folder: &str, roots: &[&str]) -> Vec<String> {
    let sources = sources(folder);
    let sources: Vec<_> = sources.iter().map(|(path, text)| (&**path, &**text)).collect();
    strays(roots, &sources)
}

#[test]
fn each_file_is_declared_by_a_module() {
    let strays = strays_in("src", SOURCES);
    assert!(strays.is_empty(), "declared by no module:\n{}", strays.join("\n"));
}

#[test]
fn each_file_of_tests_is_part_of_one_of_five_executables() {
    let strays = strays_in("tests", TESTS);
    assert!(strays.is_empty(), "in no executable:\n{}", strays.join("\n"));
}

#[test]
fn a_declaration_is_followed_to_its_file() {
    let files = [
        (
            "src/lib.rs",
            "mod one; mod two { mod inner; }
             #[cfg_attr(feature = \"testing\", path = \"chosen.rs\")] mod usual;
             #[path = \"elsewhere/named.rs\"] mod named;
             #[path = \"../shared/far.rs\"] mod far;
             macro_rules! list { ($make:ident) => { $make! { a { Own own \"own\" } b {} } } }",
        ),
        (
            "src/one/mod.rs",
            "#[cfg(test)] mod tests;
             macro_rules! make { (a {$($x:ident $y:ident $z:literal)*} b {}) => { $(mod $y;)* } }
             list!(make);",
        ),
        ("src/one/tests.rs", "mod deep; list!(make);"),
        ("src/one/tests/deep.rs", ""),
        ("src/one/own.rs", ""),
        ("src/two/inner.rs", ""),
        ("src/chosen.rs", ""),
        ("src/usual.rs", ""),
        ("src/elsewhere/named.rs", ""),
        // Not declared.
        ("src/named.rs", ""),
        ("src/inner.rs", "mod below;"),
        ("src/inner/below.rs", ""),
        ("src/one/tests/own.rs", ""),
        ("src/one/Own.rs", ""),
        ("shared/far.rs", ""),
        ("other/root.rs", "mod beside;"),
        ("other/beside.rs", ""),
        // Not declared.
        ("shared/near.rs", ""),
    ];
    let expected = [
        "shared/near.rs",
        "src/inner.rs",
        "src/inner/below.rs",
        "src/named.rs",
        "src/one/Own.rs",
        "src/one/tests/own.rs",
    ];
    assert_eq!(strays(&["src/lib.rs", "other/root.rs"], &files), expected);
}

#[test]
fn a_name_is_followed_to_the_file_that_defines_it() {
    let tree = Tree::of(&[
        ("src/lib.rs", "pub mod low; pub mod high;"),
        (
            "src/low/mod.rs",
            "mod ends; mod error; #[cfg(test)] mod lab; pub use ends::End; pub use error::Fault as Error;
             /// `use crate::high::NotAnImport;`
             pub const TEXT: &str = \"use crate::high::NotAnImport;\";
             #[cfg(test)] mod tests { use crate::high::NotAnImport; }",
        ),
        ("src/low/ends.rs", "use super::Error; pub enum End { Of(Error) }"),
        ("src/low/error.rs", "pub struct Fault;"),
        ("src/low/lab.rs", "use crate::high::NotAnImport;"),
        (
            "src/high/mod.rs",
            "mod one; mod two; use crate::low::{self, Error as Other};
             const ONE: u8 = 1; fn f() { println!(\"{:?}\", two::two()); low::End::Of(Other); }",
        ),
        ("src/high/one.rs", "#[serde(with = \"super::two::text\")] struct A; const B: u8 = super::ONE;"),
        ("src/high/two.rs", "pub mod text { use super::super::one::A; } pub fn two() {}"),
    ]);
    let found: BTreeSet<String> =
        imports(&tree).iter().map(|i| format!("{} -> {}: {}", i.from, i.to, i.name)).collect();
    let expected = [
        "src/high/mod.rs -> src/high/two.rs: high::two::two",
        "src/high/mod.rs -> src/low/ends.rs: low::End::Of",
        "src/high/mod.rs -> src/low/error.rs: low::Error",
        "src/high/mod.rs -> src/low/mod.rs: low",
        "src/high/one.rs -> src/high/mod.rs: high::ONE",
        "src/high/one.rs -> src/high/two.rs: high::two::text",
        "src/high/two.rs -> src/high/one.rs: high::one::A",
        "src/low/ends.rs -> src/low/error.rs: low::Error",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
    assert_eq!(
        faults_between_modules(&table(""), &tree.tops(), &[]),
        ["high has no row", "low has no row"]
    );
    let docs = "| module | may import |\n|---|---|\n| `high` | |\n| `low` | `high` |\n";
    assert_eq!(
        faults_between_modules(&table(docs), &["high".into(), "low".into()].into(), &[]),
        ["low may import high and does not: take it from its row"]
    );
}
