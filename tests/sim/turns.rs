//! Promise: challenges that never pass their self-check keep no other from its slot for longer
//! than a turn, in one run and over several.
//!
//! On a clock that moves only when all tasks wait: times are exact.

use std::sync::Arc;

use certctl::engine::ports::{Clock as _, Key};
use certctl::engine::{Ended, Ending, Options, Task};
use certctl::resource::{Phase, Queue, Reason};
use jiff::SignedDuration;

use crate::stage::scene::{Scene, task};
use crate::stage::world::Error;

const INTERVAL: SignedDuration = SignedDuration::from_secs(10);

fn options() -> Options {
    Options { parallel: 256, ..crate::stage::scene::options() }
}

fn hopeless(count: usize) -> Task {
    let names: Vec<String> = (0..count).map(|n| format!("hopeless-{n}.example")).collect();
    task("hopeless", &names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn good(name: &str) -> Task {
    task(name, &[&format!("{name}.example")])
}

fn error() -> Error {
    Error { unreachable_names: Some("hopeless"), ..Error::default() }
}

fn is_issued(ended: &Ended) -> bool {
    matches!(ended.ending, Ending::Issued(_))
}

/// When, in intervals since the start, a certificate's events of this reason came.
fn times(scene: &Scene, start: jiff::Timestamp, name: &str, reason: Reason) -> Vec<f64> {
    let memory = scene.memory.borrow();
    let of = memory.events.iter().filter(|(of, event)| of.name == name && event.reason == reason);
    of.map(|(_, event)| start.duration_until(event.time).as_secs_f64() / INTERVAL.as_secs_f64())
        .collect()
}

fn queue(scene: &Scene) -> Queue {
    let memory = scene.memory.borrow();
    let (_, bytes) = &memory.documents[&Key::Scheduler];
    let mut envelope: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    serde_json::from_value(envelope["document"].take()).unwrap()
}

fn sixty_hopeless_and_one_good(runs: &[&[Task]]) {
    let scene = Scene::new(&["a.example"]);
    let start = scene.clock.now();
    let ended = scene.run_together(runs, options(), error);
    let good = ended.iter().flatten().find(|ended| ended.certificate.name == "good").unwrap();
    assert!(is_issued(good), "{:?}", good.ending);
    let verified = times(&scene, start, "good", Reason::DomainVerified);
    let [issued] = verified[..] else { panic!("{verified:?}") };
    assert!((6.0..7.0).contains(&issued), "{issued} intervals");
    // One had to wait for another turn, stayed out, and went on as soon as the slot was free.
    let requeued = times(&scene, start, "hopeless", Reason::Requeued);
    let [requeued] = requeued[..] else { panic!("{requeued:?}") };
    assert!((6.0..issued).contains(&requeued), "{requeued} intervals");
    let started = times(&scene, start, "hopeless", Reason::Started);
    assert_eq!(started.len(), 61);
    assert!((issued - 0.2..issued + 0.3).contains(&started[60]), "{} intervals", started[60]);
    assert_eq!(times(&scene, start, "hopeless", Reason::Presented).len(), 60);
    // All took back what was out, and no run holds anything.
    assert!(scene.outside.borrow().is_empty());
    assert_eq!(queue(&scene), Queue::default());
}

#[test]
fn sixty_hopeless_challenges_hold_one_that_would_pass_back_for_a_turn() {
    sixty_hopeless_and_one_good(&[&[hopeless(60), good("good")]]);
}

#[test]
fn those_of_another_run_do_not_hold_it_back_for_longer() {
    sixty_hopeless_and_one_good(&[&[hopeless(60)], &[good("good")]]);
}

/// Two slots, three that never pass: each turn one goes and one comes, and none is forgotten.
#[test]
fn those_who_wait_for_another_turn_get_it() {
    let scene = Scene::new(&["a.example"]);
    let start = scene.clock.now();
    let options = Options { max_concurrent_challenges: 2, ..options() };
    scene.run_together(&[&[hopeless(3)]], options, error);
    let requeued = times(&scene, start, "hopeless", Reason::Requeued);
    // Ten minutes are ten turns, the first of which delays no other.
    assert!((8..=10).contains(&requeued.len()), "{requeued:?}");
    for (number, at) in (1_u32..).zip(&requeued) {
        let turns = at / 6.0;
        assert!((f64::from(number)..f64::from(number) + 0.5).contains(&turns), "{requeued:?}");
    }
    let memory = scene.memory.borrow();
    let messages = memory.events.iter().filter(|(_, event)| event.reason == Reason::Requeued);
    let mut names: Vec<&str> = messages.map(|(_, event)| event.message.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 3, "{names:?}");
}

/// A turn does not end while no other certificate waits.
#[test]
fn a_turn_continues_when_none_waits() {
    let scene = Scene::new(&["a.example"]);
    let start = scene.clock.now();
    scene.run_together(&[&[hopeless(60)], &[]], options(), error);
    assert_eq!(times(&scene, start, "hopeless", Reason::Requeued), Vec::<f64>::new());
    // One that waits for its name, and not for controller, is not helped by a free slot.
    let twice = task("twice", &["hopeless-0.example"]);
    let start = scene.clock.now();
    scene.run_together(&[&[task("once", &["hopeless-0.example"]), twice]], options(), error);
    assert_eq!(times(&scene, start, "once", Reason::Requeued), Vec::<f64>::new());
    assert_eq!(times(&scene, start, "once", Reason::Started).len(), 1);
}

/// The slots of a run that is killed are free at once, and the one that continues its orders
/// queues as the others do.
#[test]
fn a_killed_run_holds_nothing_and_its_successor_queues() {
    let mut scene = Scene::new(&[]);
    scene.task = hopeless(3);
    let labels = scene.run_under(crate::fuse::Fuse::endless(), error()).labels;
    let checks = labels.iter().position(|label| label.contains("SelfCheck")).unwrap();
    let mut scene = Scene::new(&[]);
    scene.task = hopeless(3);
    let went = scene.run_under(crate::fuse::Fuse::at(checks), error());
    assert!(went.ending.is_none());
    assert_eq!(queue(&scene).runs[&0].len(), 3, "it could not give them back");
    // As if others had run beside it: no later run takes its number, and writes over its entries.
    {
        let mut memory = scene.memory.borrow_mut();
        let (_, bytes) = memory.documents.get_mut(&Key::Scheduler).unwrap();
        let text = String::from_utf8(std::mem::take(bytes)).unwrap();
        *bytes = text.replace("\"0\":", "\"9\":").into_bytes();
    }
    assert_eq!(queue(&scene).runs[&9].len(), 3);
    // With a terminal, an order that was pending before has more than a minute.
    let options = Options {
        max_concurrent_challenges: 1,
        unattended: false,
        is_scheduled: false,
        reports_daily: false,
        certificates: 0,
        ..options()
    };
    let before = times(&scene, scene.clock.now(), "hopeless", Reason::Started).len();
    let start = scene.clock.now();
    let ended = scene.run_together(&[&[good("good")], &[hopeless(3)]], options, error);
    assert!(is_issued(&ended[0][0]), "{:?}", ended[0][0].ending);
    assert!(times(&scene, start, "good", Reason::Started)[0] < 1.0, "nothing delays it");
    let started = times(&scene, start, "hopeless", Reason::Started);
    assert!(started.len() >= before + 3, "{started:?}");
    for two in started[before..].windows(2) {
        assert!(two[1] - two[0] >= 6.0, "one at a time: {started:?}");
    }
    let orders = scene.orders_of("hopeless");
    assert!(orders[0].challenges.iter().all(|c| c.phase() == Some(Phase::Queued)));
}

/// The run that was alone looks at the queue of all runs from then on: its slot goes to the other
/// run's challenge, which is older and came to the queue later, and comes back.
#[test]
fn one_that_waits_notices_a_run_that_came_later() {
    let options = Options { max_concurrent_challenges: 1, ..options() };
    let scene = Scene::new(&["a.example"]);
    // `a1` has the slot from the beginning, `a3` waits from 1 s on, and `a2` comes after 3 s; each
    // later step of `a1` is written at once, so that it wakes no other.
    let slow = || Error {
        slow: &[
            ("a3", "GenerateKey", 1),
            ("a2", "ReadAuthorization", 3),
            ("a1", "SelfCheck", 5),
            ("a1", "Accept", 1),
            ("a1", "ReadOrder", 1),
            ("a1", "CleanUp", 1),
            ("a1", "Finalize", 1),
            ("a1", "Download", 1),
            ("a1", "Publish", 1),
        ],
        ..Error::default()
    };
    let runs: [&[Task]; 2] = [&[good("a1"), good("a3")], &[good("a2")]];
    let ended = scene.run_together(&runs, options, slow);
    assert!(ended.iter().flatten().all(is_issued), "{ended:?}");
    let passed = scene.clock.passed();
    assert!(passed < SignedDuration::from_secs(60), "{passed:?}");
}

/// The files are live within seconds; the other certificate waits for its ten minutes.
#[test]
fn one_that_waits_does_not_hold_back_the_reload_for_another() {
    let scene = Scene::new(&["a.example"]);
    let start = scene.clock.now();
    let reloaded = |mut task: Task| {
        Arc::make_mut(&mut task.certificate).settings.reload = Some("nginx".to_owned());
        task
    };
    let tasks = ["one", "two"].map(|name| reloaded(good(name)));
    let tasks = [&tasks[..], &[reloaded(hopeless(1))]].concat();
    let ended = scene.run_together(&[&tasks], options(), error).remove(0);
    assert_eq!(ended.len(), 3);
    for one in &ended {
        let deployed = if is_issued(one) { vec!["reload nginx".to_owned()] } else { vec![] };
        assert_eq!((&one.deployed, &one.undeployed), (&deployed, &None));
    }
    assert!(scene.clock.passed() > SignedDuration::from_mins(10));
    let reloads = scene.ca.borrow().reloads.clone();
    let [(time, mut names)] = <[_; 1]>::try_from(reloads).unwrap();
    names.sort();
    assert_eq!(names, ["one", "two"]);
    let after = start.duration_until(time);
    assert!(after < SignedDuration::from_secs(70), "{after:?}");
}
