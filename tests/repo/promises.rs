//! The design documents, row by row, and the tests that show each of them.
//!
//! `fixtures/design-documents.tsv` has one line per row: A, orders and challenges; B, their
//! resources; C, the certificate's controllers; D, the backoff. Its columns are the row, what the
//! design requires, the tests as `path::function` with a space between two, or `-`, and the reason
//! where no test shows it, or not all of it, or something else was decided. This test holds the
//! table against the tree, so that a test which is renamed or removed is missed here.

use std::collections::BTreeSet;
use std::path::Path;

const HEAD: &str = "row\twhat the design asks\ttests\treason";

/// The rows, in their order.
fn rows() -> impl Iterator<Item = String> {
    let documents = [('A', 18), ('B', 22), ('C', 37), ('D', 22)];
    documents.into_iter().flat_map(|(letter, last)| (1..=last).map(move |n| format!("{letter}{n}")))
}

/// What is wrong with a table: one line each.
fn mistakes(table: &str, wanted: impl Iterator<Item = String>, tree: &Path) -> Vec<String> {
    let mut lines = table.lines();
    let mut found = Vec::new();
    if lines.next() != Some(HEAD) {
        found.push("the head of the table is missing".to_owned());
    }
    let mut wanted = wanted.fuse();
    for line in lines {
        let expected = wanted.next().unwrap_or_else(|| "the end".to_owned());
        let columns: Vec<&str> = line.split('\t').collect();
        let [row, asks, tests, reason] = columns.as_slice() else {
            found.push(format!("{expected}: {} columns", columns.len()));
            continue;
        };
        if *row != expected {
            found.push(format!("{row} is where {expected} belongs"));
        }
        if asks.trim().is_empty() {
            found.push(format!("{row}: asks for nothing"));
        }
        if *tests == "-" && reason.trim().is_empty() {
            found.push(format!("{row}: neither a test nor a reason"));
        }
        let mut named = BTreeSet::new();
        for test in tests.split(' ').filter(|test| *test != "-") {
            if !named.insert(test) {
                found.push(format!("{row}: `{test}` is named twice"));
            }
            if let Err(why) = exists(test, tree) {
                found.push(format!("{row}: `{test}`: {why}"));
            }
        }
    }
    found.extend(wanted.map(|row| format!("{row} is missing")));
    found
}

/// Whether `path::function` is a test that runs.
fn exists(test: &str, tree: &Path) -> Result<(), String> {
    let (path, function) = test.split_once("::").ok_or("it is no `path::function`")?;
    let source = std::fs::read_to_string(tree.join(path)).map_err(|error| error.to_string())?;
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let signatures = [format!("fn {function}("), format!("async fn {function}(")];
    let place = lines
        .iter()
        .position(|line| signatures.iter().any(|signature| line.starts_with(signature)))
        .ok_or("there is no such function")?;
    let above = lines.iter().take(place).rev();
    let attributes: Vec<&&str> = above
        .take_while(|line| !line.is_empty() && (line.starts_with("//") || !line.ends_with('}')))
        .collect();
    if !attributes.iter().any(|line| **line == "#[test]" || line.starts_with("#[tokio::test")) {
        return Err("it is no test".to_owned());
    }
    if attributes.iter().any(|line| line.starts_with("#[ignore")) {
        return Err("it is not run".to_owned());
    }
    Ok(())
}

fn tree() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_row_of_the_design_documents_has_a_test_or_a_reason() {
    let path = tree().join("tests/fixtures/design-documents.tsv");
    let table = std::fs::read_to_string(path).unwrap();
    let found = mistakes(&table, rows(), tree());
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(rows().count(), 99);
}

#[test]
fn a_table_with_mistakes_is_not_taken() {
    let here = |function: &str| format!("tests/repo/promises.rs::{function}");
    let good = here("a_table_with_mistakes_is_not_taken");
    let cases = [
        (format!("A1\ta\t{good}\t"), vec![]),
        ("A1\ta\t-\tbecause".to_owned(), vec![]),
        ("A1\ta\t-\t ".to_owned(), vec!["A1: neither a test nor a reason"]),
        ("A1\t\t-\tbecause".to_owned(), vec!["A1: asks for nothing"]),
        ("A1\ta\t-".to_owned(), vec!["A1: 3 columns"]),
        ("A2\ta\t-\tbecause".to_owned(), vec!["A2 is where A1 belongs"]),
        (String::new(), vec!["A1 is missing"]),
        ("A1\ta\t-\tx\nA1\ta\t-\tx".to_owned(), vec!["A1 is where the end belongs"]),
        (
            format!("A1\ta\t{good} {good}\t"),
            vec!["A1: `tests/repo/promises.rs::a_table_with_mistakes_is_not_taken` is named twice"],
        ),
        (
            format!("A1\ta\t{}\t", here("nobody_wrote_this")),
            vec!["A1: `tests/repo/promises.rs::nobody_wrote_this`: there is no such function"],
        ),
        (
            format!("A1\ta\t{}\t", here("tree")),
            vec!["A1: `tests/repo/promises.rs::tree`: it is no test"],
        ),
        (
            "A1\ta\ttests/nowhere.rs::a\tbecause".to_owned(),
            vec!["A1: `tests/nowhere.rs::a`: No such file or directory (os error 2)"],
        ),
        ("A1\ta\ta\tx".to_owned(), vec!["A1: `a`: it is no `path::function`"]),
        ("A1\ta\t\tx".to_owned(), vec!["A1: ``: it is no `path::function`"]),
    ];
    for (table, expected) in cases {
        let found = mistakes(&format!("{HEAD}\n{table}"), rows().take(1), tree());
        assert_eq!(found, expected, "{table:?}");
    }
    assert_eq!(mistakes("", [].into_iter(), tree()), ["the head of the table is missing"]);
}

#[test]
fn only_a_function_that_runs_as_a_test_is_one() {
    let scratch = tempfile::tempdir().unwrap();
    let text = "#[test]\nfn one() {}\n#[test]\n#[ignore]\nfn two() {}\nfn three() {}\n\n\
                #[tokio::test(start_paused = true)]\n// {}\nasync fn four() {}\n#[test]\n\n\
                // fn six()\nfn five() {}\n";
    #[expect(clippy::disallowed_methods, reason = "a file to be read, not state")]
    std::fs::write(scratch.path().join("a.rs"), text).unwrap();
    let cases = [
        ("one", None),
        ("two", Some("it is not run")),
        ("three", Some("it is no test")),
        ("four", None),
        ("five", Some("it is no test")),
        ("six", Some("there is no such function")),
        ("on", Some("there is no such function")),
    ];
    for (function, expected) in cases {
        let found = exists(&format!("a.rs::{function}"), scratch.path()).err();
        assert_eq!(found.as_deref(), expected, "{function}");
    }
}
