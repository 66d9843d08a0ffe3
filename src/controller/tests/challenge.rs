//! The challenge's table.

use std::sync::Arc;

use jiff::SignedDuration;

use super::effects::{accept, clean_up, present, read_authorization, self_check};
use super::fixture::{
    Phase, authorization_seen, challenge, challenge_url, check, error, from_now, now, phase_of,
    problem, solving, written_order,
};
use crate::controller::{
    Acceptance, Answer, Awaited, ChallengeSeen, Effect, Grant, Outcome, Slot, Snapshot, Step, Wake,
    absorb, challenge as controller,
};
use crate::resource::{
    Accepts, AuthorizationState, CauseKind, Challenge, ChallengeType, GoDuration, Order, Reason,
    ReasonSource,
};

const HELD: Slot = Slot::Held { grant: None, is_over: false };
const OVER: Slot = Slot::Held { grant: None, is_over: true };

fn granted(mut snapshot: Snapshot, indexes: &[usize]) -> Snapshot {
    for index in indexes {
        snapshot.run.attempt_mut(&challenge_url(*index)).slot = HELD;
    }
    snapshot
}

fn seconds(count: i64) -> SignedDuration {
    SignedDuration::from_secs(count)
}

#[test]
fn all_that_can_move_moves_in_one_step() {
    let snapshot = solving(&[Phase::Presenting, Phase::SelfChecking, Phase::Accepting]);
    let Step::Act(effects) = controller::decide(&snapshot, now()) else { panic!() };
    let expected = [present(0), self_check(1), accept(2)];
    assert_eq!(effects, expected);
    let done = solving(&[Phase::Accepted, Phase::Final]);
    assert_eq!(controller::decide(&done, now()), Step::Settled);
}

/// Apex and wildcard of one domain, in these phases.
fn group(phases: [Phase; 2]) -> Snapshot {
    let mut snapshot = granted(solving(&phases), &[0, 1]);
    let [apex, wildcard] = snapshot.order.as_mut().unwrap().challenges.as_mut_slice() else {
        panic!()
    };
    let spec = Arc::make_mut(&mut wildcard.spec);
    spec.identifier = apex.spec.identifier.clone();
    spec.wildcard = true;
    snapshot
}

/// A deviation from the design document 000: no challenge of a group is accepted before the values
/// of all are presented and were seen, and none is taken back before all are decided.
#[test]
fn apex_and_wildcard_go_together() {
    use Phase::{Accepted, Accepting, Final, Presenting, SelfChecking};
    let acts = |snapshot: &Snapshot| match controller::decide(snapshot, now()) {
        Step::Act(effects) => {
            let stages: Vec<_> = effects.iter().map(Effect::stage).collect();
            stages.join(", ")
        }
        step => panic!("{step:?}"),
    };
    let cases = [
        ([Presenting, Presenting], "presenting"),
        ([SelfChecking, Presenting], "presenting"),
        ([SelfChecking, SelfChecking], "self-check, self-check"),
        ([Accepting, SelfChecking], "self-check"),
        ([Accepting, Accepting], "asking the CA to validate, asking the CA to validate"),
    ];
    for (phases, effects) in cases {
        assert_eq!(acts(&group(phases)), effects, "{phases:?}");
    }
    let mut unsure = group([Accepting, SelfChecking]);
    unsure.run.attempt_mut(&challenge_url(0)).is_unsure = true;
    assert_eq!(acts(&unsure), "authorizations, self-check", "it may be accepted already");

    let owing = |phases| {
        let mut snapshot = group(phases);
        for challenge in &mut snapshot.order.as_mut().unwrap().challenges {
            challenge.presented.is_owed = true;
        }
        controller::clean_ups(&snapshot).len()
    };
    assert_eq!(owing([Final, Accepted]), 0, "the other one still needs both");
    assert_eq!(owing([Final, Final]), 1, "one after the other");

    let mut over = group([Accepting, SelfChecking]);
    for url in [0, 1].map(challenge_url) {
        over.run.attempt_mut(&url).slot = OVER;
    }
    let expected = vec![Phase::Requeued; 2];
    assert_eq!(recorded(&over), (expected, vec![Reason::Requeued; 2]));
}

/// Another order may share its authorization, and may have proven the name meanwhile.
#[test]
fn a_challenge_that_waited_for_its_name_is_read_at_the_ca_before_it_is_presented() {
    let at = |at| Grant { at, queued_since: now(), was_behind: true };
    for (phase, was_behind, looks) in
        [(Phase::Queued, false, false), (Phase::Queued, true, true), (Phase::Requeued, false, true)]
    {
        let mut snapshot = solving(&[phase]);
        let grant = Some(Grant { was_behind, ..at(now()) });
        let attempt = snapshot.run.attempt_mut(&challenge_url(0));
        attempt.slot = Slot::Held { grant, is_over: false };
        let step = controller::decide(&snapshot, now());
        let read = Step::Act(vec![read_authorization(0)]);
        assert_eq!(step == read, looks, "{phase:?} {was_behind}: {step:?}");
        if !looks {
            continue;
        }
        let valid = AuthorizationState::Valid;
        let seen = |state: AuthorizationState| {
            Outcome::Authorization(Box::new(authorization_seen(0, state.clone(), state)))
        };
        let (found, _) = absorbed(&mut snapshot.clone(), &read_authorization(0), seen(valid));
        assert_eq!(phase_of(&found), Phase::Final);
        // Else it is presented, and not read again.
        let pending = seen(AuthorizationState::Pending);
        absorb(&mut snapshot, &read_authorization(0), pending, now()).unwrap();
        assert!(matches!(controller::decide(&snapshot, now()), Step::Record(_)), "{phase:?}");
    }
}

/// A sibling's clean-up may have taken the answer that both had presented.
#[test]
fn after_a_turn_without_success_the_challenge_is_read_at_the_ca() {
    let mut snapshot = solving(&[Phase::SelfChecking]);
    let turn = crate::controller::scheduler::turn(snapshot.intervals.self_check);
    let order = snapshot.order.as_mut().unwrap();
    order.challenges[0].presented.at = Some(now() - turn);
    let read = Step::Act(vec![read_authorization(0)]);
    assert_ne!(controller::decide(&snapshot, now()), read, "nothing was checked in this run");
    snapshot.run.attempt_mut(&challenge_url(0)).not_before = Some(now());
    assert_eq!(controller::decide(&snapshot, now()), read);
    let early = now() - SignedDuration::from_secs(1);
    snapshot.run.attempt_mut(&challenge_url(0)).not_before = Some(early);
    assert_ne!(controller::decide(&snapshot, early), read, "the turn is not over");
    let pending = AuthorizationState::Pending;
    let seen = authorization_seen(0, pending.clone(), pending);
    let outcome = Outcome::Authorization(Box::new(seen));
    absorb(&mut snapshot, &read_authorization(0), outcome, now()).unwrap();
    assert_ne!(controller::decide(&snapshot, now()), read, "it was just read");
}

/// It waits for the read that ends it, since others wait for its name.
#[test]
fn a_challenge_that_the_ca_fetched_is_read_at_the_ca_when_others_want_its_name() {
    let mut snapshot = solving(&[Phase::Accepted, Phase::SelfChecking]);
    let attempt = snapshot.run.attempt_mut(&challenge_url(0));
    let hit = Some(now());
    attempt.acceptance = Some(Acceptance { begun: now(), accepted: Some(now()), hit });
    snapshot.run.attempt_mut(&challenge_url(1)).not_before = Some(now() + seconds(9));
    let waits = |snapshot: &Snapshot| match controller::decide(snapshot, now()) {
        Step::Wait { until, .. } => until.map(|until| now().duration_until(until)),
        step => panic!("{step:?}"),
    };
    assert_eq!(waits(&snapshot), Some(seconds(9)));
    snapshot.run.attempt_mut(&challenge_url(0)).is_wanted = true;
    let first = SignedDuration::from_millis(5);
    assert_eq!(waits(&snapshot), Some(first));
    let read = Step::Act(vec![read_authorization(0)]);
    assert_eq!(controller::decide(&snapshot, now() + first), read);
    for pause in [1, 2, 4, 5, 5] {
        let pending = AuthorizationState::Pending;
        let seen = authorization_seen(0, pending.clone(), pending);
        let outcome = Outcome::Authorization(Box::new(seen));
        absorb(&mut snapshot, &read_authorization(0), outcome, now()).unwrap();
        assert_eq!(waits(&snapshot), Some(seconds(pause)));
    }
}

/// With an interval of zero, nothing else would be between them.
#[test]
fn what_fails_before_accept_is_tried_less_and_less_often() {
    let failed = Outcome::Failed(error(CauseKind::Transient));
    let unseen = Outcome::Checked(check(Some("connection refused")));
    for (phase, effect, outcome) in [
        (Phase::SelfChecking, self_check(0), unseen),
        (Phase::SelfChecking, self_check(0), failed.clone()),
        (Phase::Presenting, present(0), failed),
    ] {
        let mut snapshot = solving(&[phase]);
        snapshot.intervals.self_check = SignedDuration::ZERO;
        let mut try_again = |outcome: &Outcome| {
            absorb(&mut snapshot, &effect, outcome.clone(), now()).unwrap();
            let next = snapshot.run.attempt(&challenge_url(0)).not_before.unwrap();
            now().duration_until(next).as_millis()
        };
        let pauses: Vec<i128> = (0..12).map(|_| try_again(&outcome)).collect();
        let expected = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000];
        assert_eq!(pauses, expected, "{effect:?} {outcome:?}");
        if effect == self_check(0) {
            try_again(&Outcome::Checked(check(None)));
            assert_eq!(try_again(&outcome), 5, "one has passed since");
        }
    }
}

#[test]
fn only_the_first_accept_makes_the_verdict_come_soon() {
    for (accepts, looks) in [(None, 0), (Some(Accepts { count: 1, last: now() }), 7)] {
        let mut snapshot = solving(&[Phase::Accepting]);
        snapshot.run.order.poll.looks = 7;
        let challenge = &mut snapshot.order.as_mut().unwrap().challenges[0];
        challenge.pending_mut().unwrap().accepts = accepts;
        let state = AuthorizationState::Processing;
        let seen = ChallengeSeen { state, problem: None };
        absorb(&mut snapshot, &accept(0), Outcome::Accepted(seen), now()).unwrap();
        assert_eq!(snapshot.run.order.poll.looks, looks, "{accepts:?}");
    }
}

/// Else nothing would ever present it again.
#[test]
fn a_value_of_an_earlier_run_that_was_not_seen_for_a_turn_is_presented_again() {
    use Phase::{Presenting, SelfChecking};
    for (answer, next) in [(Answer::MayBeOut, Presenting), (Answer::Out, SelfChecking)] {
        let mut snapshot = solving(&[SelfChecking]);
        snapshot.run.attempt_mut(&challenge_url(0)).answer = answer;
        let pending = AuthorizationState::Pending;
        let seen = authorization_seen(0, pending.clone(), pending);
        let outcome = Outcome::Authorization(Box::new(seen));
        let (found, _) = absorbed(&mut snapshot, &read_authorization(0), outcome);
        assert_eq!(phase_of(&found), next);
    }
}

/// A CA may give both orders the same challenge; and a provider may write all values of a name.
#[test]
fn the_clean_ups_of_earlier_orders_come_before_a_name_is_presented_again() {
    let mut snapshot = granted(solving(&[Phase::Queued, Phase::SelfChecking]), &[0, 1]);
    let mut old = Order { name: "web-1-0".to_owned(), ..snapshot.order.clone().unwrap() };
    for challenge in &mut old.challenges {
        challenge.end();
        challenge.presented.is_owed = true;
    }
    snapshot.retired = vec![old];
    let current = snapshot.order.as_mut().unwrap();
    current.challenges[1].presented.is_owed = true;
    assert_eq!(controller::clean_ups(&snapshot), [clean_up("web-1-0", 0)], "the other is needed");
    assert_eq!(controller::decide(&snapshot, now()), Step::Act(vec![self_check(1)]));
    let mut failed = snapshot.clone();
    failed.run.attempt_mut(&challenge_url(0)).clean_up_failed = true;
    assert!(matches!(controller::decide(&failed, now()), Step::Record(_)));
    absorb(&mut snapshot, &clean_up("web-1-0", 0), Outcome::CleanedUp, now()).unwrap();
    snapshot.retired[0].challenges[0].presented.is_owed = false;
    assert!(matches!(controller::decide(&snapshot, now()), Step::Record(_)));
    // Then that of the earlier order, and that of this one.
    snapshot.order.as_mut().unwrap().challenges[1].end();
    assert_eq!(controller::clean_ups(&snapshot), [clean_up("web-1-0", 1)]);
    snapshot.retired.clear();
    assert_eq!(controller::clean_ups(&snapshot), [clean_up("web-1-1", 1)]);
}

#[test]
fn a_slot_lets_a_queued_challenge_start_with_its_clean_up_owed() {
    let queued = solving(&[Phase::Queued, Phase::Queued]);
    let Step::Wait { until: None, wake: Wake::Slot, what } = controller::decide(&queued, now())
    else {
        panic!()
    };
    assert_eq!(what, Awaited::Slot(challenge(0, Phase::Queued).spec.identifier.clone()));
    let Step::Record(record) = controller::decide(&granted(queued, &[1]), now()) else { panic!() };
    let found: Vec<_> = written_order(&record)
        .challenges
        .iter()
        .map(|c| (phase_of(c), c.owes_clean_up()))
        .collect();
    assert_eq!(found, [(Phase::Queued, false), (Phase::Presenting, true)]);
}

#[test]
fn a_challenge_starts_again_only_when_its_last_turn_is_cleaned_up() {
    let mut snapshot = granted(solving(&[Phase::Queued]), &[0]);
    snapshot.order.as_mut().unwrap().challenges[0].presented.is_owed = true;
    let clean = clean_up("web-1-1", 0);
    assert_eq!(controller::clean_ups(&snapshot), [clean]);
    assert!(matches!(controller::decide(&snapshot, now()), Step::Wait { wake: Wake::Slot, .. }));
    snapshot.run.attempt_mut(&challenge_url(0)).clean_up_failed = true;
    assert!(matches!(controller::decide(&snapshot, now()), Step::Record(_)));
}

/// The phases and reasons that a record leaves, by challenge.
fn recorded(snapshot: &Snapshot) -> (Vec<Phase>, Vec<Reason>) {
    let step = controller::decide(snapshot, now());
    let Step::Record(record) = step else { panic!("{step:?}") };
    let phases = written_order(&record).challenges.iter().map(phase_of).collect();
    (phases, record.events.iter().map(|event| event.reason).collect())
}

#[test]
fn a_turn_that_is_over_leaves_the_answer_out() {
    use Phase::{Accepted, Accepting, Final, Presenting, Queued, Requeued, SelfChecking};
    let mut snapshot = solving(&[Queued, Presenting, SelfChecking]);
    for url in [1, 2].map(challenge_url) {
        snapshot.run.attempt_mut(&url).slot = OVER;
    }
    let expected = vec![Queued, Requeued, Requeued];
    assert_eq!(recorded(&snapshot), (expected, vec![Reason::Requeued; 2]));
    let mut accepted = solving(&[Accepting, Accepted, Final]);
    for url in [0, 1, 2].map(challenge_url) {
        accepted.run.attempt_mut(&url).slot = OVER;
    }
    assert!(
        matches!(controller::decide(&accepted, now()), Step::Act(_)),
        "the CA has received accept"
    );

    let mut waits = solving(&[SelfChecking]);
    waits.run.attempt_mut(&challenge_url(0)).slot = OVER;
    let Step::Record(record) = controller::decide(&waits, now()) else { panic!() };
    let left = &written_order(&record).challenges[0];
    assert!(left.is_presented() && left.owes_clean_up() && !left.is_processing(), "{left:?}");
    let message = &record.events[0].message;
    let expected_message =
        "Challenge queued again, still presented, because others need its slot (a.example)";
    assert_eq!(message, expected_message);
    // A wait instead of a self-check ends without another turn.
    let spec = &mut waits.order.as_mut().unwrap().challenges[0].spec;
    Arc::make_mut(spec).solver.wait_instead_of_self_check = Some(GoDuration(seconds(3600)));
    assert!(matches!(controller::decide(&waits, now()), Step::Wait { .. }));
}

/// Else many whose turns are short for a slow machine would take each other's slots for ever.
#[test]
fn a_turn_ends_with_a_self_check_and_not_before_it() {
    use Phase::{Accepting, Requeued, SelfChecking};
    let interval = solving(&[SelfChecking]).intervals.self_check;
    let granted = now() - interval * 9;
    let cases = [
        (None, false),
        // The one of an earlier turn, just before this one.
        (Some(granted - seconds(1) + interval), false),
        (Some(granted + interval), true),
        (Some(now()), true),
    ];
    for (not_before, yields) in cases {
        // The one name of both: they are queued again together, or not at all.
        let mut snapshot = group([SelfChecking, Accepting]);
        let grant = Some(Grant { at: granted, queued_since: granted, was_behind: false });
        for url in [0, 1].map(challenge_url) {
            snapshot.run.attempt_mut(&url).slot = Slot::Held { grant, is_over: true };
        }
        snapshot.run.attempt_mut(&challenge_url(0)).not_before = not_before;
        let step = controller::decide(&snapshot, now());
        let is_recorded = matches!(step, Step::Record(_));
        assert_eq!(is_recorded, yields, "{not_before:?}: {step:?}");
        if yields {
            assert_eq!(recorded(&snapshot).0, [Requeued; 2]);
        }
    }
}

#[test]
fn another_turn_continues_where_the_last_one_ended() {
    let mut snapshot = solving(&[Phase::Requeued, Phase::Requeued]);
    snapshot.order.as_mut().unwrap().challenges[0].presented.at = Some(now());
    assert_eq!(controller::clean_ups(&snapshot), [], "what is out stays out");
    let waiting = controller::decide(&snapshot, now());
    assert!(matches!(waiting, Step::Wait { until: None, wake: Wake::Slot, .. }), "{waiting:?}");
    let granted = granted(snapshot.clone(), &[0, 1]);
    let expected = vec![Phase::SelfChecking, Phase::Presenting];
    assert_eq!(recorded(&granted), (expected, vec![Reason::Started; 2]));

    // An effect that was in flight when the turn ended.
    let effect = present(0);
    snapshot.order.as_mut().unwrap().challenges[0].presented.at = None;
    let (found, _) = absorbed(&mut snapshot.clone(), &effect, Outcome::Presented);
    assert_eq!((phase_of(&found), found.presented.at), (Phase::Requeued, Some(now())));
}

#[test]
fn what_an_earlier_run_was_at_work_on_waits_for_a_slot_of_this_one() {
    use Phase::{Accepting, Presenting, SelfChecking};
    let mut snapshot = solving(&[Presenting, SelfChecking, Accepting]);
    for url in [0, 1, 2].map(challenge_url) {
        snapshot.run.attempt_mut(&url).slot = Slot::Missing;
    }
    snapshot.run.attempt_mut(&challenge_url(2)).is_unsure = true;
    let read = read_authorization(2);
    assert_eq!(controller::decide(&snapshot, now()), Step::Act(vec![read]));
    snapshot.run.attempt_mut(&challenge_url(2)).is_unsure = false;
    let step = controller::decide(&snapshot, now());
    assert!(matches!(step, Step::Wait { until: None, wake: Wake::Slot, .. }), "{step:?}");
    let spec = &mut snapshot.order.as_mut().unwrap().challenges[1].spec;
    Arc::make_mut(spec).solver.wait_instead_of_self_check = Some(GoDuration(seconds(1)));
    let step = controller::decide(&snapshot, from_now(seconds(2)));
    assert!(matches!(step, Step::Wait { .. }), "{step:?}");
}

#[test]
fn a_check_that_failed_is_repeated_after_the_interval() {
    let mut snapshot = solving(&[Phase::SelfChecking]);
    let effect = self_check(0);
    let checked = |passed: bool| Outcome::Checked(check((!passed).then_some("connection refused")));
    absorb(&mut snapshot, &effect, checked(false), now()).unwrap();
    let Step::Wait { until, wake: Wake::Time, .. } = controller::decide(&snapshot, now()) else {
        panic!()
    };
    assert_eq!(until, Some(from_now(seconds(10))));
    assert_eq!(
        controller::decide(&snapshot, from_now(seconds(10))),
        Step::Act(vec![effect.clone()])
    );

    let reason = |passed| {
        let record = absorb(&mut snapshot.clone(), &effect, checked(passed), now()).unwrap();
        let challenge = &written_order(&record).challenges[0];
        let shown = challenge.shown_reason();
        (phase_of(challenge), challenge.reason.clone(), challenge.reason_source, shown)
    };
    let waiting = "Waiting for HTTP-01 challenge propagation: connection refused".to_owned();
    let shown = "connection refused".to_owned();
    assert_eq!(reason(false), (Phase::SelfChecking, waiting, ReasonSource::SelfCheck, shown));
    let none = (Phase::Accepting, String::new(), ReasonSource::Other, String::new());
    assert_eq!(reason(true), none);
    // A self-check that ends without a report leaves the report of the one before it.
    let checked_again = Outcome::Failed(error(CauseKind::Local));
    let record = absorb(&mut snapshot, &effect, checked(false), now()).unwrap();
    snapshot.order = Some(written_order(&record).clone());
    let record = absorb(&mut snapshot, &effect, checked_again, now()).unwrap();
    let challenge = &written_order(&record).challenges[0];
    assert!(challenge.check().is_some());
    assert_eq!(challenge.shown_reason(), challenge.reason);
}

#[test]
fn a_wait_instead_of_the_check_ends_in_accepting() {
    let mut snapshot = solving(&[Phase::SelfChecking]);
    let spec = &mut snapshot.order.as_mut().unwrap().challenges[0].spec;
    Arc::make_mut(spec).solver.wait_instead_of_self_check = Some(GoDuration(seconds(30)));
    let Step::Wait { until, .. } = controller::decide(&snapshot, now()) else { panic!() };
    assert_eq!(until, Some(from_now(seconds(30))));
    let Step::Record(record) = controller::decide(&snapshot, from_now(seconds(30))) else {
        panic!()
    };
    assert_eq!(phase_of(&written_order(&record).challenges[0]), Phase::Accepting);
}

fn absorbed(
    snapshot: &mut Snapshot,
    effect: &Effect,
    outcome: Outcome,
) -> (Challenge, Vec<Reason>) {
    let record = absorb(snapshot, effect, outcome, now()).unwrap();
    let reasons = record.events.iter().map(|event| event.reason).collect();
    (written_order(&record).challenges[0].clone(), reasons)
}

#[test]
fn presenting_is_noted_or_tried_again() {
    let mut snapshot = solving(&[Phase::Presenting]);
    let effect = present(0);
    let (found, reasons) = absorbed(&mut snapshot.clone(), &effect, Outcome::Presented);
    assert_eq!((phase_of(&found), found.presented.at), (Phase::SelfChecking, Some(now())));
    assert_eq!(reasons, [Reason::Presented]);
    let failed = Outcome::Failed(error(CauseKind::Local));
    let (found, reasons) = absorbed(&mut snapshot.clone(), &effect, failed.clone());
    assert_eq!((phase_of(&found), reasons), (Phase::Presenting, vec![Reason::PresentError]));
    absorb(&mut snapshot, &effect, failed.clone(), now()).unwrap();
    let Step::Wait { until, .. } = controller::decide(&snapshot, now()) else { panic!() };
    assert_eq!(until, Some(from_now(seconds(10))));
}

/// Refused three times in a row, permanently or not; what may be presented stays owed.
#[test]
fn an_answer_that_is_refused_is_not_owed_until_it_is_tried_again() {
    use CauseKind::{Denied, Local, Precondition, Program, Transient};
    let effect = present(0);
    for (kind, may_be_out, owed, wait, gives_up) in [
        (Denied, false, false, 20, true),
        (Denied, true, true, 20, true),
        (Precondition, false, false, 20, true),
        (Program, false, true, 20, true),
        (Local, false, true, 10, false),
        (Transient, false, true, 10, false),
    ] {
        let what = format!("{kind:?} {may_be_out}");
        let mut snapshot = solving(&[Phase::Presenting]);
        snapshot.order.as_mut().unwrap().challenges[0].presented.is_owed = true;
        if may_be_out {
            snapshot.run.attempt_mut(&challenge_url(0)).answer = Answer::MayBeOut;
        }
        let mut time = now();
        for tries in 1..=3 {
            assert_eq!(
                controller::decide(&snapshot, time),
                Step::Act(vec![effect.clone()]),
                "{what}"
            );
            assert!(!snapshot.run.attempt(&challenge_url(0)).gives_up(), "{what}: {tries}");
            let failed = Outcome::Failed(error(kind));
            let record = absorb(&mut snapshot, &effect, failed, time).unwrap();
            snapshot.order = Some(written_order(&record).clone());
            let challenge = &snapshot.order.as_ref().unwrap().challenges[0];
            assert_eq!(challenge.owes_clean_up(), owed, "{what}: {tries}");
            let Step::Wait { until, .. } = controller::decide(&snapshot, time) else {
                panic!("{what}")
            };
            time += seconds(wait);
            assert_eq!(until, Some(time), "{what}");
            // That something may be presented from now on is recorded before.
            if !owed {
                let Step::Record(record) = controller::decide(&snapshot, time) else {
                    panic!("{what}")
                };
                snapshot.order = Some(written_order(&record).clone());
                let challenge = &snapshot.order.as_ref().unwrap().challenges[0];
                assert!(challenge.owes_clean_up(), "{what}: {tries}");
            }
        }
        assert_eq!(snapshot.run.attempt(&challenge_url(0)).gives_up(), gives_up, "{what}");
        absorb(&mut snapshot, &effect, Outcome::Presented, time).unwrap();
        assert!(!snapshot.run.attempt(&challenge_url(0)).gives_up(), "{what}: begun anew");
        assert_eq!(snapshot.run.attempt(&challenge_url(0)).answer, Answer::Out, "{what}");
    }
}

#[test]
fn refused_credentials_are_not_tried_again_in_the_run() {
    let effect = present(0);
    for may_be_out in [false, true] {
        let mut snapshot = solving(&[Phase::Presenting]);
        snapshot.order.as_mut().unwrap().challenges[0].presented.is_owed = true;
        if may_be_out {
            snapshot.run.attempt_mut(&challenge_url(0)).answer = Answer::MayBeOut;
        }
        let refused = Outcome::Failed(error(CauseKind::Unauthorized));
        let record = absorb(&mut snapshot, &effect, refused, now()).unwrap();
        assert_eq!(written_order(&record).challenges[0].owes_clean_up(), may_be_out);
        assert!(snapshot.run.attempt(&challenge_url(0)).gives_up(), "{may_be_out}");
    }
}

#[test]
fn what_accept_answers_is_waiting_or_a_verdict() {
    use AuthorizationState::{Invalid, Other, Pending, Processing, Valid};
    let snapshot = solving(&[Phase::Accepting]);
    let effect = accept(0);
    let answer = |state: AuthorizationState| {
        let problem = state.is_failure().then(|| problem("dns"));
        let outcome = Outcome::Accepted(ChallengeSeen { state, problem });
        let (found, _) = absorbed(&mut snapshot.clone(), &effect, outcome);
        (phase_of(&found), found.authorization().clone())
    };
    let waiting = (Phase::Accepted, Pending);
    assert_eq!(answer(Pending), waiting);
    assert_eq!(answer(Processing), waiting);
    assert_eq!(answer(Other("thinking".to_owned())), waiting);
    assert_eq!(answer(Valid), (Phase::Final, Valid));
    assert_eq!(answer(Invalid), (Phase::Final, Invalid));
}

/// The CA's view of a challenge whose validation failed.
fn left(state: AuthorizationState) -> ChallengeSeen {
    ChallengeSeen { state, problem: Some(problem("connection")) }
}

#[test]
fn a_challenge_left_pending_with_an_error_is_checked_and_accepted_again() {
    use AuthorizationState::{Pending, Processing};
    let effect = accept(0);
    let error = "403 urn:ietf:params:acme:error:connection: no";
    let mut snapshot = solving(&[Phase::Accepting]);
    for (is_out, kind, phase) in [
        (false, ChallengeType::Http01, Phase::Presenting),
        (true, ChallengeType::Http01, Phase::SelfChecking),
        (false, ChallengeType::Dns01, Phase::SelfChecking),
    ] {
        let answer = if is_out { Answer::Out } else { Answer::NotOut };
        snapshot.run.attempt_mut(&challenge_url(0)).answer = answer;
        snapshot.order = Some(of_type(kind, Phase::Accepting));
        let before = snapshot.order.as_ref().unwrap().challenges[0].clone();
        let (found, reasons) =
            absorbed(&mut snapshot.clone(), &effect, Outcome::Accepted(left(Pending)));
        let mut expected = Challenge {
            reason: format!("The CA could not validate the challenge and left it pending: {error}"),
            state: challenge(0, phase).state,
            ..before
        };
        let pending = expected.pending_mut().unwrap();
        pending.problem = Some(problem("connection"));
        pending.accepts = Some(Accepts { count: 1, last: now() });
        assert_eq!((found, reasons), (expected, vec![Reason::Pending]));
    }
    // The CA continues by itself.
    let (found, reasons) =
        absorbed(&mut snapshot.clone(), &effect, Outcome::Accepted(left(Processing)));
    let pending_message = format!("The CA has not validated the challenge yet: {error}");
    assert_eq!(
        (phase_of(&found), found.reason, reasons),
        (Phase::Accepted, pending_message, vec![Reason::Pending])
    );
    // The same error again adds no event.
    let known = snapshot.order.as_mut().unwrap().challenges[0].pending_mut().unwrap();
    known.problem = Some(problem("connection"));
    let (_, reasons) = absorbed(&mut snapshot.clone(), &effect, Outcome::Accepted(left(Pending)));
    assert_eq!(reasons, []);
}

#[test]
fn the_pause_before_another_accept_delays_the_self_check_and_the_wait_instead() {
    let mut snapshot = solving(&[Phase::SelfChecking]);
    let check = self_check(0);
    for (count, pause) in [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (6, 60), (u32::MAX, 60)] {
        let left = snapshot.order.as_mut().unwrap().challenges[0].pending_mut().unwrap();
        left.problem = Some(problem("connection"));
        left.accepts = Some(Accepts { count, last: now() });
        let Step::Wait { until, .. } = controller::decide(&snapshot, now()) else {
            panic!("{count}")
        };
        assert_eq!(until, Some(from_now(seconds(pause))), "{count}");
        let later = controller::decide(&snapshot, from_now(seconds(pause)));
        assert_eq!(later, Step::Act(vec![check.clone()]), "{count}");
        // The clock was put back since.
        let earlier = controller::decide(&snapshot, from_now(seconds(-1)));
        assert_eq!(earlier, Step::Act(vec![check.clone()]), "{count}");
    }
    let spec = &mut snapshot.order.as_mut().unwrap().challenges[0].spec;
    Arc::make_mut(spec).solver.wait_instead_of_self_check = Some(GoDuration(seconds(30)));
    let Step::Wait { until, .. } = controller::decide(&snapshot, from_now(seconds(30))) else {
        panic!()
    };
    assert_eq!(until, Some(from_now(seconds(60))));
    assert!(matches!(controller::decide(&snapshot, from_now(seconds(60))), Step::Record(_)));
}

#[test]
fn a_failed_validation_clears_the_hits_that_preceded_it() {
    use AuthorizationState::Pending;
    let read = read_authorization(0);
    let mut seen = authorization_seen(0, Pending, Pending);
    seen.seen[0].1 = left(Pending);
    let outcome = Outcome::Authorization(Box::new(seen));
    // An accept whose reply was lost is counted once, by this run or the one before.
    let counted = Some(Accepts { count: 1, last: now() });
    for (phase, is_tried, accepts) in [
        (Phase::Accepted, false, None),
        (Phase::Accepting, true, None),
        (Phase::Accepting, false, counted),
    ] {
        let mut snapshot = solving(&[phase]);
        let url = challenge_url(0);
        snapshot.run.attempt_mut(&url).answer = Answer::Out;
        snapshot.run.note_begin(&accept(0), now());
        snapshot.run.note_hit(&url, now());
        snapshot.run.attempt_mut(&url).accept_tries = u32::from(is_tried);
        absorb(&mut snapshot, &read, outcome.clone(), now()).unwrap();
        assert_eq!(snapshot.run.attempt(&url).acceptance, None, "{phase:?}");
        let (found, reasons) = absorbed(&mut snapshot.clone(), &read, outcome.clone());
        let expected = (Phase::SelfChecking, Some(problem("connection")), accepts);
        let left = found.pending().unwrap();
        let seen = (phase_of(&found), left.problem.clone(), left.accepts);
        assert_eq!(seen, expected, "{phase:?} {is_tried}");
        assert_eq!(reasons, [Reason::Pending]);
    }
}

#[test]
fn a_slot_is_held_from_presenting_to_the_verdict() {
    use AuthorizationState::{Deactivated, Expired, Invalid, Revoked, Valid};
    use Phase::{Accepted, Accepting, Final, Presenting, Queued, Requeued, SelfChecking};
    let phases = [Queued, Requeued, Presenting, SelfChecking, Accepting, Accepted, Final];
    let held = phases.map(|phase| challenge(0, phase).is_processing());
    assert_eq!(held, [false, false, true, true, true, true, false]);

    for verdict in [Valid, Invalid, Expired, Revoked, Deactivated] {
        let snapshot = solving(&[Accepting]);
        let outcome = Outcome::Accepted(ChallengeSeen { state: verdict.clone(), problem: None });
        let (found, _) = absorbed(&mut snapshot.clone(), &accept(0), outcome);
        assert_eq!((found.is_processing(), found.authorization()), (false, &verdict));
    }
}

#[test]
fn an_outcome_that_comes_too_late_changes_nothing() {
    let checked = || Outcome::Checked(check(None));
    for phase in [Phase::Final, Phase::Queued, Phase::Requeued] {
        let snapshot = solving(&[phase]);
        for outcome in [checked(), Outcome::Presented] {
            if phase == Phase::Requeued && outcome == Outcome::Presented {
                continue;
            }
            let effect = self_check(0);
            let (found, _) = absorbed(&mut snapshot.clone(), &effect, outcome);
            assert_eq!(found, challenge(0, phase));
        }
    }
    let accepted = solving(&[Phase::Accepted]);
    let effect = self_check(0);
    assert!(absorb(&mut accepted.clone(), &effect, checked(), now()).is_err());
}

fn of_type(kind: ChallengeType, phase: Phase) -> Order {
    let mut order = solving(&[phase]).order.unwrap();
    Arc::make_mut(&mut order.challenges[0].spec).kind = kind;
    order
}

#[test]
fn what_a_run_leaves_and_what_the_next_one_finds() {
    use ChallengeType::{Dns01, Http01};
    use Phase::{Accepted, Accepting, Final, Presenting, Queued, Requeued, SelfChecking};
    let parked = |kind, phase| phase_of(&controller::parked(of_type(kind, phase)).challenges[0]);
    let resumed = |kind, phase| {
        let (order, unsure) = controller::resumed(of_type(kind, phase));
        (phase_of(&order.challenges[0]), unsure.len())
    };
    let cases = [
        (Http01, Queued, Queued, (Queued, 0)),
        (Http01, Requeued, Queued, (Queued, 0)),
        (Http01, Presenting, Queued, (Presenting, 0)),
        (Http01, SelfChecking, Queued, (Presenting, 0)),
        (Http01, Accepting, Queued, (Accepting, 1)),
        (Http01, Accepted, Accepted, (Accepted, 0)),
        (Http01, Final, Final, (Final, 0)),
        (Dns01, Requeued, Requeued, (Requeued, 0)),
        (Dns01, Presenting, Presenting, (Presenting, 0)),
        (Dns01, SelfChecking, SelfChecking, (SelfChecking, 0)),
        (Dns01, Accepting, SelfChecking, (Accepting, 1)),
        (Dns01, Accepted, Accepted, (Accepted, 0)),
    ];
    for (kind, phase, left, found) in cases {
        assert_eq!(parked(kind.clone(), phase), left, "{kind:?} {phase:?} left");
        assert_eq!(resumed(kind.clone(), phase), found, "{kind:?} {phase:?} found");
    }
}

#[test]
fn a_clean_up_is_done_once_or_left_with_a_warning() {
    let mut snapshot = solving(&[Phase::Accepted, Phase::Final]);
    snapshot.order.as_mut().unwrap().challenges[1].presented.is_owed = true;
    let owed = controller::clean_ups(&snapshot);
    let effect = clean_up("web-1-1", 1);
    assert_eq!(owed, std::slice::from_ref(&effect), "an accepted challenge stays out");

    let failed = Outcome::Failed(error(CauseKind::Local));
    let record = absorb(&mut snapshot.clone(), &effect, failed.clone(), now()).unwrap();
    let left = &written_order(&record).challenges[1];
    assert!(left.owes_clean_up() && left.reason.starts_with("Error cleaning up challenge: "));
    assert_eq!(record.events[0].reason, Reason::CleanUpError);
    absorb(&mut snapshot, &effect, failed.clone(), now()).unwrap();
    assert_eq!(controller::clean_ups(&snapshot), [], "and is left to the next run");

    let record = absorb(&mut snapshot.clone(), &effect, Outcome::CleanedUp, now()).unwrap();
    assert!(!written_order(&record).challenges[1].owes_clean_up());
    // Of a retired order as well.
    snapshot.run.attempt_mut(&challenge_url(1)).clean_up_failed = false;
    snapshot.retired = vec![Order { name: "web-1-0".to_owned(), ..snapshot.order.take().unwrap() }];
    let effect = clean_up("web-1-0", 1);
    assert_eq!(controller::clean_ups(&snapshot), [effect]);
}

/// Whatever the error of accept: the state is read from the CA.
#[test]
fn a_failed_accept_is_checked_at_the_ca() {
    use CauseKind::{Gone, Refused, Transient, Unusable};
    for kind in [Transient, Refused, Gone, Unusable] {
        let mut snapshot = solving(&[Phase::Accepting]);
        let effect = accept(0);
        let read = read_authorization(0);
        for attempt in 1..=3 {
            assert_eq!(
                controller::decide(&snapshot, now() + SignedDuration::from_millis(20)),
                Step::Act(vec![effect.clone()]),
                "{kind:?}"
            );
            let failed = Outcome::Failed(error(kind));
            let (found, _) = absorbed(&mut snapshot, &effect, failed);
            assert_eq!(phase_of(&found), Phase::Accepting, "{kind:?}");
            assert_eq!(snapshot.run.error.is_some(), attempt == 3, "{kind:?}");
            let step = controller::decide(&snapshot, now());
            assert!(matches!(step, Step::Wait { .. }), "{kind:?}: {step:?}");
            assert_eq!(
                controller::decide(&snapshot, now() + SignedDuration::from_millis(20)),
                Step::Act(vec![read.clone()]),
                "{kind:?}"
            );
            // The CA did not receive "accept".
            let pending = AuthorizationState::Pending;
            let seen = authorization_seen(0, pending.clone(), pending);
            let outcome = Outcome::Authorization(Box::new(seen));
            let (found, _) = absorbed(&mut snapshot, &read, outcome);
            assert_eq!(phase_of(&found), Phase::Accepting, "{kind:?}");
        }
    }
}

#[test]
fn what_an_authorization_says_of_an_unsure_accept() {
    use AuthorizationState::{Invalid, Pending, Processing, Valid};
    let cases = [
        (Pending, Processing, Phase::Accepted, Pending),
        (Pending, Valid, Phase::Accepted, Pending),
        (Valid, Valid, Phase::Final, Valid),
        (Invalid, Invalid, Phase::Final, Invalid),
        // The response that the earlier run presented may be lost.
        (Pending, Pending, Phase::Presenting, Pending),
    ];
    let effect = read_authorization(0);
    for (state, own, phase, authorization) in cases {
        let mut snapshot = solving(&[Phase::Accepting]);
        let attempt = snapshot.run.attempt_mut(&challenge_url(0));
        (attempt.is_unsure, attempt.answer) = (true, Answer::MayBeOut);
        let seen = authorization_seen(0, state, own.clone());
        let outcome = Outcome::Authorization(Box::new(seen));
        let (found, _) = absorbed(&mut snapshot.clone(), &effect, outcome);
        assert_eq!(
            (phase_of(&found), found.authorization().clone()),
            (phase, authorization),
            "{own:?}"
        );
    }
    // An authorization that no longer lists the challenge is not read again and again.
    let mut seen = authorization_seen(0, Pending, Pending);
    seen.seen.clear();
    let mut snapshot = solving(&[Phase::Accepting]);
    snapshot.run.attempt_mut(&challenge_url(0)).is_unsure = true;
    let (found, _) =
        absorbed(&mut snapshot.clone(), &effect, Outcome::Authorization(Box::new(seen)));
    assert_eq!(
        (phase_of(&found), found.authorization().clone()),
        (Phase::Final, AuthorizationState::Errored)
    );
}
