//! The format of a stored JSON document: `{"version":1,"kind":"Order","document":{…}}`.
//!
//! Contract: each kind has its own version, which any added field raises. The version is checked
//! before anything else: a newer document is refused as newer and left unchanged, an older
//! one is migrated as it is read. An unknown field, a second `version` and anything
//! after the end are damage.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Account, AccountLimits, AuthorizationState, BannedKeys, CertificateRecord, CertificateRequest,
    CertificateSpec, Order, OrderState, Queue, ReasonSource, RevokedCertificate, SecretFiles,
    SecretMetadata, escape,
};

/// A type that is stored as JSON.
pub(crate) trait Document: Serialize + DeserializeOwned {
    /// Its name in the file.
    const KIND: &'static str;
    /// The version that is written. Older ones, from 1 on, are read.
    const VERSION: u64;
    /// Whether version 1 was the document alone, without an envelope around it.
    const BEGAN_BARE: bool = false;

    /// Changes the JSON of an older version into that of this one. Fields that were only added,
    /// each with a default, need nothing.
    fn upgrade(_from: u64, _document: &mut Value) {}
}

/// 2: the digests of attempted inputs cover the fields of the spec that go to the CA; a failure
/// has a typed cause, and the target of a deployment is structured. 3: renewal information. 4: the
/// response of a name server and the times of a request and of a suggested window have other names.
impl Document for CertificateRecord {
    const KIND: &'static str = "Certificate";
    const VERSION: u64 = 4;

    /// Digests with another definition equal none of the current ones, and each would read as an
    /// edit that bypasses the backoff. Without them the backoff continues, until the next attempt
    /// adds its own.
    fn upgrade(from: u64, document: &mut Value) {
        if from < 2
            && let Some(record) = document.as_object_mut()
        {
            record.remove("attemptedInputs");
            rename(record, "said", "notices");
            let failed_at = record.get("status").and_then(|status| status.get("lastFailureTime"));
            let failed_at = failed_at.cloned();
            if let Some(failure) = record.get_mut("lastFailure").and_then(Value::as_object_mut) {
                let message = failure.remove("message");
                failure.insert("cause".to_owned(), recorded(message));
                failure.extend(failed_at.map(|at| ("at".to_owned(), at)));
            }
            for revocation in items(record, "revocations") {
                if let Some(refusal) = revocation.remove("refusal") {
                    revocation.insert("refusal".to_owned(), recorded(Some(refusal)));
                }
            }
            for deployment in items(record, "deployments") {
                if let Some(message) = deployment.remove("message") {
                    deployment.insert("cause".to_owned(), recorded(Some(message)));
                }
                let mut text = |field| match deployment.remove(field) {
                    Some(Value::String(text)) => text,
                    Some(_) | None => String::new(),
                };
                let target = deploy_target(&text("step"), &text("target"));
                deployment.insert("target".to_owned(), target);
            }
        }
        if from < 4 {
            rename_times(document);
            name_responses(document);
        }
    }
}

/// Before format 4 of a Certificate, `requestedAt` was `askedAt`, and `reportedAt` `toldAt`.
fn rename_times(document: &mut Value) {
    let window = document.pointer_mut("/status/acme/ari/suggestedWindow");
    if let Some(window) = window.and_then(Value::as_object_mut) {
        rename(window, "toldAt", "reportedAt");
    }
    let Some(record) = document.as_object_mut() else { return };
    if let Some(rollback) = record.get_mut("rollback").and_then(Value::as_object_mut) {
        rename(rollback, "askedAt", "requestedAt");
    }
    items(record, "revocations").for_each(|one| rename(one, "askedAt", "requestedAt"));
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

/// Before format 4 of a Certificate and of an Order, the response in the report of a name server had
/// another name.
fn name_responses(value: &mut Value) {
    if let Some(report) = value.as_object_mut() {
        items(report, "answers").for_each(|answer| rename(answer, "said", "response"));
        report.values_mut().for_each(name_responses);
    } else if let Some(list) = value.as_array_mut() {
        list.iter_mut().for_each(name_responses);
    }
}

/// The objects of a list.
fn items<'a>(
    record: &'a mut Map<String, Value>,
    field: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = record.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// A message of format 1 as a cause.
fn recorded(message: Option<Value>) -> Value {
    json!({ "recorded": { "message": message.unwrap_or_default() } })
}

/// Format 1 kept the target of an output in one text: `/etc/tls owner www group ssl mode 0640`.
fn deploy_target(step: &str, target: &str) -> Value {
    if step != "output" {
        return json!({ step: { "name": target } });
    }
    let mut folder = target;
    let mut part = |word: &str| {
        let (rest, value) = folder.rsplit_once(&format!(" {word} "))?;
        folder = rest;
        Some(value.to_owned())
    };
    let mode = part("mode").and_then(|mode| u32::from_str_radix(&mode, 8).ok());
    let (group, owner) = (part("group"), part("owner"));
    json!({ "output": { "folder": folder, "owner": owner, "group": group, "mode": mode } })
}

/// Its version stands with the fields of the Certificate's spec, which is most of it.
impl Document for CertificateRequest {
    const KIND: &'static str = "CertificateRequest";
    const VERSION: u64 = CertificateSpec::FORMAT;

    /// A spec that cannot be parsed stays as it is, and the document is found to be damaged.
    fn upgrade(_from: u64, document: &mut Value) {
        if let Some(stored) = document.get_mut("certificateSpec")
            && let Ok(spec) = CertificateSpec::deserialize(&*stored)
            && let Ok(requested) = serde_json::to_value(spec.into_requested())
        {
            *stored = requested;
        }
    }
}

/// 2: a problem has the algorithms that the CA accepts; an order has its number; it and its
/// challenges have their phase with what belongs to that, such as a challenge's last self-check.
/// 3: an order names the certificate that it replaces. 4: a challenge has the source of its
/// reason, and a self-check `response`.
impl Document for Order {
    const KIND: &'static str = "Order";
    const VERSION: u64 = 4;

    fn upgrade(from: u64, document: &mut Value) {
        if from < 2
            && let Some(order) = document.as_object_mut()
        {
            let name = order.get("name").and_then(Value::as_str).unwrap_or_default();
            let number = name.rsplit('-').next().and_then(|number| number.parse::<u32>().ok());
            order.insert("number".to_owned(), json!(number));
            let phase = order_phase(order);
            order.insert("phase".to_owned(), phase);
            items(order, "challenges").for_each(challenge_of_format_1);
        }
        if from < 4
            && let Some(order) = document.as_object_mut()
        {
            items(order, "challenges").for_each(add_reason_source);
            name_responses(document);
        }
    }
}

/// The state of a challenge of format 1, which stored next step and state separately.
pub(crate) fn challenge_of_format_1(challenge: &mut Map<String, Value>) {
    let mut take = |field: &str| challenge.remove(field).filter(|value| !value.is_null());
    let (phase, authorization) = (take("phase"), take("state").unwrap_or_else(|| json!("")));
    let state: AuthorizationState = authorization.as_str().unwrap_or_default().to_owned().into();
    let mut seen = Map::from_iter([("authorization".to_owned(), authorization)]);
    for field in ["problem", "check"] {
        seen.extend(take(field).map(|value| (field.to_owned(), value)));
    }
    let is_owed = take("cleanUp") == Some(json!("owed"));
    let (at, target) = (take("presentedAt"), take("target"));
    let presented = json!({ "isOwed": is_owed, "at": at, "target": target });
    let state = match phase {
        Some(phase) if phase != json!("final") => {
            seen.insert("phase".to_owned(), phase);
            json!({ "pending": seen })
        }
        Some(_) if state == AuthorizationState::Valid => json!("valid"),
        Some(_) if state.is_failure() => json!({ "failed": seen }),
        Some(_) => json!({ "ended": seen }),
        None => Value::Null,
    };
    challenge.insert("state".to_owned(), state);
    challenge.insert("presented".to_owned(), presented);
}

/// Before format 4 only the words of a challenge's reason said what it was about. One with the CA's
/// error was about that.
fn add_reason_source(challenge: &mut Map<String, Value>) {
    let reason = challenge.get("reason").and_then(Value::as_str).unwrap_or_default();
    let of_check = reason.split_once(" challenge propagation: ").map(|(kind, _)| kind);
    let is_of_check = matches!(of_check, Some("Waiting for HTTP-01" | "Waiting for DNS-01"));
    let states = challenge.get("state").and_then(Value::as_object);
    let has_problem = states.is_some_and(|states| {
        states.values().any(|state| state.get("problem").is_some_and(|found| !found.is_null()))
    });
    let source = match reason {
        _ if is_of_check && !has_problem => ReasonSource::SelfCheck,
        "Waiting for the CA to look" => ReasonSource::Accept,
        _ => ReasonSource::Other,
    };
    challenge.insert("reasonSource".to_owned(), json!(source));
}

/// The phase of an order of format 1, which stored next step, state, URLs and the rest separately.
fn order_phase(order: &mut Map<String, Value>) -> Value {
    let mut take = |field: &str| order.remove(field).filter(|value| !value.is_null());
    let (step, url, finalize_url) = (take("deed"), take("url"), take("finalizeURL"));
    let (certificate_url, certificate) = (take("certificateURL"), take("certificate"));
    let (problem, at) = (take("problem"), take("failureTime"));
    let state = order.get("state").cloned().unwrap_or_default();
    let state: OrderState = state.as_str().unwrap_or_default().to_owned().into();
    let finalize_url = finalize_url.unwrap_or_else(|| json!(""));
    let urls = url.map(|url| json!({ "url": url, "finalizeURL": finalize_url }));
    let mut fields = Map::new();
    let mut keep = |field: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (field.to_owned(), value)));
    };
    let with_urls = |phase: &str| json!({ phase: urls });
    match step.as_ref().and_then(Value::as_str).unwrap_or_default() {
        "create" => json!("creating"),
        "authorize" => with_urls("authorizing"),
        "solve" if state == OrderState::Invalid => {
            keep("urls", urls);
            keep("problem", problem);
            json!({ "refused": fields })
        }
        "solve" => with_urls("solving"),
        "finalize" => with_urls("finalizing"),
        // An order that is valid without a certificate URL is read again.
        "download" if certificate_url.is_some() => {
            keep("urls", urls);
            keep("certificateURL", certificate_url);
            json!({ "downloading": fields })
        }
        "await" | "download" => with_urls("awaiting"),
        "nothing" if state.is_failure() => {
            keep("urls", urls);
            keep("problem", problem);
            keep("at", at);
            json!({ "failed": fields })
        }
        "nothing" if certificate.is_some() => {
            keep("urls", urls);
            keep("certificateURL", Some(certificate_url.unwrap_or_else(|| json!(""))));
            keep("certificate", certificate);
            json!({ "issued": fields })
        }
        "nothing" => {
            keep("urls", urls);
            json!({ "replaced": fields })
        }
        _ => Value::Null,
    }
}

/// 2: the field of the next step is renamed.
impl Document for Account {
    const KIND: &'static str = "Account";
    const VERSION: u64 = 2;

    fn upgrade(_from: u64, document: &mut Value) {
        if let Some(account) = document.as_object_mut() {
            rename(account, "deed", "nextStep");
        }
    }
}

impl Document for AccountLimits {
    const KIND: &'static str = "AccountLimits";
    const VERSION: u64 = 1;
}

impl Document for BannedKeys {
    const KIND: &'static str = "BannedKeys";
    const VERSION: u64 = 1;
}

impl Document for RevokedCertificate {
    const KIND: &'static str = "RevokedCertificate";
    const VERSION: u64 = 1;
}

/// 2: an entry is a group of challenges, without a URL.
impl Document for Queue {
    const KIND: &'static str = "Queue";
    const VERSION: u64 = 2;

    fn upgrade(_from: u64, document: &mut Value) {
        let runs = document.get_mut("runs").and_then(Value::as_object_mut);
        let entries = runs.into_iter().flat_map(Map::values_mut).filter_map(Value::as_array_mut);
        for entry in entries.flatten().filter_map(Value::as_object_mut) {
            entry.remove("url");
        }
    }
}

/// 2: it has an envelope.
impl Document for SecretMetadata {
    const KIND: &'static str = "SecretMetadata";
    const VERSION: u64 = 2;
    const BEGAN_BARE: bool = true;
}

impl SecretMetadata {
    /// The facts of a Secret's files.
    pub(crate) fn of(files: &SecretFiles) -> Option<Result<Self, Unreadable>> {
        let bytes = files.0.get(Self::FILE)?;
        Some(open(bytes).map(|(metadata, _)| metadata))
    }
}

/// Why a document is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It has a newer version, or one that never existed.
    Version(u64),
    /// It is damaged, with the reason.
    Damaged(String),
}

/// Writes a document.
pub(crate) fn seal<T: Document>(document: &T) -> Result<Vec<u8>, serde_json::Error> {
    let envelope = Sealed { version: T::VERSION, kind: T::KIND, document };
    let mut bytes = serde_json::to_vec_pretty(&envelope)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a document, and returns its version.
pub(crate) fn open<T: Document>(bytes: &[u8]) -> Result<(T, u64), Unreadable> {
    // Most documents are of this version, and read once; the others, and what is wrong, are looked
    // at version first. As text they are checked at once, and not each string in them.
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(Envelope { version, kind, document }) = serde_json::from_str::<Envelope<T>>(text)
        && version == T::VERSION
        && kind == T::KIND
    {
        return Ok((document, version));
    }
    let damaged = |error: serde_json::Error| Unreadable::Damaged(one_line(&error.to_string()));
    let label: Label = serde_json::from_slice(bytes).map_err(damaged)?;
    let bare = T::BEGAN_BARE.then_some(1);
    let Some(version) = label.version.or(bare) else {
        return Err(Unreadable::Damaged("it has no version".to_owned()));
    };
    if version == T::VERSION {
        let envelope: Envelope<T> = serde_json::from_slice(bytes).map_err(damaged)?;
        return of_kind::<T, T>(envelope).map(|document| (document, version));
    }
    if version == 0 || version > T::VERSION {
        return Err(Unreadable::Version(version));
    }
    let mut document = if T::BEGAN_BARE && version == 1 {
        serde_json::from_slice(bytes).map_err(damaged)?
    } else {
        of_kind::<T, Value>(serde_json::from_slice(bytes).map_err(damaged)?)?
    };
    T::upgrade(version, &mut document);
    // As text again: one decoder of each type is in the binary, not two.
    let text = serde_json::to_vec(&document).map_err(damaged)?;
    let document = serde_json::from_slice(&text).map_err(damaged)?;
    Ok((document, version))
}

fn of_kind<T: Document, D>(envelope: Envelope<D>) -> Result<D, Unreadable> {
    if envelope.kind == T::KIND {
        return Ok(envelope.document);
    }
    let why = format!("it is of kind \"{}\", not \"{}\"", one_line(&envelope.kind), T::KIND);
    Err(Unreadable::Damaged(why))
}

#[derive(Serialize)]
struct Sealed<'a, T> {
    version: u64,
    kind: &'static str,
    document: &'a T,
}

/// The fields of every version; a newer one may add others.
#[derive(Deserialize)]
struct Label {
    version: Option<u64>,
    #[serde(default, rename = "document")]
    _document: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<T> {
    version: u64,
    kind: String,
    document: T,
}

/// A text from a damaged file is neither trusted nor long.
fn one_line(text: &str) -> String {
    escape(&text.chars().take(200).collect::<String>()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::fs::File;
    use std::io::Write as _;
    use std::path::Path;

    use schemars::JsonSchema;

    use super::*;
    use crate::resource::{ChallengeState, OrderPhase, Presented};
    use crate::store::samples;

    fn check_damages<T: Document + Clone + PartialEq + Debug>(document: &T) {
        let good = seal(document).unwrap();
        assert_eq!(open::<T>(&good), Ok((document.clone(), T::VERSION)));
        // The last byte is the newline: without it the document is whole.
        let mut damages: Vec<_> = (0..good.len() - 1).map(|end| good[..end].to_vec()).collect();
        let text = String::from_utf8(good.clone()).unwrap();
        let version = format!("\"version\": {}", T::VERSION);
        let twice = format!("{version}, {version}");
        let (extra, comma) = (format!("{version}, \"extra\": 1"), format!("{version},"));
        let edits = [
            (version.as_str(), "\"version\": -1"),
            (&version, "\"version\": 1.0"),
            (&version, "\"version\": 99999999999999999999"),
            (&version, &twice),
            (&version, &extra),
            (&comma, ""),
            ("\"document\": {", "\"document\": {\"ext\\u001bra\": 1,"),
            ("\"document\": {", "\"document\": {}, \"document\": {"),
            ("\"kind\": \"", "\"kind\": \"\\u001b"),
        ];
        damages.extend(edits.map(|(from, to)| text.replacen(from, to, 1).into_bytes()));
        damages.extend([
            vec![0; 512],
            vec![0xff; 10],
            [&*good, b"}"].concat(),
            [&*good, &*good].concat(),
            [&*b"[".repeat(100_000), &*good].concat(),
            b"{\"version\":1,\"kind\":\"Order\",\"document\":null}".to_vec(),
        ]);
        for damage in damages {
            match open::<T>(&damage) {
                Err(Unreadable::Damaged(why)) => {
                    assert!(why.len() < 1000 && !why.chars().any(char::is_control), "{why:?}");
                }
                found => panic!("{found:?} from {}", String::from_utf8_lossy(&damage)),
            }
        }
        for (index, bit) in (0..good.len()).flat_map(|i| (0..8).map(move |bit| (i, 1 << bit))) {
            let mut damage = good.clone();
            damage[index] ^= bit;
            // It may still be a valid document, or of another version; it must only not panic.
            drop(open::<T>(&damage));
        }
    }

    #[test]
    fn no_damage_is_taken_for_a_document() {
        check_damages(&samples::record());
        check_damages(&samples::request());
        check_damages(&samples::order());
        check_damages(&samples::account());
        check_damages(&samples::queue());
        check_damages(&samples::secret_metadata());
    }

    /// What is kept of a schema: names, types and what is required, without what is only said.
    fn shape(schema: &mut Value) {
        match schema {
            Value::Object(fields) => {
                fields.retain(|name, value| {
                    let is_documentation =
                        matches!(name.as_str(), "description" | "title" | "$schema");
                    !(is_documentation && value.is_string())
                });
                fields.values_mut().for_each(shape);
            }
            Value::Array(items) => items.iter_mut().for_each(shape),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// `CERTCTL_REGENERATE=1 cargo test --lib envelope` writes the shape of a version that has none
    /// yet, and never changes one: binaries that are in use have it.
    fn check_shape<T: Document + JsonSchema>() {
        let mut schema = schemars::schema_for!(T).to_value();
        shape(&mut schema);
        let found = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats");
        let file = folder.join(format!("{}.{}.json", T::KIND, T::VERSION));
        if !file.exists() && std::env::var_os("CERTCTL_REGENERATE").is_some() {
            File::create(&file).unwrap().write_all(found.as_bytes()).unwrap();
        }
        let frozen = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(
            found,
            frozen,
            "{0} changed: raise its VERSION, and upgrade {1}",
            T::KIND,
            T::VERSION
        );
    }

    #[test]
    fn whatever_changes_the_shape_of_a_document_raises_its_version() {
        check_shape::<CertificateRecord>();
        check_shape::<CertificateRequest>();
        check_shape::<Order>();
        check_shape::<Account>();
        check_shape::<AccountLimits>();
        check_shape::<BannedKeys>();
        check_shape::<RevokedCertificate>();
        check_shape::<Queue>();
        check_shape::<SecretMetadata>();
        check_shape::<crate::solver::http01::PresentedToken>();
    }

    #[test]
    fn a_document_that_had_no_envelope_is_read_and_damage_in_it_is_damage() {
        let metadata = samples::secret_metadata();
        let bare = serde_json::to_string(&metadata).unwrap();
        assert_eq!(open::<SecretMetadata>(bare.as_bytes()), Ok((metadata, 1)));
        for damage in ["{}", "[]", "", &bare[1..], &bare.replacen('{', "{\"extra\": 1,", 1)] {
            assert!(
                matches!(open::<SecretMetadata>(damage.as_bytes()), Err(Unreadable::Damaged(_))),
                "{damage}"
            );
        }
    }

    #[test]
    fn a_request_keeps_of_the_spec_what_went_to_the_ca() {
        let old = serde_json::json!({"version": 1, "kind": "CertificateRequest", "document": {
            "metadata": {"name": "web-7", "namespace": "default"},
            "revision": 7,
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "spec": {"request": "csr", "publicKey": "ab", "issuerRef": {"name": "le"}},
            "certificateSpec": {
                "secretName": "web-tls", "issuerRef": {"name": "le"}, "renewBefore": "720h",
                "isCA": true, "keystores": {"jks": {"create": true, "password": "changeit"}}
            }
        }});
        let spec = CertificateSpec { is_ca: true, ..samples::request().certificate_spec };
        let expected = CertificateRequest { certificate_spec: spec, ..samples::request() };
        assert_eq!(open(old.to_string().as_bytes()), Ok((expected, 1)));
    }

    #[test]
    fn a_newer_version_is_distinguished_from_damage() {
        for (text, version) in [
            ("{\"version\":5,\"kind\":\"Order\",\"document\":{\"new\":1},\"sum\":\"ab\"}", 5),
            ("{\"version\":0}", 0),
            ("{\"sum\":[[]],\"version\":18446744073709551615}", u64::MAX),
        ] {
            assert_eq!(open::<Order>(text.as_bytes()), Err(Unreadable::Version(version)), "{text}");
        }
    }

    #[test]
    fn an_older_version_is_read_and_damage_in_it_is_damage() {
        let order = samples::order();
        let fields = json!({
            "deed": "solve", "url": "https://ca.example/order/1",
            "finalizeURL": "https://ca.example/order/1/finalize",
        });
        let old = of_format_1(&fields);
        assert_eq!(open::<Order>(old.as_bytes()), Ok((order, 1)));
        for (from, to) in [
            ("\"document\": {", "\"document\": {\"extra\": 1,"),
            ("\"kind\": \"Order\"", "\"kind\": \"Account\""),
            ("\"deed\": ", "\"deed\": 7, \"d\": "),
        ] {
            let damage = old.replacen(from, to, 1);
            assert_ne!(damage, old, "{from}");
            assert!(
                matches!(open::<Order>(damage.as_bytes()), Err(Unreadable::Damaged(_))),
                "{to}"
            );
        }
    }

    /// The sample of an order, as format 1 has it with these fields.
    fn of_format_1(fields: &Value) -> String {
        let mut envelope: Value =
            serde_json::from_slice(&seal(&samples::order()).unwrap()).unwrap();
        envelope["version"] = json!(1);
        let order = envelope["document"].as_object_mut().unwrap();
        assert!(order.remove("phase").is_some() && order.remove("number").is_some());
        let challenge = order["challenges"][0].as_object_mut().unwrap();
        assert!(challenge.remove("presented").is_some());
        challenge.extend(
            json!({
                "phase": "queued", "state": "pending", "cleanUp": "notOwed",
            })
            .as_object()
            .unwrap()
            .clone(),
        );
        order.extend(fields.as_object().unwrap().clone());
        serde_json::to_string_pretty(&envelope).unwrap()
    }

    #[test]
    fn an_order_of_format_1_is_in_one_phase() {
        let urls = json!({ "url": "u", "finalizeURL": "f" });
        let at = "2026-01-02T03:04:05Z";
        let problem = json!({ "type": "urn:ietf:params:acme:error:dns" });
        let cases = [
            (json!({ "deed": "create", "state": "" }), json!("creating")),
            (
                json!({ "deed": "authorize", "url": "u", "finalizeURL": "f" }),
                json!({ "authorizing": urls }),
            ),
            (
                json!({ "deed": "solve", "state": "invalid", "url": "u", "finalizeURL": "f", "problem": problem }),
                json!({ "refused": { "urls": urls, "problem": problem } }),
            ),
            (
                json!({ "deed": "finalize", "url": "u", "finalizeURL": "f" }),
                json!({ "finalizing": urls }),
            ),
            (
                json!({ "deed": "await", "url": "u", "finalizeURL": "f" }),
                json!({ "awaiting": urls }),
            ),
            (
                json!({ "deed": "download", "url": "u", "finalizeURL": "f" }),
                json!({ "awaiting": urls }),
            ),
            (
                json!({ "deed": "download", "url": "u", "finalizeURL": "f", "certificateURL": "c" }),
                json!({ "downloading": { "urls": urls, "certificateURL": "c" } }),
            ),
            (
                json!({
                    "deed": "nothing", "state": "valid", "url": "u", "finalizeURL": "f",
                    "certificateURL": "c", "certificate": "pem",
                }),
                json!({ "issued": { "urls": urls, "certificateURL": "c", "certificate": "pem" } }),
            ),
            (
                json!({
                    "deed": "nothing", "state": "errored", "url": "u", "finalizeURL": "f",
                    "problem": problem, "failureTime": at,
                }),
                json!({ "failed": { "urls": urls, "problem": problem, "at": at } }),
            ),
            (json!({ "deed": "nothing", "state": "errored" }), json!({ "failed": {} })),
            (
                json!({ "deed": "nothing", "url": "u", "finalizeURL": "f" }),
                json!({ "replaced": { "urls": urls } }),
            ),
        ];
        for (fields, phase) in cases {
            let found = open::<Order>(of_format_1(&fields).as_bytes());
            let (order, version) = found.unwrap_or_else(|error| panic!("{fields}: {error:?}"));
            assert_eq!((version, order.number), (1, 1));
            let expected: OrderPhase = serde_json::from_value(phase).unwrap();
            assert_eq!(order.phase, expected, "{fields}");
        }
    }

    #[test]
    fn a_challenge_of_format_1_is_in_one_state() {
        let at = "2026-01-02T03:04:05Z";
        let problem = json!({ "type": "urn:ietf:params:acme:error:dns" });
        let target = json!({
            "provider": "p", "solverDigest": "d", "zone": "z", "name": "n", "value": "v",
        });
        let owed = json!({ "isOwed": true, "at": at, "target": target });
        let cases = [
            (
                json!({ "phase": "queued", "state": "pending", "cleanUp": "notOwed" }),
                json!({ "pending": { "phase": "queued", "authorization": "pending" } }),
                json!({ "isOwed": false }),
            ),
            (
                json!({
                    "phase": "accepted", "state": "odd", "problem": problem, "cleanUp": "owed",
                    "presentedAt": at, "target": target,
                }),
                json!({ "pending": {
                    "phase": "accepted", "authorization": "odd", "problem": problem,
                } }),
                owed.clone(),
            ),
            (
                json!({ "phase": "final", "state": "valid", "cleanUp": "done", "presentedAt": at }),
                json!("valid"),
                json!({ "isOwed": false, "at": at }),
            ),
            (
                json!({ "phase": "final", "state": "invalid", "problem": problem, "cleanUp": "done" }),
                json!({ "failed": { "authorization": "invalid", "problem": problem } }),
                json!({ "isOwed": false }),
            ),
            (
                json!({ "phase": "final", "cleanUp": "done" }),
                json!({ "ended": { "authorization": "" } }),
                json!({ "isOwed": false }),
            ),
        ];
        for (mut old, state, presented) in cases {
            challenge_of_format_1(old.as_object_mut().unwrap());
            let found: ChallengeState = serde_json::from_value(old["state"].clone()).unwrap();
            let expected: ChallengeState = serde_json::from_value(state).unwrap();
            assert_eq!(found, expected, "{old}");
            let found: Presented = serde_json::from_value(old["presented"].clone()).unwrap();
            let expected: Presented = serde_json::from_value(presented).unwrap();
            assert_eq!(found, expected, "{old}");
            assert_eq!(old.as_object().unwrap().len(), 2, "{old}");
        }
    }

    #[test]
    fn before_format_4_the_words_of_a_challenge_say_what_its_reason_is_about() {
        let problem = json!({ "type": "urn:ietf:params:acme:error:dns" });
        let (none, problem) = (Value::Null, problem);
        for (reason, problem, expected) in [
            ("Waiting for HTTP-01 challenge propagation: 404", &none, ReasonSource::SelfCheck),
            ("Waiting for DNS-01 challenge propagation: none", &none, ReasonSource::SelfCheck),
            ("Waiting for DNS-01 challenge propagation: none", &problem, ReasonSource::Other),
            ("Waiting for DNS-01 challenge propagation", &none, ReasonSource::Other),
            ("Waiting for the CA to look", &none, ReasonSource::Accept),
            ("Error presenting challenge: no", &none, ReasonSource::Other),
            ("", &none, ReasonSource::Other),
        ] {
            let mut envelope: Value =
                serde_json::from_slice(&seal(&samples::order()).unwrap()).unwrap();
            envelope["version"] = json!(3);
            let challenge = &mut envelope["document"]["challenges"][0];
            challenge["reason"] = json!(reason);
            challenge["state"]["pending"]["problem"] = problem.clone();
            assert!(!challenge.as_object().unwrap().contains_key("reasonSource"));
            let (order, version) = open::<Order>(envelope.to_string().as_bytes()).unwrap();
            let found = order.challenges[0].reason_source;
            assert_eq!((version, found), (3, expected), "{reason} {problem}");
        }
    }

    #[test]
    fn before_format_4_a_response_and_the_time_of_a_request_had_other_names() {
        let at = "2026-01-02T03:04:05Z";
        let check = |name: &str| json!({ "dns01": { "servers": [{ "server": "ns1", "answers": [{ name: "nxDomain" }] }] } });
        let mut old = json!({
            "rollback": { "to": 1, "askedAt": at },
            "status": { "acme": { "ari": { "suggestedWindow": { "toldAt": at } } } },
            "revocations": [{ "serial": "01", "askedAt": at }],
            "lastFailure": { "cause": { "selfCheck": { "report": check("said") } } },
        });
        let expected = json!({
            "rollback": { "to": 1, "requestedAt": at },
            "status": { "acme": { "ari": { "suggestedWindow": { "reportedAt": at } } } },
            "revocations": [{ "serial": "01", "requestedAt": at }],
            "lastFailure": { "cause": { "selfCheck": { "report": check("response") } } },
        });
        CertificateRecord::upgrade(3, &mut old);
        assert_eq!(old, expected);
        let pending = |name| json!({ "pending": { "check": check(name) } });
        let mut old = json!({ "challenges": [{ "reason": "", "state": pending("said") }] });
        let expected = json!({ "challenges": [
            { "reason": "", "reasonSource": "other", "state": pending("response") },
        ] });
        Order::upgrade(3, &mut old);
        assert_eq!(old, expected);
    }

    #[test]
    fn digests_of_another_making_are_no_edit() {
        let record = samples::record();
        let with = CertificateRecord { attempted_inputs: vec!["ab12".into()], ..record.clone() };
        let now = seal(&with).unwrap();
        assert_eq!(open::<CertificateRecord>(&now), Ok((with, 4)));
        let old = String::from_utf8(now).unwrap().replacen("\"version\": 4", "\"version\": 1", 1);
        let expected = CertificateRecord { attempted_inputs: Vec::new(), ..record };
        assert_eq!(open::<CertificateRecord>(old.as_bytes()), Ok((expected, 1)));
    }

    #[test]
    fn one_kind_is_not_read_as_another() {
        let keys = seal(&BannedKeys::default()).unwrap();
        assert!(matches!(open::<Queue>(&keys), Err(Unreadable::Damaged(_))));
    }
}
