//! `/healthz` and `/metrics`, for this host.
//!
//! `/metrics` is what `certctl status -o prometheus` prints at that moment, by a process of its own:
//! one at a time, so that many requests cannot make this host work.

use std::convert::Infallible;
use std::net::{IpAddr, TcpListener};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use http::uri::Authority;
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
use tokio::task::AbortHandle;

use super::args::Endpoint;
use super::program::Program;
use super::record::Record;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::trust::Walk;

/// The open endpoint.
pub(super) struct Server {
    socket: Socket,
    /// Address as it was bound.
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
    /// The places of those who wait for metrics.
    scrapes: Semaphore,
    /// True if a browser can be led here by a name of its own (DNS rebinding): a port, not a file.
    is_port: bool,
    header_timeout: Duration,
}

/// The open connections, oldest first. A request that is never finished does not keep others out.
#[derive(Default)]
struct Visitors(Vec<Visitor>);

struct Visitor {
    task: AbortHandle,
    /// True if its request has arrived.
    has_request: Arc<AtomicBool>,
}

impl Visitors {
    /// Adds a visitor. When there are too many, the oldest goes whose request has not arrived, else the
    /// oldest of all.
    fn admit(&mut self, visitor: Visitor) {
        self.0.retain(|other| !other.task.is_finished());
        if self.0.len() >= MOST_VISITORS {
            let is_idle = |other: &Visitor| !other.has_request.load(Ordering::Relaxed);
            let oldest = self.0.iter().position(is_idle).unwrap_or_default();
            self.0.remove(oldest).task.abort();
        }
        self.0.push(visitor);
    }
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
        let site = Arc::new(Site {
            program,
            record,
            metrics: Mutex::new(()),
            scrapes: Semaphore::new(MOST_SCRAPES),
            is_port: matches!(endpoint, Endpoint::Tcp(_)),
            header_timeout: HEADER_TIMEOUT,
        });
        Ok(Self { socket, address, site, _file: file })
    }

    /// Answers until it is dropped.
    pub(super) async fn serve(self) {
        let mut visitors = Visitors::default();
        loop {
            let (site, has_request) = (Arc::clone(&self.site), Arc::new(AtomicBool::new(false)));
            let arrived = Arc::clone(&has_request);
            let accepted = match &self.socket {
                Socket::Tcp(socket) => {
                    let accepted = socket.accept().await;
                    accepted.map(|(stream, _)| tokio::spawn(answer(stream, site, arrived)))
                }
                Socket::Unix(socket) => {
                    let accepted = socket.accept().await;
                    accepted.map(|(stream, _)| tokio::spawn(answer(stream, site, arrived)))
                }
            };
            match accepted {
                Ok(task) => visitors.admit(Visitor { task: task.abort_handle(), has_request }),
                Err(error) => {
                    tracing::debug!(%error, "cannot accept a connection of --serve");
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                }
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

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    site: Arc<Site>,
    has_request: Arc<AtomicBool>,
) {
    let header_timeout = site.header_timeout;
    let service = service_fn(|request| {
        has_request.store(true, Ordering::Relaxed);
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(site.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
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
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        if self.is_port && !host.is_some_and(is_loopback) {
            let text = "this is for localhost and loopback addresses only\n";
            return response(StatusCode::MISDIRECTED_REQUEST, TEXT, text);
        }
        match request.uri().path() {
            "/healthz" => self.health(),
            "/metrics" => self.metrics().await,
            _ => response(StatusCode::NOT_FOUND, TEXT, "/healthz and /metrics are here\n"),
        }
    }

    fn health(&self) -> Response<Full<Bytes>> {
        let health = self.record.at(SystemClock.now());
        let status = if health.healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        match serde_json::to_string(&health) {
            Ok(text) => response(status, "application/json", format!("{text}\n")),
            Err(error) => response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
        }
    }

    async fn metrics(&self) -> Response<Full<Bytes>> {
        let unavailable =
            |why: String| response(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{why}\n"));
        let Ok(_place) = self.scrapes.try_acquire() else {
            return unavailable(format!("{MOST_SCRAPES} requests for metrics wait already"));
        };
        let _one = self.metrics.lock().await;
        match self.program.metrics().output().await {
            Ok(ended) if ended.status.success() => response(StatusCode::OK, METRICS, ended.stdout),
            Ok(ended) => {
                unavailable(format!("certctl status: {}", String::from_utf8_lossy(&ended.stderr)))
            }
            Err(error) => unavailable(format!("cannot run certctl status: {error}")),
        }
    }
}

/// Returns whether a Host header names this host itself.
fn is_loopback(host: &str) -> bool {
    let name = host.parse::<Authority>().ok();
    let name = name.as_ref().map(Authority::host).unwrap_or_default();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|ip| ip.to_canonical().is_loopback())
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
/// Media type of Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The group may scrape.
const SOCKET_MODE: rustix::fs::RawMode = 0o660;
const MOST_VISITORS: usize = 64;
const MOST_SCRAPES: usize = 8;
/// hyper's minimum.
const MAX_HEADER_BYTES: usize = 8 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of a visit: the metrics of ten thousand certificates take seconds.
const VISIT_TIMEOUT: Duration = Duration::from_mins(1);
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    /// A server on a free port that waits an hour for a header, and its address.
    fn patient() -> (tokio::task::JoinHandle<()>, String) {
        let endpoint = "127.0.0.1:0".parse().unwrap();
        let record = Arc::new(Record::new(SignedDuration::from_hours(1)));
        let mut server = Server::bind(&endpoint, Arc::new(Program::none()), record).unwrap();
        let site = Arc::get_mut(&mut server.site).unwrap();
        site.header_timeout = Duration::from_hours(1);
        let address = server.address.replace("http://", "");
        (tokio::spawn(server.serve()), address)
    }

    async fn ask(address: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn visitors_who_never_finish_their_request_keep_nobody_out() {
        let (_server, address) = patient();
        let mut crowd = Vec::new();
        for _ in 0..MOST_VISITORS {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").await.unwrap();
            crowd.push(stream);
        }
        let answer = ask(&address, "localhost").await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "no run has begun: {answer}");
        // The oldest has made room.
        let mut nothing = String::new();
        assert_eq!(crowd[0].read_to_string(&mut nothing).await.unwrap_or_default(), 0);
    }

    #[tokio::test]
    async fn a_name_that_leads_a_browser_here_gets_nothing() {
        let (_server, address) = patient();
        for (host, status) in [
            ("localhost", "503"),
            ("LOCALHOST:9402", "503"),
            ("127.0.0.1:9402", "503"),
            ("127.8.9.1", "503"),
            ("[::1]:9402", "503"),
            ("rebound.example", "421"),
            ("127.0.0.1.rebound.example:9402", "421"),
            ("192.0.2.1", "421"),
            ("", "421"),
        ] {
            let answer = ask(&address, host).await;
            assert_eq!(answer.split(' ').nth(1), Some(status), "{host}: {answer}");
        }
    }
}
