//! `/healthz` and `/metrics`, for this host.
//!
//! `/metrics` is what `certctl status -o prometheus` prints at that moment, by a process of its own:
//! one at a time, so that many requests cannot make this host work.

use std::convert::Infallible;
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::fs::Mode;
use rustix::process::umask;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, Semaphore};

use super::args::Endpoint;
use super::program::Program;
use super::record::Record;
use crate::trust::Walk;

/// The open endpoint.
pub(super) struct Server {
    socket: Socket,
    /// As it was bound.
    pub(super) address: String,
    site: Arc<Site>,
    _file: Option<SocketFile>,
}

enum Socket {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

/// The file of a Unix socket, which goes with the server.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The next start removes what is left.
        fs::remove_file(&self.0).ok();
    }
}

struct Site {
    program: Arc<Program>,
    record: Arc<Record>,
    /// Held by the one that makes metrics.
    metrics: Mutex<()>,
    visitors: Arc<Semaphore>,
}

impl Server {
    pub(super) fn bind(
        endpoint: &Endpoint,
        program: Arc<Program>,
        record: Arc<Record>,
    ) -> io::Result<Self> {
        let (socket, address, file) = match endpoint {
            Endpoint::Tcp(address) => {
                let socket = TcpListener::bind(address)?;
                socket.set_nonblocking(true)?;
                let address = format!("http://{}", socket.local_addr()?);
                (Socket::Tcp(tokio::net::TcpListener::from_std(socket)?), address, None)
            }
            Endpoint::Unix(path) => {
                let socket = bind(path)?;
                socket.set_nonblocking(true)?;
                let socket = Socket::Unix(tokio::net::UnixListener::from_std(socket)?);
                (socket, path.display().to_string(), Some(SocketFile(path.clone())))
            }
        };
        let visitors = Arc::new(Semaphore::new(MOST_VISITORS));
        let site = Arc::new(Site { program, record, metrics: Mutex::new(()), visitors });
        Ok(Self { socket, address, site, _file: file })
    }

    /// Answers until it is dropped.
    pub(super) async fn serve(self) {
        loop {
            let Ok(permit) = Arc::clone(&self.site.visitors).acquire_owned().await else { return };
            let site = Arc::clone(&self.site);
            let accepted = match &self.socket {
                Socket::Tcp(socket) => socket.accept().await.map(|(stream, _)| {
                    tokio::spawn(async move {
                        answer(stream, site).await;
                        drop(permit);
                    });
                }),
                Socket::Unix(socket) => socket.accept().await.map(|(stream, _)| {
                    tokio::spawn(async move {
                        answer(stream, site).await;
                        drop(permit);
                    });
                }),
            };
            if let Err(error) = accepted {
                tracing::debug!(%error, "cannot accept a connection of --serve");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
}

/// Binds a Unix socket. A file left by a process that has ended is replaced.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    // By its path, another user could have put a link in its place: it is made with its mode, in a folder
    // to which no other user can change the way.
    let above = std::path::absolute(path)?;
    let above = above.parent().unwrap_or(Path::new("/"));
    Walk::trusting_us().folder(above).map_err(io::Error::other)?;
    let before = umask(Mode::from_raw_mode(!SOCKET_MODE & 0o777));
    let socket = UnixListener::bind(path);
    umask(before);
    socket
}

async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, site: Arc<Site>) {
    let service = service_fn(|request| {
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(site.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(VISIT_TIMEOUT, connection).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::trace!(%error, "visitor of --serve"),
    }
}

impl Site {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET only\n");
        }
        match request.uri().path() {
            "/healthz" => self.health(),
            "/metrics" => self.metrics().await,
            _ => response(StatusCode::NOT_FOUND, TEXT, "/healthz and /metrics are here\n"),
        }
    }

    fn health(&self) -> Response<Full<Bytes>> {
        let health = self.record.now();
        let status = if health.healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        match serde_json::to_string(&health) {
            Ok(text) => response(status, "application/json", format!("{text}\n")),
            Err(error) => response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
        }
    }

    async fn metrics(&self) -> Response<Full<Bytes>> {
        let _one = self.metrics.lock().await;
        let unavailable =
            |why: String| response(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{why}\n"));
        match self.program.metrics().output().await {
            Ok(ended) if ended.status.success() => response(StatusCode::OK, METRICS, ended.stdout),
            Ok(ended) => {
                unavailable(format!("certctl status: {}", String::from_utf8_lossy(&ended.stderr)))
            }
            Err(error) => unavailable(format!("cannot run certctl status: {error}")),
        }
    }
}

fn response(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

const TEXT: &str = "text/plain; charset=utf-8";
/// Of Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The group may scrape.
const SOCKET_MODE: rustix::fs::RawMode = 0o660;
const MOST_VISITORS: usize = 16;
/// hyper's minimum.
const MAX_HEADER_BYTES: usize = 8 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Of ten thousand certificates the metrics take seconds.
const VISIT_TIMEOUT: Duration = Duration::from_mins(1);
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);
