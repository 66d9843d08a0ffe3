//! The requestmanager's table.

use super::fixture::{from_now, hours, issuing_first, key, live, names, now, ready_to_order};
use crate::controller::{Change, Effect, Outcome, Snapshot, Step, requestmanager};
use crate::resource::{PublicKeyDigest, Reason};

type Edit = fn(&mut Snapshot);

#[test]
fn a_request_is_built_kept_or_discarded() {
    let build = || Step::Act(vec![Effect::BuildRequest]);
    let without = |change: fn(&mut Snapshot)| {
        let mut snapshot = ready_to_order();
        change(&mut snapshot);
        requestmanager::decide(&snapshot, now())
    };
    assert_eq!(without(|_| {}), Step::Settled);
    assert_eq!(without(|s| s.next_request = None), build());
    assert_eq!(without(|s| s.next_key = None), Step::Settled);
    assert_eq!(without(|s| s.next_key = Some(Err("damaged".to_owned()))), Step::Settled);
    assert_eq!(requestmanager::decide(&live(), now()), Step::Settled);
    assert_eq!(requestmanager::decide(&issuing_first(), now()), Step::Settled);

    let cases: &[(&str, Edit)] = &[
        ("not the next private key", |s| s.next_key = Some(Ok(key("another")))),
        ("[spec.dnsNames]", |s| s.certificate.spec.dns_names = names(&["b.example"])),
        ("it failed before", |s| s.next_request.as_mut().unwrap().failure_time = Some(now())),
    ];
    for (why, change) in cases {
        let Step::Record(record) = without(*change) else { panic!("{why}") };
        assert_eq!(record.changes, [Change::DropRequest(1)], "{why}");
        assert!(record.events[0].message.contains(why), "{}", record.events[0].message);
    }
}

#[test]
fn a_request_that_fails_after_the_issuance_was_requested_stays() {
    let mut snapshot = ready_to_order();
    snapshot.next_request.as_mut().unwrap().failure_time = Some(from_now(hours(1)));
    assert_eq!(requestmanager::decide(&snapshot, from_now(hours(2))), Step::Settled);
}

#[test]
fn a_new_request_remembers_what_it_was_built_from() {
    let mut snapshot = ready_to_order();
    snapshot.next_request = None;
    let annotations = [("kubectl.kubernetes.io/last", "x"), ("mine/too", "y")];
    snapshot.certificate.metadata.annotations =
        annotations.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let public_key = PublicKeyDigest("next".to_owned());
    let outcome = Outcome::Request("CSR".to_owned(), public_key.clone());
    let record = requestmanager::absorb(&snapshot, outcome, now()).unwrap();
    let [Change::Request(request)] = &record.changes[..] else { panic!("{record:?}") };
    assert_eq!((request.revision, request.metadata.name.as_str()), (1, "web-1"));
    assert_eq!((request.spec.request.as_str(), &request.spec.public_key), ("CSR", &public_key));
    assert_eq!(request.certificate_spec, snapshot.certificate.spec.into_requested());
    assert_eq!(request.metadata.annotations.keys().collect::<Vec<_>>(), ["mine/too"]);
    assert_eq!(record.events[0].reason, Reason::Requested);
}
