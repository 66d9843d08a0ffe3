//! Promise: the pages in `man/` are shown without a complaint by the two programs that show pages.

use std::path::{Path, PathBuf};
use std::process::Command;

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let entries = std::fs::read_dir(folder).unwrap();
    let pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(pages.len() > 10, "{pages:?}");
    pages
}

/// All that a program says of a page.
fn said(program: &str, words: &[&str], page: &Path) -> String {
    let output = Command::new(program).args(words).arg(page).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}; tests/run installs it"));
    [output.stdout, output.stderr].map(|part| String::from_utf8(part).unwrap()).concat()
}

#[test]
fn groff_has_nothing_to_warn_about() {
    for page in pages() {
        let said = said("groff", &["-ww", "-man", "-Tutf8", "-Kutf8", "-z"], &page);
        assert_eq!(said, "", "{}", page.display());
    }
}

#[test]
fn mandoc_warns_of_the_missing_date_alone() {
    for page in pages() {
        let said = said("mandoc", &["-Tlint", "-Wwarning"], &page);
        // There is no date on purpose; of the others, both are about paragraphs that clap_mangen
        // asks for twice.
        let known = ["missing date, using \"\"", "skipping paragraph macro: br"];
        let mut lines = said.lines();
        let new = lines.find(|line| !known.iter().any(|known| line.contains(known)));
        assert_eq!(new, None, "{said}");
    }
}
