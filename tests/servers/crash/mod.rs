//! Promise: whatever call on the state directory a run is killed at, and whichever of them fails,
//! the next run ends as if nothing had happened.
//!
//! Drives the binary under `strace`, which kills it, or lets a call fail, at every call that
//! changes something below the state directory.

mod trace;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use certctl::rehearsal::RequestKind;
use certctl::resource::{Challenge, ConditionType, Order, Phase};

use crate::support::{CertificateYaml, Entry, Run, State, World};
use trace::{Point, fail_at, kill_at, opened, record};

const REGISTER: &[&str] = &["account", "register", "ca"];
const DEACTIVATE: &[&str] = &["account", "deactivate", "ca", "--yes"];

/// A world whose state is put back before each run.
struct Scene {
    world: World,
    base: BTreeMap<PathBuf, Entry>,
    /// The revision that every run ends with.
    revision: u32,
    /// What is run.
    words: &'static [&'static str],
}

impl Scene {
    /// Nothing was ever issued.
    fn first_issuance() -> Self {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        Self { world, base: BTreeMap::new(), revision: 1, words: &["issue"] }
    }

    /// Nothing was ever issued, and the name is proven on port 443.
    fn first_over_tls() -> Self {
        let web = CertificateYaml::new("web").annotation("certctl/solver", "tls-alpn-01");
        Self { world: World::prepared(&[web]), ..Self::first_issuance() }
    }

    /// A pair is live, and its Certificate was edited since.
    fn edited() -> Self {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.issue().ends_in(0);
        let base = world.state().everything();
        let names = ["web.example.test", "www.example.test"];
        world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&names));
        Self { world, base, revision: 2, words: &["issue"] }
    }

    /// A second pair is live, and the first is wanted back.
    fn renewed() -> Self {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.issue().ends_in(0);
        world.run(&["renew", "web"]).ends_in(0);
        let base = world.state().everything();
        Self { world, base, revision: 1, words: &["rollback", "web"] }
    }

    /// The second pair is live, and its state came back without links.
    fn without_links() -> Self {
        let mut scene = Self { words: &["issue"], ..Self::renewed() };
        scene.base.retain(|_, entry| !matches!(entry, Entry::Link(_)));
        scene.revision = 2;
        scene.put_back();
        scene
    }

    /// The same, with the files that the links led to in their place.
    fn followed_links() -> Self {
        let mut scene = Self { words: &["issue"], revision: 2, ..Self::renewed() };
        let folder = scene.world.path("state/secrets/default/web-tls");
        let of = |name: &str, base: &BTreeMap<PathBuf, Entry>| {
            base.iter()
                .filter(|(path, _)| path.starts_with(folder.join("..revision-2-0")))
                .map(|(path, entry)| {
                    let below = path.strip_prefix(folder.join("..revision-2-0")).unwrap();
                    (folder.join(name).join(below), entry.clone())
                })
                .collect::<Vec<_>>()
        };
        let copies: Vec<_> = of("..data", &scene.base)
            .into_iter()
            .map(|(path, entry)| (path.components().collect::<PathBuf>(), entry))
            .collect();
        let named = of("", &scene.base).into_iter().filter(|(path, entry)| {
            matches!(entry, Entry::File(..)) && !path.ends_with("metadata.json")
        });
        let named: Vec<_> = named.collect();
        scene.base.extend(copies);
        scene.base.extend(named);
        scene.put_back();
        scene
    }

    /// A pair is live, and its Certificate names a place for it since.
    fn undeployed() -> Self {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.issue().ends_in(0);
        let base = world.state().everything();
        std::fs::create_dir(world.path("out")).unwrap();
        let out = world.path("out").display().to_string();
        let web = CertificateYaml::new("web").annotation("certctl/output-dir", &out);
        world.write("config/web.yaml", &web);
        Self { world, base, revision: 1, words: &["deploy", "web"] }
    }

    /// A pair is live, and is to be revoked for good.
    fn issued() -> Self {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.issue().ends_in(0);
        let base = world.state().everything();
        Self { world, base, revision: 1, words: &["revoke", "web", "--no-issue", "--yes"] }
    }

    /// There is no account yet.
    fn unregistered() -> Self {
        Self { words: REGISTER, ..Self::first_issuance() }
    }

    /// There is an account, and nothing else.
    fn registered() -> Self {
        let scene = Self { words: DEACTIVATE, ..Self::first_issuance() };
        scene.world.run(REGISTER).ends_in(0);
        scene
    }

    fn put_back(&self) {
        let state = self.world.path("state");
        if state.exists() {
            std::fs::remove_dir_all(&state).unwrap();
        }
        let out = self.world.path("out");
        if out.exists() {
            std::fs::remove_dir_all(&out).unwrap();
            std::fs::create_dir(&out).unwrap();
        }
        // A folder comes before what is in it.
        for (path, entry) in &self.base {
            match entry {
                Entry::Folder(mode) => {
                    std::fs::create_dir(path).unwrap();
                    std::fs::set_permissions(path, PermissionsExt::from_mode(*mode)).unwrap();
                }
                Entry::File(mode, bytes) => {
                    File::create(path).unwrap().write_all(bytes).unwrap();
                    std::fs::set_permissions(path, PermissionsExt::from_mode(*mode)).unwrap();
                }
                Entry::Link(target) => symlink(target, path).unwrap(),
            }
        }
    }

    fn made(&self, kind: RequestKind) -> usize {
        self.world.ca.created(kind)
    }

    /// What was live before is there, byte by byte, and what is live is a pair.
    fn check_live(&self) {
        let live = self.world.state().pair("web-tls");
        assert!(live.is_some() || self.base.is_empty(), "nothing is live any more");
        let now = self.world.state().everything();
        let old = self.base.iter().filter(|(path, _)| path.to_str().unwrap().contains("..rev"));
        for (path, entry) in old {
            assert_eq!(now.get(path), Some(entry), "{}", path.display());
        }
    }

    /// One clean run, and then everything is as it is without any error.
    fn check_next_run(&self) {
        self.world.issue().ends_in(0);
        let state = self.world.state();
        let record = state.record("web");
        assert_eq!(record.status.revision, Some(self.revision));
        assert_eq!(record.status.failed_issuance_attempts, None);
        assert_eq!(record.status.condition(ConditionType::Issuing), None);
        let names = usize::try_from(self.revision).unwrap();
        assert_eq!(state.published("web").dns_names.len(), names);
        assert_eq!(state.tokens(), Vec::<PathBuf>::new());
        assert!(state.orders("web").iter().all(|order| !order.owes_clean_up()));
        for path in state.everything().keys() {
            let path = path.to_str().unwrap();
            let is_left = [".tmp-", "next-private-key", "/in-flight"];
            assert!(!is_left.iter().any(|name| path.contains(name)), "{path}");
        }
        self.world.issue().says_nothing();
    }
}

/// Does something at every point, in as many worlds side by side as there are processors. `at`
/// says whether the point was met: the runtime's own calls shift the numbers now and then, so the
/// call before a point that was missed is tried.
fn sweep(scene: fn() -> Scene, least: usize, at: fn(&Scene, &Point) -> bool) {
    let first = scene();
    let points = record(&first.world, first.words);
    assert!(points.len() > least, "{} points", points.len());
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = |scene: Scene| {
        while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            let _blame = Blame(point);
            let met = (0..3).any(|fewer| {
                scene.put_back();
                let number = point.number.saturating_sub(fewer).max(1);
                at(&scene, &Point { number, ..point.clone() })
            });
            if !met {
                missed.lock().unwrap().push(point);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| work(scene()));
        }
        work(first);
    });
    let missed = missed.into_inner().unwrap();
    assert!(
        missed.len() * 20 < points.len(),
        "of {} points these were missed: {missed:#?}",
        points.len()
    );
}

/// Says where a test failed.
struct Blame<'a>(&'a Point);

impl Drop for Blame<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Point { call, number, line } = self.0;
            drop(writeln!(std::io::stderr(), "at {call} number {number}: {line}"));
        }
    }
}

fn killed(scene: &Scene, point: &Point) -> bool {
    let (orders, accounts) =
        (scene.made(RequestKind::NewOrder), scene.made(RequestKind::NewAccount));
    let run = kill_at(&scene.world, scene.words, point);
    scene.check_live();
    let known = scene.world.state().orders("web");
    let is_new = |order: &&Order| order.spec.revision == scene.revision && order.url().is_some();
    let made = scene.made(RequestKind::NewOrder) - orders;
    let unknown = made.saturating_sub(known.iter().filter(is_new).count());
    // The CA may validate after the response was removed.
    let is_told = |c: &Challenge| matches!(c.phase(), Some(Phase::Accepting | Phase::Accepted));
    let told = known.iter().any(|order| order.challenges.iter().any(is_told));
    scene.check_next_run();
    let made = scene.made(RequestKind::NewOrder) - orders;
    assert!(made == 1 + unknown || (told && made == 2), "{made} orders, {unknown} unknown");
    assert!(scene.made(RequestKind::NewAccount) - accounts <= 1, "accounts");
    run.code.is_none()
}

fn failed(scene: &Scene, point: &Point) -> bool {
    let is_full = matches!(point.call.as_str(), "openat" | "write" | "pwrite64" | "mkdirat");
    let run = fail_at(&scene.world, scene.words, point, if is_full { "ENOSPC" } else { "EIO" });
    scene.check_live();
    // Presenting is tried again, and a clean-up is left to the next run; all else ends this one.
    let went_on = run.code == Some(0);
    assert!(!went_on || scene.world.state().published("web").dns_names.len() == 2);
    scene.check_next_run();
    // A write to the runtime's own event counter, which never fails but here.
    let missed = run.stderr.contains("failed to wake I/O driver");
    assert!(went_on || missed || run.code == Some(7), "{run:?}");
    !missed
}

/// As signals, FUSE and NFS do.
fn interrupted(scene: &Scene, point: &Point) -> bool {
    let run = fail_at(&scene.world, scene.words, point, "EINTR");
    scene.check_live();
    // A write to the runtime's own event counter, as above.
    let missed = run.stderr.contains("failed to wake I/O driver");
    assert!(missed || run.code == Some(0), "{run:?}");
    !missed
}

/// Whatever a step back has come to, the next run finishes it or knows nothing of it, and orders
/// nothing.
fn stepped_back(scene: &Scene, run: &Run) -> bool {
    scene.check_live();
    let (world, state) = (&scene.world, scene.world.state());
    let orders = scene.made(RequestKind::NewOrder);
    world.issue().ends_in(0);
    let record = state.record("web");
    let live = state.published("web").fingerprint;
    assert_eq!(record.issued_fingerprint, Some(live.clone()));
    assert!(record.rollback.iter().all(|asked| !asked.is_owed()));
    let is_back = record.rollback.is_some_and(|asked| asked.fingerprint == live);
    assert_eq!(record.status.revision, Some(if is_back { 1 } else { 2 }));
    assert!(is_back || run.code != Some(0), "{run:?}");
    world.issue().says_nothing();
    world.run(&["rollback", "web", "--to", "1"]).ends_in(0);
    assert_eq!(state.record("web").status.revision, Some(scene.revision));
    assert!(state.published("web").fingerprint != live || is_back);
    world.issue().says_nothing();
    assert_eq!(scene.made(RequestKind::NewOrder), orders);
    true
}

fn killed_on_the_way_back(scene: &Scene, point: &Point) -> bool {
    let run = kill_at(&scene.world, scene.words, point);
    stepped_back(scene, &run) && run.code.is_none()
}

fn failed_on_the_way_back(scene: &Scene, point: &Point) -> bool {
    let run = fail_at(&scene.world, scene.words, point, "EIO");
    stepped_back(scene, &run) && !run.stderr.contains("failed to wake I/O driver")
}

/// Wherever the links were being put right, no set is lost, and the next run has them right
/// without an order.
fn links_restored(scene: &Scene) {
    let (world, state) = (&scene.world, scene.world.state());
    let sets = |all: BTreeMap<PathBuf, Entry>| -> BTreeMap<PathBuf, Entry> {
        let is_of_a_set = |path: &PathBuf| path.to_str().unwrap().contains("..revision-");
        all.into_iter().filter(|(path, _)| is_of_a_set(path)).collect()
    };
    let before = sets(scene.base.clone());
    let kept = || {
        let mut now = sets(state.everything());
        now.retain(|path, _| before.contains_key(path));
        now
    };
    assert_eq!(kept(), before);
    let orders = scene.made(RequestKind::NewOrder);
    world.issue().ends_in(0);
    assert_eq!(scene.made(RequestKind::NewOrder), orders);
    assert_eq!(kept(), before);
    let record = state.record("web");
    assert_eq!(record.status.revision, Some(scene.revision));
    assert_eq!(record.issued_fingerprint, Some(state.published("web").fingerprint));
    let folder = world.path("state/secrets/default/web-tls");
    for name in ["tls.crt", "tls.key"] {
        let target = std::fs::read_link(folder.join(name)).unwrap();
        assert_eq!(target, PathBuf::from("..data").join(name));
    }
    for path in state.everything().keys() {
        let path = path.to_str().unwrap();
        assert!(!path.contains(".tmp-") && !path.contains("..adopted"), "{path}");
    }
    world.issue().says_nothing();
}

fn killed_while_links_are_restored(scene: &Scene, point: &Point) -> bool {
    let run = kill_at(&scene.world, scene.words, point);
    links_restored(scene);
    run.code.is_none()
}

fn failed_while_links_are_restored(scene: &Scene, point: &Point) -> bool {
    let run = fail_at(&scene.world, scene.words, point, "EIO");
    links_restored(scene);
    !run.stderr.contains("failed to wake I/O driver")
}

/// A run that is killed at a point, and what the next ones make of that.
fn killed_then(scene: &Scene, point: &Point, next: fn(&Scene)) -> bool {
    let run = kill_at(&scene.world, scene.words, point);
    next(scene);
    run.code.is_none()
}

/// A run in which a call fails, and what the next ones make of that.
fn failed_then(scene: &Scene, point: &Point, next: fn(&Scene)) -> bool {
    let run = fail_at(&scene.world, scene.words, point, "EIO");
    next(scene);
    !run.stderr.contains("failed to wake I/O driver")
}

/// The next run brings the pair to its place, whole, and orders nothing.
fn deployed(scene: &Scene) {
    scene.check_live();
    let (world, state, orders) =
        (&scene.world, scene.world.state(), scene.made(RequestKind::NewOrder));
    world.issue().ends_in(0);
    let record = state.record("web");
    assert!(record.deployments.iter().all(|deployment| deployment.files.is_some()));
    assert_eq!(record.deployments.len(), 1);
    for name in ["tls.crt", "tls.key"] {
        let read = |folder: &str| std::fs::read(world.path(folder).join(name)).unwrap();
        assert_eq!(read("out"), read("state/secrets/default/web-tls"), "{name}");
    }
    assert_eq!(scene.made(RequestKind::NewOrder), orders);
    world.issue().says_nothing();
    world.run(scene.words).ends_in(0);
}

/// What was asked for is done by the next run; what was not, when it is asked for again.
fn revoked(scene: &Scene) {
    scene.check_live();
    let (world, state, orders) =
        (&scene.world, scene.world.state(), scene.made(RequestKind::NewOrder));
    world.issue().ends_in(0);
    let is_owed = |state: &State| {
        state.record("web").revocations.iter().any(certctl::resource::Revocation::is_owed)
    };
    assert!(!is_owed(&state), "the next run revokes what is owed");
    world.run(scene.words).ends_in(0);
    let revocations = state.record("web").revocations;
    assert_eq!(revocations.len(), 1);
    assert!(revocations.iter().all(|revocation| revocation.revoked_at.is_some()));
    let serials: Vec<_> =
        world.ca.revoked_serials().into_iter().map(|(serial, _)| serial).collect();
    assert_eq!(serials, [state.published("web").serial]);
    assert_eq!(scene.made(RequestKind::NewOrder), orders, "nothing is issued in its place");
}

/// The key that was sent to the CA is the one that is kept.
fn registered(scene: &Scene) {
    scene.world.run(REGISTER).ends_in(0);
    let accounts = scene.made(RequestKind::NewAccount);
    scene.world.issue().ends_in(0);
    assert_eq!(scene.made(RequestKind::NewAccount), accounts);
    scene.check_next_run();
}

/// A deactivation that was begun is finished when it is asked for again, and the next issuance
/// registers another account.
fn deactivated(scene: &Scene) {
    let again = scene.world.run(DEACTIVATE);
    let was_done = again.stderr.contains("no account is known");
    assert!(again.code == Some(if was_done { 3 } else { 0 }), "{again:?}");
    let accounts = scene.made(RequestKind::NewAccount);
    scene.check_next_run();
    assert_eq!(scene.made(RequestKind::NewAccount), accounts + 1);
}

#[test]
fn an_issuance_over_tls_killed_at_any_call() {
    sweep(Scene::first_over_tls, 20, killed);
}

#[test]
fn a_deployment_killed_at_any_call() {
    sweep(Scene::undeployed, 5, |scene, point| killed_then(scene, point, deployed));
}

#[test]
fn a_deployment_in_which_any_call_fails() {
    sweep(Scene::undeployed, 5, |scene, point| failed_then(scene, point, deployed));
}

#[test]
fn a_revocation_killed_at_any_call() {
    sweep(Scene::issued, 5, |scene, point| killed_then(scene, point, revoked));
}

#[test]
fn a_revocation_in_which_any_call_fails() {
    sweep(Scene::issued, 5, |scene, point| failed_then(scene, point, revoked));
}

#[test]
fn a_registration_killed_at_any_call() {
    sweep(Scene::unregistered, 5, |scene, point| killed_then(scene, point, registered));
}

#[test]
fn a_registration_in_which_any_call_fails() {
    sweep(Scene::unregistered, 5, |scene, point| failed_then(scene, point, registered));
}

#[test]
fn a_deactivation_killed_at_any_call() {
    sweep(Scene::registered, 5, |scene, point| {
        scene.world.run(REGISTER).ends_in(0);
        killed_then(scene, point, deactivated)
    });
}

#[test]
fn a_deactivation_in_which_any_call_fails() {
    sweep(Scene::registered, 5, |scene, point| {
        scene.world.run(REGISTER).ends_in(0);
        failed_then(scene, point, deactivated)
    });
}

#[test]
fn links_being_restored_killed_at_any_call() {
    sweep(Scene::without_links, 8, killed_while_links_are_restored);
    sweep(Scene::followed_links, 8, killed_while_links_are_restored);
}

#[test]
fn links_being_restored_while_any_call_fails() {
    sweep(Scene::without_links, 8, failed_while_links_are_restored);
    sweep(Scene::followed_links, 8, failed_while_links_are_restored);
}

#[test]
fn a_step_back_killed_at_any_call() {
    sweep(Scene::renewed, 10, killed_on_the_way_back);
}

#[test]
fn a_step_back_in_which_any_call_fails() {
    sweep(Scene::renewed, 10, failed_on_the_way_back);
}

#[test]
fn a_first_issuance_killed_at_any_call() {
    sweep(Scene::first_issuance, 100, killed);
}

#[test]
fn a_renewal_killed_at_any_call() {
    sweep(Scene::edited, 100, killed);
}

#[test]
fn a_renewal_in_which_any_call_fails() {
    sweep(Scene::edited, 100, failed);
}

#[test]
fn a_renewal_in_which_any_call_is_interrupted() {
    sweep(Scene::edited, 100, interrupted);
}

#[test]
fn each_of_200_manifests_is_opened_once() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    for number in 0..198 {
        let secret = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s-{number}}}\n");
        world.write(&format!("config/secret-{number}.yaml"), &secret);
    }
    let [file, metrics] = ["config/web.yaml", "metrics"].map(|name| world.path(name));
    let [file, metrics] = [&file, &metrics].map(|path| path.to_str().unwrap());
    // What is issued first is looked at again for the metrics, and by its name after that.
    for words in [
        &["issue", "--metrics-file", metrics][..],
        &["issue", file, "--metrics-file", metrics],
        &["plan"],
        &["renew", "web"],
        &["rollback", "web"],
        &["revoke", "web", "--yes"],
        &["status"],
    ] {
        let mut opened = opened(&world, words, &world.path("config"));
        assert_eq!(opened.len(), 200, "{words:?}");
        opened.retain(|_, times| *times != 1);
        assert_eq!(opened, BTreeMap::new(), "{words:?}");
    }
}
