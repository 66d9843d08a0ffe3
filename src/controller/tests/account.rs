//! The account's table.

use zeroize::Zeroizing;

use super::effects::{deactivate, prepare, register, update_contacts};
use super::fixture::{
    ACCOUNT, account, fresh, from_now, hours, in_phase, issuer_mut, live, now, ordered, problem,
    ready_to_order, solving,
};
use crate::controller::{
    Change, Deferral, Effect, EffectError, Outcome, Secret, Snapshot, Step, absorb,
    account as controller,
};
use crate::resource::{
    Account, AccountStep, CaFailure, CaFault, Cause, OrderState, PublicKeyDigest,
};

fn with(next_step: AccountStep, is_fresh: bool) -> Snapshot {
    let mut snapshot = ready_to_order();
    snapshot.account = Some(Account { next_step, ..account() });
    snapshot.run.account.is_fresh = is_fresh;
    snapshot
}

fn act(effect: Effect) -> Step {
    Step::Act(vec![effect])
}

#[test]
fn an_account_is_registered_found_or_updated() {
    let mut none = ready_to_order();
    none.account = None;
    let cases = [
        ("nothing is issued", live(), Step::Settled),
        ("no request yet", fresh(), Step::Settled),
        ("registered", ready_to_order(), Step::Settled),
        ("no account", none, act(Effect::ObtainAccountKey)),
        ("key just made", with(AccountStep::Register, true), act(register())),
        ("key of an earlier run", with(AccountStep::Register, false), act(Effect::FindAccount)),
        ("unsure", with(AccountStep::Find, true), act(Effect::FindAccount)),
        ("contacts", with(AccountStep::UpdateContacts, false), act(update_contacts())),
    ];
    for (what, snapshot, expected) in cases {
        assert_eq!(controller::decide(&snapshot, now()), expected, "{what}");
    }
    let mut moved = ready_to_order();
    issuer_mut(&mut moved).acme.email = "new@example.com".to_owned();
    let Step::Record(record) = controller::decide(&moved, now()) else { panic!() };
    let wanted = Account { next_step: AccountStep::UpdateContacts, ..account() };
    assert_eq!(record.changes, [Change::Account(Box::new(wanted))]);
}

#[test]
fn retry_after_delays_every_request() {
    let mut snapshot = ready_to_order();
    snapshot.record.retry_after = Some(from_now(hours(1)));
    let Step::Defer { until, why } = controller::decide(&snapshot, now()) else { panic!() };
    assert_eq!((until, why), (from_now(hours(1)), Deferral::RetryAfter));
    assert_eq!(controller::decide(&snapshot, from_now(hours(1))), Step::Settled);
}

#[test]
fn local_preconditions_are_checked_before_any_request() {
    let unprepared = |mut snapshot: Snapshot| {
        snapshot.run.prepared = false;
        controller::decide(&snapshot, now())
    };
    assert_eq!(unprepared(ready_to_order()), act(prepare(true)));
    assert_eq!(unprepared(solving(&[])), act(prepare(true)));
    assert_eq!(unprepared(ordered("awaiting", OrderState::Processing)), act(prepare(false)));
    assert_eq!(
        controller::decide(&ordered("awaiting", OrderState::Processing), now()),
        Step::Settled
    );
}

#[test]
fn the_key_is_written_before_the_first_request_and_the_url_after_it() {
    let pem = || Secret(Zeroizing::new("PEM".to_owned()));
    let public_key = || PublicKeyDigest("account".to_owned());
    let registering = || Account {
        next_step: AccountStep::Register,
        url: None,
        contacts: Vec::new(),
        ..account()
    };
    let mut snapshot = ready_to_order();
    snapshot.account = None;
    let outcome = Outcome::AccountKey { pem: pem(), public_key: public_key(), fresh: true };
    let effect = Effect::ObtainAccountKey;
    let record =
        controller::absorb(&mut snapshot.clone(), &effect, outcome.clone(), now()).unwrap();
    assert_eq!(record.changes, [Change::AccountKey(pem(), Box::new(registering()))]);

    snapshot.account = Some(registering());
    assert!(
        controller::absorb(&mut snapshot.clone(), &effect, outcome, now()).is_err(),
        "never a second key"
    );
    let contacts = vec!["mailto:ops@example.com".to_owned()];
    let url = ACCOUNT.to_owned();
    let outcome = Outcome::Account { url, contacts, terms_of_service: None };
    let record = controller::absorb(&mut snapshot.clone(), &register(), outcome, now()).unwrap();
    let registered = Account { registered_at: Some(now()), ..account() };
    assert_eq!(record.changes, [Change::Account(Box::new(registered))]);
    assert_eq!(record.events.len(), 1, "the terms are named");
    assert!(!record.events[0].message.contains("thumbprint"));

    // Of a key that is new to the servers which answer any token with its thumbprint.
    snapshot.settings.http01_stateless = true;
    let outcome =
        Outcome::Account { url: ACCOUNT.to_owned(), contacts: Vec::new(), terms_of_service: None };
    let record = controller::absorb(&mut snapshot.clone(), &register(), outcome, now()).unwrap();
    let name = format!("Issuer {} has certctl/http01: stateless", snapshot.issuer().metadata.name);
    assert!(record.events[0].message.contains(&name), "{:?}", record.events);

    snapshot.account = Some(Account { next_step: AccountStep::Find, ..registering() });
    let found =
        controller::absorb(&mut snapshot.clone(), &Effect::FindAccount, Outcome::NoAccount, now())
            .unwrap();
    assert_eq!(found.changes, [Change::Account(Box::new(registering()))]);
    let wrong = controller::absorb(&mut snapshot.clone(), &register(), Outcome::NoAccount, now());
    assert!(wrong.is_err());
}

#[test]
fn an_order_that_replaces_another_needs_a_listener_and_an_account_too() {
    // It had waited for the CA, and so nothing was prepared for challenges.
    let mut snapshot = ordered("awaiting", OrderState::Processing);
    snapshot.run = crate::controller::Run::default();
    let effect = prepare(false);
    assert_eq!(controller::decide(&snapshot, now()), act(effect.clone()));
    absorb(&mut snapshot, &effect, Outcome::Prepared, now()).unwrap();
    // Then it is found to be gone.
    let order = snapshot.order.as_mut().unwrap();
    order.phase = in_phase("failed");
    order.state = OrderState::Expired;
    let effect = prepare(true);
    assert_eq!(controller::decide(&snapshot, now()), act(effect.clone()));
    absorb(&mut snapshot, &effect, Outcome::Prepared, now()).unwrap();
    assert_eq!(controller::decide(&snapshot, now()), Step::Settled);
    snapshot.account = None;
    assert_eq!(controller::decide(&snapshot, now()), act(Effect::ObtainAccountKey));
}

/// The CA has forgotten the account, and this run learned that with its order.
fn bereft() -> Snapshot {
    let mut snapshot = ordered("creating", OrderState::Unknown);
    snapshot.run.account.is_lost = true;
    let order = snapshot.order.take().unwrap();
    snapshot.order = Some(crate::controller::order::given_up(&order, "lost", now()));
    snapshot
}

#[test]
fn a_forgotten_account_is_looked_up_with_the_same_key() {
    let Step::Record(record) = controller::decide(&bereft(), now()) else { panic!() };
    let found = Account { next_step: AccountStep::Find, url: None, ..account() };
    assert_eq!(record.changes, [Change::Account(Box::new(found))]);
    // Another process has registered it again.
    let mut elsewhere = bereft();
    let url = Some("https://ca.test/account/2".to_owned());
    elsewhere.account = Some(Account { url, ..account() });
    assert_eq!(controller::decide(&elsewhere, now()), Step::Settled);
    // It is registered again: a later loss does not set this.
    let mut back = bereft();
    back.run.account.note_known();
    assert_eq!((back.run.account.is_lost, back.run.account.is_back), (false, true));
    assert_eq!(controller::decide(&back, now()), Step::Settled);
}

#[test]
fn a_deactivation_is_written_down_then_done_and_a_lost_answer_counts_as_done() {
    let mut snapshot = ready_to_order();
    let Step::Record(record) = controller::decide_deactivated(&snapshot, now()) else { panic!() };
    let wanted = Account { next_step: AccountStep::Deactivate, ..account() };
    assert_eq!(record.changes, [Change::Account(Box::new(wanted.clone()))]);
    snapshot.account = Some(wanted);
    let step = controller::decide_deactivated(&snapshot, now());
    assert_eq!(step, act(deactivate()));
    let refused = || {
        let problem = Some(Box::new(problem("unauthorized")));
        let (url, message) = (String::new(), String::new());
        let cause = Cause::Ca(CaFailure {
            fault: CaFault::Refused,
            url,
            problem,
            message,
            clock_ahead: None,
        });
        Outcome::Failed(EffectError::new(cause))
    };
    let cases = [
        (Outcome::Done, false, Some(AccountStep::Deactivated)),
        (refused(), true, Some(AccountStep::Deactivated)),
        (refused(), false, None),
    ];
    for (outcome, is_second, expected) in cases {
        let mut snapshot = snapshot.clone();
        snapshot.run.account.may_be_deactivated = is_second;
        let record = absorb(&mut snapshot, &deactivate(), outcome, now()).unwrap();
        let mut written = record.changes.iter().map(|change| match change {
            Change::Account(account) => account.next_step,
            other => panic!("{other:?}"),
        });
        assert_eq!(written.next_back(), expected);
        assert_eq!(snapshot.run.error.is_some(), expected.is_none());
    }
    snapshot.account = None;
    assert!(matches!(controller::decide_deactivated(&snapshot, now()), Step::Fail(_)));
    assert!(matches!(controller::decide_updated(&snapshot, now()), Step::Fail(_)));
}

#[test]
fn contacts_are_sent_once_whatever_was_sent_before() {
    let mut snapshot = ready_to_order();
    let Step::Record(record) = controller::decide_updated(&snapshot, now()) else { panic!() };
    let wanted = Account { next_step: AccountStep::UpdateContacts, ..account() };
    assert_eq!(record.changes, [Change::Account(Box::new(wanted.clone()))]);
    snapshot.account = Some(wanted);
    assert_eq!(controller::decide_updated(&snapshot, now()), act(update_contacts()));
    let outcome = Outcome::Account {
        url: ACCOUNT.to_owned(),
        contacts: account().contacts,
        terms_of_service: None,
    };
    absorb(&mut snapshot, &update_contacts(), outcome, now()).unwrap();
    snapshot.account = Some(account());
    assert_eq!(controller::decide_updated(&snapshot, now()), Step::Settled);
}
