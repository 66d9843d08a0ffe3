//! A case, and how its JSON is read.

use certctl::resource::{CertificateSpec, GoDuration, IssuerRef, KeyAlgorithm, PrivateKeySpec};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// One case.
pub(crate) struct Case {
    pub(crate) area: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) expect: Value,
}

impl Case {
    /// Kinds of issuers and reasons that certctl does not have are played by ones that it has, in
    /// the input and in what is expected.
    pub(crate) fn new(case: &Value) -> Self {
        let mut whole = case.clone();
        for (path, ours, stand_in) in STAND_INS {
            let mut foreign = Vec::new();
            words_at(&whole["input"], path, &mut foreign);
            foreign.retain(|word| !ours.contains(&word.as_str()));
            for word in foreign {
                replace(&mut whole["input"], &word, stand_in);
                replace(&mut whole["expect"], &word, stand_in);
            }
        }
        let keep = ["certificate_validation", "duration_validation"];
        let area = case["area"].as_str().unwrap().to_owned();
        let from = if keep.contains(&area.as_str()) { case.clone() } else { whole };
        Self {
            area,
            name: case["name"].as_str().unwrap_or_default().to_owned(),
            input: from["input"].clone(),
            expect: from["expect"].clone(),
        }
    }
}

/// Where the word stands, the words that certctl knows, and who plays another one.
const STAND_INS: &[(&[&str], &[&str], &str)] = &[
    (&["issuerRef", "kind"], &["", "Issuer", "ClusterIssuer"], "ClusterIssuer"),
    (
        &["policyResult", "reason"],
        &["ManuallyTriggered", "Renewing", "WindowError"],
        "ManuallyTriggered",
    ),
];

fn words_at(value: &Value, path: &[&str], found: &mut Vec<String>) {
    let [outer, inner] = path else { panic!("{path:?}") };
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if key == outer {
                    found.extend(value[inner].as_str().map(str::to_owned));
                }
                words_at(value, path, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| words_at(value, path, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn replace(value: &mut Value, word: &str, by: &str) {
    match value {
        Value::String(text) => *text = text.replace(word, by),
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, word, by)),
        Value::Object(map) => map.values_mut().for_each(|value| replace(value, word, by)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Fails on a key that the adapter does not know.
pub(crate) fn keys(value: &Value, known: &[&str]) {
    for key in value.as_object().into_iter().flat_map(serde_json::Map::keys) {
        assert!(known.contains(&key.as_str()), "unknown input key `{key}`");
    }
}

/// Numbers are compared as numbers, errors by their beginning, and events must be among ours;
/// `<name>` in an event stands for any name.
pub(crate) fn is_as_expected(key: &str, expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::String(a), Value::String(b)) if key == "error" || key.ends_with("Prefix") => {
            b.starts_with(a.as_str())
        }
        (Value::Array(a), Value::Array(b)) if key == "events" => {
            let has = |event: &Value| b.iter().any(|ours| same_event(event, ours));
            a.iter().all(has)
        }
        _ => expected == found,
    }
}

fn same_event(expected: &Value, found: &Value) -> bool {
    let (expected, found) = (expected.as_str().unwrap(), found.as_str().unwrap());
    match expected.split_once("<name>") {
        Some((before, after)) => found
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|name| !name.is_empty() && !name.contains(['"', ' '])),
        None => expected == found,
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(crate) fn seconds(value: &Value) -> Option<SignedDuration> {
    value.as_i64().map(SignedDuration::from_secs)
}

pub(crate) fn count(value: &Value) -> Option<u32> {
    value.as_u64().map(|count| u32::try_from(count).unwrap())
}

/// The moment at which cases without a clock of their own happen.
pub(crate) fn noon() -> Timestamp {
    "2026-01-03T12:00:00Z".parse().unwrap()
}

/// `spec` of a Certificate, unchecked: what the controllers take, whatever a manifest may say.
pub(crate) fn spec(value: &Value) -> CertificateSpec {
    keys(value, SPEC);
    let mut fields = value.as_object().cloned().unwrap_or_default();
    fields.remove("rawSubject").map(|raw| fields.insert("literalSubject".to_owned(), raw));
    fields.remove("issuerRef");
    fields.remove("secretName");
    let wanted = Value::Object(fields);
    CertificateSpec {
        secret_name: text(&value["secretName"]),
        issuer_ref: issuer_ref(&value["issuerRef"]),
        ..from_parts(&wanted)
    }
}

const SPEC: &[&str] = &[
    "secretName",
    "issuerRef",
    "commonName",
    "dnsNames",
    "ipAddresses",
    "uris",
    "emailAddresses",
    "otherNames",
    "subject",
    "literalSubject",
    "rawSubject",
    "duration",
    "renewBefore",
    "renewBeforePercentage",
    "renewal",
    "usages",
    "isCA",
    "privateKey",
];

fn from_parts(value: &Value) -> CertificateSpec {
    let mut whole = value.clone();
    whole["secretName"] = "unset".into();
    whole["issuerRef"] = serde_json::json!({ "name": "unset" });
    serde_json::from_value(whole).unwrap_or_else(|error| panic!("spec: {error}"))
}

pub(crate) fn issuer_ref(value: &Value) -> IssuerRef {
    keys(value, &["name", "kind", "group"]);
    let kind = match value["kind"].as_str() {
        None | Some("") => "Issuer",
        Some(kind) => kind,
    };
    IssuerRef {
        name: text(&value["name"]),
        kind: serde_json::from_value(kind.into()).unwrap(),
        group: text(&value["group"]),
    }
}

pub(crate) fn key_spec(value: &Value) -> PrivateKeySpec {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("privateKey: {error}"))
}

pub(crate) fn algorithm(word: &str) -> KeyAlgorithm {
    serde_json::from_value(word.into()).unwrap_or_else(|_| panic!("unknown algorithm `{word}`"))
}

/// `now`, `now+1m`, `now-1m`, or a time.
pub(crate) fn moment(value: &Value, now: Timestamp) -> Option<Timestamp> {
    let text = value.as_str()?;
    let Some(offset) = text.strip_prefix("now") else {
        return Some(text.parse().unwrap_or_else(|_| panic!("unknown time `{text}`")));
    };
    if offset.is_empty() {
        return Some(now);
    }
    let offset: GoDuration = offset.parse().unwrap_or_else(|_| panic!("unknown time `{text}`"));
    Some(now.checked_add(offset.0).unwrap())
}
