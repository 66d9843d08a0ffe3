//! Promise: in two weeks of `run`, killed now and then, no renewal is missed, its memory does not
//! grow, and what it leaves is what the same runs by cron leave.
//!
//! The clock of certctl and of the CA is moved half a day at a time.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::resource::Reason;
use certctl::store::atomic;
use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::service::{answer, health_in};
use crate::support::{CertificateYaml, Run, World, finish, until};

const DAY: i64 = 86_400;
/// Of the certificates of this CA.
const LIFE: u64 = 6;
/// Each certificate, after how many days it is renewed, and with which field.
const CERTIFICATES: [(&str, i64, &str); 3] =
    [("web", 4, ""), ("shop", 5, "renewBefore: 24h"), ("api", 3, "renewBefore: 72h")];
/// The half days after which the loop is killed: before, and with, the run that is under way.
const KILLS: [(i64, bool); 6] =
    [(1, false), (4, true), (7, true), (8, false), (9, true), (12, true)];
/// From here on it is not killed, and its memory is looked at.
const UNDISTURBED: i64 = 14;

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

    /// certctl on this clock. Only the wall clock is moved, so that its waits are as long as ever.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.world.command(words);
        command
            .env("LD_PRELOAD", "/usr/$LIB/faketime/libfaketime.so.1")
            .env("FAKETIME_TIMESTAMP_FILE", self.world.path("clock"))
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
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

    /// Waits for the end of a run that began after the clock was moved.
    fn after_a_run(&self) {
        let moved = now(&self.seconds);
        until("a run has ended", || {
            let run = &self.health()["lastRun"];
            let started = run["startedAt"].as_str().map(|text| text.parse::<Timestamp>().unwrap());
            started.is_some_and(|started| started >= moved) && run["exitCode"] == 0
        });
    }

    /// How the certificates are: revision, and why they are as they are.
    fn records(&self) -> Vec<(&'static str, u32, Reason)> {
        let state = self.world.state();
        let records = CERTIFICATES.map(|(name, _, _)| (name, state.record(name)));
        let records = records.map(|(name, record)| {
            let status = &record.status;
            assert_eq!(status.failed_issuance_attempts, None, "{name}");
            let reason = state.readiness(name);
            (name, status.revision.unwrap(), reason)
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
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Kills the loop at once, and the run that is under way when it `takes` that.
fn kill(child: &mut Child, takes: bool) {
    let pid = child.id();
    let runs = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    for run in runs.split_whitespace().filter(|_| takes) {
        let run = Pid::from_raw(run.parse().unwrap()).unwrap();
        // It may just have ended.
        kill_process(run, Signal::KILL).ok();
    }
}

/// The memory of a process, in KiB.
fn memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn two_weeks_of_the_loop_are_two_weeks_of_cron() {
    let (service, cron) = (Ahead::new(), Ahead::new());
    let mut child = Killed(service.start_loop());
    let mut before = None;
    for half_day in 0..=28 {
        let seconds = half_day * DAY / 2;
        for world in [&service, &cron] {
            world.move_to(seconds);
        }
        if let Some((_, takes_the_run)) = KILLS.iter().find(|(at, _)| *at == half_day) {
            until("a run is under way", || !service.health()["runningSince"].is_null());
            kill(&mut child.0, *takes_the_run);
            child.0 = service.start_loop();
        }
        service.after_a_run();
        cron.issue().ends_in(0);
        assert_eq!(service.records(), cron.records(), "after {half_day} half days");
        if half_day == UNDISTURBED {
            before = Some(memory(&child.0));
        }
    }
    let (before, after) = (before.unwrap(), memory(&child.0));
    assert!(after <= before + 1024, "{before} KiB after a week, {after} KiB after two");
    let revisions: Vec<_> =
        service.records().into_iter().map(|(name, rev, _)| (name, rev)).collect();
    let expected =
        CERTIFICATES.map(|(name, days, _)| (name, u32::try_from(1 + 14 / days).unwrap()));
    assert_eq!(revisions, expected);
    kill_process(Pid::from_child(&child.0), Signal::TERM).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    service.issue().says_nothing();
    cron.issue().says_nothing();
}
