//! Listener: the built-in server for challenges that a CA validates by connecting to the name.
//!
//! It gives every connection to its [`Answers`], which serve the [`TokenFolder`] that all certctl
//! processes of one user share. It serves from `bind` until it is closed or dropped, on a thread of
//! its own: the writes of a run to its state, which block, delay no answer. At most 128 clients are
//! served at once. A token comes from the CA and becomes a file name; only
//! [`Token`](crate::resource::Token) is accepted here, so an unvalidated one cannot reach a path.
//!
//! The kernel resets the connections that wait at a socket when it is closed, also those that are
//! meant for another process that shares the port. So they are accepted before, and answered.

mod answers;
mod connections;
mod folder;
mod hits;
mod holder;
mod presence;
mod socket;

use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::resource::ValidationMethod;
pub use answers::Answers;
use connections::{Connections, MAX_CONNECTIONS};
pub use folder::{FolderError, PresentedToken, TokenFolder};
pub use hits::{Hit, Hits};
pub use holder::{Holder, answers_for, remember_holders};
pub use socket::{Inherited, ListenError};

/// The addresses to listen on: those that are given, or the method's port of all of this host.
pub fn listener_addresses(given: &[SocketAddr], method: &ValidationMethod) -> Vec<SocketAddr> {
    if given.is_empty() {
        let port = method.port.unwrap_or_default();
        return vec![SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))];
    }
    given.to_vec()
}

/// The open ports. Dropping it closes them soon, as [`Listener::close`] does.
#[derive(Debug)]
pub struct Listener {
    addresses: Vec<SocketAddr>,
    /// Dropping it ends the thread.
    stop: watch::Sender<()>,
    /// Its sender is dropped when the thread ends.
    ended: oneshot::Receiver<()>,
}

/// What answers a connection.
#[derive(Clone)]
struct Responder {
    answers: Answers,
    connections: Arc<Mutex<Connections>>,
}

impl Listener {
    /// Binds every address of `addresses` (an unspecified IPv6 address serves both families), takes
    /// over the sockets of `inherited`, and starts to answer.
    ///
    /// When one address cannot be bound, none is served.
    pub fn bind(
        addresses: &[SocketAddr],
        inherited: Vec<TcpListener>,
        answers: Answers,
    ) -> Result<Self, ListenError> {
        let folder = answers.folder().clone();
        let mut sockets = Vec::new();
        for socket in inherited {
            let refused = |source| ListenError::Inherited { source };
            socket.set_nonblocking(true).map_err(refused)?;
            let address = socket.local_addr().map_err(refused)?;
            sockets.push((address, socket));
        }
        for &addr in addresses {
            let refused = |source| ListenError::Io { addr, source };
            let socket = socket::listen(addr, folder.is_shared())?;
            let address = socket.local_addr().map_err(refused)?;
            sockets.push((address, socket));
        }
        let (bound, sockets): (Vec<SocketAddr>, Vec<TcpListener>) = sockets.into_iter().unzip();
        for address in &bound {
            folder.serve(address.port());
        }
        let name = answers.to_string().to_lowercase();
        let responder = Responder { answers, connections: Arc::default() };
        let (stop, stopped) = watch::channel(());
        let (has_ended, ended) = oneshot::channel();
        let failed = |source| ListenError::Thread { source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let run = move || {
            runtime.block_on(responder.serve_all(sockets, stopped));
            drop(has_ended);
        };
        thread::Builder::new().name(name).spawn(run).map_err(failed)?;
        Ok(Self { addresses: bound, stop, ended })
    }

    /// Whether every address of `addresses` could be bound, without a listener on it; the other
    /// certctl processes that listen there.
    pub fn check(addresses: &[SocketAddr]) -> Result<Vec<Holder>, ListenError> {
        addresses.iter().try_for_each(|address| socket::check(*address))?;
        Ok(addresses.iter().flat_map(|address| holder::others_of_us(*address)).collect())
    }

    /// Goes on answering while other processes that share a port have tokens presented, for `limit`
    /// at most: the CA may be connecting to this socket for them. Then answers the connections that
    /// wait, and closes. `lingers` is called when this takes more than a moment, with the time left.
    pub async fn close(
        self,
        folder: &TokenFolder,
        limit: Duration,
        lingers: impl FnOnce(Duration),
    ) {
        let begin = tokio::time::Instant::now();
        let mut lingers = Some(lingers);
        while self.is_needed(folder) && begin.elapsed() < limit {
            if begin.elapsed() >= MOMENT
                && let Some(lingers) = lingers.take()
            {
                lingers(limit.saturating_sub(begin.elapsed()));
            }
            tokio::time::sleep(PAUSE_FOR_OTHERS).await;
        }
        let Self { addresses: _, stop, ended } = self;
        drop(stop);
        // The sender is only ever dropped.
        drop(ended.await);
    }

    /// Whether others that share a port have tokens presented.
    fn is_needed(&self, folder: &TokenFolder) -> bool {
        self.addresses.iter().any(|address| folder.holds_others(address.port()))
    }

    /// The other certctl processes that listen on its addresses.
    pub fn sharers(&self) -> Vec<Holder> {
        self.addresses.iter().flat_map(|address| holder::others_of_us(*address)).collect()
    }

    /// Another run on the port that is stopped: the CA may be connecting to it.
    pub fn stopped_sharer(&self) -> Option<Holder> {
        self.sharers().into_iter().find(Holder::is_stopped)
    }

    /// The addresses that are served, as bound by the system.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

impl Responder {
    /// Serves the ports until the sender is dropped; then answers those who have connected.
    async fn serve_all(self, sockets: Vec<TcpListener>, stopped: watch::Receiver<()>) {
        let mut ports = JoinSet::new();
        for socket in sockets {
            ports.spawn(self.clone().take_in(socket, stopped.clone()));
        }
        while ports.join_next().await.is_some() {}
        let end = tokio::time::Instant::now() + LAST_ANSWERS;
        while self.connections().are_open() && tokio::time::Instant::now() < end {
            tokio::time::sleep(PAUSE_FOR_ANSWERS).await;
        }
    }

    /// Accepts connections until the sender is dropped, and then those that wait already.
    async fn take_in(self, socket: TcpListener, mut stopped: watch::Receiver<()>) {
        let socket = match tokio::net::TcpListener::from_std(socket) {
            Ok(socket) => socket,
            Err(error) => {
                tracing::error!(%error, "the {} listener cannot serve its socket", self.answers);
                return;
            }
        };
        loop {
            let accepted = tokio::select! {
                biased;
                _ = stopped.changed() => break,
                accepted = socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.admit(stream, peer).await,
                Err(error) => self.free_descriptor(&error).await,
            }
        }
        // Not through tokio, which may not have heard of those that came last.
        let Ok(socket) = socket.into_std() else { return };
        let mut tries: usize = 0;
        while tries < MAX_CONNECTIONS {
            match socket.accept() {
                Ok((stream, peer)) => {
                    let stream = stream.set_nonblocking(true).map(|()| stream);
                    match stream.and_then(TcpStream::from_std) {
                        Ok(stream) => self.admit(stream, peer).await,
                        Err(error) => tracing::debug!(%error, "a late visitor is lost"),
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => self.free_descriptor(&error).await,
            }
            tries = tries.saturating_add(1);
        }
    }

    /// A connection that is closed for this one gives its file back before the next is accepted.
    async fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let task = tokio::spawn(self.answers.clone().serve(stream));
        self.connections().admit(peer.ip(), task.abort_handle());
        tokio::task::yield_now().await;
    }

    /// Mostly for the limit of open files: frees one, and does not spin if that fails.
    async fn free_descriptor(&self, error: &io::Error) {
        tracing::debug!(%error, "cannot take in a visitor of the {} listener", self.answers);
        self.connections().drop_one();
        tokio::time::sleep(PAUSE_AFTER_ERROR).await;
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long those who have connected are answered when the ports are closed.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
const PAUSE_FOR_ANSWERS: Duration = Duration::from_millis(2);
const PAUSE_FOR_OTHERS: Duration = Duration::from_millis(100);
/// What a user does not wait for.
const MOMENT: Duration = Duration::from_secs(1);
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use jiff::Timestamp;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

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
        let listener = Listener::bind(&any, vec![], Answers::http(&folder, &hits)).unwrap();
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
        let answers = Answers::http(&stage.folder, &stage.hits);
        let listener = Listener::bind(&[], vec![socket], answers).unwrap();
        assert_eq!(listener.addresses(), [address]);
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(get("GET", "/.well-known/acme-challenge/tok").as_bytes()).await.unwrap();
        assert!(read_all(&mut stream).await.ends_with("\r\n\r\ntok.abc"));
        let mut idle = TcpStream::connect(address).await.unwrap();
        drop(listener);
        assert_eq!(read_all(&mut idle).await, "");
    }

    /// As `SO_REUSEPORT` distributes them: some wait at the socket of a run that ends.
    #[tokio::test]
    async fn those_who_have_connected_are_answered_before_the_port_closes() {
        for _ in 0..50 {
            let Stage { listener, folder, root, .. } = stage();
            folder.put(&"tok".parse().unwrap(), "tok.abc").unwrap();
            let address = (std::net::Ipv4Addr::LOCALHOST, listener.addresses()[0].port());
            let request = get("GET", "/.well-known/acme-challenge/tok");
            // Without a pause in between: some are not accepted yet when it is closed.
            let mut waiting = Vec::new();
            for _ in 0..20 {
                let mut stream = std::net::TcpStream::connect(address).unwrap();
                stream.write_all(request.as_bytes()).unwrap();
                waiting.push(stream);
            }
            listener.close(&folder, Duration::ZERO, drop).await;
            for mut stream in waiting {
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                assert!(answer.ends_with("\r\n\r\ntok.abc"), "{answer}");
            }
            drop(root);
        }
    }

    /// As the writes of a run do.
    #[tokio::test]
    async fn an_answer_does_not_wait_for_the_thread_of_the_run() {
        let stage = stage();
        stage.folder.put(&"tok".parse().unwrap(), "tok.abc").unwrap();
        let port = stage.listener.addresses()[0].port();
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let request = get("GET", "/.well-known/acme-challenge/tok");
        stream.write_all(request.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // This blocks the runtime of the test.
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\ntok.abc"), "{answer}");
    }

    #[tokio::test]
    async fn a_run_that_ends_answers_for_others_while_they_have_tokens_presented() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            TokenFolder::open_beside(&root.path().join(name), &root.path().join("run")).unwrap()
        };
        std::fs::create_dir(root.path().join("run")).unwrap();
        let folder = folder("ours");
        let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
        let any = ["127.0.0.1:0".parse().unwrap()];
        let bind = || {
            let listener = Listener::bind(&any, vec![], Answers::http(&folder, &hits)).unwrap();
            let port = listener.addresses()[0].port();
            (listener, port)
        };
        let mark = |port: u16, pid: u32| {
            let folder = root.path().join(format!("run/certctl/http01/.{port}"));
            std::fs::create_dir_all(folder).unwrap();
            let mark = root.path().join(format!("run/certctl/http01/.{port}/{pid}"));
            std::fs::File::create(&mark).unwrap();
            mark
        };
        let hour = Duration::from_hours(1);
        let (listener, port) = bind();
        let others = mark(port, std::os::unix::process::parent_id());
        let mut closing = Box::pin(listener.close(&folder, hour, drop));
        let early = tokio::time::timeout(PAUSE_FOR_OTHERS * 3, &mut closing).await;
        assert!(early.is_err(), "it has not waited");
        std::fs::remove_file(others).unwrap();
        closing.await;
        // Not for others at another port, nor for a process that is gone, nor for itself.
        let (listener, port) = bind();
        mark(port ^ 1, std::os::unix::process::parent_id());
        mark(port, i32::MAX.unsigned_abs());
        folder.put(&"tok".parse().unwrap(), "tok.abc").unwrap();
        let folder_of_port = root.path().join(format!("run/certctl/http01/.{port}"));
        let has_own = || {
            let number = format!("{}-", std::process::id());
            let files = std::fs::read_dir(&folder_of_port).into_iter().flatten();
            files.flatten().any(|file| file.file_name().to_string_lossy().starts_with(&number))
        };
        assert!(has_own());
        listener.close(&folder, hour, drop).await;
        folder.remove(&"tok".parse().unwrap()).unwrap();
        assert!(!has_own());
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
}
