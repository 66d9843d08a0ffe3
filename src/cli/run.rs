//! A run of the engine from the command line: the world, the signals, and what is said of it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};

use super::error::CliError;
use super::exit::{self, ExitCode};
use super::progress::Progress;
use super::report::{self, Look};
use super::result;
use super::shell::Shell;
use crate::acme::Limits;
use crate::controller::Intervals;
use crate::engine::ports::{Clock as _, StoreError, SystemClock};
use crate::engine::{
    Dns01Options, Ended, Ending, Engine, Observer, Options, StandIn, Task, World, WorldOptions,
};
use crate::manifest::SecretSource;
use crate::probe::{Resolver, ResolverOptions};
use crate::resource::FailureClass;
use crate::solver::http01::{Hits, ListenError};
use crate::store::{OpenMode, StateDirectory};

/// Runs a future on the one thread that everything runs on.
pub(crate) fn on_one_thread<T>(
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::new(ExitCode::Failed, error))?;
    runtime.block_on(work)
}

/// Opens the state for writing; what is wrong with it is told with what mends it.
pub(crate) fn open_state(path: &Path, mode: OpenMode) -> Result<StateDirectory, CliError> {
    StateDirectory::open(path, mode).map_err(CliError::from)
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let hint = match &error {
            StoreError::ForeignOwner { owner, .. } => Some(format!("sudo -u '#{owner}' certctl …")),
            StoreError::TooOpen { path, .. } => Some(format!("chmod go-rwx {path}")),
            StoreError::Version { .. } => Some("a newer certctl".to_owned()),
            StoreError::Io { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Name { .. }
            | StoreError::NotPlain { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Conflict { .. }
            | StoreError::Immutable { .. }
            | StoreError::Locked { .. } => None,
        };
        let code = match &error {
            StoreError::Locked { .. } => ExitCode::Deferred,
            StoreError::Io { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Version { .. }
            | StoreError::Name { .. }
            | StoreError::NotPlain { .. }
            | StoreError::TooLarge { .. }
            | StoreError::TooOpen { .. }
            | StoreError::ForeignOwner { .. }
            | StoreError::Conflict { .. }
            | StoreError::Immutable { .. } => ExitCode::State,
        };
        Self { code, message: error.to_string(), hint }
    }
}

/// What a run needs beside its tasks.
pub(crate) struct Setting {
    /// Where secrets come from.
    pub(crate) secrets: SecretSource,
    /// Names that are not looked up.
    pub(crate) overrides: BTreeMap<String, Vec<IpAddr>>,
    /// Used instead of the real DNS for DNS-01.
    pub(crate) dns01_stand_in: Option<StandIn>,
    /// Which verb runs.
    pub(crate) verb: &'static str,
    /// The longest that one certificate may take, whatever `--timeout` says.
    pub(crate) at_most: SignedDuration,
}

impl Setting {
    /// Of a verb that works at the real CAs and DNS providers.
    pub(crate) fn new(verb: &'static str, secrets: SecretSource) -> Self {
        Self {
            secrets,
            overrides: BTreeMap::new(),
            dns01_stand_in: None,
            verb,
            at_most: SignedDuration::MAX,
        }
    }
}

/// Makes the tasks true, telling what happens, and returns how each ended.
pub(crate) async fn run(
    shell: &mut Shell,
    state: &StateDirectory,
    tasks: &[Task],
    setting: Setting,
) -> Result<Vec<Ended>, CliError> {
    let progress = Rc::new(Progress::new(shell, tasks.len()));
    let ended = run_with(shell, state, tasks, setting, Rc::clone(&progress)).await;
    progress.finish();
    ended
}

/// The same, with somebody else listening.
pub(crate) async fn run_with<O: Observer>(
    shell: &Shell,
    state: &StateDirectory,
    tasks: &[Task],
    setting: Setting,
    observer: O,
) -> Result<Vec<Ended>, CliError> {
    let clock = SystemClock;
    let timeout = shell.global.timeout.0.min(setting.at_most);
    let world = world(shell, &clock, state, setting).await?;
    let (sender, shutdown) = tokio::sync::watch::channel(None);
    let signals = tokio::spawn(watch_signals(sender));
    let engine = Engine {
        clock: &clock,
        store: state,
        performer: &world,
        observer: &observer,
        options: Options { timeout, ..options(shell) },
        shutdown,
    };
    let ended = Box::pin(engine.run(tasks)).await;
    signals.abort();
    tracing::debug!(requests = world.requests(), "run ended");
    Ok(ended)
}

/// Does what belongs to no certificate's run, in the same world.
pub(crate) async fn with_world(
    shell: &Shell,
    state: &StateDirectory,
    setting: Setting,
    deed: impl AsyncFnOnce(&World<'_, SystemClock, StateDirectory>),
) -> Result<(), CliError> {
    let clock = SystemClock;
    let world = Box::pin(world(shell, &clock, state, setting)).await?;
    deed(&world).await;
    Ok(())
}

async fn world<'a>(
    shell: &Shell,
    clock: &'a SystemClock,
    state: &'a StateDirectory,
    setting: Setting,
) -> Result<World<'a, SystemClock, StateDirectory>, CliError> {
    let resolver = resolver(shell, setting.overrides).await?;
    // A flag beats what was handed over, and that the usual address.
    let is_named = !shell.global.http01_listen.is_empty();
    let inherited = shell.inherited.iter().filter(|_| !is_named).map(TcpListener::try_clone);
    let inherited: Vec<TcpListener> = inherited
        .collect::<Result<_, _>>()
        .map_err(|source| CliError::new(ExitCode::Manifest, ListenError::Inherited { source }))?;
    let listen = if !is_named && inherited.is_empty() {
        vec![SocketAddr::from((Ipv6Addr::UNSPECIFIED, 80))]
    } else {
        shell.global.http01_listen.clone()
    };
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
    let config = config.map(|config| config.path).unwrap_or_default();
    let solvers_dir = config.join("solvers.d");
    let environment = shell.environment.clone();
    let options = WorldOptions {
        http01_listen: listen,
        http01_inherited: inherited,
        http01_check_port: shell.global.http01_check_port.unwrap_or(80),
        cluster_resource_namespace: shell.global.cluster_resource_namespace.clone(),
        user_agent: concat!("certctl/", env!("CARGO_PKG_VERSION")).to_owned(),
        limits: Limits::default(),
        verb: setting.verb,
        hooks_dir: config.join("hooks.d"),
        environment: Box::new(move |name| {
            environment.value(name).map(|value| value.to_string_lossy().into_owned())
        }),
        hook_timeout: shell.global.hook_timeout.0.unsigned_abs(),
        dns01: Dns01Options {
            solvers_dir,
            recursive_nameservers_only: shell.global.dns01_recursive_nameservers_only,
            stand_in: setting.dns01_stand_in,
        },
    };
    let hits = Hits::new(|| SystemClock.now());
    let folder = state.http01_path();
    World::new(clock, state, &folder, hits, resolver, setting.secrets, options)
        .map_err(|error| CliError::new(ExitCode::State, error))
}

/// The one resolver of a run, as the flags say.
pub(crate) async fn resolver(
    shell: &Shell,
    overrides: BTreeMap<String, Vec<IpAddr>>,
) -> Result<Resolver, CliError> {
    let usage = |error: &dyn std::fmt::Display| CliError::new(ExitCode::Usage, error);
    let mut servers = Vec::new();
    for server in &shell.global.resolver {
        let mut found = tokio::net::lookup_host((server.host.as_str(), server.port))
            .await
            .map_err(|error| usage(&format_args!("--resolver {}: {error}", server.host)))?;
        servers.extend(found.next());
    }
    let authoritative_port = shell.global.dns01_authoritative_port;
    let options =
        ResolverOptions { servers, overrides, authoritative_port, ..ResolverOptions::default() };
    Resolver::new(options).map_err(|error| usage(&error))
}

fn options(shell: &Shell) -> Options {
    let global = &shell.global;
    Options {
        parallel: global.parallel.get(),
        max_concurrent_challenges: global.max_concurrent_challenges.get(),
        timeout: global.timeout.0,
        lock_timeout: global.lock_timeout.0,
        intervals: Intervals { self_check: global.self_check_interval.0 },
        unattended: !shell.output.talks_to_terminal(),
    }
}

/// The first signal ends the run in good order, the second at once.
async fn watch_signals(sender: tokio::sync::watch::Sender<Option<i32>>) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else { return };
    loop {
        let number = tokio::select! {
            _ = interrupt.recv() => 2,
            _ = terminate.recv() => 15,
            _ = hangup.recv() => 1,
        };
        if sender.borrow().is_some() {
            std::process::exit(128 + number);
        }
        // Nobody listens any more when the run has just ended.
        if sender.send(Some(number)).is_err() {
            return;
        }
    }
}

/// A hook runs while its certificate is locked: what waits for that lock is not begun.
pub(crate) fn refuse_in_a_hook(shell: &Shell, verb: &str) -> Result<(), CliError> {
    let Some(event) = shell.environment.value("CERTCTL_EVENT") else { return Ok(()) };
    let message = format!(
        "this is a {} hook of a run that holds the locks: it must not call certctl {verb}",
        event.display()
    );
    Err(CliError::new(ExitCode::Usage, message))
}

/// Says how each certificate ended, and which exit code that makes.
pub(crate) async fn conclude(
    shell: &mut Shell,
    state: &StateDirectory,
    ended: &[Ended],
    has_errors: bool,
    now: Timestamp,
) -> Result<ExitCode, CliError> {
    let look = Look::of(shell, now);
    for end in ended {
        if shell.output.talks_json() {
            result::tell(&mut shell.output, state, end, &look);
        } else {
            report::ending(&mut shell.output, state, end, &look);
        }
    }
    if result::is_wanted(shell) {
        shell.results.note(state, ended).await?;
    }
    Ok(exit_code(shell, ended, has_errors))
}

/// The exit code of a run.
pub(crate) fn exit_code(shell: &Shell, ended: &[Ended], has_errors: bool) -> ExitCode {
    let signal = ended.iter().find_map(|end| match end.ending {
        Ending::Interrupted { signal } => u8::try_from(signal).ok(),
        Ending::Unchanged { .. }
        | Ending::Issued(_)
        | Ending::Deferred { .. }
        | Ending::Locked { .. }
        | Ending::Pending { .. }
        | Ending::Failed { .. } => None,
    });
    if let Some(signal) = signal {
        return ExitCode::Signal(signal);
    }
    let broken = has_errors.then_some(exit::Ending::Failed(FailureClass::Precondition));
    exit::of_run(endings_of(ended).chain(broken), shell.global.exit_code)
}

/// What each certificate means for the exit code: how it ended, and that its files were written
/// again.
pub(crate) fn endings_of(ended: &[Ended]) -> impl Iterator<Item = exit::Ending> {
    let rewritten = ended.iter().filter_map(|end| end.rewritten.as_ref());
    ended.iter().map(code_of).chain(rewritten.map(|_| exit::Ending::Changed))
}

/// How one certificate's part counts.
pub(crate) fn code_of(ended: &Ended) -> exit::Ending {
    let undeployed = ended.undeployed.as_ref().map(|undeployed| undeployed.failure.class);
    if let Some(class) = ended.ending.failure_class().or(undeployed) {
        return exit::Ending::Failed(class);
    }
    match &ended.ending {
        Ending::Unchanged { .. } => exit::Ending::Unchanged,
        Ending::Issued(_) => exit::Ending::Changed,
        Ending::Deferred { .. }
        | Ending::Locked { .. }
        | Ending::Pending { .. }
        | Ending::Failed { .. }
        | Ending::Interrupted { .. } => exit::Ending::Deferred,
    }
}
