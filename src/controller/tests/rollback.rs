//! Rollback to an earlier revision: to which, and its consequences.

use jiff::{SignedDuration, Timestamp};

use super::fixture::{from_now, hours, issuer_mut, key, leaf, live, now, request};
use crate::controller::policy::{READINESS, first_trigger, first_violation};
use crate::controller::{
    Change, Record, Snapshot, Step, issuing, readiness, renewal, rollback, trigger,
};
use crate::resource::{
    BannedKey, CaFault, Cause, CertificateRecord, ConditionType, Order, PublishedPair, Reason,
    Revocation, RevocationReason, Rollback,
};

/// What is live, as a kept set.
fn pair() -> PublishedPair {
    live().secret.unwrap()
}

fn requested(snapshot: &Snapshot) -> Rollback {
    Rollback {
        to: 1,
        from: 4,
        newest: 4,
        set: "..revision-1-0".to_owned(),
        fingerprint: leaf("live").fingerprint,
        left: vec!["newer".to_owned()],
        requested_at: now(),
        generation: snapshot.record.generation,
        directory_url: snapshot.issuer().acme.server.clone(),
        done_at: None,
    }
}

fn record_of(record: &Record) -> CertificateRecord {
    match record.changes.last() {
        Some(Change::Certificate(record)) => (**record).clone(),
        other => panic!("{other:?}"),
    }
}

/// Revision 4 was live, and revision 1 is again.
fn back() -> Snapshot {
    let mut snapshot = live();
    snapshot.record.status.revision = Some(4);
    let recorded = rollback::requested(&snapshot, requested(&snapshot));
    snapshot.record = record_of(&rollback::done(&record_of(&recorded), now()));
    snapshot
}

fn revocation(revoked_at: Option<Timestamp>, refusal: Option<&str>) -> Revocation {
    Revocation {
        serial: "1".to_owned(),
        fingerprint: leaf("live").fingerprint,
        reason: RevocationReason::Superseded,
        requested_at: now(),
        at_once: false,
        without_replacement: false,
        certificate: String::new(),
        revoked_at,
        refusal: refusal.map(|why| Cause::ca(CaFault::Refused, why)),
    }
}

#[test]
fn what_is_not_to_be_used_never_goes_live_again() {
    type Edit = fn(&mut Snapshot, &mut PublishedPair);
    let cases: &[(&str, Edit)] = &[
        ("", |_, _| {}),
        ("", |snapshot, _| snapshot.record.revocations.push(revocation(None, Some("no")))),
        ("", |snapshot, _| snapshot.certificate.spec.issuer_ref.name = "other".to_owned()),
        ("it is not complete", |_, pair| pair.key = None),
        ("it is not complete", |_, pair| pair.certificate = None),
        ("its key cannot be read: x", |_, pair| pair.key = Some(Err("x".to_owned()))),
        ("its certificate cannot be read: x", |_, pair| {
            pair.certificate = Some(Err("x".to_owned()));
        }),
        ("its key is not the key of its certificate", |_, pair| pair.key = Some(Ok(key("other")))),
        ("it was issued for the Certificate other", |_, pair| {
            pair.annotations
                .insert("cert-manager.io/certificate-name".to_owned(), "other".to_owned());
        }),
        ("its key is banned: it is, or may be, known to others", |snapshot, _| {
            let public_key = key("live").public_key;
            snapshot.banned_keys.keys.push(BannedKey { public_key, since: now() });
        }),
        ("it is revoked (superseded)", |snapshot, _| {
            snapshot.record.revocations.push(revocation(Some(now()), None));
        }),
        ("its revocation was requested (superseded)", |snapshot, _| {
            snapshot.record.revocations.push(revocation(None, None));
        }),
        ("it expired at 2026-01-02T03:04:05Z", |_, pair| {
            pair.certificate.as_mut().unwrap().as_mut().unwrap().not_after = now();
        }),
        ("it is not valid before 2026-01-02T04:04:05Z", |_, pair| {
            pair.certificate.as_mut().unwrap().as_mut().unwrap().not_before = from_now(hours(1));
        }),
    ];
    for (why, edit) in cases {
        let (mut snapshot, mut pair) = (live(), pair());
        edit(&mut snapshot, &mut pair);
        let found = rollback::refusal(&snapshot, &pair, now());
        assert_eq!(found.unwrap_or_default(), *why);
    }
}

#[test]
fn a_requested_rollback_ends_an_issuance_and_changes_nothing_else() {
    let mut snapshot = live();
    let reason = Reason::ManuallyTriggered;
    snapshot.record = trigger::issuing(&snapshot.record, reason, "asked", now());
    let wanted = requested(&snapshot);
    let found = record_of(&rollback::requested(&snapshot, wanted.clone()));
    let expected = CertificateRecord { rollback: Some(wanted), ..live().record };
    assert_eq!(found, expected);
    assert_eq!(found.status.condition(ConditionType::Issuing), None);
}

#[test]
fn done_it_is_the_revision_and_the_next_one_is_newer_than_any() {
    let snapshot = back();
    assert_eq!(snapshot.record.status.revision, Some(1));
    assert_eq!(snapshot.record.issued_fingerprint, Some(leaf("live").fingerprint));
    assert_eq!(snapshot.next_revision(), 5);
    assert_eq!(rollback::in_force(&snapshot).map(|back| back.done_at), Some(Some(now())));
    // Nothing is owed: once is enough.
    assert_eq!(rollback::done(&snapshot.record, now()), Record::default());
    // Forward to the newest, there is nothing to remember but its number.
    let mut record = live().record;
    record.rollback = Some(Rollback { to: 4, from: 1, ..requested(&live()) });
    let forward = record_of(&rollback::done(&record, now()));
    assert_eq!((forward.status.revision, forward.rollback), (Some(4), None));
    // The adopted pair has no revision.
    record.rollback = Some(Rollback { to: 0, ..requested(&live()) });
    let adopted = record_of(&rollback::done(&record, now()));
    assert_eq!((adopted.status.revision, &adopted.issued_fingerprint), (None, &None));
    assert_eq!(adopted.next_revision(), 5);
}

#[test]
fn after_a_rollback_the_spec_triggers_nothing_until_it_is_edited() {
    type Edit = fn(&mut Snapshot);
    let other_names: Edit = |s| s.current_request = Some(request(s, 1, "other"));
    let other_issuer: Edit = |s| {
        let pair = s.secret.as_mut().unwrap();
        pair.annotations.insert("cert-manager.io/issuer-name".to_owned(), "old".to_owned());
    };
    for edit in [other_names, other_issuer] {
        let mut snapshot = back();
        edit(&mut snapshot);
        assert_eq!(trigger::decide(&snapshot, now()), Step::Settled);
        assert!(first_violation(READINESS, &snapshot, now()).is_some(), "status says so");
        let edited: &[Edit] = &[
            |s| s.record.generation += 1,
            |s| "https://other.test/".clone_into(&mut issuer_mut(s).acme.server),
            |s| s.record.rollback = None,
            |s| s.record.rollback.as_mut().unwrap().fingerprint = "another leaf".to_owned(),
        ];
        for change in edited {
            let mut snapshot = snapshot.clone();
            change(&mut snapshot);
            assert!(first_trigger(&snapshot, now()).is_some());
        }
    }
    // Its own state triggers as ever.
    let mut snapshot = back();
    let public_key = key("live").public_key;
    snapshot.banned_keys.keys.push(BannedKey { public_key, since: now() });
    assert_eq!(first_trigger(&snapshot, now()).map(|due| due.reason), Some(Reason::BannedKey));
}

#[test]
fn its_renewal_comes_when_it_is_due_or_with_a_third_of_what_was_left() {
    let natural = |snapshot: &Snapshot| {
        renewal::renewal_time(&snapshot.certificate.spec, &leaf("live")).unwrap().time
    };
    let early = back();
    assert!(natural(&early) > now());
    assert_eq!(renewal::due(&early, &leaf("live"), now()).unwrap().time, natural(&early));

    let mut late = back();
    let requested_at = leaf("live").not_after - hours(300);
    late.record.rollback.as_mut().unwrap().requested_at = requested_at;
    assert!(natural(&late) <= requested_at, "it was left because its renewal was due");
    let due = leaf("live").not_after - hours(100);
    assert_eq!(renewal::due(&late, &leaf("live"), now()).unwrap().time, due);
    let trigger = |at| first_trigger(&late, at).map(|due| due.reason);
    assert_eq!(trigger(due - SignedDuration::from_nanos(1)), None);
    assert_eq!(trigger(due), Some(Reason::Renewing));
    assert_eq!(readiness::refreshed(&late, requested_at).status.renewal_time, Some(due));
}

#[test]
fn only_what_was_left_is_replaced_by_something_older() {
    let mut there = leaf("newer");
    there.fingerprint = "newer".to_owned();
    assert!(back().replaced().contains(&there.fingerprint));
    assert!(!back().replaced().contains(&leaf("another").fingerprint));
    let mut published = back();
    published.record.rollback = None;
    assert!(published.replaced().is_empty());
    let mut owed = back();
    owed.record.rollback.as_mut().unwrap().done_at = None;
    assert!(owed.replaced().is_empty());
    assert_eq!(rollback::left(&back()), [leaf("live").fingerprint, "newer".to_owned()]);
}

#[test]
fn what_cannot_be_done_any_more_is_dropped_and_said() {
    let mut record = live().record;
    record.rollback = Some(requested(&live()));
    let found = rollback::abandoned(&record, "it expired", now());
    assert_eq!(record_of(&found), live().record);
    let events: Vec<_> = found.events.iter().map(|e| (e.reason, e.message.as_str())).collect();
    let message = "Cannot roll back to revision 1: it expired";
    assert_eq!(events, [(Reason::RollbackFailed, message)]);
}

#[test]
fn the_next_revision_forgets_it() {
    let mut snapshot = back();
    snapshot.next_key = Some(Ok(key("next")));
    let next = snapshot.next_revision();
    snapshot.next_request = Some(request(&snapshot, next, "next"));
    let phase = super::fixture::in_phase("issued");
    snapshot.order = Some(Order { phase, ..super::fixture::order(&snapshot) });
    snapshot.account = Some(super::fixture::account());
    let outcome = crate::controller::Outcome::Published(Box::new(leaf("next")));
    let record = issuing::absorb(&mut snapshot.clone(), outcome, now()).unwrap();
    let record = record.changes.into_iter().find_map(|change| match change {
        Change::Certificate(record) => Some(record),
        _ => None,
    });
    let record = record.unwrap();
    assert_eq!((record.status.revision, record.rollback.clone()), (Some(5), None));
    assert_eq!(record.next_revision(), 6);
}
