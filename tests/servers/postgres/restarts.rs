//! A server that is stopped, killed and started again while hosts write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use certctl::store::{Documents, Key, Log, StoreError, Stored, Version};

use super::server::Server;
use super::web;
use crate::pebble_support::block_on;
use crate::postgres_support::{Postgres, Settings};
use crate::support::until;

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Written,
    Conflict,
    Unknown,
    /// There was no connection to send it by.
    Unsent,
}

impl End {
    fn of<T>(written: &Result<T, StoreError>) -> Self {
        match written {
            Ok(_) => Self::Written,
            Err(StoreError::Conflict { .. }) => Self::Conflict,
            Err(StoreError::Unknown { .. }) => Self::Unknown,
            Err(StoreError::Io { .. }) => Self::Unsent,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What the hosts did and saw.
#[derive(Default)]
struct History {
    /// Of the document that all write: over which version, what, and how it ended.
    puts: Vec<(Version, String, End)>,
    /// What was ever read of it.
    reads: BTreeMap<String, Version>,
    /// Of what one host creates, and appends as two lines.
    creates: Vec<(u32, End)>,
    appends: Vec<(u32, End)>,
}

impl History {
    fn count(&self, end: End) -> usize {
        let ends = self.puts.iter().map(|(.., end)| end);
        let others = self.creates.iter().chain(&self.appends).map(|(_, end)| end);
        ends.chain(others).filter(|found| **found == end).count()
    }
}

const HOSTS: u32 = 4;

fn shared() -> Key {
    Key::Certificate(web())
}

#[test]
fn each_write_to_a_server_that_is_stopped_and_killed_ended_as_it_is_read_later() {
    let server = Server::start();
    let mut settings = server.state("restarts");
    settings.patience = Duration::from_millis(250);
    settings.page = 1000;
    block_on(Postgres::open(settings.clone()).create(&shared(), b"first")).unwrap();
    let history = Mutex::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for host in 0..HOSTS {
            let (history, is_over, settings) = (&history, &is_over, settings.clone());
            scope.spawn(move || block_on(work(host, settings, history, is_over)));
        }
        for round in 0..4 {
            after(&history, End::Written, 10);
            after(&history, End::Conflict, 1);
            if round % 2 == 0 {
                server.stop();
                after(&history, End::Unsent, 2);
                server.go_on();
            } else {
                server.kill();
                after(&history, End::Unsent, 2);
                server.start_again();
            }
        }
        after(&history, End::Written, 10);
        is_over.store(true, Ordering::Relaxed);
    });
    let history = history.into_inner().unwrap();
    assert_puts(&history);
    block_on(assert_own(&Postgres::open(settings), &history));
    assert_ne!(history.count(End::Unknown), 0);
}

/// Waits until so many more writes have ended so.
#[track_caller]
fn after(history: &Mutex<History>, end: End, more: usize) {
    let count = || history.lock().unwrap().count(end);
    let enough = count() + more;
    until(&format!("{end:?}"), || count() >= enough);
}

/// Writes until all is over; what needs no reading, also while nothing can be read.
async fn work(host: u32, settings: Settings, history: &Mutex<History>, is_over: &AtomicBool) {
    let store = Postgres::open(settings);
    for n in (host..).step_by(HOSTS.try_into().unwrap()) {
        if let Ok(found) = store.get(&shared()).await {
            let Stored { revision, bytes } = found.unwrap();
            let seen = String::from_utf8(bytes.to_vec()).unwrap();
            history.lock().unwrap().reads.insert(seen, revision.clone());
            let new = format!("{n} of {host}");
            let put = store.put_if(&shared(), new.as_bytes(), &revision).await;
            history.lock().unwrap().puts.push((revision, new, End::of(&put)));
        }
        let created = store.create(&Key::Revoked(n.to_string()), b"{}").await;
        history.lock().unwrap().creates.push((n, End::of(&created)));
        let lines = [format!("{n} begins"), format!("{n} ends")];
        let appended = store.append(&Log::Issuances, &lines).await;
        history.lock().unwrap().appends.push((n, End::of(&appended)));
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        if created.is_err() {
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}

/// What was written was seen or overwritten, each version once; and what was not was never seen.
fn assert_puts(history: &History) {
    let mut over = BTreeSet::new();
    let mut ends = BTreeMap::from([("first", End::Written)]);
    for (version, new, end) in &history.puts {
        ends.insert(new, *end);
        assert!(*end != End::Written || over.insert(&version.0), "{version:?} was replaced twice");
    }
    for read in history.reads.keys() {
        assert!(matches!(ends[&**read], End::Written | End::Unknown), "{read} was read");
    }
    // All that was written was replaced but the last one, and so each was read by the one that did.
    let of = |end| history.puts.iter().filter(move |(.., found)| *found == end);
    let unread = of(End::Written).filter(|(_, new, _)| !history.reads.contains_key(new));
    assert!(unread.clone().count() <= 1, "{:?}", unread.collect::<Vec<_>>());
    let versions: BTreeSet<_> = history.reads.values().map(|version| &version.0).collect();
    assert_eq!(versions.len(), history.reads.len());
}

async fn assert_own(store: &Postgres, history: &History) {
    let log = store.read_log(&Log::Issuances).await.unwrap();
    let lines: BTreeSet<_> = log.iter().collect();
    assert_eq!(lines.len(), log.len());
    for (n, end) in &history.appends {
        let [begins, ends] = ["begins", "ends"].map(|word| lines.contains(&format!("{n} {word}")));
        assert_eq!(begins, ends, "half of {n}");
        assert!(*end == End::Unknown || begins == (*end == End::Written), "line {n}: {end:?}");
    }
    for (n, end) in &history.creates {
        let is_there = store.get(&Key::Revoked(n.to_string())).await.unwrap().is_some();
        assert!(*end == End::Unknown || is_there == (*end == End::Written), "{n}: {end:?}");
    }
}
