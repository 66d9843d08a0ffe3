//! Promise: after a power loss at any point the next run ends as if nothing had happened: no key,
//! pair or document that a run has relied on is lost, and no order is made but the one whose URL
//! could not be stored yet.
//!
//! `strace` records a run of the binary from outside; [`disk`] says which states the disk may show
//! after a cut before any of its calls; each is put into the folder, with the CA as it was at that
//! moment, and the next run opens it. `tests/run --all` looks at many more states of each cut.

mod disk;
mod trace;

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use certctl::rehearsal::{Moment, RequestKind};
use certctl::resource::{ConditionType, Order};
use jiff::Timestamp;

use crate::random::Random;
use crate::support::{CertificateYaml, Entry, Run, World};
use disk::{Disk, Tree, Ways, put, taken};
use trace::{Call, record};

/// A world, what is on its disk before the run, and the run.
struct Scene {
    world: World,
    base: Tree,
    words: &'static [&'static str],
    /// The revision that is live in the end.
    revision: u32,
    /// How many orders that takes.
    orders: usize,
    /// What the next run makes of a cut.
    then: fn(&Scene, &Cut),
    /// What is on the disk after a run without a cut.
    end: Tree,
}

/// A power loss, as the run that comes after it finds it.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// How many orders there must be from now on, at most.
    orders: usize,
    /// Whether the run had ended well.
    is_over: bool,
}

impl Scene {
    /// Nothing was ever issued.
    fn first_issuance() -> Self {
        Self::of(World::prepared(&[CertificateYaml::new("web")]), &["issue"], 1)
    }

    /// A pair is live and used in a folder, and its Certificate was edited since.
    fn edited() -> Self {
        let world = World::start();
        let web = deployed_to(&world);
        world.prepare(std::slice::from_ref(&web));
        world.issue().ends_in(0);
        world.write("config/web.yaml", &web.for_names(&["web.example.test", "www.example.test"]));
        Self::of(world, &["issue"], 2)
    }

    /// Revision 2 is live, and is requested in other formats.
    fn rewritten() -> Self {
        let world = renewed();
        let stores = "additionalOutputFormats: [{type: DER}]\n  \
                      keystores:\n    pkcs12: {create: true, password: changeit}";
        world.write("config/web.yaml", &CertificateYaml::new("web").field(stores));
        Self { orders: 0, then: written_again, ..Self::of(world, &["issue"], 2) }
    }

    /// Revision 2 is live, and the one before is requested back.
    fn rolled_back() -> Self {
        Self { orders: 0, then: stepped_back, ..Self::of(renewed(), &["rollback", "web"], 1) }
    }

    /// Revision 2 is live, and revision 1 is still in the folder where it is used.
    fn undeployed() -> Self {
        let world = World::start();
        let web = deployed_to(&world);
        world.prepare(std::slice::from_ref(&web));
        world.issue().ends_in(0);
        world.write("config/web.yaml", &CertificateYaml::new("web"));
        world.run(&["renew", "web"]).ends_in(0);
        world.write("config/web.yaml", &web);
        Self { orders: 0, then: deployed, ..Self::of(world, &["deploy", "web"], 2) }
    }

    fn of(world: World, words: &'static [&'static str], revision: u32) -> Self {
        let base = taken(&world);
        Self { world, base, words, revision, orders: 1, then: issued, end: Tree::new() }
    }

    fn made(&self, kind: RequestKind) -> usize {
        self.world.ca.created(kind)
    }

    /// What servers open is a pair, in the state and where it is used.
    fn check_live(&self) {
        for folder in ["state/secrets/default/web-tls", "out"] {
            let link = self.world.path(folder).join("..data");
            if !self.base.contains_key(&link) {
                continue;
            }
            let read = |name: &str| {
                let path = self.world.path(folder).join(name);
                fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
            };
            let leaf = certctl::pki::leaf_facts(&read("tls.crt")).unwrap();
            let key = certctl::pki::key_facts(&read("tls.key")).unwrap();
            assert_eq!(key.public_key, leaf.public_key, "{folder}");
        }
    }

    /// The next run, and what it must leave whatever was going on.
    fn check_next_run(&self) {
        self.world.issue().ends_in(0);
        self.check_live();
        let state = self.world.state();
        let record = state.record("web");
        assert_eq!(record.issued_fingerprint, Some(state.published("web").fingerprint));
        assert_eq!(record.status.failed_issuance_attempts, None);
        assert_eq!(record.status.condition(ConditionType::Issuing), None);
        assert_eq!(state.tokens(), Vec::<PathBuf>::new());
        assert!(!state.orders("web").iter().any(Order::owes_clean_up));
        assert!(state.issuances() >= usize::try_from(self.revision).unwrap(), "issuance.log");
        for path in taken(&self.world).keys() {
            let path = path.to_str().unwrap();
            let is_left = ["/.tmp-", "next-private-key", "/in-flight", "/.certctl-"];
            assert!(!is_left.iter().any(|name| path.contains(name)), "{path}");
        }
        self.world.issue().says_nothing();
    }
}

fn deployed_to(world: &World) -> CertificateYaml {
    let out = world.path("out").display().to_string();
    CertificateYaml::new("web").annotation("certctl/output-dir", &out)
}

fn renewed() -> World {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world.run(&["renew", "web"]).ends_in(0);
    world
}

fn issued(scene: &Scene, cut: &Cut) {
    let (orders, accounts) =
        (scene.made(RequestKind::NewOrder), scene.made(RequestKind::NewAccount));
    scene.check_next_run();
    let made = scene.made(RequestKind::NewOrder) - orders;
    assert!(made <= cut.orders, "{made} orders, at most {} were to be made", cut.orders);
    assert!(scene.made(RequestKind::NewAccount) - accounts <= 1);
    let state = scene.world.state();
    assert_eq!(state.record("web").status.revision, Some(scene.revision));
    let names = usize::try_from(scene.revision).unwrap();
    assert_eq!(state.published("web").dns_names.len(), names);
}

/// The live pair in its new formats, and the revision before.
fn written_again(scene: &Scene, cut: &Cut) {
    issued_nothing(scene, cut);
    let folder = scene.world.path("state/secrets/default/web-tls");
    for name in ["key.der", "keystore.p12", "..revision-1-0/tls.key"] {
        assert!(folder.join(name).exists(), "{name}");
    }
    assert_eq!(scene.world.state().record("web").status.revision, Some(2));
}

fn issued_nothing(scene: &Scene, cut: &Cut) {
    let orders = scene.made(RequestKind::NewOrder);
    scene.check_next_run();
    assert_eq!((scene.made(RequestKind::NewOrder), cut.orders), (orders, 0));
}

/// The step was taken, or the next run knows nothing of it.
fn stepped_back(scene: &Scene, cut: &Cut) {
    issued_nothing(scene, cut);
    let state = scene.world.state();
    let record = state.record("web");
    assert!(record.rollback.iter().all(|asked| !asked.is_owed()));
    let revision = record.status.revision;
    assert!(revision == Some(1) || (revision == Some(2) && !cut.is_over), "{revision:?}");
    assert!(record.rollback.is_some() == (revision == Some(1)));
    scene.world.run(&["rollback", "web", "--to", "1"]).ends_in(0);
    assert_eq!(state.record("web").status.revision, Some(1));
}

/// The pair is where it is used.
fn deployed(scene: &Scene, cut: &Cut) {
    issued_nothing(scene, cut);
    for name in ["tls.crt", "tls.key"] {
        let read = |folder: &str| fs::read(scene.world.path(folder).join(name)).unwrap();
        assert_eq!(read("out"), read("state/secrets/default/web-tls"), "{name}");
    }
}

/// A recorded run, and the CA in its course.
struct Recorded {
    calls: Vec<Call>,
    moments: Vec<Moment>,
    ended: Run,
}

impl Recorded {
    fn of(scene: &Scene) -> Self {
        scene.world.ca.note_moments();
        let (ended, calls) = record(&scene.world, scene.words);
        Self { calls, moments: scene.world.ca.moments(), ended }
    }

    /// The CA as it may have been between two calls: as the later one found it.
    fn moment_before(&self, time: Option<Timestamp>) -> usize {
        let is_before = |moment: &Moment| time.is_none_or(|time| moment.time < time);
        self.moments.iter().rposition(is_before).unwrap_or(0)
    }

    fn cut(&self, scene: &Scene, moment: usize, is_over: bool) -> Cut {
        let answered: Vec<RequestKind> =
            self.moments[..=moment].iter().filter_map(|moment| moment.answered).collect();
        let ordered = answered.iter().rposition(|kind| *kind == RequestKind::NewOrder);
        let goes_on = ordered
            .is_some_and(|at| answered[at + 1..].iter().any(|kind| *kind != RequestKind::NewNonce));
        // What comes after an order relies on its URL, which so was stored.
        Cut { orders: if goes_on { 0 } else { scene.orders }, is_over }
    }

    /// The CA at a moment; a validation that was under way ends while the power is off.
    fn put_back(&self, scene: &Scene, moment: usize) {
        let later = &self.moments[moment..];
        let settled = later.iter().find(|moment| !moment.is_validating());
        scene.world.ca.go_back(settled.unwrap_or(&later[0]));
    }
}

/// How much is looked at.
#[derive(Clone, Copy)]
struct Bound {
    /// Beyond this many states of a cut, they are drawn.
    states: usize,
    /// How many of all states are looked at, evenly spread.
    looks: usize,
    /// How many of them are cut again.
    seconds: usize,
}

impl Bound {
    fn here() -> Self {
        match std::env::var_os("CERTCTL_ALL_POWER_LOSSES") {
            Some(_) => Self { states: 512, looks: 10_000, seconds: 10 },
            None => Self { states: 16, looks: 32, seconds: 1 },
        }
    }
}

/// Every state of every cut, each once.
fn sweep(scene: fn() -> Scene) {
    assert!(trace::is_there(), "strace is missing; tests/run installs it");
    let (mut scene, bound) = (scene(), Bound::here());
    let recorded = Recorded::of(&scene);
    scene.end = taken(&scene.world);
    let states = states(&scene, &scene.base, &recorded, bound);
    let calls = recorded.calls.len();
    say(&format!("{:?}: {calls} calls, {} states", scene.words, states.len()));
    let mut disk = Replay::new(&scene, &scene.base, &recorded);
    let every = states.len().div_ceil(bound.looks);
    let mut random = Random(1);
    let seconds: HashSet<usize> = (0..bound.seconds).map(|_| random.below(states.len())).collect();
    let (mut tried, mut twice) = (0, 0);
    for (number, state) in states.iter().enumerate() {
        let (is_tried, is_cut_again) = (number % every == 0, seconds.contains(&number));
        if !is_tried && !is_cut_again {
            continue;
        }
        let tree = disk.tree(state);
        if is_tried {
            look(&scene, &recorded, state, &tree);
            tried += 1;
            if tried % LOOKS_PER_LINE == 0 {
                say(&format!("{:?}: {tried} tried, up to state {number}", scene.words));
            }
        }
        if is_cut_again {
            twice += cut_again(&scene, &recorded, state, &tree, bound);
        }
    }
    say(&format!("{:?}: {tried} tried, {twice} after two cuts", scene.words));
}

/// Prints a line where the harness holds nothing back: a long sweep says how far it is.
fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// After how many looks a sweep says how far it is.
const LOOKS_PER_LINE: usize = 1000;

/// A state of the disk after a cut, to be laid out when it is looked at: all of them, laid out, are
/// many gigabytes.
struct Found {
    cut: Cut,
    /// What the CA was like, of [`Recorded::moments`].
    moment: usize,
    /// After how many calls.
    calls: usize,
    ways: Ways,
}

/// The disk in the course of a run.
struct Replay<'a> {
    disk: Disk,
    calls: std::slice::Iter<'a, Call>,
    done: usize,
}

impl<'a> Replay<'a> {
    fn new(scene: &Scene, base: &Tree, recorded: &'a Recorded) -> Self {
        let disk = Disk::new(&scene.world.path(""), base);
        Self { disk, calls: recorded.calls.iter(), done: 0 }
    }

    /// The disk after that many calls, at least as many as before.
    fn after(&mut self, calls: usize) -> &Disk {
        assert!(calls >= self.done, "{calls} calls, after {}", self.done);
        for call in self.calls.by_ref().take(calls - self.done) {
            self.disk.apply(&call.change);
        }
        self.done = calls;
        &self.disk
    }

    fn tree(&mut self, found: &Found) -> Tree {
        self.after(found.calls).tree(&found.ways)
    }
}

/// Each state of the disk between two calls of a run, in their order.
fn states(scene: &Scene, base: &Tree, recorded: &Recorded, bound: Bound) -> Vec<Found> {
    let mut disk = Replay::new(scene, base, recorded);
    let (mut seen, mut states) = (HashSet::new(), Vec::new());
    for number in 0..=recorded.calls.len() {
        let disk = disk.after(number);
        let next = recorded.calls.get(number).map(|call| call.time);
        let moment = recorded.moment_before(next);
        let is_over = next.is_none() && recorded.ended.code == Some(0);
        let cut = recorded.cut(scene, moment, is_over);
        let cut = if is_over { Cut { orders: 0, ..cut } } else { cut };
        for (ways, digest) in disk.states(bound.states, u64::try_from(number).unwrap()) {
            if seen.insert((cut.orders, moment, digest)) {
                states.push(Found { cut, moment, calls: number, ways });
            }
        }
    }
    states
}

/// The next run, after one cut.
fn look(scene: &Scene, recorded: &Recorded, found: &Found, state: &Tree) {
    let answered = recorded.moments[found.moment].answered;
    let blame = Blame { scene, cut: found.cut, answered, state };
    put(&scene.world.path(""), state);
    recorded.put_back(scene, found.moment);
    scene.check_live();
    (scene.then)(scene, &found.cut);
    drop(blame);
}

/// The run after one cut is cut, too.
fn cut_again(
    scene: &Scene,
    recorded: &Recorded,
    found: &Found,
    state: &Tree,
    bound: Bound,
) -> usize {
    put(&scene.world.path(""), state);
    recorded.put_back(scene, found.moment);
    // The first run that comes after a cut is always that of cron.
    let words: &[&str] = &["issue"];
    scene.world.ca.note_moments();
    let (ended, calls) = record(&scene.world, words);
    let second = Recorded { calls, moments: scene.world.ca.moments(), ended };
    let mut states = states(scene, state, &second, bound);
    let mut disk = Replay::new(scene, state, &second);
    let mut random = Random(2);
    let picked = (0..SECONDS_EACH).map(|_| random.below(states.len()));
    // In the order of the calls.
    let picked: BTreeSet<usize> = picked.collect();
    for number in &picked {
        let again = &mut states[*number];
        let orders = again.cut.orders.min(found.cut.orders);
        again.cut = Cut { orders, is_over: found.cut.is_over };
        let tree = disk.tree(again);
        look(scene, &second, again, &tree);
    }
    picked.len()
}

/// How many states of a second cut are looked at.
const SECONDS_EACH: usize = 12;

/// Says what was on the disk when a test failed.
struct Blame<'a> {
    scene: &'a Scene,
    cut: Cut,
    answered: Option<RequestKind>,
    state: &'a Tree,
}

impl Drop for Blame<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let Self { scene, cut, answered, state } = self;
        let mut told = format!("{:?}, {cut:?}, the CA last answered {answered:?}:\n", scene.words);
        for (path, entry) in *state {
            let path = path.strip_prefix(scene.world.path("")).unwrap().display();
            let line = match entry {
                Entry::Folder(mode) => format!("{path}/ {mode:o}"),
                Entry::Link(target) => format!("{path} -> {}", target.display()),
                Entry::File(mode, bytes) => {
                    let was = scene.base.get(&scene.world.path("").join(path.to_string()));
                    let is_new = if was == Some(entry) { "" } else { ", new" };
                    let is_torn = if bytes.contains(&0) { ", zeros" } else { "" };
                    format!("{path} {mode:o}, {} bytes{is_new}{is_torn}", bytes.len())
                }
            };
            told.extend(["  ", &line, "\n"]);
        }
        drop(std::io::stderr().write_all(told.as_bytes()));
    }
}

#[test]
fn a_power_loss_in_a_first_issuance_loses_nothing() {
    sweep(Scene::first_issuance);
}

#[test]
fn a_power_loss_in_a_renewal_loses_nothing() {
    sweep(Scene::edited);
}

#[test]
fn a_power_loss_while_other_formats_are_written_loses_nothing() {
    sweep(Scene::rewritten);
}

#[test]
fn a_power_loss_in_a_rollback_loses_nothing() {
    sweep(Scene::rolled_back);
}

#[test]
fn a_power_loss_in_a_deployment_loses_nothing() {
    sweep(Scene::undeployed);
}
