//! The checks of trigger and readiness, and the comparisons below them.

use std::collections::BTreeMap;

use certctl::controller::policy;
use certctl::engine::published_pair;
use certctl::pki::read_csr;
use certctl::resource::{
    CertificateRequest, CertificateSpec, KeyFacts, LeafFacts, PublicKeyDigest, PublishedFormats,
    PublishedPair, SecretFiles,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::input::{self, Case, keys, moment, noon, seconds, text};
use super::material;
use super::stage;

pub(crate) fn trigger(case: &Case) -> Value {
    let input = &case.input;
    keys(input, &["now", "spec", "status", "secret", "currentRequest", "certificateName"]);
    let now = moment(&input["now"], noon()).unwrap_or_else(noon);
    let mut snapshot = stage::idle();
    snapshot.certificate.spec = input::spec(&input["spec"]);
    if let Some(name) = input["certificateName"].as_str() {
        name.clone_into(&mut snapshot.certificate.metadata.name);
    }
    keys(&input["status"], &["renewalTime"]);
    snapshot.record.status.renewal_time = moment(&input["status"]["renewalTime"], now);
    snapshot.secret = secret(&input["secret"], now);
    snapshot.current_request = request_of(&input["currentRequest"], &snapshot, now);
    let found = policy::first_violation(policy::TRIGGER, &snapshot, now);
    let found = found.map(|violation| (violation.reason.as_str(), violation.message));
    let reissue = found.is_some();
    let (reason, message) = found.unwrap_or_default();
    json!({ "reason": reason, "message": message, "reissue": reissue })
}

/// What is live, from the bytes of a Secret or from the dates of its certificate.
fn secret(value: &Value, now: Timestamp) -> Option<PublishedPair> {
    if value.is_null() {
        return None;
    }
    keys(value, &["annotations", "data", "certificate"]);
    let annotations: BTreeMap<String, String> =
        serde_json::from_value(value["annotations"].clone()).unwrap_or_default();
    if !value["certificate"].is_null() {
        let leaf = leaf_of(&value["certificate"], now);
        let key = KeyFacts {
            algorithm: certctl::resource::KeyAlgorithm::Rsa,
            size: 2048,
            public_key: leaf.public_key.clone(),
        };
        return Some(PublishedPair {
            key: Some(Ok(key)),
            certificate: Some(Ok(leaf)),
            annotations,
            labels: BTreeMap::new(),
            formats: PublishedFormats::default(),
        });
    }
    let mut files = BTreeMap::new();
    match &value["data"] {
        Value::String(both) => {
            let (key, certificate) = material::pair(both, now);
            files.insert("tls.key".to_owned(), key);
            files.insert("tls.crt".to_owned(), certificate);
        }
        data => {
            keys(data, &["tls.key", "tls.crt", "ca.crt"]);
            for (name, value) in data.as_object().into_iter().flatten() {
                files.insert(name.clone(), material::pem(value.as_str().unwrap(), now));
            }
        }
    }
    let document = json!({ "annotations": annotations, "labels": {}, "files": {} });
    let metadata = json!({ "version": 1, "kind": "SecretMetadata", "document": document });
    files.insert("metadata.json".to_owned(), metadata.to_string());
    let bytes = |(name, text): (String, String)| (name, Zeroizing::new(text.into_bytes()));
    Some(published_pair(&SecretFiles(files.into_iter().map(bytes).collect())))
}

fn leaf_of(value: &Value, base: Timestamp) -> LeafFacts {
    keys(
        value,
        &[
            "commonName",
            "cn",
            "dns",
            "ip",
            "uri",
            "uris",
            "email",
            "emails",
            "notBeforeOffsetSeconds",
            "notAfterOffsetSeconds",
        ],
    );
    let strings = |key: &str| -> Vec<String> {
        serde_json::from_value(value[key].clone()).unwrap_or_default()
    };
    let at = |key: &str, or: i64| {
        let offset = seconds(&value[key]).unwrap_or(SignedDuration::from_hours(or));
        base.checked_add(offset).unwrap()
    };
    LeafFacts {
        public_key: PublicKeyDigest("key".to_owned()),
        fingerprint: String::new(),
        serial: String::new(),
        certificate_id: None,
        common_name: text(&value["commonName"]) + &text(&value["cn"]),
        dns_names: strings("dns"),
        ip_addresses: strings("ip").iter().map(|ip| ip.parse().unwrap()).collect(),
        uris: [strings("uri"), strings("uris")].concat(),
        email_addresses: [strings("email"), strings("emails")].concat(),
        not_before: at("notBeforeOffsetSeconds", 0),
        not_after: at("notAfterOffsetSeconds", 24 * 90),
        issuer_common_name: String::new(),
        key_description: String::new(),
    }
}

/// The request of the live revision; the spec it was built from is what its CSR says.
fn request_of(
    value: &Value,
    snapshot: &certctl::controller::Snapshot,
    now: Timestamp,
) -> Option<CertificateRequest> {
    if value.is_null() {
        return None;
    }
    keys(value, &["csr", "issuerRef"]);
    let csr = read_csr(&material::pem(value["csr"].as_str().unwrap(), now)).unwrap();
    let key = KeyFacts {
        algorithm: certctl::resource::KeyAlgorithm::Rsa,
        size: 2048,
        public_key: csr.public_key,
    };
    let mut request = stage::request(snapshot, &key);
    request.certificate_spec = CertificateSpec {
        common_name: csr.common_name,
        dns_names: csr.dns_names.iter().map(|name| name.parse().unwrap()).collect(),
        ip_addresses: csr.ip_addresses,
        uris: csr.uris,
        email_addresses: csr.email_addresses,
        issuer_ref: input::issuer_ref(&value["issuerRef"]),
        ..CertificateSpec::default()
    };
    Some(request)
}

pub(crate) fn request(case: &Case) -> Value {
    keys(&case.input, &["request", "spec"]);
    let (wanted, requested) =
        (input::spec(&case.input["spec"]), input::spec(&case.input["request"]));
    json!({ "violations": policy::request_mismatches(&wanted, &requested) })
}

pub(crate) fn leaf(case: &Case) -> Value {
    keys(&case.input, &["certificate", "spec"]);
    let leaf = leaf_of(&case.input["certificate"], noon());
    json!({ "violations": policy::leaf_mismatches(&input::spec(&case.input["spec"]), &leaf) })
}

pub(crate) fn private_key(case: &Case) -> Value {
    keys(&case.input, &["key", "spec.privateKey"]);
    let key = &case.input["key"];
    keys(key, &["algorithm", "size"]);
    let key = KeyFacts {
        algorithm: input::algorithm(&text(&key["algorithm"])),
        size: input::count(&key["size"]).unwrap_or(256),
        public_key: PublicKeyDigest(String::new()),
    };
    let spec = CertificateSpec {
        private_key: Some(input::key_spec(&case.input["spec.privateKey"])),
        ..CertificateSpec::default()
    };
    json!({ "violations": policy::key_mismatches(&spec, &key) })
}
