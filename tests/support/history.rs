//! What happened to the hosts of one certificate, as the store, the CA, the DNS providers and the file
//! systems saw it, and what must be true of it. Nothing of it is what the program says of itself.
//!
//! Each predicate is a function of the whole history; the error is the first thing that is wrong.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use certctl::controller::Effect;
use certctl::engine::ports::{Key, Lock, Version};
use certctl::pki;
use jiff::SignedDuration;
use serde_json::Value;

use crate::timeline::Timeline;
use crate::weak::{Change, Done, WeakStore};

/// A request to the CA or to a DNS provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    /// Of the order, challenge or certificate; empty for none.
    pub(crate) url: String,
    /// The digest of the public key of a CSR.
    pub(crate) key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NewAccount,
    NewOrder,
    Present,
    Accept,
    Finalize,
    Download,
    CleanUp,
    /// Changes nothing.
    Read,
}

impl Request {
    pub(crate) fn new(kind: Kind, url: &str) -> Self {
        Self { kind, url: url.to_owned(), key: None }
    }

    /// The one that an effect sends.
    pub(crate) fn of(effect: &Effect) -> Option<Self> {
        Some(match effect {
            Effect::RegisterAccount { .. } => Self::new(Kind::NewAccount, ""),
            Effect::CreateOrder { .. } => Self::new(Kind::NewOrder, ""),
            Effect::Present { challenge, .. } => Self::new(Kind::Present, &challenge.url),
            Effect::Accept { url, .. } => Self::new(Kind::Accept, url),
            Effect::Finalize { urls, request, .. } => {
                let key = Some(pki::read_csr(request).unwrap().public_key.0);
                Self { key, ..Self::new(Kind::Finalize, &urls.url) }
            }
            Effect::Download { url, .. } => Self::new(Kind::Download, url),
            Effect::CleanUp { challenge, .. } => Self::new(Kind::CleanUp, &challenge.url),
            Effect::ReadOrder { url, .. } | Effect::ReadAuthorization { url, .. } => {
                Self::new(Kind::Read, url)
            }
            Effect::FindAccount
            | Effect::UpdateContacts { .. }
            | Effect::DeactivateAccount { .. }
            | Effect::Revoke { .. }
            | Effect::AskForRenewalInformation { .. } => Self::new(Kind::Read, ""),
            Effect::Prepare { .. }
            | Effect::GenerateKey { .. }
            | Effect::ReuseKey
            | Effect::BuildRequest
            | Effect::ObtainAccountKey
            | Effect::Locate { .. }
            | Effect::SelfCheck { .. }
            | Effect::Publish { .. }
            | Effect::PublishTemporary { .. }
            | Effect::Rewrite { .. }
            | Effect::Deploy { .. }
            | Effect::SwitchBack { .. }
            | Effect::RestoreLinks { .. }
            | Effect::RestoreFiles { .. }
            | Effect::Follow { .. } => return None,
        })
    }
}

/// What is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// By the store.
    Stored(Done),
    /// The lock outlasts a request, which is sent next.
    Begun(Request),
    /// It arrives.
    Sent(Request),
    /// The CA has made an order.
    Ordered(String),
    /// By the file system of the host.
    Published { revision: u32, fingerprint: String, is_pair: bool },
    /// The test lets the host stand still.
    Paused,
    /// The test kills the run.
    Killed,
    /// The test loses a reply, or lets a write end so that it is not known whether it was done.
    Disturbed,
}

/// Something that was seen of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: SignedDuration,
    /// Each run of a host opens the store anew.
    pub(crate) run: usize,
    pub(crate) what: What,
}

/// Notes what is seen beside the store, and after how much of what the store has done.
pub(crate) struct Recorder {
    clock: Timeline,
    store: WeakStore,
    seen: RefCell<Vec<(usize, Event)>>,
}

/// The recorder, for what is seen of one run.
#[derive(Clone)]
pub(crate) struct Witness {
    pub(crate) recorder: Rc<Recorder>,
    pub(crate) run: usize,
}

impl Witness {
    pub(crate) fn note(&self, what: What) {
        let Recorder { clock, store, seen } = &*self.recorder;
        let event = Event { at: clock.passed(), run: self.run, what };
        seen.borrow_mut().push((store.moments(), event));
    }
}

impl Recorder {
    pub(crate) fn new(clock: &Timeline, store: &WeakStore) -> Self {
        Self { clock: clock.clone(), store: store.clone(), seen: RefCell::default() }
    }

    /// All that was seen, in order; the host of each run, none for what only looks.
    pub(crate) fn history(&self, hosts: Vec<Option<usize>>) -> History {
        let seen = self.seen.borrow();
        let mut seen = seen.iter().peekable();
        let mut events = Vec::new();
        for (number, moment) in self.store.history().into_iter().enumerate() {
            while let Some((_, event)) = seen.next_if(|(after, _)| *after <= number) {
                events.push(event.clone());
            }
            let what = What::Stored(moment.done);
            events.push(Event { at: moment.at, run: moment.host, what });
        }
        events.extend(seen.map(|(_, event)| event.clone()));
        History { events, hosts }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) events: Vec<Event>,
    /// The host of each run.
    pub(crate) hosts: Vec<Option<usize>>,
}

/// A part of what is stored of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Record,
    Request(u64),
    Order(u64, u64),
    NextKey,
}

/// Which write a document is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    owner: String,
    epoch: u64,
    step: u64,
}

/// What is stored of a certificate, as its first line says.
#[derive(Clone, Debug, Default)]
struct Document {
    id: Option<Id>,
    parts: BTreeMap<Part, Rc<[u8]>>,
}

impl Document {
    fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let head: Value = serde_json::from_slice(&bytes[..end]).ok()?;
        let number = |name: &str| head.get(name).and_then(Value::as_u64);
        let owner = head.get("owner")?.as_str()?.to_owned();
        let id = Some(Id { owner, epoch: number("epoch")?, step: number("step")? });
        let (mut parts, mut start) = (BTreeMap::new(), end + 1);
        for part in head.get("parts")?.as_array()? {
            let end = start + usize::try_from(part.get("length")?.as_u64()?).ok()?;
            let name = match part.get("document")? {
                Value::String(name) if name == "certificate" => Part::Record,
                Value::String(name) if name == "nextKey" => Part::NextKey,
                Value::Object(one) if one.contains_key("request") => {
                    Part::Request(one["request"].as_u64()?)
                }
                Value::Object(one) if one.contains_key("order") => {
                    Part::Order(one["order"][0].as_u64()?, one["order"][1].as_u64()?)
                }
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_) => return None,
            };
            parts.insert(name, bytes.get(start..end)?.into());
            start = end;
        }
        Some(Self { id, parts })
    }

    /// The fields of a part.
    fn json(&self, part: &Part) -> Value {
        let bytes = self.parts.get(part);
        let sealed = bytes.map(|bytes| serde_json::from_slice::<Value>(bytes).unwrap());
        sealed.map_or(Value::Null, |mut sealed| sealed["document"].take())
    }

    fn orders(&self) -> impl Iterator<Item = Value> {
        let is_order = |part: &&Part| matches!(part, Part::Order(..));
        self.parts.keys().filter(is_order).map(|part| self.json(part))
    }

    /// The newest order.
    fn order(&self) -> Value {
        let is_order = |part: &&Part| matches!(part, Part::Order(..));
        self.parts.keys().rfind(is_order).map(|part| self.json(part)).unwrap_or_default()
    }

    fn challenge(&self, url: &str) -> Value {
        let challenges = |order: Value| order["challenges"].as_array().cloned().unwrap_or_default();
        let mut all = self.orders().flat_map(challenges);
        all.find(|challenge| challenge["spec"]["url"] == url).unwrap_or_default()
    }

    /// The revision that is committed, with the fingerprint of its certificate.
    fn live(&self) -> Option<(u32, String)> {
        let record = self.json(&Part::Record);
        let revision = u32::try_from(record["status"]["revision"].as_u64()?).unwrap();
        Some((revision, record["issuedFingerprint"].as_str()?.to_owned()))
    }

    fn next_key(&self) -> Option<String> {
        let pem = std::str::from_utf8(self.parts.get(&Part::NextKey)?).unwrap();
        Some(pki::key_facts(pem).unwrap().public_key.0)
    }
}

/// Whether the document of a certificate says that it is to be ordered next.
pub(crate) fn is_creating(bytes: &[u8]) -> bool {
    Document::read(bytes).is_some_and(|document| document.order()["phase"] == "creating")
}

/// The history up to an event, as far as the predicates need it.
#[derive(Default)]
struct Past {
    /// What is stored of the certificate.
    document: Document,
    /// The same, as each run wrote it last.
    written: BTreeMap<usize, Document>,
    /// The records of accounts, by their names.
    accounts: BTreeMap<String, Value>,
    /// The epoch of the certificate's lock that each run took last.
    taken: BTreeMap<usize, u64>,
    /// How many events there were when a run with a later epoch wrote first.
    overtaken: BTreeMap<usize, usize>,
}

impl Past {
    /// What a run has written down, or what it found.
    fn of(&self, run: usize) -> &Document {
        self.written.get(&run).unwrap_or(&self.document)
    }

    /// Whether this was a write of the certificate.
    fn follow(&mut self, number: usize, event: &Event) -> bool {
        let What::Stored(done) = &event.what else { return false };
        match done {
            Done::Taken(Lock::Certificate(_), epoch) => {
                self.taken.insert(event.run, *epoch);
                self.overtaken.remove(&event.run);
            }
            Done::Changed(Key::Account(name), Change::Create(bytes) | Change::Put(bytes, _)) => {
                let mut sealed: Value = serde_json::from_slice(bytes).unwrap();
                self.accounts.insert(name.clone(), sealed["document"].take());
            }
            Done::Changed(key, change) => return self.change(number, event.run, key, change),
            Done::Taken(..) | Done::Renewed(..) | Done::Released(..) | Done::Appended(..) => {}
        }
        false
    }

    fn change(&mut self, number: usize, run: usize, key: &Key, change: &Change) -> bool {
        let Key::Certificate(_) = key else { return false };
        self.document = match change {
            Change::Create(bytes) | Change::Put(bytes, _) => Document::read(bytes).unwrap(),
            Change::Delete | Change::SetAside(_) => Document::default(),
        };
        self.written.insert(run, self.document.clone());
        let epoch = self.taken.get(&run).copied().unwrap_or_default();
        for (other, taken) in &self.taken {
            if *taken < epoch {
                self.overtaken.entry(*other).or_insert(number);
            }
        }
        true
    }
}

type Verdict = Result<(), String>;

/// See the module.
pub(crate) type Predicate = fn(&History) -> Verdict;

fn check(is_right: bool, number: usize, event: &Event, why: &str) -> Verdict {
    if is_right {
        Ok(())
    } else {
        Err(format!(
            "{why}: event {number}, run {}, at {:?}: {:?}",
            event.run,
            event.at,
            brief(event)
        ))
    }
}

/// The event without the bytes of documents.
fn brief(event: &Event) -> String {
    let What::Stored(Done::Changed(key, change)) = &event.what else {
        return format!("{:?}", event.what);
    };
    match change {
        Change::Create(bytes) | Change::Put(bytes, _) => {
            let id = Document::read(bytes).and_then(|document| document.id);
            format!("{key:?} is {:?} {id:?}", Version::of(bytes))
        }
        Change::Delete | Change::SetAside(_) => format!("{key:?}: {change:?}"),
    }
}

/// The events, one a line, for who looks for the cause of a failure.
pub(crate) fn told(history: &History) -> String {
    let mut past = Past::default();
    let line = |(number, event): (usize, &Event)| {
        let host = history.hosts.get(event.run).copied().flatten();
        let (at, run) = (event.at, event.run);
        let line = format!("{number} {at:?} host {host:?} run {run}: {}", brief(event));
        if !past.follow(number, event) {
            return line;
        }
        let phase: String = past.document.order()["phase"].to_string().chars().take(14).collect();
        format!("{line}, live: {:?}, order: {phase}", past.document.live())
    };
    history.events.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// P3: the writes of each document form a chain, and no two are the same.
pub(crate) fn writes_form_chains(history: &History) -> Verdict {
    let (mut found, mut ids) = (BTreeMap::new(), BTreeSet::new());
    for (number, event) in history.events.iter().enumerate() {
        let What::Stored(Done::Changed(key, change)) = &event.what else { continue };
        let before = match change {
            Change::Create(_) => None,
            Change::Put(_, seen) | Change::SetAside(seen) => Some(seen.clone()),
            Change::Delete => found.get(key).cloned(),
        };
        check(found.get(key) == before.as_ref(), number, event, "it was made from something else")?;
        let (Change::Create(bytes) | Change::Put(bytes, _)) = change else {
            found.remove(key);
            continue;
        };
        found.insert(key.clone(), Version::of(bytes));
        if let Key::Certificate(_) = key
            && let Some(id) = Document::read(bytes).and_then(|document| document.id)
        {
            check(ids.insert(id), number, event, "the same write once more")?;
        }
    }
    Ok(())
}

/// P4: with each owner the epoch grows, by one unless others took the lock and wrote nothing; and an
/// epoch's writes are of the run that took the lock then.
pub(crate) fn epochs_count_owners(history: &History) -> Verdict {
    let (mut past, mut takers) = (Past::default(), BTreeMap::new());
    let mut before: Option<Id> = None;
    for (number, event) in history.events.iter().enumerate() {
        if let What::Stored(Done::Taken(Lock::Certificate(_), epoch)) = event.what {
            let other = takers.insert(epoch, event.run);
            check(other.is_none(), number, event, "two have the lock in one epoch")?;
        }
        if !past.follow(number, event) {
            continue;
        }
        let Some(id) = past.document.id.clone() else { continue };
        let is_taker = takers.get(&id.epoch) == Some(&event.run);
        check(is_taker, number, event, "who wrote it did not take the lock in its epoch")?;
        if let Some(before) = before {
            let is_same = before.owner == id.owner;
            let grows = id.epoch > before.epoch;
            check(is_same != grows, number, event, "its epoch does not grow with its owner")?;
            let follows = !is_same || id.step > before.step;
            check(follows, number, event, "its step does not follow")?;
        }
        before = Some(id);
    }
    Ok(())
}

/// P5: what a request is for was written down by its sender before it.
pub(crate) fn intents_come_first(history: &History) -> Verdict {
    let mut past = Past::default();
    for (number, event) in history.events.iter().enumerate() {
        past.follow(number, event);
        let What::Sent(request) = &event.what else { continue };
        let document = past.of(event.run);
        let is_at = |phase: &str| {
            let challenge = document.challenge(&request.url);
            let found = &challenge["state"]["pending"]["phase"];
            (phase.is_empty() || found == phase) && challenge["presented"]["isOwed"] == true
        };
        let phase = || document.order()["phase"].take();
        let is_written = match request.kind {
            Kind::NewAccount => past.accounts.values().any(|one| one["nextStep"] == "register"),
            Kind::NewOrder => phase() == "creating",
            Kind::Present => is_at("presenting"),
            Kind::Accept => is_at("accepting"),
            Kind::Finalize => phase()["finalizing"]["url"] == request.url.as_str(),
            Kind::Download => phase()["downloading"]["certificateURL"] == request.url.as_str(),
            Kind::CleanUp => is_at(""),
            Kind::Read => true,
        };
        check(is_written, number, event, "its intent is not written down")?;
    }
    Ok(())
}

/// P5: after another one's first write in a later epoch, a run sends what it had begun, and no more.
pub(crate) fn who_was_overtaken_sends_nothing(history: &History) -> Verdict {
    let mut past = Past::default();
    let mut begun: BTreeMap<usize, Vec<(usize, &Request)>> = BTreeMap::new();
    for (number, event) in history.events.iter().enumerate() {
        past.follow(number, event);
        match &event.what {
            What::Begun(request) => begun.entry(event.run).or_default().push((number, request)),
            What::Sent(request) => {
                let begun = begun.entry(event.run).or_default();
                let found = begun.iter().position(|(_, one)| *one == request);
                let since = found.map(|found| begun.remove(found).0);
                let overtaken = past.overtaken.get(&event.run);
                let is_right = overtaken.is_none_or(|at| since.is_some_and(|since| since < *at));
                check(is_right, number, event, "it was begun without the lock")?;
            }
            What::Stored(_)
            | What::Ordered(_)
            | What::Published { .. }
            | What::Paused
            | What::Killed
            | What::Disturbed => {}
        }
    }
    Ok(())
}

/// P6: revisions grow by one, and each has one certificate, in the store and on all hosts.
pub(crate) fn a_revision_is_one_certificate(history: &History) -> Verdict {
    let mut past = Past::default();
    let (mut certificates, mut last): (BTreeMap<u32, String>, u32) = (BTreeMap::new(), 0);
    for (number, event) in history.events.iter().enumerate() {
        let mut seen = None;
        if past.follow(number, event) {
            seen = past.document.live();
            if let Some((revision, _)) = &seen {
                let grows = (last..=last + 1).contains(revision);
                check(grows, number, event, "its revision does not follow")?;
                last = *revision;
            }
        } else if let What::Published { revision, fingerprint, .. } = &event.what {
            seen = Some((*revision, fingerprint.clone()));
        }
        let Some((revision, fingerprint)) = seen else { continue };
        let first = certificates.entry(revision).or_insert_with(|| fingerprint.clone());
        check(*first == fingerprint, number, event, "two certificates of one revision")?;
    }
    Ok(())
}

/// P7: what a host publishes never falls.
pub(crate) fn no_host_goes_back(history: &History) -> Verdict {
    let mut last: BTreeMap<Option<usize>, u32> = BTreeMap::new();
    for (number, event) in history.events.iter().enumerate() {
        let What::Published { revision, .. } = event.what else { continue };
        let host = history.hosts.get(event.run).copied().flatten();
        let before = last.insert(host, revision).unwrap_or_default();
        check(revision >= before, number, event, "an older pair is live")?;
    }
    Ok(())
}

/// P7: what is published was committed before.
pub(crate) fn commits_come_first(history: &History) -> Verdict {
    let mut past = Past::default();
    let mut committed = BTreeSet::new();
    for (number, event) in history.events.iter().enumerate() {
        past.follow(number, event);
        committed.extend(past.document.live());
        let What::Published { revision, fingerprint, .. } = &event.what else { continue };
        let is_committed = committed.contains(&(*revision, fingerprint.clone()));
        check(is_committed, number, event, "it is published before it is committed")?;
    }
    Ok(())
}

/// P8: the key of each host fits its certificate.
pub(crate) fn keys_fit(history: &History) -> Verdict {
    for (number, event) in history.events.iter().enumerate() {
        let is_other = matches!(event.what, What::Published { is_pair: false, .. });
        check(!is_other, number, event, "the key is not that of the certificate")?;
    }
    Ok(())
}

/// P11: an account is registered once, and once more for each run that goes on with it after another.
pub(crate) fn accounts_are_registered_once(history: &History) -> Verdict {
    let (mut last, mut excuses) = (None, 0);
    for (number, event) in history.events.iter().enumerate() {
        match &event.what {
            // The reply may have been lost, and the sender then asks again.
            What::Disturbed => excuses += usize::from(last == Some(event.run)),
            What::Sent(Request { kind: Kind::NewAccount, .. }) => {
                let is_same = last == Some(event.run);
                check(!is_same || excuses > 0, number, event, "it is registered once more")?;
                (last, excuses) = (Some(event.run), 0);
            }
            What::Stored(_)
            | What::Begun(_)
            | What::Sent(_)
            | What::Ordered(_)
            | What::Published { .. }
            | What::Paused
            | What::Killed => {}
        }
    }
    Ok(())
}

/// Each CSR is of the next key in the document of its sender, and an order gets one key.
pub(crate) fn an_order_has_one_key(history: &History) -> Verdict {
    let mut past = Past::default();
    let mut keys: BTreeMap<&str, &Option<String>> = BTreeMap::new();
    for (number, event) in history.events.iter().enumerate() {
        past.follow(number, event);
        let What::Sent(Request { kind: Kind::Finalize, url, key }) = &event.what else { continue };
        let stored = past.of(event.run).next_key();
        check(stored == *key, number, event, "the key is not that of the document")?;
        let first = keys.entry(url).or_insert(key);
        check(*first == key, number, event, "a second key for one order")?;
    }
    Ok(())
}

/// An order that no document names is the price of one disturbance of its sender: between when it had the
/// lock and when the URL was to be written.
pub(crate) fn orders_are_lost_by_disturbances_alone(history: &History) -> Verdict {
    let mut past = Past::default();
    let mut stored = BTreeSet::new();
    for (number, event) in history.events.iter().enumerate() {
        if past.follow(number, event) {
            let order = past.document.order();
            let phase = order["phase"].as_object().and_then(|phase| phase.values().next());
            stored.extend(phase.and_then(url_of));
        }
    }
    let mut is_open: BTreeMap<usize, bool> = BTreeMap::new();
    let mut excuses: BTreeMap<usize, usize> = BTreeMap::new();
    let mut lost: Vec<(usize, &Event)> = Vec::new();
    for (number, event) in history.events.iter().enumerate() {
        let is_open = is_open.entry(event.run).or_default();
        match &event.what {
            What::Begun(Request { kind: Kind::NewOrder, .. }) => *is_open = true,
            What::Paused | What::Killed | What::Disturbed if *is_open => {
                *excuses.entry(event.run).or_default() += 1;
            }
            What::Ordered(url) if !stored.contains(url) => lost.push((number, event)),
            // Its next write would have had the URL.
            What::Stored(Done::Changed(Key::Certificate(_), _)) => {
                *is_open = false;
            }
            What::Stored(_)
            | What::Begun(_)
            | What::Sent(_)
            | What::Ordered(_)
            | What::Published { .. }
            | What::Paused
            | What::Killed
            | What::Disturbed => {}
        }
    }
    for (number, event) in lost {
        let left = excuses.entry(event.run).or_default();
        check(*left > 0, number, event, "no disturbance explains this order")?;
        *left -= 1;
    }
    Ok(())
}

/// How many times something was presented by a run whose lock another one had meanwhile: nothing cleans
/// that up.
pub(crate) fn presented_late(history: &History) -> usize {
    let mut past = Past::default();
    let is_late = |(number, event): (usize, &Event)| {
        past.follow(number, event);
        let is_present = matches!(&event.what, What::Sent(one) if one.kind == Kind::Present);
        is_present && past.overtaken.contains_key(&event.run)
    };
    history.events.iter().enumerate().map(is_late).filter(|is_late| *is_late).count()
}

fn url_of(phase: &Value) -> Option<String> {
    let found = phase.get("url").or_else(|| phase.get("urls")?.get("url"))?;
    found.as_str().map(str::to_owned)
}

/// All that must be true of each history.
pub(crate) const ALL: [(&str, Predicate); 11] = [
    ("writes form chains", writes_form_chains),
    ("epochs count owners", epochs_count_owners),
    ("intents come first", intents_come_first),
    ("who was overtaken sends nothing", who_was_overtaken_sends_nothing),
    ("a revision is one certificate", a_revision_is_one_certificate),
    ("no host goes back", no_host_goes_back),
    ("commits come first", commits_come_first),
    ("keys fit", keys_fit),
    ("accounts are registered once", accounts_are_registered_once),
    ("an order has one key", an_order_has_one_key),
    ("orders are lost by disturbances alone", orders_are_lost_by_disturbances_alone),
];
