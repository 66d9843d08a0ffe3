//! The weakest store that the contract of `Documents` allows: in memory, shared by several hosts, on a
//! clock that the test moves. The same seed gives the same history.
//!
//! - A request and its answer take their time, so that hosts overtake each other.
//! - Pages have two keys, and a full one may be the last.
//! - A version is a digest of the bytes: a document that has its old bytes again has its old version.
//! - The store's clock is an hour ahead of the hosts'.
//! - A lease runs out, and nothing tells its holder. Who has lost it can write all the same.
//! - The lines of several hosts mix, and a reader may see a part of a batch.
//! - With a [`Fault`], a write may end in `Unknown`, in a `Conflict` with itself, or late.
//!
//! With a [`Mutant`] it breaks the contract in one point.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

use certctl::engine::ports::{
    self, Clock as _, Collection, Documents, Key, Lock, Log, Page, Part, StoreError, Stored,
    Version,
};
use certctl::resource::NamespacedName;
use certctl::store::Frame;
use jiff::SignedDuration;
use zeroize::Zeroizing;

use crate::random::Random;
use crate::timeline::Timeline;

/// What can go wrong with a write, within the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The request never arrives.
    RequestLost,
    /// It is done, and the answer never arrives. Of lines, the first alone may be appended, and
    /// one be cut off.
    AnswerLost,
    /// No answer arrives in time, and a put or create is done some time later.
    Late,
    /// The answer to a put or create is lost on its way, where it is repeated: it fails over itself.
    Repeated,
    /// The host is stopped for so long, before it sends the request.
    StoppedBefore(SignedDuration),
    /// The same, before it reads the answer.
    StoppedAfter(SignedDuration),
}

/// How weak a store is.
#[derive(Clone, Debug)]
pub(crate) struct Weakness {
    pub(crate) seed: u64,
    /// The keys of a page.
    pub(crate) page: usize,
    /// How far the store's clock is ahead of the hosts'.
    pub(crate) ahead: SignedDuration,
    /// How long a lease lasts, from when the store takes or renews it.
    pub(crate) lasting: SignedDuration,
    /// How long a request is on its way at most, and so its answer, in milliseconds.
    pub(crate) latency: usize,
    /// How many of a hundred writes have each fault.
    pub(crate) faults: Vec<(usize, Fault)>,
    pub(crate) mutant: Option<Mutant>,
}

impl Default for Weakness {
    fn default() -> Self {
        Self {
            seed: 1,
            page: 2,
            ahead: SignedDuration::from_hours(1),
            lasting: SignedDuration::from_mins(5),
            latency: 50,
            faults: Vec::new(),
            mutant: None,
        }
    }
}

/// When a host no longer waits for an answer.
const TIMEOUT: SignedDuration = SignedDuration::from_secs(10);
/// How long after that a late write comes at most, in milliseconds.
const LATEST: usize = 20_000;
const FIRST_PAUSE: SignedDuration = SignedDuration::from_millis(100);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// A change of one document, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Create(Vec<u8>),
    Put(Vec<u8>, Version),
    Delete,
    SetAside(Version),
}

/// What the store has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Changed(Key, Change),
    Appended(Log, String),
    Taken(Lock, u64),
    Renewed(Lock, u64),
    Released(Lock, u64),
}

/// One thing that the store has done, for which host, and when by the hosts' clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) at: SignedDuration,
    pub(crate) host: usize,
    pub(crate) done: Done,
}

/// A document, and the how manieth write made it.
#[derive(Clone, Debug)]
struct Document {
    number: u64,
    version: Version,
    bytes: Vec<u8>,
}

/// The row of a lock. It is never removed.
#[derive(Clone, Debug, Default)]
struct Row {
    epoch: u64,
    /// By the store's clock; none when it was released.
    until: Option<SignedDuration>,
}

/// What the store has.
#[derive(Debug)]
struct Memory {
    weakness: Weakness,
    random: Random,
    documents: BTreeMap<Key, Document>,
    deleted: BTreeSet<Key>,
    aside: BTreeMap<Key, Vec<Vec<u8>>>,
    logs: BTreeMap<Log, Vec<String>>,
    rows: HashMap<Lock, Row>,
    /// Late writes, with the time at which they come.
    late: Vec<(SignedDuration, usize, Key, Change)>,
    writes: u64,
    history: Vec<Moment>,
}

impl Memory {
    fn is(&self, mutant: Mutant) -> bool {
        self.weakness.mutant == Some(mutant)
    }

    /// A document, or a part of one.
    fn found(&self, key: &Key) -> Option<Stored> {
        let stored = |key: &Key| {
            let found = self.documents.get(key)?;
            let bytes = Zeroizing::new(found.bytes.clone());
            Some(Stored { bytes, revision: found.version.clone() })
        };
        let Key::Part(name, part) = key else { return stored(key) };
        let whole = stored(&Key::Certificate(name.clone()))?;
        Frame::part(&whole, *part, "in memory").unwrap()
    }

    /// Takes a part out of its document, which goes with its last one.
    fn take_part(&mut self, name: &NamespacedName, part: Part) -> Option<Vec<u8>> {
        let key = Key::Certificate(name.clone());
        let mut frame = Frame::read(&self.documents.get(&key)?.bytes, "in memory").unwrap();
        let taken = frame.parts.remove(&part)?;
        self.documents.remove(&key);
        if !frame.parts.is_empty() && !self.is(Mutant::SetAsideTakesAll) {
            self.writes += 1;
            let bytes = frame.bytes().to_vec();
            let document = Document { number: self.writes, version: Version::of(&bytes), bytes };
            self.documents.insert(key, document);
        }
        Some(taken.to_vec())
    }

    /// Whether the change is of another version than is there.
    fn refuses(&self, key: &Key, change: &Change) -> bool {
        let found = self.found(key);
        let is_seen = |seen: &Version| found.as_ref().is_some_and(|found| found.revision == *seen);
        match change {
            Change::Create(_) if self.is(Mutant::CreateOverwrites) => false,
            Change::Create(_) => {
                let was_there = self.is(Mutant::DeletedStays) && self.deleted.contains(key);
                found.is_some() || was_there
            }
            Change::Put(..) if self.is(Mutant::PutOverwrites) => found.is_none(),
            Change::Put(..) if self.is(Mutant::PutCreates) && found.is_none() => false,
            Change::SetAside(_) if self.is(Mutant::SetAsideComparesNothing) => found.is_none(),
            Change::Put(_, seen) | Change::SetAside(seen) => !is_seen(seen),
            Change::Delete => self.is(Mutant::DeleteFindsNothing) && found.is_none(),
        }
    }

    /// Makes a change; the version after it.
    fn make(&mut self, at: SignedDuration, host: usize, key: &Key, change: &Change) -> Version {
        let before = self.documents.get(key).map(|found| found.version.clone());
        let mut after = None;
        match change {
            Change::Create(bytes) | Change::Put(bytes, _) => {
                self.writes += 1;
                let mut bytes = bytes.clone();
                if self.is(Mutant::BytesAreText) {
                    bytes = String::from_utf8_lossy(&bytes).into_owned().into_bytes();
                }
                let is_same = self.is(Mutant::VersionStays);
                let version = if is_same { Version(String::new()) } else { Version::of(&bytes) };
                after = Some(version.clone());
                let document = Document { number: self.writes, version, bytes };
                self.documents.insert(key.clone(), document);
            }
            Change::Delete => {
                self.documents.remove(key);
                self.deleted.insert(key.clone());
            }
            Change::SetAside(_) => {
                let found = if let Key::Part(name, part) = key {
                    self.take_part(name, *part)
                } else {
                    self.documents.remove(key).map(|found| found.bytes)
                };
                let forgets = self.is(Mutant::SetAsideOverwrites);
                let aside = self.aside.entry(key.clone()).or_default();
                if forgets {
                    aside.clear();
                }
                aside.extend(found);
            }
        }
        let done = Done::Changed(key.clone(), change.clone());
        self.history.push(Moment { at, host, done });
        if self.is(Mutant::AnswersOldVersion) {
            after = before.or(after);
        }
        after.unwrap_or_else(|| Version(String::new()))
    }

    fn apply(
        &mut self,
        at: SignedDuration,
        host: usize,
        key: &Key,
        change: &Change,
    ) -> Option<Version> {
        (!self.refuses(key, change)).then(|| self.make(at, host, key, change))
    }

    /// Does the late writes whose time has come.
    fn catch_up(&mut self, now: SignedDuration) {
        let late = std::mem::take(&mut self.late).into_iter();
        let (mut due, late): (Vec<_>, _) = late.partition(|late| late.0 <= now);
        self.late = late;
        due.sort_by_key(|late| late.0);
        for (at, host, key, change) in due {
            self.apply(at, host, &key, &change);
        }
    }

    /// The fault of the next write.
    fn draw(&mut self) -> Option<Fault> {
        if self.weakness.faults.is_empty() {
            return None;
        }
        let drawn = self.random.below(100);
        let mut sum = 0;
        let found = self.weakness.faults.iter().find(|(share, _)| {
            sum += share;
            drawn < sum
        });
        found.map(|(_, fault)| *fault)
    }

    /// The keys of a collection after this one, in order.
    fn keys(&self, of: &Collection, after: Option<&Key>) -> Vec<Key> {
        let is_of = |key: &&Key| match key {
            Key::Certificate(_) => *of == Collection::Certificates || self.is(Mutant::ListOfAll),
            Key::Account(_) => *of == Collection::Accounts || self.is(Mutant::ListOfAll),
            Key::Pair(name, ..) => {
                *of == Collection::Pairs(name.clone()) || self.is(Mutant::ListOfAll)
            }
            Key::Part(..)
            | Key::AccountKey(_)
            | Key::AccountLimits(_)
            | Key::BannedKeys
            | Key::Revoked(_)
            | Key::Scheduler => false,
        };
        let mut keys: Vec<Key> = self.documents.keys().filter(is_of).cloned().collect();
        if self.is(Mutant::ListIsOld) {
            // The newest document is not in it yet.
            keys.retain(|key| self.documents[key].number < self.writes);
        }
        if self.is(Mutant::ListByText) {
            keys.sort_by_key(|key| format!("{key:?}").to_lowercase());
        }
        let Some(after) = after else { return keys };
        if self.is(Mutant::ListByText) || self.is(Mutant::ListByPosition) {
            let position = keys.iter().position(|key| key == after);
            return keys.split_off(position.map_or(0, |position| position + 1));
        }
        keys.retain(|key| key > after);
        if self.is(Mutant::ListSkips) && !keys.is_empty() {
            keys.remove(0);
        }
        keys
    }

    /// Takes a lock that is free or has run out; its epoch.
    fn take(&mut self, at: SignedDuration, host: usize, lock: &Lock) -> Option<u64> {
        let now = at + self.weakness.ahead;
        let until = now + self.weakness.lasting;
        let row = self.rows.entry(self.row_of(lock)).or_default();
        let is_held = match self.weakness.mutant {
            Some(Mutant::LeaseShared) => false,
            Some(Mutant::LeaseForEver) => row.until.is_some(),
            _ => row.until.is_some_and(|until| until > now),
        };
        if is_held {
            return None;
        }
        row.until = Some(until);
        if self.weakness.mutant != Some(Mutant::EpochStays) || row.epoch == 0 {
            row.epoch += 1;
        }
        let epoch = row.epoch;
        self.history.push(Moment { at, host, done: Done::Taken(lock.clone(), epoch) });
        Some(epoch)
    }

    fn row_of(&self, lock: &Lock) -> Lock {
        if self.is(Mutant::LeaseUnique) { Lock::Scheduler } else { lock.clone() }
    }

    /// Whether the lock was not taken since.
    fn renew(&mut self, at: SignedDuration, host: usize, lock: &Lock, epoch: u64) -> bool {
        let until = at + self.weakness.ahead + self.weakness.lasting;
        let (lies, takes_back) = (self.is(Mutant::RenewLies), self.is(Mutant::RenewTakesBack));
        let row = self.rows.entry(self.row_of(lock)).or_default();
        if row.epoch != epoch && !takes_back {
            return false;
        }
        if !lies {
            row.until = Some(until);
        }
        self.history.push(Moment { at, host, done: Done::Renewed(lock.clone(), epoch) });
        true
    }

    fn release(&mut self, at: SignedDuration, host: usize, lock: &Lock, epoch: u64) {
        if self.is(Mutant::LeaseStays) {
            return;
        }
        let is_any = self.is(Mutant::LateDropReleases);
        let row = self.rows.entry(self.row_of(lock)).or_default();
        if row.epoch == epoch || is_any {
            row.until = None;
            self.history.push(Moment { at, host, done: Done::Released(lock.clone(), epoch) });
        }
    }
}

/// The store, and the way to it.
struct Remote {
    clock: Timeline,
    memory: RefCell<Memory>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

impl Remote {
    /// What it has now.
    fn memory(&self) -> RefMut<'_, Memory> {
        let mut memory = self.memory.borrow_mut();
        memory.catch_up(self.clock.passed());
        memory
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.memory.borrow().is(mutant)
    }

    /// A request, or an answer, is on its way.
    async fn travel(&self) {
        let longest = self.memory.borrow().weakness.latency;
        self.pass_at_most(longest).await;
    }

    async fn pass_at_most(&self, longest: usize) {
        self.clock.sleep(self.up_to(longest)).await;
    }

    fn up_to(&self, longest: usize) -> SignedDuration {
        let drawn = self.memory.borrow_mut().random.below(longest + 1);
        SignedDuration::from_millis(i64::try_from(drawn).unwrap())
    }
}

/// A store in memory; each host opens it.
#[derive(Clone, Debug)]
pub(crate) struct WeakStore {
    remote: Rc<Remote>,
    hosts: Rc<Cell<usize>>,
}

impl WeakStore {
    pub(crate) fn new(clock: &Timeline, weakness: Weakness) -> Self {
        let memory = Memory {
            random: Random(weakness.seed),
            weakness,
            documents: BTreeMap::new(),
            deleted: BTreeSet::new(),
            aside: BTreeMap::new(),
            logs: BTreeMap::new(),
            rows: HashMap::new(),
            late: Vec::new(),
            writes: 0,
            history: Vec::new(),
        };
        let remote = Remote { clock: clock.clone(), memory: RefCell::new(memory) };
        Self { remote: Rc::new(remote), hosts: Rc::default() }
    }

    /// Opens it as one more host.
    pub(crate) fn host(&self) -> Host {
        let number = self.hosts.get();
        self.hosts.set(number + 1);
        Host {
            remote: Rc::clone(&self.remote),
            number,
            writes: Cell::new(0),
            script: RefCell::default(),
            stopped: Cell::new(SignedDuration::ZERO),
            read: RefCell::default(),
        }
    }

    /// What it has done, in order.
    pub(crate) fn history(&self) -> Vec<Moment> {
        self.remote.memory().history.clone()
    }

    /// How many of a hundred writes have each fault from now on.
    pub(crate) fn set_faults(&self, faults: Vec<(usize, Fault)>) {
        self.remote.memory().weakness.faults = faults;
    }

    /// How much it has done.
    pub(crate) fn moments(&self) -> usize {
        self.remote.memory().history.len()
    }

    /// What was set aside of a document, oldest first.
    pub(crate) fn aside(&self, key: &Key) -> Vec<Vec<u8>> {
        self.remote.memory().aside.get(key).cloned().unwrap_or_default()
    }

    /// Lets time pass.
    pub(crate) async fn pass(&self, by: SignedDuration) {
        self.remote.clock.sleep(by).await;
    }
}

/// The store as one host has it.
#[derive(Debug)]
pub(crate) struct Host {
    remote: Rc<Remote>,
    number: usize,
    /// How many writes it has begun: changes of documents and locks, and appends.
    writes: Cell<usize>,
    /// The faults of those, counted from 0; the others are drawn.
    script: RefCell<BTreeMap<usize, Fault>>,
    /// Until when it is stopped.
    stopped: Cell<SignedDuration>,
    /// What it has read, for [`Mutant::ReadsOnce`].
    read: RefCell<BTreeMap<Key, Option<Stored>>>,
}

impl Host {
    /// Chooses the fault of the write after so many more.
    pub(crate) fn fails(&self, after: usize, fault: Fault) {
        self.script.borrow_mut().insert(self.writes.get() + after, fault);
    }

    /// How many writes it has begun.
    pub(crate) fn writes(&self) -> usize {
        self.writes.get()
    }

    fn stop(&self, duration: SignedDuration) {
        self.stopped.set(self.stopped.get().max(self.remote.clock.passed() + duration));
    }

    /// Waits while it is stopped.
    async fn run_on(&self) {
        loop {
            let left = self.stopped.get() - self.remote.clock.passed();
            if !left.is_positive() {
                return;
            }
            self.remote.clock.sleep(left).await;
        }
    }

    /// Sends a read.
    async fn read<T>(&self, read: impl FnOnce(&mut Memory) -> T) -> T {
        self.run_on().await;
        self.remote.travel().await;
        let found = read(&mut self.remote.memory());
        self.remote.travel().await;
        self.run_on().await;
        found
    }

    /// Begins a write.
    async fn begin(&self) -> Option<Fault> {
        let number = self.writes.replace(self.writes.get() + 1);
        let chosen = self.script.borrow_mut().remove(&number);
        let fault = chosen.or_else(|| self.remote.memory().draw());
        if let Some(Fault::StoppedBefore(duration)) = fault {
            self.stop(duration);
        }
        self.run_on().await;
        self.remote.travel().await;
        fault
    }

    /// Waits for the answer to a write; none was sent, or it is lost.
    async fn end<T>(
        &self,
        fault: Option<Fault>,
        done: Option<T>,
        what: String,
    ) -> Result<T, StoreError> {
        if let Some(Fault::StoppedAfter(duration)) = fault {
            self.stop(duration);
        }
        let Some(done) = done else {
            self.remote.clock.sleep(TIMEOUT).await;
            self.run_on().await;
            return Err(StoreError::Unknown { path: what, why: "no answer".to_owned() });
        };
        self.remote.travel().await;
        self.run_on().await;
        Ok(done)
    }

    /// Sends a write that is repeated by nothing and comes in time, or not at all.
    async fn write<T>(
        &self,
        what: String,
        write: impl FnOnce(&mut Memory, SignedDuration) -> T,
    ) -> Result<T, StoreError> {
        let fault = self.begin().await;
        let now = self.remote.clock.passed();
        let done = match fault {
            Some(Fault::RequestLost) => None,
            Some(Fault::AnswerLost) => {
                write(&mut self.remote.memory(), now);
                None
            }
            Some(
                Fault::Late | Fault::Repeated | Fault::StoppedBefore(_) | Fault::StoppedAfter(_),
            )
            | None => Some(write(&mut self.remote.memory(), now)),
        };
        self.end(fault, done, what).await
    }

    /// Sends a change of a document. Only a put or create can be late, or be repeated on its way.
    async fn change(&self, key: &Key, change: Change) -> Result<Version, StoreError> {
        if !matches!(change, Change::Create(_) | Change::Put(..)) {
            let apply = |memory: &mut Memory, at| memory.apply(at, self.number, key, &change);
            let found = self.write(self.place(key), apply).await?;
            return found.ok_or_else(|| self.conflict(key));
        }
        let fault = self.begin().await;
        let apply =
            || self.remote.memory().apply(self.remote.clock.passed(), self.number, key, &change);
        let done = match fault {
            Some(Fault::RequestLost) => None,
            Some(Fault::AnswerLost) => {
                apply();
                None
            }
            Some(Fault::Late) => {
                let due = self.remote.clock.passed() + TIMEOUT + self.remote.up_to(LATEST);
                let late = (due, self.number, key.clone(), change.clone());
                self.remote.memory().late.push(late);
                None
            }
            Some(Fault::Repeated) => {
                apply();
                self.remote.travel().await;
                Some(apply())
            }
            Some(Fault::StoppedBefore(_) | Fault::StoppedAfter(_)) | None
                if self.remote.is(Mutant::ComparesApart) =>
            {
                let is_refused = self.remote.memory().refuses(key, &change);
                self.remote.travel().await;
                let now = self.remote.clock.passed();
                let make = || self.remote.memory().make(now, self.number, key, &change);
                Some((!is_refused).then(make))
            }
            Some(Fault::StoppedBefore(_) | Fault::StoppedAfter(_)) | None => Some(apply()),
        };
        let found = self.end(fault, done, self.place(key)).await?;
        found.ok_or_else(|| self.conflict(key))
    }

    fn conflict(&self, key: &Key) -> StoreError {
        StoreError::Conflict { path: self.place(key) }
    }

    /// The log that the lines of this one are in.
    fn log(&self, log: &Log) -> Log {
        if self.remote.is(Mutant::OneLog) { Log::Issuances } else { log.clone() }
    }
}

impl Documents for Host {
    const SHARED: bool = true;

    type Lease = Lease;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        let found = self.read(|memory| memory.found(key)).await;
        if self.remote.is(Mutant::ReadsOnce) {
            return Ok(self.read.borrow_mut().entry(key.clone()).or_insert(found).clone());
        }
        Ok(found)
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        self.change(key, Change::Create(bytes.to_vec())).await
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        self.change(key, Change::Put(bytes.to_vec(), seen.clone())).await
    }

    async fn sync(&self, _: &Key) -> Result<(), StoreError> {
        Ok(())
    }

    async fn settle(&self, key: &Key, past: &[Key]) -> Result<(), StoreError> {
        if self.remote.is(Mutant::SettleRemoves) && !past.is_empty() {
            self.remote.memory().documents.remove(key);
        }
        Ok(())
    }

    /// One document after the other, and that of the certificate last.
    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        if let Key::Certificate(name) = key
            && !self.remote.is(Mutant::DeletesRecordAlone)
        {
            let is_pair = |key: &&Key| matches!(key, Key::Pair(of, ..) if of == name);
            let pairs = self.read(|memory| -> Vec<Key> {
                memory.documents.keys().filter(is_pair).cloned().collect()
            });
            for pair in pairs.await {
                self.change(&pair, Change::Delete).await?;
            }
            let log = Log::Events(name.clone());
            let forget = |memory: &mut Memory, _| memory.logs.remove(&log);
            self.write(format!("{log:?}"), forget).await?;
        }
        self.change(key, Change::Delete).await.map(drop)
    }

    async fn quarantine(&self, key: &Key, seen: &Version) -> Result<String, StoreError> {
        self.change(key, Change::SetAside(seen.clone())).await?;
        Ok(format!("{}, set aside", self.place(key)))
    }

    async fn list(&self, of: &Collection, after: Option<&Key>) -> Result<Page, StoreError> {
        let page = self.read(|memory| {
            let mut keys = memory.keys(of, after);
            keys.truncate(memory.weakness.page);
            let has_more = keys.len() == memory.weakness.page;
            Page { keys, has_more }
        });
        Ok(page.await)
    }

    async fn append(&self, log: &Log, lines: &[String]) -> Result<(), StoreError> {
        let fault = self.begin().await;
        let log = self.log(log);
        let (mut lines, mut is_lost) = (lines.to_vec(), false);
        match fault {
            Some(Fault::RequestLost) => (lines, is_lost) = (Vec::new(), true),
            Some(Fault::AnswerLost) => {
                is_lost = true;
                let whole = self.remote.memory().random.below(lines.len() + 1);
                lines.truncate(whole + 1);
                if let Some(cut) = lines.get_mut(whole) {
                    cut.truncate(cut.floor_char_boundary(cut.len() / 2));
                }
            }
            Some(
                Fault::Late | Fault::Repeated | Fault::StoppedBefore(_) | Fault::StoppedAfter(_),
            )
            | None => {}
        }
        let mut before = self.remote.memory().logs.get(&log).cloned().unwrap_or_default();
        for line in lines {
            self.remote.travel().await;
            let mut memory = self.remote.memory();
            let done = Done::Appended(log.clone(), line.clone());
            let at = self.remote.clock.passed();
            memory.history.push(Moment { at, host: self.number, done });
            before.push(line.clone());
            if memory.is(Mutant::AppendsOverOthers) {
                memory.logs.insert(log.clone(), before.clone());
            } else {
                memory.logs.entry(log.clone()).or_default().push(line);
            }
        }
        self.end(fault, (!is_lost).then_some(()), format!("{log:?}")).await
    }

    async fn read_log(&self, log: &Log) -> Result<Vec<String>, StoreError> {
        let log = self.log(log);
        let lines = self.read(|memory| {
            let mut lines = memory.logs.get(&log).cloned().unwrap_or_default();
            if memory.is(Mutant::LogLosesLast) {
                lines.pop();
            }
            if memory.is(Mutant::LogBackwards) {
                lines.reverse();
            }
            lines
        });
        Ok(lines.await)
    }

    async fn lease(&self, lock: &Lock, wait: SignedDuration) -> Result<Lease, StoreError> {
        let begun = self.remote.clock.passed();
        let mut pause = FIRST_PAUSE;
        loop {
            // The store takes it later than this, and counts from then on.
            let sent = self.remote.clock.passed();
            let take = |memory: &mut Memory, at| memory.take(at, self.number, lock);
            if let Some(epoch) = self.write(format!("{lock:?}"), take).await? {
                let lasting = self.remote.memory().weakness.lasting;
                let (remote, lock) = (Rc::clone(&self.remote), lock.clone());
                return Ok(Lease {
                    remote,
                    host: self.number,
                    lock,
                    epoch,
                    until: sent + lasting,
                    is_left: false,
                });
            }
            let left = wait - (self.remote.clock.passed() - begun);
            if !left.is_positive() || self.remote.is(Mutant::NeverWaits) {
                let holder = "another host".to_owned();
                return Err(StoreError::Locked { what: format!("{lock:?}"), holder });
            }
            self.remote.clock.sleep(pause.min(left)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn place(&self, key: &Key) -> String {
        if self.remote.is(Mutant::OnePlace) { "a row".to_owned() } else { format!("{key:?}") }
    }
}

/// A lock as its holder has it.
#[derive(Debug)]
pub(crate) struct Lease {
    remote: Rc<Remote>,
    host: usize,
    lock: Lock,
    epoch: u64,
    /// By the host's clock, counted from when the request was sent.
    until: SignedDuration,
    /// Nothing gives it back.
    is_left: bool,
}

impl Lease {
    /// The end of a holder that was killed: the lock runs out.
    pub(crate) fn leave(mut self) {
        self.is_left = true;
    }
}

impl ports::Lease for Lease {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn left(&self) -> SignedDuration {
        let left = self.until - self.remote.clock.passed();
        let memory = self.remote.memory.borrow();
        if memory.is(Mutant::LeaseByWallClock) { left + memory.weakness.ahead } else { left }
    }

    async fn renew(&mut self) -> Result<(), StoreError> {
        let path = format!("{:?}", self.lock);
        self.remote.travel().await;
        let fault = self.remote.memory().draw();
        let sent = self.remote.clock.passed();
        self.remote.travel().await;
        let now = self.remote.clock.passed();
        let renew = || self.remote.memory().renew(now, self.host, &self.lock, self.epoch);
        let is_ours = match fault {
            Some(Fault::RequestLost) => None,
            Some(Fault::AnswerLost) => {
                renew();
                None
            }
            Some(
                Fault::Late | Fault::Repeated | Fault::StoppedBefore(_) | Fault::StoppedAfter(_),
            )
            | None => Some(renew()),
        };
        match is_ours {
            None => {
                self.remote.clock.sleep(TIMEOUT).await;
                Err(StoreError::Unknown { path, why: "no answer".to_owned() })
            }
            Some(false) => Err(StoreError::Conflict { path }),
            Some(true) => {
                self.remote.travel().await;
                self.until = sent + self.remote.memory().weakness.lasting;
                Ok(())
            }
        }
    }
}

impl Drop for Lease {
    /// Tried once: where the request is lost, the lock runs out.
    fn drop(&mut self) {
        let mut memory = self.remote.memory();
        if !self.is_left && memory.draw() != Some(Fault::RequestLost) {
            let now = self.remote.clock.passed();
            memory.release(now, self.host, &self.lock, self.epoch);
        }
    }
}

/// A point in which a store breaks the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// `put_if` compares nothing.
    PutOverwrites,
    /// `put_if` creates what is not there.
    PutCreates,
    CreateOverwrites,
    /// It compares, and writes a little later.
    ComparesApart,
    VersionStays,
    /// The version that a write returns is not the one that is read.
    AnswersOldVersion,
    /// A host reads each document once.
    ReadsOnce,
    BytesAreText,
    DeleteFindsNothing,
    DeletedStays,
    DeletesRecordAlone,
    SetAsideComparesNothing,
    SetAsideOverwrites,
    SetAsideTakesAll,
    ListSkips,
    ListOfAll,
    ListByText,
    ListByPosition,
    ListIsOld,
    LogLosesLast,
    LogBackwards,
    OneLog,
    AppendsOverOthers,
    LeaseShared,
    LeaseUnique,
    LeaseByWallClock,
    LeaseForEver,
    LeaseStays,
    LateDropReleases,
    NeverWaits,
    EpochStays,
    RenewLies,
    RenewTakesBack,
    SettleRemoves,
    OnePlace,
}
