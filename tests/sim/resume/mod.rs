//! The engine against a world in memory, killed at every moment: before and after every effect and
//! every write. Whatever was interrupted, the next runs end as an undisturbed run does.

#![expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends the test")]

mod goals;
mod lost;
mod stories;

use std::collections::BTreeSet;
use std::sync::Arc;

use certctl::engine::Ending;
use certctl::resource::FailureClass;

use crate::fuse::Fuse;
use crate::stage::scene::{Scene, State, identifier};
use crate::stage::world::Error;

/// How a story begins: the scene, and which runs went before the one that is killed.
type Begin = fn() -> Scene;

/// The story without a kill: its end, and how many moments it has.
fn undisturbed(begin: Begin) -> (State, usize, Vec<String>) {
    let scene = begin();
    let went = scene.run(Fuse::endless());
    settle(&scene);
    (scene.state(), scene.ca.borrow().orders.len(), went.labels)
}

/// Lets runs follow until nothing is left to do.
fn settle(scene: &Scene) {
    for _ in 0..2 {
        scene.run_freely();
    }
    let went = scene.run(Fuse::endless());
    assert_eq!((went.requests, &went.labels[..]), (0, &[][..]), "a settled state stays as it is");
}

/// Kills the run at these moments, one run after the other, and compares the end.
fn killed_at(begin: Begin, moments: &[usize], wanted: &(State, usize, Vec<String>)) {
    let scene = begin();
    let before = scene.ca.borrow().orders.len();
    let mut unrecorded = 0;
    let mut places = Vec::new();
    for moment in moments {
        let went = scene.run(Fuse::at(*moment));
        if went.ending.is_none() {
            unrecorded = scene.unrecorded_orders(before);
        }
        places.push(format!("{moment} after {:?}", went.labels.last()));
        // Whatever is live is a pair at any time.
        drop(scene.state());
    }
    settle(&scene);
    let (state, orders, _) = wanted;
    assert_eq!(&scene.state(), state, "killed at {places:?}");
    let ordered = scene.ca.borrow().orders.len();
    // A refusal that was not heard is taken for one of an unanswered challenge, once.
    let unheard = usize::from(scene.ca.borrow().has_refused());
    let allowed = orders + unrecorded..=orders + unrecorded + unheard;
    assert!(allowed.contains(&ordered), "{ordered} orders, killed at {places:?}");
}

/// Kills at every moment, and at pairs of moments.
fn sweep(begin: Begin, at_least: usize) -> (State, usize, Vec<String>) {
    let wanted = undisturbed(begin);
    let moments = wanted.2.len();
    assert!(moments >= at_least, "{moments} moments: {:#?}", wanted.2);
    for moment in 0..moments {
        killed_at(begin, &[moment], &wanted);
    }
    for first in (0..moments).step_by(11) {
        for second in (0..moments).step_by(13) {
            killed_at(begin, &[first, second], &wanted);
        }
    }
    wanted
}

fn one_name() -> Scene {
    Scene::new(&["a.example"])
}

fn three_names() -> Scene {
    Scene::new(&["a.example", "b.example", "c.example"])
}

fn two_names_over_dns() -> Scene {
    Scene::over_dns(&["a.example", "b.example"])
}

fn all_names_proven() -> Scene {
    let scene = three_names();
    let names = ["a.example", "b.example", "c.example"].map(identifier);
    scene.ca.borrow_mut().proven.extend(names);
    scene
}

fn one_of_three_proven() -> Scene {
    let scene = three_names();
    scene.ca.borrow_mut().proven.insert(identifier("b.example"));
    scene
}

fn due_for_renewal() -> Scene {
    let scene = one_name();
    scene.run_freely();
    scene.ca.borrow_mut().proven.clear();
    scene.wait_for_renewal();
    scene
}

/// A server must be able to start before there is a certificate.
fn with_temporary(mut scene: Scene) -> Scene {
    let annotations = &mut Arc::make_mut(&mut scene.task.certificate).metadata.annotations;
    let key = "cert-manager.io/issue-temporary-certificate";
    annotations.insert(key.to_owned(), "true".to_owned());
    scene
}

fn refused() -> Scene {
    let scene = three_names();
    scene.ca.borrow_mut().refused.insert(identifier("b.example"));
    scene
}

fn issued(revision: u32, state: &State) {
    let all = (state.revision, state.live, state.attempts, state.issuing, state.next_key);
    assert_eq!(all, (Some(revision), Some(revision), None, None, false));
    assert_eq!((state.presented, state.owed, state.accounts), (0, 0, 1));
}

#[test]
fn a_first_issuance_of_one_name() {
    let (state, orders, _) = sweep(one_name, 60);
    issued(1, &state);
    assert_eq!(orders, 1);
}

#[test]
fn a_first_issuance_of_three_names() {
    let (state, orders, _) = sweep(three_names, 70);
    issued(1, &state);
    assert_eq!(orders, 1);
}

#[test]
fn a_first_issuance_over_dns() {
    let (state, orders, labels) = sweep(two_names_over_dns, 60);
    issued(1, &state);
    assert_eq!(orders, 1);
    let effect = |what: &str| labels.iter().position(|label| label.contains(what)).unwrap();
    assert!(effect("Locate") < effect("Present"), "{labels:#?}");
}

#[test]
fn names_that_are_proven_already() {
    issued(1, &sweep(all_names_proven, 40).0);
    issued(1, &sweep(one_of_three_proven, 60).0);
}

#[test]
fn a_renewal() {
    let (state, orders, _) = sweep(due_for_renewal, 50);
    issued(2, &state);
    assert_eq!(orders, 2);
}

#[test]
fn a_temporary_certificate_is_followed_by_the_real_one() {
    let (state, orders, labels) = sweep(|| with_temporary(one_name()), 60);
    issued(1, &state);
    assert_eq!((orders, state.certificates), (1, 1));
    let place = |effect: &str| labels.iter().position(|label| label.contains(effect)).unwrap();
    assert!(place("PublishTemporary") < place("RegisterAccount"), "{labels:#?}");
    // Where the name is refused it stays, and counts as nothing.
    let (state, ..) = sweep(|| with_temporary(refused()), 60);
    let all = (state.revision, state.live, state.attempts, state.certificates);
    assert_eq!(all, (None, Some(0), Some(1), 0));
    // A pair that is there stays until its renewal is done.
    let (_, _, labels) = undisturbed(|| with_temporary(due_for_renewal()));
    assert!(!labels.iter().any(|label| label.contains("PublishTemporary")), "{labels:#?}");
}

#[test]
fn the_old_pair_stays_live_until_the_switch() {
    let moments = undisturbed(due_for_renewal).2;
    let switch = moments.iter().position(|label| label == "after publish").unwrap();
    for moment in 0..moments.len() {
        let scene = due_for_renewal();
        let old = scene.live();
        scene.run(Fuse::at(moment));
        assert_eq!(scene.live() == old, moment < switch, "killed at {moment}");
    }
}

#[test]
fn a_refused_name_is_counted_once() {
    let (state, orders, _) = sweep(refused, 60);
    assert_eq!((state.revision, state.live, state.attempts), (None, None, Some(1)));
    assert_eq!((state.presented, state.owed, orders), (0, 0, 1));
}

/// Of the steps that a run appends, a power loss takes those that no sync has made durable.
#[test]
fn a_power_loss_takes_no_clean_up_of_what_is_presented() {
    for begin in [one_name, three_names, two_names_over_dns, due_for_renewal] {
        let (_, _, labels) = undisturbed(begin);
        let mut presented = 0;
        for (moment, label) in labels.iter().enumerate() {
            let scene = begin();
            scene.run(Fuse::at(moment));
            scene.memory.borrow_mut().lose_power();
            let all = scene.orders();
            let challenges = all.iter().flat_map(|order| &order.challenges);
            let owed: BTreeSet<_> = challenges
                .filter(|challenge| challenge.owes_clean_up())
                .map(|challenge| challenge.spec.token.clone())
                .collect();
            let outside: BTreeSet<_> = scene.outside.borrow().keys().cloned().collect();
            assert!(owed.is_superset(&outside), "{outside:?} at {label:?}: {owed:?} are owed");
            presented += outside.len();
        }
        assert!(presented > 0);
    }
}

/// The CA looks for an answer when the run that gave it is dead: that costs the order, and counts
/// as no failure.
#[test]
fn a_ca_that_validates_when_nothing_answers() {
    let begin = || {
        let scene = three_names();
        scene.ca.borrow_mut().looks_late = true;
        scene
    };
    let (wanted, orders, labels) = undisturbed(begin);
    let mut lost = 0;
    for (moment, label) in labels.iter().enumerate() {
        let scene = begin();
        scene.run(Fuse::at(moment));
        let unrecorded = scene.unrecorded_orders(0);
        let refused = scene.ca.borrow().has_refused();
        settle(&scene);
        assert_eq!(scene.state(), wanted, "killed at {label:?}");
        let ordered = scene.ca.borrow().orders.len();
        assert_eq!(ordered, orders + unrecorded + usize::from(refused), "{label:?}");
        lost += usize::from(refused);
    }
    assert!(lost > 3, "{lost}");
}

#[test]
fn a_lost_reply_costs_at_most_one_more_order() {
    for begin in [one_name, three_names, one_of_three_proven, due_for_renewal] {
        let (wanted, orders, _) = undisturbed(begin);
        let scene = begin();
        let requests = scene.run(Fuse::endless()).requests;
        for lost in 0..requests {
            let scene = begin();
            let before = scene.ca.borrow().orders.len();
            let error = Error { lost: Some(lost), ..Error::default() };
            let went = scene.run_under(Fuse::endless(), error);
            match went.ending.unwrap() {
                Ending::Issued(_) => {}
                Ending::Failed { failure, attempts, .. } => {
                    assert_eq!((failure.class, attempts), (FailureClass::Unreachable, None));
                }
                other => panic!("{other:?}"),
            }
            let unrecorded = scene.unrecorded_orders(before);
            settle(&scene);
            assert_eq!(scene.state(), wanted, "request {lost}");
            assert_eq!(scene.ca.borrow().orders.len(), orders + unrecorded, "request {lost}");
        }
    }
}
