//! A missing record: which revision is live, and from which number the next one counts.

use std::collections::{BTreeMap, BTreeSet};

use super::fixture::{key, leaf, live, now, record};
use crate::controller::lost_record::{Traces, rebuilt};
use crate::resource::{CertificateRecord, PublishedPair, StoredPair};

/// The pair of a revision, issued for the Certificate of the fixture.
fn pair(digest: &str) -> PublishedPair {
    let pair = live().secret.unwrap();
    PublishedPair { key: Some(Ok(key(digest))), certificate: Some(Ok(leaf(digest))), ..pair }
}

fn set(revision: u32, digest: &str, is_live: bool) -> StoredPair {
    StoredPair {
        name: format!("..revision-{revision}-0"),
        revision,
        is_live,
        pair: Ok(pair(digest)),
    }
}

/// Requests by revision, issued or not.
fn requests(all: &[(u32, Option<&str>)]) -> BTreeMap<u32, Option<String>> {
    let issued = |digest: &str| leaf(digest).fingerprint;
    all.iter().map(|(revision, digest)| (*revision, digest.map(issued))).collect()
}

fn rebuilt_from(traces: &Traces) -> CertificateRecord {
    let snapshot = live();
    rebuilt(record(), traces, &snapshot.certificate, snapshot.issuer(), now())
}

/// The live revision, its certificate, and the next revision.
fn numbers(traces: &Traces) -> (Option<u32>, Option<String>, u32) {
    let record = rebuilt_from(traces);
    let next = record.next_revision();
    (record.status.revision, record.issued_fingerprint, next)
}

fn fingerprint(digest: &str) -> String {
    leaf(digest).fingerprint
}

#[test]
fn nothing_issued_is_revision_1_to_come() {
    let pending = Traces { requests: requests(&[(1, None)]), ..Traces::default() };
    let adopted = StoredPair { name: "..adopted-0".to_owned(), ..set(0, "mine", true) };
    for traces in [
        Traces::default(),
        pending,
        Traces { sets: vec![adopted], ..Traces::default() },
        Traces { others: Some(pair("mine")), ..Traces::default() },
    ] {
        assert_eq!(rebuilt_from(&traces), record(), "{traces:?}");
    }
}

#[test]
fn the_live_set_is_the_live_revision_and_a_begun_issuance_goes_on() {
    let sets = vec![set(1, "one", false), set(2, "two", true)];
    let both = requests(&[(1, Some("one")), (2, Some("two"))]);
    let expected = (Some(2), Some(fingerprint("two")), 3);
    for (requests, orders) in [
        (both.clone(), BTreeSet::new()),
        (requests(&[(2, Some("two"))]), BTreeSet::from([1, 2])),
        // The folder of the certificate is gone.
        (BTreeMap::new(), BTreeSet::new()),
    ] {
        let traces = Traces { requests, orders, sets: sets.clone(), others: None };
        assert_eq!(numbers(&traces), expected, "{traces:?}");
    }
    // An interrupted run left an order with a certificate, and a set that was never live.
    let mut begun = Traces { requests: both, sets, ..Traces::default() };
    begun.requests.insert(3, None);
    begun.orders.insert(3);
    begun.sets.push(set(3, "three", false));
    assert_eq!(numbers(&begun), expected);
}

#[test]
fn an_exchanged_certificate_is_not_the_issued_one() {
    let traces = Traces {
        requests: requests(&[(1, Some("one"))]),
        sets: vec![set(1, "foreign", true)],
        ..Traces::default()
    };
    assert_eq!(numbers(&traces), (Some(1), Some(fingerprint("one")), 2));
}

#[test]
fn without_live_files_the_newest_revision_was_live() {
    let traces = Traces {
        requests: requests(&[(1, Some("one")), (2, Some("two"))]),
        sets: vec![set(1, "one", false)],
        ..Traces::default()
    };
    assert_eq!(numbers(&traces), (Some(2), Some(fingerprint("two")), 3));
    let orders = Traces { orders: BTreeSet::from([4, 3]), ..Traces::default() };
    assert_eq!(numbers(&orders), (Some(4), None, 5));
}

#[test]
fn an_earlier_live_revision_is_the_result_of_a_rollback() {
    let known = requests(&[(1, Some("one")), (2, Some("two"))]);
    let back = Traces {
        requests: known.clone(),
        sets: vec![set(1, "one", true), set(2, "two", false)],
        ..Traces::default()
    };
    assert_eq!(numbers(&back), (Some(1), Some(fingerprint("one")), 3));
    let rollback = rebuilt_from(&back).rollback.unwrap();
    assert_eq!((rollback.to, rollback.from, rollback.is_owed()), (1, 2, false));
    assert_eq!(
        (rollback.set, rollback.left),
        ("..revision-1-0".to_owned(), vec![leaf("two").fingerprint])
    );
    // The same files without their folder; and a pair that certctl did not issue.
    let copied = Traces { sets: Vec::new(), others: Some(pair("one")), ..back.clone() };
    assert_eq!(numbers(&copied), (Some(1), Some(fingerprint("one")), 3));
    let mine = Traces { sets: Vec::new(), others: Some(pair("mine")), ..back };
    assert_eq!(numbers(&mine), (None, None, 3));
}

#[test]
fn sets_of_another_certificate_do_not_count() {
    let mut snapshot = live();
    snapshot.certificate.metadata.name = "another".to_owned();
    let traces =
        Traces { sets: vec![set(1, "one", false), set(2, "two", true)], ..Traces::default() };
    let found = rebuilt(record(), &traces, &snapshot.certificate, snapshot.issuer(), now());
    assert_eq!(found, record());
}
