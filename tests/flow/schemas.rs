//! Promise: what `status -o yaml` prints is valid against cert-manager's own schemas.

use certctl::rehearsal::{Fault, ProblemType, Rule};
use serde_json::{Map, Value};

use crate::support::{CertificateYaml, World};

const SCHEMAS: &[(&str, &str)] = &[
    ("Certificate", include_str!("../fixtures/crds/certificate.json")),
    ("CertificateRequest", include_str!("../fixtures/crds/certificaterequest.json")),
    ("Order", include_str!("../fixtures/crds/order.json")),
    ("Challenge", include_str!("../fixtures/crds/challenge.json")),
];

/// The objects of a kind, with every way in which they break their schema.
fn faults(objects: &[Value], kind: &str) -> Vec<String> {
    let text = SCHEMAS.iter().find(|(of, _)| *of == kind).unwrap().1;
    let schema: Value = serde_json::from_str(text).unwrap();
    let mut faults = Vec::new();
    for object in objects {
        assert_eq!(object["kind"], kind);
        check(&schema, object, kind, &mut faults);
    }
    faults
}

/// Holds a value against a schema, as far as these schemas go; a word that is not known here is a
/// fault of the schema.
fn check(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let mut fault = |what: &str| faults.push(format!("{at}: {what}: {value}"));
    for (word, rule) in schema.as_object().unwrap() {
        let fits = match word.as_str() {
            "type" => rule.as_str().is_none_or(|kind| is_of_type(value, kind)),
            "enum" => rule.as_array().unwrap().contains(value),
            "minLength" => length(value).is_none_or(|length| length >= rule.as_u64().unwrap()),
            "maxLength" => length(value).is_none_or(|length| length <= rule.as_u64().unwrap()),
            "minimum" => value.as_i64().is_none_or(|number| number >= rule.as_i64().unwrap()),
            "maximum" => value.as_i64().is_none_or(|number| number <= rule.as_i64().unwrap()),
            "format" => value
                .as_str()
                .is_none_or(|text| rule != "date-time" || text.parse::<jiff::Timestamp>().is_ok()),
            "required" => value.as_object().is_none_or(|object| {
                let mut wanted = rule.as_array().unwrap().iter();
                wanted.all(|name| object.contains_key(name.as_str().unwrap()))
            }),
            "anyOf" => rule.as_array().unwrap().iter().any(|one| {
                let mut found = Vec::new();
                check(one, value, at, &mut found);
                found.is_empty()
            }),
            "additionalProperties" => {
                rule != false || is_nothing_else(value, schema["properties"].as_object())
            }
            "properties" | "items" | "default" | "title" | "$schema" | "pattern" => true,
            word if word.starts_with("x-kubernetes-") => true,
            _ => panic!("{at}: the schema says `{word}`"),
        };
        if !fits {
            fault(word);
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let rule = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        if let Some(rule) = rule.filter(|rule| rule.is_object()) {
            check(rule, value, &format!("{at}.{name}"), faults);
        }
    }
    if let Some(rule) = schema.get("items") {
        for (index, value) in value.as_array().into_iter().flatten().enumerate() {
            check(rule, value, &format!("{at}[{index}]"), faults);
        }
    }
}

fn is_nothing_else(value: &Value, known: Option<&Map<String, Value>>) -> bool {
    let names = value.as_object().into_iter().flat_map(Map::keys);
    names.into_iter().all(|name| known.is_some_and(|known| known.contains_key(name)))
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| u64::try_from(text.chars().count()).unwrap())
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => panic!("the schema says type `{kind}`"),
    }
}

type Edit = fn(&mut Value);

/// The objects in a stream of YAML documents.
fn objects(world: &World, noun: &str) -> Vec<Value> {
    let shown = world.run(&["status", noun, "-o", "yaml"]).ends_in(0).stdout;
    let documents = shown.split("\n---\n").filter(|text| !text.trim().is_empty());
    let objects = documents.map(|text| serde_yaml::from_str::<Value>(text).unwrap());
    objects
        .flat_map(|object| match object.get("items").and_then(Value::as_array) {
            Some(items) => items.clone(),
            None => vec![object],
        })
        .collect()
}

#[test]
fn what_status_prints_fits_the_schemas_of_cert_manager() {
    let full = CertificateYaml::new("good").field("additionalOutputFormats: [{type: DER}]");
    let world = World::prepared(&[full, CertificateYaml::new("bad")]);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("bad.example.test"));
    world.issue().ends_in(4);
    let nouns = [
        ("certificate", "Certificate", 2),
        ("request", "CertificateRequest", 2),
        ("order", "Order", 2),
        ("challenge", "Challenge", 2),
    ];
    for (noun, kind, count) in nouns {
        let found = objects(&world, noun);
        assert_eq!(found.len(), count, "{noun}: {found:?}");
        assert_eq!(faults(&found, kind), Vec::<String>::new());
    }
}

#[test]
fn a_wrong_object_is_noticed() {
    let good = serde_json::json!({
        "apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "a"},
        "spec": {"secretName": "a", "issuerRef": {"name": "ca"}, "dnsNames": ["a.test"]},
    });
    assert_eq!(faults(std::slice::from_ref(&good), "Certificate"), Vec::<String>::new());
    let edits: &[(&str, Edit)] = &[
        ("additionalProperties", |o| o["spec"]["colour"] = "red".into()),
        ("required", |o| drop(o["spec"]["issuerRef"].as_object_mut().unwrap().remove("name"))),
        ("type", |o| o["spec"]["dnsNames"] = "a.test".into()),
        ("enum", |o| o["spec"]["privateKey"] = serde_json::json!({"algorithm": "DSA"})),
        ("format", |o| o["status"] = serde_json::json!({"notAfter": "tomorrow"})),
    ];
    for (word, edit) in edits {
        let mut wrong = good.clone();
        edit(&mut wrong);
        let found = faults(&[wrong], "Certificate");
        assert!(found.iter().any(|fault| fault.contains(&format!(": {word}:"))), "{found:?}");
    }
}
