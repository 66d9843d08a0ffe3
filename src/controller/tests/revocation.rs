//! Revocations: the request, and what the CA receives.

use jiff::{SignedDuration, Timestamp};

use super::fixture::{ACCOUNT, account, error, leaf, live, now};
use crate::controller::policy::{BANNED_KEY, first_trigger};
use crate::controller::revocation::{self, Cancelled, Requested, RevocationError};
use crate::controller::{
    Change, Effect, EffectError, Outcome, Record, RevocationRequest, RevocationSigner, Snapshot,
    Step, UserRequest, absorb, trigger,
};
use crate::resource::{
    Cause, CauseKind, CertificateRecord, Doing, Failure, Reason, Revocation, RevocationAnswer,
    RevocationReason, RevokedCertificate, hex,
};

/// The user requests that the live certificate be revoked.
fn wishing(reason: RevocationReason, at_once: bool) -> Snapshot {
    let mut snapshot = live();
    snapshot.run.request = Some(UserRequest::Revoke(RevocationRequest {
        reason,
        at_once,
        without_replacement: false,
        certificate: Some("PEM".to_owned()),
    }));
    snapshot
}

fn digest_of(bytes: &[u8]) -> String {
    hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes).as_ref())
}

fn apply(snapshot: &mut Snapshot, record: Record) {
    for change in record.changes {
        match change {
            Change::Certificate(record) => snapshot.record = *record,
            Change::Ban(key) => snapshot.banned_keys.keys.push(key),
            Change::Revoked(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// The same, recorded.
fn requested(reason: RevocationReason, at_once: bool) -> Snapshot {
    let mut snapshot = wishing(reason, at_once);
    let Step::Record(record) = revocation::decide_request(&snapshot, now()) else { panic!() };
    apply(&mut snapshot, record);
    snapshot
}

#[test]
fn what_is_cancelled_is_only_what_the_ca_has_not_answered() {
    let mut snapshot = requested(RevocationReason::Superseded, false);
    let owed = snapshot.record.revocations[0].clone();
    let done = Revocation { fingerprint: "done".into(), revoked_at: Some(now()), ..owed.clone() };
    snapshot.record.revocations.push(done.clone());
    let Cancelled { record, events, .. } = revocation::cancelled(&snapshot.record, now());
    assert_eq!(record.revocations, [done]);
    let messages: Vec<&str> = events.iter().map(|event| event.message.as_str()).collect();
    assert_eq!(messages, [format!("Revocation of serial {} cancelled: superseded", owed.serial)]);
    let again = revocation::cancelled(&record, now());
    assert_eq!(again, Cancelled { record, events: vec![], is_withdrawn: false });
}

#[test]
fn what_is_cancelled_takes_its_issuance_and_failures_along_unless_something_else_asks_for_it() {
    let before = live().record;
    for (by, reason, is_withdrawn) in [
        (Reason::Revoked, RevocationReason::Superseded, true),
        (Reason::ManuallyTriggered, RevocationReason::Superseded, false),
        (Reason::Revoked, RevocationReason::KeyCompromise, false),
    ] {
        let snapshot = requested(reason, false);
        let mut record = trigger::issuing(&snapshot.record, by, "", now());
        let failure = Failure::of(Doing::Nothing, Cause::precondition("no".to_owned()));
        record.last_failure = Some(Failure { at: Some(now()), ..failure });
        record.retry_after = Some(now() + SignedDuration::from_hours(1));
        let mut failed = CertificateRecord { revocations: vec![], ..record.clone() };
        if reason == RevocationReason::KeyCompromise {
            failed = trigger::issuing(&failed, Reason::BannedKey, BANNED_KEY, now());
        }
        let expected = if is_withdrawn { before.clone() } else { failed };
        let found = revocation::cancelled(&record, now());
        assert_eq!((found.record, found.is_withdrawn), (expected, is_withdrawn), "{by:?}");
    }
    // A renewal that is due needs the next attempt's time.
    let mut record = requested(RevocationReason::Superseded, false).record;
    record.status.renewal_time = Some(now());
    assert!(!revocation::cancelled(&record, now()).is_withdrawn);
}

#[test]
fn a_wish_is_written_down_once_and_a_compromised_key_is_banned_before() {
    for (reason, banned) in
        [(RevocationReason::Superseded, 0), (RevocationReason::KeyCompromise, 1)]
    {
        let step = revocation::decide_request(&wishing(reason, false), now());
        let Step::Record(record) = step else { panic!("{step:?}") };
        let bans_first = matches!(record.changes.first(), Some(Change::Ban(_)));
        assert_eq!((bans_first, record.changes.len()), (banned == 1, banned + 1));
        let snapshot = requested(reason, false);
        assert_eq!(snapshot.banned_keys.keys.len(), banned);
        assert_eq!(revocation::decide_request(&snapshot, now()), Step::Settled);
        let owed = snapshot.record.revocations[0].clone();
        assert_eq!(revocation::requested(&snapshot, now()), Ok(Requested::Owed(owed)));
        // The live one is replaced first.
        assert_eq!(revocation::decide(&snapshot, now()), Step::Settled);
    }
}

fn found(reason: RevocationReason) -> RevokedCertificate {
    let leaf = leaf("live");
    let at = now() - SignedDuration::from_hours(5);
    RevokedCertificate::new(&leaf, reason, at)
}

#[test]
fn what_the_ca_revoked_by_itself_is_issued_again_and_a_compromised_key_is_banned_before() {
    for (reason, banned) in
        [(RevocationReason::Superseded, 0), (RevocationReason::KeyCompromise, 1)]
    {
        let mut snapshot = live();
        let found = found(reason);
        let record = revocation::found(&snapshot, &found, now());
        let bans_first = matches!(record.changes.first(), Some(Change::Ban(_)));
        assert_eq!((bans_first, record.changes.len()), (banned == 1, banned + 2));
        // For good, before it stands in the record.
        let Change::Revoked(for_good) = &record.changes[banned] else { panic!("{record:?}") };
        assert_eq!(
            (for_good.fingerprint.clone(), for_good.reason),
            (leaf("live").fingerprint, reason)
        );
        assert_eq!(record.events.len(), 1);
        apply(&mut snapshot, record);
        assert_eq!(snapshot.banned_keys.keys.len(), banned);
        let known = snapshot.record.revocations[0].clone();
        assert_eq!((known.was_found(), known.is_owed(), known.reason), (true, false, reason));
        assert_eq!(known.revoked_at, Some(found.revoked_at));
        let due = first_trigger(&snapshot, now()).unwrap();
        let expected = if banned == 1 { Reason::BannedKey } else { Reason::Revoked };
        assert_eq!(due.reason, expected, "{}", due.message);
        assert!(!revocation::ends_here(&snapshot), "it is replaced");
        assert_eq!(revocation::decide(&snapshot, now()), Step::Settled, "the CA has done it");
        // Once more, it is known.
        assert_eq!(revocation::found(&snapshot, &found, now()), Record::default());
    }
}

#[test]
fn a_found_revocation_settles_the_one_that_was_owed_and_concerns_the_live_certificate_only() {
    let mut snapshot = requested(RevocationReason::Superseded, true);
    snapshot.record.revocations[0].without_replacement = true;
    let record = revocation::found(&snapshot, &found(RevocationReason::Superseded), now());
    apply(&mut snapshot, record);
    let all = &snapshot.record.revocations;
    assert_eq!((all.len(), all[0].is_owed(), all[0].certificate.as_str()), (1, false, ""));
    assert!(revocation::ends_here(&snapshot), "the user wants no other");
    let other = RevokedCertificate {
        fingerprint: "other".to_owned(),
        ..found(RevocationReason::KeyCompromise)
    };
    assert_eq!(revocation::found(&live(), &other, now()), Record::default());
    // Whatever the CA's clock says, it was revoked before that was found.
    let future = RevokedCertificate {
        revoked_at: now() + SignedDuration::from_hours(1),
        ..found(RevocationReason::Superseded)
    };
    let mut snapshot = live();
    let record = revocation::found(&snapshot, &future, now());
    apply(&mut snapshot, record);
    assert!(snapshot.record.revocations[0].was_found());
}

#[test]
fn each_of_many_certificates_is_in_a_sample_once_a_week_and_few_are_in_each() {
    let fingerprints: Vec<String> = (0..2000_u32).map(|n| digest_of(&n.to_be_bytes())).collect();
    assert!(fingerprints.iter().all(|one| revocation::is_sampled(one, 100, Some(now()), now())));
    let day = SignedDuration::from_hours(24);
    // Each look is up to an hour late.
    let looks: Vec<Timestamp> =
        (0..8).map(|n| now() + (day + SignedDuration::from_mins(59)) * n).collect();
    let sampled = |one: &String, look: &[Timestamp]| {
        revocation::is_sampled(one, fingerprints.len(), Some(look[0]), look[1])
    };
    let week: Vec<&[Timestamp]> = looks.windows(2).take(6).collect();
    for look in &week {
        let count = fingerprints.iter().filter(|one| sampled(one, look)).count();
        assert!((300..=550).contains(&count), "{count}");
    }
    for one in &fingerprints {
        assert!(week.iter().any(|look| sampled(one, look)), "{one}");
    }
    let first = fingerprints.iter().filter(|one| revocation::is_sampled(one, 2000, None, now()));
    assert!((300..=500).contains(&first.count()));
    // The same moment, the same answer: no chance is in it.
    assert!(!revocation::is_sampled(&fingerprints[0], 2000, Some(now()), now()));
}

#[test]
fn a_crl_is_kept_until_its_next_update_within_an_hour_and_a_week() {
    let hours = SignedDuration::from_hours;
    let written = now();
    for (next_update, age, expected) in [
        (Some(hours(48)), hours(47), true),
        (Some(hours(48)), hours(48), false),
        (Some(hours(400)), hours(167), true),
        (Some(hours(400)), hours(168), false),
        (Some(SignedDuration::ZERO), SignedDuration::from_mins(59), true),
        (None, SignedDuration::from_mins(59), true),
        (None, hours(1), false),
        // Written by a clock that was wrong.
        (Some(hours(48)), -hours(1), false),
    ] {
        let until = next_update.map(|span| written + span);
        let found = revocation::is_fresh(written, until, written + age);
        assert_eq!(found, expected, "{next_update:?} {age:?}");
    }
}

#[test]
fn nothing_is_revoked_where_nothing_is_issued() {
    let mut snapshot = wishing(RevocationReason::Superseded, true);
    snapshot.secret = None;
    let certificate = snapshot.certificate.metadata.key();
    let error = RevocationError::Nothing { certificate };
    assert_eq!(revocation::requested(&snapshot, now()), Err(error));
    assert!(matches!(revocation::decide_request(&snapshot, now()), Step::Fail(_)));
    assert_eq!(revocation::decide(&snapshot, now()), Step::Settled);
}

#[test]
fn an_owed_revocation_is_sent_to_the_ca_once_in_a_run() {
    let mut begun = requested(RevocationReason::Superseded, true);
    let owed = begun.record.revocations[0].clone();
    let signed_by = |signer| Effect::Revoke {
        certificate: "PEM".to_owned(),
        fingerprint: owed.fingerprint.clone(),
        reason: owed.reason,
        signer,
    };
    let by_itself = Step::Act(vec![signed_by(RevocationSigner::OwnKey)]);
    assert_eq!(revocation::decide(&begun, now()), by_itself, "there is no account");
    begun.account = Some(account());
    let effect = signed_by(RevocationSigner::Account(ACCOUNT.to_owned()));
    assert_eq!(revocation::decide(&begun, now()), Step::Act(vec![effect.clone()]));
    let outcomes = [
        (Outcome::Revoked(RevocationAnswer::Revoked), None, Some(now())),
        (Outcome::Failed(error(CauseKind::Transient)), Some(CauseKind::Transient), None),
    ];
    for (outcome, failed, revoked_at) in outcomes {
        let mut snapshot = begun.clone();
        let record = absorb(&mut snapshot, &effect, outcome, now()).unwrap();
        apply(&mut snapshot, record);
        let (fingerprint, answer) = &snapshot.run.revocations[0];
        let answer = answer.as_ref().err().map(EffectError::kind);
        assert_eq!((fingerprint, answer), (&owed.fingerprint, failed));
        assert_eq!(snapshot.record.revocations[0].revoked_at, revoked_at);
        assert_eq!(revocation::decide(&snapshot, now()), Step::Settled);
    }
}
