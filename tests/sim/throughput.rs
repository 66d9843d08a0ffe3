//! Promise: however many certificates are due at once, their CA is what they wait for.
//!
//! On a clock that moves only when all tasks wait: times are exact. Each answer of the CA takes
//! 300 ms, and a run has so many requests at one CA in flight as [`Limits`] says.

use std::rc::Rc;

use certctl::acme::Limits;
use certctl::engine::{Ending, Options, Task};
use jiff::SignedDuration;

use crate::stage::scene::{Scene, task};
use crate::stage::world::Error;

/// Many more than requests may be in flight.
const CERTIFICATES: usize = 300;
const LATENCY: SignedDuration = SignedDuration::from_millis(300);

/// Issues so many certificates at once. Returns how many requests that took.
fn issue(scene: &Scene, certificates: usize) -> usize {
    scene.ca.borrow_mut().latency = LATENCY;
    let tasks: Vec<Task> =
        (0..certificates).map(|n| task(&format!("c{n}"), &[&format!("n{n}.example")])).collect();
    let options = Options { parallel: 256, ..crate::stage::scene::options() };
    let (ended, requests) = scene.run_tasks(&Rc::default(), Error::default(), &tasks, options);
    let ended = ended.unwrap();
    let issued = ended.iter().filter(|end| matches!(end.ending, Ending::Issued(_)));
    assert_eq!(issued.count(), certificates);
    requests
}

#[test]
fn hundreds_of_certificates_that_are_due_at_once_keep_their_ca_busy() {
    keep_it_busy(CERTIFICATES);
}

#[test]
#[ignore = "for `tests/run --all`: a minute and more"]
fn series_a_thousand_certificates_that_are_due_at_once_keep_their_ca_busy() {
    keep_it_busy(1000);
}

fn keep_it_busy(certificates: usize) {
    let alone = issue(&Scene::new(&["a.example"]), 1);
    let scene = Scene::new(&["a.example"]);
    let requests = issue(&scene, certificates);
    assert!(requests <= alone * certificates, "{requests} requests, and {alone} for one alone");
    let at_once = i32::try_from(Limits::default().requests_at_once).unwrap();
    let ideal = LATENCY * i32::try_from(requests).unwrap() / at_once;
    let passed = scene.clock.passed();
    assert!(passed <= ideal + ideal / 50, "{passed:?} instead of {ideal:?}");
}
