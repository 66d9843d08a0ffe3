//! The fields of certctl.yaml(5), out of `fields.txt`: path, who uses it, what it is.

use crate::solver::dns01::PROVIDERS;

/// One field or annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    path: &'static str,
    used_by: &'static str,
    about: &'static str,
}

/// A section per kind, as text for man(1).
pub(super) fn sections() -> String {
    let mut text = String::new();
    for (title, rows) in tables() {
        text.push_str(&[".SH ", &title.to_uppercase(), "\n"].concat());
        for Row { path, used_by, about } in rows {
            let (path, used_by, about) = (escaped(path), used_by_of(path, used_by), escaped(about));
            text.push_str(&[".TP\n.BR ", &path, " \" (", used_by, ")\"\n", &about, "\n"].concat());
        }
    }
    text
}

/// A provider that this build lacks is of use to clusters only.
fn used_by_of(path: &str, used_by: &'static str) -> &'static str {
    if used_by != "provider" {
        return used_by;
    }
    let name = path.strip_prefix(DNS01).and_then(|rest| rest.split('.').next());
    let is_here = PROVIDERS.iter().any(|entry| Some(entry.name) == name);
    if is_here { "both" } else { "cluster" }
}

fn tables() -> Vec<(&'static str, Vec<Row>)> {
    let mut tables: Vec<(&str, Vec<Row>)> = Vec::new();
    for line in include_str!("fields.txt").lines() {
        if let Some(title) = line.strip_prefix("= ") {
            tables.push((title, Vec::new()));
        }
        let mut parts = line.splitn(3, " | ");
        let (Some(path), Some(used_by), Some(about)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if let Some((_, rows)) = tables.last_mut() {
            rows.push(Row { path, used_by, about });
        }
    }
    tables
}

/// Text in which man(1) sees nothing of its own.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq")
}

const DNS01: &str = "spec.acme.solvers.dns01.";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::read_to_string;

    use serde_json::Value;

    use super::*;
    use crate::manifest::{Diagnostic, Options, Source, load};

    /// The paths of all fields; items of a list are not told apart.
    fn collect(value: &Value, path: &str, found: &mut BTreeSet<String>) {
        for item in value.as_array().into_iter().flatten() {
            collect(item, path, found);
        }
        for (key, value) in value.as_object().into_iter().flatten() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let is_open = OPEN.iter().any(|open| path.ends_with(open));
            let is_reference = key.ends_with("Ref") && key != "issuerRef";
            if !is_open && !is_reference {
                collect(value, &path, found);
            }
            found.insert(path);
        }
    }

    /// What is below these is not certctl's.
    const OPEN: &[&str] = &[
        "metadata.annotations",
        "metadata.labels",
        "matchLabels",
        "secretTemplate.annotations",
        "secretTemplate.labels",
        "http01.ingress",
        "gatewayHTTPRoute",
        "route53.auth",
        "webhook.config",
        "status",
    ];

    fn paths(title: &str) -> BTreeSet<String> {
        let tables = tables();
        let (_, rows) = tables.iter().find(|(found, _)| *found == title).unwrap();
        let all: BTreeSet<String> = rows.iter().map(|row| row.path.to_owned()).collect();
        assert_eq!(all.len(), rows.len(), "{title}: a field stands there twice");
        all
    }

    #[test]
    fn every_field_that_the_manifest_layer_reads_is_told_and_no_other() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/manifests");
        let text = read_to_string(format!("{folder}/every-field.yaml")).unwrap();
        for (kind, always) in [
            ("Certificate", ["metadata.labels", "metadata.annotations", "metadata.namespace"]),
            ("Issuer", ["metadata.annotations", "metadata.namespace", "spec.acme.caBundle"]),
        ] {
            let mut found: BTreeSet<String> = always.map(ToOwned::to_owned).into();
            for document in text.split("\n---\n") {
                let object: Value = serde_yaml::from_str(document).unwrap();
                if object["kind"] == kind {
                    collect(&object, "", &mut found);
                }
            }
            for outer in ["apiVersion", "kind", "metadata", "spec"] {
                found.remove(outer);
            }
            assert_eq!(paths(kind), found, "{kind}");
        }
    }

    #[test]
    fn every_annotation_is_told_and_no_other() {
        let manifest = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  \
                        name: a\n  annotations: {certctl.io/zzz: a}\n";
        let loaded = load(&[Source::Stdin(manifest.into())], &Options::default());
        let help: String = loaded.diagnostics.iter().map(Diagnostic::render).collect();
        let known: BTreeSet<String> = help
            .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-')))
            .filter(|word| word.starts_with("certctl.io/") && *word != "certctl.io/zzz")
            .map(ToOwned::to_owned)
            .collect();
        assert_eq!(paths("Annotations"), known);
    }

    #[test]
    fn a_provider_that_is_missing_here_is_for_clusters() {
        let of = |name: &str| used_by_of(&format!("{DNS01}{name}.host"), "provider");
        assert_eq!((of("rfc2136"), of("akami")), ("both", "cluster"));
        for row in tables().into_iter().flat_map(|(_, rows)| rows) {
            let words = ["both", "cluster", "certctl", "provider"];
            assert!(words.contains(&row.used_by), "{row:?}");
        }
    }
}
