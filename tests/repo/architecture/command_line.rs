//! The folders of `cli`: verbs use the others and never the reverse, and none is in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::circles;
use super::imports::{Import, imports};
use super::tree::Tree;

/// What may not know a verb; and what has words, which may not know how they are shown.
const BELOW_VERBS: &[&str] = &["words", "render", "ask", "completion", "man"];

/// The folder of `cli` that a file is in, or the file beside them, without its ending.
fn part(path: &str) -> Option<&str> {
    path.strip_prefix("src/cli/")?.split(['/', '.']).next()
}

/// The parts that each part of `cli` imports. A name counts where it is written and where it is
/// defined: a re-export hides no arrow. The root of `cli` puts all together, and does not count.
fn arrows(imports: &[Import]) -> BTreeMap<&str, BTreeSet<&str>> {
    let of_cli =
        || imports.iter().filter(|import| part(&import.from).is_some_and(|of| of != "mod"));
    let parts: BTreeSet<&str> =
        of_cli().flat_map(|import| [part(&import.from), part(&import.to)]).flatten().collect();
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in of_cli() {
        let mut written = import.name.split("::");
        let written = if written.next() == Some("cli") { written.next() } else { None };
        let to = [part(&import.to), written.filter(|part| parts.contains(part))];
        let from = part(&import.from).unwrap_or_default();
        let to = to.into_iter().flatten().filter(|to| *to != from && *to != "mod");
        arrows.entry(from).or_default().extend(to);
    }
    arrows
}

fn faults(imports: &[Import]) -> Vec<String> {
    let arrows = arrows(imports);
    let has = |from: &str, to: &str| arrows.get(from).is_some_and(|all| all.contains(to));
    let of_verbs = BELOW_VERBS.iter().filter(|from| has(from, "verbs"));
    let mut faults: Vec<String> = of_verbs.map(|from| format!("{from} imports verbs")).collect();
    if has("words", "render") {
        faults.push("words imports render".to_owned());
    }
    faults.extend(circles(&arrows).iter().map(|circle| format!("in a circle: {circle:?}")));
    faults
}

#[test]
fn verbs_use_the_other_folders_and_no_folder_of_cli_is_in_a_circle() {
    let imports = imports(&Tree::read());
    assert!(part("src/cli/verbs/plan/mod.rs") == Some("verbs") && !arrows(&imports).is_empty());
    let faults = faults(&imports);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn an_arrow_back_to_the_verbs_is_seen_through_a_re_export() {
    let of = |words: &str, render: &str, shell: &str| {
        let tree = Tree::of(&[
            ("src/cli/mod.rs", "pub mod verbs; pub mod words; pub mod render; pub mod shell;"),
            ("src/cli/verbs/mod.rs", "pub mod status; pub use crate::cli::words::Word;"),
            ("src/cli/verbs/status.rs", "use crate::cli::shell::Shell; pub struct Width(Shell);"),
            ("src/cli/words/mod.rs", &format!("{words} pub struct Word;")),
            ("src/cli/render/mod.rs", render),
            ("src/cli/shell.rs", &format!("{shell} pub struct Shell;")),
        ]);
        faults(&imports(&tree))
    };
    assert_eq!(of("", "use crate::cli::words::Word; fn f(_: Word) {}", ""), [""; 0]);
    let through = "use crate::cli::verbs::Word; fn f(_: Word) {}";
    assert_eq!(of("", through, "").first().map(String::as_str), Some("render imports verbs"));
    let back = "use crate::cli::verbs::status::Width; fn f(_: Width) {}";
    assert_eq!(of(back, "", "").first().map(String::as_str), Some("words imports verbs"));
    let shown = "use crate::cli::render::Page; fn f(_: Page) {}";
    assert_eq!(of(shown, "pub struct Page;", ""), ["words imports render"]);
    assert_eq!(of("", "", back), ["in a circle: {\"shell\", \"verbs\"}"]);
}
