//! One document of each kind, with every field that the tests of this folder care about.

use serde_json::{Value, json};

use crate::resource::{
    Account, CertificateRecord, CertificateRequest, Order, Queue, SecretMetadata,
};

pub(crate) fn order() -> Order {
    from(json!({
        "name": "web-7-1",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "spec": {
            "certificate": {"namespace": "default", "name": "web"},
            "revision": 7,
            "request": "csr",
            "issuerRef": {"name": "le"},
            "directoryURL": "https://ca.example/dir",
            "accountURL": "https://ca.example/acct/1",
            "identifiers": [{"dns": "web.example"}]
        },
        "number": 1,
        "phase": { "solving": {
            "url": "https://ca.example/order/1",
            "finalizeURL": "https://ca.example/order/1/finalize"
        } },
        "state": "pending",
        "authorizations": [authorization()],
        "challenges": [challenge()]
    }))
}

pub(crate) fn queue() -> Queue {
    from(json!({
        "runs": {"0": [{
            "certificate": {"namespace": "default", "name": "web"},
            "identifier": {"dns": "web.example"},
            "type": "http-01",
            "queuedAt": "2026-01-02T03:04:05Z",
            "place": "granted"
        }]}
    }))
}

fn authorization() -> Value {
    json!({
        "url": "https://ca.example/authz/1",
        "identifier": {"dns": "web.example"},
        "wildcard": false,
        "initialState": "pending",
        "challenges": [{"type": "http-01", "url": "https://ca.example/chall/1", "token": "t"}]
    })
}

fn challenge() -> Value {
    json!({
        "spec": {
            "authorizationURL": "https://ca.example/authz/1",
            "type": "http-01",
            "url": "https://ca.example/chall/1",
            "identifier": {"dns": "web.example"},
            "wildcard": false,
            "token": "t",
            "key": "t.thumb",
            "solver": {"http01": {}}
        },
        "state": {"pending": {"phase": "queued", "authorization": "pending"}},
        "presented": {"isOwed": false}
    })
}

pub(crate) fn request() -> CertificateRequest {
    from(json!({
        "metadata": {"name": "web-7", "namespace": "default"},
        "revision": 7,
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "spec": {"request": "csr", "publicKey": "ab", "issuerRef": {"name": "le"}},
        "certificateSpec": {"issuerRef": {"name": "le"}}
    }))
}

pub(crate) fn record() -> CertificateRecord {
    from(json!({
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "generation": 1,
        "specDigest": "ab",
        "secretName": "web-tls",
        "manifest": "/etc/certctl/web.yaml",
        "directoryURLs": {"7": "https://ca.example/dir"},
        "status": {"revision": 7}
    }))
}

pub(crate) fn account() -> Account {
    from(json!({
        "identity": {
            "directoryURL": "https://ca.example/dir",
            "kind": "Issuer",
            "namespace": "default",
            "secretName": "le-key"
        },
        "nextStep": "nothing",
        "publicKey": "ab",
        "url": "https://ca.example/acct/1"
    }))
}

pub(crate) fn secret_metadata() -> SecretMetadata {
    from(json!({
        "annotations": {"cert-manager.io/issuer-name": "le"},
        "labels": {"controller.cert-manager.io/fao": "true"},
        "files": {"tls.crt": "ab"}
    }))
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}
