//! A temporary certificate: when there is one, and that readiness ignores it.

use super::effects::prepare;
use super::fixture::{
    account, from_now, hours, in_phase, key, leaf, live, now, order, ordered, ready_to_order,
    request,
};
use crate::controller::policy::{READINESS, TRIGGER, first_violation};
use crate::controller::{
    Change, Effect, Outcome, Snapshot, Step, formats, issuing, next_step, readiness, trigger,
};
use crate::resource::{
    CertificateStatus, ConditionStatus, EventType, LeafFacts, Order, OrderState, PublicKeyDigest,
    Reason,
};

type Edit = fn(&mut Snapshot);

const ANNOTATION: &str = "cert-manager.io/issue-temporary-certificate";

/// All that an order needs, with nothing live and a temporary certificate requested.
fn with_temporary() -> Snapshot {
    let mut snapshot = ready_to_order();
    snapshot.certificate.metadata.annotations.insert(ANNOTATION.to_owned(), "true".to_owned());
    snapshot.run.prepared = false;
    snapshot
}

fn temporary_leaf() -> LeafFacts {
    LeafFacts { issuer_common_name: "cert-manager.local".to_owned(), ..leaf("next") }
}

/// With the temporary pair live.
fn standing_in() -> Snapshot {
    let mut snapshot = with_temporary();
    snapshot.secret = Some(issuing::published_pair(&snapshot, &temporary_leaf()));
    snapshot
}

/// With the live pair of revision 1, and its renewal begun.
fn renewing() -> Snapshot {
    let mut snapshot = live();
    snapshot.certificate.metadata.annotations = with_temporary().certificate.metadata.annotations;
    let record = &snapshot.record;
    snapshot.record = trigger::issuing(record, Reason::Renewing, "due", now());
    snapshot.next_key = Some(Ok(key("next")));
    snapshot.record.status.next_private_key_secret_name = Some("web-2".to_owned());
    snapshot.next_request = Some(request(&snapshot, 2, "next"));
    snapshot.account = Some(account());
    snapshot
}

#[test]
fn it_is_published_where_no_pair_is_and_one_is_on_its_way() {
    let publish = |snapshot: &Snapshot| {
        let contents = formats::temporary_contents(snapshot);
        Step::Act(vec![Effect::PublishTemporary { revision: 1, contents }])
    };
    let published: &[(&str, Edit)] = &[
        ("nothing is live", |s| s.secret = None),
        ("no key", |s| s.secret.as_mut().unwrap().key = None),
        ("no certificate", |s| s.secret.as_mut().unwrap().certificate = None),
        ("a broken key", |s| s.secret.as_mut().unwrap().key = Some(Err("bad".to_owned()))),
        ("a broken certificate", |s| {
            s.secret.as_mut().unwrap().certificate = Some(Err("bad".to_owned()));
        }),
        ("another's key", |s| s.secret.as_mut().unwrap().key = Some(Ok(key("other")))),
        ("an order under way", |s| {
            s.secret = None;
            s.order = Some(order(s));
        }),
    ];
    for (what, edit) in published {
        let mut snapshot = renewing();
        edit(&mut snapshot);
        assert_eq!(issuing::decide_temporary(&snapshot, now()), publish(&snapshot), "{what}");
        assert_eq!(next_step(&snapshot, now()).1, publish(&snapshot), "{what}: before the order");
    }
    let settled: &[(&str, Edit)] = &[
        ("a pair is live", |_| {}),
        ("an expired pair is live", |s| {
            let leaf = s.secret.as_mut().unwrap().certificate.as_mut().unwrap().as_mut().unwrap();
            leaf.not_after = from_now(-hours(1));
        }),
        ("a temporary pair is live", |s| s.secret = standing_in().secret),
        ("not requested", |s| {
            s.secret = None;
            s.certificate.metadata.annotations.clear();
        }),
        ("another value", |s| {
            s.secret = None;
            s.certificate.metadata.annotations.insert(ANNOTATION.to_owned(), "yes".to_owned());
        }),
        ("not issuing", |s| {
            s.secret = None;
            s.record.status.conditions.clear();
        }),
        ("no key to publish", |s| {
            s.secret = None;
            s.next_key = None;
        }),
        ("no request", |s| {
            s.secret = None;
            s.next_request = None;
        }),
    ];
    for (what, edit) in settled {
        let mut snapshot = renewing();
        edit(&mut snapshot);
        assert_eq!(issuing::decide_temporary(&snapshot, now()), Step::Settled, "{what}");
    }
    // The real one is there already.
    let mut fetched = ordered("issued", OrderState::Valid);
    fetched.certificate = with_temporary().certificate;
    assert_eq!(issuing::decide_temporary(&fetched, now()), Step::Settled);
}

#[test]
fn a_temporary_certificate_adds_an_event_and_counts_as_nothing() {
    let snapshot = with_temporary();
    let outcome = Outcome::PublishedTemporary(Box::new(temporary_leaf()));
    let record = issuing::absorb(&mut snapshot.clone(), outcome, now()).unwrap();
    assert!(record.changes.is_empty());
    let [event] = &record.events[..] else { panic!("{:?}", record.events) };
    let seen = (event.kind, event.reason, event.message.as_str());
    assert_eq!(seen, (EventType::Normal, Reason::Issuing, "Issued temporary certificate"));

    let mut snapshot = standing_in();
    let pair = snapshot.secret.as_ref().unwrap();
    let of_issuer = |name: &&String| name.starts_with("cert-manager.io/issuer-");
    assert_eq!(pair.annotations.keys().find(of_issuer), None);
    assert!(pair.is_temporary() && !trigger::is_adoptable(pair, now()));
    // The issuance continues.
    let goes_on = Step::Act(vec![prepare(true)]);
    assert_eq!(next_step(&snapshot, now()).1, goes_on);
    // Without one, the trigger reports a violation, and formats are not rewritten.
    snapshot.record.status = CertificateStatus::default();
    let message = "Issuing certificate as Secret was previously issued by \
                   \"Issuer.cert-manager.io/\"";
    for checks in [TRIGGER, READINESS] {
        let violation = first_violation(checks, &snapshot, now()).unwrap();
        let found = (violation.reason, violation.message.as_str());
        assert_eq!(found, (Reason::IncorrectIssuer, message));
    }
    snapshot.record.status.revision = Some(1);
    assert_eq!(formats::decide(&snapshot, now()), Step::Settled);
    // Its dates are not recorded.
    let status = readiness::refreshed(&snapshot, now()).status;
    assert_eq!((status.not_before, status.not_after, status.renewal_time), (None, None, None));
    assert_eq!(status.conditions[0].status, ConditionStatus::False);
}

#[test]
fn the_next_key_of_another_attempt_leaves_it_as_it_is() {
    let mut snapshot = standing_in();
    snapshot.next_key = Some(Ok(key("later")));
    snapshot.next_request.as_mut().unwrap().spec.public_key = PublicKeyDigest("later".to_owned());
    assert_eq!(issuing::decide_temporary(&snapshot, now()), Step::Settled);
    // What a success changes is changed for a pair that was temporary, too.
    snapshot.order = Some(Order { phase: in_phase("issued"), ..order(&snapshot) });
    let outcome = Outcome::Published(Box::new(leaf("later")));
    let record = issuing::absorb(&mut snapshot.clone(), outcome, now()).unwrap();
    let Some(Change::Certificate(record)) = record.changes.get(1) else { panic!("{record:?}") };
    assert_eq!(record.status.revision, Some(1));
    assert_eq!(record.status.not_after, Some(leaf("later").not_after));
}
