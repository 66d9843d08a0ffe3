//! The trigger's table.

use jiff::Timestamp;

use super::fixture::{
    Phase, fresh, from_now, hours, issuer_mut, issuing_first, key, leaf, live, names as names_of,
    now, solving, written_record,
};
use crate::controller::{Deferral, Snapshot, Step, trigger};
use crate::resource::{
    ConditionStatus, ConditionType, FailureClass, Fix, LeafFacts, PublishedPair, Reason,
};

/// A certificate that does not exist, after this many failures, the last one an hour ago.
fn failed(attempts: Option<u32>) -> Snapshot {
    let mut snapshot = fresh();
    snapshot.record.status.failed_issuance_attempts = attempts;
    snapshot.record.status.last_failure_time = Some(from_now(-hours(1)));
    snapshot.record.attempted_inputs = vec!["input".to_owned()];
    snapshot
}

/// Until when it waits; `None` when it sets Issuing.
fn holds(snapshot: &Snapshot, at: Timestamp) -> Option<(Timestamp, Deferral)> {
    match trigger::decide(snapshot, at) {
        Step::Defer { until, why } => Some((until, why)),
        Step::Record(record) => {
            let status = &written_record(&record).status;
            let issuing = status.condition(ConditionType::Issuing).unwrap();
            assert_eq!(issuing.status, ConditionStatus::True);
            None
        }
        step @ (Step::Settled | Step::Act(_) | Step::Wait { .. } | Step::Fail(_)) => {
            panic!("{step:?}")
        }
    }
}

#[test]
fn a_violation_sets_issuing_with_its_reason() {
    let Step::Record(record) = trigger::decide(&fresh(), now()) else { panic!() };
    let issuing = written_record(&record).status.condition(ConditionType::Issuing).unwrap();
    assert_eq!((issuing.status, issuing.reason), (ConditionStatus::True, Reason::DoesNotExist));
    assert_eq!(issuing.message, "Issuing certificate as Secret does not exist");
    assert_eq!(trigger::decide(&live(), now()), Step::Settled);
    assert_eq!(trigger::decide(&issuing_first(), now()), Step::Settled);
}

#[test]
fn an_issuance_that_somebody_asked_for_is_left_alone() {
    let mut waiting = live();
    waiting.record.retry_after = Some(from_now(hours(5)));
    for (what, mut snapshot) in
        [("not due", live()), ("in backoff", failed(Some(5))), ("delayed by the CA", waiting)]
    {
        snapshot.record =
            trigger::issuing(&snapshot.record, Reason::ManuallyTriggered, "renew", now());
        assert_eq!(trigger::decide(&snapshot, now()), Step::Settled, "{what}");
    }
}

#[test]
fn a_failure_makes_it_wait_to_the_second() {
    let backoff = |attempts| Deferral::Backoff { attempts };
    let cases =
        [(None, 1, 1), (Some(0), 1, 0), (Some(1), 1, 1), (Some(3), 4, 3), (Some(40), 32, 40)];
    for (attempts, wait, wording) in cases {
        let snapshot = failed(attempts);
        let until = from_now(hours(wait - 1));
        let earlier = until - jiff::SignedDuration::from_nanos(1);
        assert_eq!(holds(&snapshot, earlier), Some((until, backoff(wording))), "{attempts:?}");
        assert_eq!(holds(&snapshot, until), None, "{attempts:?}");
    }
}

#[test]
fn retry_after_can_lengthen_the_backoff_and_never_shorten_it() {
    let mut snapshot = failed(Some(2));
    snapshot.record.retry_after = Some(from_now(hours(5)));
    assert_eq!(holds(&snapshot, now()).unwrap().0, from_now(hours(5)));
    snapshot.record.retry_after = Some(from_now(-hours(5)));
    assert_eq!(holds(&snapshot, now()).unwrap().0, from_now(hours(1)));
    let mut snapshot = fresh();
    snapshot.record.retry_after = Some(from_now(hours(5)));
    assert_eq!(holds(&snapshot, now()), Some((from_now(hours(5)), Deferral::RetryAfter)));
    assert_eq!(holds(&snapshot, from_now(hours(5))), None);
}

#[test]
fn an_edit_bypasses_the_backoff_once_and_retry_after_never() {
    let mut snapshot = failed(Some(5));
    assert!(holds(&snapshot, now()).is_some());
    snapshot.input_digest = "edited".to_owned();
    assert_eq!(holds(&snapshot, now()), None);
    snapshot.record.retry_after = Some(from_now(hours(1)));
    assert!(holds(&snapshot, now()).is_some(), "the CA sent Retry-After");
    snapshot.record.retry_after = None;
    snapshot.record.attempted_inputs.push("edited".to_owned());
    assert!(holds(&snapshot, now()).is_some(), "that input has had its attempt");
}

#[test]
fn a_clock_that_was_wrong_holds_for_one_delay_and_no_longer() {
    let mut snapshot = failed(Some(2));
    snapshot.record.status.last_failure_time = Some(from_now(hours(400 * 24)));
    snapshot.record.retry_after = Some(from_now(hours(400 * 24)));
    let Step::Record(record) = trigger::decide(&snapshot, now()) else { panic!() };
    let corrected = written_record(&record);
    assert_eq!(corrected.status.last_failure_time, Some(now()));
    assert_eq!(corrected.status.failed_issuance_attempts, Some(2), "the count stays");
    assert_eq!(corrected.retry_after, Some(from_now(hours(7 * 24))));
    snapshot.record = corrected.clone();
    assert_eq!(holds(&snapshot, from_now(hours(1))).unwrap().0, from_now(hours(7 * 24)));
    snapshot.record.retry_after = None;
    assert_eq!(holds(&snapshot, from_now(hours(1))).unwrap().0, from_now(hours(2)));
    assert_eq!(holds(&snapshot, from_now(hours(2))), None);
}

#[test]
fn a_trusted_certificate_is_replaced_by_an_untrusted_one_only_when_that_is_allowed() {
    let staging = "https://acme-staging-v02.api.letsencrypt.org/directory";
    let mut snapshot = live();
    issuer_mut(&mut snapshot).acme.server = staging.to_owned();
    let Step::Fail(failure) = trigger::decide(&snapshot, now()) else { panic!("not refused") };
    assert_eq!((failure.class, failure.counts()), (FailureClass::Precondition, false));
    assert_eq!(failure.cause.fixes(), [Fix::AllowUntrusted], "{failure}");
    // So is what was requested, as by renew.
    let mut requested = snapshot.clone();
    requested.record =
        trigger::issuing(&requested.record, Reason::ManuallyTriggered, "requested", now());
    assert!(matches!(trigger::decide(&requested, now()), Step::Fail(_)));
    let allowed: [fn(&mut Snapshot); 4] = [
        |s| s.settings.allow_untrusted = true,
        |s| s.run.allow_untrusted = true,
        // It comes from a staging CA, or has expired: there is nothing to lose.
        |s| {
            let own = s.issuer().acme.server.clone();
            s.record.directory_urls.insert(1, own);
            s.certificate.spec.issuer_ref.name = "other".to_owned();
        },
        |s| {
            let pair = s.secret.as_mut().unwrap();
            pair.certificate.as_mut().unwrap().as_mut().unwrap().not_after = now();
        },
    ];
    for allow in allowed {
        let mut snapshot = snapshot.clone();
        allow(&mut snapshot);
        assert_eq!(holds(&snapshot, now()), None);
    }
}

/// A pair that was put into the folder of the secret.
fn found() -> Snapshot {
    let mut snapshot = fresh();
    let pair = PublishedPair {
        key: Some(Ok(key("theirs"))),
        certificate: Some(Ok(leaf("theirs"))),
        ..PublishedPair::default()
    };
    snapshot.secret = Some(pair);
    snapshot
}

#[test]
fn a_pair_that_is_replaced_says_why_and_what_keeps_it() {
    let replaced = |change: fn(&mut Snapshot)| {
        let mut snapshot = found();
        change(&mut snapshot);
        let wording = trigger::why_replaced(&snapshot, now());
        let begin = "The key and certificate in the secret's folder are replaced: ";
        wording.map(|wording| wording.strip_prefix(begin).unwrap().to_owned())
    };
    assert_eq!(replaced(|_| {}), None);
    assert_eq!(replaced(|s| s.secret = None), None);
    let rsa = "its key is ECDSA 256, but spec.privateKey requests RSA 2048. To keep it, write \
        into the \
               manifest, below spec: privateKey: {algorithm: ECDSA, size: 256}";
    assert_eq!(replaced(|s| s.certificate.spec.private_key = None).as_deref(), Some(rsa));
    let names = "spec.commonName differs: the certificate has none; spec.dnsNames differs: the certificate has \"a.example\". \
                 To keep it, write into the manifest, below spec: no commonName, dnsNames: \
                 [\"a.example\"]";
    let wording = replaced(|s| {
        s.certificate.spec.common_name = "b.example".to_owned();
        s.certificate.spec.dns_names = names_of(&["b.example"]);
    });
    assert_eq!(wording.as_deref(), Some(names));
    let expired = replaced(|s| {
        let pair = s.secret.as_mut().unwrap();
        pair.certificate = Some(Ok(LeafFacts { not_after: now(), ..leaf("theirs") }));
    });
    assert_eq!(expired.as_deref(), Some("it expired at 2026-01-02T03:04:05Z"));
    let other = replaced(|s| s.secret.as_mut().unwrap().key = Some(Ok(key("other"))));
    assert!(other.unwrap().contains("a private key that does not match the certificate"));
    // One that is soon to end is adopted, and renewed.
    let due = replaced(|s| {
        let pair = s.secret.as_mut().unwrap();
        pair.certificate = Some(Ok(LeafFacts { not_after: from_now(hours(1)), ..leaf("theirs") }));
    });
    assert_eq!(due, None);
}

#[test]
fn a_pair_that_fits_the_corrected_manifest_ends_its_first_issuance() {
    let mut snapshot = found();
    snapshot.record = trigger::issuing(&snapshot.record, Reason::SecretMismatch, "key", now());
    let ended = trigger::fits_now(&snapshot, false, now()).unwrap();
    assert_eq!(written_record(&ended).status.condition(ConditionType::Issuing), None);
    let changes: [fn(&mut Snapshot); 4] = [
        |s| s.certificate.spec.private_key = None,
        |s| s.record.status.revision = Some(1),
        |s| s.secret = None,
        |s| s.record = trigger::issuing(&s.record, Reason::ManuallyTriggered, "renew", now()),
    ];
    for change in changes {
        let mut other = snapshot.clone();
        change(&mut other);
        assert_eq!(trigger::fits_now(&other, false, now()), None);
    }
}

#[test]
fn an_issuance_for_another_server_ends_when_the_issuer_names_the_right_one_again() {
    let mut snapshot = live();
    let right = snapshot.issuer().acme.server.clone();
    issuer_mut(&mut snapshot).acme.server = "https://ca.test/typo".to_owned();
    let Step::Record(record) = trigger::decide(&snapshot, now()) else { panic!() };
    snapshot.record = written_record(&record).clone();
    assert_eq!(trigger::decide(&snapshot, now()), Step::Settled);
    issuer_mut(&mut snapshot).acme.server = right;
    let Step::Record(record) = trigger::decide(&snapshot, now()) else { panic!() };
    assert_eq!(written_record(&record).status.condition(ConditionType::Issuing), None);
    // It is due for another reason by now.
    assert_eq!(
        trigger::decide(&Snapshot { secret: None, ..snapshot.clone() }, now()),
        Step::Settled
    );
    // The other server has an order for it.
    let order = solving(&[Phase::Queued]).order;
    assert!(order.is_some());
    assert_eq!(trigger::decide(&Snapshot { order, ..snapshot }, now()), Step::Settled);
}
