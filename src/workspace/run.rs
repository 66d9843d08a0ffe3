//! A run of the engine in the world that the settings lead to.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::rc::Rc;

use jiff::SignedDuration;
use thiserror::Error;
use tokio::sync::watch;

use super::open::Workspace;
use super::settings::Settings;
use crate::acme::Limits;
use crate::controller::Snapshot;
use crate::engine::ports::{Clock as _, StoreError, SystemClock};
use crate::engine::{
    Dns01Options, Ended, Ending, Engine, Observer, Options, StandIn, Task, World, WorldOptions,
};
use crate::manifest::SecretSource;
use crate::probe::{Resolver, ResolverError, ResolverOptions};
use crate::resource::{Event, NamespacedName};
use crate::solver::http01::{FolderError, Hits, ListenError};
use crate::store::StateDirectory;

/// Sent to CAs and providers.
pub const USER_AGENT: &str = concat!("certctl/", env!("CARGO_PKG_VERSION"));

/// What a run needs beside its tasks.
pub struct Job {
    /// Where secrets come from.
    pub secrets: SecretSource,
    /// Names that are not looked up.
    pub overrides: BTreeMap<String, Vec<IpAddr>>,
    /// Used instead of the real DNS for DNS-01.
    pub dns01_stand_in: Option<StandIn>,
    /// Which verb runs.
    pub verb: &'static str,
    /// The longest that one certificate may take, whatever the settings say.
    pub at_most: SignedDuration,
}

impl Job {
    /// Of a verb that works at the real CAs and DNS providers.
    pub fn new(verb: &'static str, secrets: SecretSource) -> Self {
        Self {
            secrets,
            overrides: BTreeMap::new(),
            dns01_stand_in: None,
            verb,
            at_most: SignedDuration::MAX,
        }
    }
}

/// Why no run can begin.
#[derive(Debug, Error)]
pub enum RunError {
    /// The host of a DNS server is not found.
    #[error("--resolver {host}: {source}")]
    ResolverHost {
        /// The host.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// There are no DNS servers.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// A socket that was handed over cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The folder of presented tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] FolderError),
    /// The state cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Shows nothing.
struct Silent;

impl Observer for Silent {
    fn event(&self, _: &NamespacedName, _: &Event) {}

    fn stage(&self, _: &NamespacedName, _: &str) {}
}

impl Workspace {
    /// Makes the tasks true, and returns how each ended.
    pub async fn run<O: Observer>(
        &self,
        tasks: &[Task],
        job: Job,
        observer: &O,
        shutdown: watch::Receiver<Option<i32>>,
    ) -> Result<Vec<Ended>, RunError> {
        let clock = SystemClock;
        let options = self.settings.options;
        let timeout = options.timeout.min(job.at_most);
        let world = self.world(&clock, job).await?;
        let engine = Engine {
            clock: &clock,
            store: &self.state,
            performer: &world,
            observer,
            options: Options { timeout, ..options },
            shutdown,
        };
        let ended = Box::pin(engine.run(tasks)).await;
        tracing::debug!(requests = world.requests(), "run ended");
        Ok(ended)
    }

    /// Does what belongs to no certificate's run, in the same world.
    pub async fn with_world<T>(
        &self,
        job: Job,
        action: impl AsyncFnOnce(&World<'_, SystemClock, StateDirectory>) -> T,
    ) -> Result<T, RunError> {
        let clock = SystemClock;
        let world = Box::pin(self.world(&clock, job)).await?;
        Ok(action(&world).await)
    }

    /// Works on one task alone: how it ended, and what is known then. Nothing of it is shown.
    pub async fn reach(
        &self,
        world: &World<'_, SystemClock, StateDirectory>,
        task: &Task,
    ) -> Result<(Ending, Snapshot), StoreError> {
        let (_, shutdown) = watch::channel(None);
        let engine = Engine {
            clock: &SystemClock,
            store: &self.state,
            performer: world,
            observer: &Silent,
            options: self.settings.options,
            shutdown,
        };
        Box::pin(engine.reach(task)).await
    }

    async fn world<'a>(
        &'a self,
        clock: &'a SystemClock,
        job: Job,
    ) -> Result<World<'a, SystemClock, StateDirectory>, RunError> {
        let settings = &self.settings;
        let resolver = settings.resolver(job.overrides).await?;
        // A flag beats what was handed over, and that the usual address.
        let is_named = !settings.http01_listen.is_empty();
        let inherited = settings.http01_inherited.iter().filter(|_| !is_named);
        let inherited: Vec<TcpListener> = inherited
            .map(TcpListener::try_clone)
            .collect::<Result<_, _>>()
            .map_err(|source| ListenError::Inherited { source })?;
        let listen = if !is_named && inherited.is_empty() {
            vec![SocketAddr::from((Ipv6Addr::UNSPECIFIED, 80))]
        } else {
            settings.http01_listen.clone()
        };
        let environment = Rc::clone(&settings.environment);
        let options = WorldOptions {
            http01_listen: listen,
            http01_inherited: inherited,
            http01_check_port: settings.http01_check_port,
            cluster_resource_namespace: settings.cluster_resource_namespace.clone(),
            user_agent: USER_AGENT.to_owned(),
            limits: Limits::default(),
            verb: job.verb,
            hooks_dir: settings.below_config("hooks.d"),
            environment: Box::new(move |name| environment(name)),
            hook_timeout: settings.hook_timeout,
            dns01: Dns01Options {
                solvers_dir: settings.below_config("solvers.d"),
                recursive_nameservers_only: settings.dns01_recursive_nameservers_only,
                stand_in: job.dns01_stand_in,
            },
        };
        let hits = Hits::new(|| SystemClock.now());
        let folder = self.state.http01_path();
        let world = World::new(clock, &self.state, &folder, hits, resolver, job.secrets, options);
        Ok(world?)
    }
}

impl Settings {
    /// The one resolver of a run.
    pub async fn resolver(
        &self,
        overrides: BTreeMap<String, Vec<IpAddr>>,
    ) -> Result<Resolver, RunError> {
        let mut servers = Vec::new();
        for (host, port) in &self.resolvers {
            let found = tokio::net::lookup_host((host.as_str(), *port)).await;
            let mut found =
                found.map_err(|source| RunError::ResolverHost { host: host.clone(), source })?;
            servers.extend(found.next());
        }
        Ok(Resolver::new(ResolverOptions {
            servers,
            overrides,
            authoritative_port: self.dns01_authoritative_port,
            ..ResolverOptions::default()
        })?)
    }
}
