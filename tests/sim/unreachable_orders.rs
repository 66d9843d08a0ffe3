//! Promise: an order that cannot be worked on is not kept for ever. URLs that the CA says anew are
//! taken; an order that gives no answer for a day, or that has expired meanwhile, is replaced once,
//! uncounted; and what the end of another run broke is not counted either.
//!
//! On a clock that moves only when all tasks wait: times are exact.

#![expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends the test")]

use std::slice::from_ref;

use certctl::engine::Ending;
use certctl::engine::ports::Clock as _;
use jiff::SignedDuration;

use crate::stage::ca::Misnamed;
use crate::stage::scene::{Scene, options};
use crate::stage::world::Error;

const NAMES: [&str; 2] = ["a.example", "b.example"];

/// What a run an hour ends in, from the hour on at which that changes, until one has issued.
fn hourly(scene: &Scene, hours: i64) -> Vec<(i64, &'static str)> {
    let start = scene.clock.now();
    let mut endings: Vec<(i64, &str)> = Vec::new();
    for hour in 0..hours {
        scene.clock.set(start + SignedDuration::from_hours(hour));
        let word = match scene.run_freely() {
            Ending::Issued(_) => "issued",
            Ending::Pending { .. } => "pending",
            Ending::Failed { attempts: None, .. } => "failed",
            Ending::Failed { attempts: Some(_), .. } => "counted",
            other => panic!("{other:?}"),
        };
        if endings.last().is_none_or(|(_, last)| *last != word) {
            endings.push((hour, word));
        }
        // Nothing of an order that was given up stays.
        if word == "issued" {
            assert_eq!(*scene.outside.borrow(), [].into());
        }
        if word == "issued" || word == "counted" {
            break;
        }
    }
    endings
}

fn misnaming(what: Misnamed, times: usize) -> Scene {
    let scene = Scene::new(&NAMES);
    scene.ca.borrow_mut().misnamed = Some((what, times));
    scene
}

#[test]
fn a_url_that_the_ca_says_anew_is_taken() {
    let at_once = vec![(0, "issued")];
    let by_the_next_run = vec![(0, "failed"), (1, "issued")];
    for (what, expected) in [
        (Misnamed::Finalize, at_once),
        (Misnamed::Authorization, by_the_next_run.clone()),
        (Misnamed::Certificate, by_the_next_run),
    ] {
        let scene = misnaming(what, 1);
        assert_eq!((what, hourly(&scene, 3)), (what, expected));
        assert_eq!(scene.ca.borrow().orders.len(), 1, "{what:?}");
        assert_eq!(scene.state().attempts, None);
    }
}

#[test]
fn an_order_that_gives_no_answer_for_a_day_is_replaced_uncounted() {
    let scene = misnaming(Misnamed::Order, 1);
    assert_eq!(hourly(&scene, 40), [(0, "failed"), (25, "issued")]);
    assert_eq!(scene.ca.borrow().orders.len(), 2);
    assert_eq!(scene.state().attempts, None);
}

#[test]
fn an_order_that_replaces_another_is_a_failure_after_a_day_without_an_answer() {
    let scene = misnaming(Misnamed::Order, 99);
    assert_eq!(hourly(&scene, 60), [(0, "failed"), (50, "counted")]);
    assert_eq!(scene.ca.borrow().orders.len(), 2);
    let failure = scene.record().unwrap().last_failure.unwrap().to_string();
    assert!(failure.contains("has not answered since 2026-01-03T"), "{failure}");
}

#[test]
fn an_order_that_has_expired_without_an_answer_is_replaced_at_once() {
    let scene = misnaming(Misnamed::Order, 1);
    scene.ca.borrow_mut().lifetime = Some(SignedDuration::from_hours(6));
    assert_eq!(hourly(&scene, 40), [(0, "failed"), (6, "issued")]);
    assert_eq!(scene.ca.borrow().orders.len(), 2);
    assert_eq!(scene.state().attempts, None);
}

#[test]
fn an_order_without_authorizations_is_replaced_after_a_day_and_a_failure_after_two() {
    let scene = Scene::new(&NAMES);
    scene.ca.borrow_mut().names_no_authorizations = true;
    assert_eq!(hourly(&scene, 60), [(0, "pending"), (48, "counted")]);
    assert_eq!(scene.ca.borrow().orders.len(), 2);
    let failure = scene.record().unwrap().last_failure.unwrap().to_string();
    assert!(failure.contains("names no authorizations"), "{failure}");
}

#[test]
fn authorizations_that_the_ca_says_late_are_taken() {
    let scene = Scene::new(&NAMES);
    scene.ca.borrow_mut().names_no_authorizations = true;
    assert_eq!(hourly(&scene, 3), [(0, "pending")]);
    scene.ca.borrow_mut().names_no_authorizations = false;
    assert_eq!(hourly(&scene, 3), [(0, "issued")]);
    assert_eq!(scene.ca.borrow().orders.len(), 1);
}

#[test]
fn an_order_that_is_processing_without_a_csr_is_replaced_after_a_day() {
    let scene = Scene::new(&NAMES);
    scene.ca.borrow_mut().processes_early = true;
    assert_eq!(hourly(&scene, 3), [(0, "pending")]);
    let now = scene.clock.now();
    {
        let mut ca = scene.ca.borrow_mut();
        ca.processes_early = false;
        // It stays as it is, whatever the CA does with others.
        ca.stays_processing = true;
    }
    scene.clock.set(now + SignedDuration::from_hours(24));
    assert_eq!(hourly(&scene, 1), [(0, "issued")]);
    assert_eq!(scene.ca.borrow().orders.len(), 2);
    assert_eq!(scene.state().attempts, None);
}

/// The self-check has passed, and the CA's connection is refused.
fn reset(times: usize, others_end: bool) -> (Ending, usize) {
    let scene = Scene::new(&NAMES);
    scene.ca.borrow_mut().resets = times;
    let error = || Error { others_end, ..Error::default() };
    let ended = scene.run_together(&[from_ref(&scene.task)], options(), error);
    let orders = scene.ca.borrow().orders.len();
    (ended.into_iter().flatten().next().unwrap().ending, orders)
}

#[test]
fn a_connection_that_the_end_of_another_run_reset_is_not_counted_once() {
    let (ending, orders) = reset(1, true);
    assert!(matches!(ending, Ending::Issued(_)), "{ending:?}");
    assert_eq!(orders, 2);
    for (times, others_end, orders) in [(9, true, 2), (1, false, 1)] {
        let (ending, made) = reset(times, others_end);
        assert!(matches!(ending, Ending::Failed { attempts: Some(1), .. }), "{ending:?}");
        assert_eq!(made, orders);
    }
}
