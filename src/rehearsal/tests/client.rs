//! A client that signs requests by hand, so that it can also sign wrong ones.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use reqwest::Method;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::super::CaHandle;
use super::web::{Page, Web};

/// An answer with its whole body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and last part of the problem type.
    pub(super) fn problem(&self) -> (u16, String) {
        let urn = self.json()["type"].as_str().unwrap_or("no problem").to_owned();
        (self.status, urn.replace("urn:ietf:params:acme:error:", ""))
    }
}

pub(super) fn http(root_pem: &str) -> reqwest::Client {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(root_pem.as_bytes()).unwrap()).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let tls = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build().unwrap()
}

pub(super) struct Client {
    pub(super) http: reqwest::Client,
    pub(super) directory_url: String,
    pub(super) key: Vec<u8>,
    pub(super) kid: String,
}

impl Client {
    pub(super) fn new(ca: &CaHandle) -> Self {
        let key = rcgen::KeyPair::generate().unwrap().serialize_der();
        let http = http(&ca.root_pem());
        Self { http, directory_url: ca.directory_url(), key, kid: String::new() }
    }

    pub(super) fn url(&self, path: &str) -> String {
        self.directory_url.replace("/directory", path)
    }

    /// Host and port of the CA.
    pub(super) fn address(&self) -> String {
        self.url("").replace("https://", "")
    }

    fn signer(&self) -> EcdsaKeyPair {
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &self.key).unwrap()
    }

    pub(super) fn jwk(&self) -> Value {
        let key = self.signer();
        let (x, y) = key.public_key().as_ref()[1..].split_at(32);
        let encode = |bytes| URL_SAFE_NO_PAD.encode(bytes);
        json!({ "kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y) })
    }

    pub(super) fn thumbprint(&self) -> String {
        super::super::jwk::PublicKey::from_jwk(&self.jwk()).unwrap().thumbprint()
    }

    pub(super) async fn get(&self, url: &str) -> Result<Answer, reqwest::Error> {
        self.send(Method::GET, url, "", String::new()).await
    }

    pub(super) async fn send(
        &self,
        method: Method,
        url: &str,
        content_type: &str,
        body: String,
    ) -> Result<Answer, reqwest::Error> {
        let request = self.http.request(method, url).header("user-agent", "tests");
        let answer = request.header("content-type", content_type).body(body).send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(Answer { status, headers, body: answer.text().await? })
    }

    pub(super) async fn nonce(&self) -> String {
        let answer = self.get(&self.url("/new-nonce")).await.unwrap();
        assert_eq!(answer.status, 204);
        answer.header("replay-nonce").to_owned()
    }

    /// A JWS with exactly this header. `None` is the empty payload of POST-as-GET.
    pub(super) fn sign(&self, header: &Value, payload: Option<&Value>) -> Value {
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        let payload = payload.map(|it| URL_SAFE_NO_PAD.encode(it.to_string())).unwrap_or_default();
        let input = format!("{protected}.{payload}");
        let signature = self.signer().sign(&SystemRandom::new(), input.as_bytes()).unwrap();
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        json!({ "protected": protected, "payload": payload, "signature": signature })
    }

    /// A good request, signed with the account's URL or, as long as there is none, with the key.
    pub(super) async fn try_post(
        &self,
        url: &str,
        payload: Option<Value>,
    ) -> Result<Answer, reqwest::Error> {
        let mut header = json!({ "alg": "ES256", "url": url, "nonce": self.nonce().await });
        if self.kid.is_empty() {
            header["jwk"] = self.jwk();
        } else {
            header["kid"] = self.kid.clone().into();
        }
        let body = self.sign(&header, payload.as_ref()).to_string();
        self.send(Method::POST, url, "application/jose+json", body).await
    }

    pub(super) async fn post(&self, url: &str, payload: Value) -> Answer {
        self.try_post(url, Some(payload)).await.unwrap()
    }

    pub(super) async fn read(&self, url: &str) -> Answer {
        self.try_post(url, None).await.unwrap()
    }

    pub(super) async fn register(&mut self) {
        let payload = json!({ "termsOfServiceAgreed": true, "contact": ["mailto:a@example.com"] });
        let answer = self.post(&self.url("/new-account"), payload).await;
        if answer.status == 201 {
            answer.header("location").clone_into(&mut self.kid);
        }
    }

    pub(super) async fn order(&self, names: &[&str]) -> Answer {
        let identifier = |name: &&str| {
            let kind = if name.parse::<std::net::IpAddr>().is_ok() { "ip" } else { "dns" };
            json!({ "type": kind, "value": name })
        };
        let identifiers: Value = names.iter().map(identifier).collect();
        self.post(&self.url("/new-order"), json!({ "identifiers": identifiers })).await
    }

    /// The authorizations of an order.
    pub(super) async fn authorizations(&self, order: &Value) -> Vec<Value> {
        let mut found = Vec::new();
        for url in order["authorizations"].as_array().unwrap() {
            found.push(self.read(url.as_str().unwrap()).await.json());
        }
        found
    }

    /// Accepts a challenge and reads it until it is decided.
    pub(super) async fn accept(&self, challenge: &Value) -> Value {
        let url = challenge["url"].as_str().unwrap();
        let mut answer = self.post(url, json!({})).await;
        while answer.json()["status"] == "processing" {
            answer = self.read(url).await;
        }
        answer.json()
    }

    /// Serves and accepts the first challenge of every authorization.
    pub(super) async fn prove(&self, order: &Value, web: &Web) {
        for authorization in self.authorizations(order).await {
            if authorization["status"] == "valid" {
                continue;
            }
            let challenge = &authorization["challenges"][0];
            let token = challenge["token"].as_str().unwrap();
            web.put(token, Page::Text(format!("{token}.{}\r\n", self.thumbprint())));
            let decided = self.accept(challenge).await;
            assert_eq!(decided["status"], "valid", "{decided}");
        }
    }

    /// An order that is proven, and its URL.
    pub(super) async fn ready_order(&self, names: &[&str], web: &Web) -> (String, Value) {
        let answer = self.order(names).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let url = answer.header("location").to_owned();
        self.prove(&answer.json(), web).await;
        let order = self.read(&url).await.json();
        assert_eq!(order["status"], "ready", "{order}");
        (url, order)
    }

    pub(super) async fn finalize(&self, order: &Value, csr: &[u8]) -> Answer {
        let payload = json!({ "csr": URL_SAFE_NO_PAD.encode(csr) });
        self.post(order["finalize"].as_str().unwrap(), payload).await
    }

    /// Issues for the names with a fresh key; returns the download.
    pub(super) async fn issue(&self, names: &[&str], web: &Web) -> Answer {
        let (_, order) = self.ready_order(names, web).await;
        let finalized = self.finalize(&order, &csr(names)).await.json();
        assert_eq!(finalized["status"], "valid", "{finalized}");
        self.read(finalized["certificate"].as_str().unwrap()).await
    }
}

/// A CSR for the names with a fresh P-256 key and no common name.
pub(super) fn csr(names: &[&str]) -> Vec<u8> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = rcgen::CertificateParams::new(names).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.serialize_request(&rcgen::KeyPair::generate().unwrap()).unwrap().der().to_vec()
}
