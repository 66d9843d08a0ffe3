//! Each predicate finds what is wrong, and lets pass what only looks so.

use std::collections::BTreeMap;

use certctl::engine::ports::{Key, Lock, Version};
use certctl::pki::PrivateKey;
use certctl::resource::{KeyAlgorithm, NamespacedName};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::history::{self, Event, History, Kind, Predicate, Request, What};
use crate::weak::{Change, Done};

const ORDER: &str = "https://ca.test/order/0";
const CHALLENGE: &str = "https://ca.test/challenge/0";

/// A history that is made up. The runs are each of the host of their number.
#[derive(Clone, Default)]
struct Draft {
    events: Vec<Event>,
    versions: BTreeMap<Key, Version>,
}

impl Draft {
    fn note(mut self, run: usize, what: What) -> Self {
        let at = SignedDuration::from_secs(i64::try_from(self.events.len()).unwrap());
        self.events.push(Event { at, run, what });
        self
    }

    fn takes(self, run: usize, epoch: u64) -> Self {
        self.note(run, What::Stored(Done::Taken(Lock::Certificate(name()), epoch)))
    }

    /// Writes over what is there.
    fn writes(self, run: usize, key: &Key, bytes: Vec<u8>) -> Self {
        let change = match self.versions.get(key) {
            Some(seen) => Change::Put(bytes, seen.clone()),
            None => Change::Create(bytes),
        };
        self.changes(run, key, change)
    }

    fn changes(mut self, run: usize, key: &Key, change: Change) -> Self {
        match &change {
            Change::Create(bytes) | Change::Put(bytes, _) => {
                self.versions.insert(key.clone(), Version::of(bytes));
            }
            Change::Delete | Change::SetAside(_) => drop(self.versions.remove(key)),
        }
        self.note(run, What::Stored(Done::Changed(key.clone(), change)))
    }

    /// Writes the certificate.
    fn puts(self, run: usize, id: (&str, u64, u64), parts: &[(Value, Vec<u8>)]) -> Self {
        self.writes(run, &certificate(), frame(id, parts))
    }

    fn begins(self, run: usize, request: &Request) -> Self {
        self.note(run, What::Begun(request.clone()))
    }

    fn sends(self, run: usize, request: &Request) -> Self {
        self.note(run, What::Sent(request.clone()))
    }

    fn publishes(self, run: usize, revision: u32, fingerprint: &str) -> Self {
        let fingerprint = fingerprint.to_owned();
        self.note(run, What::Published { revision, fingerprint, is_pair: true })
    }

    fn history(self) -> History {
        History { events: self.events, hosts: (0..9).map(Some).collect() }
    }
}

fn name() -> NamespacedName {
    NamespacedName::new("default", "web")
}

fn certificate() -> Key {
    Key::Certificate(name())
}

fn frame((owner, epoch, step): (&str, u64, u64), parts: &[(Value, Vec<u8>)]) -> Vec<u8> {
    let length =
        |(part, bytes): &(Value, Vec<u8>)| json!({"document": part, "length": bytes.len()});
    let lengths: Vec<Value> = parts.iter().map(length).collect();
    let head = json!({
        "version": 1, "owner": owner, "epoch": epoch, "step": step, "parts": lengths
    });
    let mut bytes = format!("{head}\n").into_bytes();
    bytes.extend(parts.iter().flat_map(|(_, part)| part));
    bytes
}

fn sealed(document: &Value) -> Vec<u8> {
    json!({"version": 1, "document": document}).to_string().into_bytes()
}

fn record(revision: u32, fingerprint: &str) -> (Value, Vec<u8>) {
    let record = json!({"status": {"revision": revision}, "issuedFingerprint": fingerprint});
    (json!("certificate"), sealed(&record))
}

fn order(phase: &Value, challenge: &str) -> (Value, Vec<u8>) {
    let challenge = json!({
        "spec": {"url": CHALLENGE},
        "state": {"pending": {"phase": challenge}},
        "presented": {"isOwed": challenge != "queued"},
    });
    let order = json!({"phase": phase, "challenges": [challenge]});
    (json!({"order": [1, 1]}), sealed(&order))
}

fn creating() -> (Value, Vec<u8>) {
    order(&json!("creating"), "queued")
}

fn solving(challenge: &str) -> (Value, Vec<u8>) {
    order(&json!({"solving": {"url": ORDER, "finalizeURL": "f"}}), challenge)
}

fn finalizing() -> (Value, Vec<u8>) {
    order(&json!({"finalizing": {"url": ORDER, "finalizeURL": "f"}}), "accepted")
}

fn next_key(key: &PrivateKey) -> (Value, Vec<u8>) {
    (json!("nextKey"), key.to_pkcs8_pem().as_bytes().to_vec())
}

fn key() -> PrivateKey {
    PrivateKey::generate(KeyAlgorithm::Ed25519, 0).unwrap()
}

fn request(kind: Kind) -> Request {
    let url = match kind {
        Kind::NewAccount | Kind::NewOrder | Kind::Read => "",
        Kind::Finalize | Kind::Download => ORDER,
        Kind::Present | Kind::Accept | Kind::CleanUp => CHALLENGE,
    };
    Request::new(kind, url)
}

fn finalize(key: &PrivateKey) -> Request {
    Request { key: Some(key.facts().public_key.0.clone()), ..request(Kind::Finalize) }
}

/// What is right is let pass by all predicates, and what is wrong is found by this one.
fn finds(predicate: Predicate, right: Draft, wrong: Draft) {
    let right = right.history();
    for (name, predicate) in history::ALL {
        predicate(&right).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    let why = predicate(&wrong.history()).unwrap_err();
    assert!(why.contains("event"), "{why}");
}

#[test]
fn a_write_over_another_version_is_found_and_a_document_that_is_made_again_is_right() {
    let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &[]);
    let again = first.clone().changes(0, &certificate(), Change::Delete);
    let bytes = frame(("a", 1, 2), &[]);
    let other = Change::Put(bytes, Version::of(b"other"));
    finds(
        history::writes_form_chains,
        again.puts(0, ("a", 1, 2), &[]),
        first.changes(0, &certificate(), other),
    );
}

#[test]
fn a_write_id_that_comes_again_is_found_and_another_write_of_the_same_is_right() {
    let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &[creating()]);
    finds(
        history::writes_form_chains,
        first.clone().puts(0, ("a", 1, 2), &[creating()]),
        first.puts(0, ("a", 1, 1), &[solving("queued")]),
    );
}

#[test]
fn an_epoch_that_does_not_grow_is_found_and_one_that_skips_who_wrote_nothing_is_right() {
    let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &[]);
    let skipped = first.clone().takes(1, 2).takes(2, 3).puts(2, ("c", 3, 1), &[]);
    let same = first.clone().takes(1, 2).puts(1, ("b", 1, 1), &[]);
    let back = skipped.clone().puts(0, ("a", 1, 2), &[]);
    let twice = first.takes(1, 1);
    for wrong in [same, back, twice] {
        finds(history::epochs_count_owners, skipped.clone(), wrong);
    }
}

#[test]
fn a_request_before_its_intent_is_found_and_one_with_the_intent_of_another_run_is_right() {
    let key = key();
    let account = |step: &str| sealed(&json!({"nextStep": step}));
    let of = Key::Account("1".to_owned());
    let start = Draft::default().takes(0, 1);
    let downloading = json!({"downloading": {
        "urls": {"url": ORDER, "finalizeURL": "f"}, "certificateURL": ORDER
    }});
    let mut cases = vec![
        (request(Kind::NewOrder), vec![creating()], vec![solving("queued")]),
        (request(Kind::Present), vec![solving("presenting")], vec![solving("queued")]),
        (request(Kind::Accept), vec![solving("accepting")], vec![solving("selfChecking")]),
        (request(Kind::CleanUp), vec![solving("accepted")], vec![solving("queued")]),
        (request(Kind::Download), vec![order(&downloading, "accepted")], vec![finalizing()]),
    ];
    let with_key = vec![finalizing(), next_key(&key)];
    cases.push((finalize(&key), with_key, vec![solving("accepted"), next_key(&key)]));
    for (request, written, before) in cases {
        // The run before has written it down, and the next one has claimed it.
        let first = start.clone().puts(0, ("a", 1, 1), &written).takes(1, 2);
        let claimed = first.puts(1, ("b", 2, 1), &written);
        let early = start.clone().puts(0, ("a", 1, 1), &before);
        finds(
            history::intents_come_first,
            claimed.begins(1, &request).sends(1, &request),
            early.begins(0, &request).sends(0, &request).puts(0, ("a", 1, 2), &written),
        );
    }
    let request = request(Kind::NewAccount);
    let register = start.clone().writes(0, &of, account("register"));
    finds(
        history::intents_come_first,
        register.begins(0, &request).sends(0, &request),
        start.writes(0, &of, account("find")).begins(0, &request).sends(0, &request),
    );
}

#[test]
fn a_request_without_the_lock_is_found_and_one_that_was_under_way_is_right() {
    for kind in [Kind::Read, Kind::CleanUp] {
        let request = request(kind);
        let parts = [solving("accepted")];
        let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &parts);
        let lost = |draft: Draft| draft.takes(1, 2).puts(1, ("b", 2, 1), &parts);
        let under_way = lost(first.clone().begins(0, &request));
        let begun_late = lost(first.clone()).begins(0, &request).sends(0, &request);
        let sent_twice = under_way.clone().sends(0, &request).sends(0, &request);
        for wrong in [begun_late, sent_twice] {
            let right = under_way.clone().sends(0, &request);
            finds(history::who_was_overtaken_sends_nothing, right, wrong);
        }
    }
}

#[test]
fn a_second_certificate_of_a_revision_is_found_and_the_same_on_two_hosts_is_right() {
    let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &[record(1, "one")]);
    let first = first.publishes(0, 1, "one");
    let skipped = first.clone().puts(0, ("a", 1, 2), &[record(3, "three")]);
    let other = first.clone().puts(0, ("a", 1, 2), &[record(1, "two")]);
    let elsewhere = first.clone().publishes(1, 1, "two");
    for wrong in [skipped, other, elsewhere] {
        let right = first.clone().publishes(1, 1, "one");
        finds(history::a_revision_is_one_certificate, right, wrong);
    }
}

#[test]
fn an_older_pair_over_a_new_one_is_found_and_a_host_that_is_behind_is_right() {
    let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &[record(1, "one")]);
    let both = first.puts(0, ("a", 1, 2), &[record(2, "two")]).publishes(0, 2, "two");
    let behind = both.clone().publishes(1, 1, "one").publishes(1, 1, "one").publishes(1, 2, "two");
    finds(history::no_host_goes_back, behind, both.publishes(0, 1, "one"));
}

#[test]
fn a_pair_that_is_not_committed_is_found_and_one_that_another_run_has_committed_is_right() {
    let first = Draft::default().takes(0, 1);
    finds(
        history::commits_come_first,
        first.clone().puts(0, ("a", 1, 1), &[record(1, "one")]).publishes(1, 1, "one"),
        first.publishes(0, 1, "one").puts(0, ("a", 1, 1), &[record(1, "one")]),
    );
}

#[test]
fn a_key_that_does_not_fit_is_found_and_a_pair_that_is_written_again_is_right() {
    let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &[record(1, "one")]);
    let (revision, fingerprint) = (1, "one".to_owned());
    let other = What::Published { revision, fingerprint, is_pair: false };
    finds(
        history::keys_fit,
        first.clone().publishes(0, 1, "one").publishes(0, 1, "one"),
        first.note(0, other),
    );
}

#[test]
fn a_second_registration_is_found_and_that_of_the_next_run_is_right() {
    let request = request(Kind::NewAccount);
    let account = sealed(&json!({"nextStep": "register"}));
    let first = Draft::default().writes(0, &Key::Account("1".to_owned()), account);
    let first = first.begins(0, &request).sends(0, &request);
    let next = first.clone().begins(1, &request).sends(1, &request);
    let asked_again = first.clone().note(0, What::Disturbed);
    for right in [next, asked_again.begins(0, &request).sends(0, &request)] {
        let wrong = first.clone().begins(0, &request).sends(0, &request);
        finds(history::accounts_are_registered_once, right, wrong);
    }
}

#[test]
fn a_csr_of_another_key_is_found_and_the_same_one_sent_again_is_right() {
    let (key, other) = (key(), key());
    let parts = [finalizing(), next_key(&key)];
    let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &parts);
    let send =
        |draft: Draft, run, key| draft.begins(run, &finalize(key)).sends(run, &finalize(key));
    let once = send(first.clone(), 0, &key).takes(1, 2);
    let others = [finalizing(), next_key(&other)];
    let changed = send(once.clone().puts(1, ("b", 2, 1), &others), 1, &other);
    for wrong in [send(first, 0, &other), changed] {
        let right = send(once.clone().puts(1, ("b", 2, 1), &parts), 1, &key);
        finds(history::an_order_has_one_key, right, wrong);
    }
}

#[test]
fn an_order_that_is_lost_for_nothing_is_found_and_one_for_each_pause_is_right() {
    let new_order = request(Kind::NewOrder);
    let first = Draft::default().takes(0, 1).puts(0, ("a", 1, 1), &[creating()]);
    let first = first.begins(0, &new_order);
    let other = |draft: Draft| {
        let again = draft.takes(1, 2).puts(1, ("b", 2, 1), &[creating()]).begins(1, &new_order);
        let again = again.sends(1, &new_order).note(1, What::Ordered(ORDER.to_owned()));
        again.puts(1, ("b", 2, 2), &[solving("queued")])
    };
    let lost = What::Ordered("https://ca.test/order/1".to_owned());
    let late = |draft: Draft| draft.sends(0, &new_order).note(0, lost.clone());
    let paused = first.clone().note(0, What::Paused);
    // Before it had the lock, or after the URL was written.
    let elsewhere = Draft::default().note(0, What::Paused);
    let elsewhere = elsewhere.takes(0, 1).puts(0, ("a", 1, 1), &[creating()]);
    let elsewhere = late(other(elsewhere.begins(0, &new_order)));
    for wrong in [late(other(first)), elsewhere] {
        let right = late(other(paused.clone()));
        finds(history::orders_are_lost_by_disturbances_alone, right, wrong);
    }
}
