use std::collections::BTreeSet;

use super::*;
use crate::manifest::{self, Diagnostic, Options, Source};

/// Diagnostics of a manifest that has nothing but this below the path.
fn diagnostics(kind: Kind, path: &str, value: &str) -> Vec<Diagnostic> {
    let parts: Vec<&str> = if path.is_empty() { Vec::new() } else { path.split('.').collect() };
    let mut yaml = value.to_owned();
    for end in (0..parts.len()).rev() {
        let here = parts[..=end].join(".");
        let is_list = all(kind).iter().any(|f| f.path == here && f.kind == Type::Objects);
        yaml = if is_list {
            format!("{}: [{yaml}]", parts[end])
        } else {
            format!("{}: {yaml}", parts[end])
        };
        if end > 0 && parts[end - 1] == "azureDNS" {
            // Without these, the manifest layer checks no further fields.
            yaml = format!("{{subscriptionID: a, resourceGroupName: b, {yaml}}}");
        } else if end > 0 {
            yaml = format!("{{{yaml}}}");
        }
    }
    let name = if path.starts_with("metadata") { "" } else { "metadata: {name: a}\n" };
    let text = format!("apiVersion: {}\nkind: {}\n{name}{yaml}\n", kind.api_version(), kind.name());
    let loaded = manifest::load(&[Source::Stdin(text.into_bytes())], &Options::default());
    loaded.diagnostics
}

/// The fields below a path, as the manifest layer lists them in its error for an unknown field.
fn known_below(kind: Kind, path: &str) -> BTreeSet<String> {
    let value = if path.is_empty() { "qqqqqqqq: 1" } else { "{qqqqqqqq: 1}" };
    let all = diagnostics(kind, path, value);
    let found = all.iter().find(|found| found.code == "E0102");
    let help = found.and_then(|found| found.help.as_deref()).unwrap_or_default();
    let names = help.strip_prefix("its fields: ").unwrap_or("unchecked");
    names.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_table_has_the_fields_that_are_accepted_and_no_others() {
    let mut differing = Vec::new();
    for kind in Kind::ALL {
        let objects = all(kind)
            .into_iter()
            .filter(|field| matches!(field.kind, Type::Object | Type::Objects));
        for path in objects.map(|field| field.path).chain([""]) {
            let mut explained: BTreeSet<String> =
                below(kind, path).iter().map(|field| key_of(field.path).to_owned()).collect();
            if path.is_empty() {
                explained.extend(["apiVersion".to_owned(), "kind".to_owned()]);
            }
            let known = known_below(kind, path);
            if explained != known {
                differing.push((kind, path, explained, known));
            }
        }
    }
    assert_eq!(differing, Vec::new());
}

#[test]
fn every_example_is_accepted_where_it_stands() {
    let mut all_refused = Vec::new();
    for kind in Kind::ALL {
        for field in all(kind).iter().filter(|field| !field.example.is_empty()) {
            let annotation = field.path.strip_prefix(ANNOTATIONS);
            let (path, value) = match (annotation, field.kind) {
                (Some(key), _) => ("metadata.annotations", format!("{{{key}: {}}}", field.example)),
                (None, Type::TextMap) => (field.path, format!("{{{}}}", field.example)),
                (None, _) if field.example.starts_with(['[', '{', '\'']) => {
                    (field.path, field.example.to_owned())
                }
                (None, Type::Text) => (field.path, format!("'{}'", field.example)),
                (None, _) => (field.path, field.example.to_owned()),
            };
            if path == "spec.acme.caBundle" {
                continue;
            }
            let end = key_of(path);
            let refused = diagnostics(kind, path, &value).into_iter().find(|found| {
                let wrong = ["E0103", "E0105", "E0109", "E0111"].contains(&found.code);
                wrong && found.field.contains(end) || found.code == "E0102"
            });
            all_refused.extend(refused.map(|found| format!("{kind:?} {path}: {}", found.message)));
        }
    }
    assert_eq!(all_refused, Vec::<String>::new());
}

#[test]
fn a_page_says_what_a_field_is() {
    let expected = "\
KIND:      Certificate
VERSION:   cert-manager.io/v1
FIELD:     renewBefore <string>
MEANING:   The time before expiry at which certctl renews, or earlier if the CA suggests it (ARI). At least 5m and less than the lifetime; excludes renewBeforePercentage.
VALUES:    hours, minutes and seconds, such as 2160h or 1h30m; no days
DEFAULT:   a third of the lifetime
USED BY:   cert-manager and certctl
EXAMPLE:   renewBefore: 720h
";
    assert_eq!(page(Kind::Certificate, "spec.renewBefore").unwrap(), expected);
    let key = page(Kind::Issuer, "spec.acme.privateKeySecretRef.key").unwrap();
    assert!(key.contains("FIELD:     key <string>\nMEANING:   The entry in it.\n"), "{key}");
    let annotation = page(Kind::Issuer, "metadata.annotations.certctl/reload").unwrap();
    assert!(annotation.contains("EXAMPLE:   certctl/reload: nginx\n"), "{annotation}");
    let whole = page(Kind::Secret, "").unwrap();
    assert!(whole.contains("\n  stringData <map[string]string>"), "{whole}");
}

#[test]
fn what_is_no_field_is_answered_with_what_may_have_been_meant() {
    let error = unknown(Kind::Certificate, "spec.renewBefor");
    assert_eq!(error.code, ExitCode::Usage);
    assert_eq!(error.message, "Certificate has no field `spec.renewBefor`");
    let hint = "certctl explain certificate.spec.renewBefore";
    assert_eq!(error.hint.map(|hint| hint.to_string()).as_deref(), Some(hint));
    assert_eq!(page(Kind::Certificate, "spec.renewBefor"), None);
    assert_eq!(Kind::parse("Certificates"), Some(Kind::Certificate));
    assert_eq!(Kind::parse("order"), None);
}

#[test]
fn every_annotation_is_told_and_no_other() {
    let diagnostics = diagnostics(Kind::Certificate, "metadata.annotations", "{certctl/zzz: a}");
    let help: String = diagnostics.iter().map(Diagnostic::render).collect();
    let known: BTreeSet<&str> = help
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-')))
        .filter(|word| word.starts_with("certctl/") && *word != "certctl/zzz")
        .collect();
    let listed: BTreeSet<&str> = crate::cli::words::field::table::section("Annotations")
        .iter()
        .map(|field| key_of(field.path))
        .collect();
    assert_eq!(listed, known, "left: src/cli/words/field/fields.txt");
}

#[test]
fn a_bare_word_finds_the_field_of_that_name() {
    let fields = |word: &str| -> Vec<String> {
        let pages = named(word);
        let lines =
            pages.iter().filter_map(|page| page.lines().find(|line| line.starts_with("FIELD:")));
        lines.map(|line| line.trim_start_matches("FIELD:").trim().to_owned()).collect()
    };
    assert_eq!(fields("reload"), ["certctl/reload <string>"]);
    assert_eq!(fields("hook"), ["certctl/deploy-hook <string>"]);
    assert_eq!(fields("renewBefore"), ["renewBefore <string>"]);
    assert_eq!(fields("profile").len(), 2, "of a keystore, and of the CA");
    assert_eq!((fields("nonsense"), fields("")), (vec![], vec![]));
}

#[test]
fn a_page_fits_a_terminal_of_80_columns() {
    for kind in Kind::ALL {
        for path in
            all(kind).into_iter().map(|field| field.path).chain(["", "metadata.annotations"])
        {
            let Some(page) = page(kind, path) else { continue };
            let page = crate::cli::render::text::fitted(&page, 80);
            let long = page.lines().find(|line| {
                let is_whole = line.starts_with("EXAMPLE:") || !line.trim().contains(' ');
                line.chars().count() > 80 && !is_whole
            });
            assert_eq!(long, None, "{path}");
        }
    }
}
