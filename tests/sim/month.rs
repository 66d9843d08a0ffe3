//! A month of hourly runs against a world in memory that is not as it should be: how often the CA
//! is asked, what is kept, and what is live.

use certctl::cli::global::Format;
use certctl::cli::verbs::status;
use certctl::cli::words;
use certctl::engine::Ending;
use certctl::engine::ports::Clock as _;
use certctl::resource::{Certificate, FailureClass, Issuer, OrderState, Phase};
use certctl::workspace::view::CertificateView;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::fuse::Fuse;
use crate::stage::ca::TooOld;
use crate::stage::issuance::Wrong;
use crate::stage::scene::{Scene, identifier};
use crate::stage::world::{EFFECT, Error};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// How long an order lives.
const LIFE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The runs of 30 days.
const MONTH: usize = 720;

/// One of the hourly runs.
struct Hour {
    /// When it began.
    begun: Timestamp,
    ending: Ending,
    /// Whether it is reported without a terminal.
    is_new: bool,
    /// What it did, by effect.
    effects: Vec<String>,
    /// Its requests at the CA.
    requests: usize,
    /// The orders it made at the CA.
    orders: usize,
}

impl Hour {
    fn asks(&self, effect: &str) -> usize {
        self.effects.iter().filter(|done| done.starts_with(effect)).count()
    }
}

/// A run on each hour from now on; `look` sees the state after each.
fn hourly(scene: &Scene, runs: usize, unreachable: bool, mut look: impl FnMut(&Hour)) -> Vec<Hour> {
    let start = scene.clock.now();
    let mut hours = Vec::new();
    for number in 0..runs {
        let begun = start + HOUR * i32::try_from(number).unwrap();
        scene.clock.set(begun);
        let before = scene.ca.borrow().orders.len();
        let error = Error { unreachable, ..Error::default() };
        let went = scene.run_under(Fuse::endless(), error);
        let effects = went.labels.iter().filter_map(|label| label.strip_prefix(EFFECT));
        let hour = Hour {
            begun,
            ending: went.ending.unwrap(),
            is_new: went.is_new,
            effects: effects.map(str::to_owned).collect(),
            requests: went.requests,
            orders: scene.ca.borrow().orders.len() - before,
        };
        look(&hour);
        hours.push(hour);
    }
    hours
}

/// A failure's time and the time of the next attempt rule all that follows: before it each run is
/// deferred until then and does nothing at all, and the first run after it makes one order.
/// Returns the numbers of the runs that made one.
fn one_order_after_each_wait(hours: &[Hour]) -> Vec<usize> {
    let mut attempts = Vec::new();
    let mut next: Option<Timestamp> = None;
    for (number, hour) in hours.iter().enumerate() {
        if let Some(next) = next.filter(|next| hour.begun < *next) {
            let Ending::Deferred { until, .. } = &hour.ending else {
                panic!("run {number}: {:?}", hour.ending);
            };
            assert_eq!(*until, Some(next), "run {number}");
            assert_eq!((hour.requests, &hour.effects[..]), (0, &[][..]), "run {number}");
            continue;
        }
        let Ending::Failed { attempts: Some(count), next_attempt, .. } = &hour.ending else {
            panic!("run {number}: {:?}", hour.ending);
        };
        assert_eq!((hour.orders, hour.asks("CreateOrder")), (1, 1), "run {number}");
        attempts.push(number);
        assert_eq!(usize::try_from(*count), Ok(attempts.len()), "run {number}");
        let wait = HOUR * 2_i32.pow((*count - 1).min(5));
        let waits = hour.begun.duration_until(next_attempt.unwrap());
        assert!((wait..=wait + SignedDuration::from_mins(1)).contains(&waits), "{waits:?}");
        next = *next_attempt;
    }
    attempts
}

#[test]
fn a_name_that_is_always_refused_costs_an_order_in_32_hours() {
    let scene = Scene::new(&["a.example"]);
    scene.ca.borrow_mut().refused.insert(identifier("a.example"));
    let hours = hourly(&scene, MONTH, false, |_| ());
    let attempts = one_order_after_each_wait(&hours);
    assert!((25..=28).contains(&attempts.len()), "{attempts:?}");
    assert_eq!(scene.ca.borrow().orders.len(), attempts.len());
    for number in &attempts {
        let hour = &hours[*number];
        let Ending::Failed { failure, .. } = &hour.ending else { panic!() };
        assert_eq!(failure.class, FailureClass::Validation);
        // The self-check had passed, and the challenge was accepted once.
        assert_eq!((hour.asks("Accept"), hour.asks("Finalize")), (1, 0), "{:?}", hour.effects);
    }
    let state = scene.state();
    assert_eq!((state.live, state.presented, state.owed, state.accounts), (None, 0, 0, 1));
}

/// An order that ran out of time is gone at one CA, and invalid at another.
#[test]
fn an_unreachable_name_costs_an_order_in_the_life_of_one() {
    for too_old in [TooOld::Gone, TooOld::Invalid] {
        let scene = Scene::new(&["a.example"]);
        scene.ca.borrow_mut().lifetime = Some(LIFE);
        scene.ca.borrow_mut().too_old = too_old;
        let begun = scene.clock.now();
        let mut made = Vec::new();
        for hour in hourly(&scene, MONTH, true, |hour| {
            if hour.orders > 0 {
                made.push(hour.begun);
            }
            says_since_when_and_why(&scene, hour, *made.last().unwrap());
        }) {
            // The CA is never told to look. A run that continues an order asks the CA for that
            // order, and, once its self-check has not succeeded for a turn, for the challenge.
            assert_eq!((hour.asks("Accept"), hour.asks("Finalize")), (0, 0), "{:?}", hour.effects);
            let read = usize::from(hour.begun != begun);
            assert_eq!(hour.asks("ReadOrder"), read, "{:?}", hour.effects);
            // Register and order, or read and order; then the authorization is read, and again
            // after each turn: the first run has ten of them, the others one.
            let turns = if hour.begun == begun { 10 } else { 1 };
            let looks = hour.asks("ReadAuthorization") - usize::from(hour.orders > 0);
            assert!(looks <= turns, "{:?}", hour.effects);
            let requests = if hour.orders == 0 { 1 } else { 3 };
            assert_eq!(hour.requests, requests + looks, "{:?}", hour.effects);
        }
        let weekly: Vec<Timestamp> = (0..5).map(|week| begun + LIFE * week).collect();
        assert_eq!(made, weekly);
        assert_eq!(scene.ca.borrow().orders.len(), 5);
        let state = scene.state();
        assert_eq!((state.attempts, state.has_failed), (None, false));
        assert_eq!((state.presented, state.owed, state.live), (0, 0, None));
    }
}

/// What the run, the state and `status` say of an order that was made at `made`.
fn says_since_when_and_why(scene: &Scene, hour: &Hour, made: Timestamp) {
    let Ending::Pending { since, why, overdue, .. } = &hour.ending else {
        panic!("{:?}", hour.ending);
    };
    let reason = "Waiting for HTTP-01 challenge propagation: looked";
    assert_eq!((*since, why.to_string()), (made, format!("a.example: {reason}")));
    assert_eq!(*overdue, hour.begun > made, "{}", hour.begun);
    let orders = scene.orders();
    let order = orders.last().unwrap();
    assert_eq!((order.creation_timestamp, order.expires), (made, Some(made + LIFE)));
    let challenge = &order.challenges[0];
    assert_eq!((&order.state, challenge.phase()), (&OrderState::Pending, Some(Phase::Queued)));
    assert_eq!(challenge.reason, reason);
    // The listener went with the run; it was out from this run on.
    let presented = challenge.presented.at.unwrap();
    assert!(hour.begun <= presented && presented <= scene.clock.now(), "{presented}");
    let page = page(scene);
    let expires = (made + LIFE).strftime("%Y-%m-%d %H:%M UTC").to_string();
    let since = format!("Created: {}", made.strftime("%Y-%m-%d %H:%M UTC"));
    let told = "HTTP-01 validation of a.example";
    for words in [&order.name, told, &since, &expires, "a.example", "Issuing"] {
        assert!(page.contains(words), "{words} is not in:\n{page}");
    }
}

/// What `certctl status web` shows.
fn page(scene: &Scene) -> String {
    let view = CertificateView {
        key: scene.task.certificate.metadata.key(),
        certificate: Some(Certificate::clone(&scene.task.certificate)),
        issuer: Some(Issuer::clone(&scene.task.issuers.first)),
        account: None,
        record: scene.record(),
        orders: scene.orders(),
        secret_path: "/etc/certctl/live/default/web-tls".into(),
        ..CertificateView::unknown(scene.task.certificate.metadata.key())
    };
    let look = words::Scene {
        now: scene.clock.now(),
        zone: TimeZone::UTC,
        color: false,
        format: Format::Text,
        width: None,
    };
    status::certificates(&[view], status::Extent::Whole, &look).unwrap()
}

/// Two days of hourly runs without a terminal.
#[test]
fn a_failure_and_the_wait_after_it_are_told_once_a_day() {
    let scene = Scene::new(&["a.example"]);
    scene.ca.borrow_mut().refused.insert(identifier("a.example"));
    let mut before = scene.memory.borrow().documents.clone();
    let hours = hourly(&scene, 48, false, |hour| {
        let now = scene.memory.borrow().documents.clone();
        if matches!(hour.ending, Ending::Deferred { .. }) {
            // What tells nothing writes nothing.
            assert_eq!(now == before, !hour.is_new, "{}", hour.begun);
        }
        before = now;
    });
    let told = |deferred: bool| -> Vec<usize> {
        let those = hours.iter().enumerate().filter(|(_, hour)| {
            hour.is_new && deferred == matches!(hour.ending, Ending::Deferred { .. })
        });
        those.map(|(number, _)| number).collect()
    };
    let failures: Vec<usize> = one_order_after_each_wait(&hours);
    assert_eq!(failures, [0, 2, 5, 10, 19, 36]);
    // It is new once; a day later there is a word of it again, whatever the run is at.
    assert_eq!((told(false), told(true)), (vec![0], vec![25]));
}

#[test]
fn a_wrong_certificate_is_a_failure_and_leaves_the_old_pair_live() {
    let wrongs = [
        (Wrong::Key, "a public key that does not match the CSR"),
        (Wrong::Names, "other names than requested: missing a.example; unexpected other.example"),
        (Wrong::Expired, "an already expired certificate"),
        (Wrong::NotYetValid, "a certificate that is not valid yet"),
        (Wrong::Chain, "a broken chain"),
    ];
    for (wrong, words) in wrongs {
        let scene = Scene::new(&["a.example"]);
        assert!(matches!(scene.run_freely(), Ending::Issued(_)));
        let old = scene.live();
        scene.ca.borrow_mut().wrong = Some(wrong);
        scene.wait_for_renewal();
        let mut last_failure = None;
        let hours = hourly(&scene, 100, false, |hour| {
            assert_eq!(scene.live(), old, "{wrong:?}");
            let record = scene.record().unwrap();
            if let Ending::Failed { failure, attempts, .. } = &hour.ending {
                assert_eq!(failure.class, FailureClass::Ca, "{wrong:?}");
                assert!(failure.to_string().contains(words), "{wrong:?}: {failure}");
                assert_eq!(record.status.failed_issuance_attempts, *attempts);
                last_failure = Some(hour.begun);
            }
            let failed = record.status.last_failure_time.unwrap();
            let since = last_failure.unwrap().duration_until(failed);
            assert!((SignedDuration::ZERO..=SignedDuration::from_mins(1)).contains(&since));
            assert_eq!(record.status.revision, Some(1));
        });
        let attempts = one_order_after_each_wait(&hours);
        assert_eq!(attempts, [0, 2, 5, 10, 19, 36, 69], "{wrong:?}");
        for number in attempts {
            assert_eq!(hours[number].asks("Download"), 1, "{wrong:?}");
            assert_eq!(hours[number].asks("Publish"), 0, "{wrong:?}");
        }
        // Once the CA has come to its senses, the next attempt ends it.
        scene.ca.borrow_mut().wrong = None;
        scene.clock.set(scene.clock.now() + HOUR * 32);
        assert!(matches!(scene.run_freely(), Ending::Issued(_)), "{wrong:?}");
        let state = scene.state();
        assert_eq!((state.revision, state.live, state.attempts), (Some(2), Some(2), None));
        assert_ne!(scene.live(), old, "{wrong:?}");
    }
}
