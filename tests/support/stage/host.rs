//! Several hosts with one CA and one weakest store, each with an engine and files of its own.
//!
//! Each run of a host opens the store anew: the number by which the store knows it is that of the run.
//! A host can be killed at any moment of its run, or stand still there: its engine, its requests and
//! its answers, while all others go on and what it slept through passes.

use std::cell::RefCell;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::slice::from_ref;
use std::sync::Arc;
use std::task::{Context, Poll};

use certctl::controller::Effect;
use certctl::engine::ports::{
    Borrowed, Clock as _, Collection, Documents, Key, Lease, LiveFiles, Lock, Log, Page, SecretSet,
    Store, StoreError, Stored, Unguarded, Version,
};
use certctl::engine::{Ended, Ending, Engine, Observer, Performer as _, Task};
use certctl::pki;
use certctl::resource::{CertificateRecord, Event, NamespacedName, SecretFiles, SecretLinks};
use certctl::store::{Claim, Records, Share};
use jiff::SignedDuration;
use serde_json::Value;
use tokio::sync::watch;

use super::ca::Ca;
use super::disk::{Disk, Memory, is_pair};
use super::scene::{Scene, options};
use super::world::{Error, Outside, World};
use crate::fuse::{Disturbance, Fuse, Pause};
use crate::history::{self, History, Recorder, What, Witness};
use crate::timeline::Timeline;
use crate::weak::{self, WeakStore, Weakness};

/// When the lock of a host that stands still or was killed has run out.
pub(crate) const LATER: SignedDuration = SignedDuration::from_mins(6);

/// More than it takes until nothing is left to do.
const ROUNDS: usize = 8;

/// The documents as one run of a host has them: each write is a moment before and a moment after it.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) host: Rc<weak::Host>,
    pub(crate) fuse: Rc<Fuse>,
    pub(crate) witness: Witness,
    mutant: Option<Mutant>,
    /// An intent that [`Mutant::IntentAfterwards`] has not written yet.
    late: Rc<RefCell<Option<Put>>>,
}

/// A document, its bytes, and the version that they are to replace.
type Put = (Key, Vec<u8>, Version);

/// A point in which a program breaks its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// It writes over what it did not see.
    Overwrites,
    /// All its writes have the same id.
    NoWriteId,
    /// It takes all locks in the same epoch.
    EpochStays,
    /// It cleans up although it has lost the lock.
    CleansUpLost,
    /// It writes down that it orders when it has ordered.
    IntentAfterwards,
    /// A pair is live before the record names it.
    PublishesFirst,
}

impl Remote {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The bytes of a document as they are written.
    fn written(&self, key: &Key, bytes: &[u8]) -> Vec<u8> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (Key::Certificate(_), Some(end), true) = (key, end, self.is(Mutant::NoWriteId)) else {
            return bytes.to_vec();
        };
        let mut head: Value = serde_json::from_slice(&bytes[..end]).unwrap();
        head["owner"] = "0".into();
        head["epoch"] = 0.into();
        head["step"] = 0.into();
        [head.to_string().as_bytes(), &bytes[end..]].concat()
    }

    async fn put(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        let late = self.late.take();
        if let Some((key, bytes, seen)) = late {
            self.host.put_if(&key, &bytes, &seen).await?;
        }
        if self.is(Mutant::IntentAfterwards) && history::is_creating(bytes) {
            self.late.replace(Some((key.clone(), bytes.to_vec(), seen.clone())));
            return Ok(Version::of(bytes));
        }
        let mut seen = seen.clone();
        if self.is(Mutant::Overwrites)
            && let Some(found) = self.host.get(key).await?
        {
            seen = found.revision;
        }
        self.host.put_if(key, &self.written(key, bytes), &seen).await
    }

    /// A write, between its moments.
    async fn write<T>(&self, what: String, write: impl Future<Output = T>) -> T {
        self.fuse.pass(format!("before {what}")).await;
        if let Some(Disturbance::Write(fault)) = self.fuse.disturbance() {
            self.host.fails(0, *fault);
            self.witness.note(What::Disturbed);
        }
        let done = write.await;
        self.fuse.pass(format!("after {what}")).await;
        done
    }
}

impl Documents for Remote {
    const SHARED: bool = weak::Host::SHARED;

    type Lease = Held;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.host.get(key).await
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        let what = format!("create {}", self.place(key));
        self.write(what, self.host.create(key, &self.written(key, bytes))).await
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        let what = format!("put {}", self.place(key));
        self.write(what, self.put(key, bytes, seen)).await
    }

    async fn sync(&self, key: &Key) -> Result<(), StoreError> {
        self.host.sync(key).await
    }

    async fn settle(&self, key: &Key, past: &[Key]) -> Result<(), StoreError> {
        self.host.settle(key, past).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let what = format!("delete {}", self.place(key));
        self.write(what, self.host.delete(key)).await
    }

    async fn quarantine(&self, key: &Key, seen: &Version) -> Result<String, StoreError> {
        let what = format!("set aside {}", self.place(key));
        self.write(what, self.host.quarantine(key, seen)).await
    }

    async fn list(&self, of: &Collection, last: Option<&Key>) -> Result<Page, StoreError> {
        self.host.list(of, last).await
    }

    async fn append(&self, log: &Log, lines: &[String]) -> Result<(), StoreError> {
        self.host.append(log, lines).await
    }

    async fn read_log(&self, log: &Log) -> Result<Vec<String>, StoreError> {
        self.host.read_log(log).await
    }

    async fn lease(&self, lock: &Lock, wait: SignedDuration) -> Result<Held, StoreError> {
        let lease = self.host.lease(lock, wait).await?;
        let epoch = if self.is(Mutant::EpochStays) { 1 } else { lease.epoch() };
        Ok(Held { lease: Some(lease), fuse: Rc::clone(&self.fuse), epoch })
    }

    fn place(&self, key: &Key) -> String {
        self.host.place(key)
    }
}

/// A lock of a run: one that was killed does not give it back.
#[derive(Debug)]
pub(crate) struct Held {
    lease: Option<weak::Lease>,
    fuse: Rc<Fuse>,
    epoch: u64,
}

impl Lease for Held {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn left(&self) -> SignedDuration {
        self.lease.as_ref().unwrap().left()
    }

    async fn renew(&mut self) -> Result<(), StoreError> {
        self.lease.as_mut().unwrap().renew().await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let lease = self.lease.take().unwrap();
        if self.fuse.is_blown() {
            lease.leave();
        }
    }
}

/// The files of one host, watched.
pub(crate) struct Files {
    disk: Disk,
    witness: Witness,
}

impl Files {
    fn note(&self, secret: &NamespacedName) {
        let memory = self.disk.memory.borrow();
        let (revision, files) = &memory.secrets[secret];
        let leaf = std::str::from_utf8(&files.0["tls.crt"]).unwrap();
        let fingerprint = pki::leaf_facts(leaf).unwrap().fingerprint;
        let (revision, is_pair) = (*revision, is_pair(files));
        self.witness.note(What::Published { revision, fingerprint, is_pair });
    }
}

impl LiveFiles for Files {
    async fn publish(
        &self,
        secret: &NamespacedName,
        revision: u32,
        files: &SecretFiles,
        last_good: Option<&str>,
    ) -> Result<(), StoreError> {
        self.disk.publish(secret, revision, files, last_good).await?;
        self.note(secret);
        Ok(())
    }

    async fn links(&self, secret: &NamespacedName) -> Result<SecretLinks, StoreError> {
        self.disk.links(secret).await
    }

    async fn restore_links(
        &self,
        secret: &NamespacedName,
        set: Option<&str>,
        revision: u32,
    ) -> Result<(), StoreError> {
        self.disk.restore_links(secret, set, revision).await
    }

    fn secret_path(&self, secret: &NamespacedName) -> Result<PathBuf, StoreError> {
        self.disk.secret_path(secret)
    }

    async fn sets(&self, secret: &NamespacedName) -> Result<Vec<SecretSet>, StoreError> {
        self.disk.sets(secret).await
    }

    async fn switch_back(&self, secret: &NamespacedName, set: &str) -> Result<(), StoreError> {
        self.disk.switch_back(secret, set).await?;
        self.note(secret);
        Ok(())
    }

    async fn published(&self, secret: &NamespacedName) -> Result<Option<SecretFiles>, StoreError> {
        self.disk.published(secret).await
    }

    fn has_temporaries(
        &self,
        certificate: &NamespacedName,
        secret: &NamespacedName,
    ) -> Result<bool, StoreError> {
        self.disk.has_temporaries(certificate, secret)
    }

    fn remove_temporaries(
        &self,
        certificate: &NamespacedName,
        secret: &NamespacedName,
    ) -> Result<(), StoreError> {
        self.disk.remove_temporaries(certificate, secret)
    }

    fn check_issuance(&self, certificates: usize) -> Result<(), StoreError> {
        self.disk.check_issuance(certificates)
    }

    fn secret_names(&self) -> Result<Vec<NamespacedName>, StoreError> {
        self.disk.secret_names()
    }

    fn secrets_named(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<NamespacedName>, StoreError> {
        self.disk.secrets_named(name, namespace)
    }

    fn published_for(&self, secret: &NamespacedName) -> Option<String> {
        self.disk.published_for(secret)
    }

    fn owners(&self, secret: &NamespacedName) -> Result<Vec<String>, StoreError> {
        self.disk.owners(secret)
    }

    fn share(&self, name: &str, claim: &Claim) -> Result<Share, StoreError> {
        self.disk.share(name, claim)
    }

    fn forget(&self, name: &str, claim: &Claim, has_secret: bool) -> Result<(), StoreError> {
        self.disk.forget(name, claim, has_secret)
    }
}

/// The documents of all hosts, and the rest of this one.
pub(crate) struct HostStore {
    pub(crate) documents: Remote,
    pub(crate) files: Files,
}

impl HostStore {
    /// The same once more.
    fn again(&self) -> Self {
        let Files { disk: Disk { memory, fuse }, witness } = &self.files;
        let disk = Disk { memory: Rc::clone(memory), fuse: Rc::clone(fuse) };
        let files = Files { disk, witness: witness.clone() };
        Self { documents: self.documents.clone(), files }
    }
}

impl Store for HostStore {
    type Documents = Remote;
    type LiveFiles = Files;
    type HostRecord = Disk;
    type Cache = Disk;

    fn documents(&self) -> &Remote {
        &self.documents
    }

    fn live_files(&self) -> &Files {
        &self.files
    }

    fn host_record(&self) -> &Disk {
        &self.files.disk
    }

    fn cache(&self) -> &Disk {
        &self.files.disk
    }
}

/// A certificate, its CA and its store, and the files of each host.
pub(crate) struct Hosts {
    pub(crate) clock: Timeline,
    pub(crate) store: WeakStore,
    pub(crate) ca: Rc<RefCell<Ca>>,
    pub(crate) outside: Rc<RefCell<Outside>>,
    pub(crate) task: Task,
    /// One a host.
    pub(crate) files: Vec<Rc<RefCell<Memory>>>,
    /// The host of each run; none of what only looks.
    pub(crate) runs: RefCell<Vec<Option<usize>>>,
    recorder: Rc<Recorder>,
    pub(crate) mutant: Option<Mutant>,
}

/// One run of a host.
pub(crate) struct Run {
    pub(crate) host: usize,
    /// After how long it begins.
    pub(crate) after: SignedDuration,
    pub(crate) fuse: Fuse,
    pub(crate) error: Error,
}

impl Run {
    /// One that begins at once, and nothing disturbs.
    pub(crate) fn of(host: usize) -> Self {
        let after = SignedDuration::ZERO;
        Self { host, after, fuse: Fuse::endless(), error: Error::default() }
    }
}

/// How a run of a host went.
pub(crate) struct HostWent {
    /// `None` when it was killed.
    pub(crate) ending: Option<Ending>,
    /// The moments it passed.
    pub(crate) labels: Vec<String>,
    /// The requests it sent to the CA.
    pub(crate) requests: usize,
}

impl Hosts {
    /// So many hosts with the certificate and the CA of this scene.
    pub(crate) fn new(hosts: usize, scene: Scene, weakness: Weakness) -> Self {
        let Scene { clock, ca, outside, task, .. } = scene;
        let store = WeakStore::new(&clock, weakness);
        let files = (0..hosts).map(|_| Rc::default()).collect();
        let recorder = Rc::new(Recorder::new(&clock, &store));
        Self {
            clock,
            store,
            ca,
            outside,
            task,
            files,
            runs: RefCell::default(),
            recorder,
            mutant: None,
        }
    }

    /// One run of one host.
    pub(crate) fn run(&self, run: Run) -> HostWent {
        self.run_together(vec![run]).pop().unwrap()
    }

    /// One run of one host that nothing disturbs.
    pub(crate) fn run_freely(&self, host: usize) -> Ending {
        self.run(Run::of(host)).ending.unwrap()
    }

    /// Runs side by side, until each has ended or is killed.
    pub(crate) fn run_together(&self, runs: Vec<Run>) -> Vec<HostWent> {
        let prepared: Vec<_> = runs
            .into_iter()
            .map(|Run { host, after, fuse, error }| {
                let fuse = Rc::new(fuse);
                let store = self.open(host, &fuse);
                let (world, shutdown) = self.world(&fuse, store.again(), error);
                (after, fuse, store, world, shutdown)
            })
            .collect();
        let fuses: Vec<Rc<Fuse>> = prepared.iter().map(|run| Rc::clone(&run.1)).collect();
        let together = prepared.iter().map(|(after, fuse, store, world, shutdown)| {
            let run = async {
                self.clock.sleep(*after).await;
                let ended = self.engine_run(store, world, shutdown.clone()).await;
                if self.mutant == Some(Mutant::CleansUpLost) {
                    self.clean_up(world, &ended).await;
                }
                ended
            };
            self.disturbed(fuse, fuses.clone(), &store.documents.witness, run)
        });
        let ended = self.clock.run(|| false, futures_util::future::join_all(together)).unwrap();
        self.ca.borrow_mut().look_in_vain();
        let went = ended.into_iter().zip(&prepared).map(|(ended, (_, fuse, _, world, _))| {
            let ending = ended.map(|mut all| all.pop().unwrap().ending);
            HostWent { ending, labels: fuse.labels(), requests: world.requests.get() }
        });
        went.collect()
    }

    /// The state as a run of this host has it.
    pub(crate) fn open(&self, host: usize, fuse: &Rc<Fuse>) -> HostStore {
        let mut runs = self.runs.borrow_mut();
        let witness = Witness { recorder: Rc::clone(&self.recorder), run: runs.len() };
        runs.push(Some(host));
        let disk = Disk { memory: Rc::clone(&self.files[host]), fuse: Rc::clone(fuse) };
        let files = Files { disk, witness: witness.clone() };
        let documents = Remote {
            host: Rc::new(self.store.host()),
            fuse: Rc::clone(fuse),
            witness,
            mutant: self.mutant,
            late: Rc::default(),
        };
        HostStore { documents, files }
    }

    async fn engine_run(
        &self,
        store: &HostStore,
        world: &World<HostStore>,
        shutdown: watch::Receiver<Option<i32>>,
    ) -> Vec<Ended> {
        let engine = Engine {
            ports: Borrowed { clock: &self.clock, store, performer: world },
            observer: &Deaf,
            options: options(),
            shutdown,
        };
        engine.run(from_ref(&self.task)).await
    }

    /// Cleans up after a run that has lost its lock, as none may.
    async fn clean_up(&self, world: &World<HostStore>, ended: &[Ended]) {
        if !ended.iter().any(|ended| matches!(ended.ending, Ending::Locked { .. })) {
            return;
        }
        let presented: Vec<_> = world.presented.borrow().values().cloned().collect();
        for challenge in presented {
            let effect = Effect::CleanUp { order: String::new(), challenge, target: None };
            let issuer = Arc::clone(&self.task.issuers.first);
            world.perform(&self.task, issuer, effect, &Unguarded).await;
        }
    }

    /// What happened so far.
    pub(crate) fn history(&self) -> History {
        self.recorder.history(self.runs.borrow().clone())
    }

    fn world(
        &self,
        fuse: &Rc<Fuse>,
        store: HostStore,
        error: Error,
    ) -> (World<HostStore>, watch::Receiver<Option<i32>>) {
        let (witness, seen) = (store.documents.witness.clone(), (&self.ca, &self.outside));
        let (mut world, shutdown) = World::new(&self.clock, store, fuse, seen, error);
        world.witness = Some(witness);
        world.publishes_first = self.mutant == Some(Mutant::PublishesFirst);
        (world, shutdown)
    }

    /// Runs a host until it ends or its fuse kills it, and not while it stands still.
    fn disturbed<T>(
        &self,
        fuse: &Rc<Fuse>,
        fuses: Vec<Rc<Fuse>>,
        witness: &Witness,
        run: impl Future<Output = T>,
    ) -> impl Future<Output = Option<T>> {
        let mut run = Some(Box::pin(run));
        let mut pause: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
        let (clock, fuse, witness) = (self.clock.clone(), Rc::clone(fuse), witness.clone());
        std::future::poll_fn(move |context| {
            loop {
                if let Some(left) = &mut pause {
                    match left.as_mut().poll(context) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(()) => pause = None,
                    }
                }
                let Some(alive) = &mut run else { return Poll::Ready(None) };
                let polled = alive.as_mut().poll(context);
                if fuse.is_blown() {
                    witness.note(What::Killed);
                    run = None;
                }
                if polled.is_ready() || fuse.is_blown() {
                    fuse.end();
                    // One that stands still until then goes on.
                    context.waker().wake_by_ref();
                    return match polled {
                        Poll::Ready(ended) => Poll::Ready(Some(ended)),
                        Poll::Pending => Poll::Ready(None),
                    };
                }
                let Some(duration) = fuse.stops() else { return Poll::Pending };
                witness.note(What::Paused);
                pause = Some(Box::pin(stand_still(clock.clone(), fuses.clone(), duration)));
            }
        })
    }

    /// Lets the hosts run, one after the other, until nothing is left to do. Whether that came.
    pub(crate) fn settle(&self) -> bool {
        let mut pause = LATER;
        for _ in 0..ROUNDS {
            self.clock.set(self.clock.now() + pause);
            let runs = (0..self.files.len()).map(|host| self.run(Run::of(host)));
            if runs.filter(|went| !went.labels.is_empty()).count() == 0 {
                return true;
            }
            // A failure is followed by a pause, too.
            pause *= 2;
        }
        false
    }

    /// The record of the certificate.
    pub(crate) fn record(&self) -> Option<CertificateRecord> {
        let documents = self.store.host();
        self.runs.borrow_mut().push(None);
        let name = self.task.certificate.metadata.key();
        let records = Records::new(&documents);
        self.clock.run(|| false, records.certificate(&name)).unwrap().unwrap()
    }

    /// The revision that is live on a host.
    pub(crate) fn live(&self, host: usize) -> Option<u32> {
        let memory = self.files[host].borrow();
        memory.secrets.values().next().map(|(revision, _)| *revision)
    }

    /// Lets the time come at which the live pair is due.
    pub(crate) fn wait_for_renewal(&self) {
        self.clock.set(self.record().unwrap().status.renewal_time.unwrap());
    }
}

async fn stand_still(clock: Timeline, fuses: Vec<Rc<Fuse>>, pause: Pause) {
    match pause {
        Pause::For(duration) => clock.sleep(duration).await,
        Pause::Until { run, moment } => {
            // Each step of any run polls this.
            let has_passed = |_: &mut Context<'_>| {
                if fuses[run].has_passed(moment) { Poll::Ready(()) } else { Poll::Pending }
            };
            std::future::poll_fn(has_passed).await;
        }
    }
}

/// Hears nothing. A host that stood still may wait until a time that is past.
struct Deaf;

impl Observer for Deaf {
    fn event(&self, _: &NamespacedName, _: &Event) {}

    fn stage(&self, _: &NamespacedName, _: &str) {}
}
