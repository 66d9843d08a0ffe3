//! Promise: certificates of the same names are issued by a CA that hands out the same orders and
//! authorizations again, in one run and in several: no two finalize one order, no failure is
//! counted, none waits longer than the others need, and none takes away what another presents. That
//! holds when a run is killed, at each moment.
//!
//! On a clock that moves only when all tasks wait: times are exact.

use std::collections::BTreeSet;
use std::sync::Arc;

use certctl::engine::ports::Key;
use certctl::engine::{Ended, Ending, Force, Options, Task};
use certctl::resource::{NamespacedName, Queue, Reason};
use jiff::SignedDuration;

use crate::fuse::Fuse;
use crate::stage::scene::{Scene, task};
use crate::stage::world::{EFFECT, Error};

const NAMES: [&str; 2] = ["a.example", "b.example"];

fn options() -> Options {
    Options { parallel: 256, unattended: false, ..crate::stage::scene::options() }
}

fn scene() -> Scene {
    let scene = Scene::new(&NAMES);
    scene.ca.borrow_mut().reuses = true;
    scene
}

fn siblings(count: usize) -> Vec<Task> {
    (0..count).map(|number| task(&format!("web-{number}"), &NAMES)).collect()
}

fn over_dns(tasks: Vec<Task>) -> Vec<Task> {
    let solvers = Scene::over_dns(&NAMES).task.issuers.first.acme.solvers.clone();
    let with = |mut task: Task| {
        Arc::make_mut(&mut task.issuers.first).acme.solvers.clone_from(&solvers);
        task
    };
    tasks.into_iter().map(with).collect()
}

fn all_are_issued(ended: &[Vec<Ended>]) {
    for ended in ended.iter().flatten() {
        assert!(matches!(ended.ending, Ending::Issued(_)), "{:?}", ended.ending);
    }
}

/// No failure, and nothing presented or owed.
fn is_settled(scene: &Scene, tasks: &[Task]) {
    for task in tasks {
        let name = task.certificate.metadata.key();
        let status = scene.record_of(&name).unwrap().status;
        assert_eq!((status.revision, status.failed_issuance_attempts), (Some(1), None), "{name}");
        assert_eq!(status.last_failure_time, None, "{name}");
        let orders = scene.orders_of(&name.name);
        assert!(!orders.iter().any(certctl::resource::Order::owes_clean_up), "{orders:#?}");
    }
    assert_eq!(scene.memory.borrow().secrets.len(), tasks.len());
    assert_eq!(*scene.outside.borrow(), [].into());
}

fn queue(scene: &Scene) -> Queue {
    let memory = scene.memory.borrow();
    let Some((_, bytes)) = memory.documents.get(&Key::Scheduler) else { return Queue::default() };
    let mut envelope: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    serde_json::from_value(envelope["document"].take()).unwrap()
}

fn events(scene: &Scene, reason: Reason) -> usize {
    let memory = scene.memory.borrow();
    memory.events.iter().filter(|(_, event)| event.reason == reason).count()
}

fn one_after_the_other(count: usize, runs: usize, dns: bool) {
    let scene = scene();
    let tasks = siblings(count);
    let tasks = if dns { over_dns(tasks) } else { tasks };
    let shares: Vec<&[Task]> = tasks.chunks(count.div_ceil(runs)).collect();
    all_are_issued(&scene.run_together(&shares, options(), Error::default));
    is_settled(&scene, &tasks);
    assert_eq!(queue(&scene), Queue::default());
    let ca = scene.ca.borrow();
    let finalized: BTreeSet<&String> = ca.finalized.iter().collect();
    assert_eq!((ca.finalized.len(), finalized.len()), (count, count), "one order each");
    // Each orders once, and once more after its wait; a process knows nothing of another's.
    assert!(ca.given.len() <= 2 * count, "{:?}", ca.given);
    // Each name is proven, and presented, once.
    assert_eq!((ca.told.len(), events(&scene, Reason::Presented)), (2, 2));
    let passed = scene.clock.passed();
    let most = SignedDuration::from_millis(500) * i32::try_from(count).unwrap();
    assert!(passed <= most, "{passed:?}");
}

#[test]
fn certificates_of_the_same_names_order_one_after_the_other() {
    for count in [2, 4, 16] {
        for (runs, dns) in [(1, false), (2, false), (1, true), (2, true)] {
            one_after_the_other(count, runs, dns);
        }
    }
}

/// A CA of several servers, each of which learns a little later that an order is finalized.
#[test]
fn a_finalized_order_that_is_given_again_is_no_failure() {
    let scene = scene();
    scene.ca.borrow_mut().forgets_late = 1;
    let tasks = siblings(3);
    all_are_issued(&scene.run_together(&[&tasks], options(), Error::default));
    is_settled(&scene, &tasks);
    assert_eq!(scene.ca.borrow().finalized.len(), 3);
    let passed = scene.clock.passed();
    assert!(passed <= SignedDuration::from_secs(12), "{passed:?}");
}

/// The name stays taken until its clean-up, which comes with the verdict: that is read at once, and
/// not with the order.
#[test]
fn a_name_that_the_ca_fetched_is_free_although_its_order_is_not_done() {
    let all = [false, true].map(|dns| [false, true].map(|reuses| [1, 2].map(|n| (dns, reuses, n))));
    for (dns, reuses, runs) in all.into_iter().flatten().flatten() {
        let scene = scene();
        scene.ca.borrow_mut().reuses = reuses;
        let tasks = vec![task("web-0", &["a.example", "z.example"]), task("web-1", &["a.example"])];
        let tasks = if dns { over_dns(tasks) } else { tasks };
        let hidden = || Error { unreachable_names: Some("z."), ..Error::default() };
        let shares: Vec<&[Task]> = tasks.chunks(2 / runs).collect();
        scene.run_together(&shares, options(), hidden);
        let memory = scene.memory.borrow();
        let done = memory
            .events
            .iter()
            .find(|(of, event)| of.name == "web-1" && event.reason == Reason::Complete);
        let begun: jiff::Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let took = begun.duration_until(done.unwrap().1.time);
        assert!(took < SignedDuration::from_secs(4), "{took:?}, {dns} {reuses} {runs}");
    }
}

/// What the first of two runs passes when the second one works beside it.
fn labels(tasks: &[Task], killed: usize) -> Vec<String> {
    let scene = scene();
    let fuses = [Fuse::endless(), Fuse::endless()];
    let (_, labels) = scene.run_until_killed(&[&tasks[..1], &tasks[1..]], options(), fuses);
    labels[killed].clone()
}

/// Kills one of two runs at this moment; the other is undisturbed, and the next runs do the rest.
fn killed_at(tasks: &[Task], killed: usize, moment: usize) {
    let scene = scene();
    let mut fuses = [Fuse::endless(), Fuse::endless()];
    fuses[killed] = Fuse::at(moment);
    let shares = [&tasks[..1], &tasks[1..]];
    let (ended, _) = scene.run_until_killed(&shares, options(), fuses);
    assert!(ended[killed].is_none(), "{killed} is not killed at {moment}");
    let other = ended[1 - killed].as_ref().unwrap();
    assert!(matches!(other[0].ending, Ending::Issued(_)), "{:?} ({moment})", other[0].ending);
    let passed = scene.clock.passed();
    assert!(passed <= SignedDuration::from_secs(2), "{passed:?} ({moment})");
    for _ in 0..2 {
        scene.run_together(&[tasks], options(), Error::default);
    }
    is_settled(&scene, tasks);
}

#[test]
fn a_kill_of_either_of_two_siblings_at_any_moment_delays_no_other() {
    for tasks in [siblings(2), over_dns(siblings(2))] {
        for killed in [0, 1] {
            let labels = labels(&tasks, killed);
            assert!(labels.len() > 40, "{labels:#?}");
            for moment in 0..labels.len() {
                killed_at(&tasks, killed, moment);
            }
        }
    }
}

/// The listener of the first run is gone, and its token stays presented; an order of the same
/// challenges is next.
#[test]
fn the_clean_up_of_an_abandoned_order_takes_nothing_from_the_next_one() {
    for dns in [false, true] {
        let mut scene = scene();
        let tasks = siblings(1);
        scene.task = if dns { over_dns(tasks) } else { tasks }.remove(0);
        let probe = Scene { task: scene.task.clone(), ..self::scene() };
        let labels = probe.run(Fuse::endless()).labels;
        let place = |what: &str| {
            labels.iter().position(|l| l.starts_with(&format!("{EFFECT}{what}"))).unwrap()
        };
        scene.run(Fuse::at(place("SelfCheck")));
        assert_eq!(scene.outside.borrow().len(), 2);
        scene.task.force = Some(Force { new_order: true, ..Force::default() });
        let labels = scene.run(Fuse::endless()).labels;
        // At the last clean-up of the abandoned order nothing of the next one is out.
        let at = |what: &str| {
            let these = labels.iter().enumerate();
            these
                .filter(|(_, label)| label.starts_with(&format!("{EFFECT}{what}")))
                .map(|(at, _)| at)
                .collect::<Vec<_>>()
        };
        let (cleaned, presented, checked) = (at("CleanUp"), at("Present {"), at("SelfCheck"));
        assert_eq!((cleaned.len(), presented.len(), checked.len()), (4, 2, 2), "{labels:#?}");
        assert!(cleaned[1] < presented[0] && checked[1] < cleaned[2], "{labels:#?}");
        assert_eq!(scene.ca.borrow().orders.len(), 1);
        scene.task.force = None;
        is_settled(&scene, &[scene.task.clone()]);
    }
}

/// A DNS-01 value stays presented when a run ends; a sibling of the same challenge takes it back.
#[test]
fn a_value_that_a_sibling_took_back_is_presented_again_after_a_turn() {
    let scene = scene();
    let tasks = over_dns(siblings(1));
    let name = NamespacedName::new("default", "web-0");
    let hidden = || Error { unreachable_names: Some("b."), ..Error::default() };
    let ended = scene.run_together(&[&tasks], options(), hidden);
    assert!(matches!(ended[0][0].ending, Ending::Pending { .. }), "{:?}", ended[0][0].ending);
    assert_eq!(scene.outside.borrow().len(), 2);
    scene.outside.borrow_mut().clear();
    let begun = scene.clock.passed();
    all_are_issued(&scene.run_together(&[&tasks], options(), Error::default));
    let took = scene.clock.passed() - begun;
    assert!(took < SignedDuration::from_secs(62), "{took:?}");
    assert_eq!(scene.record_of(&name).unwrap().status.failed_issuance_attempts, None);
}

/// A sibling by another method proves the name while this one's self-check fails.
#[test]
fn what_was_proven_meanwhile_ends_a_self_check_that_does_not_succeed() {
    let scene = scene();
    let tasks = over_dns(siblings(1));
    let hidden = || Error { unreachable_names: Some("b."), ..Error::default() };
    scene.run_together(&[&tasks], options(), hidden);
    scene.ca.borrow_mut().prove("b.example");
    let begun = scene.clock.passed();
    all_are_issued(&scene.run_together(&[&tasks], options(), hidden));
    let took = scene.clock.passed() - begun;
    assert!(took < SignedDuration::from_secs(62), "{took:?}");
}
