//! Promise: the CA decides when a certificate is renewed (ARI, RFC 9773), and cannot do harm by it:
//! asked no more than it allows, beside all other work, and never believed so far that a renewal
//! comes later than without it, or twice.
//!
//! Hourly runs on a clock that moves only when all tasks wait.

#![expect(clippy::wildcard_enum_match_arm, reason = "what else comes ends the test")]

use std::rc::Rc;

use certctl::controller::{EffectError, Outcome, RenewalInformationSeen};
use certctl::engine::ports::{Clock as _, Key};
use certctl::engine::{Ended, Ending, Options, Task};
use certctl::pki;
use certctl::resource::{
    CaFailure, CaFault, Cause, EventType, Issuance, Problem, Reason, RenewalInformation,
};
use jiff::{SignedDuration, Timestamp};

use crate::fuse::Fuse;
use crate::stage::ca::{Answer, Suggests};
use crate::stage::scene::{Scene, options, task};
use crate::stage::world::Error;

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The answer with this window and Retry-After.
fn window(start: Timestamp, end: Timestamp, retry_after: SignedDuration) -> Outcome {
    Outcome::RenewalInformation(Box::new(RenewalInformationSeen {
        start,
        end,
        explanation_url: None,
        retry_after: Some(retry_after),
    }))
}

/// A certificate for nine days that was just issued by a CA that suggests this.
fn issued(suggests: impl Fn(usize, Timestamp) -> Answer + 'static) -> Scene {
    let scene = Scene::new(&["a.example"]);
    scene.ca.borrow_mut().certificate_life = DAY * 9;
    scene.ca.borrow_mut().suggests = Some(Box::new(suggests));
    assert!(matches!(scene.run_freely(), Ending::Issued(_)));
    assert_eq!(scene.ca.borrow().questions.len(), 1, "the run that issues asks");
    scene
}

fn after(scene: &Scene, wait: SignedDuration) {
    scene.clock.set(scene.clock.now() + wait);
}

fn live_id(scene: &Scene) -> String {
    let live = scene.live().unwrap();
    let pem = String::from_utf8(live.0["tls.crt"].to_vec()).unwrap();
    pki::leaf_facts(&pem).unwrap().certificate_id.unwrap()
}

fn known(scene: &Scene) -> RenewalInformation {
    scene.record().unwrap().status.acme.ari.unwrap()
}

fn issuances(scene: &Scene) -> Vec<Issuance> {
    let memory = scene.memory.borrow();
    memory.issuances.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn reasons(scene: &Scene, reason: Reason) -> Vec<(EventType, String)> {
    let memory = scene.memory.borrow();
    let events = memory.events.iter().filter(|(_, event)| event.reason == reason);
    events.map(|(_, event)| (event.kind, event.message.clone())).collect()
}

#[test]
fn a_window_that_was_over_at_the_issuance_is_renewed_by_the_next_run_and_once() {
    let scene = issued(|_, now| Ok(window(now - HOUR, now - HOUR / 2, HOUR)));
    let begun = scene.clock.now();
    let first = live_id(&scene);
    after(&scene, HOUR);
    assert!(matches!(scene.run_freely(), Ending::Issued(_)));
    let ca = scene.ca.borrow();
    assert_eq!((ca.questions.len(), &ca.replaced[..]), (2, &[None, Some(first.clone())][..]));
    assert_eq!(ca.questions[0].0, first);
    assert_eq!(ca.questions[1].0, live_id(&scene));
    drop(ca);
    assert_ne!(live_id(&scene), first);
    let exempt: Vec<bool> = issuances(&scene).iter().map(|line| line.exempt).collect();
    assert_eq!(exempt, [false, true]);
    let issuing = reasons(&scene, Reason::Issuing);
    let asks = "as the CA's renewal information (ARI) suggests";
    assert!(issuing.iter().any(|(_, message)| message.ends_with(asks)), "{issuing:?}");
    // It says the same of the next certificate, which is renewed at a third of its life.
    for hour in 1..70 {
        scene.clock.set(begun + HOUR * (hour + 1));
        assert!(matches!(scene.run_freely(), Ending::Unchanged { .. }), "{hour}");
    }
    assert!(known(&scene).follows_early_renewal);
    scene.clock.set(begun + HOUR * 74);
    assert!(matches!(scene.run_freely(), Ending::Issued(_)));
}

#[test]
fn a_window_beyond_two_thirds_is_waited_for_also_after_kills() {
    let start = "2026-01-02T00:00:00Z".parse::<Timestamp>().unwrap();
    let (from, to) = (start + DAY * 7, start + DAY * 8);
    let scene = issued(move |_, _| Ok(window(from, to, HOUR * 6)));
    let begun = scene.clock.now();
    after(&scene, HOUR);
    assert!(matches!(scene.run_freely(), Ending::Unchanged { .. }));
    let chosen = known(&scene).suggested_window.unwrap().renew_at;
    assert!(from <= chosen && chosen < to);
    assert_eq!(scene.record().unwrap().status.renewal_time, Some(chosen));
    let mut renewed = None;
    for hour in 2..9 * 24 {
        let now = begun + HOUR * hour;
        scene.clock.set(now);
        // Some runs are killed at one of their moments.
        if hour % 5 == 0 {
            scene.run(Fuse::at(usize::try_from(hour / 5 % 4).unwrap()));
        }
        if let Ending::Issued(_) = scene.run_freely() {
            renewed = Some(now);
            break;
        }
        assert_eq!(known(&scene).suggested_window.unwrap().renew_at, chosen);
    }
    let renewed = renewed.unwrap();
    assert!(chosen <= renewed && renewed < chosen + HOUR + HOUR / 60, "{chosen} {renewed}");
    assert_eq!(scene.ca.borrow().orders.len(), 2);
}

#[test]
fn a_run_that_is_killed_at_any_moment_of_it_renews_once() {
    let past = || issued(|_, now| Ok(window(now - HOUR, now - HOUR / 2, HOUR)));
    let undisturbed = past();
    after(&undisturbed, HOUR);
    let moments = undisturbed.run(Fuse::endless()).labels.len();
    assert!(moments > 10, "{moments}");
    for moment in 0..moments {
        let scene = past();
        after(&scene, HOUR);
        scene.run(Fuse::at(moment));
        for _ in 0..3 {
            scene.run_freely();
        }
        let state = scene.state();
        let found = (state.revision, state.certificates, state.attempts, state.owed);
        assert_eq!(found, (Some(2), 2, None, 0), "killed at {moment}");
    }
}

fn refused(fault: CaFault, status: u16) -> EffectError {
    let problem = Problem { status: Some(status), ..Problem::default() };
    EffectError::new(Cause::Ca(CaFailure {
        fault,
        url: "https://ca.test/renewal-info".to_owned(),
        problem: Some(Box::new(problem)),
        message: String::new(),
        clock_ahead: None,
    }))
}

/// What a CA may say that is no window for this certificate, by a number.
fn wrong_answers() -> Vec<(String, Suggests)> {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let mut wrong: Vec<(String, Suggests)> = Vec::new();
    let mut add = |what: &str, suggests: Suggests| wrong.push((what.to_owned(), suggests));
    for (fault, status) in [
        (CaFault::Gone, 404),
        (CaFault::Gone, 410),
        (CaFault::Refused, 400),
        (CaFault::Refused, 403),
        (CaFault::Refused, 429),
        (CaFault::ServerError, 500),
        (CaFault::ServerError, 502),
        (CaFault::ServerError, 503),
        (CaFault::ServerError, 504),
    ] {
        add(&status.to_string(), Box::new(move |_, _| Err(refused(fault, status))));
    }
    for fault in [
        CaFault::Unreachable,
        CaFault::UnknownIssuer,
        CaFault::Untimely,
        CaFault::Untrusted,
        CaFault::Unusable,
    ] {
        let error = move || EffectError::new(Cause::ca(fault, "no"));
        add(&format!("{fault:?}"), Box::new(move |_, _| Err(error())));
        let retry_after = Some(DAY * 365);
        let error = move || EffectError { retry_after, ..error() };
        add(&format!("{fault:?} for a year"), Box::new(move |_, _| Err(error())));
    }
    add("not offered", Box::new(|_, _| Ok(Outcome::NoRenewalInformation)));
    for (what, start, end) in [
        ("ends before it starts", "2026-01-09T00:00:00Z", "2026-01-08T00:00:00Z"),
        ("is empty", "2026-01-09T00:00:00Z", "2026-01-09T00:00:00Z"),
        ("ends after the certificate", "2026-01-09T00:00:00Z", "2026-02-12T00:00:00Z"),
        ("a year ahead", "2027-01-09T00:00:00Z", "2027-01-12T00:00:00Z"),
        ("at the end of time", "9999-01-01T00:00:00Z", "9999-12-30T00:00:00Z"),
        ("from the beginning to the end of time", "0000-01-01T00:00:00Z", "9999-12-30T00:00:00Z"),
        ("backwards in time", "9999-12-30T00:00:00Z", "0000-01-01T00:00:00Z"),
    ] {
        let (start, end) = (at(start), at(end));
        add(what, Box::new(move |_, _| Ok(window(start, end, HOUR))));
        let first = format!("{what}, and asked again only in a year");
        add(&first, Box::new(move |_, _| Ok(window(start, end, DAY * 365))));
    }
    wrong
}

#[test]
fn no_wrong_answer_makes_a_renewal_later_than_without_one_or_happen_twice() {
    let wrong = wrong_answers();
    assert!(wrong.len() >= 30, "{}", wrong.len());
    for (what, suggests) in wrong {
        let scene = issued(suggests);
        let begun = scene.clock.now();
        let mut renewed = Vec::new();
        // Two thirds of nine days are 144 hours.
        for hour in (1..=100).map(|run| run * 2) {
            scene.clock.set(begun + HOUR * hour);
            match scene.run_freely() {
                Ending::Issued(_) => renewed.push(hour),
                Ending::Unchanged { .. } => {}
                other => panic!("{what}: {other:?}"),
            }
        }
        assert_eq!(renewed, [144], "{what}");
        let ca = scene.ca.borrow();
        assert!(ca.questions.len() <= 200 / 6 + 2, "{what}");
        assert_eq!(ca.replaced.iter().filter(|replaced| replaced.is_some()).count(), 1, "{what}");
    }
}

#[test]
fn a_window_in_the_past_for_every_certificate_is_believed_once() {
    let (start, end) = ("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z");
    let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
    let scene = issued(move |_, _| Ok(window(start, end, HOUR)));
    let begun = scene.clock.now();
    let mut renewed = Vec::new();
    for hour in 1..=140 {
        scene.clock.set(begun + HOUR * hour);
        if let Ending::Issued(_) = scene.run_freely() {
            renewed.push(hour);
        }
    }
    assert_eq!(renewed, [1]);
}

#[test]
fn a_question_that_fails_after_a_window_leaves_the_earlier_of_the_two_times() {
    for (from, to, expected) in [(3, 4, 72..97), (7, 8, 144..145)] {
        let start = "2026-01-02T03:00:00Z".parse::<Timestamp>().unwrap();
        let (from, to) = (start + DAY * from, start + DAY * to);
        let scene = issued(move |number, _| match number {
            0 => Ok(window(from, to, HOUR)),
            _ => Err(refused(CaFault::ServerError, 503)),
        });
        let begun = scene.clock.now();
        let renewed = (1..=200).find(|hour| {
            scene.clock.set(begun + HOUR * *hour);
            matches!(scene.run_freely(), Ending::Issued(_))
        });
        assert!(expected.contains(&renewed.unwrap()), "{renewed:?}");
    }
}

#[test]
fn a_refused_replaces_is_left_out_in_the_same_run() {
    let scene = issued(|_, now| Ok(window(now - HOUR, now - HOUR / 2, HOUR)));
    scene.ca.borrow_mut().refuses_replaces = true;
    let first = live_id(&scene);
    after(&scene, HOUR);
    assert!(matches!(scene.run_freely(), Ending::Issued(_)));
    assert_eq!(scene.ca.borrow().replaced, [None, Some(first), None]);
    let state = scene.state();
    assert_eq!((state.revision, state.attempts), (Some(2), None));
    // The CA's limits apply to it.
    assert!(issuances(&scene).iter().all(|line| !line.exempt));
    let mut found = reasons(&scene, Reason::Failed);
    found.retain(|(_, message)| message.contains("replaces"));
    assert!(
        matches!(&found[..], [(EventType::Warning, message)] if message.contains("alreadyReplaced")),
        "{found:?}"
    );
}

/// Many certificates in a state, and the run over them.
struct Host {
    scene: Scene,
    tasks: Vec<Task>,
}

impl Host {
    fn new(certificates: usize, suggests: Suggests) -> Self {
        let scene = Scene::new(&["a.example"]);
        scene.ca.borrow_mut().suggests = Some(suggests);
        let name = |number: usize| (format!("c{number}"), format!("c{number}.example"));
        let names = (0..certificates).map(name);
        let tasks = names.map(|(name, dns)| task(&name, &[&dns])).collect();
        let host = Self { scene, tasks };
        assert!(host.run().iter().all(|end| matches!(end.ending, Ending::Issued(_))));
        host
    }

    fn run(&self) -> Vec<Ended> {
        let options = Options { parallel: 16, ..options() };
        let fuse = Rc::new(Fuse::endless());
        let run = self.scene.run_tasks(&fuse, Error::default(), &self.tasks, options);
        run.0.unwrap()
    }

    fn written(&self) -> std::collections::BTreeMap<Key, (u64, Vec<u8>)> {
        self.scene.memory.borrow().documents.clone()
    }
}

#[test]
fn a_fortnight_of_hourly_runs_asks_once_in_a_retry_after_and_nothing_in_between() {
    let (start, end) = ("2026-03-03T00:00:00Z", "2026-03-05T00:00:00Z");
    let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
    let host = Host::new(20, Box::new(move |_, _| Ok(window(start, end, HOUR * 6))));
    let begun = host.scene.clock.now();
    let (mut idle, mut before) = (0, host.written());
    for hour in 1..=14 * 24 {
        host.scene.clock.set(begun + HOUR * hour);
        let asked = host.scene.ca.borrow().questions.len();
        let ended = host.run();
        assert!(ended.iter().all(|end| matches!(end.ending, Ending::Unchanged { .. })));
        let now = host.written();
        let is_idle = host.scene.ca.borrow().questions.len() == asked;
        assert_eq!(now == before, is_idle, "{hour}");
        idle += usize::from(is_idle);
        before = now;
    }
    let ca = host.scene.ca.borrow();
    let mut last = std::collections::BTreeMap::new();
    for (id, at) in &ca.questions {
        if let Some(before) = last.insert(id, *at) {
            assert!(*at >= before + HOUR * 6, "{id}: {before} {at}");
        }
    }
    assert_eq!((last.len(), ca.orders.len()), (20, 20));
    // About one in seven hours, since the runs are hourly and up to a quarter is added.
    let each = ca.questions.len() / 20;
    assert!((14 * 24 / 8..=14 * 24 / 6 + 1).contains(&each), "{each}");
    assert!(idle > 0, "in the first days some runs have nothing to ask");
}

#[test]
fn a_run_asks_about_so_many_at_most_and_those_first_that_wait_longest() {
    let error = || Err(EffectError::new(Cause::ca(CaFault::Unreachable, "no")));
    let host = Host::new(30, Box::new(move |_, _| error()));
    // The CA that does not answer is left alone, those in flight aside.
    assert_eq!(host.scene.ca.borrow().questions.len(), 8);
    after(&host.scene, HOUR);
    host.run();
    assert_eq!(host.scene.ca.borrow().questions.len(), 16);
    after(&host.scene, HOUR);
    host.run();
    let ca = host.scene.ca.borrow();
    let asked: std::collections::BTreeSet<_> = ca.questions.iter().map(|(id, _)| id).collect();
    assert_eq!(asked.len(), ca.questions.len(), "others are asked about next");
}

#[test]
fn hosts_that_share_a_certificate_choose_the_same_instant() {
    let (start, end) = ("2026-01-06T00:00:00Z", "2026-01-09T00:00:00Z");
    let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
    let scene = issued(move |_, _| Ok(window(start, end, HOUR)));
    after(&scene, HOUR);
    scene.run_freely();
    let chosen = known(&scene).suggested_window.unwrap().renew_at;
    // The other host has the same pair and asks at another time.
    let mut record = scene.record().unwrap();
    record.status.acme.ari = None;
    scene.put_record(&record);
    after(&scene, HOUR * 5);
    scene.run_freely();
    assert_eq!(known(&scene).suggested_window.unwrap().renew_at, chosen);
}
