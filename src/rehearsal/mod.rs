//! A small ACME CA (RFC 8555) in-process: for `certctl rehearse`, the quick start and the tests.
//!
//! It serves HTTPS on a loopback port, checks requests as strictly as the RFC allows,
//! validates HTTP-01, tls-alpn-01 and DNS-01 over the network, and signs with a hierarchy that exists
//! in memory only. Its memory is bounded. It takes dates from the caller's clock ([`CaOptions::clock`]). In
//! tests (feature `testing`) it injects faults ([`Faults`]).
//!
//! ```text
//! request → [server] body cap ─ faults before ─ [route] → [jws] → directory | account | order
//!             | authorization | challenge → [validate] | finalize → [issue] | certificate
//!             | renewal info
//!             → reply ─ faults on it ─ [server] → answer, or a closed connection
//! ```

mod account;
mod addresses;
mod answer;
mod authorization;
mod certificate;
mod challenge;
mod crl;
mod csr;
mod directory;
mod dispatch;
mod dns01;
#[cfg_attr(not(feature = "testing"), path = "faultless.rs")]
mod faults;
mod finalize;
mod http01;
mod identifier;
mod issue;
mod jwk;
mod jws;
mod name_server;
mod nonce;
mod options;
mod order;
mod problem;
mod random;
mod records;
mod redirect;
mod reply;
mod resolver;
mod route;
mod server;
#[cfg(feature = "testing")]
mod testing;
#[cfg(feature = "testing")]
mod thread;
mod tlsalpn01;
mod validate;
mod world;
mod zone_writer;
mod zones;

#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

pub use certificate::SuggestedRenewal;
pub use faults::Faults;
#[cfg(feature = "testing")]
pub use faults::{Fault, LogEntry, RequestKind, Rule, WrongCertificate};
pub use name_server::NameServer;
pub use options::{CaOptions, Clock, Reuse};
pub use problem::ProblemType;
pub use records::Question;
pub use resolver::{Lookup, Resolver, TxtAnswer, TxtLookup};
#[cfg(feature = "testing")]
pub use testing::{CreatedOrder, Moment};
#[cfg(feature = "testing")]
pub use thread::CaThread;
pub use zone_writer::ZoneWriter;

use issue::Hierarchy;
use route::Route;
use world::World;

/// Why the CA cannot start.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// The listener cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind { address: SocketAddr, source: io::Error },
    /// Its own certificates cannot be generated.
    #[error("cannot make the CA's own certificates: {0}")]
    Certificates(#[from] rcgen::Error),
    /// The TLS server rejects them.
    #[error("cannot set up the CA's TLS server: {0}")]
    Tls(#[from] rustls::Error),
    /// The thread or its runtime cannot be created.
    #[error("cannot run the CA on a thread of its own: {0}")]
    Thread(io::Error),
}

/// A running CA, on the runtime that it was started on. Dropping it stops the CA.
pub struct Ca {
    handle: CaHandle,
    server: JoinHandle<()>,
}

impl Ca {
    /// Binds the listener, generates the certificates and starts serving.
    pub async fn start(options: CaOptions) -> Result<Self, RehearsalError> {
        let bind = options.bind;
        let failed = |source| RehearsalError::Bind { address: bind, source };
        let listener = TcpListener::bind(bind).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hierarchy = Hierarchy::generate(options.alternate_root)?;
        let tls = server::tls_config(&hierarchy, address.ip())?;
        let shared = Arc::new(Shared {
            base_url: format!("https://{address}"),
            http01_port: AtomicU16::new(options.http01_port),
            hierarchy,
            options,
            world: Mutex::default(),
            tasks: Mutex::default(),
        });
        let server = tokio::spawn(server::serve(listener, tls, Arc::clone(&shared)));
        Ok(Self { handle: CaHandle { shared }, server })
    }

    /// Stops the CA, and returns once the listener is closed.
    pub async fn shutdown(mut self) {
        self.stop();
        // The task was aborted just before: its join error is expected.
        drop((&mut self.server).await);
    }

    fn stop(&self) {
        self.server.abort();
        lock(&self.handle.shared.tasks).abort_all();
    }
}

impl Drop for Ca {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Deref for Ca {
    type Target = CaHandle;

    fn deref(&self) -> &CaHandle {
        &self.handle
    }
}

/// A handle to inspect a CA while it runs and afterwards.
#[derive(Clone)]
pub struct CaHandle {
    shared: Arc<Shared>,
}

impl CaHandle {
    /// The URL of the directory.
    pub fn directory_url(&self) -> String {
        self.shared.url(Route::Directory)
    }

    /// The root of both the default chain and the CA's HTTPS server, in PEM.
    pub fn root_pem(&self) -> String {
        self.root_pems().into_iter().next().unwrap_or_default()
    }

    /// All roots in PEM, that of the default chain first.
    pub fn root_pems(&self) -> Vec<String> {
        self.shared.hierarchy.root_pems()
    }
}

/// The state shared by all connections and validations of one CA.
struct Shared {
    options: CaOptions,
    /// Scheme, host and port; no slash at the end.
    base_url: String,
    http01_port: AtomicU16,
    hierarchy: Hierarchy,
    world: Mutex<World>,
    tasks: Mutex<JoinSet<()>>,
}

impl Shared {
    fn url(&self, route: Route) -> String {
        format!("{}{}", self.base_url, route.path())
    }

    fn http01_port(&self) -> u16 {
        self.http01_port.load(Ordering::Relaxed)
    }

    /// The CA's time, in whole seconds, as in ACME objects.
    fn now(&self) -> Timestamp {
        let now = (self.options.clock)();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    /// Spawns a background task, which ends with the CA at the latest.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        drop(tasks.spawn(task));
    }
}

fn plus(start: Timestamp, span: Duration) -> Timestamp {
    start.checked_add(span).unwrap_or(Timestamp::MAX)
}

fn before(end: Timestamp, span: Duration) -> Timestamp {
    end.checked_sub(span).unwrap_or(Timestamp::MIN)
}

/// Locks a mutex, and ignores poisoning: a test that panicked does not affect others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
