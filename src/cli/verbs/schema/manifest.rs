//! JSON Schema (draft 7) of the manifests, for editors.
//!
//! Contract: generated from the table of `explain`, which a test holds against what the manifest
//! layer accepts. What only cert-manager's admission checks is not in it: `certctl validate` says.

use serde_json::{Map, Value, json};

use crate::cli::words::field::{ANNOTATIONS, below, key_of, table};
use crate::cli::words::field::{Choices, Field, Kind, REQUIRED, Type};
use crate::resource::{Dns01Provider, SOLVER_GROUP};
use crate::solver::dns01::{ConfigField, ConfigKind, WebhookProvider, webhook_providers};

/// The schema of any manifest that certctl reads.
///
/// The kind selects the schema by if/then: with `oneOf`, an editor shows one mistake once for each
/// kind.
pub fn any() -> Value {
    let mut definitions: Map<String, Value> = Kind::ALL
        .map(|kind| (kind.name().to_owned(), strict(object_of(kind))))
        .into_iter()
        .collect();
    definitions.insert(LIST.to_owned(), list());
    let mut rules: Vec<Value> = definitions
        .keys()
        .map(|name| json!({ "if": is_kind(name), "then": { "$ref": format!("#/definitions/{name}") } }))
        .collect();
    rules.push(other_kind());
    definitions.extend(shared());
    json!({
        "$schema": DRAFT,
        "$id": id("manifest"),
        "title": "Manifests of certctl",
        "type": "object",
        "required": ["kind"],
        "allOf": rules,
        "definitions": definitions,
    })
}

/// The schema of one kind.
pub fn of(kind: Kind) -> Value {
    let mut schema = strict(object_of(kind));
    if let Some(fields) = schema.as_object_mut()
        && matches!(kind, Kind::Issuer | Kind::ClusterIssuer)
    {
        fields.insert("definitions".to_owned(), shared().into());
    }
    named(schema, &kind.name().to_ascii_lowercase())
}

/// A schema with its draft and id.
pub(in crate::cli) fn named(mut schema: Value, name: &str) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("$schema".to_owned(), json!(DRAFT));
        fields.insert("$id".to_owned(), json!(id(name)));
    }
    schema
}

/// Identifies a schema; nothing is fetched from there.
pub(in crate::cli) fn id(name: &str) -> String {
    format!("urn:certctl:v1:schema:{name}")
}

fn is_kind(name: &str) -> Value {
    json!({ "properties": { "kind": { "const": name } }, "required": ["kind"] })
}

/// Schema of the export of `kubectl get -o yaml`; its items are manifests, Lists among them.
fn list() -> Value {
    json!({
        "title": LIST,
        "type": "object",
        "properties": {
            "apiVersion": { "const": "v1" },
            "kind": { "const": LIST },
            "items": { "type": "array", "items": { "$ref": "#" } },
        },
        "required": ["apiVersion", "items"],
    })
}

/// certctl skips the kinds of other API groups; a kind that cert-manager does not have is a mistake.
fn other_kind() -> Value {
    let known: Vec<&str> = Kind::ALL.map(Kind::name).into_iter().chain([LIST]).collect();
    let is_other = json!({
        "properties": { "kind": { "not": { "enum": known } } },
        "required": ["kind"],
    });
    let of_cert_manager = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Secret);
    let of_cert_manager: Vec<&str> = of_cert_manager.map(Kind::name).collect();
    let is_of_cert_manager = json!({
        "properties": { "apiVersion": { "pattern": "^cert-manager\\.io/" } },
        "required": ["apiVersion"],
    });
    json!({
        "if": is_other,
        "then": {
            "required": ["apiVersion"],
            "if": is_of_cert_manager,
            "then": { "properties": { "kind": {
                "if": { "not": { "pattern": "(Request|List)$" } },
                "then": { "enum": of_cert_manager },
            } } },
        },
    })
}

/// The same schema, in which a mistyped key is one error: only a mapping without unknown keys is
/// checked for missing ones.
fn strict(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(schema_object) => {
            for (_, word) in schema_object.iter_mut() {
                *word = strict(word.take());
            }
            let is_closed = schema_object.get("additionalProperties") == Some(&json!(false));
            let keys = schema_object.get("properties").and_then(Value::as_object);
            let keys: Option<Vec<String>> = keys.map(|keys| keys.keys().cloned().collect());
            if let Some(keys) = keys.filter(|_| is_closed)
                && let Some(required) = schema_object.remove("required")
                && required.as_array().is_some_and(|names| !names.is_empty())
            {
                schema_object.insert("if".to_owned(), json!({ "propertyNames": { "enum": keys } }));
                schema_object.insert("then".to_owned(), json!({ "required": required }));
            }
        }
        Value::Array(values) => {
            for value in values {
                *value = strict(value.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
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
    if let Some(webhook) = schema.pointer_mut(WEBHOOK).and_then(Value::as_object_mut) {
        webhook.insert("allOf".to_owned(), json!([{ "$ref": "#/definitions/webhook" }]));
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
        Type::Word(choices) => enumeration(choices),
        Type::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Type::Choices(choices) => json!({ "type": "array", "items": enumeration(choices) }),
        Type::TextMap if format!("{}.", field.path) == ANNOTATIONS => annotations(kind),
        Type::TextMap => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Type::Object => mapping(kind, field.path),
        Type::Objects => json!({ "type": "array", "items": mapping(kind, field.path) }),
        Type::SecretRef => secret_ref(),
        Type::Anything => json!({}),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), json!(field.rule));
    }
    schema
}

fn secret_ref() -> Value {
    json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "key": { "type": "string" } },
        "required": ["name"],
        "additionalProperties": false,
    })
}

/// Definitions that the schemas of both kinds of issuers refer to. A webhook of certctl's names a
/// known provider, and `config` has the fields of that.
fn shared() -> Map<String, Value> {
    let providers = webhook_providers();
    // Those of cert-manager have fields of their own below dns01, and these two any config.
    let mut names = vec!["exec", "http"];
    names.extend(Dns01Provider::TABLES.iter().map(|(name, _)| *name));
    names.extend(providers.iter().map(|provider| provider.name));
    let is = |field: &str, value: &str| json!({ "properties": { field: { "const": value } }, "required": [field] });
    let rules = providers.iter().map(|WebhookProvider { name, fields }| {
        let properties: Map<String, Value> =
            fields.iter().map(|field| (field.name.to_owned(), config_value(field))).collect();
        let needed = fields.iter().filter(|field| field.kind.is_needed());
        let config = strict(json!({
            "type": "object",
            "properties": properties,
            "required": needed.map(|field| field.name).collect::<Vec<_>>(),
            "additionalProperties": false,
        }));
        let then = json!({ "properties": { "config": config }, "required": ["config"] });
        json!({ "if": is("solverName", name), "then": then })
    });
    let known = json!({ "properties": { "solverName": { "enum": names } } });
    let all: Vec<Value> = std::iter::once(known).chain(rules).collect();
    let webhook = json!({ "if": is("groupName", SOLVER_GROUP), "then": { "allOf": all } });
    Map::from_iter([("webhook".to_owned(), webhook), ("secretRef".to_owned(), secret_ref())])
}

fn config_value(field: &ConfigField) -> Value {
    let mut schema = match field.kind {
        ConfigKind::Secret | ConfigKind::SecretIfAny | ConfigKind::Document => {
            json!({ "$ref": "#/definitions/secretRef" })
        }
        ConfigKind::Text | ConfigKind::TextIfAny => json!({ "type": ["string", "number"] }),
        ConfigKind::Flag => json!({ "type": "boolean" }),
    };
    if let Some(fields) = schema.as_object_mut()
        && !field.meaning.is_empty()
    {
        fields.insert("description".to_owned(), json!(field.meaning));
    }
    schema
}

fn enumeration(choices: Choices) -> Value {
    json!({ "enum": choices.list().collect::<Vec<_>>() })
}

/// Any annotations, but of certctl's own only those that there are.
fn annotations(kind: Kind) -> Value {
    let text = json!({ "type": "string" });
    if kind == Kind::Secret {
        return json!({ "type": "object", "additionalProperties": text });
    }
    let own = || table::section("Annotations").iter();
    let property = |field: &Field| {
        let schema = json!({ "type": "string", "description": field.rule });
        (key_of(field.path).to_owned(), schema)
    };
    let known: Vec<&str> = own().map(|field| key_of(field.path)).collect();
    json!({
        "type": "object",
        "properties": own().map(property).collect::<Map<_, _>>(),
        "additionalProperties": text,
        "propertyNames": { "if": { "pattern": "^certctl/" }, "then": { "enum": known } },
    })
}

/// Where the schema of an Issuer has that of a webhook.
const WEBHOOK: &str = "/properties/spec/properties/acme/properties/solvers/items/properties/dns01\
                       /properties/webhook";

/// The kind of several manifests in one.
const LIST: &str = "List";

pub(crate) const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// Go's durations, as far as they are not negative.
const DURATION: &str = "^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$";
