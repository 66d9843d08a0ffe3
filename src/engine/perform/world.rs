//! What all performers of a run share: connections, listeners and lookups made so far.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Mutex, OnceCell};

use crate::acme::{self, AccountKey, Client, Limits, RequestCounts};
use crate::engine::hooks::HooksDir;
use crate::engine::ports::{Clock, Observer, Store};
use crate::manifest::SecretSource;
use crate::pki::RevocationList;
use crate::probe::Resolver;
use crate::resource::NamespacedName;
use crate::solver::dns01::{Api, DnsProvider};
use crate::solver::{PortOptions, Served};
use crate::trust::Bounds;

/// Reads an environment variable.
pub type Environment = Box<dyn Fn(&str) -> Option<String>>;

/// The settings for connections.
pub struct WorldOptions {
    /// The port of HTTP-01, unless an annotation overrides it.
    pub http01: PortOptions,
    /// The port of TLS-ALPN-01.
    pub tls_alpn01: PortOptions,
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
    pub(super) served: Served,
    pub(super) resolver: Rc<Resolver>,
    pub(super) api: Rc<Api>,
    pub(super) providers: RefCell<Providers>,
    pub(super) secrets: SecretSource,
    pub(super) options: WorldOptions,
    /// When a listener of another run was last seen to be gone.
    pub(super) listener_gone: Cell<Option<Timestamp>>,
    pub(super) clients: RefCell<HashMap<ClientKey, Arc<Client>>>,
    /// Directory URLs of the CAs that were seen to have no renewalInfo.
    pub(super) without_renewal_info: RefCell<BTreeSet<String>>,
    pub(super) account_keys: RefCell<HashMap<String, Rc<AccountKey>>>,
    turns: RefCell<HashMap<NamespacedName, Rc<Mutex<()>>>>,
    /// The certificates that take space while they are issued.
    pub(super) issuing: RefCell<BTreeSet<NamespacedName>>,
    pub(super) refused_profiles: RefCell<RefusedProfiles>,
    pub(super) crls: RefCell<FetchedCrls>,
}

/// Why a CA's directory does not have a profile, by directory URL and profile.
pub type RefusedProfiles = BTreeMap<(String, String), String>;

/// Two issuers share a client when these match: directory URL, bundle, skipTLSVerify.
pub(super) type ClientKey = (String, Option<String>, bool);

impl<'a, C: Clock, S: Store> World<'a, C, S> {
    /// No connection yet; `served` has the answers that are presented.
    pub fn new(
        clock: &'a C,
        store: &'a S,
        served: Served,
        resolver: Resolver,
        secrets: SecretSource,
        options: WorldOptions,
    ) -> Self {
        Self {
            clock,
            store,
            served,
            resolver: Rc::new(resolver),
            api: dns_api(&options.user_agent),
            providers: RefCell::default(),
            secrets,
            options,
            listener_gone: Cell::default(),
            clients: RefCell::default(),
            without_renewal_info: RefCell::default(),
            account_keys: RefCell::default(),
            turns: RefCell::default(),
            issuing: RefCell::default(),
            refused_profiles: RefCell::default(),
            crls: RefCell::default(),
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
    pub async fn stop_listening(&self, is_interrupted: bool, observer: &dyn Observer) {
        let limit = if is_interrupted { Duration::ZERO } else { LINGER };
        self.served.close(limit, |left| observer.lingers(left)).await;
    }

    /// Requests of one order are sequential: each response carries the next nonce.
    pub(super) fn turn(&self, certificate: &NamespacedName) -> Rc<Mutex<()>> {
        Rc::clone(self.turns.borrow_mut().entry(certificate.clone()).or_default())
    }
}

/// The connections to DNS providers of a run.
pub fn dns_api(user_agent: &str) -> Rc<Api> {
    let tls = || acme::system_tls().map_err(|error| error.to_string());
    Rc::new(Api::new(user_agent.to_owned(), Box::new(tls)))
}

/// How long a run that is over answers for others.
const LINGER: Duration = Duration::from_secs(30);
