//! `certctl schema output`: JSON Schema of what is printed with -o json.
//!
//! Contract: every object says all of its fields, and no others: a field that is printed and not
//! described here fails a test that holds what the program prints against this. Within
//! `certctl.io/v1` fields may be added; none is taken away or changes its meaning.

mod check;
mod inspect;
mod status;

use serde_json::{Map, Value, json};

use super::DRAFT;
use crate::resource::RevocationReason;

/// The schema of any output.
pub fn any() -> Value {
    let kinds = kinds().map(|(_, schema)| schema);
    json!({
        "$schema": DRAFT,
        "title": "Outputs of certctl",
        "oneOf": kinds.collect::<Vec<_>>(),
    })
}

/// The schema of the output of one kind, such as `Plan`.
pub fn of(kind: &str) -> Option<Value> {
    let (_, mut schema) = kinds().find(|(known, _)| *known == kind)?;
    schema.as_object_mut()?.insert("$schema".to_owned(), json!(DRAFT));
    Some(schema)
}

/// Every kind of output.
pub fn kinds() -> impl Iterator<Item = (&'static str, Value)> {
    let own = [
        document("Version", "`version`.", &version()),
        list("Validation", "`validate`: what is wrong in the manifests.", diagnostic()),
        list("Plan", "`plan`: what `issue` would do to each certificate.", plan_item()),
        document("Result", "`issue`, `renew`, `deploy`, `revoke`: what was done.", &result()),
        list("AccountList", "`account show`.", account()),
    ];
    let account = [("Account", account())];
    own.into_iter()
        .chain(account)
        .chain(status::kinds())
        .chain(inspect::kinds())
        .chain(check::kinds())
}

/// A mapping with these fields and no others; one whose name ends in `?` may be missing.
fn object(fields: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in fields {
        let bare = name.trim_end_matches('?');
        properties.insert(bare.to_owned(), schema.clone());
        if bare == *name {
            required.push(bare);
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The same with a kind.
fn kind(api_version: &str, kind: &str, fields: &[(&str, Value)]) -> Value {
    let own = [("apiVersion", json!({ "const": api_version })), ("kind", json!({ "const": kind }))];
    let fields: Vec<(&str, Value)> = own.into_iter().chain(fields.iter().cloned()).collect();
    let mut schema = object(&fields);
    if let Some(map) = schema.as_object_mut() {
        map.insert("title".to_owned(), json!(kind));
    }
    schema
}

fn document(
    name: &'static str,
    about: &str,
    fields: &[(&'static str, Value)],
) -> (&'static str, Value) {
    (name, described(kind(OURS, name, fields), about))
}

fn list(name: &'static str, about: &str, item: Value) -> (&'static str, Value) {
    document(name, about, &[("items", list_of(item))])
}

fn described(mut schema: Value, about: &str) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.insert("description".to_owned(), json!(about));
    }
    schema
}

fn list_of(item: Value) -> Value {
    of_type("array", "items", item)
}

/// A schema of a type with one more word.
fn of_type(name: &str, word: &str, rule: Value) -> Value {
    let words = [("type".to_owned(), json!(name)), (word.to_owned(), rule)];
    Map::from_iter(words).into()
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn integer() -> Value {
    json!({ "type": "integer" })
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

fn word(words: &[&str]) -> Value {
    json!({ "enum": words })
}

fn or_null(schema: Value) -> Value {
    let either = vec![schema, json!({ "type": "null" })];
    Map::from_iter([("anyOf".to_owned(), either.into())]).into()
}

fn map_of(value: Value) -> Value {
    of_type("object", "additionalProperties", value)
}

fn version() -> Vec<(&'static str, Value)> {
    let directory = json!({ "anyOf": [
        object(&[("path", text()), ("origin", text())]),
        object(&[("error", text())]),
        { "type": "null" },
    ] });
    let directories = object(&[
        ("config", directory.clone()),
        ("state", directory.clone()),
        ("credentials", directory),
    ]);
    let file = object(&[("path", text()), ("errors", list_of(diagnostic()))]);
    let setting = object(&[("name", text()), ("value", or_null(text())), ("origin", text())]);
    vec![
        ("version", text()),
        ("platform", text()),
        ("directories", directories),
        ("configFile", or_null(file)),
        ("settings", list_of(setting)),
        ("features", list_of(text())),
        ("dnsProviders", list_of(text())),
    ]
}

/// What is wrong in a file; on stderr it has `timestamp`, `level` and `message` as well.
fn diagnostic() -> Value {
    object(&[
        ("code", described(text(), "Such as E0102; never changes its meaning.")),
        ("severity", word(&["error", "warning"])),
        ("file", text()),
        ("line", described(integer(), "Counted from 1; 0 when it is about the whole file.")),
        ("column", integer()),
        ("endColumn", integer()),
        ("path", described(text(), "The field, such as spec.dnsNames[0].")),
        ("message", text()),
        ("suggestion", or_null(text())),
    ])
}

fn plan_item() -> Value {
    let actions = word(&[
        "issue", "renew", "adopt", "rollback", "relink", "rewrite", "deploy", "wait", "nothing",
    ]);
    let name = object(&[
        ("name", text()),
        ("solver", word(&["http-01", "dns-01", "none"])),
        ("provider?", text()),
    ]);
    let issuer = object(&[
        ("kind", word(&["Issuer", "ClusterIssuer"])),
        ("name", text()),
        ("server", text()),
    ]);
    object(&[
        ("namespace", text()),
        ("name", text()),
        ("action", actions.clone()),
        ("also?", list_of(actions)),
        ("reason?", described(text(), "cert-manager's reason.")),
        ("message?", text()),
        ("wait?", object(&[("until?", time()), ("why", text())])),
        ("differs?", list_of(text())),
        ("names", list_of(name)),
        ("added?", list_of(text())),
        ("removed?", list_of(text())),
        ("issuer", issuer),
        ("orders", described(integer(), "How many new orders this would cost.")),
        ("order?", described(text(), "The order that would be gone on with.")),
        ("cleanUps?", integer()),
        ("notAfter?", time()),
        ("renewalTime?", time()),
    ])
}

fn result() -> Vec<(&'static str, Value)> {
    let classes = ["precondition", "challenge", "ca", "unreachable", "output", "state", "other"];
    let fault = object(&[("class", word(&classes)), ("message", text())]);
    let endings = [
        "issued",
        "unchanged",
        "rewritten",
        "deferred",
        "locked",
        "pending",
        "failed",
        "interrupted",
    ];
    let item = object(&[
        ("namespace", text()),
        ("name", text()),
        ("ending", word(&endings)),
        ("reason?", described(text(), "cert-manager's reason of a failure.")),
        ("message?", text()),
        ("revision?", integer()),
        ("notAfter?", time()),
        ("renewalTime?", time()),
        ("files?", described(list_of(text()), "The paths that servers read.")),
        ("order?", described(text(), "The order that the next run goes on with.")),
        ("failedIssuanceAttempts?", integer()),
        ("nextAttempt?", described(time(), "Not before then; without it, the next run.")),
        ("error?", fault.clone()),
        ("deployError?", fault),
    ]);
    let reasons = RevocationReason::ALL.map(|reason| reason.to_string());
    let revocation = object(&[
        ("certificate?", text()),
        ("serial", text()),
        ("reason", json!({ "enum": reasons })),
        ("state", word(&["revoked", "owed", "failed"])),
        ("message?", text()),
    ]);
    vec![("items", list_of(item)), ("revocations?", list_of(revocation))]
}

fn account() -> Value {
    let identity = object(&[
        ("directoryURL", text()),
        ("kind", word(&["Issuer", "ClusterIssuer"])),
        ("namespace", text()),
        ("secretName", text()),
    ]);
    let deeds = ["register", "find", "updateContacts", "nothing", "deactivate", "deactivated"];
    let account = object(&[
        ("identity", identity),
        ("deed", described(word(&deeds), "What comes next.")),
        ("publicKey", text()),
        ("url?", text()),
        ("contacts?", list_of(text())),
        ("termsOfService?", text()),
    ]);
    kind(OURS, "Account", &[("account", account)])
}

/// Where these outputs are versioned.
const OURS: &str = "certctl.io/v1";
