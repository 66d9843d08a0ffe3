//! Promise: a renewal that is overdue is reported, whatever blocks it: by the word of `status`, by
//! its exit code, by a metric, and by the operator's hook, once for each stage.
//!
//! Hourly runs from the renewal to the end of a certificate, on a clock that moves only when all
//! tasks wait.

#![expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends the test")]

use std::rc::Rc;
use std::sync::Arc;

use certctl::cli::global::Format;
use certctl::cli::verbs::status;
use certctl::cli::words;
use certctl::controller::alert;
use certctl::engine::Ending;
use certctl::engine::ports::{Clock as _, Lock};
use certctl::pki;
use certctl::resource::{CaFault, Certificate, GoDuration, Issuer, NamespacedName};
use certctl::workspace::outlook::State;
use certctl::workspace::view::CertificateView;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::fuse::Fuse;
use crate::stage::scene::{Scene, identifier};
use crate::stage::world::Error;

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The hours between renewal and end.
const HOURS: i32 = 240;
/// The first hourly run in each stage: a tenth is over after hour 24, and that run is not late.
const STAGES: [(i32, &str); 4] =
    [(25, "overdue"), (121, "half"), (217, "nine-tenths"), (HOURS, "expired")];

/// What blocks a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    MissingSecret,
    UnreachableCa,
    HeldLock,
    FullDisk,
    NoRun,
}

/// A certificate that is due now, with the operator's hook.
fn due() -> Scene {
    let mut scene = Scene::new(&["a.example"]);
    scene.alerts = Some(Rc::default());
    scene.ca.borrow_mut().certificate_life = DAY * 40;
    Arc::make_mut(&mut scene.task.certificate).spec.renew_before = Some(GoDuration(HOUR * HOURS));
    assert!(matches!(scene.run_freely(), Ending::Issued(_)));
    scene.wait_for_renewal();
    scene
}

fn name() -> NamespacedName {
    NamespacedName::new("default", "web")
}

/// One run against the obstacle; whether the state says that it failed.
fn run(scene: &Scene, obstacle: Obstacle) {
    let lock = format!("{:?}", Lock::Certificate(name()));
    let mut error = Error::default();
    match obstacle {
        Obstacle::MissingSecret => error.secret_is_missing = true,
        Obstacle::UnreachableCa => scene.ca.borrow_mut().down = Some(CaFault::Unreachable),
        Obstacle::HeldLock => drop(scene.memory.borrow_mut().locks.insert(lock)),
        Obstacle::FullDisk => scene.memory.borrow_mut().is_full = true,
        Obstacle::NoRun => return,
    }
    let ending = scene.run_under(Fuse::endless(), error).ending.unwrap();
    assert!(!matches!(ending, Ending::Issued(_) | Ending::Unchanged { .. }), "{ending:?}");
}

fn view(scene: &Scene) -> CertificateView {
    let record = scene.record().unwrap();
    let status = &record.status;
    let now = scene.clock.now();
    let live = scene.live().unwrap();
    let leaf = pki::leaf_facts(std::str::from_utf8(&live.0["tls.crt"]).unwrap()).unwrap();
    CertificateView {
        overdue: alert::overdue(status.renewal_time, status.not_after, now),
        renewal_time: status.renewal_time,
        leaf: Some(Ok(leaf)),
        certificate: Some(Certificate::clone(&scene.task.certificate)),
        issuer: Some(Issuer::clone(&scene.task.issuers.first)),
        orders: scene.orders(),
        record: Some(record),
        ..CertificateView::unknown(name())
    }
}

/// The word of `status`, whether its exit code is 8, and the metric.
fn shown(scene: &Scene) -> (String, bool, bool) {
    let view = view(scene);
    let look = |format| {
        let (now, zone) = (scene.clock.now(), TimeZone::UTC);
        let look = words::Scene { now, zone, color: false, format, width: None };
        status::certificates(std::slice::from_ref(&view), status::Extent::Line, &look).unwrap()
    };
    let word = State::of(&view, scene.clock.now()).word().to_owned();
    let metrics = look(Format::Prometheus);
    let sample =
        metrics.lines().find(|line| line.starts_with("certctl_certificate_renewal_overdue{"));
    let attention = !State::of(&view, scene.clock.now()).is_well();
    (word, attention, sample.unwrap().ends_with(" 1"))
}

#[test]
fn an_overdue_renewal_is_reported_at_each_stage_whatever_blocks_it() {
    use Obstacle::{FullDisk, HeldLock, MissingSecret, NoRun, UnreachableCa};
    for obstacle in [MissingSecret, UnreachableCa, HeldLock, FullDisk, NoRun] {
        let scene = due();
        let begin = scene.clock.now();
        let mut stages = Vec::new();
        for hour in 0..=HOURS + 2 {
            scene.clock.set(begin + HOUR * hour);
            run(&scene, obstacle);
            let heard = scene.alerts.as_ref().unwrap().take();
            stages.extend(heard.iter().map(|alert| (hour, alert.stage.name())));
            scene.clock.set(begin + HOUR * hour);
            let (word, attention, metric) = shown(&scene);
            let is_late = hour > 24;
            let fresh = match obstacle {
                MissingSecret | UnreachableCa => ("FAILED", true),
                // Nothing of it is in the state.
                HeldLock | FullDisk | NoRun => ("READY", false),
            };
            let expected = match hour {
                0..25 => fresh,
                25..HOURS => ("OVERDUE", true),
                _ => ("EXPIRED", true),
            };
            let found = (word.as_str(), attention, metric);
            assert_eq!(found, (expected.0, expected.1, is_late), "{obstacle:?}, hour {hour}");
        }
        let expected = match obstacle {
            MissingSecret | FullDisk => [&[(0, "failed")], &STAGES[..]].concat(),
            // Of a run that is started by hand, its user hears.
            UnreachableCa | HeldLock => STAGES.to_vec(),
            NoRun => Vec::new(),
        };
        assert_eq!(stages, expected, "{obstacle:?}");
    }
}

/// No window opens before the end: renewed when it is due, and never late.
#[test]
fn a_window_that_never_opens_blocks_no_renewal() {
    let mut scene = due();
    let windows = serde_json::from_value(serde_json::json!({
        "windows": [{ "cron": "0 0 30 2 *", "windowDuration": "1h" }],
    }));
    Arc::make_mut(&mut scene.task.certificate).spec.renewal = Some(windows.unwrap());
    let ending = scene.run_freely();
    assert!(matches!(ending, Ending::Issued(_)), "{ending:?}");
}

/// 6 days, of which the CA refuses the last two until two hours before the end.
#[test]
fn a_certificate_of_6_days_is_renewed_by_a_ca_that_recovers_two_hours_before_its_end() {
    let scene = Scene::new(&["a.example"]);
    scene.ca.borrow_mut().certificate_life = DAY * 6;
    assert!(matches!(scene.run_freely(), Ending::Issued(_)));
    scene.wait_for_renewal();
    {
        let mut ca = scene.ca.borrow_mut();
        ca.proven.clear();
        ca.refused.insert(identifier("a.example"));
    }
    let end = scene.record().unwrap().status.not_after.unwrap();
    let mut attempts = Vec::new();
    // A run every 5 minutes.
    loop {
        let begun = scene.clock.now();
        assert!(begun < end, "it expired: {attempts:?}");
        if begun >= end - HOUR * 2 {
            scene.ca.borrow_mut().refused.clear();
        }
        match scene.run_freely() {
            Ending::Issued(_) => break,
            Ending::Failed { .. } => attempts.push(begun.duration_until(end).as_mins()),
            Ending::Deferred { .. } => {}
            other => panic!("{other:?}"),
        }
        scene.clock.set(begun + SignedDuration::from_mins(5));
    }
    // Minutes before the end: the formula to the letter, then 7/8 of what is left.
    assert_eq!(attempts, [2880, 2815, 2690, 2445, 1960, 995]);
    let left = scene.clock.now().duration_until(end);
    assert!(left > SignedDuration::from_mins(60), "{left:?}");
}
