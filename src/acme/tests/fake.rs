//! A scripted CA on a loopback port, for the tests of this module.
//!
//! It serves the directory, issues nonces, rejects nonces that are unknown or used, and leaves
//! every POST to the script of the test.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::acme::{Client, Endpoint, Limits};

/// A request as the CA saw it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) protected: Value,
    /// `Null` for POST-as-GET.
    pub(super) payload: Value,
    pub(super) jws: Value,
    pub(super) user_agent: String,
    pub(super) accept: String,
}

/// What the script answers.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    cut: bool,
    hang: bool,
}

impl Reply {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), cut: false, hang: false }
    }

    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, body.to_string()).with("Content-Type", "application/json")
    }

    pub(super) fn problem(status: u16, kind: &str, detail: &str) -> Self {
        let kind = format!("urn:ietf:params:acme:error:{kind}");
        Self::json(status, &json!({"type": kind, "detail": detail, "status": status}))
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The connection closes without an answer.
    pub(super) fn cut() -> Self {
        Self { cut: true, ..Self::new(200, "") }
    }

    /// No answer.
    pub(super) fn hang() -> Self {
        Self { hang: true, ..Self::new(200, "") }
    }
}

type Script = Box<dyn Fn(&Fake, &Seen) -> Option<Reply> + Send + Sync>;

/// The CA.
pub(super) struct Fake {
    pub(super) base: String,
    pub(super) ca_pem: String,
    script: Script,
    seen: Mutex<Vec<Seen>>,
    nonces: Mutex<HashSet<String>>,
    given: AtomicUsize,
    in_flight: AtomicUsize,
    pub(super) most_in_flight: AtomicUsize,
    pub(super) gate: Option<tokio::sync::Barrier>,
}

impl Fake {
    /// Starts a CA; `script` sees every request and may leave the usual ones to it with `None`.
    pub(super) async fn start(
        script: impl Fn(&Self, &Seen) -> Option<Reply> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::start_gated(None, script).await
    }

    /// Like `start`; POSTs are answered in groups of `gate`, so that so many are in flight.
    pub(super) async fn start_gated(
        gate: Option<usize>,
        script: impl Fn(&Self, &Seen) -> Option<Reply> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::start_presenting(|_| {}, gate, script).await
    }

    /// Like `start`, with another TLS certificate.
    pub(super) async fn start_presenting(
        edit: impl FnOnce(&mut rcgen::CertificateParams),
        gate: Option<usize>,
        script: impl Fn(&Self, &Seen) -> Option<Reply> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        edit(&mut params);
        let certificate = params.self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let fake = Arc::new(Self {
            base: format!("https://localhost:{port}"),
            ca_pem: certificate.pem(),
            script: Box::new(script),
            seen: Mutex::default(),
            nonces: Mutex::default(),
            given: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
            gate: gate.map(tokio::sync::Barrier::new),
        });
        let serving = Arc::clone(&fake);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (fake, acceptor) = (Arc::clone(&serving), acceptor.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request| Arc::clone(&fake).serve(request));
                    let connection = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service);
                    drop(connection.await);
                });
            }
        });
        fake
    }

    /// The absolute URL of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A client of this CA that never waits.
    pub(super) fn client(&self) -> Arc<Client> {
        self.client_with(quick())
    }

    pub(super) fn client_with(&self, limits: Limits) -> Arc<Client> {
        Client::new(self.endpoint(), limits).unwrap()
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint {
            directory_url: self.url("/dir"),
            ca_bundle: Some(self.ca_pem.clone()),
            skip_tls_verify: false,
            user_agent: "certctl/test".into(),
        }
    }

    /// `METHOD path` of every request so far.
    pub(super) fn requests(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
    }

    /// The requests for a path so far, the one being answered included.
    pub(super) fn count(&self, path: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|seen| seen.path == path).count()
    }

    pub(super) fn last(&self) -> Seen {
        self.seen.lock().unwrap().last().cloned().unwrap()
    }

    /// The directory that is served unless the script has another.
    pub(super) fn directory(&self) -> Value {
        json!({
            "newNonce": self.url("/nonce"), "newAccount": self.url("/account"),
            "newOrder": self.url("/new-order"), "meta": {"termsOfService": "https://tos.test"},
        })
    }

    /// A nonce that is accepted once.
    pub(super) fn new_nonce(&self) -> String {
        let nonce = format!("nonce-{}", self.given.fetch_add(1, Ordering::SeqCst));
        self.nonces.lock().unwrap().insert(nonce.clone());
        nonce
    }

    async fn serve(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, std::io::Error> {
        let (parts, body) = request.into_parts();
        let header = |name| {
            let value = parts.headers.get(name).map(http::HeaderValue::to_str);
            value.and_then(Result::ok).unwrap_or_default().to_owned()
        };
        let jws: Value =
            serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap_or_default();
        let part = |name: &str| -> Value {
            let text = jws[name].as_str().unwrap_or_default();
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
            serde_json::from_slice(&bytes).unwrap_or_default()
        };
        let seen = Seen {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            protected: part("protected"),
            payload: part("payload"),
            jws: jws.clone(),
            user_agent: header("user-agent"),
            accept: header("accept"),
        };
        self.seen.lock().unwrap().push(seen.clone());
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(now, Ordering::SeqCst);
        if let Some(gate) = self.gate.as_ref().filter(|_| parts.method == Method::POST) {
            gate.wait().await;
        }
        let reply = self.answer(&seen);
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        if reply.cut {
            return Err(std::io::Error::other("cut"));
        }
        if reply.hang {
            tokio::time::sleep(Duration::from_hours(1)).await;
        }
        Ok(self.response(&parts.method, reply))
    }

    fn answer(&self, seen: &Seen) -> Reply {
        if seen.method == "POST" {
            let nonce = seen.protected["nonce"].as_str().unwrap_or_default();
            assert_eq!(seen.protected["url"], json!(self.url(&seen.path)), "JWS for another URL");
            if !self.nonces.lock().unwrap().remove(nonce) {
                return Reply::problem(400, "badNonce", "not one of mine");
            }
        }
        if let Some(reply) = (self.script)(self, seen) {
            return reply;
        }
        match seen.path.as_str() {
            "/dir" => Reply::json(200, &self.directory()),
            "/nonce" => Reply::new(200, ""),
            _ => Reply::problem(404, "malformed", "no such thing"),
        }
    }

    fn response(&self, method: &Method, reply: Reply) -> Response<Full<Bytes>> {
        let mut response = Response::builder().status(reply.status);
        if *method != Method::GET {
            response = response.header("Replay-Nonce", self.new_nonce());
        }
        for (name, value) in reply.headers {
            response = response.header(name, value);
        }
        response.body(Full::from(reply.body)).unwrap()
    }
}

/// Limits under which nothing waits.
pub(super) fn quick() -> Limits {
    Limits { retry_waits: vec![Duration::ZERO; 3], ..Limits::default() }
}
