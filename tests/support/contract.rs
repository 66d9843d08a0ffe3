//! The contract of `Documents`, clause by clause, for any store.
//!
//! Contract: each clause begins with an empty store, and opens it as several hosts. Documents of a
//! certificate are written under its lock and settled, an account's under the account's, and no two
//! writes are of the same bytes, so that a store in which answers are lost can be held to them too
//! (`resolved`).

use std::cell::Cell;
use std::collections::BTreeSet;
use std::pin::Pin;
use std::task::Poll;

use certctl::engine::ports::{
    Collection, Documents, Key, Lease as _, Lock, Log, Page, Part, StoreError, Stored, Version,
};
use certctl::resource::NamespacedName;
use certctl::store::Frame;
use futures_util::future::join_all;
use jiff::SignedDuration;
use zeroize::Zeroizing;

/// A store, as the hosts have it that share it.
pub(crate) trait Hosts {
    type Host: Documents;

    /// Opens it as one more host.
    fn host(&self) -> impl Future<Output = Self::Host>;

    /// Lets time pass for all hosts and the store. Only called where leases run out.
    fn pass(&self, by: SignedDuration) -> impl Future<Output = ()>;

    /// What was quarantined of a document, oldest first.
    fn aside(&self, key: &Key) -> impl Future<Output = Vec<Vec<u8>>>;
}

/// One clause; it panics where the store breaks it.
pub(crate) struct Clause<H> {
    pub(crate) name: &'static str,
    pub(crate) holds: for<'a> fn(&'a H) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
}

macro_rules! clauses {
    ($($name:ident),* $(,)?) => {
        /// All of them.
        pub(crate) fn clauses<H: Hosts>() -> Vec<Clause<H>> {
            vec![$(Clause {
                name: stringify!($name),
                holds: |hosts| Box::pin($name(hosts)),
            }),*]
        }
    };
}

clauses![
    a_document_that_exists_is_not_created,
    a_write_over_another_version_is_refused_and_changes_nothing,
    a_document_that_is_not_there_is_not_replaced,
    a_read_after_a_write_that_returned_sees_it_on_all_hosts,
    bytes_come_back_as_they_were,
    the_version_of_a_write_is_that_of_the_next_read,
    other_bytes_have_another_version,
    what_is_not_there_can_be_deleted,
    a_deleted_document_can_be_created_again,
    with_the_record_of_a_certificate_goes_all_that_is_stored_of_it,
    a_part_of_a_certificate_is_read_and_set_aside_by_itself,
    a_quarantined_document_is_gone_and_its_bytes_are_not_lost,
    quarantine_refuses_what_changed_since,
    a_list_has_each_key_once_in_order,
    a_list_has_its_collection_alone,
    a_list_has_what_was_created_before_it,
    a_list_continues_after_a_key_that_is_gone,
    a_log_has_its_lines_in_the_order_of_the_appends,
    each_log_has_its_own_lines,
    lines_that_hosts_append_at_once_are_all_in_the_log,
    a_lease_excludes_all_others,
    a_lease_leaves_other_locks_free,
    a_lease_is_waited_for,
    a_lease_ends_when_it_is_dropped,
    each_holder_has_a_greater_epoch,
    a_lease_is_held_while_it_has_time_left,
    a_renewed_lease_is_held_longer,
    a_lease_that_ran_out_is_another_holders,
    the_work_under_a_lease_is_done_by_one_at_a_time,
    of_many_writers_of_a_version_one_is_first,
    of_many_creators_one_is_first,
    sync_and_settle_change_nothing_for_readers,
    each_document_has_a_place_of_its_own,
];

/// More than a killed holder's lease lasts, several times.
const PATIENCE: SignedDuration = SignedDuration::from_hours(24);
/// Less than any lease lasts, and more than a request takes.
const SHORT: SignedDuration = SignedDuration::from_secs(10);
const SECOND: SignedDuration = SignedDuration::from_secs(1);

fn named(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn web() -> NamespacedName {
    named("web")
}

/// One of each kind.
fn kinds<H: Hosts>() -> Vec<Key> {
    let pair = H::Host::SHARED.then(|| pair(&web(), 1, "ab"));
    let kinds = [
        Key::Certificate(web()),
        Key::Account("ab".to_owned()),
        Key::AccountKey("ab".to_owned()),
        Key::AccountLimits("ab".to_owned()),
        Key::BannedKeys,
        Key::Revoked("ab".to_owned()),
        Key::Scheduler,
    ];
    kinds.into_iter().chain(pair).collect()
}

fn pair(of: &NamespacedName, revision: u32, fingerprint: &str) -> Key {
    Key::Pair(of.clone(), revision, fingerprint.to_owned())
}

/// The lock under which a document is written.
fn lock_of(key: &Key) -> Option<Lock> {
    match key {
        Key::Certificate(name) | Key::Part(name, _) | Key::Pair(name, ..) => {
            Some(Lock::Certificate(name.clone()))
        }
        Key::Account(digest) | Key::AccountKey(digest) | Key::AccountLimits(digest) => {
            Some(Lock::Account(digest.clone()))
        }
        Key::BannedKeys | Key::Scheduler => Some(Lock::Scheduler),
        Key::Revoked(_) => None,
    }
}

/// A store in which what is stored of a certificate has one part, and its bytes.
struct Framed<D>(D);

async fn open<H: Hosts>(hosts: &H) -> Framed<H::Host> {
    Framed(hosts.host().await)
}

/// A document with these parts.
pub(crate) fn frame(parts: &[(Part, &[u8])]) -> Vec<u8> {
    let parts = parts.iter().map(|(part, bytes)| (*part, Zeroizing::new(bytes.to_vec())));
    Frame { parts: parts.collect(), ..Frame::default() }.bytes().to_vec()
}

impl<D: Documents> Framed<D> {
    fn framed(key: &Key, bytes: &[u8]) -> Vec<u8> {
        if let Key::Certificate(_) = key {
            return frame(&[(Part::Record, bytes)]);
        }
        bytes.to_vec()
    }

    async fn parts(&self, name: &NamespacedName) -> Vec<(Part, Vec<u8>)> {
        let found = self.0.get(&Key::Certificate(name.clone())).await.unwrap();
        let frame = found.map(|found| Frame::read(&found.bytes, "here").unwrap());
        let parts = frame.unwrap_or_default().parts.into_iter();
        parts.map(|(part, bytes)| (part, bytes.to_vec())).collect()
    }
}

impl<D: Documents> Documents for Framed<D> {
    const SHARED: bool = D::SHARED;

    type Lease = D::Lease;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        let found = self.0.get(key).await?;
        let (Key::Certificate(_), Some(found)) = (key, &found) else { return Ok(found) };
        let mut parts = Frame::read(&found.bytes, &self.place(key))?.parts;
        let (bytes, revision) = (parts.remove(&Part::Record).unwrap(), found.revision.clone());
        Ok(Some(Stored { bytes, revision }))
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        self.0.create(key, &Self::framed(key, bytes)).await
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        self.0.put_if(key, &Self::framed(key, bytes), seen).await
    }

    async fn sync(&self, key: &Key) -> Result<(), StoreError> {
        self.0.sync(key).await
    }

    async fn settle(&self, key: &Key, past: &[Key]) -> Result<(), StoreError> {
        self.0.settle(key, past).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.0.delete(key).await
    }

    /// Its one part, as it was when the document had this version.
    async fn quarantine(&self, key: &Key, seen: &Version) -> Result<String, StoreError> {
        let Key::Certificate(name) = key else { return self.0.quarantine(key, seen).await };
        let found = self.get(key).await?.filter(|found| found.revision == *seen);
        let seen = found.map_or(Version(String::new()), |found| Version::of(&found.bytes));
        self.0.quarantine(&Part::Record.of(name), &seen).await
    }

    async fn list(&self, of: &Collection, last: Option<&Key>) -> Result<Page, StoreError> {
        self.0.list(of, last).await
    }

    async fn append(&self, log: &Log, lines: &[String]) -> Result<(), StoreError> {
        self.0.append(log, lines).await
    }

    async fn read_log(&self, log: &Log) -> Result<Vec<String>, StoreError> {
        self.0.read_log(log).await
    }

    async fn lease(&self, lock: &Lock, wait: SignedDuration) -> Result<D::Lease, StoreError> {
        self.0.lease(lock, wait).await
    }

    fn place(&self, key: &Key) -> String {
        self.0.place(key)
    }
}

/// What was set aside of a document, oldest first.
async fn aside<H: Hosts>(hosts: &H, key: &Key) -> Vec<Vec<u8>> {
    if let Key::Certificate(name) = key {
        return hosts.aside(&Part::Record.of(name)).await;
    }
    hosts.aside(key).await
}

async fn held<D: Documents>(host: &D, lock: &Lock) -> D::Lease {
    host.lease(lock, PATIENCE).await.unwrap()
}

/// Works on a document under its lock, to the end.
async fn work<D: Documents, T>(host: &D, key: &Key, work: impl AsyncFnOnce() -> T) -> T {
    let mut lease = None;
    if let Some(lock) = lock_of(key) {
        lease = Some(held(host, &lock).await);
    }
    let done = work().await;
    host.settle(key, &[]).await.unwrap();
    drop(lease);
    done
}

async fn create<D: Documents>(host: &D, key: &Key, bytes: &[u8]) -> Version {
    work(host, key, async || host.create(key, bytes).await.unwrap()).await
}

async fn put<D: Documents>(host: &D, key: &Key, bytes: &[u8], seen: &Version) -> Version {
    work(host, key, async || host.put_if(key, bytes, seen).await.unwrap()).await
}

async fn delete<D: Documents>(host: &D, key: &Key) {
    work(host, key, async || host.delete(key).await.unwrap()).await;
}

async fn read<D: Documents>(host: &D, key: &Key) -> Option<Stored> {
    host.get(key).await.unwrap()
}

async fn bytes<D: Documents>(host: &D, key: &Key) -> Option<Vec<u8>> {
    read(host, key).await.map(|found| found.bytes.to_vec())
}

/// The document has these bytes on these hosts.
async fn is<D: Documents>(hosts: &[&D], key: &Key, expected: Option<&[u8]>) {
    for host in hosts {
        assert_eq!(bytes(*host, key).await.as_deref(), expected, "{key:?}");
    }
}

#[track_caller]
fn is_conflict<T: std::fmt::Debug>(found: &Result<T, StoreError>) {
    assert!(matches!(found, Err(StoreError::Conflict { .. })), "{found:?}");
}

#[track_caller]
fn is_locked<T: std::fmt::Debug>(found: &Result<T, StoreError>) {
    let Err(StoreError::Locked { what, holder }) = found else { panic!("{found:?}") };
    assert!(!what.is_empty() && !holder.is_empty());
}

/// Lets the other tasks go first.
async fn turn() {
    let mut is_over = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn a_document_that_exists_is_not_created<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>() {
        let version = create(&one, &key, b"first").await;
        for host in [&one, &other] {
            let found = work(host, &key, async || host.create(&key, b"second").await).await;
            is_conflict(&found);
        }
        is(&[&one, &other], &key, Some(b"first")).await;
        // Nor where the work has not ended.
        work(&other, &key, async || {
            let version = other.put_if(&key, b"third", &version).await.unwrap();
            is_conflict(&other.create(&key, b"fourth").await);
            assert_eq!(read(&other, &key).await.unwrap().revision, version);
        })
        .await;
        is(&[&one, &other], &key, Some(b"third")).await;
    }
}

async fn a_write_over_another_version_is_refused_and_changes_nothing<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>() {
        let first = create(&one, &key, b"first").await;
        let second = put(&other, &key, b"second", &first).await;
        for (host, text) in [(&one, b"third"), (&other, b"forth")] {
            let found = work(host, &key, async || host.put_if(&key, text, &first).await).await;
            is_conflict(&found);
            is(&[&one, &other], &key, Some(b"second")).await;
        }
        // What was refused spoils nothing: the version that was read is replaced.
        put(&one, &key, b"fifth", &second).await;
        is(&[&one, &other], &key, Some(b"fifth")).await;
    }
}

async fn a_document_that_is_not_there_is_not_replaced<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>() {
        let version = create(&one, &key, b"first").await;
        delete(&one, &key).await;
        let found =
            work(&other, &key, async || other.put_if(&key, b"second", &version).await).await;
        is_conflict(&found);
        is(&[&one, &other], &key, None).await;
    }
}

async fn a_read_after_a_write_that_returned_sees_it_on_all_hosts<H: Hosts>(hosts: &H) {
    let all = [open(hosts).await, open(hosts).await, open(hosts).await];
    for key in kinds::<H>() {
        is(&all.each_ref(), &key, None).await;
        let mut version = create(&all[0], &key, b"0").await;
        is(&all.each_ref(), &key, Some(b"0")).await;
        for number in 1..6 {
            let (host, text) = (&all[number % 3], number.to_string());
            // At once, before the work is settled.
            version = work(host, &key, async || {
                let version = host.put_if(&key, text.as_bytes(), &version).await.unwrap();
                is(&all.each_ref(), &key, Some(text.as_bytes())).await;
                version
            })
            .await;
            is(&all.each_ref(), &key, Some(text.as_bytes())).await;
        }
        work(&all[1], &key, async || {
            all[1].delete(&key).await.unwrap();
            is(&all.each_ref(), &key, None).await;
        })
        .await;
        is(&all.each_ref(), &key, None).await;
    }
}

async fn bytes_come_back_as_they_were<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    let every: Vec<u8> = (0..=255).collect();
    let samples: [&[u8]; 4] = [&every, b"", b"\n\0\r\n", "\u{e9}".as_bytes()];
    // The queue is never empty.
    for key in kinds::<H>().into_iter().filter(|key| *key != Key::Scheduler) {
        let mut version = create(&one, &key, b"begun").await;
        for sample in samples {
            version = put(&one, &key, sample, &version).await;
            assert_eq!(bytes(&other, &key).await.as_deref(), Some(sample), "{key:?}");
        }
    }
    // An order of a hundred names, several times over.
    let large = [every.repeat(1 << 12), every.repeat(1 << 13)];
    for (number, sample) in (1..).zip(samples.into_iter().chain([&*large[0]])) {
        let key = Key::Certificate(named(&format!("new-{number}")));
        let version = create(&one, &key, sample).await;
        assert!(bytes(&other, &key).await.as_deref() == Some(sample), "{key:?}");
        if number == 1 {
            put(&one, &key, &large[1], &version).await;
            assert!(bytes(&other, &key).await.as_ref() == Some(&large[1]), "{key:?}");
        }
    }
}

async fn the_version_of_a_write_is_that_of_the_next_read<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>() {
        let mut version = create(&one, &key, b"0").await;
        for text in [b"1", b"2"] {
            for host in [&one, &other] {
                assert_eq!(read(host, &key).await.unwrap().revision, version, "{key:?}");
            }
            version = put(&one, &key, text, &version).await;
        }
        assert_eq!(read(&other, &key).await.unwrap().revision, version, "{key:?}");
    }
}

async fn other_bytes_have_another_version<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>() {
        let mut version = create(&one, &key, b"0").await;
        let mut seen = vec![version.clone()];
        for (number, host) in (1..6).zip([&one, &other].into_iter().cycle()) {
            version = put(host, &key, format!("{number}").as_bytes(), &version).await;
            assert!(!seen.contains(&version), "{key:?}: {seen:?}");
            seen.push(version.clone());
        }
        delete(&one, &key).await;
        let again = create(&other, &key, b"again").await;
        assert!(!seen.contains(&again), "{key:?}: {seen:?}");
    }
}

async fn what_is_not_there_can_be_deleted<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>() {
        delete(&one, &key).await;
        create(&one, &key, b"first").await;
        delete(&other, &key).await;
        delete(&other, &key).await;
        delete(&one, &key).await;
        is(&[&one, &other], &key, None).await;
    }
}

async fn a_deleted_document_can_be_created_again<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>() {
        create(&one, &key, b"first").await;
        delete(&one, &key).await;
        create(&other, &key, b"second").await;
        is(&[&one, &other], &key, Some(b"second")).await;
        // In one go, too.
        let version = work(&one, &key, async || {
            one.delete(&key).await.unwrap();
            one.create(&key, b"third").await.unwrap()
        })
        .await;
        put(&other, &key, b"fourth", &version).await;
        is(&[&one, &other], &key, Some(b"fourth")).await;
    }
}

async fn with_the_record_of_a_certificate_goes_all_that_is_stored_of_it<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    let names = [web(), named("web-1")];
    let event = lines("web", 0..1);
    for name in &names {
        create(&one, &Key::Certificate(name.clone()), b"begun").await;
        append(&one, &Log::Events(name.clone()), &event).await;
    }
    let account = Key::Account("ab".to_owned());
    create(&one, &account, b"begun").await;
    if H::Host::SHARED {
        for (name, fingerprint) in names.iter().zip(["ab", "cd"]) {
            create(&one, &pair(name, 1, fingerprint), b"begun").await;
        }
    }
    delete(&other, &Key::Certificate(web())).await;
    let all = [&one, &other];
    is(&all, &Key::Certificate(web()), None).await;
    if H::Host::SHARED {
        is(&all, &pair(&web(), 1, "ab"), None).await;
        is(&all, &pair(&names[1], 1, "cd"), Some(b"begun")).await;
    }
    for key in [&Key::Certificate(names[1].clone()), &account] {
        is(&all, key, Some(b"begun")).await;
    }
    for host in all {
        let certificates = listed(host, &Collection::Certificates).await;
        assert_eq!(certificates, [Key::Certificate(names[1].clone())]);
        assert_eq!(host.0.get(&Part::Record.of(&web())).await.unwrap(), None);
        assert_eq!(host.read_log(&Log::Events(web())).await.unwrap(), [""; 0]);
        assert_eq!(whole_lines(host, &Log::Events(names[1].clone()), &event).await, event);
    }
    create(&one, &Key::Certificate(web()), b"again").await;
    is(&all, &Key::Certificate(web()), Some(b"again")).await;
}

async fn a_part_of_a_certificate_is_read_and_set_aside_by_itself<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    let key = Key::Certificate(web());
    let parts = |order: &'static str| -> [(Part, &'static [u8]); 4] {
        [
            (Part::Record, b"record\n"),
            (Part::Request(10), b""),
            (Part::Order(10, 1), order.as_bytes()),
            (Part::NextKey, b"key\n"),
        ]
    };
    let (begun, damaged) = (frame(&parts("begun")), frame(&parts("damaged")));
    let first = work(&one, &key, async || one.0.create(&key, &begun).await.unwrap()).await;
    work(&other, &key, async || other.0.put_if(&key, &damaged, &first).await.unwrap()).await;
    let order = Part::Order(10, 1).of(&web());
    for host in [&one.0, &other.0] {
        for (part, bytes) in parts("damaged") {
            let found = host.get(&part.of(&web())).await.unwrap().unwrap();
            assert_eq!((&**found.bytes, found.revision), (bytes, Version::of(bytes)), "{part:?}");
        }
        assert_eq!(host.get(&Part::Request(9).of(&web())).await.unwrap(), None);
    }
    let seen = [Version::of(b"begun"), Version::of(b"damaged")];
    work(&one, &key, async || is_conflict(&one.0.quarantine(&order, &seen[0]).await)).await;
    work(&one, &key, async || one.0.quarantine(&order, &seen[1]).await.unwrap()).await;
    work(&one, &key, async || is_conflict(&one.0.quarantine(&order, &seen[1]).await)).await;
    assert_eq!(hosts.aside(&order).await, [b"damaged"]);
    let mut left = parts("").to_vec();
    left.remove(2);
    for host in [&one, &other] {
        let found = host.parts(&web()).await;
        assert!(found.iter().map(|(part, bytes)| (*part, &bytes[..])).eq(left.iter().copied()));
        assert_eq!(host.0.get(&order).await.unwrap(), None);
    }
    // Nor is what was read before it replaced.
    let put = async || is_conflict(&other.0.put_if(&key, &begun, &first).await);
    work(&other, &key, put).await;
}

async fn a_quarantined_document_is_gone_and_its_bytes_are_not_lost<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    // The queue is of no use to another run.
    for key in kinds::<H>().into_iter().filter(|key| *key != Key::Scheduler) {
        let first = create(&one, &key, b"fir\xffst").await;
        let name = work(&other, &key, async || other.quarantine(&key, &first).await.unwrap()).await;
        assert!(!name.is_empty() && name != other.place(&key), "{name}");
        is(&[&one, &other], &key, None).await;
        assert_eq!(aside(hosts, &key).await, [b"fir\xffst"], "{key:?}");
        // What was written in the same work, too; and nothing that is there is overwritten.
        work(&one, &key, async || {
            let begun = one.create(&key, b"begun").await.unwrap();
            let second = one.put_if(&key, b"second", &begun).await.unwrap();
            one.quarantine(&key, &second).await.unwrap();
            one.create(&key, b"third").await.unwrap();
        })
        .await;
        is(&[&one, &other], &key, Some(b"third")).await;
        assert_eq!(aside(hosts, &key).await, [&b"fir\xffst"[..], b"second"], "{key:?}");
    }
}

async fn quarantine_refuses_what_changed_since<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>().into_iter().filter(|key| *key != Key::Scheduler) {
        let first = create(&one, &key, b"first").await;
        let second = put(&other, &key, b"second", &first).await;
        let refused = async || is_conflict(&one.quarantine(&key, &first).await);
        work(&one, &key, refused).await;
        is(&[&one, &other], &key, Some(b"second")).await;
        // Also while the work lasts.
        work(&one, &key, async || {
            one.put_if(&key, b"third", &second).await.unwrap();
            is_conflict(&one.quarantine(&key, &second).await);
        })
        .await;
        is(&[&one, &other], &key, Some(b"third")).await;
        delete(&one, &key).await;
        work(&one, &key, async || is_conflict(&one.quarantine(&key, &second).await)).await;
        assert!(aside(hosts, &key).await.is_empty(), "{key:?}");
    }
}

/// All pages.
async fn listed<D: Documents>(host: &D, of: &Collection) -> Vec<Key> {
    listed_after(host, of, None).await
}

async fn listed_after<D: Documents>(host: &D, of: &Collection, after: Option<Key>) -> Vec<Key> {
    let mut found: Vec<Key> = after.into_iter().collect();
    let begun = found.len();
    loop {
        let page = host.list(of, found.last()).await.unwrap();
        assert!(!page.has_more || !page.keys.is_empty(), "nothing to go on after: {of:?}");
        found.extend(page.keys);
        assert!(found.is_sorted_by(|one, next| one < next), "{found:?}");
        if !page.has_more {
            return found.split_off(begun);
        }
    }
}

/// Collections with their documents, in order. Names, digests and numbers are such that text, its
/// letters without their case, or paths would have them in another order.
fn collections<H: Hosts>() -> Vec<(Collection, Vec<Key>)> {
    let names = [("a", "web"), ("a", "web-1"), ("a", "web.tls"), ("a-b", "web"), ("a.b", "web")];
    let names = names.map(|(namespace, name)| NamespacedName::new(namespace, name));
    let accounts = ["Z9", "ab", "ab1", "b-", "b0"].map(|digest| Key::Account(digest.to_owned()));
    let mut all = vec![
        (Collection::Certificates, names.map(Key::Certificate).to_vec()),
        (Collection::Accounts, accounts.to_vec()),
    ];
    if H::Host::SHARED {
        let pairs = [(1, "Z9"), (1, "ab"), (2, "ab"), (10, "Ab"), (10, "ab1")];
        let pairs = pairs.map(|(revision, fingerprint)| pair(&web(), revision, fingerprint));
        all.push((Collection::Pairs(web()), pairs.to_vec()));
    }
    for (_, keys) in &all {
        assert!(keys.is_sorted());
    }
    all
}

async fn a_list_has_each_key_once_in_order<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for (collection, keys) in collections::<H>() {
        assert_eq!(listed(&one, &collection).await, []);
        // Neither forwards nor backwards.
        for start in [1, 0, 2] {
            for key in keys.iter().skip(start).step_by(3) {
                create(&one, key, format!("{key:?}").as_bytes()).await;
            }
        }
        assert_eq!(listed(&other, &collection).await, keys);
        for (number, key) in (1..).zip(&keys) {
            let found = listed_after(&other, &collection, Some(key.clone())).await;
            assert_eq!(found, keys[number..], "after {key:?}");
        }
    }
}

async fn a_list_has_its_collection_alone<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for key in kinds::<H>() {
        create(&one, &key, b"web").await;
    }
    let more = [
        Key::Certificate(NamespacedName::new("other", "web")),
        Key::Account("cd".to_owned()),
        Key::AccountKey("ef".to_owned()),
    ];
    for key in &more {
        create(&one, key, b"more").await;
    }
    let mut cases = vec![
        (Collection::Accounts, vec![Key::Account("ab".to_owned()), more[1].clone()]),
        (Collection::Certificates, vec![Key::Certificate(web()), more[0].clone()]),
    ];
    if H::Host::SHARED {
        create(&one, &pair(&named("web-1"), 1, "ab"), b"more").await;
        cases.push((Collection::Pairs(web()), vec![pair(&web(), 1, "ab")]));
        cases.push((Collection::Pairs(named("none")), vec![]));
    }
    for (collection, keys) in cases {
        assert_eq!(listed(&other, &collection).await, keys, "{collection:?}");
    }
}

async fn a_list_has_what_was_created_before_it<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for (collection, keys) in collections::<H>() {
        let mut all = BTreeSet::new();
        for key in keys.iter().rev() {
            work(&one, key, async || {
                one.create(key, format!("{key:?}").as_bytes()).await.unwrap();
                all.insert(key.clone());
                for host in [&one, &other] {
                    let found = listed(host, &collection).await;
                    assert_eq!(found, all.iter().cloned().collect::<Vec<_>>());
                }
            })
            .await;
        }
        delete(&one, &keys[1]).await;
        all.remove(&keys[1]);
        assert_eq!(listed(&other, &collection).await, all.into_iter().collect::<Vec<_>>());
    }
}

async fn a_list_continues_after_a_key_that_is_gone<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for (collection, keys) in collections::<H>() {
        for key in &keys[1..] {
            create(&one, key, format!("{key:?}").as_bytes()).await;
        }
        // The last key of a page is deleted, and one is created before it.
        delete(&one, &keys[2]).await;
        create(&one, &keys[0], b"first").await;
        let found = listed_after(&other, &collection, Some(keys[2].clone())).await;
        assert_eq!(found, keys[3..]);
        let last = keys.last().unwrap();
        delete(&one, last).await;
        assert_eq!(listed_after(&other, &collection, Some(last.clone())).await, []);
    }
}

/// The lines of a log, without those that a failure cut off; which of these they begin is for the
/// caller to know.
async fn whole_lines<D: Documents>(host: &D, log: &Log, all: &[String]) -> Vec<String> {
    let mut found = host.read_log(log).await.unwrap();
    for line in &found {
        assert!(all.iter().any(|whole| whole.starts_with(line)), "{line:?}");
    }
    found.retain(|line| all.contains(line));
    found
}

fn lines(of: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("{{\"{of}\": \"line\\n {number} \u{e9}\"}}")).collect()
}

/// Whose lock a log is appended to under, by the certificate's record.
async fn append<D: Documents>(host: &D, log: &Log, lines: &[String]) {
    match log {
        Log::Events(name) => {
            let key = Key::Certificate(name.clone());
            work(host, &key, async || host.append(log, lines).await.unwrap()).await;
        }
        Log::Issuances => host.append(log, lines).await.unwrap(),
    }
}

async fn a_log_has_its_lines_in_the_order_of_the_appends<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    let all = lines("web", 0..12);
    for log in [Log::Events(web()), Log::Issuances] {
        assert_eq!(one.read_log(&log).await.unwrap(), [""; 0]);
        let mut end = 0;
        for (count, host) in [1, 2, 0, 1, 3, 5].into_iter().zip([&one, &other].into_iter().cycle())
        {
            append(host, &log, &all[end..end + count]).await;
            end += count;
            for host in [&one, &other] {
                assert_eq!(whole_lines(host, &log, &all).await, all[..end]);
            }
        }
    }
}

async fn each_log_has_its_own_lines<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    let logs = [Log::Events(web()), Log::Events(named("web-1")), Log::Issuances];
    for (number, log) in logs.iter().enumerate() {
        append(&one, log, &lines(&number.to_string(), 0..2)).await;
    }
    for (number, log) in logs.iter().enumerate() {
        let own = lines(&number.to_string(), 0..2);
        assert_eq!(whole_lines(&other, log, &own).await, own);
    }
}

async fn lines_that_hosts_append_at_once_are_all_in_the_log<H: Hosts>(hosts: &H) {
    let all = [open(hosts).await, open(hosts).await, open(hosts).await];
    let of = |host: usize| lines(&host.to_string(), 0..12);
    let appends = all.iter().enumerate().map(|(number, host)| async move {
        for batch in of(number).chunks(3) {
            host.append(&Log::Issuances, batch).await.unwrap();
        }
    });
    join_all(appends).await;
    let every: Vec<String> = (0..3).flat_map(of).collect();
    let found = whole_lines(&all[0], &Log::Issuances, &every).await;
    assert_eq!(found.len(), every.len(), "{found:?}");
    for host in 0..3 {
        let mut own = found.clone();
        own.retain(|line| of(host).contains(line));
        assert_eq!(own, of(host));
    }
}

fn locks() -> Vec<Lock> {
    vec![
        Lock::Certificate(web()),
        Lock::Certificate(named("web-1")),
        Lock::Account("ab".to_owned()),
        Lock::Account("cd".to_owned()),
        Lock::Scheduler,
        Lock::Run(0),
        Lock::Run(1),
        Lock::Order("ab".to_owned()),
    ]
}

async fn a_lease_excludes_all_others<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for lock in locks() {
        let lease = held(&one, &lock).await;
        for host in [&one, &other] {
            // A wait that is over before it begins is one attempt.
            for wait in [SignedDuration::ZERO, -SECOND, SignedDuration::from_millis(20)] {
                is_locked(&host.lease(&lock, wait).await);
            }
        }
        assert!(lease.left().is_positive());
    }
}

async fn a_lease_leaves_other_locks_free<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    let mut all = Vec::new();
    for (lock, host) in locks().iter().zip([&one, &other].into_iter().cycle()) {
        all.push(host.lease(lock, SHORT).await.unwrap());
        assert!(all.iter().all(|lease| lease.left().is_positive()));
    }
}

async fn a_lease_is_waited_for<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for lock in locks() {
        let lease = held(&one, &lock).await;
        let runs_out = lease.left() != SignedDuration::MAX;
        let is_released = Cell::new(false);
        let wait = async {
            let second = held(&other, &lock).await;
            assert!(is_released.get(), "{lock:?} has two holders");
            second
        };
        let release = async {
            for _ in 0..3 {
                turn().await;
                if runs_out {
                    hosts.pass(SECOND).await;
                }
            }
            is_released.set(true);
            drop(lease);
        };
        let (second, ()) = futures_util::future::join(wait, release).await;
        assert!(second.left().is_positive());
    }
}

async fn a_lease_ends_when_it_is_dropped<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for lock in locks() {
        for host in [&one, &other, &other, &one] {
            drop(host.lease(&lock, SHORT).await.unwrap());
        }
    }
}

async fn each_holder_has_a_greater_epoch<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    // An order's has no number: nothing is written that is the order's alone.
    for lock in locks().into_iter().filter(|lock| !matches!(lock, Lock::Order(_))) {
        let mut last = None;
        for host in [&one, &other, &other, &one] {
            let mut lease = held(host, &lock).await;
            assert!(Some(lease.epoch()) > last, "{lock:?}: {} after {last:?}", lease.epoch());
            last = Some(lease.epoch());
            lease.renew().await.unwrap();
            assert_eq!(Some(lease.epoch()), last);
        }
    }
}

async fn a_lease_is_held_while_it_has_time_left<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for lock in locks() {
        let lease = held(&one, &lock).await;
        assert!(lease.left().is_positive());
        if lease.left() == SignedDuration::MAX {
            continue;
        }
        // Up to the last second.
        while lease.left() > SECOND {
            hosts.pass((lease.left() - SECOND).min(lease.left() / 2 + SECOND)).await;
            let second = other.lease(&lock, SignedDuration::ZERO).await;
            // An attempt takes its time.
            if lease.left().is_positive() {
                is_locked(&second);
            }
        }
    }
}

async fn a_renewed_lease_is_held_longer<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for lock in locks() {
        let mut lease = held(&one, &lock).await;
        let lasting = lease.left();
        for _ in 0..5 {
            if lasting != SignedDuration::MAX {
                hosts.pass(lasting / 2).await;
            }
            lease.renew().await.unwrap();
            assert!(lease.left().is_positive());
            is_locked(&other.lease(&lock, SignedDuration::ZERO).await);
        }
    }
}

async fn a_lease_that_ran_out_is_another_holders<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    for lock in locks() {
        let mut lease = held(&one, &lock).await;
        if lease.left() == SignedDuration::MAX {
            continue;
        }
        hosts.pass(lease.left()).await;
        assert!(!lease.left().is_positive());
        let mut second = held(&other, &lock).await;
        assert!(second.epoch() > lease.epoch() || matches!(lock, Lock::Order(_)));
        is_conflict(&lease.renew().await);
        assert!(!lease.left().is_positive());
        second.renew().await.unwrap();
        drop(lease);
        is_locked(&one.lease(&lock, SignedDuration::ZERO).await);
        assert!(second.left().is_positive());
    }
}

async fn the_work_under_a_lease_is_done_by_one_at_a_time<H: Hosts>(hosts: &H) {
    let key = Key::Certificate(web());
    let first = open(hosts).await;
    create(&first, &key, b"0").await;
    let working = &Cell::new(0);
    let workers = (0..6).map(|_| async {
        let host = open(hosts).await;
        work(&host, &key, async || {
            working.set(working.get() + 1);
            assert_eq!(working.get(), 1);
            let found = read(&host, &key).await.unwrap();
            turn().await;
            let number: u32 = std::str::from_utf8(&found.bytes).unwrap().parse().unwrap();
            let next = (number + 1).to_string();
            host.put_if(&key, next.as_bytes(), &found.revision).await.unwrap();
            working.set(working.get() - 1);
        })
        .await;
    });
    join_all(workers).await;
    is(&[&first], &key, Some(b"6")).await;
}

/// Which of many writes were done: each is of its number.
async fn one_is_first<D: Documents>(host: &D, key: &Key, found: Vec<Result<Version, StoreError>>) {
    let mut first = Vec::new();
    for (number, found) in found.into_iter().enumerate() {
        match found {
            Ok(version) => first.push((number, version)),
            refused => is_conflict(&refused),
        }
    }
    assert_eq!(first.len(), 1, "{key:?} is written by {first:?}");
    let (number, version) = &first[0];
    let stored = read(host, key).await.unwrap();
    assert_eq!(**stored.bytes, *number.to_string().as_bytes(), "{key:?}");
    assert_eq!(stored.revision, *version, "{key:?}");
}

/// Where a lease runs out, all who ever had it may still write, at once. Where it lasts as long as its
/// process, its holder writes.
async fn of_many_writers_of_a_version_one_is_first<H: Hosts>(hosts: &H) {
    let all = join_all((0..8).map(|_| open(hosts))).await;
    for key in [Key::Certificate(web()), Key::Account("ab".to_owned()), Key::BannedKeys] {
        let version = create(&all[0], &key, b"begun").await;
        let lease = held(&all[0], &lock_of(&key).unwrap()).await;
        let texts = (0..32).map(|number: usize| number.to_string());
        let writes = texts.zip(all.iter().cycle()).map(|(text, host)| {
            let (key, version) = (&key, &version);
            let writer = if lease.left() == SignedDuration::MAX { &all[0] } else { host };
            async move { writer.put_if(key, text.as_bytes(), version).await }
        });
        let found = join_all(writes).await;
        all[0].settle(&key, &[]).await.unwrap();
        one_is_first(&all[1], &key, found).await;
    }
}

async fn of_many_creators_one_is_first<H: Hosts>(hosts: &H) {
    let all = join_all((0..8).map(|_| open(hosts))).await;
    for key in ["ab", "cd"].map(|fingerprint| Key::Revoked(fingerprint.to_owned())) {
        let texts = (0..32).map(|number: usize| number.to_string());
        let writes = texts.zip(all.iter().cycle()).map(|(text, host)| {
            let key = &key;
            async move { host.create(key, text.as_bytes()).await }
        });
        let found = join_all(writes).await;
        one_is_first(&all[1], &key, found).await;
    }
}

async fn sync_and_settle_change_nothing_for_readers<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    let key = Key::Certificate(web());
    let lease = held(&one, &Lock::Certificate(web())).await;
    let begun: [(Part, &[u8]); 3] =
        [(Part::Record, b"begun"), (Part::Order(1, 1), b"begun"), (Part::NextKey, b"key")];
    let written: [(Part, &[u8]); 3] =
        [(Part::Record, b"written"), (Part::Request(1), b"new"), (Part::Order(1, 1), b"written")];
    let version = one.0.create(&key, &frame(&begun)).await.unwrap();
    let version = one.0.put_if(&key, &frame(&written), &version).await.unwrap();
    let stays = async || {
        for host in [&one, &other] {
            assert_eq!(host.0.get(&key).await.unwrap().unwrap().revision, version);
            let found = host.parts(&web()).await;
            assert!(found.iter().map(|(part, bytes)| (*part, &bytes[..])).eq(written));
        }
    };
    stays().await;
    one.sync(&key).await.unwrap();
    stays().await;
    one.settle(&key, &[Part::Order(1, 1).of(&web())]).await.unwrap();
    stays().await;
    // Where there is nothing to do, too.
    for key in kinds::<H>() {
        one.sync(&key).await.unwrap();
        one.settle(&key, &[]).await.unwrap();
    }
    stays().await;
    drop(lease);
    stays().await;
    // The version is that from before.
    put(&other, &key, b"after", &version).await;
}

async fn each_document_has_a_place_of_its_own<H: Hosts>(hosts: &H) {
    let (one, other) = (open(hosts).await, open(hosts).await);
    let keys: Vec<Key> =
        collections::<H>().into_iter().flat_map(|(_, keys)| keys).chain(kinds::<H>()).collect();
    let places: BTreeSet<String> = keys.iter().map(|key| one.place(key)).collect();
    let different: BTreeSet<&Key> = keys.iter().collect();
    assert_eq!(places.len(), different.len(), "{places:?}");
    assert!(keys.iter().all(|key| one.place(key) == other.place(key)));
}
