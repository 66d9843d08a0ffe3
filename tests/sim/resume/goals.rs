//! The other goals than an issuance, killed at every moment, and with each reply lost.

use certctl::controller::RevocationRequest;
use certctl::engine::{AccountRequest, Ending, Goal};
use certctl::resource::{AccountStep, RevocationReason};
use std::sync::Arc;

use super::{Begin, due_for_renewal, one_name, settle};
use crate::fuse::Fuse;
use crate::stage::scene::{Scene, State};
use crate::stage::world::Error;

/// What reaching a goal comes to, whatever run was killed on the way. Between the killed run and
/// the next with the same goal cron has run.
fn reached(begin: Begin, goal: &Goal) -> (State, Scene) {
    let wanted = begin();
    let went = wanted.reach(goal, Fuse::endless(), Error::default());
    assert!(!matches!(went.ending, Some(Ending::Failed { .. })), "{:?}", went.ending);
    settle(&wanted);
    let moments = went.labels.len();
    assert!(moments >= 3, "{:#?}", went.labels);
    for first in 0..moments {
        for second in (0..moments).step_by(3).map(Some).chain([None]) {
            let scene = begin();
            scene.reach(goal, Fuse::at(first), Error::default());
            drop(scene.state());
            scene.run_freely();
            if let Some(second) = second {
                scene.reach(goal, Fuse::at(second), Error::default());
            }
            reached_by_the_next(&scene, goal, &wanted, &format!("killed at {first} {second:?}"));
        }
    }
    for lost in 0..went.requests {
        let scene = begin();
        let error = Error { lost: Some(lost), ..Error::default() };
        scene.reach(goal, Fuse::endless(), error);
        reached_by_the_next(&scene, goal, &wanted, &format!("reply {lost} lost"));
    }
    (wanted.state(), wanted)
}

fn reached_by_the_next(scene: &Scene, goal: &Goal, wanted: &Scene, what: &str) {
    scene.reach(goal, Fuse::endless(), Error::default());
    settle(scene);
    assert_eq!(scene.state(), wanted.state(), "{what}");
    let revoked = |scene: &Scene| scene.ca.borrow().revoked.len();
    assert_eq!(revoked(scene), revoked(wanted), "{what}");
    assert_eq!(scene.ca.borrow().orders.len(), wanted.ca.borrow().orders.len(), "{what}");
}

fn issued() -> Scene {
    let scene = one_name();
    scene.run_freely();
    scene
}

fn for_good() -> Goal {
    Goal::Revoke(Some(RevocationRequest {
        reason: RevocationReason::CessationOfOperation,
        at_once: true,
        without_replacement: true,
        certificate: None,
    }))
}

fn asked_to_revoke() -> Scene {
    let scene = issued();
    scene.reach(&for_good(), Fuse::endless(), Error::default());
    scene
}

fn renewed() -> Scene {
    let scene = due_for_renewal();
    scene.run_freely();
    scene
}

fn with_a_hook() -> Scene {
    let mut scene = issued();
    Arc::make_mut(&mut scene.task.certificate).settings.deploy_hook = Some("reload-web".to_owned());
    scene
}

fn with_a_hook_and_a_reload() -> Scene {
    let mut scene = with_a_hook();
    Arc::make_mut(&mut scene.task.certificate).settings.reload = Some("nginx".to_owned());
    scene.run_freely();
    assert_eq!((scene.ca.borrow().deployments, scene.ca.borrow().reloads.len()), (1, 1));
    scene
}

fn with_other_contacts() -> Scene {
    let mut scene = issued();
    "other@example.com".clone_into(&mut Arc::make_mut(&mut scene.task.issuers.first).acme.email);
    scene
}

#[test]
fn a_deployment() {
    let (state, scene) = reached(with_a_hook, &Goal::Deploy { again: false });
    assert!(state.deployed);
    assert_eq!(scene.ca.borrow().deployments, 1);
}

#[test]
fn the_reload_after_a_repeated_deployment() {
    let goal = Goal::Deploy { again: true };
    let begin = with_a_hook_and_a_reload;
    let moments = begin().reach(&goal, Fuse::endless(), Error::default()).labels.len();
    let mut repeated = 0;
    for moment in 0..=moments {
        let scene = begin();
        scene.reach(&goal, Fuse::at(moment), Error::default());
        let is_repeated = scene.ca.borrow().deployments > 1;
        repeated += u32::from(is_repeated);
        scene.run_freely();
        let reloads = scene.ca.borrow().reloads.len();
        assert!(reloads == 2 || !is_repeated, "killed at {moment}: {reloads} reloads");
    }
    assert!(repeated >= 2, "{repeated} of {moments}");
}

#[test]
fn a_revocation_that_is_asked_for() {
    let (state, scene) = reached(issued, &for_good());
    assert_eq!((state.owed_revocations, state.revision), (1, Some(1)));
    assert!(scene.ca.borrow().revoked.is_empty());
}

#[test]
fn a_revocation() {
    let (state, scene) = reached(asked_to_revoke, &Goal::Revoke(None));
    assert_eq!((state.owed_revocations, state.revision), (0, Some(1)));
    assert_eq!(scene.ca.borrow().revoked.len(), 1);
}

#[test]
fn a_step_back() {
    let (state, _) = reached(renewed, &Goal::RollBack(Some(1)));
    assert_eq!((state.revision, state.live, state.went_back), (Some(1), Some(1), true));
}

#[test]
fn a_registration() {
    let (state, scene) = reached(one_name, &Goal::Account(AccountRequest::Registered));
    super::issued(1, &state);
    assert_eq!(scene.ca.borrow().accounts.len(), 1);
}

#[test]
fn a_change_of_contacts() {
    let (state, _) = reached(with_other_contacts, &Goal::Account(AccountRequest::Updated));
    assert_eq!(state.account, Some(AccountStep::Nothing));
}

#[test]
fn the_end_of_an_account_and_another_in_its_place() {
    let goal = Goal::Account(AccountRequest::Deactivated);
    let (state, _) = reached(issued, &goal);
    assert_eq!((state.account, state.accounts), (Some(AccountStep::Deactivated), 0));
    // Whatever was left of the old one, the next issuance registers another.
    let moments = issued().reach(&goal, Fuse::endless(), Error::default()).labels.len();
    for moment in 0..=moments {
        let scene = issued();
        scene.reach(&goal, Fuse::at(moment), Error::default());
        if scene.state().account != Some(AccountStep::Deactivated) {
            scene.reach(&goal, Fuse::endless(), Error::default());
        }
        scene.wait_for_renewal();
        let ending = scene.run_freely();
        assert!(matches!(ending, Ending::Issued(_)), "killed at {moment}: {ending:?}");
    }
}
