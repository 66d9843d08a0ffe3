//! A provider's HTTP API for tests, on a loopback port, and a context that points to it.
//!
//! The answer is a function of the requests, so that a test can implement the service from its
//! documentation: with zones, pages and rate limits of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use super::{Api, Context, ReadSecret, TxtRecord};

/// A request as the service saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

impl Received {
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A parameter of the query, decoded.
    pub(super) fn query(&self, name: &str) -> Option<String> {
        let url = reqwest::Url::parse(&format!("http://x{}", self.target)).unwrap();
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// A field of a form, decoded.
    pub(super) fn form(&self, name: &str) -> Option<String> {
        let received = Self { target: format!("/?{}", self.body), ..Self::default() };
        received.query(name)
    }

    /// The whole request, as a service that repeats requests would show it.
    pub(super) fn repeated(&self) -> String {
        format!("{} {} {:?} {}", self.method, self.target, self.headers, self.body)
    }
}

/// What the service answers.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Answer {
    pub(super) fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, body.to_string()).with("content-type", "application/json")
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The running service; stops when it is dropped.
pub(super) struct Fake {
    pub(super) address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    _task: JoinSet<()>,
}

impl Fake {
    /// Answers each request with `service`, one after another.
    pub(super) async fn start(service: impl FnMut(&Received) -> Answer + Send + 'static) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (service, log) = (Arc::new(Mutex::new(service)), Arc::clone(&received));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut visits = JoinSet::new();
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                let (service, log) = (Arc::clone(&service), Arc::clone(&log));
                let serve = service_fn(move |request| {
                    let (service, log) = (Arc::clone(&service), Arc::clone(&log));
                    async move {
                        let received = read(request).await;
                        log.lock().unwrap().push(received.clone());
                        let answer = (service.lock().unwrap())(&received);
                        let mut response = Response::builder().status(answer.status);
                        for (name, value) in answer.headers {
                            response = response.header(name, value);
                        }
                        response.body(Full::new(Bytes::from(answer.body)))
                    }
                });
                visits.spawn(async move {
                    let http = hyper::server::conn::http1::Builder::new();
                    drop(http.serve_connection(TokioIo::new(stream), serve).await);
                });
            }
        });
        Self { address, received, _task: task }
    }

    /// Where it is: `http://127.0.0.1:port`.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far.
    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Every request so far: method and target.
    pub(super) fn log(&self) -> Vec<String> {
        self.received()
            .iter()
            .map(|received| format!("{} {}", received.method, received.target))
            .collect()
    }
}

async fn read(request: Request<Incoming>) -> Received {
    let (parts, body) = request.into_parts();
    let headers = parts.headers.iter();
    let headers = headers.map(|(k, v)| (k.to_string(), v.to_str().unwrap_or("?").to_owned()));
    Received {
        method: parts.method.to_string(),
        target: parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned(),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&body.collect().await.unwrap().to_bytes()).into_owned(),
    }
}

/// A record at `_acme-challenge.www.example.com` in zone `example.com`.
pub(super) fn record(value: &str) -> TxtRecord {
    TxtRecord {
        domain: "www.example.com".to_owned(),
        name: "_acme-challenge.www.example.com".to_owned(),
        zone: "example.com".to_owned(),
        value: value.to_owned(),
    }
}

/// The connections of a test: loopback only, so that TLS is never needed.
pub(super) fn api() -> Rc<Api> {
    Rc::new(Api::new(
        "certctl/test".to_owned(),
        Box::new(|| crate::pki::unverified_client().map_err(|error| error.to_string())),
    ))
}

/// Like [`in_context`], for an Issuer: ambient credentials may not be used.
pub(super) fn without_ambient<T>(with: impl FnOnce(&Context<'_>) -> T) -> T {
    in_context(&[], &[], |context| {
        let (secret, environment) = (context.secret, context.environment);
        with(&Context {
            secret,
            environment,
            allow_ambient: false,
            namespace: context.namespace,
            solvers_dir: context.solvers_dir,
            api: Rc::clone(&context.api),
            lookup: Rc::clone(&context.lookup),
            now: Rc::clone(&context.now),
        })
    })
}

/// Calls `with` with a context of these secrets (`name/key`) and variables; it is 2026-01-02
/// 03:04:05 UTC, hosts have no address, and ambient credentials may be used.
pub(super) fn in_context<T>(
    secrets: &[(&str, &str)],
    variables: &[(&str, &str)],
    with: impl FnOnce(&Context<'_>) -> T,
) -> T {
    let nowhere = std::path::Path::new("/nonexistent/solvers.d");
    in_context_at(nowhere, secrets, variables, with)
}

/// The same, with the operator's programs in a folder.
pub(super) fn in_context_at<T>(
    solvers_dir: &std::path::Path,
    secrets: &[(&str, &str)],
    variables: &[(&str, &str)],
    with: impl FnOnce(&Context<'_>) -> T,
) -> T {
    let secret: &ReadSecret<'_> = &|selector| {
        let wanted = format!("{}/{}", selector.name, selector.key);
        let found = secrets.iter().find(|(name, _)| *name == wanted);
        found
            .map(|(_, value)| Zeroizing::new(value.as_bytes().to_vec()))
            .ok_or_else(|| format!("secret {} has no `{}`", selector.name, selector.key))
    };
    let environment = |name: &str| {
        variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    with(&Context {
        secret,
        environment: &environment,
        allow_ambient: true,
        namespace: "default",
        solvers_dir,
        api: api(),
        lookup: Rc::new(|host| Box::pin(async move { Err(format!("{host} is not looked up")) })),
        now: Rc::new(move || now),
    })
}
