//! The keymanager's table.

use zeroize::Zeroizing;

use super::fixture::{issuing_first, key, live, now, written_record};
use crate::controller::{Change, Effect, Outcome, Secret, Snapshot, Step, keymanager, trigger};
use crate::resource::{FailureClass, KeyAlgorithm, KeyFacts, Reason, RotationPolicy};

fn never(mut snapshot: Snapshot) -> Snapshot {
    let key = snapshot.certificate.spec.private_key.as_mut().unwrap();
    key.rotation_policy = Some(RotationPolicy::Never);
    snapshot
}

fn renewing() -> Snapshot {
    let mut snapshot = live();
    snapshot.record = trigger::issuing(&snapshot.record, Reason::Renewing, "due", now());
    snapshot
}

fn generate() -> Step {
    Step::Act(vec![Effect::GenerateKey { algorithm: KeyAlgorithm::Ecdsa, size: 256 }])
}

#[test]
fn a_missing_key_is_made_or_kept_as_the_policy_says() {
    let mut mismatch = never(renewing());
    mismatch.certificate.spec.private_key.as_mut().unwrap().size = Some(384);
    let mut damaged = never(renewing());
    damaged.secret.as_mut().unwrap().key = Some(Err("damaged".to_owned()));
    let mut lost = issuing_first();
    lost.record.status.next_private_key_secret_name = Some("web-1".to_owned());
    let cases = [
        ("first", issuing_first(), generate()),
        ("its name is known, and it is gone", lost, generate()),
        ("renewal", renewing(), generate()),
        ("first, never", never(issuing_first()), generate()),
        ("renewal, never", never(renewing()), Step::Act(vec![Effect::ReuseKey])),
        ("damaged, never", damaged, generate()),
        ("not issuing", live(), Step::Settled),
    ];
    for (what, snapshot, expected) in cases {
        assert_eq!(keymanager::decide(&snapshot, now()), expected, "{what}");
    }
    let Step::Fail(failure) = keymanager::decide(&mismatch, now()) else { panic!() };
    assert_eq!(failure.class, FailureClass::Precondition);
    assert_eq!(failure.reason(), Reason::CannotRegenerateKey);
    assert!(failure.to_string().contains("[spec.privateKey.size]"), "{failure}");
}

#[test]
fn a_key_that_is_there_is_used_named_or_dropped() {
    let dropped = |step: Step| match step {
        Step::Record(record) => record.changes.contains(&Change::DropNextKey),
        Step::Settled | Step::Act(_) | Step::Wait { .. } | Step::Defer { .. } | Step::Fail(_) => {
            false
        }
    };
    let with = |facts: Result<KeyFacts, String>| {
        let mut snapshot = issuing_first();
        snapshot.next_key = Some(facts);
        snapshot
    };
    let Step::Record(named) = keymanager::decide(&with(Ok(key("next"))), now()) else { panic!() };
    let name = &written_record(&named).status.next_private_key_secret_name;
    assert_eq!(name.as_deref(), Some("web-1"));

    let mut fitting = with(Ok(key("next")));
    fitting.record = written_record(&named).clone();
    assert_eq!(keymanager::decide(&fitting, now()), Step::Settled);

    assert!(dropped(keymanager::decide(&with(Ok(KeyFacts { size: 384, ..key("next") })), now())));
    assert!(dropped(keymanager::decide(&with(Err("damaged".to_owned())), now())));

    // A key without an issuance does not help, nor is its name.
    let mut left = live();
    left.next_key = Some(Ok(key("next")));
    assert!(dropped(keymanager::decide(&left, now())));
    left.next_key = None;
    left.record.status.next_private_key_secret_name = Some("web-2".to_owned());
    let Step::Record(record) = keymanager::decide(&left, now()) else { panic!() };
    assert_eq!(written_record(&record).status.next_private_key_secret_name, None);
}

/// A key that another program put there while an order waits would be certified.
#[test]
fn another_key_than_that_of_the_open_request_is_dropped_with_the_request() {
    let mut snapshot = super::fixture::ready_to_order();
    assert_eq!(keymanager::decide(&snapshot, now()), Step::Settled);
    let revision = snapshot.next_request.as_ref().unwrap().revision;
    snapshot.next_key = Some(Ok(key("foreign")));
    let Step::Record(record) = keymanager::decide(&snapshot, now()) else { panic!() };
    assert_eq!(record.changes, [Change::DropNextKey, Change::DropRequest(revision)]);
    // What certctl makes itself takes the place of both.
    snapshot.next_key = None;
    let outcome = Outcome::Key(Secret(Zeroizing::new("PEM".to_owned())), key("new"));
    let record = keymanager::absorb(&snapshot, outcome, now()).unwrap();
    assert!(record.changes.contains(&Change::DropRequest(revision)), "{record:?}");
}

#[test]
fn a_key_is_written_before_its_name() {
    let pem = || Secret(Zeroizing::new("PEM".to_owned()));
    let cases = [(key("next"), Reason::Generated), (key("live"), Reason::Reused)];
    for (facts, reason) in cases {
        let outcome = Outcome::Key(pem(), facts.clone());
        let record = keymanager::absorb(&renewing(), outcome, now()).unwrap();
        assert_eq!(record.changes[0], Change::NextKey(pem(), facts));
        let name = &written_record(&record).status.next_private_key_secret_name;
        assert_eq!(name.as_deref(), Some("web-2"));
        assert_eq!(record.events.iter().map(|e| e.reason).collect::<Vec<_>>(), [reason]);
    }
    let illegal = keymanager::absorb(&renewing(), Outcome::Prepared, now()).unwrap_err();
    assert_eq!(illegal.to_string(), "outcome `prepared` cannot happen in state `keymanager`");
}
