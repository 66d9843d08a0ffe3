//! Promise: a rate limit of a CA costs no certificate an attempt. The run asks again when the CA
//! says so, with one certificate, and what would be refused is not asked.
//!
//! On a clock that moves only when all tasks wait: times are exact.

#![expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends the test")]

use std::rc::Rc;
use std::sync::Arc;

use certctl::controller::Deferral;
use certctl::engine::ports::Clock as _;
use certctl::engine::{Ended, Ending, Force, Options, Task};
use certctl::resource::{CaFault, Doing, FailureClass, Issuance, Limit, PublishedLimits};
use jiff::{SignedDuration, Timestamp};

use crate::fuse::Fuse;
use crate::stage::scene::{Scene, identifier, task};
use crate::stage::world::Error;

/// How many orders the CA takes in a window.
const MOST: usize = 10;
const CERTIFICATES: usize = 60;

fn options() -> Options {
    Options { parallel: 256, ..crate::stage::scene::options() }
}

fn tasks() -> Vec<Task> {
    (0..CERTIFICATES).map(|n| task(&format!("c{n}"), &[&format!("n{n}.example")])).collect()
}

/// A CA that takes ten orders in so long, and a hook for failures.
fn limited(window: SignedDuration) -> Scene {
    let mut scene = Scene::new(&["a.example"]);
    scene.alerts = Some(Rc::default());
    scene.ca.borrow_mut().limit = Some((MOST, window));
    scene
}

fn run(scene: &Scene, tasks: &[Task]) -> Vec<Ended> {
    scene.run_together(&[tasks], options(), Error::default).remove(0)
}

fn issued(ended: &[Ended]) -> usize {
    ended.iter().filter(|end| matches!(end.ending, Ending::Issued(_))).count()
}

/// Until when each waits that was deferred.
fn waits(ended: &[Ended]) -> Vec<Option<Timestamp>> {
    let until = |end: &Ended| match &end.ending {
        Ending::Deferred { until, urgent: None, .. } => Some(*until),
        _ => None,
    };
    ended.iter().filter_map(until).collect()
}

fn alerts(scene: &Scene) -> usize {
    scene.alerts.as_ref().unwrap().borrow().len()
}

/// No certificate has a counted failure.
fn none_is_counted(scene: &Scene, tasks: &[Task]) {
    for task in tasks {
        let record = scene.record_of(&task.certificate.metadata.key()).unwrap();
        let status = record.status;
        assert_eq!((status.failed_issuance_attempts, status.last_failure_time), (None, None));
    }
}

/// The CA refused at most one order per window.
fn one_probe_per_window(scene: &Scene, window: SignedDuration) {
    let refused = scene.ca.borrow().limited.clone();
    for two in refused.windows(2) {
        assert!(two[0].duration_until(two[1]) >= window, "{refused:?}");
    }
}

#[test]
fn a_short_retry_after_is_a_pause_in_the_run() {
    let window = SignedDuration::from_secs(36);
    let (scene, tasks) = (limited(window), tasks());
    let ended = run(&scene, &tasks);
    assert_eq!(issued(&ended), CERTIFICATES);
    let ideal = window * 5;
    let passed = scene.clock.passed();
    assert!(passed <= ideal + ideal / 10, "{passed:?} instead of {ideal:?}");
    assert_eq!(scene.ca.borrow().limited.len(), 5);
    one_probe_per_window(&scene, window);
    none_is_counted(&scene, &tasks);
    assert_eq!((scene.ca.borrow().orders.len(), alerts(&scene)), (CERTIFICATES, 0));
}

#[test]
fn a_long_retry_after_ends_the_run_and_the_next_run_keeps_to_it() {
    let window = SignedDuration::from_hours(2);
    let (scene, tasks) = (limited(window), tasks());
    let start = scene.clock.now();
    let mut left = CERTIFICATES;
    for hour in 0..12 {
        let begun = start + SignedDuration::from_hours(hour);
        scene.clock.set(begun);
        let refused = scene.ca.borrow().limited.len();
        let ended = run(&scene, &tasks);
        let times = waits(&ended);
        if hour % 2 == 0 {
            assert_eq!(issued(&ended), MOST, "hour {hour}");
            left -= MOST;
            // One asked in vain, and the others did not ask.
            let probes = scene.ca.borrow().limited.len() - refused;
            assert_eq!((times.len(), probes), (left, usize::from(left > 0)), "hour {hour}");
        } else {
            assert_eq!((issued(&ended), times.len()), (0, left), "hour {hour}");
            assert_eq!(scene.ca.borrow().limited.len(), refused, "none asked");
        }
        let next = start + window * i32::try_from(hour / 2 + 1).unwrap();
        for until in times {
            let late = next.duration_until(until.unwrap());
            assert!((SignedDuration::ZERO..SignedDuration::from_mins(1)).contains(&late));
        }
    }
    assert_eq!((left, alerts(&scene)), (0, 1));
    assert_eq!(scene.ca.borrow().orders.len(), CERTIFICATES);
    none_is_counted(&scene, &tasks);
}

/// Its end lies behind that of the certificates: they would expire unasked.
#[test]
fn a_retry_after_is_believed_for_at_most_half_of_the_life_that_is_left() {
    let days = |days: i64| SignedDuration::from_hours(24 * days);
    let (scene, mut tasks) = (limited(days(1)), tasks());
    tasks.truncate(MOST);
    let start = scene.clock.now();
    assert_eq!(issued(&run(&scene, &tasks)), MOST);
    let record = scene.record_of(&tasks[0].certificate.metadata.key()).unwrap();
    let begun = record.status.not_after.unwrap() - days(8);
    scene.ca.borrow_mut().limit = Some((MOST, start.duration_until(begun) + days(6)));
    // Half of eight days, and of what is left of them. Of the others none asks in between.
    for (hour, asked) in [(0, 1), (95, 1), (97, 2), (120, 2)] {
        scene.clock.set(begun + SignedDuration::from_hours(hour));
        run(&scene, &tasks);
        assert_eq!(scene.ca.borrow().limited.len(), asked, "hour {hour}");
    }
    none_is_counted(&scene, &tasks);
}

#[test]
fn a_run_that_is_killed_in_a_pause_is_continued() {
    let window = SignedDuration::from_secs(36);
    let (scene, tasks) = (limited(window), tasks());
    let mut killed = 0;
    for moments in [30, 700, 1500, 2500] {
        let fuse = Rc::new(Fuse::at(moments));
        killed +=
            usize::from(scene.run_tasks(&fuse, Error::default(), &tasks, options()).0.is_none());
    }
    assert!(killed >= 3, "{killed}");
    let ended = run(&scene, &tasks);
    let unchanged = ended.iter().filter(|end| matches!(end.ending, Ending::Unchanged { .. }));
    assert_eq!(issued(&ended) + unchanged.count(), CERTIFICATES);
    one_probe_per_window(&scene, window);
    none_is_counted(&scene, &tasks);
    let orders = scene.ca.borrow().orders.len();
    // A killed run may have made an order whose URL was not stored.
    assert!((CERTIFICATES..=CERTIFICATES + killed).contains(&orders), "{orders}");
    // These may begin one more window.
    let (passed, ideal) = (scene.clock.passed(), window * 6);
    assert!(passed <= ideal + ideal / 10, "{passed:?}");
    assert_eq!(alerts(&scene), 0);
}

/// What names a domain or a set of names holds back the certificates that have them.
#[test]
fn a_refusal_that_names_a_domain_holds_back_only_its_certificates() {
    let scene = limited(SignedDuration::from_hours(2));
    scene.ca.borrow_mut().limit = None;
    let five = |name: &str, words| scene.ca.borrow_mut().words.insert(identifier(name), words);
    five(
        "a.one.example",
        "too many certificates (50) already issued for \"one.example\" in the last 168h0m0s, retry after 2026-01-02 08:04:05 UTC: see https://letsencrypt.org/docs/rate-limits/",
    );
    five("b.one.example", "too many certificates (50) already issued for \"one.example\"");
    five(
        "two.example",
        "too many certificates (5) already issued for this exact set of identifiers in the last 168h0m0s",
    );
    five(
        "three.example",
        "too many failed authorizations (5) for \"three.example\" in the last 1h0m0s",
    );
    let tasks = [
        task("a", &["a.one.example"]),
        task("b", &["b.one.example"]),
        task("two", &["two.example"]),
        task("two-and-more", &["more.example", "two.example.test"]),
        task("three", &["three.example"]),
        task("sub", &["sub.three.example"]),
        task("free", &["free.example"]),
    ];
    let ended = run(&scene, &tasks);
    let deferred = ended.iter().filter(|end| matches!(end.ending, Ending::Deferred { .. }));
    let mut held: Vec<&str> = deferred.map(|end| end.certificate.name.as_str()).collect();
    held.sort_unstable();
    assert_eq!(held, ["a", "b", "three", "two"]);
    // `b` was not asked for: its domain was refused already.
    assert_eq!((issued(&ended), scene.ca.borrow().limited.len()), (3, 3));
    none_is_counted(&scene, &tasks);
    // Nor is any of them asked for within the five hours.
    scene.clock.set(scene.clock.now() + SignedDuration::from_hours(4));
    assert_eq!(waits(&run(&scene, &tasks)).len(), 4);
    assert_eq!(scene.ca.borrow().limited.len(), 3);
    scene.ca.borrow_mut().words.clear();
    scene.clock.set(scene.clock.now() + SignedDuration::from_mins(61));
    assert_eq!(issued(&run(&scene, &tasks)), 4);
}

/// Such as words about a network that none of the names shows.
#[test]
fn a_refusal_holds_back_at_least_the_certificate_that_it_answered() {
    let scene = limited(SignedDuration::from_hours(2));
    scene.ca.borrow_mut().limit = None;
    let words = "too many certificates (50) already issued for \"2001:db8:1:2::/64\"";
    scene.ca.borrow_mut().words.insert(identifier("a.example"), words);
    let tasks = [task("a", &["a.example"]), task("b", &["b.example"])];
    let ended = run(&scene, &tasks);
    assert_eq!((issued(&ended), waits(&ended).len()), (1, 1));
    assert_eq!(scene.ca.borrow().limited.len(), 1);
    none_is_counted(&scene, &tasks);
}

#[test]
fn a_certificate_for_the_names_of_another_cas_is_no_renewal() {
    let scene = limited(SignedDuration::from_hours(2));
    scene.ca.borrow_mut().limit = None;
    let mut tasks = [task("web", &["a.one.example"]), task("b", &["b.one.example"])];
    assert_eq!(issued(&run(&scene, &tasks[..1])), 1);
    for task in &mut tasks {
        Arc::make_mut(&mut task.issuers.first).acme.server =
            "https://ca.test/other/directory".to_owned();
    }
    let words = "too many certificates (50) already issued for \"one.example\"";
    scene.ca.borrow_mut().words.insert(identifier("a.one.example"), words);
    let ended = run(&scene, &tasks);
    // `b` was not asked for: its domain was refused already.
    assert_eq!((issued(&ended), waits(&ended).len()), (0, 2));
    assert_eq!(scene.ca.borrow().limited.len(), 1);
    none_is_counted(&scene, &tasks);
    scene.ca.borrow_mut().words.clear();
    scene.clock.set(scene.clock.now() + SignedDuration::from_hours(6));
    assert_eq!(issued(&run(&scene, &tasks)), 2);
    let lines = scene.memory.borrow().issuances.clone();
    let renewal = |line: &String| serde_json::from_str::<Issuance>(line).unwrap().renewal;
    assert_eq!(lines.iter().map(renewal).collect::<Vec<_>>(), [false; 3]);
}

/// A CA that is down takes its time to say nothing.
#[test]
fn a_ca_that_is_down_is_tried_once_per_account_and_run() {
    let scene = Scene::new(&["a.example"]);
    scene.ca.borrow_mut().down = Some(CaFault::Unreachable);
    let tasks = tasks();
    let (ended, requests) = scene.run_tasks(&Rc::default(), Error::default(), &tasks, options());
    let ended = ended.unwrap();
    let is_away = |end: &Ended| {
        matches!(&end.ending, Ending::Failed { failure, attempts: None, .. }
            if failure.class == FailureClass::Unreachable)
    };
    assert!(ended.iter().all(is_away), "{ended:#?}");
    assert_eq!(requests, 1, "those that found the account recorded would look it up");
    none_is_counted(&scene, &tasks);
    scene.ca.borrow_mut().down = None;
    assert_eq!(issued(&run(&scene, &tasks)), CERTIFICATES);
}

#[test]
fn a_server_error_that_comes_back_for_a_day_counts_and_says_since_when() {
    let scene = Scene::new(&["a.example"]);
    let start = scene.clock.now();
    let mut counted = Vec::new();
    for hour in 0..28 {
        let now = start + SignedDuration::from_hours(hour);
        scene.clock.set(now);
        let fault = if hour == 0 { CaFault::Unreachable } else { CaFault::ServerError };
        scene.ca.borrow_mut().down = Some(fault);
        match scene.run_freely() {
            Ending::Failed { failure, attempts, .. } => {
                let since = start + SignedDuration::from_hours(1);
                let words = format!("server errors since {since}");
                assert_eq!(failure.to_string().contains(&words), hour >= 25, "{hour}: {failure}");
                assert_eq!(failure.class == FailureClass::Ca, hour >= 25, "{hour}");
                counted.extend(attempts.map(|attempts| (hour, attempts)));
            }
            Ending::Deferred { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(counted, [(25, 1), (26, 2)]);
}

#[test]
fn server_errors_with_answers_between_them_are_not_a_day_of_them() {
    let scene = Scene::new(&["a.example"]);
    scene.ca.borrow_mut().is_slow = true;
    let start = scene.clock.now();
    assert!(matches!(scene.run_freely(), Ending::Pending { .. }));
    for hour in [1, 2, 30, 31, 60] {
        scene.clock.set(start + SignedDuration::from_hours(hour));
        let is_down = hour != 2 && hour != 31;
        scene.ca.borrow_mut().down = is_down.then_some(CaFault::ServerError);
        let ending = scene.run_freely();
        let expected = if is_down {
            matches!(&ending, Ending::Failed { failure, attempts: None, .. }
                if failure.doing == Doing::ReadOrder)
        } else {
            matches!(ending, Ending::Pending { .. })
        };
        assert!(expected, "{hour}: {ending:?}");
    }
}

/// The CA answers for the other authorization all the time.
#[test]
fn server_errors_of_one_authorization_among_answered_ones_count_after_a_day() {
    let scene = Scene::new(&["a.example", "b.example"]);
    scene.ca.borrow_mut().never_validates = true;
    let start = scene.clock.now();
    assert!(matches!(scene.run_freely(), Ending::Pending { .. }));
    scene.ca.borrow_mut().broken.insert("https://ca.test/authorization/1".to_owned());
    let mut counted = Vec::new();
    for hour in 1..27 {
        scene.clock.set(start + SignedDuration::from_hours(hour));
        let Ending::Failed { failure, attempts, .. } = scene.run_freely() else {
            panic!("hour {hour}");
        };
        assert_eq!(failure.doing, Doing::ReadAuthorization);
        let words = failure.to_string().contains("server errors since 2026-01-02T04:04:");
        assert_eq!(words, attempts.is_some(), "{hour}: {failure}");
        counted.extend(attempts.map(|attempts| (hour, attempts)));
        if attempts.is_some() {
            break;
        }
    }
    assert!(matches!(counted[..], [(25 | 26, 1)]), "{counted:?}");
}

/// The first of two for most of a day, then the second.
#[test]
fn an_authorization_that_answers_again_ends_its_server_errors() {
    let scene = Scene::new(&["a.example", "b.example"]);
    scene.ca.borrow_mut().never_validates = true;
    let start = scene.clock.now();
    assert!(matches!(scene.run_freely(), Ending::Pending { .. }));
    for hour in 1..40 {
        scene.clock.set(start + SignedDuration::from_hours(hour));
        let url = format!("https://ca.test/authorization/{}", hour / 20);
        scene.ca.borrow_mut().broken = [url].into();
        let ending = scene.run_freely();
        assert!(matches!(ending, Ending::Failed { attempts: None, .. }), "{hour}: {ending:?}");
    }
}

/// What the CA of these tests publishes.
const PUBLISHED: &[PublishedLimits] = &[PublishedLimits {
    host: "ca.test",
    limits: &[
        (Limit::Orders, 100, SignedDuration::from_hours(1)),
        (Limit::CertificatesPerDomain, 50, SignedDuration::from_hours(7 * 24)),
        (Limit::CertificatesPerSet, 5, SignedDuration::from_hours(7 * 24)),
        (Limit::FailedValidations, 5, SignedDuration::from_hours(1)),
    ],
}];

fn paced() -> Options {
    Options { limits: PUBLISHED, ..options() }
}

fn run_with(scene: &Scene, tasks: &[Task], options: Options) -> Vec<Ended> {
    scene.run_together(&[tasks], options, Error::default).remove(0)
}

fn renewed(name: &str) -> Task {
    let force = Some(Force::default());
    Task { force, ..task("web", &[name]) }
}

#[test]
fn the_sixth_identical_renewal_within_a_week_waits_unless_limits_are_ignored() {
    let scene = Scene::new(&["a.example"]);
    let tasks = [renewed("web.example")];
    let begun = scene.clock.now();
    for _ in 0..5 {
        assert_eq!(issued(&run_with(&scene, &tasks, paced())), 1);
        scene.clock.set(scene.clock.now() + SignedDuration::from_mins(1));
    }
    let ended = run_with(&scene, &tasks, paced());
    let Ending::Deferred { until: Some(until), why: Deferral::Limit(spent), urgent: None } =
        &ended[0].ending
    else {
        panic!("{ended:?}");
    };
    assert_eq!(spent.to_string(), "5 of 5 this week for exactly these names");
    let wait = begun.duration_until(*until);
    let fifth = SignedDuration::from_hours(7 * 24) / 5;
    assert!((fifth..fifth + SignedDuration::from_mins(1)).contains(&wait), "{wait:?}");
    assert_eq!(scene.ca.borrow().orders.len(), 5);
    none_is_counted(&scene, &tasks);
    let ignoring = Options { ignore_limits: true, ..paced() };
    assert_eq!(issued(&run_with(&scene, &tasks, ignoring)), 1);
    // The next one fits when another fifth of the week is over.
    scene.clock.set(*until);
    assert_eq!(waits(&run_with(&scene, &tasks, paced())).len(), 1);
    scene.clock.set(*until + fifth);
    assert_eq!(issued(&run_with(&scene, &tasks, paced())), 1);
}

#[test]
fn what_a_domain_has_left_is_asked_for_and_the_rest_waits_one_after_the_other() {
    let scene = limited(SignedDuration::from_hours(2));
    scene.ca.borrow_mut().limit = None;
    let task = |n| task(&format!("c{n}"), &[&format!("n{n}.domain.example")]);
    let tasks: Vec<Task> = (0..CERTIFICATES).map(task).collect();
    let ended = run_with(&scene, &tasks, paced());
    let mut times = waits(&ended);
    assert_eq!((issued(&ended), times.len()), (50, 10));
    times.sort_unstable();
    let one = SignedDuration::from_hours(7 * 24) / 50;
    for two in times.windows(2) {
        assert_eq!(two[0].unwrap().duration_until(two[1].unwrap()), one);
    }
    // Others are not concerned, nor are renewals.
    let other = [crate::stage::scene::task("other", &["other.example"]), tasks[0].clone()];
    let force = Some(Force::default());
    let other = other.map(|task| Task { force, ..task });
    assert_eq!(issued(&run_with(&scene, &other, paced())), 2);
    // The next run says the same, and one fits at its time.
    let again = run_with(&scene, &tasks, paced());
    assert_eq!((waits(&again).len(), scene.ca.borrow().orders.len()), (10, 52));
    scene.clock.set(times[0].unwrap());
    assert_eq!(issued(&run_with(&scene, &tasks, paced())), 1);
    none_is_counted(&scene, &tasks);
    assert_eq!((scene.ca.borrow().limited.len(), alerts(&scene)), (0, 0));
}

#[test]
fn orders_beyond_a_limit_that_refills_soon_are_paced_in_the_run() {
    let scene = limited(SignedDuration::from_hours(2));
    scene.ca.borrow_mut().limit = None;
    let task = |n| task(&format!("c{n}"), &[&format!("n{n}.example.d{n}.example")]);
    let tasks: Vec<Task> = (0..110).map(task).collect();
    let before = scene.clock.passed();
    let ended = run_with(&scene, &tasks, paced());
    assert_eq!(issued(&ended), 110);
    // One more fits every 36 seconds.
    let passed = scene.clock.passed() - before;
    let ideal = SignedDuration::from_secs(360);
    assert!((ideal..ideal + ideal / 10).contains(&passed), "{passed:?}");
}

#[test]
fn a_name_that_failed_five_times_within_an_hour_is_not_tried_a_sixth_time() {
    let scene = Scene::new(&["a.example"]);
    scene.ca.borrow_mut().refused.insert(identifier("bad.example"));
    let tasks = [renewed("bad.example")];
    for _ in 0..5 {
        let ended = run_with(&scene, &tasks, paced());
        assert!(matches!(ended[0].ending, Ending::Failed { attempts: Some(_), .. }), "{ended:?}");
    }
    let ended = run_with(&scene, &tasks, paced());
    let Ending::Deferred { why: Deferral::Limit(spent), .. } = &ended[0].ending else {
        panic!("{ended:?}");
    };
    assert_eq!(spent.to_string(), "5 of 5 failed validations this hour for bad.example");
    assert_eq!(scene.ca.borrow().orders.len(), 5);
}
