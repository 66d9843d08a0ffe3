//! What the order's controller wants next.

use jiff::SignedDuration;

use super::effects::{accept, create_order, download, finalize, read_authorization, read_order};
use super::fixture::{
    Phase, SERVER, challenge_url, failed_at, in_phase, issuer_mut, now, ordered, phase_of,
    ready_to_order, solving, unread_authorization, written_order,
};
use crate::controller::{
    Awaited, ChallengeSeen, Change, Effect, OrderRun, OrderSeen, Outcome, Poll, Run, Snapshot,
    Step, Wake, absorb, next_step, order as controller,
};
use crate::resource::{
    AuthorizationState, Cause, CauseKind, Challenge, ChallengeState, FailureClass, GoDuration,
    Order, OrderState, Presented,
};

fn failed_with(snapshot: &Snapshot) -> (FailureClass, String) {
    match controller::decide(snapshot, now()) {
        Step::Fail(failure) => (failure.class, failure.to_string()),
        step => panic!("{step:?}"),
    }
}

fn acts(snapshot: &Snapshot) -> Vec<Effect> {
    match controller::decide(snapshot, now()) {
        Step::Act(effects) => effects,
        step => panic!("{step:?}"),
    }
}

fn change(mut snapshot: Snapshot, change: impl FnOnce(&mut Order)) -> Snapshot {
    change(snapshot.order.as_mut().unwrap());
    snapshot
}

#[test]
fn each_phase_has_its_effect() {
    let cases = [
        (ordered("creating", OrderState::Unknown), vec![create_order()]),
        (ordered("finalizing", OrderState::Ready), vec![finalize()]),
        (ordered("awaiting", OrderState::Processing), vec![read_order()]),
        (ordered("downloading", OrderState::Valid), vec![download()]),
        (solving(&[Phase::Accepted]), vec![read_order()]),
    ];
    for (snapshot, expected) in cases {
        assert_eq!(acts(&snapshot), expected);
        // One of an earlier run is read first.
        let mut resumed = snapshot;
        resumed.run.order.is_known = false;
        let is_new = resumed.order.as_ref().unwrap().phase.word() == "creating";
        let first = if is_new { create_order() } else { read_order() };
        assert_eq!(acts(&resumed), [first]);
    }
    for settled in [ready_and_done(), solving(&[Phase::Queued]), super::fixture::live()] {
        assert_eq!(controller::decide(&settled, now()), Step::Settled);
    }
}

fn ready_and_done() -> Snapshot {
    ordered("issued", OrderState::Valid)
}

#[test]
fn a_new_order_says_what_it_is_for() {
    let mut snapshot = ready_to_order();
    snapshot.certificate.spec.dns_names = super::fixture::names(&["b.example", "a.example"]);
    snapshot.certificate.spec.common_name = "b.example".to_owned();
    snapshot.certificate.spec.ip_addresses =
        ["::ffff:192.0.2.5", "::1", "192.0.2.5"].map(|text| text.parse().unwrap()).to_vec();
    snapshot.certificate.spec.duration = Some(GoDuration(SignedDuration::from_hours(24)));
    issuer_mut(&mut snapshot).acme.enable_duration_feature = true;
    snapshot.order_count = 2;
    let Step::Record(record) = controller::decide(&snapshot, now()) else { panic!() };
    let made = written_order(&record);
    assert_eq!((made.name.as_str(), made.phase.word()), ("web-1-3", "creating"));
    let names: Vec<_> = made.spec.identifiers.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["a.example", "b.example", "192.0.2.5", "::1"]);
    assert_eq!(made.spec.not_after, Some(now() + SignedDuration::from_hours(24)));
    assert_eq!(made.spec.directory_url, SERVER);
    assert!(matches!(&record.changes[1], Change::Certificate(r)
        if r.status.order_ref.as_deref() == Some("web-1-3")));
    snapshot.run.order.was_requested = true;
    assert_eq!(failed_with(&snapshot).0, FailureClass::Ca, "one newOrder in a run");
}

#[test]
fn a_failed_order_is_counted_once_and_then_replaced() {
    let mut failed = change(ordered("failed", OrderState::Errored), |order| {
        order.reason = "no".to_owned();
    });
    assert_eq!(failed_with(&failed).0, FailureClass::Ca);
    failed.order.as_mut().unwrap().phase = failed_at(now());
    assert_eq!(failed_with(&failed).0, FailureClass::Ca, "written, but not counted yet");
    failed.record.status.last_failure_time = Some(now());
    assert!(matches!(controller::decide(&failed, now()), Step::Record(_)), "counted");
    failed.order.as_mut().unwrap().phase = failed_at(now() + SignedDuration::from_hours(9600));
    assert!(matches!(controller::decide(&failed, now()), Step::Record(_)), "of a wrong clock");
}

#[test]
fn an_order_that_was_refused_because_a_run_was_cut_off_is_replaced_once() {
    let refused = |phase| {
        change(solving(&[phase]), |order| {
            order.challenges[0].fail(AuthorizationState::Invalid, None);
        })
    };
    let mut snapshot = refused(Phase::Accepted);
    let left: Vec<_> =
        crate::controller::challenge::left_unanswered(&solving(&[Phase::Accepted]).order.unwrap())
            .collect();
    assert_eq!(left, [challenge_url(0)]);
    // A power loss may have taken everything but the intent to present.
    let mut intent = solving(&[Phase::Presenting]).order.unwrap();
    intent.challenges[0].presented = Presented { is_owed: true, at: None, target: None };
    let intended = crate::controller::challenge::left_unanswered(&intent);
    assert_eq!(intended.collect::<Vec<_>>(), [challenge_url(0)]);
    for url in left {
        snapshot.run.attempt_mut(&url).is_cut_off = true;
    }
    snapshot.run.order.was_seen = true;

    let mut webroot = snapshot.clone();
    webroot.settings.http01_webroot = Some("/srv/www".to_owned());
    assert_eq!(failed_with(&webroot).0, FailureClass::Validation, "a web server was there");
    let mut second = snapshot.clone();
    second.order.as_mut().unwrap().is_replacement = true;
    assert_eq!(failed_with(&second).0, FailureClass::Validation, "once is enough");
    let mut repeated = snapshot.clone();
    let seen = ChallengeSeen { state: AuthorizationState::Pending, problem: None };
    let accept = accept(0);
    absorb(&mut repeated, &accept, Outcome::Accepted(seen), now()).unwrap();
    assert_eq!(failed_with(&repeated).0, FailureClass::Validation, "accept was sent again");

    let Step::Record(record) = controller::decide(&snapshot, now()) else { panic!() };
    snapshot.order = Some(written_order(&record).clone());
    let Step::Record(record) = controller::decide(&snapshot, now()) else { panic!() };
    let new = written_order(&record);
    assert_eq!(
        (new.name.as_str(), new.phase.word(), new.is_replacement),
        ("web-1-2", "creating", true)
    );
}

#[test]
fn an_order_that_was_given_up_is_replaced_and_not_counted() {
    let mut snapshot = solving(&[Phase::SelfChecking]);
    let order = snapshot.order.as_ref().unwrap();
    snapshot.order = Some(controller::given_up(order, "renew --new-order", now()));
    snapshot.run = Run::default();
    let Step::Record(record) = controller::decide(&snapshot, now()) else { panic!() };
    assert_eq!(written_order(&record).name, "web-1-2");
}

#[test]
fn an_invalid_order_is_asked_which_name_was_refused() {
    let mut snapshot = change(solving(&[Phase::Accepted, Phase::Final, Phase::Accepted]), |o| {
        o.state = OrderState::Invalid;
        o.phase = in_phase("refused");
        o.challenges[1].state = ChallengeState::Valid;
    });
    let read = |n| read_authorization(n);
    assert_eq!(acts(&snapshot), [read(0), read(2)]);
    snapshot.order.as_mut().unwrap().challenges.iter_mut().for_each(Challenge::end);
    assert_eq!(failed_with(&snapshot).0, FailureClass::Ca, "no cause is known");
}

#[test]
fn the_order_is_looked_at_after_the_last_hit_and_then_less_and_less_often() {
    let millis = SignedDuration::from_millis;
    let mut snapshot = solving(&[Phase::Accepting, Phase::Accepting]);
    for index in 0..2 {
        snapshot.run.note_begin(&accept(index), now());
        let seen = ChallengeSeen { state: AuthorizationState::Pending, problem: None };
        let outcome = Outcome::Accepted(seen);
        let record = absorb(&mut snapshot, &accept(index), outcome, now()).unwrap();
        snapshot.order = Some(written_order(&record).clone());
    }
    snapshot.run.note_hit(&challenge_url(0), now() + millis(3));
    let until = |snapshot: &Snapshot| match controller::decide(snapshot, now()) {
        Step::Wait { until, wake: Wake::ChallengeHit, what: Awaited::Ca } => until.unwrap(),
        step => panic!("{step:?}"),
    };
    assert_eq!(until(&snapshot), now() + millis(250), "the other one was not requested yet");
    snapshot.run.note_hit(&challenge_url(1), now() + millis(7));
    assert_eq!(until(&snapshot), now() + millis(12));
    // An earlier request for the token does not follow "accept".
    let mut early = snapshot.clone();
    early.run.attempt_mut(&challenge_url(0)).acceptance.as_mut().unwrap().hit = None;
    early.run.note_hit(&challenge_url(0), now() - millis(1));
    assert_eq!(early.run.attempt(&challenge_url(0)).hit(), None);

    // A slow CA is asked as soon as another, and then at its own pace.
    let mut slow = snapshot.clone();
    slow.run.order.answer_time = millis(300);
    assert_eq!(until(&slow), until(&snapshot));
    let pauses = |snapshot: &mut Snapshot| {
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let seen = Outcome::Order(Box::new(super::fixture::order_seen(OrderState::Pending)));
            absorb(snapshot, &read_order(), seen, now()).unwrap();
            pauses.push(now().duration_until(until(snapshot)).as_millis());
        }
        pauses
    };
    let usual = [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000, 5000];
    assert_eq!(pauses(&mut snapshot), usual);
    assert_eq!(pauses(&mut slow), usual.map(|pause| pause.max(300)));
}

/// What it has reached before in this run is no progress.
#[test]
fn an_order_that_goes_back_and_forth_is_looked_at_less_and_less_often() {
    let mut run = OrderRun { finalize_tries: 1, ..OrderRun::default() };
    let (ready, processing) = (in_phase("finalizing"), in_phase("awaiting"));
    let mut step = |from, to| {
        run.note_look((from, to), None, now());
        now().duration_until(run.poll.not_before.unwrap()).as_millis()
    };
    assert_eq!(step(&ready, &processing), 5);
    assert_eq!(step(&processing, &ready), 10);
    assert_eq!(step(&ready, &processing), 20);
    assert_eq!(step(&processing, &ready), 40);
}

#[test]
fn authorizations_are_read_beside_an_order_that_stays_pending() {
    let mut snapshot = solving(&[Phase::Accepted, Phase::Final, Phase::Accepted]);
    let mut read = Vec::new();
    for looks in 0..=16 {
        snapshot.run.order.poll = Poll { looks, ..Poll::default() };
        let effects = acts(&snapshot);
        assert_eq!(effects[0], read_order());
        let beside = effects[1..].iter().map(|effect| match effect {
            Effect::ReadAuthorization { url, .. } => url.rsplit('/').next().unwrap().to_owned(),
            effect => panic!("{effect:?}"),
        });
        read.push(beside.collect::<String>());
    }
    let none = [""; 8];
    assert_eq!(read[..8], none, "as long as it takes most CAs");
    assert_eq!(read[8..], ["0", "2", "0", "2", "02", "2", "0", "2", "02"]);
}

#[test]
fn a_long_retry_after_is_honoured_for_a_minute() {
    for (requested, waited) in [(2, 2), (60, 60), (3600, 60)] {
        let mut snapshot = ordered("awaiting", OrderState::Processing);
        let mut seen = super::fixture::order_seen(OrderState::Processing);
        seen.retry_after = Some(SignedDuration::from_secs(requested));
        let outcome = Outcome::Order(Box::new(seen));
        absorb(&mut snapshot, &read_order(), outcome.clone(), now()).unwrap();
        let Step::Wait { until, .. } = controller::decide(&snapshot, now()) else { panic!() };
        assert_eq!(until, Some(now() + SignedDuration::from_secs(waited)), "{requested}");
    }
}

#[test]
fn unread_authorizations_are_read_all_at_once_and_none_is_no_reason_to_wait() {
    let reading = change(ordered("authorizing", OrderState::Pending), |order| {
        order.authorizations = vec![unread_authorization(0).into(), unread_authorization(1).into()];
    });
    let read = |n| read_authorization(n);
    assert_eq!(acts(&reading), [read(0), read(1)]);

    let empty = ordered("authorizing", OrderState::Pending);
    let Step::Record(record) = controller::decide(&empty, now()) else { panic!() };
    assert_eq!(written_order(&record).phase.word(), "solving");
}

#[test]
fn an_order_that_expired_unwatched_is_replaced_and_one_that_was_watched_has_failed() {
    let gone = super::fixture::error(CauseKind::Gone);
    for watched in [false, true] {
        let mut snapshot = ordered("awaiting", OrderState::Processing);
        if watched {
            let seen = super::fixture::order_seen(OrderState::Processing);
            let outcome = Outcome::Order(Box::new(seen));
            absorb(&mut snapshot, &read_order(), outcome.clone(), now()).unwrap();
        }
        let outcome = Outcome::Failed(gone.clone());
        let record = controller::absorb(&mut snapshot, &read_order(), outcome, now()).unwrap();
        assert_eq!(written_order(&record).state, OrderState::Expired);
        snapshot.order = Some(written_order(&record).clone());
        let step = controller::decide(&snapshot, now());
        assert_eq!(matches!(step, Step::Fail(_)), watched, "{step:?}");
    }
}

#[test]
fn an_order_that_is_invalid_for_having_expired_unwatched_is_replaced() {
    let (past, future) = (Some(now()), Some(super::fixture::from_now(super::fixture::hours(1))));
    let cases = [
        ("expired", Phase::Queued, past, false, true),
        ("not expired", Phase::Queued, future, false, false),
        ("never expires", Phase::Queued, None, false, false),
        ("accept was sent", Phase::Accepted, past, false, false),
        ("accept may have been sent", Phase::Accepting, past, false, false),
        ("watched", Phase::Queued, past, true, false),
    ];
    for (what, phase, expires, watched, replaced) in cases {
        let mut snapshot = solving(&[phase]);
        let states = [OrderState::Pending, OrderState::Invalid];
        for state in states.into_iter().skip(usize::from(!watched)) {
            let expires = if state == OrderState::Pending { future } else { expires };
            let seen = OrderSeen { expires, ..super::fixture::order_seen(state) };
            let outcome = Outcome::Order(Box::new(seen));
            let record = controller::absorb(&mut snapshot, &read_order(), outcome, now()).unwrap();
            snapshot.order = Some(written_order(&record).clone());
        }
        let step = controller::decide(&snapshot, now());
        let Step::Record(record) = &step else {
            assert!(!replaced, "{what}: {step:?}");
            // Else the authorizations are read for the cause.
            assert_eq!(acts(&snapshot).len(), 1, "{what}");
            continue;
        };
        assert!(replaced, "{what}: {step:?}");
        assert_eq!(written_order(record).phase.word(), "creating", "{what}");
        let old = snapshot.order.as_ref().unwrap();
        assert_eq!((&old.state, old.phase.word()), (&OrderState::Expired, "failed"), "{what}");
        assert_eq!(phase_of(&old.challenges[0]), Phase::Final, "{what}");
    }
}

type Edit = fn(&mut Snapshot);

#[test]
fn an_order_for_something_else_is_retired_with_all_it_put_out() {
    let cases: &[(&str, Edit)] = &[
        ("another request", |s| s.next_request.as_mut().unwrap().spec.request = "x".to_owned()),
        ("another server", |s| issuer_mut(s).acme.server = "https://other.test/".to_owned()),
        ("another account", |s| s.account.as_mut().unwrap().url = Some("other".to_owned())),
    ];
    for (what, edit) in cases {
        let mut snapshot = solving(&[Phase::SelfChecking, Phase::Accepted]);
        edit(&mut snapshot);
        let Step::Record(record) = controller::decide(&snapshot, now()) else { panic!("{what}") };
        let retired = written_order(&record);
        assert_eq!(retired.phase.word(), "replaced", "{what}");
        assert!(
            retired.challenges.iter().all(|c| phase_of(c) == Phase::Final && c.owes_clean_up())
        );
        snapshot.order = Some(retired.clone());
        let Step::Record(record) = controller::decide(&snapshot, now()) else { panic!("{what}") };
        assert_eq!(written_order(&record).phase.word(), "creating", "{what}");
        // The edit is reverted: what was replaced stays so.
        let order = snapshot.order.take();
        let back = Snapshot { order, ..solving(&[]) };
        let Step::Record(record) = controller::decide(&back, now()) else { panic!("{what}") };
        assert_eq!(written_order(&record).phase.word(), "creating", "{what}");
    }
}

#[test]
fn an_unknown_account_is_looked_up_before_any_other_request() {
    let mut snapshot = solving(&[Phase::SelfChecking]);
    snapshot.account = None;
    assert_eq!(next_step(&snapshot, now()).1, Step::Act(vec![Effect::ObtainAccountKey]));
}

#[test]
fn a_certificate_that_cannot_be_fetched_for_a_reason_of_our_own_ends_the_run() {
    for kind in [CauseKind::Precondition, CauseKind::State] {
        for effect in [download(), finalize()] {
            let mut snapshot = ordered("downloading", OrderState::Valid);
            let outcome = Outcome::Failed(super::fixture::error(kind));
            absorb(&mut snapshot, &effect, outcome.clone(), now()).unwrap();
            let (_, step) = next_step(&snapshot, now());
            assert!(matches!(step, Step::Fail(_)), "{kind:?} {effect:?}: {step:?}");
        }
    }
    let mut snapshot = ordered("downloading", OrderState::Valid);
    let gone = Outcome::Failed(super::fixture::error(CauseKind::Gone));
    for _ in 0..11 {
        absorb(&mut snapshot, &download(), gone.clone(), now()).unwrap();
        assert!(matches!(next_step(&snapshot, now()).1, Step::Wait { .. }));
    }
    absorb(&mut snapshot, &download(), gone.clone(), now()).unwrap();
    assert!(matches!(next_step(&snapshot, now()).1, Step::Fail(f) if f.class == FailureClass::Ca));
}

#[test]
fn the_csr_is_posted_three_times_and_the_last_refusal_is_told() {
    let mut snapshot = ordered("finalizing", OrderState::Ready);
    let mut refusal = super::fixture::error(CauseKind::Refused);
    let Cause::Ca(ca) = &mut refusal.cause else { panic!("{refusal}") };
    ca.message = "orderNotReady: hold on".to_owned();
    for _ in 0..3 {
        let later = super::fixture::from_now(SignedDuration::from_millis(40));
        assert_eq!(controller::decide(&snapshot, later), Step::Act(vec![finalize()]));
        let outcome = Outcome::Failed(refusal.clone());
        absorb(&mut snapshot, &finalize(), outcome.clone(), now()).unwrap();
        snapshot.run.order.is_known = true;
    }
    let (class, message) = failed_with(&snapshot);
    assert_eq!(class, FailureClass::Ca);
    assert!(message.contains("orderNotReady: hold on"), "{message}");
}

#[test]
fn a_verdict_fails_the_order_with_its_class() {
    for (state, class) in [
        (AuthorizationState::Invalid, FailureClass::Validation),
        (AuthorizationState::Expired, FailureClass::Validation),
        (AuthorizationState::Revoked, FailureClass::Validation),
        (AuthorizationState::Deactivated, FailureClass::Validation),
        (AuthorizationState::Errored, FailureClass::Ca),
    ] {
        let snapshot = change(solving(&[Phase::SelfChecking, Phase::Final]), |order| {
            order.challenges[1].fail(state.clone(), None);
            order.challenges[1].reason = "no".to_owned();
        });
        assert_eq!(failed_with(&snapshot), (class, "b.example: no".to_owned()), "{state:?}");
    }
}
