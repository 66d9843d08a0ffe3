//! Revocations: the request, and what the CA receives.

use super::fixture::{ACCOUNT, account, error, live, now};
use crate::controller::revocation::{self, Asked, RevocationError};
use crate::controller::{
    Change, Effect, EffectError, Outcome, Record, RevocationRequest, RevocationSigner, Snapshot,
    Step, Wish, absorb,
};
use crate::resource::{CauseKind, RevocationReason};

/// The user requests that the live certificate be revoked.
fn wishing(reason: RevocationReason, at_once: bool) -> Snapshot {
    let mut snapshot = live();
    snapshot.run.wish = Some(Wish::Revoke(RevocationRequest {
        reason,
        at_once,
        without_replacement: false,
        certificate: Some("PEM".to_owned()),
    }));
    snapshot
}

fn apply(snapshot: &mut Snapshot, record: Record) {
    for change in record.changes {
        match change {
            Change::Certificate(record) => snapshot.record = *record,
            Change::Ban(key) => snapshot.banned_keys.keys.push(key),
            other => panic!("{other:?}"),
        }
    }
}

/// The same, recorded.
fn asked(reason: RevocationReason, at_once: bool) -> Snapshot {
    let mut snapshot = wishing(reason, at_once);
    let Step::Record(record) = revocation::decide_request(&snapshot, now()) else { panic!() };
    apply(&mut snapshot, record);
    snapshot
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
        let snapshot = asked(reason, false);
        assert_eq!(snapshot.banned_keys.keys.len(), banned);
        assert_eq!(revocation::decide_request(&snapshot, now()), Step::Settled);
        let owed = snapshot.record.revocations[0].clone();
        assert_eq!(revocation::wished(&snapshot, now()), Ok(Asked::Owed(owed)));
        // The live one is replaced first.
        assert_eq!(revocation::decide(&snapshot, now()), Step::Settled);
    }
}

#[test]
fn nothing_is_revoked_where_nothing_is_issued() {
    let mut snapshot = wishing(RevocationReason::Superseded, true);
    snapshot.secret = None;
    let certificate = snapshot.certificate.metadata.key();
    let error = RevocationError::Nothing { certificate };
    assert_eq!(revocation::wished(&snapshot, now()), Err(error));
    assert!(matches!(revocation::decide_request(&snapshot, now()), Step::Fail(_)));
    assert_eq!(revocation::decide(&snapshot, now()), Step::Settled);
}

#[test]
fn an_owed_revocation_is_sent_to_the_ca_once_in_a_run() {
    let mut begun = asked(RevocationReason::Superseded, true);
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
        (Outcome::Done, None, Some(now())),
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
