//! What all performers of a run share: connections, listeners and lookups made so far.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Mutex, OnceCell, Semaphore};

use crate::acme::{self, AccountKey, Client, Limits, RequestCounts};
use crate::controller::EffectError;
use crate::engine::hooks::HooksDir;
use crate::engine::ports::{Clock, Observer, Store};
use crate::engine::task::Task;
use crate::manifest::SecretSource;
use crate::pki::RevocationList;
use crate::probe::{CheckOptions, Resolver};
use crate::resource::NamespacedName;
use crate::solver::dns01::{Api, DnsProvider};
use crate::solver::listener::{Hits, Holder, Listener, TokenFolder};
use crate::trust::Bounds;

/// Reads an environment variable.
pub type Environment = Box<dyn Fn(&str) -> Option<String>>;

/// The settings for connections.
pub struct WorldOptions {
    /// The address of the HTTP-01 listener, unless an annotation overrides it.
    pub http01_listen: Vec<SocketAddr>,
    /// Inherited sockets, served as well.
    pub http01_inherited: Vec<TcpListener>,
    /// The port that the self-check connects to, unless an annotation overrides it.
    pub http01_check_port: u16,
    /// The namespace of a ClusterIssuer's secrets.
    pub cluster_resource_namespace: String,
    /// The User-Agent for CAs.
    pub user_agent: String,
    /// The limits of the ACME client.
    pub limits: Limits,
    /// The verb, for `issuance.log`.
    pub verb: &'static str,
    /// The operator's hooks.
    pub hooks: HooksDir,
    /// Where outputs and webroots may be.
    pub bounds: Bounds,
    /// The environment variables, for cloud credentials and the operator's programs.
    pub environment: Environment,
    /// The timeout of a hook.
    pub hook_timeout: Duration,
    /// DNS-01.
    pub dns01: Dns01Options,
}

/// The settings of DNS-01.
#[derive(Default)]
pub struct Dns01Options {
    /// The operator's programs: `solvers.d`.
    pub solvers_dir: PathBuf,
    /// Query the resolver instead of the authoritative servers in the self-check.
    pub recursive_nameservers_only: bool,
    /// Replaces the real DNS.
    pub stand_in: Option<StandIn>,
}

/// A private DNS, for rehearsals.
pub struct StandIn {
    /// Replaces every solver's own provider; those are opened all the same, so that their
    /// errors are found.
    pub provider: Rc<dyn DnsProvider>,
    /// Queries what the provider writes: zones, CNAMEs and TXT records, not host addresses.
    pub resolver: Resolver,
}

/// The providers opened in this run, by namespace and digest of their settings.
type Providers = HashMap<(String, String), Rc<dyn DnsProvider>>;

/// The CRLs fetched in this run, by URL and the issuer's DER; `None` when there is none to believe.
type FetchedCrls = HashMap<(String, Vec<u8>), Rc<OnceCell<Option<RevocationList>>>>;

/// The shared connections of a run.
pub struct World<'a, C, S> {
    pub(super) clock: &'a C,
    pub(super) store: &'a S,
    pub(super) tokens: TokenFolder,
    pub(super) hits: Hits,
    pub(super) resolver: Rc<Resolver>,
    pub(super) api: Rc<Api>,
    pub(super) providers: RefCell<Providers>,
    pub(super) secrets: SecretSource,
    pub(super) options: WorldOptions,
    /// Locked while one certificate opens a listener: the others wait for that one.
    pub(super) listeners: Mutex<HashMap<Vec<SocketAddr>, Result<Listener, EffectError>>>,
    /// When a listener of another run was last seen to be gone.
    pub(super) listener_gone: Cell<Option<Timestamp>>,
    /// When a stopped run on the same port was last looked for, and which.
    pub(super) stopped_sharer: RefCell<Option<(Timestamp, Option<Holder>)>>,
    pub(super) clients: RefCell<HashMap<ClientKey, Arc<Client>>>,
    /// Directory URLs of the CAs that were seen to have no renewalInfo.
    pub(super) without_renewal_info: RefCell<BTreeSet<String>>,
    pub(super) account_keys: RefCell<HashMap<String, Rc<AccountKey>>>,
    turns: RefCell<HashMap<NamespacedName, Rc<Mutex<()>>>>,
    /// The certificates that take space while they are issued.
    pub(super) issuing: RefCell<BTreeSet<NamespacedName>>,
    pub(super) refused_profiles: RefCell<RefusedProfiles>,
    pub(super) crls: RefCell<FetchedCrls>,
    pub(super) checks: Semaphore,
}

/// Why a CA's directory does not have a profile, by directory URL and profile.
pub type RefusedProfiles = BTreeMap<(String, String), String>;

/// Two issuers share a client when these match: directory URL, bundle, skipTLSVerify.
pub(super) type ClientKey = (String, Option<String>, bool);

impl<'a, C: Clock, S: Store> World<'a, C, S> {
    /// Opens the connections, with the folder of presented tokens. `hits` counts the requests that
    /// the listener answers.
    pub fn new(
        clock: &'a C,
        store: &'a S,
        tokens: TokenFolder,
        hits: Hits,
        resolver: Resolver,
        secrets: SecretSource,
        options: WorldOptions,
    ) -> Self {
        Self {
            clock,
            store,
            tokens,
            hits,
            resolver: Rc::new(resolver),
            api: dns_api(&options.user_agent),
            providers: RefCell::default(),
            secrets,
            options,
            listeners: Mutex::default(),
            listener_gone: Cell::default(),
            stopped_sharer: RefCell::default(),
            clients: RefCell::default(),
            without_renewal_info: RefCell::default(),
            account_keys: RefCell::default(),
            turns: RefCell::default(),
            issuing: RefCell::default(),
            refused_profiles: RefCell::default(),
            crls: RefCell::default(),
            checks: Semaphore::new(CHECKS_AT_ONCE),
        }
    }

    /// The number of requests sent to all CAs so far.
    pub fn requests(&self) -> u64 {
        self.clients.borrow().values().map(|client| client.requests()).sum()
    }

    /// The same, by host, method and status.
    pub fn request_counts(&self) -> RequestCounts {
        let mut all = RequestCounts::new();
        for client in self.clients.borrow().values() {
            for (kind, count) in client.request_counts() {
                let total = all.entry(kind).or_default();
                *total = total.saturating_add(count);
            }
        }
        all
    }

    /// The profiles that an issuer requests and its CA does not have, as found so far.
    pub fn refused_profiles(&self) -> RefusedProfiles {
        self.refused_profiles.borrow().clone()
    }

    /// Ends the listeners, once the other runs that share their ports have their answers. A run that
    /// is interrupted does not wait for them.
    pub async fn stop_listening(&self, is_interrupted: bool, observer: &impl Observer) {
        let limit = if is_interrupted { Duration::ZERO } else { LINGER };
        let lingers = |left| observer.lingers(left);
        for listener in self.listeners.lock().await.drain().filter_map(|(_, found)| found.ok()) {
            listener.close(&self.tokens, limit, lingers).await;
        }
    }

    /// Requests of one order are sequential: each response carries the next nonce.
    pub(super) fn turn(&self, certificate: &NamespacedName) -> Rc<Mutex<()>> {
        Rc::clone(self.turns.borrow_mut().entry(certificate.clone()).or_default())
    }

    pub(super) fn check_options(&self, task: &Task) -> CheckOptions {
        let port = task.settings().check_port(self.options.http01_check_port);
        CheckOptions { port, ..CheckOptions::default() }
    }
}

/// The connections to DNS providers of a run.
pub fn dns_api(user_agent: &str) -> Rc<Api> {
    let tls = || acme::system_tls().map_err(|error| error.to_string());
    Rc::new(Api::new(user_agent.to_owned(), Box::new(tls)))
}

/// How long a run that is over answers for others.
const LINGER: Duration = Duration::from_secs(30);
/// How many self-checks start at once.
const CHECKS_AT_ONCE: usize = 16;
