//! Effect → acme / solver / probe / pki / store call → Outcome.
//!
//! The real world behind [`Performer`]. Every trouble becomes an outcome; what it means is for
//! the rooms to say. Requests of one order go one after another, orders side by side.

mod after;
mod ca;
mod deploy;
mod dns01;
mod issuer;
mod local;
mod password;
mod publish;
mod trouble;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Mutex, Semaphore};

use super::ports::{Clock, Store};
use super::{Alert, Performer};
use crate::acme::{AccountKey, Client, Limits};
use crate::controller::{Effect, EffectError, Outcome, Snapshot};
use crate::manifest::SecretSource;
use crate::probe::{CheckOptions, Resolver};
use crate::resource::{NamespacedName, Token};
use crate::solver::dns01::Api;
use crate::solver::http01::{FolderError, Hits, Listener, TokenFolder};

pub use dns01::{Dns01Options, StandIn, dns_api};
pub use issuer::{IssuerAccess, ProviderAccess};
pub(super) use password::changed_passwords;

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

/// The real world.
pub struct World<'a, C, S> {
    clock: &'a C,
    store: &'a S,
    tokens: TokenFolder,
    hits: Hits,
    resolver: Rc<Resolver>,
    api: Rc<Api>,
    providers: RefCell<dns01::Providers>,
    secrets: SecretSource,
    options: WorldOptions,
    listeners: RefCell<HashMap<Vec<SocketAddr>, Listener>>,
    clients: RefCell<HashMap<ClientKey, Arc<Client>>>,
    account_keys: RefCell<HashMap<String, Rc<AccountKey>>>,
    turns: RefCell<HashMap<NamespacedName, Rc<Mutex<()>>>>,
    checks: Semaphore,
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
    fn turn(&self, certificate: &NamespacedName) -> Rc<Mutex<()>> {
        Rc::clone(self.turns.borrow_mut().entry(certificate.clone()).or_default())
    }

    fn check_options(&self, snapshot: &Snapshot) -> CheckOptions {
        let port = snapshot.settings.http01_check_port.unwrap_or(self.options.http01_check_port);
        CheckOptions { port, ..CheckOptions::default() }
    }
}

impl<C: Clock, S: Store> Performer for World<'_, C, S> {
    async fn perform(&self, snapshot: Rc<Snapshot>, effect: Effect) -> Outcome {
        let done = match effect {
            Effect::Prepare { solving } => self.prepare(&snapshot, solving),
            Effect::GenerateKey { algorithm, size } => local::generate_key(algorithm, size).await,
            Effect::ReuseKey => self.reuse_key(&snapshot).await,
            Effect::BuildRequest => self.build_request(&snapshot).await,
            Effect::Locate { url } => match local::challenge_of(&snapshot, &url) {
                Ok(challenge) => self.locate(&snapshot, challenge).await,
                Err(error) => Err(error),
            },
            Effect::Present { url } => self.present(&snapshot, &url).await,
            Effect::SelfCheck { url } => self.self_check(&snapshot, &url).await,
            Effect::CleanUp { order, url } => self.clean_up(&snapshot, &order, &url).await,
            Effect::Publish => self.publish(&snapshot).await,
            Effect::PublishTemporary => self.publish_temporary(&snapshot).await,
            Effect::Rewrite => self.rewrite(&snapshot).await,
            Effect::Deploy { step } => self.deploy(&snapshot, step).await,
            effect @ (Effect::ObtainAccountKey
            | Effect::FindAccount
            | Effect::RegisterAccount
            | Effect::UpdateContacts
            | Effect::CreateOrder
            | Effect::ReadOrder
            | Effect::ReadAuthorization { .. }
            | Effect::Accept { .. }
            | Effect::Finalize
            | Effect::Download) => {
                let turn = self.turn(&snapshot.certificate.metadata.key());
                let _turn = turn.lock().await;
                self.ask_the_ca(&snapshot, effect).await
            }
        };
        done.unwrap_or_else(Outcome::Failed)
    }

    async fn reload(
        &self,
        program: &str,
        certificates: &[NamespacedName],
    ) -> Result<(), EffectError> {
        self.reload_program(program, certificates).await
    }

    fn hears_of_failures(&self) -> bool {
        self.has_alert_hook()
    }

    async fn alert(&self, alert: &Alert) -> Result<(), EffectError> {
        self.alert_program(alert).await
    }

    fn last_hit(&self, token: &str) -> Option<Timestamp> {
        let token: Token = token.parse().ok()?;
        self.hits.of(&token).map(|hit| hit.last)
    }

    fn hits(&self) -> u64 {
        self.hits.total()
    }

    async fn hit_after(&self, seen: u64) {
        self.hits.after(seen).await;
    }

    fn changed_passwords(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        changed_passwords(&self.secrets, snapshot)
    }
}

/// How many self-checks begin at once.
const CHECKS_AT_ONCE: usize = 16;
