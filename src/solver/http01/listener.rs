//! Listener: the built-in web server for challenges (`answer.rs` determines its answers).
//!
//! It serves from `bind` until it is dropped, in tasks of the current tokio runtime. A client has
//! 10 s for the header (at most 8 KiB) and 30 s in all, gets one answer per connection, and at most
//! 128 clients are served at once.

use std::convert::Infallible;
use std::future::ready;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::answer::answer;
use super::connections::Connections;
use super::{Hits, Holder, ListenError, TokenFolder, holder, socket};

/// The open ports. Dropping it closes them and every connection.
#[derive(Debug)]
pub struct Listener {
    addresses: Vec<SocketAddr>,
    /// One per port; dropping the set ends them.
    _ports: JoinSet<()>,
}

impl Listener {
    /// Binds every address of `addresses` (an unspecified IPv6 address serves both families), takes
    /// over the sockets of `inherited`, and starts to answer for the tokens in `folder`.
    ///
    /// When one address cannot be bound, none is served. Must be called within a tokio runtime.
    pub fn bind(
        addresses: &[SocketAddr],
        inherited: Vec<TcpListener>,
        folder: &TokenFolder,
        hits: &Hits,
    ) -> Result<Self, ListenError> {
        let mut sockets = Vec::new();
        for socket in inherited {
            let refused = |source| ListenError::Inherited { source };
            socket.set_nonblocking(true).map_err(refused)?;
            let address = socket.local_addr().map_err(refused)?;
            sockets.push((address, tokio::net::TcpListener::from_std(socket).map_err(refused)?));
        }
        for &addr in addresses {
            let refused = |source| ListenError::Io { addr, source };
            let socket = socket::listen(addr, folder.is_shared())?;
            let address = socket.local_addr().map_err(refused)?;
            sockets.push((address, tokio::net::TcpListener::from_std(socket).map_err(refused)?));
        }
        let connections = Arc::new(Mutex::new(Connections::default()));
        let mut ports = JoinSet::new();
        let mut bound = Vec::new();
        for (address, socket) in sockets {
            bound.push(address);
            let (folder, hits) = (folder.clone(), hits.clone());
            ports.spawn(take_in(socket, folder, hits, Arc::clone(&connections)));
        }
        Ok(Self { addresses: bound, _ports: ports })
    }

    /// Goes on answering while other processes that share a port have tokens presented, for `limit`
    /// at most: connections that wait at a socket that closes are reset, and the CA would count that
    /// against another run.
    pub async fn serve_others(&self, folder: &TokenFolder, limit: Duration) {
        let end = tokio::time::Instant::now() + limit;
        while folder.holds_others()
            && !self.sharers().is_empty()
            && tokio::time::Instant::now() < end
        {
            tokio::time::sleep(PAUSE_FOR_OTHERS).await;
        }
    }

    /// The other certctl processes that listen on its addresses.
    pub fn sharers(&self) -> Vec<Holder> {
        self.addresses.iter().flat_map(|address| holder::others_of_us(*address)).collect()
    }

    /// The addresses that are served, as bound by the system.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

/// Accepts connections forever.
async fn take_in(
    socket: tokio::net::TcpListener,
    folder: TokenFolder,
    hits: Hits,
    connections: Arc<Mutex<Connections>>,
) {
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => {
                let task =
                    tokio::spawn(serve(stream, folder.clone(), hits.clone(), HEADER_TIMEOUT));
                let mut connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
                connections.admit(peer.ip(), task.abort_handle());
            }
            Err(error) => {
                // Mostly the limit of open files: free one, and do not spin if that fails.
                tracing::debug!(%error, "cannot take in a visitor of the HTTP-01 listener");
                connections.lock().unwrap_or_else(PoisonError::into_inner).drop_one();
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
}

/// Answers one request.
async fn serve(stream: TcpStream, folder: TokenFolder, hits: Hits, header_timeout: Duration) {
    let service =
        service_fn(|request| ready(Ok::<_, Infallible>(answer(&folder, &hits, &request))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_buf_size(MAX_HEADER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that disconnects or does not send HTTP is not an error.
    match tokio::time::timeout(VISIT_TIMEOUT, connection).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::trace!(%error, "visitor of the HTTP-01 listener"),
    }
}

/// hyper's minimum.
const MAX_HEADER_BYTES: usize = 8 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const VISIT_TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE_FOR_OTHERS: Duration = Duration::from_millis(100);
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::super::connections::MAX_CONNECTIONS;
    use super::*;

    struct Stage {
        root: tempfile::TempDir,
        listener: Listener,
        folder: TokenFolder,
        hits: Hits,
    }

    fn stage() -> Stage {
        let root = tempfile::tempdir().unwrap();
        let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let any = ["[::]:0".parse().unwrap()];
        let listener = Listener::bind(&any, vec![], &folder, &hits).unwrap();
        Stage { root, listener, folder, hits }
    }

    impl Stage {
        async fn connect(&self) -> TcpStream {
            let port = self.listener.addresses()[0].port();
            TcpStream::connect(("127.0.0.1", port)).await.unwrap()
        }

        /// The whole answer; of a reset connection, the bytes received before.
        async fn ask(&self, request: &[u8]) -> String {
            let mut stream = self.connect().await;
            // The server may have closed the connection before everything was sent.
            drop(stream.write_all(request).await);
            read_all(&mut stream).await
        }
    }

    async fn read_all(stream: &mut TcpStream) -> String {
        let mut all = Vec::new();
        let mut part = [0; 1024];
        while let Ok(read @ 1..) = stream.read(&mut part).await {
            all.extend_from_slice(&part[..read]);
        }
        String::from_utf8(all).unwrap()
    }

    fn get(method: &str, path: &str) -> String {
        format!("{method} {path} HTTP/1.1\r\nHost: example.com\r\n\r\n")
    }

    #[tokio::test]
    async fn a_token_of_any_process_on_this_state_is_answered_exactly() {
        let stage = stage();
        let path = "/.well-known/acme-challenge/tok";
        let missing = stage.ask(get("GET", path).as_bytes()).await;
        assert!(missing.starts_with("HTTP/1.1 404 Not Found\r\n"), "{missing}");
        assert!(missing.ends_with("\r\n\r\n404 not found\n"), "{missing}");
        let path_of_state = stage.root.path().join("http01");
        let other = TokenFolder::open(&path_of_state).unwrap();
        other.put(&"tok".parse().unwrap(), "tok.abc").unwrap();
        let found = stage.ask(get("GET", path).as_bytes()).await;
        let (head, body) = found.split_once("\r\n\r\n").unwrap();
        let date_free: Vec<_> = head.lines().filter(|l| !l.starts_with("date:")).collect();
        let expected = [
            "HTTP/1.1 200 OK",
            "content-type: application/octet-stream",
            "cache-control: no-store",
            "connection: close",
            "content-length: 7",
        ];
        assert_eq!((date_free.as_slice(), body), (expected.as_slice(), "tok.abc"));
        let head_only = stage.ask(get("HEAD", path).as_bytes()).await;
        assert!(head_only.contains("content-length: 7\r\n"), "{head_only}");
        assert!(head_only.ends_with("\r\n\r\n"), "{head_only}");
        assert_eq!(stage.hits.total(), 2);
        other.remove(&"tok".parse().unwrap()).unwrap();
        assert_eq!(
            stage.ask(get("GET", path).as_bytes()).await.split_once("\r\n").unwrap().0,
            "HTTP/1.1 404 Not Found"
        );
    }

    #[tokio::test]
    async fn requests_that_are_none_get_no_key() {
        let stage = stage();
        stage.folder.put(&"tok".parse().unwrap(), "tok.abc").unwrap();
        let path = "/.well-known/acme-challenge/tok";
        let long = format!(
            "GET {path} HTTP/1.1\r\nHost: example.com\r\nX-Long: {}\r\n\r\n",
            "x".repeat(9 * 1024)
        );
        let requests = [
            long,
            format!("POST {path} HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3\r\n\r\nabc"),
            "\0\0\0\r\n\r\n".to_owned(),
        ];
        for request in requests {
            let found = stage.ask(request.as_bytes()).await;
            assert!(!found.contains("tok") && !found.starts_with("HTTP/1.1 2"), "{found}");
        }
        assert_eq!(stage.hits.total(), 0);
    }

    #[tokio::test]
    async fn an_inherited_socket_is_served_and_closed_in_the_end() {
        let stage = stage();
        stage.folder.put(&"tok".parse().unwrap(), "tok.abc").unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let listener = Listener::bind(&[], vec![socket], &stage.folder, &stage.hits).unwrap();
        assert_eq!(listener.addresses(), [address]);
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(get("GET", "/.well-known/acme-challenge/tok").as_bytes()).await.unwrap();
        assert!(read_all(&mut stream).await.ends_with("\r\n\r\ntok.abc"));
        let mut idle = TcpStream::connect(address).await.unwrap();
        drop(listener);
        assert_eq!(read_all(&mut idle).await, "");
    }

    #[tokio::test]
    async fn slow_visitors_do_not_keep_others_out() {
        let stage = stage();
        stage.folder.put(&"tok".parse().unwrap(), "tok.abc").unwrap();
        let mut crowd = Vec::new();
        for _ in 0..=MAX_CONNECTIONS {
            let mut slow = stage.connect().await;
            slow.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").await.unwrap();
            crowd.push(slow);
        }
        let found = stage.ask(get("GET", "/.well-known/acme-challenge/tok").as_bytes()).await;
        assert!(found.ends_with("\r\n\r\ntok.abc"), "{found}");
        assert_eq!(read_all(&mut crowd[0]).await, "");
    }

    #[tokio::test]
    async fn a_header_that_never_ends_is_given_up() {
        let stage = stage();
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut slow = TcpStream::connect(socket.local_addr().unwrap()).await.unwrap();
        slow.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").await.unwrap();
        let (stream, _) = socket.accept().await.unwrap();
        let limit = Duration::from_millis(20);
        serve(stream, stage.folder.clone(), stage.hits.clone(), limit).await;
        let found = read_all(&mut slow).await;
        assert!(found.is_empty() || found.starts_with("HTTP/1.1 408"), "{found}");
    }
}
