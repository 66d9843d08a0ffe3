//! The transitions of an order.

use std::sync::Arc;

use jiff::SignedDuration;

use super::effects::{accept, create_order, download, finalize, read_authorization, read_order};
use super::fixture::{
    Phase, authorization_seen, error, in_phase, issuer_mut, leaf, now, order_seen, ordered,
    phase_of, problem, solving, unread_authorization, written_order,
};
use crate::controller::{
    AuthorizationSeen, Awaited, Effect, EffectError, OthersOrder, Outcome, Record, Snapshot, Step,
    absorb, order as controller,
};
use crate::resource::{
    AuthorizationState, Cause, CauseKind, ChallengeType, DnsName, FailureClass, Identifier, Order,
    OrderState, Reason, Selector,
};

fn seen(snapshot: &Snapshot, effect: &Effect, state: OrderState) -> Order {
    let outcome = Outcome::Order(Box::new(order_seen(state)));
    written_order(&absorb(&mut snapshot.clone(), effect, outcome, now()).unwrap()).clone()
}

#[test]
fn what_the_ca_says_names_the_next_phase() {
    let other = || OrderState::Other("frozen".to_owned());
    let cases = [
        ("creating", create_order(), OrderState::Pending, "authorizing"),
        ("creating", create_order(), OrderState::Ready, "finalizing"),
        ("creating", create_order(), OrderState::Invalid, "failed"),
        ("creating", create_order(), other(), "authorizing"),
        ("authorizing", read_order(), OrderState::Pending, "authorizing"),
        ("authorizing", read_order(), OrderState::Invalid, "failed"),
        // It had no authorizations before.
        ("solving", read_order(), OrderState::Pending, "authorizing"),
        ("solving", read_order(), other(), "authorizing"),
        ("solving", read_order(), OrderState::Processing, "solving"),
        ("solving", read_order(), OrderState::Ready, "finalizing"),
        ("solving", read_order(), OrderState::Invalid, "refused"),
        ("refused", read_order(), OrderState::Invalid, "refused"),
        ("finalizing", finalize(), OrderState::Pending, "awaiting"),
        ("finalizing", finalize(), OrderState::Processing, "awaiting"),
        ("finalizing", finalize(), OrderState::Valid, "downloading"),
        ("finalizing", finalize(), OrderState::Ready, "finalizing"),
        ("finalizing", read_order(), OrderState::Processing, "awaiting"),
        ("awaiting", read_order(), OrderState::Processing, "awaiting"),
        ("awaiting", read_order(), OrderState::Ready, "finalizing"),
        ("awaiting", read_order(), OrderState::Valid, "downloading"),
        ("awaiting", read_order(), OrderState::Invalid, "failed"),
        ("downloading", read_order(), OrderState::Valid, "downloading"),
    ];
    for (phase, effect, state, next) in cases {
        let found = seen(&ordered(phase, OrderState::Unknown), &effect, state.clone());
        assert_eq!(found.phase.word(), next, "{phase}, {state:?}");
        assert_eq!(found.state, state);
        assert_eq!(found.url(), Some(super::fixture::order_url()));
    }
}

#[test]
fn an_order_past_pending_proves_its_challenges() {
    for state in [OrderState::Ready, OrderState::Processing, OrderState::Valid] {
        let snapshot = solving(&[Phase::Accepted, Phase::SelfChecking, Phase::Queued]);
        let order = seen(&snapshot, &read_order(), state);
        for challenge in &order.challenges {
            let found = (phase_of(challenge), challenge.authorization());
            assert_eq!(found, (Phase::Final, &AuthorizationState::Valid));
        }
    }
}

fn refusal(kind: CauseKind, problem_kind: &str, status: u16) -> EffectError {
    let mut problem = problem(problem_kind);
    problem.status = Some(status);
    let mut error = error(kind);
    if let Cause::Ca(ca) = &mut error.cause {
        ca.problem = Some(Box::new(problem));
    }
    error
}

#[test]
fn a_refusal_is_final_unless_the_effect_may_have_taken_place() {
    use CauseKind::{Gone, Local, Precondition, Refused, State, Transient, Unusable};
    let absorbed = |phase, effect: &Effect, error: EffectError| {
        let mut snapshot = ordered(phase, OrderState::Ready);
        let outcome = Outcome::Failed(error);
        let record = controller::absorb(&mut snapshot, effect, outcome, now()).unwrap();
        (!record.changes.is_empty()).then(|| {
            let order = written_order(&record);
            (order.phase.word(), order.state.clone())
        })
    };
    let nothing = Some(("failed", OrderState::Errored));
    let look = Some(("awaiting", OrderState::Ready));
    let expired = Some(("failed", OrderState::Expired));
    let cases = [
        ("creating", create_order(), error(Refused), nothing.clone()),
        ("creating", create_order(), error(Unusable), nothing.clone()),
        ("creating", create_order(), error(Transient), None),
        ("awaiting", read_order(), error(Gone), expired),
        ("awaiting", read_order(), error(Refused), nothing.clone()),
        ("awaiting", read_order(), error(Transient), None),
        ("finalizing", finalize(), error(Transient), look.clone()),
        ("finalizing", finalize(), error(Gone), look.clone()),
        ("finalizing", finalize(), refusal(Refused, "orderNotReady", 400), look.clone()),
        ("finalizing", finalize(), refusal(Refused, "unauthorized", 403), look),
        ("finalizing", finalize(), refusal(Refused, "badCSR", 400), nothing.clone()),
        ("finalizing", finalize(), error(Local), nothing.clone()),
        ("finalizing", finalize(), error(State), None),
        ("downloading", download(), error(Gone), None),
        ("downloading", download(), error(Transient), None),
        ("downloading", download(), error(Precondition), None),
        ("downloading", download(), error(Unusable), nothing.clone()),
        ("downloading", download(), error(Refused), nothing),
    ];
    for (phase, effect, error, expected) in cases {
        let kind = error.kind();
        assert_eq!(absorbed(phase, &effect, error), expected, "{effect:?} {kind:?}");
    }
}

#[test]
fn a_certificate_makes_the_order_complete() {
    let snapshot = ordered("downloading", OrderState::Valid);
    let leaf = Box::new(leaf("next"));
    let outcome = Outcome::Certificate { pem: "PEM".to_owned(), leaf };
    let record = absorb(&mut snapshot.clone(), &download(), outcome, now()).unwrap();
    let order = written_order(&record);
    assert_eq!((order.phase.word(), order.certificate()), ("issued", Some("PEM")));
    assert_eq!(record.events[0].reason, Reason::Complete);
}

/// A CA may give several certificates one order, which only one of them can finalize.
#[test]
fn an_order_that_another_certificate_finalized_is_replaced_uncounted() {
    let outcome = || Outcome::OtherKey(error(CauseKind::Unusable));
    let mut snapshot = ordered("downloading", OrderState::Valid);
    snapshot.run.order.was_requested = true;
    let mut ours = snapshot.clone();
    ours.run.order.csr_is_taken = true;
    let record = absorb(&mut ours, &download(), outcome(), now()).unwrap();
    let order = written_order(&record);
    assert_eq!((order.phase.word(), &order.state), ("failed", &OrderState::Errored));
    assert_eq!(order.failure_time(), None, "it is counted as a failure");

    let record = absorb(&mut snapshot, &download(), outcome(), now()).unwrap();
    snapshot.order = Some(written_order(&record).clone());
    let Step::Record(record) = controller::decide(&snapshot, now()) else { panic!() };
    let next = written_order(&record);
    assert_eq!((next.name.as_str(), next.phase.word()), ("web-1-2", "creating"));
}

#[test]
fn an_order_that_another_certificate_works_on_is_waited_for_and_not_stored() {
    let mut snapshot = ordered("creating", OrderState::Unknown);
    let url = "https://ca.test/order/9".to_owned();
    let outcome = Outcome::HeldOrder(url.clone());
    let record = absorb(&mut snapshot, &create_order(), outcome, now()).unwrap();
    assert_eq!(record, Record::default());
    assert_eq!(snapshot.run.order.others, Some(OthersOrder::Held { url }));
    let Step::Wait { until: None, what: Awaited::OthersOrder, .. } =
        controller::decide(&snapshot, now())
    else {
        panic!("it does not wait")
    };
    // An order of an earlier run, which another certificate has taken over, is not read either.
    let mut resumed = ordered("finalizing", OrderState::Ready);
    resumed.run.order.others.clone_from(&snapshot.run.order.others);
    assert!(matches!(controller::decide(&resumed, now()), Step::Wait { .. }));
    snapshot.run.order.others = None;
    assert_eq!(controller::decide(&snapshot, now()), Step::Act(vec![create_order()]));
}

/// Then the CA has not noticed yet that another certificate finalized it.
#[test]
fn an_order_that_is_new_and_finalized_is_asked_for_again_once_and_later() {
    for state in [OrderState::Processing, OrderState::Valid] {
        let mut snapshot = ordered("creating", OrderState::Unknown);
        let outcome = Outcome::Order(Box::new(order_seen(state.clone())));
        let record = absorb(&mut snapshot, &create_order(), outcome, now()).unwrap();
        assert_eq!(record, Record::default());
        let again = now() + SignedDuration::from_secs(5);
        let Step::Wait { until, .. } = controller::decide(&snapshot, now()) else { panic!() };
        assert_eq!(until, Some(again));
        assert_eq!(controller::decide(&snapshot, again), Step::Act(vec![create_order()]));
        // A CA that never gives another one is at fault.
        let found = seen(&snapshot, &create_order(), state.clone());
        assert!(matches!(found.phase.word(), "authorizing" | "downloading"), "{found:?}");
    }
}

/// The CA's answer may be older than the end of the certificate that held it.
#[test]
fn a_new_order_that_is_ready_is_read_before_it_is_finalized() {
    let mut snapshot = ordered("creating", OrderState::Unknown);
    let outcome = |state| Outcome::Order(Box::new(order_seen(state)));
    let ready = outcome(OrderState::Ready);
    let record = absorb(&mut snapshot, &create_order(), ready.clone(), now()).unwrap();
    snapshot.order = Some(written_order(&record).clone());
    assert_eq!(controller::decide(&snapshot, now()), Step::Act(vec![read_order()]));
    for state in [OrderState::Processing, OrderState::Valid] {
        let mut snapshot = snapshot.clone();
        let record = absorb(&mut snapshot, &read_order(), outcome(state), now()).unwrap();
        snapshot.order = Some(written_order(&record).clone());
        let Step::Record(record) = controller::decide(&snapshot, now()) else { panic!() };
        assert_eq!(written_order(&record).phase.word(), "creating");
    }
    let record = absorb(&mut snapshot, &read_order(), ready, now()).unwrap();
    snapshot.order = Some(written_order(&record).clone());
    assert_eq!(controller::decide(&snapshot, now()), Step::Act(vec![finalize()]));
}

fn authorizing() -> Snapshot {
    let mut snapshot = ordered("authorizing", OrderState::Pending);
    let order = snapshot.order.as_mut().unwrap();
    order.authorizations = vec![unread_authorization(0).into(), unread_authorization(1).into()];
    snapshot
}

fn read(snapshot: &Snapshot, index: usize, state: AuthorizationState) -> Record {
    let outcome = Outcome::Authorization(Box::new(authorization_seen(index, state.clone(), state)));
    let effect = read_authorization(index);
    absorb(&mut snapshot.clone(), &effect, outcome, now()).unwrap()
}

#[test]
fn each_authorization_read_makes_its_challenge_unless_it_is_proven() {
    let mut snapshot = authorizing();
    let record = read(&snapshot, 1, AuthorizationState::Valid);
    let order = written_order(&record).clone();
    assert_eq!((order.phase.word(), order.challenges.len()), ("authorizing", 0));
    snapshot.order = Some(order);
    let record = read(&snapshot, 0, AuthorizationState::Pending);
    let order = written_order(&record);
    assert_eq!((order.phase.word(), order.challenges.len()), ("solving", 1));
    let challenge = &order.challenges[0];
    assert_eq!(
        (phase_of(challenge), &challenge.spec.kind),
        (Phase::Queued, &ChallengeType::Http01)
    );
    assert_eq!(challenge.spec.key, "token-0.thumbprint");
    // Read twice, challenged once.
    let mut again = snapshot.clone();
    again.order = Some(Order { phase: in_phase("authorizing"), ..order.clone() });
    let record = read(&again, 0, AuthorizationState::Pending);
    assert_eq!(written_order(&record).challenges.len(), 1);
}

/// Some CAs do not say `wildcard`.
#[test]
fn an_authorization_is_for_the_wildcard_where_the_order_has_no_other_reading() {
    let base = super::fixture::identifier(0);
    let wildcard = Identifier::Dns(format!("*.{base}").parse().unwrap());
    let read_with = |identifiers: Vec<Identifier>, first: Option<Identifier>| {
        let mut snapshot = authorizing();
        let order = snapshot.order.as_mut().unwrap();
        Arc::make_mut(&mut order.spec).identifiers = identifiers;
        Arc::make_mut(&mut order.authorizations[1]).identifier = first;
        let record = read(&snapshot, 0, AuthorizationState::Valid);
        written_order(&record).authorizations[0].wildcard
    };
    assert!(!read_with(vec![base.clone()], None));
    assert!(read_with(vec![wildcard.clone()], None));
    let both = vec![base.clone(), wildcard];
    assert!(!read_with(both.clone(), None));
    assert!(read_with(both, Some(base)));
}

#[test]
fn an_authorization_that_cannot_be_solved_ends_the_order() {
    let ended = |snapshot: &Snapshot, state| {
        let record = read(snapshot, 0, state);
        let order = written_order(&record);
        assert_eq!((order.phase.word(), &order.state), ("failed", &OrderState::Errored));
        order.reason.clone()
    };
    let mut foreign = authorizing();
    let spec = Arc::make_mut(&mut foreign.order.as_mut().unwrap().spec);
    spec.identifiers = vec![super::fixture::identifier(1)];
    let reason = ended(&foreign, AuthorizationState::Pending);
    assert_eq!(reason, "a.example: the CA wants proof for a name that was not ordered");
    let reason = ended(&authorizing(), AuthorizationState::Deactivated);
    assert_eq!(reason, "a.example: the CA says the authorization is deactivated");
    let mut unsolvable = authorizing();
    let selector =
        Selector { dns_names: super::fixture::names(&["z.example"]), ..Selector::default() };
    issuer_mut(&mut unsolvable).acme.solvers[0].selector = Some(selector);
    let reason = ended(&unsolvable, AuthorizationState::Pending);
    assert!(reason.starts_with("a.example: no configured challenge solvers"), "{reason}");
}

#[test]
fn a_name_and_its_wildcard_are_two_names_that_can_be_ordered() {
    for (ordered, is_wildcard, expected) in [
        ("a.example", false, None),
        ("a.example", true, Some("*.a.example")),
        // Without the flag, the order leaves one reading.
        ("*.a.example", false, None),
    ] {
        let mut snapshot = authorizing();
        let spec = Arc::make_mut(&mut snapshot.order.as_mut().unwrap().spec);
        spec.identifiers = vec![Identifier::Dns(ordered.parse().unwrap())];
        let pending = AuthorizationState::Pending;
        let seen = authorization_seen(0, pending.clone(), pending);
        let seen = AuthorizationSeen { wildcard: is_wildcard, ..seen };
        let outcome = Outcome::Authorization(Box::new(seen));
        let record = absorb(&mut snapshot, &read_authorization(0), outcome, now()).unwrap();
        let order = written_order(&record);
        let reason = expected
            .map(|name| format!("{name}: the CA wants proof for a name that was not ordered"))
            .unwrap_or_default();
        let word = if expected.is_some() { "failed" } else { "authorizing" };
        let found = (order.phase.word(), order.challenges.is_empty(), &order.reason);
        assert_eq!(found, (word, expected.is_some(), &reason), "{ordered} {is_wildcard}");
    }
}

#[test]
fn the_authorizations_of_an_invalid_order_say_who_is_to_blame() {
    let mut snapshot = solving(&[Phase::Accepted, Phase::Accepted]);
    snapshot.order.as_mut().unwrap().state = OrderState::Invalid;
    snapshot.order.as_mut().unwrap().phase = in_phase("refused");
    let record = read(&snapshot, 0, AuthorizationState::Pending);
    let order = written_order(&record).clone();
    assert_eq!((order.phase.word(), phase_of(&order.challenges[0])), ("refused", Phase::Final));
    snapshot.order = Some(order);
    let record = read(&snapshot, 1, AuthorizationState::Invalid);
    let order = written_order(&record);
    assert_eq!(order.phase.word(), "failed");
    let refused = &order.challenges[1];
    assert_eq!(
        (phase_of(refused), refused.authorization()),
        (Phase::Final, &AuthorizationState::Invalid)
    );
    assert!(refused.reason.contains("unauthorized"), "{}", refused.reason);
    let name: DnsName = "b.example".parse().unwrap();
    assert_eq!(refused.spec.identifier, Identifier::Dns(name));
}

#[test]
fn an_outcome_that_belongs_elsewhere_is_refused_and_keeps_nothing() {
    let snapshot = ordered("awaiting", OrderState::Processing);
    for outcome in [Outcome::Presented, Outcome::CleanedUp, Outcome::Prepared] {
        assert!(absorb(&mut snapshot.clone(), &read_order(), outcome, now()).is_err());
    }
    let mut none = snapshot;
    none.order = None;
    let outcome = Outcome::Order(Box::new(order_seen(OrderState::Ready)));
    assert!(absorb(&mut none.clone(), &read_order(), outcome, now()).is_err());
}

#[test]
fn an_order_goes_with_the_account_that_the_ca_has_forgotten_once_in_a_run() {
    let lost = refusal(CauseKind::Refused, "accountDoesNotExist", 400);
    for effect in
        [create_order(), read_order(), read_authorization(0), accept(0), finalize(), download()]
    {
        let mut snapshot = solving(&[Phase::Accepting]);
        snapshot.run.order.was_requested = true;
        let outcome = Outcome::Failed(lost.clone());
        let record = absorb(&mut snapshot, &effect, outcome.clone(), now()).unwrap();
        let order = written_order(&record).clone();
        let found = (
            order.phase.word(),
            &order.state,
            order.failure_time(),
            phase_of(&order.challenges[0]),
        );
        let gone = ("failed", &OrderState::Expired, Some(now()), Phase::Final);
        assert_eq!(found, gone, "{effect:?}");
        assert_eq!(record.events[0].reason, Reason::ErrVerifyACMEAccount);
        assert!(snapshot.run.account.is_lost && !snapshot.run.order.was_requested, "{effect:?}");
        // The other effects of the order get the same error, and add nothing.
        snapshot.order = Some(order);
        let again = absorb(&mut snapshot, &effect, outcome.clone(), now()).unwrap();
        assert_eq!(again, Record::default(), "{effect:?}");
        // The account is registered, and lost again.
        let mut snapshot = Snapshot { run: snapshot.run, ..solving(&[Phase::Accepting]) };
        snapshot.run.account.note_known();
        let record = absorb(&mut snapshot, &effect, outcome, now()).unwrap();
        snapshot.order = Some(written_order(&record).clone());
        let Step::Fail(failure) = controller::decide(&snapshot, now()) else {
            panic!("{effect:?}")
        };
        assert_eq!(failure.class, FailureClass::Ca, "{effect:?}");
        assert!(failure.to_string().contains("registered again in this run"), "{failure:?}");
    }
}
