//! Whole manifests: what they become, and every error text with its place.

use std::path::{Path, PathBuf};

use super::*;
use crate::resource::*;

/// Loads text as standard input, references checked.
fn loaded(text: &str) -> Loaded {
    let mut loaded = load(&[Source::Stdin(text.as_bytes().to_vec())], &Options::default());
    check_references(&mut loaded);
    loaded
}

/// Each finding as `code line:column field: message`.
fn findings(loaded: &Loaded) -> Vec<String> {
    let line =
        |d: &Diagnostic| format!("{} {}:{} {}: {}", d.code, d.line, d.column, d.field, d.message);
    loaded.diagnostics.iter().map(line).collect()
}

fn certificate(spec: &str) -> String {
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: web\nspec:\n{spec}"
    )
}

fn issuer(acme: &str) -> String {
    let acme: String = acme.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata:\n  name: le\nspec:\n  acme:\n{acme}"
    )
}

const GOOD: &str = "secretName: web-tls\nissuerRef: {name: le}\ndnsNames: [www.example.com]";
const ACME: &str = "server: https://acme.example/dir\nprivateKeySecretRef: {name: key}";

/// Findings of a document alone, without those about other documents.
fn alone(text: &str) -> Vec<String> {
    findings(&load(&[Source::Stdin(text.as_bytes().to_vec())], &Options::default()))
}

/// Each line of a table: what is added to a good document, and the findings.
fn check_table(base: &str, wrap: fn(&str) -> String, table: &[(&str, &[&str])]) {
    for (more, expected) in table {
        // A field of the table replaces the same field of the base.
        let kept = base.lines().filter(|line| {
            let key = line.split(':').next().unwrap();
            !more.lines().any(|own| own.split(':').next() == Some(key))
        });
        let spec: Vec<&str> =
            kept.chain(more.lines().filter(|l| !l.ends_with("!absent"))).collect();
        let found = alone(&wrap(&spec.join("\n")));
        let without_place: Vec<&str> =
            found.iter().map(|f| f.splitn(3, ' ').nth(2).unwrap()).collect();
        assert_eq!(without_place, *expected, "\n{more}");
    }
}

#[test]
fn a_first_look() {
    for spec in [GOOD] {
        let text = format!(
            "{}---\n{}",
            certificate(spec),
            issuer(&format!("{ACME}\nsolvers: [{{http01: {{ingress: {{}}}}}}]"))
        );
        let l = loaded(&text);
        assert_eq!(findings(&l), Vec::<String>::new());
        assert_eq!(l.certificates.len(), 1);
    }
}
