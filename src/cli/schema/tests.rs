use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::manifest::{any, of};
use crate::cli::explain::field::Kind;

/// Holds a value against a schema, as far as these schemas go.
fn faults(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    for (word, rule) in schema.as_object().unwrap() {
        let fits = match word.as_str() {
            "type" => match rule.as_str().unwrap() {
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                other => panic!("{other}"),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "required" => rule
                .as_array()
                .unwrap()
                .iter()
                .all(|name| value.get(name.as_str().unwrap()).is_some()),
            "additionalProperties" => {
                rule != false
                    || value
                        .as_object()
                        .into_iter()
                        .flatten()
                        .all(|(key, _)| schema["properties"].get(key).is_some())
            }
            "properties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    if let Some(rule) = rule.get(key) {
                        faults(rule, value, &format!("{at}.{key}"), found);
                    }
                }
                true
            }
            "items" => {
                for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                    faults(rule, value, &format!("{at}[{index}]"), found);
                }
                true
            }
            "oneOf" => {
                rule.as_array()
                    .unwrap()
                    .iter()
                    .filter(|one| {
                        let mut inner = Vec::new();
                        faults(one, value, at, &mut inner);
                        inner.is_empty()
                    })
                    .count()
                    == 1
            }
            "propertyNames" => {
                let known = rule["anyOf"][1]["enum"].as_array().unwrap();
                let mut keys = value.as_object().into_iter().flatten().map(|(key, _)| key);
                keys.all(|key| {
                    !key.starts_with("certctl.io/") || known.iter().any(|one| one == key)
                })
            }
            "pattern" => value.as_str().unwrap().ends_with(['s', 'm', 'h', '0']),
            "description" | "title" | "$schema" => true,
            other => panic!("{at}: the schema says `{other}`"),
        };
        if !fits {
            found.push(format!("{at}: {word}: {value}"));
        }
    }
}

fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.split("\n---\n").map(|text| serde_yaml::from_str(text).unwrap()).collect()
}

fn manifests(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            manifests(&path, into);
        } else if path.extension().is_some_and(|end| end == "yaml") {
            into.push(path);
        }
    }
}

#[test]
fn the_examples_and_a_manifest_with_every_field_fit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![root.join("tests/fixtures/manifests/every-field.yaml")];
    manifests(&root.join("examples"), &mut paths);
    assert!(paths.len() > 4, "{paths:?}");
    for path in paths {
        for document in documents(&path) {
            let kind = Kind::parse(document["kind"].as_str().unwrap()).unwrap();
            let mut found = Vec::new();
            faults(&of(kind), &document, kind.name(), &mut found);
            assert_eq!(found, Vec::<String>::new(), "{}", path.display());
            faults(&any(), &document, "any", &mut found);
            assert_eq!(found, Vec::<String>::new(), "{}", path.display());
        }
    }
}

#[test]
fn what_is_unknown_or_of_the_wrong_type_does_not_fit() {
    let good = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": { "name": "web" },
        "spec": { "secretName": "web-tls", "issuerRef": { "name": "ca" }, "dnsNames": ["a.example"] },
    });
    for (pointer, value, expected) in [
        ("/spec/dnsName", json!("a.example"), "Certificate.spec: additionalProperties"),
        ("/spec/dnsNames", json!("a.example"), "Certificate.spec.dnsNames: type"),
        ("/spec/usages", json!(["any", "some"]), "Certificate.spec.usages[1]: enum"),
        ("/spec/duration", json!("90d"), "Certificate.spec.duration: pattern"),
        (
            "/metadata/annotations",
            json!({ "certctl.io/x": "y" }),
            "Certificate.metadata.annotations: propertyNames",
        ),
        ("/kind", json!("Issuer"), "Certificate.kind: const"),
    ] {
        let mut bad = good.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        bad.pointer_mut(parent).unwrap()[key] = value;
        let mut found = Vec::new();
        faults(&of(Kind::Certificate), &bad, "Certificate", &mut found);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(expected), "{found:?}");
    }
    let mut found = Vec::new();
    faults(&of(Kind::Certificate), &good, "Certificate", &mut found);
    assert_eq!(found, Vec::<String>::new());
}
