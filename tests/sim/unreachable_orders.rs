//! Promise: an order that cannot be worked on is not kept for ever. URLs that the CA says anew are
//! taken; an order that gives no answer for a day, or that has expired meanwhile, is replaced once,
//! uncounted; and what the end of another run broke is not counted either.
//!
//! On a clock that moves only when all tasks wait: times are exact.

#![expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends the test")]

use std::rc::Rc;
use std::slice::from_ref;

use certctl::engine::ports::Clock as _;
use certctl::engine::{Ending, Options};
use certctl::resource::CaFault;
use jiff::{SignedDuration, Timestamp};

use crate::fuse::Fuse;
use crate::stage::ca::{Misnamed, Stop, TooOld};
use crate::stage::scene::{Scene, options};
use crate::stage::world::{Alerts, Error};

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

/// A CA, or a host, that never gets any further.
fn stuck(how: &str) -> (Scene, Error) {
    let scene = Scene::new(&NAMES[..1]);
    let mut ca = scene.ca.borrow_mut();
    let unreachable = how == "a self-check that fails";
    match how {
        "an order without authorizations" => ca.names_no_authorizations = true,
        "an authorization that stays pending" => ca.never_validates = true,
        "a challenge that is left pending" => ca.looks_in_vain = usize::MAX,
        "an order that is processing without a CSR" => ca.processes_early = true,
        "an order that stays processing" => ca.is_slow = true,
        "an order that is valid without a certificate" => {
            ca.stop = Some(Stop::ValidWithoutCertificate);
        }
        "an order that stays ready" => ca.stop = Some(Stop::Ready),
        "an order that is never ready" => ca.stop = Some(Stop::NotReady),
        "a certificate that is not found" => ca.stop = Some(Stop::NoCertificate),
        "a challenge that is not taken" => {
            ca.broken.insert("https://ca.test/challenge/0".to_owned());
        }
        _ => assert!(unreachable, "{how}"),
    }
    drop(ca);
    (scene, Error { unreachable, ..Error::default() })
}

const STUCK: [&str; 11] = [
    "an order without authorizations",
    "an authorization that stays pending",
    "a challenge that is left pending",
    "an order that is processing without a CSR",
    "an order that stays processing",
    "an order that is valid without a certificate",
    "an order that stays ready",
    "an order that is never ready",
    "a certificate that is not found",
    "a challenge that is not taken",
    "a self-check that fails",
];

#[test]
fn whatever_does_not_move_is_looked_at_with_growing_pauses() {
    for how in STUCK {
        let (scene, error) = stuck(how);
        let begun = scene.clock.now();
        scene.run_under(Fuse::endless(), error);
        let ca = scene.ca.borrow();
        let minute = |at: &&Timestamp| begun.duration_until(**at) <= SignedDuration::from_mins(1);
        let asked = ca.asked.iter().filter(minute).count();
        assert!(asked <= 40, "{how}: {asked} requests in the first minute");
        assert_eq!(ca.given.len(), 1, "{how}");
    }
}

#[test]
fn a_short_run_ends_soon_whatever_does_not_move() {
    let options = Options { timeout: SignedDuration::from_secs(4), ..options() };
    for how in STUCK {
        let (scene, error) = stuck(how);
        let fuse = Rc::new(Fuse::endless());
        scene.run_tasks(&fuse, error, from_ref(&scene.task), options);
        let passed = scene.clock.passed();
        assert!(passed <= SignedDuration::from_secs(10), "{how}: {passed:?}");
    }
}

/// Its time is over, and the CA still shows it: what is sent to it would be refused.
#[test]
fn an_order_that_has_expired_is_replaced_uncounted_although_the_ca_still_shows_it() {
    let scene = Scene::new(&NAMES);
    scene.ca.borrow_mut().lifetime = Some(SignedDuration::from_hours(6));
    scene.ca.borrow_mut().too_old = TooOld::Shown;
    let error = Error { unreachable: true, ..Error::default() };
    assert!(matches!(scene.run_under(Fuse::endless(), error).ending, Some(Ending::Pending { .. })));
    scene.clock.set(scene.clock.now() + SignedDuration::from_hours(7));
    assert_eq!(hourly(&scene, 1), [(0, "issued")]);
    assert_eq!(scene.ca.borrow().orders.len(), 2);
    assert_eq!(scene.state().attempts, None);
}

#[test]
fn a_signal_waits_for_the_answer_to_new_order_and_for_what_is_being_presented() {
    for (during, over_dns) in [("CreateOrder", false), ("Present", false), ("Present", true)] {
        let scene = if over_dns { Scene::over_dns(&NAMES) } else { Scene::new(&NAMES) };
        let error = Error { signal_during: Some(during), ..Error::default() };
        let ending = scene.run_under(Fuse::endless(), error).ending;
        assert_eq!(ending, Some(Ending::Interrupted { signal: 15 }), "{during}");
        assert_eq!(*scene.outside.borrow(), [].into(), "{during}");
        assert_eq!(hourly(&scene, 1), [(0, "issued")], "{during}");
        assert_eq!(scene.ca.borrow().orders.len(), 1, "{during}");
    }
}

/// How hourly runs end while the CA is down, and how many reports the operator got, when that
/// changes.
fn outage(scene: &mut Scene, is_scheduled: bool, hours: i64) -> Vec<(i64, &'static str, usize)> {
    let alerts = Alerts::default();
    scene.alerts = Some(Rc::clone(&alerts));
    scene.ca.borrow_mut().down = Some(CaFault::Unreachable);
    let options = Options { is_scheduled, ..options() };
    let start = scene.clock.now();
    let mut all: Vec<(i64, &str, usize)> = Vec::new();
    for hour in 0..hours {
        scene.clock.set(start + SignedDuration::from_hours(hour));
        let fuse = Rc::new(Fuse::endless());
        let (ended, _) = scene.run_tasks(&fuse, Error::default(), from_ref(&scene.task), options);
        let ended = ended.unwrap().pop().unwrap();
        let word = match ended.ending {
            Ending::Deferred { urgent: None, .. } if !ended.is_new => "quiet",
            Ending::Failed { attempts: None, .. } => "failed",
            other => panic!("{other:?}"),
        };
        let told = alerts.borrow().len();
        if all.last().is_none_or(|(_, last, before)| (*last, *before) != (word, told)) {
            all.push((hour, word, told));
        }
    }
    all
}

#[test]
fn a_ca_that_is_down_needs_nobody_for_a_day_unless_the_certificate_is_about_to_end() {
    let due = || {
        let scene = Scene::new(&NAMES);
        assert!(matches!(scene.run_freely(), Ending::Issued(_)));
        scene.wait_for_renewal();
        scene
    };
    assert_eq!(outage(&mut due(), true, 30), [(0, "quiet", 0), (24, "failed", 1)]);
    // Whoever runs it by hand sees it.
    assert_eq!(outage(&mut due(), false, 30), [(0, "failed", 0)]);
    let mut late = due();
    late.clock
        .set(late.record().unwrap().status.not_after.unwrap() - SignedDuration::from_hours(96));
    let found = outage(&mut late, true, 3);
    assert_eq!(found, [(0, "failed", 1)], "{found:?}");
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
