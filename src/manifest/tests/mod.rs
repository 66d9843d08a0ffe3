//! Whole manifests: the resulting objects and diagnostics.

mod cluster;
mod files;
mod hostile;
mod messages;

use super::{Diagnostic, Loaded, Options, Source, check_references, load};

/// Loads text as standard input.
fn read(text: &str) -> Loaded {
    load(&[Source::Stdin(text.as_bytes().to_vec())], &Options::default())
}

/// Loads a fixture, references checked.
fn fixture(name: &str) -> Loaded {
    let path = format!("tests/fixtures/manifests/{name}");
    let mut loaded = load(&[Source::File(path.into())], &Options::default());
    check_references(&mut loaded);
    loaded
}

/// Each finding as `code line:column field: message`.
fn findings(loaded: &Loaded) -> Vec<String> {
    let line =
        |d: &Diagnostic| format!("{} {}:{} {}: {}", d.code, d.line, d.column, d.field, d.message);
    loaded.diagnostics.iter().map(line).collect()
}

/// Findings of a text, references unchecked.
fn alone(text: &str) -> Vec<String> {
    findings(&read(text))
}
