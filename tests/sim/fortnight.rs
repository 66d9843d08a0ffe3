//! Promise: one certificate that fails for two weeks of hourly runs, among 50 that are renewed in
//! that time, costs at most one message a day, and the exit code says at each run how things stand.
//!
//! On a clock that moves only when all tasks wait, with the operator's hook for failures.

#![expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends the test")]

use std::rc::Rc;
use std::sync::Arc;

use certctl::cli::exit::{self, ExitCode};
use certctl::controller::alert::Stage;
use certctl::engine::ports::Clock as _;
use certctl::engine::{Ended, Ending, Options, Task};
use certctl::resource::{FailureClass, GoDuration};
use jiff::{SignedDuration, Timestamp};

use crate::stage::scene::{Scene, identifier, task};
use crate::stage::world::Error;

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// How long certificates live here, and how long before the end they are renewed.
const LIFE: i32 = 40;
const RENEW_BEFORE: i32 = 16;
/// The hourly runs of two weeks.
const FORTNIGHT: i32 = 14 * 24;
const GOOD: i32 = 50;
/// The runs that make an attempt: each waits an hour longer than the backoff asks, since the
/// failure comes a moment after the hour.
const ATTEMPTS: [i32; 15] = [0, 2, 5, 10, 19, 36, 69, 102, 135, 168, 201, 234, 267, 300, 333];
/// From this run on two thirds of the time between renewal and end are over.
const URGENT: i32 = RENEW_BEFORE * 24 * 2 / 3;

fn one(name: &str) -> Task {
    let mut task = task(name, &[&format!("{name}.example")]);
    Arc::make_mut(&mut task.certificate).spec.renew_before = Some(GoDuration(DAY * RENEW_BEFORE));
    task
}

fn run(scene: &Scene, tasks: &[Task]) -> Vec<Ended> {
    let options = Options { parallel: 256, ..crate::stage::scene::options() };
    scene.run_together(&[tasks], options, Error::default).remove(0)
}

/// The CA does not believe that the bad one is who it says, not any more.
fn refuse(scene: &Scene) {
    let mut ca = scene.ca.borrow_mut();
    ca.proven.clear();
    ca.refused.insert(identifier("bad.example"));
}

fn is_issued(ended: &Ended) -> bool {
    matches!(ended.ending, Ending::Issued(_))
}

/// As the binary counts it.
fn code(ended: &[Ended]) -> ExitCode {
    let code_of = |ended: &Ended| match &ended.ending {
        Ending::Failed { failure, .. } => exit::Ending::Failed(failure.class),
        Ending::Pending { overdue: true, .. } => exit::Ending::Failed(FailureClass::Validation),
        Ending::Deferred { urgent: Some(class), .. } => exit::Ending::Failed(*class),
        Ending::Unchanged { .. } => exit::Ending::Unchanged,
        Ending::Issued(_) => exit::Ending::Changed,
        _ => exit::Ending::Deferred,
    };
    exit::of_endings(&ended.iter().map(code_of).collect::<Vec<_>>(), false)
}

/// 50 good ones that are due one after another, each 6 hours after the one before, and one that
/// is due with the first of them and never believed again.
fn scene_and_tasks() -> (Scene, Vec<Task>, Timestamp) {
    let mut scene = Scene::new(&["bad.example"]);
    scene.alerts = Some(Rc::default());
    scene.ca.borrow_mut().certificate_life = DAY * LIFE;
    let start = scene.clock.now();
    let mut tasks = vec![one("bad")];
    assert!(run(&scene, &tasks).iter().all(is_issued));
    for number in 0..GOOD {
        scene.clock.set(start + HOUR + HOUR * 6 * number);
        let good = one(&format!("good-{number}"));
        assert!(run(&scene, std::slice::from_ref(&good)).iter().all(is_issued));
        tasks.push(good);
    }
    refuse(&scene);
    (scene, tasks, start + DAY * (LIFE - RENEW_BEFORE))
}

#[test]
fn one_that_fails_among_fifty_is_told_once_a_day_and_keeps_nobody() {
    let (scene, tasks, begin) = scene_and_tasks();
    let orders_before = scene.ca.borrow().orders.len();
    let (mut told, mut attempts) = (Vec::new(), Vec::new());
    let mut renewed = vec![0; tasks.len()];
    let mut alerts = Vec::new();
    for hour in 0..FORTNIGHT {
        scene.clock.set(begin + HOUR * hour);
        let ended = run(&scene, &tasks);
        let of = |name: &str| ended.iter().find(|end| end.certificate.name == name).unwrap();
        let bad = of("bad");
        assert!(bad.undeployed.is_none());
        if bad.is_new {
            told.push(hour);
        }
        if matches!(bad.ending, Ending::Failed { .. }) {
            attempts.push(hour);
        }
        let is_failure = ATTEMPTS.contains(&hour) || hour >= URGENT;
        let expected = if is_failure { ExitCode::Validation } else { ExitCode::Deferred };
        assert_eq!(code(&ended), expected, "hour {hour}: {bad:?}");
        for number in 0..GOOD {
            let good = of(&format!("good-{number}"));
            // Each is renewed by the first run after it is due, and by no other.
            if is_issued(good) {
                let index = usize::try_from(number).unwrap();
                renewed[index] += 1;
                assert!((1..=2).contains(&(hour - 6 * number)), "hour {hour}: {number}");
            } else {
                assert!(matches!(good.ending, Ending::Unchanged { .. }), "{good:?}");
            }
        }
        let heard = scene.alerts.as_ref().unwrap().take();
        alerts.extend(heard.into_iter().map(|alert| (hour, alert.certificate.name, alert.stage)));
    }
    assert_eq!(attempts, ATTEMPTS);
    // The renewals of 50, and an order for each attempt.
    let orders = scene.ca.borrow().orders.len() - orders_before;
    assert_eq!((orders, &renewed[..50]), (50 + ATTEMPTS.len(), &[1; 50][..]));
    // The first runs after a tenth and half of the time to renew it.
    let [tenth, half] = [10, 2].map(|part| RENEW_BEFORE * 24 / part + 1);
    // One message a day at most, and no day without one; and one when it is further overdue.
    assert_eq!(told.first(), Some(&0));
    let gap = |pair: &[i32]| pair[1] - pair[0];
    let is_worse = |hour: i32| [tenth, half].contains(&hour);
    let is_daily = |pair: &[i32]| (24..=25).contains(&gap(pair)) || is_worse(pair[1]);
    assert!(told.windows(2).all(is_daily), "{told:?}");
    assert!([tenth, half].iter().all(|hour| told.contains(hour)), "{told:?}");
    assert!(FORTNIGHT - told.last().unwrap() <= 25, "{told:?}");
    // The hook: a new failure, and these.
    let of_bad = |hour: i32, stage: Stage| (hour, "bad".to_owned(), stage);
    let stages = [(0, Stage::Failed), (tenth, Stage::Overdue), (half, Stage::Half)];
    assert_eq!(alerts, stages.map(|(hour, stage)| of_bad(hour, stage)));

    // Once the name is believed again, the next attempt ends it all; what fails after that is new.
    scene.ca.borrow_mut().refused.clear();
    scene.clock.set(begin + HOUR * (ATTEMPTS[14] + 33));
    assert!(run(&scene, &tasks).iter().filter(|end| end.certificate.name == "bad").all(is_issued));
    refuse(&scene);
    scene.clock.set(scene.clock.now() + DAY * (LIFE - RENEW_BEFORE) + HOUR);
    let again = run(&scene, &tasks[..1]);
    assert!(matches!(again[0].ending, Ending::Failed { .. }) && again[0].is_new, "{again:?}");
    assert_eq!(scene.alerts.as_ref().unwrap().borrow()[0].stage, Stage::Failed);
}
