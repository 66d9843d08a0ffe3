//! The real world as the performers share it: what is open, and what was found in this run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};

use crate::acme::{self, AccountKey, Client, Limits};
use crate::controller::Snapshot;
use crate::engine::ports::{Clock, Store};
use crate::manifest::SecretSource;
use crate::probe::{CheckOptions, Resolver};
use crate::resource::NamespacedName;
use crate::solver::dns01::{Api, DnsProvider};
use crate::solver::http01::{FolderError, Hits, Listener, TokenFolder};

/// Looks a variable of the environment up.
pub type Environment = Box<dyn Fn(&str) -> Option<String>>;

/// How the world is reached.
pub struct WorldOptions {
    /// Where the HTTP-01 listener listens, unless an annotation says otherwise.
    pub http01_listen: Vec<SocketAddr>,
    /// Sockets that were handed over, served beside those.
    pub http01_inherited: Vec<TcpListener>,
    /// The port the self-check asks, unless an annotation says otherwise.
    pub http01_check_port: u16,
    /// The namespace of a ClusterIssuer's secrets.
    pub cluster_resource_namespace: String,
    /// Sent to CAs.
    pub user_agent: String,
    /// The bounds of the ACME client.
    pub limits: Limits,
    /// Which verb runs, for `issuance.log`.
    pub verb: &'static str,
    /// The operator's hooks: `hooks.d`.
    pub hooks_dir: PathBuf,
    /// The environment's variables, for the credentials of clouds and for the operator's programs.
    pub environment: Environment,
    /// How long a hook may take.
    pub hook_timeout: Duration,
    /// DNS-01.
    pub dns01: Dns01Options,
}

/// What DNS-01 needs to know of the world.
#[derive(Default)]
pub struct Dns01Options {
    /// The operator's programs: `solvers.d`.
    pub solvers_dir: PathBuf,
    /// Ask the resolver instead of the authoritative servers in the self-check.
    pub recursive_nameservers_only: bool,
    /// Used instead of the real DNS.
    pub stand_in: Option<StandIn>,
}

/// A DNS of one's own, for rehearsals.
pub struct StandIn {
    /// Written to instead of every solver's own provider; those are opened all the same, so that
    /// a mistake in them is found.
    pub provider: Rc<dyn DnsProvider>,
    /// Looks into what the provider writes: for zones, CNAMEs and TXT records, not for the
    /// addresses of hosts.
    pub resolver: Resolver,
}

/// The providers that were opened in this run, by namespace and digest of their settings.
type Providers = HashMap<(String, String), Rc<dyn DnsProvider>>;

/// The real world.
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
    pub(super) listeners: RefCell<HashMap<Vec<SocketAddr>, Listener>>,
    pub(super) clients: RefCell<HashMap<ClientKey, Arc<Client>>>,
    pub(super) account_keys: RefCell<HashMap<String, Rc<AccountKey>>>,
    turns: RefCell<HashMap<NamespacedName, Rc<Mutex<()>>>>,
    pub(super) checks: Semaphore,
}

/// What makes two issuers share one client: directory URL, bundle, skipTLSVerify.
type ClientKey = (String, Option<String>, bool);

impl<'a, C: Clock, S: Store> World<'a, C, S> {
    /// The world, with the folder that presented tokens are kept in. `hits` counts the requests
    /// that the listener answers.
    pub fn new(
        clock: &'a C,
        store: &'a S,
        token_folder: &Path,
        hits: Hits,
        resolver: Resolver,
        secrets: SecretSource,
        options: WorldOptions,
    ) -> Result<Self, FolderError> {
        Ok(Self {
            clock,
            store,
            tokens: TokenFolder::open(token_folder)?,
            hits,
            resolver: Rc::new(resolver),
            api: dns_api(&options.user_agent),
            providers: RefCell::default(),
            secrets,
            options,
            listeners: RefCell::default(),
            clients: RefCell::default(),
            account_keys: RefCell::default(),
            turns: RefCell::default(),
            checks: Semaphore::new(CHECKS_AT_ONCE),
        })
    }

    /// Requests sent to all CAs so far.
    pub fn requests(&self) -> u64 {
        self.clients.borrow().values().map(|client| client.requests()).sum()
    }

    /// Requests of one order go one after another: each answer brings the next nonce.
    pub(super) fn turn(&self, certificate: &NamespacedName) -> Rc<Mutex<()>> {
        Rc::clone(self.turns.borrow_mut().entry(certificate.clone()).or_default())
    }

    pub(super) fn check_options(&self, snapshot: &Snapshot) -> CheckOptions {
        let port = snapshot.settings.http01_check_port.unwrap_or(self.options.http01_check_port);
        CheckOptions { port, ..CheckOptions::default() }
    }
}

/// The connections to DNS providers of a run.
pub fn dns_api(user_agent: &str) -> Rc<Api> {
    let tls = || acme::system_tls().map_err(|error| error.to_string());
    Rc::new(Api::new(user_agent.to_owned(), Box::new(tls)))
}

/// How many self-checks begin at once.
const CHECKS_AT_ONCE: usize = 16;
