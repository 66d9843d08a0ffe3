//! One host of a fleet, as a process: its documents are in the database, and all else in a folder of its
//! own. It runs over all certificates, again and again, until it is to end and nothing is due.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use certctl::acme::Limits;
use certctl::controller::Intervals;
use certctl::engine::ports::{Borrowed, Clock as _, Store, SystemClock};
use certctl::engine::{
    Dns01Options, Ended, Ending, Engine, Force, Goal, Hooks, HooksDir, Observer, Options, Task,
    World, WorldOptions,
};
use certctl::manifest::SecretSource;
use certctl::probe::{Resolver, ResolverOptions};
use certctl::resource::{
    Acme, Certificate, CertificateSpec, Event, Http01, Issuer, IssuerKind, IssuerRef, KeyAlgorithm,
    Metadata, NamespacedName, Origin, PrivateKeySpec, SecretKeySelector, Settings, Solver,
    SolverKind,
};
use certctl::solver::listener::{Hits, TokenFolder};
use certctl::solver::{PortOptions, Served};
use certctl::store::{OpenMode, StateDirectory};
use certctl::trust::Bounds;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::super::server::reached;
use crate::postgres_support::{self, Postgres};

/// Where the file with the [`Place`] is.
pub(super) const PLACE: &str = "POSTGRES_TEST_PLACE";

/// What a host is to know.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Place {
    /// The root of the database's server, its port and the schema.
    pub(super) root: String,
    pub(super) port: u16,
    pub(super) schema: String,
    /// The CA, and its root.
    pub(super) directory_url: String,
    pub(super) ca_root: String,
    /// What is this host's own.
    pub(super) state: PathBuf,
    /// A file with the milliseconds that the test has it sleep through.
    pub(super) slept: PathBuf,
    /// A file that is there when it is to end.
    pub(super) end: PathBuf,
    pub(super) certificates: usize,
    /// Whether its first run renews all of them.
    pub(super) renews: bool,
}

/// How long leases last, and how much longer for others: as in a fleet.
pub(super) const LASTING: SignedDuration = SignedDuration::from_mins(5);
pub(super) const MARGIN: SignedDuration = SignedDuration::from_secs(30);

impl Place {
    /// How this host reaches the database.
    pub(super) fn settings(&self) -> postgres_support::Settings {
        let mut settings = reached(&self.root, self.port, &self.schema);
        settings.lasting = LASTING;
        settings.margin = MARGIN;
        settings.page = 1000;
        settings.events = 100;
        settings.patience = Duration::from_secs(1);
        let (file, clock) = (self.slept.clone(), Arc::clone(&settings.clock));
        let slept = move || fs::read_to_string(&file).ok()?.parse().ok();
        settings.clock =
            Arc::new(move || clock() + SignedDuration::from_millis(slept().unwrap_or_default()));
        settings
    }
}

/// The documents of all hosts, and the rest of this one.
struct HostStore {
    documents: Postgres,
    own: StateDirectory,
}

impl Store for HostStore {
    type Documents = Postgres;
    type LiveFiles = StateDirectory;
    type HostRecord = StateDirectory;
    type Cache = StateDirectory;

    fn documents(&self) -> &Postgres {
        &self.documents
    }

    fn live_files(&self) -> &StateDirectory {
        &self.own
    }

    fn host_record(&self) -> &StateDirectory {
        &self.own
    }

    fn cache(&self) -> &StateDirectory {
        &self.own
    }
}

#[test]
#[ignore = "a process of the tests beside it"]
fn a_host() {
    let Some(place) = env::var_os(PLACE) else { return };
    let place: Place = serde_json::from_slice(&fs::read(place).unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work(&place));
}

async fn work(place: &Place) {
    let own = StateDirectory::open(&place.state, OpenMode::ReadWrite).unwrap();
    let store = HostStore { documents: Postgres::open(place.settings()), own };
    let mut tasks: Vec<Task> =
        (0..place.certificates).map(|number| task(place, &name(number))).collect();
    for task in &mut tasks {
        task.force = place.renews.then(Force::default);
    }
    loop {
        let is_last = place.end.exists();
        let ended = run(place, &store, &tasks).await;
        let is_idle = |one: &Ended| matches!(one.ending, Ending::Unchanged { .. });
        if is_last && ended.iter().all(is_idle) {
            return;
        }
        for task in &mut tasks {
            task.force = None;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// One run, with connections of its own.
async fn run(place: &Place, store: &HostStore, tasks: &[Task]) -> Vec<Ended> {
    let clock = SystemClock;
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let check = socket.local_addr().unwrap().port();
    let port = PortOptions { listen: Vec::new(), inherited: vec![socket], check };
    let none = PortOptions { listen: Vec::new(), inherited: Vec::new(), check: 443 };
    let tokens = TokenFolder::open(&place.state.join("http01")).unwrap();
    let world = World::new(
        &clock,
        store,
        Served::new(tokens, Hits::new(|| SystemClock.now())),
        Resolver::new(ResolverOptions::default()),
        SecretSource::new(Vec::new(), None, None),
        WorldOptions {
            http01: port,
            tls_alpn01: none,
            cluster_resource_namespace: "certctl".to_owned(),
            user_agent: "certctl-tests".to_owned(),
            limits: Limits::default(),
            verb: "issue",
            hooks: HooksDir { folder: place.state.join("no-hooks"), run_by: Hooks::Now },
            bounds: Bounds { reserved: Vec::new(), roots: Vec::new() },
            environment: Box::new(|_| None),
            hook_timeout: Duration::from_secs(10),
            dns01: Dns01Options::default(),
        },
    );
    let (_signal, shutdown) = watch::channel(None);
    let engine = Engine {
        ports: Borrowed { clock: &clock, store, performer: &world },
        observer: &Failures,
        options: options(tasks.len()),
        shutdown,
    };
    let ended = engine.run(tasks).await;
    world.stop_listening(true, &Failures).await;
    ended
}

/// The test waits for them, to know that a host has met a server that does not answer.
struct Failures;

impl Observer for Failures {
    fn event(&self, _: &NamespacedName, _: &Event) {}

    fn stage(&self, _: &NamespacedName, _: &str) {}

    #[expect(clippy::print_stderr, reason = "for the test, and for who reads why it failed")]
    fn ended(&self, end: &Ended) {
        if !matches!(end.ending, Ending::Unchanged { .. } | Ending::Issued(_)) {
            eprintln!("{}: {:?}", end.certificate, end.ending);
        }
    }
}

fn options(certificates: usize) -> Options {
    Options {
        parallel: 4,
        max_concurrent_challenges: 60,
        timeout: SignedDuration::from_mins(10),
        lock_timeout: SignedDuration::from_secs(30),
        intervals: Intervals { self_check: SignedDuration::from_secs(1) },
        unattended: true,
        is_scheduled: false,
        reports_daily: false,
        certificates,
        limits: &[],
        ignore_limits: true,
        hooks: Hooks::Now,
        words: |_| String::new(),
    }
}

/// The name of one of the certificates.
pub(super) fn name(number: usize) -> NamespacedName {
    NamespacedName::new("default", format!("site-{number:03}"))
}

/// The only name in it.
pub(super) fn domain(name: &NamespacedName) -> String {
    format!("{}.example.test", name.name)
}

fn task(place: &Place, name: &NamespacedName) -> Task {
    let origin = Origin { path: PathBuf::from("/etc/certctl/sites.yaml"), line: 1, column: 1 };
    let metadata = |name: &str| Metadata {
        name: name.to_owned(),
        namespace: "default".to_owned(),
        ..Metadata::default()
    };
    let algorithm = Some(KeyAlgorithm::Ecdsa);
    let spec = CertificateSpec {
        secret_name: name.name.clone(),
        issuer_ref: IssuerRef { name: "ca".to_owned(), ..IssuerRef::default() },
        dns_names: vec![domain(name).parse().unwrap()],
        private_key: Some(PrivateKeySpec { algorithm, ..PrivateKeySpec::default() }),
        ..CertificateSpec::default()
    };
    let acme = Acme {
        server: place.directory_url.clone(),
        email: "ops@example.com".to_owned(),
        private_key_secret_ref: SecretKeySelector { name: "ca-key".to_owned(), key: String::new() },
        disable_account_key_generation: false,
        ca_bundle: Some(place.ca_root.clone()),
        skip_tls_verify: false,
        preferred_chain: String::new(),
        external_account_binding: None,
        enable_duration_feature: false,
        profile: String::new(),
        renewal_information_source: None,
        solvers: vec![Solver {
            selector: None,
            wait_instead_of_self_check: None,
            kind: SolverKind::Http01(Http01::default()),
        }],
    };
    Task {
        certificate: Arc::new(Certificate {
            metadata: metadata(&name.name),
            spec,
            settings: Settings::default(),
            origin: origin.clone(),
        }),
        issuers: Arc::new(Issuer {
            kind: IssuerKind::Issuer,
            metadata: metadata("ca"),
            acme,
            settings: Settings::default(),
            origin: origin.clone(),
            server_line: 1,
        })
        .into(),
        manifest: Some(origin.path),
        references: Vec::new(),
        force: None,
        is_named: false,
        allow_untrusted: true,
        goal: Goal::Issue,
        revoked: None,
        secret: None,
        unread_secret: None,
        input_digest: "1".to_owned(),
        of_others: None,
    }
}

/// Before the next run.
const AGAIN: Duration = Duration::from_millis(20);
