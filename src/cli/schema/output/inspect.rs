//! What `inspect` prints.

use serde_json::{Value, json};

use super::{boolean, document, integer, list_of, object, or_null, text, time, word};

pub(super) fn kinds() -> impl Iterator<Item = (&'static str, Value)> {
    [document("Inspection", "`inspect`: one certificate.", &fields())].into_iter()
}

fn fields() -> Vec<(&'static str, Value)> {
    let trust = object(&[("trusted", boolean()), ("reason", or_null(text()))]);
    let spec = object(&[("matches", boolean()), ("differences", list_of(text()))]);
    let served = object(&[("same", boolean()), ("stateSerial", text())]);
    let key = json!({ "anyOf": [
        word(&["matches", "doesNotMatch", "absent"]),
        object(&[("unreadable", text())]),
    ] });
    let link = object(&[
        ("subject", text()),
        ("issuer", text()),
        ("notAfter", time()),
        ("problems", list_of(text())),
    ]);
    vec![
        ("source", text()),
        ("leaf", leaf()),
        ("daysLeft", integer()),
        ("privateKey", key),
        ("certificate", or_null(text())),
        ("spec", or_null(spec)),
        ("served", or_null(served)),
        ("trust", trust.clone()),
        ("bundleTrust", or_null(trust)),
        ("crl", revocation()),
        ("ocsp", revocation()),
        ("chain", list_of(link)),
    ]
}

fn leaf() -> Value {
    let party = object(&[
        ("commonName", text()),
        ("organization", list_of(text())),
        ("organizationalUnit", list_of(text())),
        ("country", list_of(text())),
        ("name", text()),
    ]);
    object(&[
        ("subject", party.clone()),
        ("issuer", party),
        ("dnsNames", list_of(text())),
        ("uris", list_of(text())),
        ("ipAddresses", list_of(text())),
        ("emailAddresses", list_of(text())),
        ("usages", list_of(text())),
        ("notBefore", time()),
        ("notAfter", time()),
        ("signatureAlgorithm", text()),
        ("publicKeyAlgorithm", text()),
        ("serialNumber", text()),
        ("serialNumberHex", text()),
        ("sha256", text()),
        ("spkiSha256", text()),
        ("isCa", boolean()),
        ("crlUrls", list_of(text())),
        ("ocspUrls", list_of(text())),
        ("sctCount", integer()),
    ])
}

fn revocation() -> Value {
    let good = object(&[
        ("status", word(&["good"])),
        ("thisUpdate", time()),
        ("nextUpdate", or_null(time())),
    ]);
    let revoked =
        object(&[("status", word(&["revoked"])), ("at", time()), ("reason", or_null(text()))]);
    let answered = object(&[("url", text()), ("answer", json!({ "anyOf": [good, revoked] }))]);
    json!({ "anyOf": [
        word(&["noUrl", "noUsableUrl", "notChecked"]),
        object(&[("answered", answered)]),
        object(&[("unknown", object(&[("reasons", list_of(text()))]))]),
    ] })
}
