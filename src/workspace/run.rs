//! A run of the engine with the CAs, DNS servers and sockets of the settings.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;
use tokio::sync::watch;

use super::open::{State, Workspace};
use super::settings::Settings;
use super::view::CertificateView;
use crate::acme::Limits;
use crate::controller::Snapshot;
use crate::controller::alert::{self, Stage};
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Borrowed, Clock as _, HostRecord, Store, StoreError, SystemClock};
use crate::engine::{
    Alert, Dns01Options, Ended, Ending, Engine, Hooks, Observer, Options, Performer as _, StandIn,
    Task, World, WorldOptions, has_alert_hook,
};
use crate::manifest::SecretSource;
use crate::probe::{DnsServer, Resolver, ResolverOptions};
use crate::resource::{Event, NamespacedName, ValidationMethod};
use crate::solver::listener::{
    FolderError, Hits, Inherited, ListenError, TokenFolder, listener_addresses,
};
use crate::solver::{PortOptions, Served};

/// The User-Agent for CAs and providers.
pub const USER_AGENT: &str = concat!("certctl/", env!("CARGO_PKG_VERSION"));

/// What a run needs beside its tasks.
pub struct Job {
    pub secrets: SecretSource,
    /// Host addresses that bypass DNS.
    pub overrides: BTreeMap<String, Vec<IpAddr>>,
    /// Replaces the real DNS for DNS-01.
    pub dns01_stand_in: Option<StandIn>,
    /// The verb.
    pub verb: &'static str,
    /// The longest time for one certificate, overriding the settings.
    pub at_most: SignedDuration,
}

impl Job {
    /// The context of a verb that works with the real CAs and DNS providers.
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

/// Why a run cannot start.
#[derive(Debug, Error)]
pub enum RunError {
    /// An inherited socket is unusable.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The folder of presented tokens is unusable.
    #[error(transparent)]
    Tokens(#[from] FolderError),
    /// The state is unusable.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of the failures that earlier runs left to the hook `on-failure`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftAlerts {
    pub reported: usize,
    /// Left to the next run, since the hook failed.
    pub unreported: usize,
}

/// An observer that shows nothing.
struct Silent;

impl Observer for Silent {
    fn event(&self, _: &NamespacedName, _: &Event) {}

    fn stage(&self, _: &NamespacedName, _: &str) {}
}

impl Workspace {
    /// Works on the tasks, and returns how each ended.
    pub async fn run(
        &self,
        tasks: &[Task],
        job: Job,
        observer: &dyn Observer,
        shutdown: watch::Receiver<Option<i32>>,
    ) -> Result<Vec<Ended>, RunError> {
        let clock = SystemClock;
        let options = self.settings.options;
        let timeout = options.timeout.min(job.at_most);
        self.note_evidence(tasks, &job.secrets);
        let world = self.world(&clock, job).await?;
        let engine = Engine {
            ports: Borrowed { clock: &clock, store: &self.state, performer: &world },
            observer,
            options: Options { timeout, ..options },
            shutdown,
        };
        let ended = Box::pin(engine.run(tasks)).await;
        // A borrow across the wait would block the signal that ends it.
        let is_interrupted = engine.shutdown.borrow().is_some();
        world.stop_listening(is_interrupted, observer).await;
        world.cache_directories();
        tracing::debug!(requests = world.requests(), "run ended");
        self.note_endings(&ended);
        self.requests.replace(world.request_counts());
        self.refused_profiles.replace(world.refused_profiles());
        Ok(ended)
    }

    /// Runs the operator's hook for tasks that cannot be worked on, because the state cannot be
    /// written.
    pub async fn alert(
        &self,
        tasks: &[Task],
        job: Job,
        error: &StoreError,
    ) -> Result<(), RunError> {
        if !has_alert_hook(&self.settings.hooks()) {
            return Ok(());
        }
        let world = self.world(&SystemClock, job).await?;
        let (_, shutdown) = watch::channel(None);
        let engine = Engine {
            ports: Borrowed { clock: &SystemClock, store: &self.state, performer: &world },
            observer: &Silent,
            options: self.settings.options,
            shutdown,
        };
        Box::pin(engine.alert(tasks, error)).await;
        Ok(())
    }

    /// Runs the operator's hook for certificates that have been issued and whose manifest has an error, since
    /// which nothing renews them: no task stands for these.
    pub async fn alert_invalid(&mut self, job: Job) -> Result<(), RunError> {
        if !has_alert_hook(&self.settings.hooks()) {
            return Ok(());
        }
        let now = SystemClock.now();
        let targets = self.everything();
        let mut views = Box::pin(self.certificate_views(&targets, now)).await?;
        views.retain(|view| view.mistake.is_some() && view.record.is_some());
        if views.is_empty() {
            return Ok(());
        }
        let world = self.world(&SystemClock, job).await?;
        for view in &views {
            let Some((alert, mark)) = alert_of(view, now) else { continue };
            if self.state.host_record().is_alerted(&view.key, &mark) {
                continue;
            }
            match world.alert(&alert).await {
                Ok(()) => self.state.host_record().note_alert(&view.key, &mark)?,
                Err(error) => {
                    tracing::warn!(certificate = %view.key, %error, "the on-failure hook failed");
                }
            }
        }
        Ok(())
    }

    /// Runs the operator's hook for the failures that earlier runs left to this one.
    pub async fn alert_left(&self, job: Job) -> Result<LeftAlerts, RunError> {
        let hooks = self.settings.hooks();
        let left = match hooks.run_by {
            Hooks::Later => Vec::new(),
            Hooks::Now | Hooks::AsRoot => self.state.host_record().left_alerts()?,
        };
        let mut done = LeftAlerts::default();
        if left.is_empty() {
            return Ok(done);
        }
        let world = self.world(&SystemClock, job).await?;
        for left in left {
            let alert = serde_json::from_slice::<Alert>(&left.bytes);
            let heard = match &alert {
                Ok(alert) if world.hears_of_failures() => {
                    let heard = world.alert(alert).await;
                    done.reported += usize::from(heard.is_ok());
                    heard
                }
                // The hook is not there any more.
                Ok(_) => Ok(()),
                Err(error) => {
                    tracing::warn!(%error, "a failure that is left to on-failure cannot be read");
                    Ok(())
                }
            };
            match heard {
                Ok(()) => self.state.host_record().end_alert(&left)?,
                // The next run retries.
                Err(error) => {
                    tracing::warn!(%error, "the on-failure hook failed");
                    done.unreported += 1;
                }
            }
        }
        Ok(done)
    }

    /// Performs work outside any certificate's run, with the same connections.
    pub async fn with_world<T>(
        &self,
        job: Job,
        action: impl AsyncFnOnce(&World<'_, SystemClock, State>) -> T,
    ) -> Result<T, RunError> {
        let clock = SystemClock;
        let world = Box::pin(self.world(&clock, job)).await?;
        Ok(action(&world).await)
    }

    /// Works on one task alone: its result and its final snapshot. Nothing of it is shown.
    pub async fn reach(
        &self,
        world: &World<'_, SystemClock, State>,
        task: &Task,
    ) -> Result<(Ending, Snapshot), StoreError> {
        let (_, shutdown) = watch::channel(None);
        let engine = Engine {
            ports: Borrowed { clock: &SystemClock, store: &self.state, performer: world },
            observer: &Silent,
            options: self.settings.options,
            shutdown,
        };
        Box::pin(engine.reach(task)).await
    }

    /// Answers HTTP-01 at this socket, and has its port asked, instead of the default one.
    pub fn listen_at(&mut self, socket: TcpListener, port: u16) {
        let tls_alpn01 = Vec::new();
        self.settings.inherited = Rc::new(Inherited { http01: vec![socket], tls_alpn01 });
        self.settings.http01_check_port = port;
    }

    async fn world<'a>(
        &'a self,
        clock: &'a SystemClock,
        job: Job,
    ) -> Result<World<'a, SystemClock, State>, RunError> {
        let settings = &self.settings;
        let resolver = settings.resolver(job.overrides).await;
        let environment = Rc::clone(&settings.environment);
        let options = WorldOptions {
            http01: port_options(
                &ValidationMethod::HTTP01,
                &settings.http01_listen,
                &settings.inherited.http01,
                settings.http01_check_port,
            )?,
            tls_alpn01: port_options(
                &ValidationMethod::TLS_ALPN01,
                &settings.tlsalpn01_listen,
                &settings.inherited.tls_alpn01,
                settings.tlsalpn01_check_port,
            )?,
            cluster_resource_namespace: settings.cluster_resource_namespace.clone(),
            user_agent: USER_AGENT.to_owned(),
            limits: Limits::within(settings.options.timeout),
            verb: job.verb,
            environment: Box::new(move |name| environment(name)),
            bounds: settings.bounds(),
            hook_timeout: settings.hook_timeout,
            hooks: settings.hooks(),
            dns01: Dns01Options {
                solvers_dir: settings.below_config("solvers.d"),
                recursive_nameservers_only: settings.dns01_recursive_nameservers_only,
                stand_in: job.dns01_stand_in,
            },
        };
        let hits = Hits::new(|| SystemClock.now());
        let tokens = TokenFolder::open_shared(&self.state.host_record().http01_path())?;
        Ok(World::new(
            clock,
            &self.state,
            Served::new(tokens, hits),
            resolver,
            job.secrets,
            options,
        ))
    }
}

/// Where a method listens. A flag overrides inherited sockets, and those override the default address.
fn port_options(
    method: &ValidationMethod,
    listen: &[SocketAddr],
    inherited: &[TcpListener],
    check: u16,
) -> Result<PortOptions, ListenError> {
    let inherited = inherited.iter().filter(|_| listen.is_empty());
    let inherited: Vec<TcpListener> = inherited
        .map(TcpListener::try_clone)
        .collect::<Result<_, _>>()
        .map_err(|source| ListenError::Inherited { source })?;
    let listen = if inherited.is_empty() { listener_addresses(listen, method) } else { Vec::new() };
    Ok(PortOptions { listen, inherited, check })
}

/// The arguments of the hook for a certificate with an invalid manifest, and what notes its run: another
/// error is a new failure.
fn alert_of(view: &CertificateView, now: Timestamp) -> Option<(Alert, String)> {
    let (record, mistake) = (view.record.as_ref()?, view.mistake.as_ref()?);
    // Another failure may have been reported at this stage: a mistake is none that its hearer knows of.
    let stage = alert::due(record, true, now).unwrap_or(Stage::Failed);
    let mark = alert::mark(stage, record.status.not_after);
    let mark = match stage {
        Stage::Failed => format!("{mark}-{}", digest_of(mistake.message.as_bytes())),
        Stage::Overdue | Stage::Half | Stage::NineTenths | Stage::Expired => mark,
    };
    let alert = Alert {
        certificate: view.key.clone(),
        message: format!("{}:{}: {}", mistake.path.display(), mistake.line, mistake.message),
        attempts: view.failures(),
        next_attempt: None,
        not_after: record.status.not_after,
        stage,
    };
    Some((alert, mark))
}

impl Settings {
    /// The one resolver of a run. What is wrong with its servers, at this moment and on this host,
    /// shows where a name is looked up: it ends no run.
    pub async fn resolver(&self, overrides: BTreeMap<String, Vec<IpAddr>>) -> Resolver {
        let (mut servers, mut unusable) = (Vec::new(), Vec::new());
        for (host, port) in &self.resolvers {
            match tokio::net::lookup_host((host.as_str(), *port)).await {
                Ok(mut found) => servers.extend(found.next()),
                Err(error) => unusable.push(DnsServer::Unusable {
                    written: format!("--resolver {host}"),
                    reason: error.to_string(),
                }),
            }
        }
        Resolver::new(ResolverOptions {
            servers,
            unusable,
            overrides,
            authoritative_port: self.dns01_authoritative_port,
            ..ResolverOptions::default()
        })
    }
}
