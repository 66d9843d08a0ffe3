//! Two hosts with an engine each over one database: processes that issue the same certificates at a CA,
//! and are killed and stopped, as the server of the database is. What is looked at in the end is what
//! the CA got, what is in the database, and what the files of each host are.
//!
//! All names are proven already: documents, orders and pairs are what this is about.

mod host;
mod judge;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{CaOptions, CaThread, Fault, RequestKind, Resolver, Rule};
use certctl::resource::{AuthorizationState, NamespacedName, OrderPhase};
use certctl::store::CertificateDocument;
use rustix::process::{Pid, Signal, kill_process};

use super::server::Server;
use crate::own_process::only;
use crate::pebble_support::block_on;
use crate::postgres_support::Postgres;
use crate::random::Random;
use crate::support::fixture::put;
use crate::support::until;
use host::{LASTING, MARGIN, PLACE, Place, name};

const HOSTS: usize = 2;

/// What is done while the hosts work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disturbance {
    /// A host is killed, its leases run out, and it is started again.
    Kill,
    /// A host stands still, its leases run out, the other one works, and it goes on.
    Stop,
    /// The server of the database stands still until both hosts had no answer.
    StopServer,
    /// It is killed, and started again when both have found it gone.
    KillServer,
}

use Disturbance::{Kill, KillServer, Stop, StopServer};

#[test]
#[ignore = "a series of a minute; tests/run --all starts it"]
fn series_of_twenty_certificates_of_two_processes_that_are_killed_and_stopped() {
    disturbed("fleet", 20, &[Kill, Stop, StopServer, Kill]);
}

#[test]
#[ignore = "a series of a minute and more; tests/run --all starts it"]
fn series_of_two_hundred_certificates_of_two_processes() {
    let round = [Kill, Stop, Kill, Stop, StopServer, Kill, Stop, KillServer];
    disturbed("long_fleet", 200, &round.repeat(3));
}

/// All certificates are issued under these disturbances; then one host renews all, and both follow.
#[expect(clippy::print_stderr, reason = "the figures")]
fn disturbed(schema: &str, certificates: usize, disturbances: &[Disturbance]) {
    let mut fleet = Fleet::start(schema, certificates);
    fleet.start_all([false, false]);
    for (number, disturbance) in disturbances.iter().enumerate() {
        let host = fleet.await_work(certificates * (number + 1) / (disturbances.len() + 2));
        match disturbance {
            Kill => fleet.kill_one(host),
            Stop => fleet.stop_one(host),
            StopServer | KillServer => fleet.stop_server(*disturbance == KillServer),
        }
    }
    fleet.until("all are issued", |fleet| fleet.ca.issued() >= certificates);
    fleet.end(0);
    fleet.end(1);
    let first = fleet.judge(1, &judge::Past::default());
    eprintln!("issued: {}", fleet.figures());
    fleet.excuses.clear();
    // Their processes have ended. A lock that could not be given back runs out by then.
    fleet.dead.clear();
    let all = "UPDATE leases SET until = '-infinity'";
    Fleet::read(async || fleet.store.run(all).await);
    fleet.start_all([true, false]);
    fleet.until("all are renewed", |fleet| fleet.ca.issued() >= 2 * certificates);
    fleet.end(0);
    fleet.end(1);
    fleet.judge(2, &first);
    eprintln!("renewed: {}", fleet.figures());
    // Of twenty, the one that stands still may hold none.
    assert!(certificates < 200 || fleet.takeovers > 0, "no host took over what another one held");
}

/// A process of a host.
struct Process {
    child: Child,
}

impl Process {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Stops it, and returns when it stands still.
    fn stop(&self) {
        kill_process(self.pid(), Signal::STOP).unwrap();
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_still = |stat: String| {
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 'Z']))
        };
        until("it stands still", || {
            fs::read_dir(&tasks).unwrap().all(|task| {
                // One that is gone does nothing.
                fs::read_to_string(task.unwrap().path().join("stat")).map_or(true, is_still)
            })
        });
    }

    fn go_on(&self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }
}

/// Where a test fails, what its hosts wrote last.
impl Drop for Fleet {
    #[expect(clippy::print_stderr, reason = "why the test fails")]
    fn drop(&mut self) {
        if thread::panicking() {
            for host in 0..self.hosts.len() {
                eprintln!("host {host}, newest first:\n{}", self.last_errors(host));
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// See the module.
struct Fleet {
    hosts: Vec<Process>,
    places: Vec<Place>,
    /// For how long each has slept, in milliseconds.
    slept: [i64; HOSTS],
    server: Server,
    ca: CaThread,
    folder: tempfile::TempDir,
    /// The test's own look at the documents.
    store: Postgres,
    certificates: usize,
    random: Random,
    /// The ids of the processes that were killed.
    dead: Vec<u32>,
    /// How many orders of a certificate may be superfluous: it was being ordered when its host, or the
    /// server, was disturbed.
    excuses: BTreeMap<NamespacedName, usize>,
    kills: usize,
    stops: usize,
    server_stops: usize,
    /// How many locks of a host that stood still another one took.
    takeovers: usize,
    superfluous: usize,
}

impl Fleet {
    fn start(schema: &str, certificates: usize) -> Self {
        let server = Server::start();
        server.state(schema);
        let resolver = Resolver::names(BTreeMap::new());
        let options = CaOptions::new(Arc::new(|| SystemClock.now()), resolver);
        options.faults.add(Rule::always(Fault::BornAs(AuthorizationState::Valid)));
        // As one that is not on this machine.
        options.faults.add(Rule::always(Fault::Delay(Duration::from_millis(10))));
        let ca = CaThread::start(options).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (root, port) = server.identity();
        let place = |host: usize| Place {
            root: root.to_owned(),
            port,
            schema: schema.to_owned(),
            directory_url: ca.directory_url(),
            ca_root: ca.root_pem(),
            state: folder.path().join(format!("state-{host}")),
            slept: folder.path().join(format!("slept-{host}")),
            end: folder.path().join(format!("end-{host}")),
            certificates,
            renews: false,
        };
        let places: Vec<_> = (0..HOSTS).map(place).collect();
        let store = Postgres::open(places[0].settings());
        Self {
            hosts: Vec::new(),
            places,
            slept: [0; HOSTS],
            server,
            ca,
            folder,
            store,
            certificates,
            random: Random(63),
            dead: Vec::new(),
            excuses: BTreeMap::new(),
            kills: 0,
            stops: 0,
            server_stops: 0,
            takeovers: 0,
            superfluous: 0,
        }
    }

    fn start_all(&mut self, renews: [bool; HOSTS]) {
        self.hosts.clear();
        for (host, renews) in renews.into_iter().enumerate() {
            self.places[host].renews = renews;
            drop(fs::remove_file(&self.places[host].end));
            let process = self.spawn(host);
            self.hosts.push(process);
        }
    }

    fn spawn(&self, host: usize) -> Process {
        let file = self.folder.path().join(format!("place-{host}"));
        put(&file, &serde_json::to_vec(&self.places[host]).unwrap());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(only(concat!(module_path!(), "::host"), "a_host")).arg("--nocapture");
        let errors = File::options().create(true).append(true).open(self.errors(host)).unwrap();
        command.env(PLACE, file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        Process { child: command.spawn().unwrap() }
    }

    /// What a host wrote of its failures.
    fn errors(&self, host: usize) -> PathBuf {
        self.folder.path().join(format!("errors-{host}"))
    }

    fn last_errors(&self, host: usize) -> String {
        let errors = fs::read_to_string(self.errors(host)).unwrap();
        errors.lines().rev().take(20).collect::<Vec<_>>().join("\n")
    }

    /// Waits, while the locks of the dead run out and the others live.
    #[track_caller]
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        until(what, || {
            for host in 0..self.hosts.len() {
                if let Some(status) = self.hosts[host].child.try_wait().unwrap() {
                    panic!("host {host} ended: {status}\n{}", self.last_errors(host));
                }
            }
            self.expire_the_dead();
            is_so(self)
        });
    }

    /// The hosts end when nothing is due.
    #[track_caller]
    fn end(&mut self, host: usize) {
        put(&self.places[host].end, b"");
        until(&format!("host {host} ends"), || {
            self.expire_the_dead();
            let status = self.hosts[host].child.try_wait().unwrap();
            status.is_some_and(|status| {
                assert!(status.success(), "{}", self.last_errors(host));
                true
            })
        });
    }

    /// Waits until so many are issued, and then for a moment that is random, or for an order before its
    /// URL is stored. Returns a host: mostly the one that works on more.
    fn await_work(&mut self, issued: usize) -> usize {
        let all = self.certificates;
        self.until("they are issued", |fleet| fleet.ca.issued() >= issued);
        let (more, is_any) = (self.random.below(12), self.random.below(4) == 0);
        let busiest = usize::from(self.held(1).len() > self.held(0).len());
        let host = if is_any { 1 - busiest } else { busiest };
        let (orders, requests) = (self.ca.created(RequestKind::NewOrder), self.ca.requests());
        if self.random.below(3) == 0 {
            self.until("requests", |it| {
                it.ca.requests() >= requests + more || it.ca.issued() >= all
            });
            return host;
        }
        let mut left = Duration::from_secs(30);
        while self.ca.created(RequestKind::NewOrder) == orders && self.ca.issued() < all {
            assert!(!left.is_zero(), "no new order");
            thread::park_timeout(MOMENT);
            left = left.saturating_sub(MOMENT);
        }
        host
    }

    fn kill_one(&mut self, host: usize) {
        self.hosts[host].stop();
        self.excuse(Some(host));
        let mut process = self.hosts.remove(host);
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        self.dead.push(process.child.id());
        let again = self.spawn(host);
        self.hosts.insert(host, again);
        self.kills += 1;
    }

    fn stop_one(&mut self, host: usize) {
        self.hosts[host].stop();
        self.excuse(Some(host));
        let held = self.held(host);
        self.sleep(host);
        let (requests, all) = (self.ca.requests(), self.certificates);
        let taken = |fleet: &Self| held.difference(&fleet.held(host)).count();
        self.until("the other one works", |fleet| {
            let works = fleet.ca.requests() >= requests + 15;
            works && (held.is_empty() || taken(fleet) > 0) || fleet.ca.issued() >= all
        });
        self.takeovers += taken(self);
        self.hosts[host].go_on();
        self.stops += 1;
    }

    fn stop_server(&mut self, kills: bool) {
        if kills {
            self.server.kill();
        } else {
            self.server.stop();
        }
        let length = |fleet: &Self, host| fs::metadata(fleet.errors(host)).unwrap().len();
        let lengths = [0, 1].map(|host| length(self, host));
        self.until("both have met it", |fleet| {
            (0..HOSTS).all(|host| length(fleet, host) > lengths[host])
        });
        self.hosts.iter().for_each(Process::stop);
        if kills {
            self.server.start_again();
        } else {
            self.server.go_on();
        }
        self.excuse(None);
        // A lock that could not be given back blocks its certificate until it has run out.
        (0..HOSTS).for_each(|host| self.sleep(host));
        self.hosts.iter().for_each(Process::go_on);
        self.server_stops += 1;
    }

    /// Notes what is being ordered: by a host, or by any.
    fn excuse(&mut self, host: Option<usize>) {
        let held = host.map(|host| self.held(host));
        for number in 0..self.certificates {
            let name = name(number);
            let lock = format!("certificate {} {}", name.namespace, name.name);
            if held.as_ref().is_none_or(|held| held.contains(&lock)) && self.is_creating(&name) {
                *self.excuses.entry(name).or_default() += 1;
            }
        }
    }

    fn is_creating(&self, name: &NamespacedName) -> bool {
        let orders =
            Self::read(async || CertificateDocument::read(&self.store, name).await?.orders().await);
        let is_creating = |order: &certctl::resource::Order| order.phase == OrderPhase::Creating;
        orders.into_iter().any(|(_, order)| is_creating(&order.unwrap()))
    }

    /// The locks of certificates that a host holds, also those that have run out.
    fn held(&self, host: usize) -> BTreeSet<String> {
        let process = self.hosts[host].child.id();
        let sql = format!(
            "SELECT lock FROM leases WHERE lock LIKE 'certificate %' \
             AND owner LIKE 'process {process} of %' AND until <> '-infinity'"
        );
        Self::read(async || self.store.texts(&sql).await).into_iter().collect()
    }

    /// What a look that is repeated while the server begins to answer finds.
    fn read<T>(look: impl AsyncFn() -> Result<T, certctl::store::StoreError>) -> T {
        let mut found = None;
        until("the database answers", || {
            found = block_on(look()).ok();
            found.is_some()
        });
        found.unwrap()
    }

    /// A host that stands still does so for longer than its leases last, without that the test takes as
    /// long: they run out in the database, and by the clock of the host.
    fn sleep(&mut self, host: usize) {
        let by = i64::try_from((LASTING + MARGIN).as_millis()).unwrap() + 1000;
        self.slept[host] += by;
        put(&self.places[host].slept, self.slept[host].to_string().as_bytes());
        let process = self.hosts[host].child.id();
        let sql = format!(
            "UPDATE leases SET until = until - {by} * interval '1 ms' \
             WHERE owner LIKE 'process {process} of %' AND until > now()"
        );
        Self::read(async || self.store.run(&sql).await);
    }

    /// Also what the sessions of the dead have got since.
    fn expire_the_dead(&self) {
        for process in &self.dead {
            let sql = format!(
                "UPDATE leases SET until = '-infinity' \
                               WHERE owner LIKE 'process {process} of %' AND until > now()"
            );
            // The next look does it where the server is stopped.
            drop(block_on(self.store.run(&sql)));
        }
    }

    fn figures(&self) -> String {
        let Self { certificates, kills, stops, server_stops, takeovers, superfluous, .. } = self;
        let orders = self.ca.created(RequestKind::NewOrder);
        let finalized =
            self.ca.log().iter().filter(|one| one.kind == RequestKind::Finalize).count();
        let accounts = self.ca.created(RequestKind::NewAccount);
        let excuses: usize = self.excuses.values().sum();
        let epochs = Self::read(async || {
            self.store
                .texts("SELECT sum(epoch)::text FROM leases WHERE lock LIKE 'certificate %'")
                .await
        });
        format!(
            "{certificates} certificates, {kills} kills, {stops} stops ({takeovers} locks taken over), \
             {server_stops} stops of the server; the CA has {orders} orders ({superfluous} \
             superfluous in this round, {excuses} excused), \
             {finalized} finalizations, {} certificates, {accounts} accounts, {} requests; locks were \
             taken {} times",
            self.ca.issued(),
            self.ca.requests(),
            epochs[0],
        )
    }
}

/// Shorter than a host needs to write a URL.
const MOMENT: Duration = Duration::from_micros(100);
