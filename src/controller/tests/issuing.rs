//! The last controller's table, and what a success leaves behind.

use super::fixture::{
    ACCOUNT, Phase, error, from_now, hours, in_phase, issuer_mut, leaf, live, now, ordered,
    request, solving, written_record,
};
use crate::controller::{
    Change, Effect, Outcome, Record, Snapshot, Step, formats, issuing, trigger,
};
use crate::resource::{
    Cause, CauseKind, CertificateStatus, Condition, ConditionStatus, ConditionType, Doing, Failure,
    FailureClass, OrderState, Reason,
};

type Edit = fn(&mut Snapshot);

/// With an order whose certificate was downloaded.
fn fetched() -> Snapshot {
    ordered("issued", OrderState::Valid)
}

fn published(snapshot: &Snapshot) -> Record {
    let outcome = Outcome::Published(Box::new(leaf("next")));
    issuing::absorb(&mut snapshot.clone(), outcome, now()).unwrap()
}

#[test]
fn only_a_certificate_of_the_current_request_is_put_in_place() {
    let publish = Effect::Publish {
        certificate: "PEM".to_owned(),
        revision: 1,
        contents: formats::contents(&fetched()),
        account: ACCOUNT.to_owned(),
        renewal: false,
        exempt: false,
    };
    assert_eq!(issuing::decide(&fetched(), now()), Step::Act(vec![publish]));
    let cases: &[(&str, Edit)] = &[
        ("no order", |s| s.order = None),
        ("no certificate", |s| s.order.as_mut().unwrap().phase = in_phase("awaiting")),
        ("more to do", |s| s.order.as_mut().unwrap().phase = in_phase("downloading")),
        ("no request", |s| s.next_request = None),
        ("another request", |s| s.next_request.as_mut().unwrap().spec.request = "x".to_owned()),
        ("another server", |s| issuer_mut(s).acme.server = "https://other.test/".to_owned()),
        ("not issuing", |s| s.record.status.remove_condition(ConditionType::Issuing)),
    ];
    for (what, edit) in cases {
        let mut snapshot = fetched();
        edit(&mut snapshot);
        assert_eq!(issuing::decide(&snapshot, now()), Step::Settled, "{what}");
    }
    let unfinished = solving(&[Phase::Final]);
    assert_eq!(issuing::decide(&unfinished, now()), Step::Settled);
}

#[test]
fn a_success_clears_issuing_and_every_trace_of_failures_in_one_write() {
    let mut snapshot = fetched();
    let record = &mut snapshot.record;
    record.retry_after = Some(from_now(hours(5)));
    record.last_failure =
        Some(Failure::new(FailureClass::Validation, Doing::Nothing, Cause::local("no".to_owned())));
    record.attempted_inputs = vec!["input".to_owned()];
    record.status.failed_issuance_attempts = Some(4);
    record.status.last_failure_time = Some(from_now(-hours(1)));
    let done = published(&snapshot);

    let mut expected = snapshot.record.clone();
    expected.directory_urls.insert(1, snapshot.issuer().acme.server.clone());
    expected.issued_fingerprint = Some(leaf("next").fingerprint);
    expected.retry_after = None;
    expected.last_failure = None;
    expected.attempted_inputs.clear();
    expected.status = CertificateStatus {
        conditions: vec![Condition {
            kind: ConditionType::Ready,
            status: ConditionStatus::True,
            reason: Reason::Ready,
            message: "Certificate is up to date and has not expired".to_owned(),
            last_transition_time: now(),
            observed_generation: Some(1),
        }],
        revision: Some(1),
        not_before: Some(leaf("next").not_before),
        not_after: Some(leaf("next").not_after),
        renewal_time: Some(from_now(hours(59 * 24))),
        ..CertificateStatus::default()
    };
    assert_eq!(*written_record(&done), expected);
    let mut request = request(&snapshot, 1, "next");
    request.certificate = Some("PEM".to_owned());
    request.conditions = vec![Condition {
        kind: ConditionType::Ready,
        status: ConditionStatus::True,
        reason: Reason::Issued,
        message: "Certificate fetched from issuer successfully".to_owned(),
        last_transition_time: now(),
        observed_generation: None,
    }];
    // The certificate is kept with its request first; the key goes when nothing needs it.
    let expected = [
        Change::Request(Box::new(request)),
        Change::Certificate(Box::new(expected)),
        Change::DropNextKey,
    ];
    assert_eq!(done.changes, expected);
    assert_eq!(done.events.iter().map(|e| e.reason).collect::<Vec<_>>(), [Reason::Issuing]);
}

#[test]
fn each_success_is_the_next_revision() {
    for (before, expected) in [(None, 1), (Some(1), 2), (Some(41), 42)] {
        let mut snapshot = fetched();
        snapshot.record.status.revision = before;
        let record = published(&snapshot);
        assert_eq!(written_record(&record).status.revision, Some(expected), "{before:?}");
    }
}

#[test]
fn what_was_not_published_changes_nothing() {
    for outcome in [Outcome::Presented, Outcome::Failed(error(CauseKind::Local))] {
        assert!(issuing::absorb(&mut fetched(), outcome, now()).is_err());
    }
    let mut without = live();
    without.record = trigger::issuing(&without.record, Reason::Renewing, "due", now());
    let outcome = Outcome::Published(Box::new(leaf("next")));
    assert!(issuing::absorb(&mut without.clone(), outcome, now()).is_err());
}
