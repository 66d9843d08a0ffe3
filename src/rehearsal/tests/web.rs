//! The web server of the names under test.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::rehearsal::lock;

/// What is served at a path.
#[derive(Clone, Debug)]
pub(super) enum Page {
    Text(String),
    Redirect(String),
}

#[derive(Debug, Default)]
struct Site {
    pages: HashMap<String, Page>,
    /// Host headers seen.
    hosts: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Web {
    port: u16,
    site: Arc<Mutex<Site>>,
    task: JoinHandle<()>,
}

impl Web {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let site = Arc::new(Mutex::new(Site::default()));
        let shared = Arc::clone(&site);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let site = Arc::clone(&shared);
                let service = service_fn(move |request| {
                    let answer = serve(&site, &request);
                    async move { Ok::<_, std::convert::Infallible>(answer) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { port, site, task }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn put(&self, token: &str, page: Page) {
        let path = format!("/.well-known/acme-challenge/{token}");
        lock(&self.site).pages.insert(path, page);
    }

    pub(super) fn hosts(&self) -> Vec<String> {
        lock(&self.site).hosts.clone()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn serve(site: &Mutex<Site>, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let mut site = lock(site);
    let host = request.headers().get("host").map(|host| host.to_str().unwrap().to_owned());
    site.hosts.push(host.unwrap_or_default());
    let answer = Response::builder();
    match site.pages.get(request.uri().path()) {
        None => answer.status(404).body(Full::from("nothing here")),
        Some(Page::Text(text)) => answer.body(Full::from(text.clone())),
        Some(Page::Redirect(to)) => answer.status(302).header("location", to).body(Full::default()),
    }
    .unwrap()
}
