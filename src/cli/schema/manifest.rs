//! JSON Schema (draft 7) of the manifests, for editors.
//!
//! Contract: generated from the table of `explain`, which a test holds against what the manifest
//! layer accepts. What only cert-manager's admission checks is not in it: `certctl validate` says.

use serde_json::{Map, Value, json};

use crate::cli::explain::field::{Field, Kind, REQUIRED, Type, Words};
use crate::cli::explain::{ANNOTATIONS, below, key_of, table};

/// The schema of any manifest that certctl reads.
pub fn any() -> Value {
    let kinds = Kind::ALL.map(object_of);
    json!({ "$schema": DRAFT, "title": "Manifests of certctl", "oneOf": kinds })
}

/// The schema of one kind.
pub fn of(kind: Kind) -> Value {
    let mut schema = object_of(kind);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("$schema".to_owned(), json!(DRAFT));
    }
    schema
}

fn object_of(kind: Kind) -> Value {
    let mut schema = mapping(kind, "");
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("apiVersion".to_owned(), json!({ "const": kind.api_version() }));
        properties.insert("kind".to_owned(), json!({ "const": kind.name() }));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.extend([json!("apiVersion"), json!("kind")]);
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("title".to_owned(), json!(kind.name()));
    }
    schema
}

/// A mapping with the fields below `path`, and no others.
pub(crate) fn mapping(kind: Kind, path: &str) -> Value {
    let children = below(kind, path);
    let mut properties = Map::new();
    for field in &children {
        properties.insert(key_of(field.path).to_owned(), value_of(kind, field));
    }
    let required: Vec<&str> = children
        .iter()
        .filter(|field| field.default == REQUIRED)
        .map(|field| key_of(field.path))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn value_of(kind: Kind, field: &Field) -> Value {
    let mut schema = match field.kind {
        Type::Text => json!({ "type": "string" }),
        Type::Bool => json!({ "type": "boolean" }),
        Type::Integer => json!({ "type": "integer" }),
        Type::Duration => json!({ "type": "string", "pattern": DURATION }),
        Type::Word(words) => enumeration(words),
        Type::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Type::Words(words) => json!({ "type": "array", "items": enumeration(words) }),
        Type::TextMap if format!("{}.", field.path) == ANNOTATIONS => annotations(kind),
        Type::TextMap => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Type::Object => mapping(kind, field.path),
        Type::Objects => json!({ "type": "array", "items": mapping(kind, field.path) }),
        Type::SecretRef => json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "key": { "type": "string" } },
            "required": ["name"],
            "additionalProperties": false,
        }),
        Type::Anything => json!({}),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), json!(field.rule));
    }
    schema
}

fn enumeration(words: Words) -> Value {
    json!({ "enum": words.list().collect::<Vec<_>>() })
}

/// Any annotations, but of certctl's own only those that there are.
fn annotations(kind: Kind) -> Value {
    let text = json!({ "type": "string" });
    let mut properties = Map::new();
    if kind != Kind::Secret {
        for field in table::section("Annotations") {
            properties.insert(
                key_of(field.path).to_owned(),
                json!({ "type": "string", "description": field.rule }),
            );
        }
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": text,
    });
    if kind != Kind::Secret
        && let Some(words) = schema.as_object_mut()
    {
        let known: Vec<&str> =
            table::section("Annotations").iter().map(|field| key_of(field.path)).collect();
        let other = json!({ "not": { "pattern": "^certctl\\.io/" } });
        words.insert("propertyNames".to_owned(), json!({ "anyOf": [other, { "enum": known }] }));
    }
    schema
}

pub(crate) const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// Go's durations, as far as they are not negative.
const DURATION: &str = "^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$";
