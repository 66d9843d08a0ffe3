//! A certificate, its CA and its state, over several runs.

#![expect(clippy::wildcard_enum_match_arm, reason = "no other matters here")]

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::slice::from_ref;
use std::sync::Arc;
use std::task::Poll;

use certctl::controller::Intervals;
use certctl::engine::ports::{Borrowed, Clock as _, Key, LiveFiles as _, Part, Wait, WaitLimit};
use certctl::engine::{Ended, Ending, Engine, Goal, Hooks, Observer, Options, Task, dry_run};
use certctl::manifest::SecretSource;
use certctl::resource::dns01::Rfc2136;
use certctl::resource::{
    AccountStep, Acme, Certificate, CertificateRecord, CertificateSpec, ConditionStatus,
    ConditionType, Dns01, Dns01Provider, Event, Http01, Identifier, Issuance, Issuer, IssuerKind,
    IssuerRef, KeyAlgorithm, Metadata, NamespacedName, Order, Origin, PrivateKeySpec,
    SecretKeySelector, Settings, Solver, SolverKind,
};
use certctl::store::{CertificateDocument, Frame, Records};
use certctl::workspace::outlook::{Outlook, When};
use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::ca::Ca;
use super::disk::{Disk, Memory, is_pair};
use super::world::{Alerts, Error, Outside, World};
use crate::fuse::Fuse;
use crate::timeline::Timeline;

pub(crate) struct Scene {
    pub(crate) clock: Timeline,
    pub(crate) memory: Rc<RefCell<Memory>>,
    pub(crate) ca: Rc<RefCell<Ca>>,
    pub(crate) outside: Rc<RefCell<Outside>>,
    pub(crate) task: Task,
    pub(crate) alerts: Option<Alerts>,
}

/// How one run went.
pub(crate) struct Went {
    /// `None` when it was killed.
    pub(crate) ending: Option<Ending>,
    /// Whether that is reported without a terminal.
    pub(crate) is_new: bool,
    /// The moments it passed.
    pub(crate) labels: Vec<String>,
    /// The requests it sent.
    pub(crate) requests: usize,
    /// How often its locks were held for longer.
    pub(crate) renewals: usize,
}

/// Everything that must be the same however often the runs were killed.
#[derive(Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "what is compared, fact by fact")]
pub(crate) struct State {
    pub(crate) live: Option<u32>,
    pub(crate) revision: Option<u32>,
    pub(crate) attempts: Option<u32>,
    pub(crate) has_failed: bool,
    pub(crate) issuing: Option<ConditionStatus>,
    pub(crate) ready: Option<ConditionStatus>,
    pub(crate) next_key_name: Option<String>,
    pub(crate) next_key: bool,
    pub(crate) accounts: usize,
    /// What is to be done with the account on disk.
    pub(crate) account: Option<AccountStep>,
    pub(crate) owed_revocations: usize,
    pub(crate) went_back: bool,
    pub(crate) deployed: bool,
    pub(crate) presented: usize,
    pub(crate) owed: usize,
    pub(crate) certificates: usize,
    /// The newest request; older ones are pruned by the next run that writes.
    pub(crate) request: Option<u32>,
}

/// Hears nothing but that a run would wait until a time that is past.
struct Deaf<'s>(&'s Timeline);

impl Observer for Deaf<'_> {
    fn event(&self, _: &NamespacedName, _: &Event) {}

    fn stage(&self, _: &NamespacedName, _: &str) {}

    fn waits(&self, _: &NamespacedName, wait: &Wait) {
        if let Some(WaitLimit::Until(end)) = wait.limit {
            assert!(
                self.0.jumps() || end >= self.0.now(),
                "at {} it waits until {end}",
                self.0.now()
            );
        }
    }
}

impl Scene {
    /// The same, proven by DNS-01.
    pub(crate) fn over_dns(names: &[&str]) -> Self {
        let mut scene = Self::new(names);
        let provider = Dns01Provider::Rfc2136(Rfc2136::default());
        let dns01 = Dns01 { cname_strategy: None, nameservers: Vec::new(), provider };
        Arc::make_mut(&mut scene.task.issuers.first).acme.solvers[0].kind =
            SolverKind::Dns01(Box::new(dns01));
        scene
    }

    pub(crate) fn new(names: &[&str]) -> Self {
        let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        Self {
            clock: Timeline::new(start),
            memory: Rc::default(),
            ca: Rc::new(RefCell::new(Ca::new())),
            outside: Rc::default(),
            task: task("web", names),
            alerts: None,
        }
    }

    pub(crate) fn run(&self, fuse: Fuse) -> Went {
        self.run_under(fuse, Error::default())
    }

    /// Works towards a goal, alone.
    pub(crate) fn reach(&self, goal: &Goal, fuse: Fuse, error: Error) -> Went {
        let fuse = Rc::new(fuse);
        let (world, shutdown) = self.world(&fuse, error);
        let task = Task { goal: goal.clone(), ..self.task.clone() };
        let store = Disk { memory: Rc::clone(&self.memory), fuse: Rc::clone(&fuse) };
        let engine = Engine {
            ports: Borrowed { clock: &self.clock, store: &store, performer: &world },
            observer: &Deaf(&self.clock),
            options: options(),
            shutdown,
        };
        let reached = self.clock.run(|| fuse.is_blown(), engine.reach(&task));
        let ending = reached.map(|reached| reached.unwrap().0);
        Went {
            ending,
            is_new: true,
            labels: fuse.labels(),
            requests: world.requests.get(),
            renewals: fuse.renewals(),
        }
    }

    /// One run with error.
    pub(crate) fn run_under(&self, fuse: Fuse, error: Error) -> Went {
        let fuse = Rc::new(fuse);
        let (ended, requests) = self.run_tasks(&fuse, error, from_ref(&self.task), options());
        let ended = ended.map(|mut all| all.pop().unwrap());
        let is_new = ended.as_ref().is_some_and(|ended| ended.is_new);
        let ending = ended.map(|ended| ended.ending);
        self.ca.borrow_mut().look_in_vain();
        Went { ending, is_new, labels: fuse.labels(), requests, renewals: fuse.renewals() }
    }

    /// One run over several tasks; `None` when it was killed. And how many requests it sent.
    pub(crate) fn run_tasks(
        &self,
        fuse: &Rc<Fuse>,
        error: Error,
        tasks: &[Task],
        options: Options,
    ) -> (Option<Vec<Ended>>, usize) {
        let planned: Vec<Outlook> = tasks.iter().map(|task| self.planned(task)).collect();
        let (world, shutdown) = self.world(fuse, error);
        let run = self.engine_run(fuse, &world, shutdown, tasks, options);
        let ended = self.clock.run(|| fuse.is_blown(), run);
        for ended in ended.iter().flatten() {
            let of = |task: &Task| task.certificate.metadata.key() == ended.certificate;
            let at = tasks.iter().position(of).unwrap();
            let is_due_by_itself = tasks[at].goal == Goal::Issue && tasks[at].force.is_none();
            if is_due_by_itself {
                self.is_as_planned(&planned[at], &ended.ending);
            }
        }
        (ended, world.requests.get())
    }

    /// What `plan` and `status` would say of it now.
    fn planned(&self, task: &Task) -> Outlook {
        let store = Disk { memory: Rc::clone(&self.memory), fuse: Rc::default() };
        let secrets = SecretSource::new(Vec::new(), None, None);
        let now = self.clock.now();
        let (_, dry_run) = dry_run(&store, task, &secrets, now).now_or_never().unwrap().unwrap();
        Outlook::of(&dry_run, now)
    }

    /// `issue` does what `plan` said.
    fn is_as_planned(&self, outlook: &Outlook, ending: &Ending) {
        let now = self.clock.now();
        let is_cut_off = matches!(ending, Ending::Interrupted { .. } | Ending::Locked { .. });
        let is_issued = matches!(ending, Ending::Issued(_));
        let is_unchanged = matches!(ending, Ending::Unchanged { .. });
        let is_so = match outlook.when {
            When::NextRun if outlook.orders() => !is_unchanged,
            When::NextRun => !is_issued,
            // The run may last until then.
            When::Waits(Some(until)) | When::At(until) if until <= now => true,
            When::Waits(_) => !is_issued && !is_unchanged,
            When::At(_) | When::Never => is_unchanged,
            When::Blocked => matches!(ending, Ending::Failed { .. }),
            When::UnderWay => true,
        };
        assert!(is_so || is_cut_off, "{outlook:?} was followed by {ending:?}");
    }

    /// Runs side by side, each with tasks of its own.
    pub(crate) fn run_together(
        &self,
        runs: &[&[Task]],
        options: Options,
        error: impl Fn() -> Error,
    ) -> Vec<Vec<Ended>> {
        let fuse = Rc::default();
        let worlds: Vec<_> = runs.iter().map(|_| self.world(&fuse, error())).collect();
        let together = runs.iter().zip(&worlds).map(|(tasks, (world, shutdown))| {
            self.engine_run(&fuse, world, shutdown.clone(), tasks, options)
        });
        self.clock.run(|| false, futures_util::future::join_all(together)).unwrap()
    }

    /// Runs side by side, each of which its own fuse may kill: how the others ended, and what each
    /// of them passed.
    pub(crate) fn run_until_killed<const N: usize>(
        &self,
        runs: &[&[Task]; N],
        options: Options,
        fuses: [Fuse; N],
    ) -> ([Option<Vec<Ended>>; N], [Vec<String>; N]) {
        let fuses = fuses.map(Rc::new);
        let worlds = fuses.each_ref().map(|fuse| self.world(fuse, Error::default()));
        let together = runs.iter().zip(&fuses).zip(&worlds).map(|((tasks, fuse), world)| {
            let (world, shutdown) = (&world.0, world.1.clone());
            let run = self.engine_run(fuse, world, shutdown, tasks, options);
            let mut run = Some(Box::pin(run));
            std::future::poll_fn(move |context| {
                let Some(alive) = &mut run else { return Poll::Ready(None) };
                match alive.as_mut().poll(context) {
                    Poll::Ready(ended) => Poll::Ready(Some(ended)),
                    Poll::Pending if fuse.is_blown() => {
                        run = None;
                        Poll::Ready(None)
                    }
                    Poll::Pending => Poll::Pending,
                }
            })
        });
        let ended = self.clock.run(|| false, futures_util::future::join_all(together)).unwrap();
        (ended.try_into().unwrap(), fuses.map(|fuse| fuse.labels()))
    }

    async fn engine_run(
        &self,
        fuse: &Rc<Fuse>,
        world: &World,
        shutdown: watch::Receiver<Option<i32>>,
        tasks: &[Task],
        options: Options,
    ) -> Vec<Ended> {
        let store = Disk { memory: Rc::clone(&self.memory), fuse: Rc::clone(fuse) };
        let engine = Engine {
            ports: Borrowed { clock: &self.clock, store: &store, performer: world },
            observer: &Deaf(&self.clock),
            options,
            shutdown,
        };
        engine.run(tasks).await
    }

    fn world(&self, fuse: &Rc<Fuse>, error: Error) -> (World, watch::Receiver<Option<i32>>) {
        let store = Disk { memory: Rc::clone(&self.memory), fuse: Rc::clone(fuse) };
        let seen = (&self.ca, &self.outside);
        let (mut world, shutdown) = World::new(&self.clock, store, fuse, seen, error);
        world.alerts.clone_from(&self.alerts);
        (world, shutdown)
    }

    /// One run that nothing disturbs.
    pub(crate) fn run_freely(&self) -> Ending {
        self.run(Fuse::endless()).ending.unwrap()
    }

    pub(crate) fn record(&self) -> Option<CertificateRecord> {
        self.record_of(&self.name())
    }

    pub(crate) fn record_of(&self, name: &NamespacedName) -> Option<CertificateRecord> {
        let disk = self.disk();
        let records = Records::new(&disk);
        self.clock.run(|| false, records.certificate(name)).unwrap().unwrap()
    }

    /// Puts another record into the place of the stored one.
    pub(crate) fn put_record(&self, record: &CertificateRecord) {
        let (disk, name) = (self.disk(), self.name());
        let put = async { CertificateDocument::read(&disk, &name).await?.put_record(record).await };
        self.clock.run(|| false, put).unwrap().unwrap();
    }

    /// All orders on disk, by revision and number.
    pub(crate) fn orders(&self) -> Vec<Order> {
        self.orders_of(&self.name().name)
    }

    /// Those of a certificate of the default namespace.
    pub(crate) fn orders_of(&self, name: &str) -> Vec<Order> {
        let disk = self.disk();
        let name = NamespacedName::new("default", name);
        let all = async { CertificateDocument::read(&disk, &name).await?.orders().await };
        let all = self.clock.run(|| false, all).unwrap().unwrap();
        all.into_iter().map(|(_, order)| order.unwrap()).collect()
    }

    pub(crate) fn state(&self) -> State {
        let record = self.record();
        let status = record.as_ref().map(|record| record.status.clone()).unwrap_or_default();
        let condition = |kind| status.condition(kind).map(|condition| condition.status);
        let revocations = record.iter().flat_map(|record| &record.revocations);
        let orders = self.orders();
        let memory = self.memory.borrow();
        for (_, files) in memory.secrets.values() {
            assert!(is_pair(files));
        }
        let frames = memory.documents.iter().filter(|(key, _)| matches!(key, Key::Certificate(_)));
        let frames = frames.map(|(_, (_, bytes))| Frame::read(bytes, "in memory").unwrap());
        let parts: Vec<Part> = frames.flat_map(|frame| frame.parts.into_keys()).collect();
        State {
            live: memory.secrets.values().next().map(|(revision, _)| *revision),
            revision: status.revision,
            attempts: status.failed_issuance_attempts,
            has_failed: status.last_failure_time.is_some(),
            issuing: condition(ConditionType::Issuing),
            ready: condition(ConditionType::Ready),
            next_key_name: status.next_private_key_secret_name.clone(),
            next_key: parts.contains(&Part::NextKey),
            accounts: self.ca.borrow().accounts.len(),
            account: self.account(),
            owed_revocations: revocations.filter(|revocation| revocation.is_owed()).count(),
            went_back: record.iter().any(|record| record.rollback.is_some()),
            deployed: record.iter().any(|record| !record.deployments.is_empty()),
            presented: self.outside.borrow().len(),
            owed: orders.iter().filter(|order| order.owes_clean_up()).count(),
            certificates: self.certificates(),
            request: parts
                .iter()
                .filter_map(|part| if let Part::Request(n) = part { Some(*n) } else { None })
                .max(),
        }
    }

    /// What is to be done with the one account that is on disk.
    fn account(&self) -> Option<AccountStep> {
        let memory = self.memory.borrow();
        let id = memory.documents.keys().find_map(|key| match key {
            Key::Account(id) => Some(id.clone()),
            _ => None,
        })?;
        drop(memory);
        let disk = self.disk();
        let kept = self.clock.run(|| false, Records::new(&disk).account(&id)).unwrap().unwrap();
        kept.map(|kept| kept.value.next_step)
    }

    /// How many different certificates were issued.
    fn certificates(&self) -> usize {
        let memory = self.memory.try_borrow().ok();
        let lines = memory.map(|memory| memory.issuances.clone()).unwrap_or_default();
        let serial = |line: &String| serde_json::from_str::<Issuance>(line).unwrap().serial;
        let mut serials: Vec<String> = lines.iter().map(serial).collect();
        serials.sort();
        serials.dedup();
        serials.len()
    }

    /// Orders that the CA has and the state does not know of, the first `skipped` aside.
    pub(crate) fn unrecorded_orders(&self, skipped: usize) -> usize {
        let known = self.orders();
        let ca = self.ca.borrow();
        let is_known = |url: &String| known.iter().any(|order| order.url() == Some(url));
        ca.orders.iter().skip(skipped).filter(|order| !is_known(&order.url)).count()
    }

    /// What is live now.
    pub(crate) fn live(&self) -> Option<certctl::resource::SecretFiles> {
        let secret = NamespacedName::new("default", "web-tls");
        self.clock.run(|| false, self.disk().published(&secret)).unwrap().unwrap()
    }

    /// Lets the time come at which the live pair is due.
    pub(crate) fn wait_for_renewal(&self) {
        self.clock.set(self.record().unwrap().status.renewal_time.unwrap());
    }

    fn disk(&self) -> Disk {
        Disk { memory: Rc::clone(&self.memory), fuse: Rc::default() }
    }

    fn name(&self) -> NamespacedName {
        self.task.certificate.metadata.key()
    }
}

pub(crate) fn identifier(name: &str) -> Identifier {
    Identifier::Dns(name.parse().unwrap())
}

pub(crate) fn options() -> Options {
    Options {
        parallel: 1,
        max_concurrent_challenges: 60,
        timeout: SignedDuration::from_mins(10),
        lock_timeout: SignedDuration::from_secs(30),
        intervals: Intervals { self_check: SignedDuration::from_secs(10) },
        unattended: true,
        is_scheduled: false,
        reports_daily: true,
        certificates: 0,
        limits: &[],
        ignore_limits: false,
        hooks: Hooks::default(),
        words: |_| String::new(),
    }
}

pub(crate) fn task(name: &str, names: &[&str]) -> Task {
    let origin = Origin { path: PathBuf::from("/etc/certctl/web.yaml"), line: 1, column: 1 };
    let metadata = |name: &str| Metadata {
        name: name.to_owned(),
        namespace: "default".to_owned(),
        ..Metadata::default()
    };
    let key =
        |algorithm| PrivateKeySpec { algorithm: Some(algorithm), ..PrivateKeySpec::default() };
    let spec = CertificateSpec {
        secret_name: format!("{name}-tls"),
        issuer_ref: IssuerRef { name: "le".to_owned(), ..IssuerRef::default() },
        dns_names: names.iter().map(|name| name.parse().unwrap()).collect(),
        private_key: Some(key(KeyAlgorithm::Ed25519)),
        ..CertificateSpec::default()
    };
    let acme = Acme {
        server: "https://ca.test/directory".to_owned(),
        email: "ops@example.com".to_owned(),
        private_key_secret_ref: SecretKeySelector { name: "le-key".to_owned(), key: String::new() },
        disable_account_key_generation: false,
        ca_bundle: None,
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
            metadata: metadata(name),
            spec,
            settings: Settings::default(),
            origin: origin.clone(),
        }),
        issuers: Arc::new(Issuer {
            kind: IssuerKind::Issuer,
            metadata: metadata("le"),
            acme,
            settings: Settings::default(),
            origin,
            server_line: 1,
        })
        .into(),
        manifest: Some(PathBuf::from("/etc/certctl/web.yaml")),
        references: Vec::new(),
        force: None,
        is_named: false,
        allow_untrusted: false,
        goal: Goal::Issue,
        revoked: None,
        secret: None,
        unread_secret: None,
        input_digest: "1".to_owned(),
        of_others: None,
    }
}
