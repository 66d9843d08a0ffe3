//! The bare protocol: the POSTs of one issuance (RFC 8555 section 7) over one kept connection,
//! with keys, nonce, directory and account at hand. No state, no self-check, no verification.

use std::collections::HashMap;
use std::time::Duration;

use aws_lc_rs::digest;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use serde_json::{Value, json};

use crate::responder::Responder;

/// A client with an account.
pub(crate) struct Client {
    http: reqwest::Client,
    directory: Value,
    key: EcdsaKeyPair,
    thumbprint: String,
    account: String,
    nonce: String,
}

/// What is prepared before the clock starts.
pub(crate) struct Prepared {
    names: Vec<String>,
    csr: String,
}

impl Prepared {
    /// A key and a CSR for these names.
    pub(crate) fn new(names: Vec<String>) -> Self {
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        let csr = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
        Self { names, csr: BASE64_URL_SAFE_NO_PAD.encode(csr.der()) }
    }
}

impl Client {
    /// Fetches directory and nonce, and registers an account.
    pub(crate) async fn register(http: reqwest::Client, directory_url: &str) -> Self {
        let directory = http.get(directory_url).send().await.unwrap().text().await.unwrap();
        let directory: Value = serde_json::from_str(&directory).unwrap();
        let answer = http.head(text(&directory["newNonce"])).send().await.unwrap();
        let nonce = header(&answer, "replay-nonce");
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let canonical = jwk(&key).to_string();
        let thumbprint = digest::digest(&digest::SHA256, canonical.as_bytes());
        let thumbprint = BASE64_URL_SAFE_NO_PAD.encode(thumbprint);
        let account = String::new();
        let mut client = Self { http, directory, key, thumbprint, account, nonce };
        let url = text(&client.directory["newAccount"]).to_owned();
        let (account, _) = client.post(&url, &json!({"termsOfServiceAgreed": true})).await;
        client.account = account;
        client
    }

    /// One issuance; returns the chain.
    pub(crate) async fn issue(&mut self, prepared: &Prepared, responder: &Responder) -> String {
        let new_order = text(&self.directory["newOrder"]).to_owned();
        let identifiers: Vec<Value> =
            prepared.names.iter().map(|name| json!({"type": "dns", "value": name})).collect();
        let (order_url, order) =
            self.post(&new_order, &json!({ "identifiers": identifiers })).await;
        let order: Value = serde_json::from_str(&order).unwrap();

        let mut challenges = HashMap::new();
        for authorization in order["authorizations"].as_array().unwrap() {
            let (_, authorization) = self.read(text(authorization)).await;
            let authorization: Value = serde_json::from_str(&authorization).unwrap();
            let offered = authorization["challenges"].as_array().unwrap();
            let http01 = offered.iter().find(|each| each["type"] == "http-01").unwrap();
            challenges.insert(text(&http01["token"]).to_owned(), text(&http01["url"]).to_owned());
        }
        let mut hits = responder.answer(challenges.keys(), &self.thumbprint);
        for url in challenges.values() {
            self.post(url, &json!({})).await;
        }
        hits.all().await;
        tokio::time::sleep(FIRST_LOOK).await;
        self.poll(&order_url, "ready").await;

        self.post(text(&order["finalize"]), &json!({ "csr": prepared.csr })).await;
        tokio::time::sleep(FIRST_LOOK).await;
        let order = self.poll(&order_url, "valid").await;
        self.read(text(&order["certificate"])).await.1
    }

    async fn poll(&mut self, url: &str, status: &str) -> Value {
        let mut wait = FIRST_LOOK;
        loop {
            let order: Value = serde_json::from_str(&self.read(url).await.1).unwrap();
            if order["status"] == status {
                return order;
            }
            assert_ne!(order["status"], "invalid", "{order}");
            wait *= 2;
            tokio::time::sleep(wait).await;
        }
    }

    /// POST-as-GET (RFC 8555 section 6.3).
    async fn read(&mut self, url: &str) -> (String, String) {
        self.post(url, &Value::Null).await
    }

    /// A signed POST; returns Location and body. A `null` payload is the empty one.
    async fn post(&mut self, url: &str, payload: &Value) -> (String, String) {
        let mut protected = json!({"alg": "ES256", "nonce": self.nonce, "url": url});
        if self.account.is_empty() {
            protected["jwk"] = jwk(&self.key);
        } else {
            protected["kid"] = json!(self.account);
        }
        let payload = if payload.is_null() { String::new() } else { payload.to_string() };
        let protected = BASE64_URL_SAFE_NO_PAD.encode(protected.to_string());
        let payload = BASE64_URL_SAFE_NO_PAD.encode(payload);
        let signed = format!("{protected}.{payload}");
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature);
        let body = json!({"protected": protected, "payload": payload, "signature": signature});
        let request = self.http.post(url).header("Content-Type", "application/jose+json");
        let answer = request.body(body.to_string()).send().await.unwrap();
        self.nonce = header(&answer, "replay-nonce");
        let (status, location) = (answer.status(), header(&answer, "location"));
        let body = answer.text().await.unwrap();
        assert!(status.is_success(), "{url}: {status} {body}");
        (location, body)
    }
}

/// The public key with its members in the order of RFC 7638.
fn jwk(key: &EcdsaKeyPair) -> Value {
    let (x, y) = key.public_key().as_ref().get(1..).unwrap().split_at(32);
    let encode = |bytes| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    json!({"crv": "P-256", "kty": "EC", "x": encode(x), "y": encode(y)})
}

fn header(answer: &reqwest::Response, name: &str) -> String {
    answer.headers().get(name).map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// As long as it takes Pebble to validate and to sign.
const FIRST_LOOK: Duration = Duration::from_millis(1);
