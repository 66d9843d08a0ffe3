//! Promise: the state directory and the weakest store keep the contract of documents, the latter also
//! while answers are lost; each clause is found broken in a store that breaks it; and the weakest
//! store is as weak as it says.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Barrier;

use certctl::engine::ports::{
    Collection, Documents, Key, Lease as _, Lock, Log, Part, StoreError, Version,
};
use certctl::resource::NamespacedName;
use certctl::store::{OpenMode, StateDirectory};
use futures_util::future::join;
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use crate::contract::{Clause, Hosts, clauses, frame};
use crate::resolved::Resolved;
use crate::timeline::Timeline;
use crate::weak::{Change, Done, Fault, Host, Mutant, WeakStore, Weakness};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// The weakest store on its clock.
struct Weak {
    clock: Timeline,
    store: WeakStore,
}

impl Weak {
    fn new(weakness: Weakness) -> Self {
        let clock = Timeline::new(Timestamp::UNIX_EPOCH);
        Self { store: WeakStore::new(&clock, weakness), clock }
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.clock.run(|| false, future).unwrap()
    }
}

impl Hosts for Weak {
    type Host = Host;

    async fn host(&self) -> Host {
        self.store.host()
    }

    async fn pass(&self, by: SignedDuration) {
        self.store.pass(by).await;
    }

    async fn aside(&self, key: &Key) -> Vec<Vec<u8>> {
        self.store.aside(key)
    }
}

/// The same, for callers that find out what became of their writes.
struct Careful(Weak);

impl Hosts for Careful {
    type Host = Resolved<Host>;

    async fn host(&self) -> Resolved<Host> {
        Resolved(self.0.host().await)
    }

    async fn pass(&self, by: SignedDuration) {
        self.0.pass(by).await;
    }

    async fn aside(&self, key: &Key) -> Vec<Vec<u8>> {
        self.0.aside(key).await
    }
}

/// A state directory that several processes have open.
struct Directory(TempDir);

impl Directory {
    fn open(path: &Path) -> StateDirectory {
        StateDirectory::open(&path.join("state"), OpenMode::ReadWrite).unwrap()
    }
}

impl Hosts for Directory {
    type Host = StateDirectory;

    async fn host(&self) -> StateDirectory {
        Self::open(self.0.path())
    }

    async fn pass(&self, by: SignedDuration) {
        panic!("its locks last as long as their processes, not {by:?}");
    }

    /// The files beside the document's.
    async fn aside(&self, key: &Key) -> Vec<Vec<u8>> {
        let place = Self::open(self.0.path()).place(key);
        let read = |number: u32| std::fs::read(format!("{place}.corrupt-{number}")).ok();
        (1..).map_while(read).collect()
    }
}

/// The clauses that do not hold for a store; they are tried side by side.
fn broken<H>(clauses: &[Clause<H>], holds: impl Fn(&Clause<H>) + Sync) -> BTreeSet<&'static str> {
    let holds = &holds;
    std::thread::scope(|scope| {
        let run = |clause| (clause, scope.spawn(move || holds(clause)));
        let runs: Vec<_> = clauses.iter().map(run).collect();
        let broken = runs.into_iter().filter_map(|(clause, run)| run.join().err().map(|_| clause));
        broken.map(|clause| clause.name).collect()
    })
}

/// The same of the weakest store, for callers that know what became of each write.
fn broken_by(clauses: &[Clause<Weak>], weakness: &Weakness) -> BTreeSet<&'static str> {
    broken(clauses, |clause| {
        let weak = Weak::new(weakness.clone());
        weak.run((clause.holds)(&weak));
    })
}

#[test]
fn the_state_directory_keeps_the_contract_of_documents() {
    let found = broken(&clauses::<Directory>(), |clause| {
        let directory = Directory(tempfile::tempdir().unwrap());
        done((clause.holds)(&directory));
    });
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn the_weakest_store_keeps_the_contract_of_documents() {
    for seed in 1..=5 {
        let found = broken_by(&clauses(), &Weakness { seed, ..Weakness::default() });
        assert_eq!(found, BTreeSet::new(), "seed {seed}");
    }
}

/// What need not hold while answers are lost: a lock that was taken or given back without an answer is
/// held until it runs out.
const PROMPT: [&str; 2] = ["a_lease_ends_when_it_is_dropped", "a_lease_leaves_other_locks_free"];

/// What need not hold where a create may come late: documents are deleted or set aside in these, and
/// such a one would be there again.
const LATE: [&str; 12] = [
    "a_document_that_is_not_there_is_not_replaced",
    "a_read_after_a_write_that_returned_sees_it_on_all_hosts",
    "other_bytes_have_another_version",
    "what_is_not_there_can_be_deleted",
    "a_deleted_document_can_be_created_again",
    "with_the_record_of_a_certificate_goes_all_that_is_stored_of_it",
    "a_part_of_a_certificate_is_read_and_set_aside_by_itself",
    "a_quarantined_document_is_gone_and_its_bytes_are_not_lost",
    "quarantine_refuses_what_changed_since",
    "a_list_has_what_was_created_before_it",
    "a_list_continues_after_a_key_that_is_gone",
    "sync_and_settle_change_nothing_for_readers",
];

/// What goes wrong, in percent, and the clauses that need not hold then.
type Case = (&'static [(usize, Fault)], &'static [&'static str]);

#[test]
fn a_caller_that_reads_after_an_unknown_end_has_the_contract_while_answers_are_lost() {
    const MINUTE: SignedDuration = SignedDuration::from_mins(1);
    let cases: [Case; 6] = [
        (&[(30, Fault::RequestLost)], &PROMPT),
        (&[(30, Fault::AnswerLost)], &PROMPT),
        (&[(30, Fault::Repeated)], &[]),
        (&[(30, Fault::Late)], &LATE),
        (&[(10, Fault::StoppedBefore(MINUTE)), (10, Fault::StoppedAfter(MINUTE))], &PROMPT),
        (&[(10, Fault::RequestLost), (10, Fault::AnswerLost), (10, Fault::Repeated)], &PROMPT),
    ];
    for (faults, exempt) in cases {
        let mut clauses = clauses::<Careful>();
        clauses.retain(|clause| !exempt.contains(&clause.name));
        for seed in 1..=3 {
            let weakness = Weakness { seed, faults: faults.to_vec(), ..Weakness::default() };
            let found = broken(&clauses, |clause| {
                let careful = Careful(Weak::new(weakness.clone()));
                careful.0.run((clause.holds)(&careful));
            });
            assert_eq!(found, BTreeSet::new(), "{faults:?}, seed {seed}");
        }
    }
}

/// A clause that finds each mutant.
const MUTANTS: &[(Mutant, &str)] = &[
    (Mutant::CreateOverwrites, "a_document_that_exists_is_not_created"),
    (Mutant::PutOverwrites, "a_write_over_another_version_is_refused_and_changes_nothing"),
    (Mutant::PutCreates, "a_document_that_is_not_there_is_not_replaced"),
    (Mutant::ReadsOnce, "a_read_after_a_write_that_returned_sees_it_on_all_hosts"),
    (Mutant::BytesAreText, "bytes_come_back_as_they_were"),
    (Mutant::AnswersOldVersion, "the_version_of_a_write_is_that_of_the_next_read"),
    (Mutant::VersionStays, "other_bytes_have_another_version"),
    (Mutant::DeleteFindsNothing, "what_is_not_there_can_be_deleted"),
    (Mutant::DeletedStays, "a_deleted_document_can_be_created_again"),
    (Mutant::SetAsideTakesAll, "a_part_of_a_certificate_is_read_and_set_aside_by_itself"),
    (Mutant::DeletesRecordAlone, "with_the_record_of_a_certificate_goes_all_that_is_stored_of_it"),
    (Mutant::SetAsideOverwrites, "a_quarantined_document_is_gone_and_its_bytes_are_not_lost"),
    (Mutant::SetAsideComparesNothing, "quarantine_refuses_what_changed_since"),
    (Mutant::ListSkips, "a_list_has_each_key_once_in_order"),
    (Mutant::ListByText, "a_list_has_each_key_once_in_order"),
    (Mutant::ListOfAll, "a_list_has_its_collection_alone"),
    (Mutant::ListIsOld, "a_list_has_what_was_created_before_it"),
    (Mutant::ListByPosition, "a_list_continues_after_a_key_that_is_gone"),
    (Mutant::LogLosesLast, "a_log_has_its_lines_in_the_order_of_the_appends"),
    (Mutant::LogBackwards, "a_log_has_its_lines_in_the_order_of_the_appends"),
    (Mutant::OneLog, "each_log_has_its_own_lines"),
    (Mutant::AppendsOverOthers, "lines_that_hosts_append_at_once_are_all_in_the_log"),
    (Mutant::LeaseShared, "a_lease_excludes_all_others"),
    (Mutant::LeaseShared, "the_work_under_a_lease_is_done_by_one_at_a_time"),
    (Mutant::LeaseUnique, "a_lease_leaves_other_locks_free"),
    (Mutant::NeverWaits, "a_lease_is_waited_for"),
    (Mutant::LeaseStays, "a_lease_ends_when_it_is_dropped"),
    (Mutant::EpochStays, "each_holder_has_a_greater_epoch"),
    (Mutant::LeaseByWallClock, "a_lease_is_held_while_it_has_time_left"),
    (Mutant::RenewLies, "a_renewed_lease_is_held_longer"),
    (Mutant::LeaseForEver, "a_lease_that_ran_out_is_another_holders"),
    (Mutant::RenewTakesBack, "a_lease_that_ran_out_is_another_holders"),
    (Mutant::LateDropReleases, "a_lease_that_ran_out_is_another_holders"),
    (Mutant::ComparesApart, "of_many_writers_of_a_version_one_is_first"),
    (Mutant::ComparesApart, "of_many_creators_one_is_first"),
    (Mutant::SettleRemoves, "sync_and_settle_change_nothing_for_readers"),
    (Mutant::OnePlace, "each_document_has_a_place_of_its_own"),
];

#[test]
fn each_store_that_breaks_the_contract_is_found_and_each_clause_finds_one() {
    let all: BTreeSet<&str> = clauses::<Weak>().iter().map(|clause| clause.name).collect();
    let mut finding = BTreeSet::new();
    for (mutant, name) in MUTANTS {
        let mut clauses = clauses();
        clauses.retain(|clause| clause.name == *name);
        let weakness = Weakness { mutant: Some(*mutant), ..Weakness::default() };
        assert_eq!(broken_by(&clauses, &weakness), BTreeSet::from([*name]), "{mutant:?}");
        finding.insert(*name);
    }
    assert_eq!(finding, all);
}

fn web() -> NamespacedName {
    NamespacedName::new("default", "web")
}

fn record() -> Key {
    Key::Certificate(web())
}

#[track_caller]
fn is_unknown<T: std::fmt::Debug>(found: &Result<T, StoreError>) {
    assert!(matches!(found, Err(StoreError::Unknown { .. })), "{found:?}");
}

#[track_caller]
fn is_conflict<T: std::fmt::Debug>(found: &Result<T, StoreError>) {
    assert!(matches!(found, Err(StoreError::Conflict { .. })), "{found:?}");
}

async fn bytes(host: &Host, key: &Key) -> Option<Vec<u8>> {
    host.get(key).await.unwrap().map(|found| found.bytes.to_vec())
}

#[test]
fn a_write_without_an_answer_was_done_or_not_or_is_done_later() {
    let weak = Weak::new(Weakness::default());
    let (host, other) = (weak.store.host(), weak.store.host());
    weak.run(async {
        let key = record();
        host.fails(0, Fault::RequestLost);
        is_unknown(&host.create(&key, b"0").await);
        assert_eq!(bytes(&other, &key).await, None);
        host.fails(0, Fault::AnswerLost);
        is_unknown(&host.create(&key, b"1").await);
        assert_eq!(bytes(&other, &key).await.unwrap(), b"1");
        host.fails(0, Fault::Late);
        is_unknown(&host.put_if(&key, b"2", &Version::of(b"1")).await);
        assert_eq!(bytes(&other, &key).await.unwrap(), b"1");
        weak.pass(SECOND * 30).await;
        assert_eq!(bytes(&other, &key).await.unwrap(), b"2");
        // Unless another write was first.
        host.fails(0, Fault::Late);
        is_unknown(&host.put_if(&key, b"3", &Version::of(b"2")).await);
        other.put_if(&key, b"4", &Version::of(b"2")).await.unwrap();
        weak.pass(SECOND * 30).await;
        assert_eq!(bytes(&host, &key).await.unwrap(), b"4");
        assert_eq!(host.writes(), 4);
    });
}

#[test]
fn a_write_that_is_repeated_on_its_way_fails_over_itself() {
    let weak = Weak::new(Weakness::default());
    let host = weak.store.host();
    weak.run(async {
        for fault in [0, 1] {
            host.fails(fault, Fault::Repeated);
        }
        is_conflict(&host.create(&record(), b"0").await);
        is_conflict(&host.put_if(&record(), b"1", &Version::of(b"0")).await);
        assert_eq!(bytes(&host, &record()).await.unwrap(), b"1");
    });
}

#[test]
fn a_document_with_its_old_bytes_has_its_old_version() {
    let weak = Weak::new(Weakness::default());
    let host = weak.store.host();
    weak.run(async {
        let first = host.create(&record(), b"same").await.unwrap();
        let other = host.put_if(&record(), b"other", &first).await.unwrap();
        let again = host.put_if(&record(), b"same", &other).await.unwrap();
        assert_eq!(again, first);
        host.put_if(&record(), b"over it", &first).await.unwrap();
    });
}

#[test]
fn a_page_has_two_keys_and_a_full_one_may_be_the_last() {
    let weak = Weak::new(Weakness::default());
    let host = weak.store.host();
    weak.run(async {
        let of = Collection::Accounts;
        for digest in ["a", "b", "c", "d"] {
            host.create(&Key::Account(digest.to_owned()), b"{}").await.unwrap();
        }
        let mut sizes = Vec::new();
        let mut after = None;
        loop {
            let page = host.list(&of, after.as_ref()).await.unwrap();
            sizes.push((page.keys.len(), page.has_more));
            if !page.has_more {
                break;
            }
            after = page.keys.last().cloned();
        }
        assert_eq!(sizes, [(2, true), (2, true), (0, false)]);
    });
}

/// Its epoch goes on, and what it writes is refused only where the next holder has written.
#[test]
fn a_lease_runs_out_while_its_holder_is_stopped() {
    let weak = Weak::new(Weakness::default());
    let (host, other) = (weak.store.host(), weak.store.host());
    let lock = Lock::Certificate(web());
    weak.run(async {
        let (key, line) = (record(), ["line".to_owned()]);
        let seen = host.create(&key, b"0").await.unwrap();
        let lease = host.lease(&lock, SignedDuration::ZERO).await.unwrap();
        assert!(lease.left() > SECOND * 299 && lease.left() <= SECOND * 300);
        // The host is stopped as it sends: what it knew of its lease is too old by then.
        host.fails(0, Fault::StoppedBefore(SECOND * 600));
        let late = host.put_if(&key, b"late", &seen);
        let next = async {
            let next = other.lease(&lock, SECOND * 400).await.unwrap();
            let begun = weak.clock.passed();
            assert!(begun > SECOND * 299 && begun < SECOND * 400, "{begun:?}");
            other.put_if(&record(), b"next", &seen).await.unwrap();
            assert_eq!((lease.epoch(), next.epoch()), (1, 2));
            next
        };
        let (late, next) = join(late, next).await;
        is_conflict(&late);
        assert!(!lease.left().is_positive() && next.left().is_positive());
        drop((lease, next));
        assert!(weak.clock.passed() >= SECOND * 600);
        // Without a next holder, it is done.
        let seen = Version::of(b"next");
        host.fails(0, Fault::StoppedBefore(SECOND * 600));
        host.put_if(&record(), b"alone", &seen).await.unwrap();
        // All of a stopped host stands still.
        host.fails(0, Fault::StoppedAfter(SECOND * 600));
        let begun = weak.clock.passed();
        let append = host.append(&Log::Issuances, &line);
        let read = async {
            weak.pass(SECOND).await;
            host.get(&record()).await.unwrap();
            weak.clock.passed()
        };
        let (append, read) = join(append, read).await;
        append.unwrap();
        assert!(read - begun > SECOND * 600);
    });
}

#[test]
fn what_the_store_has_done_is_the_same_for_the_same_seed() {
    let history = |seed: u64| {
        let faults = vec![(20, Fault::AnswerLost), (20, Fault::Late), (20, Fault::Repeated)];
        let weak = Weak::new(Weakness { seed, faults, ..Weakness::default() });
        let work = async |of: &str| {
            let host = Resolved(weak.store.host());
            for number in 0..5 {
                let lease = host.lease(&Lock::Certificate(web()), SECOND * 3600).await.unwrap();
                let text = format!("{of} {number}");
                let written = match host.get(&record()).await.unwrap() {
                    Some(seen) => host.put_if(&record(), text.as_bytes(), &seen.revision).await,
                    None => host.create(&record(), text.as_bytes()).await,
                };
                written.unwrap();
                drop(lease);
            }
        };
        weak.run(join(work("one"), work("other")));
        weak.store.history()
    };
    let first = history(1);
    assert_eq!(first, history(1));
    assert_ne!(first, history(2));
    // The writes are one chain, each over the one before.
    let mut last = None;
    for moment in first {
        let Done::Changed(_, change) = moment.done else { continue };
        let (bytes, seen) = match change {
            Change::Create(bytes) => (bytes, None),
            Change::Put(bytes, seen) => (bytes, Some(seen)),
            Change::Delete | Change::SetAside(_) => panic!("{change:?}"),
        };
        assert_eq!(seen, last);
        last = Some(Version::of(&bytes));
    }
}

fn done<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(future)
}

/// Eight processes that have the directory open write at the same time: which of them was first.
fn first_of_eight(
    path: &Path,
    write: impl AsyncFn(&StateDirectory, usize) -> Result<Version, StoreError> + Sync,
) -> usize {
    let (write, start) = (&write, &Barrier::new(8));
    let found = std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3, 4, 5, 6, 7].map(|number| {
            scope.spawn(move || {
                let state = Directory::open(path);
                start.wait();
                done(write(&state, number))
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    found.iter().filter(|found| found.is_err()).for_each(is_conflict);
    let first: Vec<usize> = (0..8).filter(|number| found[*number].is_ok()).collect();
    assert_eq!(first.len(), 1, "{first:?} were first");
    first[0]
}

/// The tasks of one thread never do.
#[test]
fn of_many_that_write_to_the_directory_at_the_same_time_one_is_first() {
    let directory = Directory(tempfile::tempdir().unwrap());
    let path = directory.0.path();
    let text = |round: usize, number: usize| format!("{round} {number}").into_bytes();
    for round in 0..4 {
        // What has no lock.
        let key = Key::Revoked(round.to_string());
        let create = async |state: &StateDirectory, number: usize| {
            state.create(&key, &text(round, number)).await
        };
        let first = text(round, first_of_eight(path, create));
        let found = done(Directory::open(path).get(&key)).unwrap().unwrap();
        assert_eq!(**found.bytes, *first);
    }
    let (key, lock) = (record(), Lock::Certificate(web()));
    let mut seen = None;
    for round in 0..4 {
        let put = async |state: &StateDirectory, number: usize| {
            let _lease = state.lease(&lock, SECOND * 60).await?;
            let bytes = frame(&[(Part::Record, &text(round, number))]);
            let written = match &seen {
                Some(seen) => state.put_if(&key, &bytes, seen).await?,
                None => state.create(&key, &bytes).await?,
            };
            state.settle(&key, &[]).await?;
            Ok(written)
        };
        let first = frame(&[(Part::Record, &text(round, first_of_eight(path, put)))]);
        let found = done(Directory::open(path).get(&key)).unwrap().unwrap();
        assert_eq!(**found.bytes, *first);
        seen = Some(found.revision);
    }
}
