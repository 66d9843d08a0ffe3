//! One certificate's snapshot in memory, loaded from and written to the store.
//!
//! Changes are applied to the snapshot at once and written by [`Session::flush`], in the order in
//! which the controllers gave them; the engine flushes before it starts the next effect. What is
//! flushed is a step, which the next run finds after a kill; what the effect relies on is made
//! durable, and all of it in the end, by [`Session::settle`]. Between the load under the lock and
//! the end, no other process writes these documents.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::banned_keys::ban;
use super::goal::Goal;
use super::inputs::{account_id, id_of, spec_digest};
use super::lost_output::lost_output;
use super::ports::{Documents, Key, LeaseOf, LiveFiles, Part, Store, StoreError, Version};
use super::task::{Force, Task};
use super::{gather, host_section, links, pair};
use crate::controller::lost_record::Traces;
use crate::controller::{
    Answer, Change, Effect, Intervals, Record, ReliesOn, Run, Snapshot, challenge, fallback,
    lost_record, order, trigger,
};
use crate::pki;
use crate::resource::{
    Account, AccountIdentity, AccountStep, Certificate, CertificateRecord, CertificateRequest,
    CertificateStatus, ConditionType, Event, NamespacedName, Order, Reason, Rollback,
};
use crate::store::{CertificateDocument, Records};

/// See the module.
pub(crate) struct Session<'a, S: Store> {
    store: &'a S,
    pub(crate) name: NamespacedName,
    /// It is large, and moved often.
    pub(crate) snapshot: Box<Snapshot>,
    /// All documents of the certificate.
    document: CertificateDocument<'a, S::Documents>,
    /// The version of the account.
    account: Option<(Key, Version)>,
    /// The orders as they are on disk, by revision and number.
    stored_orders: HashMap<(u32, u32), Order>,
    /// The readable requests, but for the current and the next one.
    past_requests: Vec<CertificateRequest>,
    pending: Vec<Change>,
    events: Vec<Event>,
    /// What was written and is not durable.
    unsynced: Unsynced,
    /// The record as it is on disk.
    stored_record: Option<CertificateRecord>,
    /// Whether there are sets of files and none of them is live: then nothing is pruned.
    pub(super) is_lost: bool,
    /// Whether a killed run left temporary files.
    has_temporaries: bool,
    /// The wait for a lock that is needed to write.
    pub(super) lock_timeout: SignedDuration,
}

/// The most that a power loss may not take, of what was written and is not durable. In this order:
/// what must be durable for one must be for those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unsynced {
    Nothing,
    /// What the next run finds out again, from the CA or the live files.
    Progress,
    /// A key or a request: durable before a CA learns of the CSR.
    Request,
    /// The URL of an order, or a challenge that owes a clean-up: durable at once.
    Order,
}

/// What must be durable before these effects start.
fn relied_on(effects: &[Effect]) -> Unsynced {
    match effects.iter().map(Effect::relies_on).min() {
        Some(ReliesOn::Record) => Unsynced::Progress,
        Some(ReliesOn::Request) => Unsynced::Request,
        Some(ReliesOn::Order) | None => Unsynced::Order,
    }
}

/// What is stored of a certificate.
pub struct Seen {
    pub snapshot: Box<Snapshot>,
    /// By revision.
    pub requests: Vec<CertificateRequest>,
    /// By revision and number.
    pub orders: Vec<Order>,
}

impl<'a, S: Store> Session<'a, S> {
    /// Reads all documents of a certificate.
    pub(crate) async fn load(
        store: &'a S,
        task: &Task,
        intervals: Intervals,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let name = task.certificate.metadata.key();
        let document = CertificateDocument::read(store.documents(), &name).await?;
        Self::of(store, task, document, intervals, now).await
    }

    /// The same, under this lock.
    pub(crate) async fn load_under(
        lease: &LeaseOf<S>,
        store: &'a S,
        task: &Task,
        intervals: Intervals,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let name = task.certificate.metadata.key();
        let document = CertificateDocument::under(lease, store.documents(), &name).await?;
        Self::of(store, task, document, intervals, now).await
    }

    /// Reads everything again after the last write, of which not all is durable.
    pub(crate) async fn load_again(
        &self,
        task: &Task,
        intervals: Intervals,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let document = self.document.again().await?;
        let mut session = Self::of(self.store, task, document, intervals, now).await?;
        session.is_lost |= self.is_lost;
        session.lock_timeout = self.lock_timeout;
        session.unsynced = self.unsynced;
        Ok(session)
    }

    async fn of(
        store: &'a S,
        task: &Task,
        mut document: CertificateDocument<'a, S::Documents>,
        intervals: Intervals,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let name = task.certificate.metadata.key();
        let mut stored_record = document.record().await?;
        if let Some(record) = &mut stored_record {
            host_section::fill(store, &name, record)?;
        }
        let record = record_of(store, task, &mut document, stored_record.as_ref(), now).await?;
        let next = record.next_revision();
        let revisions = (record.status.revision, next);
        let (current_request, next_request, past_requests) =
            requests(&mut document, revisions).await?;
        let next_key = document.next_key().map(gather::key_facts);
        let banned = Records::new(store.documents()).banned_keys().await?;
        let secret = task.certificate.secret_key();
        let known =
            (stored_record.is_some() || record.status.revision.is_some()).then_some(&record);
        let mut live = links::live_files(store, &secret, known, current_request.as_ref()).await?;
        if let Some(record) = known {
            pair::follow(store, &name, &secret, record, &mut live).await?;
        }
        let links::SeenFiles { files, metadata, repair, is_lost } = live;
        let has_temporaries = store.live_files().has_temporaries(&name, &secret)?;
        let settings = task.settings();
        let goes_back = matches!(task.goal, Goal::RollBack(_))
            || record.rollback.as_ref().is_some_and(Rollback::is_owed);
        let sets = if goes_back { store.live_files().sets(&secret).await? } else { Vec::new() };
        let deployed = files.as_ref().filter(|_| !settings.deploy_targets().is_empty());
        let files_digest = deployed.map(gather::files_digest);
        let published = deployed.zip(files_digest.as_deref());
        let mut session = Self {
            store,
            name,
            snapshot: Box::new(Snapshot {
                certificate: Certificate::clone(&task.certificate),
                issuers: task.issuers.clone(),
                lost_output: published
                    .and_then(|(files, digest)| lost_output(&settings, &record, files, digest)),
                settings,
                record,
                files_digest,
                secret: files.map(|files| {
                    let pair = gather::pair_of(&files, metadata.unwrap_or_default());
                    files.free();
                    pair
                }),
                repair,
                sets: sets.iter().map(links::decoded).collect(),
                current_request,
                issued_profile: None,
                issued_account: None,
                next_request,
                next_key,
                account: None,
                order: None,
                retired: Vec::new(),
                order_count: 0,
                input_digest: task.input_digest.clone(),
                banned_keys: banned.map(|found| found.value).unwrap_or_default(),
                intervals,
                run: Run { unread_secret: task.unread_secret.clone(), ..Run::default() },
            }),
            document,
            account: None,
            stored_orders: HashMap::new(),
            past_requests,
            pending: Vec::new(),
            events: Vec::new(),
            unsynced: Unsynced::Nothing,
            stored_record,
            is_lost,
            has_temporaries,
            lock_timeout: SignedDuration::ZERO,
        };
        session.load_orders(next).await?;
        session.load_account().await?;
        Ok(session)
    }

    /// The newest order of the next revision, and all others that owe a clean-up.
    async fn load_orders(&mut self, next: u32) -> Result<(), StoreError> {
        for ((revision, number), found) in self.document.orders().await? {
            let order = found?;
            if self.snapshot.record.status.revision == Some(revision)
                && order.certificate().is_some()
            {
                self.snapshot.issued_profile = Some(order.spec.profile.clone());
                self.snapshot.issued_account = Some(order.spec.account_url.clone());
            }
            if revision == next && number > self.snapshot.order_count {
                self.snapshot.order_count = number;
                let displaced = self.snapshot.order.replace(order.clone());
                self.snapshot.retired.extend(displaced.filter(Order::owes_clean_up));
            } else if order.owes_clean_up() {
                self.snapshot.retired.push(order.clone());
            }
            self.stored_orders.insert((revision, number), order);
        }
        Ok(())
    }

    /// Reads the account again; another certificate or process may have registered it.
    pub(crate) async fn load_account(&mut self) -> Result<(), StoreError> {
        let id = self.account_id();
        self.snapshot.account = None;
        self.account = None;
        if let Some(found) = self.records().account(&id).await? {
            self.account = Some((Key::Account(id), found.revision));
            let is_gone = found.value.next_step == AccountStep::Deactivated;
            self.snapshot.account = (!is_gone).then_some(found.value);
        }
        Ok(())
    }

    /// What was read, for verbs that show it.
    pub(super) fn into_seen(self) -> Seen {
        let Self { snapshot, stored_orders, past_requests: mut requests, .. } = self;
        let known = snapshot.current_request.iter().chain(&snapshot.next_request);
        requests.reserve_exact(known.clone().count());
        requests.extend(known.cloned());
        requests.sort_by_key(|request| request.revision);
        let mut orders: Vec<_> = stored_orders.into_iter().collect();
        orders.sort_by_key(|(id, _)| *id);
        let orders = orders.into_iter().map(|(_, order)| order).collect();
        Seen { snapshot, requests, orders }
    }

    fn records(&self) -> Records<'a, S::Documents> {
        Records::new(self.store.documents())
    }

    /// The name under which the account of this certificate's issuer is stored.
    pub(crate) fn account_id(&self) -> String {
        account_id(&AccountIdentity::of(self.snapshot.issuer()))
    }

    /// An order of an earlier run: its challenges are presented again, and whether the CA received
    /// "accept" is read from the CA. The changed phases are written with the next flush.
    pub(crate) fn resume(&mut self) {
        let Some(order) = self.snapshot.order.clone() else { return };
        let (resumed, unsure) = challenge::resumed(order.clone());
        let run = &mut self.snapshot.run;
        for url in unsure {
            run.attempt_mut(&url).is_unsure = true;
        }
        for url in challenge::left_unanswered(&order) {
            run.attempt_mut(&url).is_cut_off = true;
        }
        for challenge in order.challenges.iter().filter(|challenge| challenge.owes_clean_up()) {
            run.attempt_mut(&challenge.spec.url).answer = Answer::MayBeOut;
        }
        if resumed != order {
            self.apply(Record::of(Change::Order(Box::new(resumed))));
        }
    }

    /// Whether a challenge that an earlier run presented may still be there.
    pub(crate) fn owes_clean_up(&self) -> bool {
        let snapshot = &self.snapshot;
        snapshot.retired.iter().chain(&snapshot.order).any(Order::owes_clean_up)
    }

    /// Sets Issuing, as `certctl renew` does. That overrides the backoff and the CA's Retry-After,
    /// which a failed order that is still open may wait for. Returns the record before, where nothing
    /// else asks for this issuance.
    pub(crate) fn force(&mut self, force: Force, now: Timestamp) -> Option<CertificateRecord> {
        let is_first = !self.snapshot.is_issuing() && !force.for_revocation;
        let before = is_first.then(|| self.snapshot.record.clone());
        if force.new_order
            && let Some(order) = self.snapshot.current_order()
        {
            let given_up = order::given_up(order, "replaced by renew --new-order", now);
            self.apply(Record::of(Change::Order(Box::new(given_up))));
        }
        if force.new_key {
            self.snapshot.run.new_key = true;
            if self.snapshot.next_key.is_some() {
                self.apply(Record::of(Change::DropNextKey));
            }
        }
        let mut record = self.snapshot.record.clone();
        record.retry_after = None;
        let issuing = self.snapshot.record.status.condition(ConditionType::Issuing);
        // What a revocation began is from now on requested by `renew`, too.
        let is_of_revocation = issuing.is_some_and(|issuing| issuing.reason == Reason::Revoked);
        if !self.snapshot.is_issuing() || (is_of_revocation && !force.for_revocation) {
            let (reason, message) = if force.for_revocation {
                (Reason::Revoked, "Issuing certificate as its revocation was requested")
            } else {
                (Reason::ManuallyTriggered, "Certificate re-issuance manually triggered")
            };
            let record = trigger::issuing(&record, reason, message, now);
            let record = Record::of(Change::Certificate(Box::new(record)));
            self.apply(record.normal(now, Reason::Issuing, message));
        } else if record != self.snapshot.record {
            self.apply(Record::of(Change::Certificate(Box::new(record))));
        }
        before
    }

    /// The CA is asked whatever it said.
    pub(crate) fn forget_retry_after(&mut self) {
        if self.snapshot.record.retry_after.is_some() {
            let record = CertificateRecord { retry_after: None, ..self.snapshot.record.clone() };
            self.apply(Record::of(Change::Certificate(Box::new(record))));
        }
    }

    /// Whether a killed run left temporary files.
    pub(crate) fn has_temporaries(&self) -> bool {
        self.has_temporaries
    }

    /// Removes the temporary files that killed runs left, under the lock.
    pub(crate) fn remove_temporaries(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.has_temporaries) {
            let secret = self.snapshot.certificate.secret_key();
            self.store.live_files().remove_temporaries(&self.name, &secret)?;
        }
        Ok(())
    }

    /// Whether the record in memory differs from the one on disk.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.stored_record.as_ref() != Some(&self.snapshot.record)
    }

    /// Whether a record was ever written.
    pub(crate) fn is_known(&self) -> bool {
        self.stored_record.is_some()
    }

    /// Applies changes to the snapshot, to be written by the next flush.
    pub(crate) fn apply(&mut self, record: Record) {
        for change in record.changes {
            self.remember(&change);
            // A newer version replaces the document that is to be written last.
            match (self.pending.last_mut(), change) {
                (Some(Change::Order(old)), Change::Order(new)) if old.name == new.name => {
                    *old = new;
                }
                (Some(Change::Certificate(old)), Change::Certificate(new)) => *old = new,
                (_, change) => self.pending.push(change),
            }
        }
        self.events.extend(record.events);
    }

    fn remember(&mut self, change: &Change) {
        let snapshot = &mut self.snapshot;
        match change {
            Change::Certificate(record) => {
                snapshot.record = (**record).clone();
                let live = snapshot.record.status.revision;
                let promoted = snapshot.next_request.take_if(|next| Some(next.revision) == live);
                if promoted.is_some() {
                    snapshot.current_request = promoted;
                }
            }
            Change::Request(request) => {
                if snapshot.record.status.revision == Some(request.revision) {
                    snapshot.current_request = Some((**request).clone());
                } else {
                    snapshot.next_request = Some((**request).clone());
                }
            }
            Change::DropRequest(_) => snapshot.next_request = None,
            Change::Order(order) => remember_order(snapshot, order),
            Change::NextKey(_, facts) => snapshot.next_key = Some(Ok(facts.clone())),
            Change::DropNextKey => snapshot.next_key = None,
            Change::AccountKey(_, account) | Change::Account(account) => {
                snapshot.account = Some((**account).clone());
            }
            Change::Ban(key) => snapshot.banned_keys.keys.push(key.clone()),
            Change::Revoked(_) => {}
        }
    }

    /// Writes what has changed, then the journal, before these effects start: what they rely on is
    /// durable then. Returns the events, to be shown.
    pub(crate) async fn flush(&mut self, before: &[Effect]) -> Result<Vec<Event>, StoreError> {
        for change in std::mem::take(&mut self.pending) {
            self.write(change).await?;
        }
        if self.unsynced >= relied_on(before) {
            self.store.documents().sync(&Key::Certificate(self.name.clone())).await?;
            self.unsynced = Unsynced::Nothing;
        }
        let events = std::mem::take(&mut self.events);
        if !events.is_empty() {
            self.records().note_events(&self.name, &events).await?;
        }
        Ok(events)
    }

    /// Writes what has changed; the events belong to no certificate's journal.
    pub(crate) async fn flush_without_journal(&mut self) -> Result<(), StoreError> {
        self.events.clear();
        self.flush(&[]).await.map(drop)
    }

    /// Writes what has changed, all of it durably: the work under this lock is done. Returns the
    /// events, to be shown.
    pub(crate) async fn finish(&mut self) -> Result<Vec<Event>, StoreError> {
        let events = self.flush(&[]).await?;
        self.settle().await?;
        Ok(events)
    }

    /// Writes the documents to their own files. An order that has its certificate and owes nothing
    /// is history: its request has the certificate too.
    pub(crate) async fn settle(&mut self) -> Result<(), StoreError> {
        let is_past = |order: &Order| order.certificate().is_some() && !order.owes_clean_up();
        let orders = self.stored_orders.iter().filter(|(_, order)| is_past(order));
        let past = orders.map(|((of, number), _)| Part::Order(*of, *number));
        self.document.settle(&past.collect::<Vec<_>>()).await?;
        self.unsynced = Unsynced::Nothing;
        Ok(())
    }

    async fn write(&mut self, change: Change) -> Result<(), StoreError> {
        self.unsynced = self.unsynced.max(self.promised(&change));
        match change {
            Change::Certificate(record) => {
                let before = self.stored_record.as_ref();
                host_section::write(self.store, &self.name, before, &record)?;
                self.document.put_record(&record).await?;
                self.stored_record = Some(*record);
            }
            Change::Request(request) => self.document.put_request(&request).await?,
            Change::DropRequest(revision) => {
                self.document.remove(&[Part::Request(revision)]).await?;
            }
            Change::Order(order) => {
                let id = (order.spec.revision, order.number);
                self.document.put_order(id, &order, self.stored_orders.get(&id)).await?;
                self.stored_orders.insert(id, *order);
            }
            Change::NextKey(pem, _) => self.document.put_next_key(pem.0.as_bytes()).await?,
            Change::DropNextKey => self.document.remove(&[Part::NextKey]).await?,
            Change::AccountKey(pem, account) => {
                self.write_account_key(id_of(&account), pem.0.as_bytes()).await?;
                self.write_account(&account).await?;
            }
            Change::Account(account) => {
                self.write_account(&account).await?;
                if account.next_step == AccountStep::Deactivated {
                    self.set_account_key_aside(id_of(&account)).await?;
                }
            }
            Change::Ban(key) => ban(self.store, key, self.lock_timeout).await?,
            Change::Revoked(revoked) => self.records().remember_revoked(&revoked).await?,
        }
        Ok(())
    }

    /// What a power loss may not take of this change. That of an account is durable as it is written.
    fn promised(&self, change: &Change) -> Unsynced {
        match change {
            Change::Order(order) => {
                let old = self.stored_orders.get(&(order.spec.revision, order.number));
                let owed = |order: &Order| {
                    order.challenges.iter().filter(|challenge| challenge.owes_clean_up()).count()
                };
                let is_named = old.and_then(Order::url) != order.url();
                let owes_more = owed(order) > old.map_or(0, owed);
                if is_named || owes_more { Unsynced::Order } else { Unsynced::Progress }
            }
            Change::Request(_) | Change::NextKey(..) => Unsynced::Request,
            Change::Certificate(_) | Change::DropRequest(_) | Change::DropNextKey => {
                Unsynced::Progress
            }
            Change::AccountKey(..) | Change::Account(_) | Change::Ban(_) | Change::Revoked(_) => {
                Unsynced::Nothing
            }
        }
    }

    /// A run that was killed before it wrote the account left its key. It is used again, or
    /// set aside when the referenced secret holds another one now.
    async fn write_account_key(&self, id: String, pem: &[u8]) -> Result<(), StoreError> {
        let key = Key::AccountKey(id);
        if let Some(left) = self.store.documents().get(&key).await? {
            if left.bytes.as_slice() == pem {
                return Ok(());
            }
            self.store.documents().quarantine(&key, &left.revision).await?;
        }
        self.store.documents().create(&key, pem).await.map(drop)
    }

    /// After the record: a key without an account would be used again.
    async fn set_account_key_aside(&self, id: String) -> Result<(), StoreError> {
        let key = Key::AccountKey(id);
        if let Some(stored) = self.store.documents().get(&key).await? {
            self.store.documents().quarantine(&key, &stored.revision).await?;
        }
        Ok(())
    }

    async fn write_account(&mut self, account: &Account) -> Result<(), StoreError> {
        let id = id_of(account);
        let key = Key::Account(id.clone());
        let seen = self.account.take().filter(|(of, _)| *of == key).map(|(_, version)| version);
        let version = self.records().put_account(&id, account, seen.as_ref()).await?;
        self.account = Some((key, version));
        Ok(())
    }

    /// Removes requests and orders that are no longer needed.
    pub(crate) async fn prune(&mut self) -> Result<(), StoreError> {
        if self.is_lost {
            return Ok(());
        }
        let limit = self.snapshot.certificate.spec.revision_history_limit.unwrap_or(1);
        let limit = usize::try_from(limit).unwrap_or(1);
        self.document.prune(&self.snapshot.record, limit).await.map(drop)
    }
}

/// The record with the current manifest in it; a missing one, as far as the other documents and the
/// files say what was in it.
async fn record_of<S: Store>(
    store: &S,
    task: &Task,
    document: &mut CertificateDocument<'_, S::Documents>,
    stored: Option<&CertificateRecord>,
    now: Timestamp,
) -> Result<CertificateRecord, StoreError> {
    let record = brought_up_to_date(stored.cloned(), task, now);
    if stored.is_some() {
        return Ok(record);
    }
    let certificate = &task.certificate;
    let traces = traces(store, document, &certificate.secret_key()).await?;
    let issuer = fallback::choose(&task.issuers, &record);
    Ok(lost_record::rebuilt(record, &traces, certificate, issuer, now))
}

/// What exists of a certificate that has no record.
async fn traces<S: Store>(
    store: &S,
    document: &mut CertificateDocument<'_, S::Documents>,
    secret: &NamespacedName,
) -> Result<Traces, StoreError> {
    let mut traces = Traces::default();
    for (revision, found) in document.requests().await? {
        let issued = found?.certificate;
        let leaf = issued.and_then(|pem| pki::leaf_facts(&pem).ok());
        traces.requests.insert(revision, leaf.map(|leaf| leaf.fingerprint));
    }
    for ((revision, _), found) in document.orders().await? {
        if found?.certificate().is_some() {
            traces.orders.insert(revision);
        }
    }
    traces.sets = store.live_files().sets(secret).await?.iter().map(links::decoded).collect();
    if !traces.sets.iter().any(|set| set.is_live) {
        traces.others =
            store.live_files().published(secret).await?.as_ref().map(gather::published_pair);
    }
    Ok(traces)
}

/// The request of the live revision, that of the next, and the others.
type Requests = (Option<CertificateRequest>, Option<CertificateRequest>, Vec<CertificateRequest>);

async fn requests<D: Documents>(
    document: &mut CertificateDocument<'_, D>,
    (current, next): (Option<u32>, u32),
) -> Result<Requests, StoreError> {
    let (mut current_request, mut next_request, mut past) = (None, None, Vec::new());
    for (revision, found) in document.requests().await? {
        let (is_current, is_next) = (current == Some(revision), revision == next);
        let found = match found {
            Err(error) if is_current || is_next => return Err(error),
            Err(_) => continue,
            Ok(found) => found,
        };
        if is_current {
            current_request = Some(found);
        } else if is_next {
            next_request = Some(found);
        } else {
            past.push(found);
        }
    }
    Ok((current_request, next_request, past))
}

fn remember_order(snapshot: &mut Snapshot, order: &Order) {
    if let Some(old) = snapshot.retired.iter_mut().find(|old| old.name == order.name) {
        *old = order.clone();
        return;
    }
    match &mut snapshot.order {
        Some(current) if current.name == order.name => *current = order.clone(),
        current => {
            let displaced = current.replace(order.clone());
            snapshot.order_count = snapshot.order_count.max(order.number);
            snapshot.retired.extend(displaced.filter(Order::owes_clean_up));
        }
    }
}

/// The record with the current manifest in it: another spec is another generation.
fn brought_up_to_date(
    stored: Option<CertificateRecord>,
    task: &Task,
    now: Timestamp,
) -> CertificateRecord {
    let spec = &task.certificate.spec;
    let mut record = stored.unwrap_or_else(|| CertificateRecord {
        creation_timestamp: now,
        generation: 1,
        spec_digest: spec_digest(spec),
        secret_name: spec.secret_name.clone(),
        manifest: task.manifest.clone(),
        references: task.references.clone(),
        directory_urls: std::collections::BTreeMap::new(),
        issued_fingerprint: None,
        retry_after: None,
        last_failure: None,
        attempted_inputs: Vec::new(),
        deployments: Vec::new(),
        alerted: 0,
        notices: Vec::new(),
        revocations: Vec::new(),
        rollback: None,
        status: CertificateStatus::default(),
    });
    let digest = spec_digest(spec);
    if record.spec_digest != digest {
        record.generation = record.generation.saturating_add(1);
        record.spec_digest = digest;
        // What was reported was about another spec.
        record.notices.clear();
    }
    record.secret_name.clone_from(&spec.secret_name);
    if task.manifest.is_some() {
        record.manifest.clone_from(&task.manifest);
        record.references.clone_from(&task.references);
    }
    record
}
