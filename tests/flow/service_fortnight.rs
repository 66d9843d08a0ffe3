//! Promise: in two weeks of `run`, killed at random, no renewal is missed, its memory does not grow,
//! and what it leaves is what the same runs by cron leave.
//!
//! The clock of certctl and of the CA is moved half a day at a time. When the loop is killed, and
//! after which answer of the CA, is drawn from a seed, which a failure prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{Fault, Rule};
use certctl::resource::Reason;
use certctl::store::atomic;
use jiff::{SignedDuration, Timestamp, Unit};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::service::{answer, health_in};
use crate::faketime;
use crate::support::{CertificateYaml, Run, World, finish, until};

const DAY: i64 = 86_400;
/// Of the certificates of this CA.
const LIFE: u64 = 6;
/// Each certificate, after how many days it is renewed, and with which field.
const CERTIFICATES: [(&str, i64, &str); 3] =
    [("web", 4, ""), ("shop", 5, "renewBefore: 24h"), ("api", 3, "renewBefore: 72h")];
/// The half days of two weeks, and the one of a week.
const HALF_DAYS: i64 = 28;
const A_WEEK: i64 = 14;
const SEEDS: [u64; 3] = [1, 2, 3];

/// A world whose clock is ahead.
struct Ahead {
    world: World,
    seconds: Arc<AtomicI64>,
}

impl Ahead {
    fn new() -> Self {
        let seconds = Arc::new(AtomicI64::new(0));
        let ahead = Arc::clone(&seconds);
        let world = World::with(|options| {
            options.clock = Arc::new(move || now(&ahead));
            options.leaf_lifetime = Duration::from_hours(24 * LIFE);
        });
        let certificates = CERTIFICATES.map(|(name, _, field)| {
            let certificate = CertificateYaml::new(name);
            if field.is_empty() { certificate } else { certificate.field(field) }
        });
        world.prepare(&certificates);
        let this = Self { world, seconds };
        this.move_to(0);
        this
    }

    /// Moves the clock, which goes on from there.
    fn move_to(&self, seconds: i64) {
        let file = self.world.path("clock");
        atomic::write(&file, format!("{seconds:+}\n").as_bytes(), 0o644).unwrap();
        self.seconds.store(seconds, Ordering::Relaxed);
    }

    /// certctl on this clock.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.world.command(words);
        faketime::load(&mut command)
            .env("FAKETIME_TIMESTAMP_FILE", self.world.path("clock"))
            .env("FAKETIME_NO_CACHE", "1");
        command
    }

    fn issue(&self) -> Run {
        finish(self.command(&["issue"]).spawn().unwrap())
    }

    fn start_loop(&self) -> Child {
        let socket = self.socket();
        self.command(&["run", "-q", "--every", "1s", "--serve", &socket]).spawn().unwrap()
    }

    fn socket(&self) -> String {
        self.world.path("http").display().to_string()
    }

    /// What `/healthz` says; nothing when nobody answers.
    fn health(&self) -> Value {
        let response = answer(Path::new(&self.socket()), "/healthz");
        health_in(&response).map_or(Value::Null, |(_, health)| health)
    }

    /// Whether a run has ended well that began at this time or later.
    fn has_run_since(&self, moved: Timestamp) -> bool {
        let run = &self.health()["lastRun"];
        let started = run["startedAt"].as_str().map(|text| text.parse::<Timestamp>().unwrap());
        started.is_some_and(|started| started >= moved) && run["exitCode"] == 0
    }

    /// Waits for the end of a run that began after the clock was moved.
    fn after_a_run(&self) {
        let moved = now(&self.seconds);
        until("a run has ended", || self.has_run_since(moved));
    }

    /// Moves the clock and kills the loop, with what it is doing then.
    fn killed_after(&self, seconds: i64, child: &mut Child, kill: Kill) {
        let answered = self.world.ca.requests();
        if let Kill::WithItsRun(requests) = kill {
            // The next one after these gets no answer, so that the run does not get further.
            let never = Rule::next(1, Fault::Delay(Duration::from_hours(24)));
            self.world.fault(never.skipping(requests));
        }
        self.move_to(seconds);
        let moved = now(&self.seconds);
        match kill {
            Kill::WithItsRun(requests) => {
                let enough = answered + usize::try_from(requests).unwrap();
                until("it has got its answers, or needs no more", || {
                    self.world.ca.requests() >= enough || self.has_run_since(moved)
                });
            }
            Kill::Alone => {
                until("a run is under way", || !self.health()["runningSince"].is_null());
            }
        }
        let runs = children(child);
        faketime::kill(child);
        for run in runs.into_iter().filter(|_| matches!(kill, Kill::WithItsRun(_))) {
            // It may just have ended.
            kill_process(run, Signal::KILL).ok();
        }
        self.world.ca.faults().clear();
    }

    /// How the certificates are: revision, why they are as they are, and in how many hours they are
    /// renewed.
    fn records(&self) -> Vec<(&'static str, u32, Reason, i64)> {
        let (state, now) = (self.world.state(), now(&self.seconds));
        let records = CERTIFICATES.map(|(name, _, _)| (name, state.record(name)));
        let records = records.map(|(name, record)| {
            let status = &record.status;
            assert_eq!(status.failed_issuance_attempts, None, "{name}");
            let left = status.renewal_time.unwrap().duration_since(now);
            let hours = left.round(Unit::Hour).unwrap().as_hours();
            (name, status.revision.unwrap(), state.readiness(name), hours)
        });
        records.to_vec()
    }
}

fn now(ahead: &AtomicI64) -> Timestamp {
    SystemClock.now() + SignedDuration::from_secs(ahead.load(Ordering::Relaxed))
}

/// A loop, which does not outlive a test that fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It has ended when the test succeeds.
        faketime::kill(&mut self.0);
    }
}

/// The processes that a loop has started.
fn children(child: &Child) -> Vec<Pid> {
    let pid = child.id();
    let runs = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let pids = runs.split_whitespace().map(|run| Pid::from_raw(run.parse().unwrap()).unwrap());
    pids.collect()
}

/// The memory of a process, in KiB.
fn memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// What is killed.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// The loop and its run, which has got this many answers of the CA, or all that it needs.
    WithItsRun(u32),
    /// The loop; its run goes on.
    Alone,
}

/// The kills of two weeks. The same seed draws the same.
struct Kills(u64);

impl Kills {
    fn below(&mut self, end: u32) -> u32 {
        // Knuth's MMIX; the high bits are the good ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % end
    }

    /// The next one: three of four half days have one.
    fn next(&mut self) -> Option<Kill> {
        match self.below(4) {
            0 => None,
            1 => Some(Kill::Alone),
            _ => Some(Kill::WithItsRun(self.below(MOST_REQUESTS))),
        }
    }
}

/// More than a renewal takes.
const MOST_REQUESTS: u32 = 12;

/// Whether a certificate is renewed after so many half days.
fn is_due(half_day: i64) -> bool {
    half_day > 0 && CERTIFICATES.iter().any(|(_, days, _)| half_day % (2 * days) == 0)
}

/// Goes through two weeks beside cron; `after` looks at the loop after each half day.
fn two_weeks(mut kill: impl FnMut(i64) -> Option<Kill>, mut after: impl FnMut(i64, &Child)) {
    let (service, cron) = (Ahead::new(), Ahead::new());
    let mut child = Killed(service.start_loop());
    for half_day in 0..=HALF_DAYS {
        let seconds = half_day * DAY / 2;
        if let Some(kill) = kill(half_day) {
            service.killed_after(seconds, &mut child.0, kill);
            child.0 = service.start_loop();
        }
        for world in [&service, &cron] {
            world.move_to(seconds);
        }
        service.after_a_run();
        cron.issue().ends_in(0);
        assert_eq!(service.records(), cron.records(), "after {half_day} half days");
        assert_eq!(service.world.state().tokens(), Vec::<PathBuf>::new());
        after(half_day, &child.0);
    }
    let revisions: Vec<_> =
        service.records().into_iter().map(|(name, revision, ..)| (name, revision)).collect();
    let expected =
        CERTIFICATES.map(|(name, days, _)| (name, u32::try_from(1 + 14 / days).unwrap()));
    assert_eq!(revisions, expected);
    kill_process(Pid::from_child(&child.0), Signal::TERM).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    service.issue().says_nothing();
    cron.issue().says_nothing();
}

#[test]
fn two_weeks_of_the_loop_are_two_weeks_of_cron_and_take_no_more_memory() {
    let mut before = None;
    let mut after = None;
    two_weeks(
        |_| None,
        |half_day, child| match half_day {
            A_WEEK => before = Some(memory(child)),
            HALF_DAYS => after = Some(memory(child)),
            _ => {}
        },
    );
    let (before, after) = (before.unwrap(), after.unwrap());
    assert!(after <= before + 1024, "{before} KiB after a week, {after} KiB after two");
}

#[test]
fn a_loop_that_is_killed_at_random_misses_no_renewal() {
    let killed_by = |seed| {
        let (mut kills, mut alone, mut with_runs) = (Kills(seed), 0, 0);
        let next = |half_day| {
            let kill = kills.next();
            match kill.filter(|_| is_due(half_day)) {
                Some(Kill::Alone) => alone += 1,
                Some(Kill::WithItsRun(_)) => with_runs += 1,
                None => {}
            }
            kill
        };
        two_weeks(next, |_, _| {});
        assert!(alone > 0 && with_runs > 3, "{alone} and {with_runs} kills of renewals");
    };
    thread::scope(|scope| {
        for seed in SEEDS {
            // A failure tells the name of its thread.
            let thread = thread::Builder::new().name(format!("seed {seed}"));
            thread.spawn_scoped(scope, move || killed_by(seed)).unwrap();
        }
    });
}
