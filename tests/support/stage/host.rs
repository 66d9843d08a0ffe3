//! Several hosts with one CA and one weakest store, each with an engine and files of its own.
//!
//! Each run of a host opens the store anew: the number by which the store knows it is that of the run.
//! A host can be killed at any moment of its run, or stand still there: its engine, its requests and
//! its answers, while all others go on and what it slept through passes.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::slice::from_ref;
use std::task::Poll;

use certctl::acme::Limits;
use certctl::engine::ports::{
    Borrowed, Clock as _, Collection, Documents, Key, Lease, Lock, Log, Page, Store, StoreError,
    Stored, Version,
};
use certctl::engine::{Ended, Ending, Engine, Options, Task};
use certctl::resource::CertificateRecord;
use certctl::store::Records;
use jiff::SignedDuration;
use tokio::sync::{Notify, Semaphore, watch};

use super::ca::Ca;
use super::disk::{Disk, Memory};
use super::scene::{Deaf, Scene, options};
use super::world::{Error, Outside, World};
use crate::fuse::Fuse;
use crate::timeline::Timeline;
use crate::weak::{self, WeakStore, Weakness};

/// The documents as one run of a host has them: each write is a moment before and a moment after it.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) host: Rc<weak::Host>,
    pub(crate) fuse: Rc<Fuse>,
}

impl Remote {
    /// A write, between its moments.
    async fn write<T>(&self, what: String, write: impl Future<Output = T>) -> T {
        self.fuse.pass(format!("before {what}")).await;
        let done = write.await;
        self.fuse.pass(format!("after {what}")).await;
        done
    }
}

impl Documents for Remote {
    type Lease = Held;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.host.get(key).await
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        let what = format!("create {}", self.place(key));
        self.write(what, self.host.create(key, bytes)).await
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        let what = format!("put {}", self.place(key));
        self.write(what, self.host.put_if(key, bytes, seen)).await
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
        let lease = Some(self.host.lease(lock, wait).await?);
        Ok(Held { lease, fuse: Rc::clone(&self.fuse) })
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
}

impl Lease for Held {
    fn epoch(&self) -> u64 {
        self.lease.as_ref().unwrap().epoch()
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

/// The documents of all hosts, and the rest of this one.
pub(crate) struct HostStore {
    pub(crate) documents: Remote,
    pub(crate) local: Disk,
}

impl Store for HostStore {
    type Documents = Remote;
    type LiveFiles = Disk;
    type HostRecord = Disk;
    type Cache = Disk;

    fn documents(&self) -> &Remote {
        &self.documents
    }

    fn live_files(&self) -> &Disk {
        &self.local
    }

    fn host_record(&self) -> &Disk {
        &self.local
    }

    fn cache(&self) -> &Disk {
        &self.local
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
        Self { clock, store, ca, outside, task, files, runs: RefCell::default() }
    }

    /// All hosts publish into the same files.
    pub(crate) fn sharing_files(mut self) -> Self {
        let files = Rc::clone(&self.files[0]);
        self.files.fill(files);
        self
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
                let same = HostStore {
                    documents: store.documents.clone(),
                    local: self.local(host, &fuse),
                };
                let (world, shutdown) = self.world(&fuse, same, error);
                (after, fuse, store, world, shutdown)
            })
            .collect();
        let together = prepared.iter().map(|(after, fuse, store, world, shutdown)| {
            let run = async {
                self.clock.sleep(*after).await;
                engine_run(&self.clock, store, world, shutdown.clone(), from_ref(&self.task)).await
            };
            self.disturbed(fuse, run)
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
    fn open(&self, host: usize, fuse: &Rc<Fuse>) -> HostStore {
        self.runs.borrow_mut().push(Some(host));
        let documents = Remote { host: Rc::new(self.store.host()), fuse: Rc::clone(fuse) };
        HostStore { documents, local: self.local(host, fuse) }
    }

    fn local(&self, host: usize, fuse: &Rc<Fuse>) -> Disk {
        Disk { memory: Rc::clone(&self.files[host]), fuse: Rc::clone(fuse) }
    }

    fn world(
        &self,
        fuse: &Rc<Fuse>,
        store: HostStore,
        error: Error,
    ) -> (World<HostStore>, watch::Receiver<Option<i32>>) {
        let (sender, shutdown) = watch::channel(None);
        let world = World {
            clock: self.clock.clone(),
            store,
            is_alone: false,
            fuse: Rc::clone(fuse),
            ca: Rc::clone(&self.ca),
            outside: Rc::clone(&self.outside),
            presented: RefCell::default(),
            late: RefCell::default(),
            error,
            signal: sender,
            requests: Cell::new(0),
            lines: Semaphore::new(Limits::default().requests_at_once),
            listens: Cell::new(false),
            hits: RefCell::default(),
            hit: Notify::new(),
            alerts: None,
        };
        (world, shutdown)
    }

    /// Runs a host until it ends or its fuse kills it, and not while it stands still.
    fn disturbed<T>(
        &self,
        fuse: &Rc<Fuse>,
        run: impl Future<Output = T>,
    ) -> impl Future<Output = Option<T>> {
        let mut run = Some(Box::pin(run));
        let mut pause: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
        let (clock, fuse) = (self.clock.clone(), Rc::clone(fuse));
        std::future::poll_fn(move |context| {
            loop {
                if let Some(left) = &mut pause {
                    match left.as_mut().poll(context) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(()) => pause = None,
                    }
                }
                let Some(alive) = &mut run else { return Poll::Ready(None) };
                match alive.as_mut().poll(context) {
                    Poll::Ready(ended) => return Poll::Ready(Some(ended)),
                    Poll::Pending if fuse.is_blown() => {
                        run = None;
                        return Poll::Ready(None);
                    }
                    Poll::Pending => {}
                }
                let Some(duration) = fuse.stops() else { return Poll::Pending };
                let clock = clock.clone();
                pause = Some(Box::pin(async move { clock.sleep(duration).await }));
            }
        })
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

async fn engine_run(
    clock: &Timeline,
    store: &HostStore,
    world: &World<HostStore>,
    shutdown: watch::Receiver<Option<i32>>,
    tasks: &[Task],
) -> Vec<Ended> {
    let engine = Engine {
        ports: Borrowed { clock, store, performer: world },
        observer: &Deaf(clock),
        options: Options { ..options() },
        shutdown,
    };
    engine.run(tasks).await
}
