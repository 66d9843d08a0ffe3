use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use super::manifest::{any, named, of};
use crate::cli::config;
use crate::cli::words::field::Kind;
use crate::solver::dns01::webhook_providers;

/// Mistakes as an editor shows them: the place and the message of each, without the rules above it.
fn mistakes(schema: &Value, document: &Value) -> Vec<String> {
    let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
    compiler.add_resource("file:///schema.json", schema.clone()).unwrap();
    let index = compiler.compile("file:///schema.json", &mut schemas).unwrap();
    let mut found = Vec::new();
    if let Err(error) = schemas.validate(document, index) {
        leaves(&error, &mut found);
    }
    found
}

fn leaves(error: &boon::ValidationError<'_, '_>, found: &mut Vec<String>) {
    if error.causes.is_empty() {
        found.push(format!("{}: {}", error.instance_location, error.kind));
    }
    for cause in &error.causes {
        leaves(cause, found);
    }
}

/// A List of what stands in several documents.
fn list(items: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "" }, "items": items })
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
        let documents = documents(&path);
        for document in &documents {
            let kind = Kind::parse(document["kind"].as_str().unwrap()).unwrap();
            assert_eq!(mistakes(&of(kind), document), [""; 0], "{}", path.display());
            assert_eq!(mistakes(&any(), document), [""; 0], "{}", path.display());
        }
        let in_one = list(&[list(&documents)]);
        assert_eq!(mistakes(&any(), &in_one), [""; 0], "{}", path.display());
    }
}

#[test]
fn one_mistake_is_one_message() {
    let good = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": { "name": "web" },
        "spec": { "secretName": "web-tls", "issuerRef": { "name": "ca" }, "dnsNames": ["a.example"] },
    });
    assert_eq!(mistakes(&any(), &good), [""; 0]);
    for (pointer, value, expected) in MISTAKES {
        let mut bad = good.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = bad.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        let value: Value = value.parse().unwrap();
        // A renamed key: what it held is under the new one.
        match value.as_str().and_then(|name| name.strip_prefix("key ")) {
            Some(name) => {
                let held = parent.remove(key).unwrap();
                parent.insert(name.to_owned(), held);
            }
            None => drop(parent.insert(key.to_owned(), value)),
        }
        let alone = mistakes(&any(), &bad);
        assert!(matches!(alone.as_slice(), [one] if one.starts_with(expected)), "{alone:?}");
        let in_list = mistakes(&any(), &list(&[good.clone(), bad.clone()]));
        // The validator does not place a wrong key.
        let place = if expected.starts_with(": value") { "" } else { "/items/1" };
        assert_eq!(in_list, [format!("{place}{}", alone[0])], "{bad:#}");
        if !["/kind", "/apiVersion"].contains(pointer) {
            assert_eq!(mistakes(&of(Kind::Certificate), &bad), alone, "{bad:#}");
        }
    }
    let mut bare = good.clone();
    drop(bare["spec"].as_object_mut().unwrap().remove("secretName"));
    assert_eq!(mistakes(&any(), &bare), ["/spec: missing properties 'secretName'"]);
}

#[test]
fn a_kind_of_another_group_is_none_of_ours_and_a_missing_one_is_a_mistake() {
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {} });
    assert_eq!(mistakes(&any(), &service), [""; 0]);
    let request = json!({ "apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest" });
    assert_eq!(mistakes(&any(), &request), [""; 0]);
    let bare = json!({ "metadata": { "name": "web" } });
    assert_eq!(mistakes(&any(), &bare), [": missing properties 'kind'"]);
    assert_eq!(mistakes(&any(), &list(&[bare])), ["/items/0: missing properties 'kind'"]);
    let mut empty = list(&[]);
    empty["items"] = Value::Null;
    assert_eq!(mistakes(&any(), &empty).len(), 1, "{:?}", mistakes(&any(), &empty));
}

/// A value of TOML as JSON.
fn json_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::Integer(number) => number.as_str().parse::<i64>().unwrap().into(),
        DeValue::Boolean(is) => (*is).into(),
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Array(items) => items.iter().map(|item| json_of(item.get_ref())).collect(),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => panic!("{value:?}"),
    }
}

#[test]
fn the_example_of_config_toml_fits_its_schema_and_a_mistake_does_not() {
    let example = include_str!("../../../../examples/config.toml");
    let settings = example.lines().filter_map(|line| line.strip_prefix('#'));
    // Of these two only one may stand there.
    let settings = settings.filter(|line| !line.starts_with([' ', 'q']));
    let text = settings.collect::<Vec<_>>().join("\n");
    let table = DeTable::parse(&text).unwrap();
    let entries = table.get_ref().iter();
    let example: Value =
        entries.map(|(key, value)| (key.get_ref().to_string(), json_of(value.get_ref()))).collect();
    let schema = config::schema();
    assert_eq!(mistakes(&schema, &example), [""; 0]);
    let known: BTreeSet<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let shown: BTreeSet<&String> = example.as_object().unwrap().keys().collect();
    assert_eq!(known.difference(&shown).collect::<Vec<_>>(), [&"quiet"]);
    for wrong in [
        json!({ "paralel": 4 }),
        json!({ "parallel": "4" }),
        json!({ "hooks": "never" }),
        json!({ "exit-code": 1 }),
        json!({ "config-dir": "/etc" }),
        json!({ "verbose": 1, "quiet": 1 }),
    ] {
        assert_ne!(mistakes(&schema, &wrong), [""; 0], "{wrong}");
    }
}

#[test]
fn a_webhook_of_certctl_names_a_provider_with_the_fields_of_that() {
    let issuer = |webhook: &Value| {
        json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Issuer",
            "metadata": { "name": "le" },
            "spec": { "acme": {
                "server": "https://ca.example/directory",
                "privateKeySecretRef": { "name": "le" },
                "solvers": [{ "dns01": { "webhook": webhook } }],
            } },
        })
    };
    let of = |group: &str, name: &str, config: &Value| {
        let webhook = json!({ "groupName": group, "solverName": name, "config": config });
        mistakes(&any(), &issuer(&webhook))
    };
    for provider in webhook_providers() {
        let example: Value = serde_yaml::from_str(&provider.entry("")).unwrap();
        let webhook = &example[0]["dns01"]["webhook"];
        assert_eq!(mistakes(&any(), &issuer(webhook)), [""; 0], "{webhook:#}");
        let coloured = of("certctl", provider.name, &json!({ "colour": "red" }));
        assert_ne!(coloured, [""; 0], "{}", provider.name);
    }
    assert_eq!(of("acme.example.com", "mine", &json!({ "a": 1 })), [""; 0]);
    assert_eq!(of("certctl", "exec", &json!({ "command": "a" })), [""; 0]);
    assert_eq!(of("certctl", "hetzer", &json!({})).len(), 1);
}

#[test]
fn each_schema_has_a_name_of_its_own() {
    let ids = Kind::ALL.map(of).into_iter().chain([any(), named(config::schema(), "config")]);
    let ids: BTreeSet<String> = ids.map(|one| one["$id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 6, "{ids:?}");
    assert!(ids.contains("urn:certctl:v1:schema:manifest"), "{ids:?}");
}

/// Where something is put into a Certificate, what, and the message. `key` renames what is there.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("/spec/dnsName", r#""a.example""#, "/spec: additionalProperties 'dnsName' not allowed"),
    ("/spec/dnsNames", r#""a.example""#, "/spec/dnsNames: want array, but got string"),
    ("/spec/dnsNames", r#""key dnsName""#, "/spec: additionalProperties 'dnsName' not allowed"),
    ("/spec/secretName", r#""key secretNmae""#, "/spec: additionalProperties 'secretNmae'"),
    ("/spec/issuerRef", r#""key issuerref""#, "/spec: additionalProperties 'issuerref'"),
    ("/spec/issuerRef/name", r#""key nmae""#, "/spec/issuerRef: additionalProperties 'nmae'"),
    ("/spec/secretName", "5", "/spec/secretName: want string, but got number"),
    ("/spec/usages", r#"["any", "some"]"#, "/spec/usages/1: value must be one of"),
    ("/spec/duration", r#""90d""#, "/spec/duration: '90d' does not match pattern"),
    ("/spec/privateKey", r#"{"algorithm": "DSA"}"#, "/spec/privateKey/algorithm: value must be"),
    ("/spec", r#""key specs""#, ": additionalProperties 'specs' not allowed"),
    (
        "/metadata/annotations",
        r#"{"certctl/relaod": "nginx"}"#,
        ": value must be one of 'certctl/solver'",
    ),
    ("/kind", r#""Certifcate""#, "/kind: value must be one of 'Certificate'"),
    ("/kind", r#""key kinds""#, ": missing properties 'kind'"),
    ("/apiVersion", r#""cert-manager.io/v1alpha2""#, "/apiVersion: value must be"),
    ("/apiVersion", r#""cert-manger.io/v1""#, "/apiVersion: value must be 'cert-manager.io/v1'"),
    ("/apiVersion", r#""key apiversion""#, ": additionalProperties 'apiversion' not allowed"),
];
