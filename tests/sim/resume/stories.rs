//! Runs that end in another way than by being killed: by a signal, by the deadline, by a failure or
//! in front of an edited manifest; and the runs that follow them.

use certctl::engine::ports::Clock as _;
use certctl::engine::{Ending, Options};
use certctl::resource::{ChallengeState, Outlook, Phase};
use jiff::SignedDuration;
use std::sync::Arc;

use super::{
    all_names_proven, due_for_renewal, issued, one_name, one_of_three_proven, refused, settle,
    sweep, three_names, two_names_over_dns, undisturbed,
};
use crate::fuse::Fuse;
use crate::stage::scene::{Scene, options};
use crate::stage::world::{EFFECT, Error};

#[test]
fn a_signal_during_any_deed_ends_the_run_at_once_and_the_next_one_goes_on() {
    for begin in [one_name, one_of_three_proven, due_for_renewal, two_names_over_dns] {
        let (wanted, orders, labels) = undisturbed(begin);
        for stuck in 0..labels.iter().filter(|label| label.starts_with(EFFECT)).count() {
            let scene = begin();
            let before = scene.clock.passed();
            let error = Error { stuck: Some(stuck), ..Error::default() };
            let went = scene.run_under(Fuse::endless(), error);
            let last = went.labels.iter().rfind(|label| label.starts_with(EFFECT));
            let is_clean_up = last.is_some_and(|label| label.contains("CleanUp"));
            if is_clean_up {
                // It is what a run ends with; it gets its half minute and stays owed.
                assert!(scene.clock.passed() - before <= SignedDuration::from_secs(31));
            } else {
                assert_eq!(went.ending, Some(Ending::Interrupted { signal: 15 }), "{last:?}");
                assert!(went.is_new, "{last:?}");
                // An answer that would be lost gets a moment.
                let is_awaited = last.is_some_and(|label| {
                    label.contains("CreateOrder") || label.contains("Present")
                });
                let most = SignedDuration::from_secs(if is_awaited { 6 } else { 1 });
                assert!(scene.clock.passed() - before <= most, "{last:?}");
                let accepted = scene.orders().iter().any(|order| {
                    order.challenges.iter().any(|c| c.phase() == Some(Phase::Accepted))
                });
                assert!(accepted || scene.outside.borrow().is_empty(), "{last:?}");
            }
            settle(&scene);
            assert_eq!(scene.state(), wanted, "{last:?}");
            assert_eq!(scene.ca.borrow().orders.len(), orders, "{last:?}");
        }
    }
}

/// One run whose listener is unreachable, and its duration.
fn probe_in_vain(scene: &Scene) -> SignedDuration {
    probe_without(scene, Outlook::Open, "Waiting for HTTP-01 challenge propagation: looked")
}

/// The same, of which this is to be expected; and what is said of it.
fn probe_without(scene: &Scene, outlook: Outlook, said: &str) -> SignedDuration {
    let before = scene.clock.passed();
    let error = Error { unreachable: true, outlook, ..Error::default() };
    let ending = scene.run_under(Fuse::endless(), error).ending.unwrap();
    let Ending::Pending { why, overdue, .. } = ending else { panic!("{ending:?}") };
    let why = why.to_string();
    assert!(why.contains(said), "{why}");
    assert!(overdue || outlook == Outlook::Open, "{outlook:?}");
    assert!(scene.outside.borrow().is_empty(), "the listener stops, and nothing is left out");
    scene.clock.passed() - before
}

#[test]
fn a_challenge_that_nobody_can_reach_is_left_for_the_next_run() {
    let scene = three_names();
    let (first, second) = (probe_in_vain(&scene), probe_in_vain(&scene));
    assert_eq!((first.as_mins(), second.as_mins()), (10, 1), "the second has less patience");
    assert!(matches!(scene.run_freely(), Ending::Issued(_)));
    settle(&scene);
    issued(1, &scene.state());
    assert_eq!(scene.ca.borrow().orders.len(), 1);
}

#[test]
fn what_no_wait_ends_is_not_waited_for_and_a_name_that_does_not_exist_for_a_minute() {
    for (outlook, said, seconds) in [
        (Outlook::NoName, "Waiting for HTTP-01 challenge propagation: looked", 60),
        (Outlook::Unserved, "looked", 20),
    ] {
        let scene = three_names();
        for run in ["first", "second"] {
            let waited = probe_without(&scene, outlook, said).as_secs();
            assert_eq!(waited, seconds, "{outlook:?}, {run}");
        }
        assert!(matches!(scene.run_freely(), Ending::Issued(_)), "{outlook:?}");
        assert_eq!(scene.ca.borrow().orders.len(), 1, "{outlook:?}");
    }
}

/// The seconds between two acceptances of a challenge.
fn pauses(scene: &Scene) -> Vec<i64> {
    let ca = scene.ca.borrow();
    ca.told.windows(2).map(|two| two[0].duration_until(two[1]).as_secs()).collect()
}

#[test]
fn a_ca_that_validates_once_per_accept_gets_more_with_growing_pauses() {
    for begin in [one_name, || Scene::over_dns(&["a.example"])] {
        let scene = begin();
        scene.ca.borrow_mut().looks_in_vain = 7;
        let ending = scene.run_freely();
        assert!(matches!(ending, Ending::Issued(_)), "{ending:?}");
        assert_eq!(pauses(&scene), [5, 10, 20, 40, 60, 60, 60]);
        settle(&scene);
        issued(1, &scene.state());
        let order = scene.orders().pop().unwrap();
        let left: Vec<_> = order.challenges.into_iter().map(|c| c.state).collect();
        assert_eq!(left, [ChallengeState::Valid]);
        assert_eq!(scene.ca.borrow().orders.len(), 1);
    }
}

/// Runs of 20 seconds each: what one has begun to wait for the next ones wait for to its end.
#[test]
fn the_pauses_go_on_across_runs_with_the_same_order() {
    let scene = one_name();
    scene.ca.borrow_mut().looks_in_vain = 6;
    let short = Options { timeout: SignedDuration::from_secs(20), ..options() };
    let tasks = [scene.task.clone()];
    let mut why = Vec::new();
    for _ in 0..13 {
        let mut ended = scene.run_together(&[&tasks], short, Error::default);
        match ended.pop().unwrap().pop().unwrap().ending {
            Ending::Pending { why: told, .. } => why.push(told.to_string()),
            Ending::Issued(_) => break,
            ending => panic!("{ending:?}"),
        }
    }
    assert_eq!(pauses(&scene), [5, 10, 20, 40, 60, 60]);
    let said = "a.example: The CA could not validate the challenge and left it pending: \
                400 urn:ietf:params:acme:error:connection: no";
    assert_eq!(why, vec![said; 9]);
    settle(&scene);
    issued(1, &scene.state());
    assert_eq!(scene.ca.borrow().orders.len(), 1);
}

#[test]
fn a_pending_challenge_is_not_accepted_again_while_the_self_check_fails() {
    let scene = one_name();
    scene.ca.borrow_mut().looks_in_vain = 100;
    assert!(matches!(scene.run_freely(), Ending::Pending { .. }));
    let told = scene.ca.borrow().told.len();
    probe_in_vain(&scene);
    assert_eq!(scene.ca.borrow().told.len(), told);
    let reason = scene.orders().pop().unwrap().challenges[0].reason.clone();
    let said = "Waiting for HTTP-01 challenge propagation: looked. The CA could not validate the \
                challenge and left it pending: 400 urn:ietf:params:acme:error:connection: no";
    assert_eq!(reason, said);
    scene.ca.borrow_mut().looks_in_vain = 0;
    assert!(matches!(scene.run_freely(), Ending::Issued(_)));
    assert_eq!(scene.ca.borrow().orders.len(), 1);
}

#[test]
fn a_killed_run_at_a_ca_that_validates_once_per_accept_is_followed_by_a_certificate() {
    let begin = || {
        let scene = one_name();
        scene.ca.borrow_mut().looks_in_vain = 2;
        scene
    };
    let (state, orders, _) = sweep(begin, 60);
    issued(1, &state);
    assert_eq!(orders, 1);
}

#[test]
fn a_clock_that_jumps_moves_no_deadline() {
    let day = SignedDuration::from_hours(24);
    for by in [-day, day, -day * 20_000] {
        let scene = one_name();
        scene.clock.jump(SignedDuration::from_secs(95), by);
        assert_eq!(probe_in_vain(&scene).as_mins(), 10, "{by:?}");
    }
}

#[test]
fn a_ca_that_never_comes_to_an_end_is_not_waited_for_for_ever() {
    let slow: [fn(&Scene); 2] = [
        |scene| scene.ca.borrow_mut().is_slow = true,
        |scene| scene.ca.borrow_mut().names_no_authorizations = true,
    ];
    for make_slow in slow {
        let scene = all_names_proven();
        make_slow(&scene);
        let ending = scene.run_freely();
        assert!(matches!(ending, Ending::Pending { .. }), "{ending:?}");
        let passed = scene.clock.passed().as_mins();
        assert!((10..=12).contains(&passed), "{passed} minutes");
    }
}

#[test]
fn the_next_attempt_has_its_listener_although_its_csr_is_the_same() {
    let scene = refused();
    assert!(matches!(scene.run_freely(), Ending::Failed { attempts: Some(1), .. }));
    scene.ca.borrow_mut().refused.clear();
    assert!(matches!(scene.run_freely(), Ending::Deferred { .. }));
    scene.clock.set(scene.clock.now() + SignedDuration::from_hours(1));
    let ending = scene.run_freely();
    assert!(matches!(ending, Ending::Issued(_)), "{ending:?}");
    settle(&scene);
    issued(1, &scene.state());
    assert_eq!(scene.ca.borrow().orders.len(), 2);
}

#[test]
fn an_edited_issuer_is_asked_at_once_whatever_was_left_at_the_old_one() {
    let edit = |scene: &mut Scene| {
        Arc::make_mut(&mut scene.task.issuers.first).acme.server =
            "https://ca.test/production".to_owned();
        scene.task.input_digest = "2".to_owned();
    };
    let mut failed = refused();
    failed.run_freely();
    failed.ca.borrow_mut().refused.clear();
    let mut pending = one_name();
    probe_in_vain(&pending);
    let mut killed = one_name();
    let moments = undisturbed(one_name).2;
    let accept = moments.iter().position(|label| label.contains("effect Accept")).unwrap();
    killed.run(Fuse::at(accept));
    for scene in [&mut failed, &mut pending, &mut killed] {
        edit(scene);
        let ending = scene.run_freely();
        assert!(matches!(ending, Ending::Issued(_)), "{ending:?}");
        settle(scene);
        let state = scene.state();
        assert_eq!((state.revision, state.presented, state.owed), (Some(1), 0, 0));
        assert_eq!(scene.ca.borrow().accounts.len(), 2, "each server has its account");
    }
}

#[test]
fn a_run_that_may_not_do_anything_still_notes_where_the_manifest_is() {
    let mut scene = refused();
    scene.run_freely();
    scene.task.manifest = Some("/srv/web.yaml".into());
    assert!(matches!(scene.run_freely(), Ending::Deferred { .. }));
    assert_eq!(scene.record().unwrap().manifest, scene.task.manifest);
    settle(&scene);
}

#[test]
fn a_wait_is_no_more_harmless_when_the_live_pair_is_near_its_end() {
    for (days, expected) in [(0, false), (19, false), (20, true), (31, true)] {
        let scene = due_for_renewal();
        scene.clock.set(scene.clock.now() + SignedDuration::from_hours(days * 24));
        let error = Error { unreachable: true, ..Error::default() };
        let ending = scene.run_under(Fuse::endless(), error).ending.unwrap();
        let Ending::Pending { overdue, .. } = ending else { panic!("{ending:?}") };
        assert_eq!(overdue, expected, "{days} days after the renewal was due");
    }
}
