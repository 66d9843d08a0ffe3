//! Promise: `run` does what cron would do, tells a host how it does, and ends when it is told to,
//! without losing anything.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use certctl::rehearsal::RequestKind;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{CertificateYaml, Run, World, finish, until};

/// `certctl run` in a world.
struct Service {
    /// `None` after its end.
    child: Option<Child>,
    place: Place,
}

/// Where it answers.
enum Place {
    Socket(PathBuf),
    Port(SocketAddr),
}

impl Service {
    /// Starts it with a Unix socket, and waits until it answers.
    fn start(world: &World, words: &[&str]) -> Self {
        let socket = world.path("http");
        let serve = socket.display().to_string();
        let words = [&["run", "--serve", &serve], words].concat();
        Self { child: Some(world.start_certctl(&words)), place: Place::Socket(socket) }.answering()
    }

    /// Starts it on a port that the system chooses, and waits until it answers.
    fn start_on_a_port(world: &World, words: &[&str]) -> Self {
        let words = [&["run", "--serve", "127.0.0.1:0"], words].concat();
        let mut child = world.start_certctl(&words);
        let said = first_line(child.stderr.as_mut().unwrap());
        let address = said.rsplit_once("/healthz and /metrics at http://").map(|(_, rest)| rest);
        let address = address.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
        Self { child: Some(child), place: Place::Port(address) }.answering()
    }

    fn answering(self) -> Self {
        until("it answers", || self.get("/nothing").starts_with("HTTP/1.1 404 "));
        self
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.child.as_ref().unwrap()), signal).unwrap();
    }

    /// The response to a request; nothing when nobody answers.
    fn get(&self, path: &str) -> String {
        match &self.place {
            Place::Socket(socket) => answer(socket, path),
            Place::Port(address) => answer_at(*address, path),
        }
    }

    /// What `/healthz` says, and with which status.
    fn health(&self) -> (u16, Value) {
        health_in(&self.get("/healthz")).unwrap()
    }

    /// Waits until no run is under way and one has ended since `before`, and returns that run.
    fn after(&self, before: &Value) -> Value {
        let mut last = Value::Null;
        until("a run has ended", || {
            last = self.health().1["lastRun"].clone();
            !last.is_null() && last != *before
        });
        last
    }

    /// Ends it, and returns what it said.
    fn end(mut self) -> Run {
        self.signal(Signal::TERM);
        finish(self.child.take().unwrap()).ends_in(0)
    }
}

/// It does not outlive a test that fails.
impl Drop for Service {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// The response of a Unix socket; nothing when nobody answers there.
pub(crate) fn answer(socket: &Path, path: &str) -> String {
    UnixStream::connect(socket).map(|stream| ask(stream, path)).unwrap_or_default()
}

/// The status and the body of a response of `/healthz`.
pub(crate) fn health_in(response: &str) -> Option<(u16, Value)> {
    let (head, body) = response.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, serde_json::from_str(body).ok()?))
}

fn ask(mut stream: impl Read + Write, path: &str) -> String {
    let mut response = String::new();
    // Whoever is there may be killed meanwhile.
    let asked = write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    drop(asked.and_then(|()| stream.read_to_string(&mut response)));
    response
}

/// The response of a port; nothing when nobody answers there.
fn answer_at(address: SocketAddr, path: &str) -> String {
    TcpStream::connect(address).map(|stream| ask(stream, path)).unwrap_or_default()
}

/// What listens at an address says of a token that nobody presented.
fn answer_of_listener(address: SocketAddr) -> String {
    answer_at(address, "/.well-known/acme-challenge/none")
}

/// The first line, and not a byte of the next one.
fn first_line(stream: &mut impl Read) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while stream.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        line.extend(byte);
    }
    String::from_utf8(line).unwrap()
}

/// It says that it is healthy, and has the metrics of `status`.
fn is_well(world: &World, service: &Service) {
    let (status, health) = service.health();
    assert_eq!((status, health["healthy"].as_bool()), (200, Some(true)));
    let metrics = service.get("/metrics");
    let (head, body) = metrics.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let status = world.run(&["status", "-o", "prometheus"]).stdout;
    assert_eq!(but_for_the_clock(body), but_for_the_clock(&status));
}

/// Metrics without the time at which they were written: a second may have passed.
fn but_for_the_clock(metrics: &str) -> Vec<&str> {
    let clock = "certmanager_clock_time_seconds_gauge ";
    let lines: Vec<&str> = metrics.lines().filter(|line| !line.starts_with(clock)).collect();
    assert_eq!(lines.len().saturating_add(1), metrics.lines().count(), "{metrics}");
    lines
}

#[test]
fn it_issues_at_once_and_a_hang_up_reads_the_manifests_again() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let service = Service::start(&world, &["--every", "1000h"]);
    let first = service.after(&Value::Null);
    assert_eq!((first["exitCode"].as_u64(), world.state().issuances()), (Some(0), 1));
    world.write("config/shop.yaml", &CertificateYaml::new("shop"));
    service.signal(Signal::HUP);
    let second = service.after(&first);
    assert_eq!((second["exitCode"].as_u64(), world.state().issuances()), (Some(0), 2));
    is_well(&world, &service);
    service.end().says("certctl issue runs every 1000h0m0s; /healthz and /metrics at ");
    assert!(!world.path("http").exists());
}

#[test]
fn health_and_metrics_are_served_on_a_loopback_port_as_well() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let service = Service::start_on_a_port(&world, &["--every", "1000h"]);
    let last = service.after(&Value::Null);
    assert_eq!((last["exitCode"].as_u64(), last["number"].as_u64()), (Some(0), Some(1)));
    is_well(&world, &service);
    // The address is taken.
    let Place::Port(address) = service.place else { panic!("it has a port") };
    let run = world.run(&["run", "--serve", &address.to_string()]).ends_in(3);
    run.says(&format!("--serve {address}: Address already in use"));
    service.end();
    assert_eq!(answer_at(address, "/healthz"), "");
}

#[test]
fn a_hang_up_during_a_run_begins_another_one_after_it() {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
    let gate = world.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let folder = world.path("").display().to_string();
    world.write_program("config/hooks.d/install", &format!("cd {folder}; : > runs; read _ < gate"));
    let service = Service::start(&world, &["--every", "1000h"]);
    until("the hook runs", || world.path("runs").exists());
    world.write("config/shop.yaml", &CertificateYaml::new("shop"));
    service.signal(Signal::HUP);
    assert_eq!(service.health().1["lastRun"], Value::Null);
    world.write("gate", "go on\n");
    until("two runs have ended", || service.health().1["lastRun"]["number"] == 2);
    assert_eq!(
        (service.health().1["lastRun"]["exitCode"].as_u64(), world.state().issuances()),
        (Some(0), 2)
    );
    service.end();
}

#[test]
fn it_runs_again_and_again_and_passes_its_flags_on() {
    let world = World::prepared(&[]);
    world.write("elsewhere.yaml", &CertificateYaml::new("web"));
    let words = ["--every", "1ms", "-f", "elsewhere.yaml", "--metrics-file", "metrics", "-q"];
    let service = Service::start(&world, &words);
    let mut last = Value::Null;
    for _ in 0..3 {
        last = service.after(&last);
        assert_eq!(last["exitCode"], 0);
    }
    assert_eq!((world.state().issuances(), world.path("metrics").exists()), (1, true));
    let said = service.end();
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""));
}

#[test]
fn a_run_that_is_ended_half_way_is_continued_by_the_next_one() {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
    let folder = world.path("").display().to_string();
    let script = format!("cd {folder}; echo >> started; [ -e go ] || exec sleep 600");
    world.write_program("config/hooks.d/install", &script);
    let service = Service::start(&world, &["--every", "1000h"]);
    // The file is there before the line is.
    let has_line = || fs::read_to_string(world.path("started")).is_ok_and(|text| text == "\n");
    until("the hook runs", has_line);
    assert_eq!(service.health().1["lastRun"], Value::Null);
    service.end();
    world.write("go", "");
    let service = Service::start(&world, &["--every", "1000h"]);
    let last = service.after(&Value::Null);
    assert_eq!((last["exitCode"].as_u64(), world.sent(RequestKind::NewOrder)), (Some(0), 1));
    assert_eq!(fs::read_to_string(world.path("started")).unwrap(), "\n\n");
    service.end();
}

#[test]
fn what_keeps_every_run_from_its_work_is_seen_by_the_health_check() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("state", "a file");
    let service = Service::start(&world, &["--every", "1000h"]);
    let last = service.after(&Value::Null);
    assert_eq!((last["exitCode"].as_u64(), service.health().0), (Some(7), 503));
    fs::remove_file(world.path("state")).unwrap();
    service.signal(Signal::HUP);
    let last = service.after(&last);
    assert_eq!((last["exitCode"].as_u64(), service.health().0), (Some(0), 200));
    service.end();
}

#[test]
fn the_port_is_held_between_two_runs_and_shared_with_one_by_hand() {
    // Without this folder no port is shared, and none is held.
    let has_runtime_folder = Path::new("/run/certctl").exists()
        || Path::new(&format!("/run/user/{}", rustix::process::geteuid().as_raw())).exists();
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let service = Service::start(&world, &["--every", "1000h"]);
    let first = service.after(&Value::Null);
    if has_runtime_folder {
        let is_held = || answer_of_listener(world.port.address()).starts_with("HTTP/1.1 404 ");
        until("the port is held", is_held);
    }
    for _ in 0..3 {
        world.run(&["renew", "web"]).ends_in(0);
    }
    assert_eq!(world.state().issuances(), 4);
    // Nothing of HTTP-01 is there any more: the port is free after the next run.
    fs::remove_file(world.path("config/web.yaml")).unwrap();
    service.signal(Signal::HUP);
    service.after(&first);
    until("the port is free", || answer_of_listener(world.port.address()).is_empty());
    service.end();
}

#[test]
fn what_it_cannot_do_is_refused_at_once() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    for (words, text) in [
        (["run", "--serve", "0.0.0.0:9402"], "other hosts could connect to this address"),
        (["run", "-f", "-"], "run reads the manifests before each run"),
        (["run", "--every", "0s"], "must be more than zero"),
    ] {
        world.run(&words).ends_in(2).says(text);
    }
    // A file that is no socket stays.
    world.write("http", "mine");
    let run = world.run(&["run", "--serve", "./http"]).ends_in(3);
    run.says("--serve ./http: Address already in use");
    assert_eq!(fs::read_to_string(world.path("http")).unwrap(), "mine");
    let mut in_a_hook = world.command(&["run"]);
    in_a_hook.env("CERTCTL_EVENT", "deploy");
    finish(in_a_hook.spawn().unwrap()).ends_in(2).says("must not call certctl run");
}

/// What starts the runs is a matter of `doctor`.
#[cfg(feature = "real-servers")]
#[test]
fn status_of_a_certificate_among_500_opens_at_most_80_files_and_no_process_or_crontab() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    for file in 0..4 {
        let of_file = (0..125).map(|one| CertificateYaml::new(&format!("site-{file}-{one}")));
        let manifests: Vec<String> = of_file.map(|one| one.to_string()).collect();
        world.write(&format!("config/{file}.yaml"), &manifests.join("---\n"));
    }
    world.run(&["issue", "web"]).ends_in(0);
    let trace = world.path("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=openat", "-o"]).arg(&trace);
    command.arg(env!("CARGO_BIN_EXE_certctl")).args(["status", "web"]);
    world.surround(&mut command);
    finish(command.spawn().expect("strace is installed")).ends_in(0);
    let opened = fs::read_to_string(trace).unwrap();
    assert!((20..=80).contains(&opened.lines().count()), "{opened}");
    let is_of_host = |line: &&str| {
        let is_process = line.contains("\"/proc/") && !line.contains("\"/proc/self/");
        is_process
            || ["cron", "/etc/nginx", "/etc/apache2", "systemd"].iter().any(|at| line.contains(at))
    };
    let opened: Vec<&str> = opened.lines().filter(is_of_host).collect();
    assert!(opened.is_empty(), "{opened:#?}");
}

#[test]
fn a_second_loop_on_one_state_is_told_of_the_first_once() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let first = Service::start(&world, &["--every", "1000h"]);
    let process = first.child.as_ref().unwrap().id();
    until("it has its turn", || world.path("state/locks/run").exists());
    let socket = world.path("second");
    let serve = socket.display().to_string();
    let second = world.start_certctl(&["run", "--every", "1ms", "--serve", &serve]);
    until("it has run three times", || {
        let health = health_in(&answer(&socket, "/healthz"));
        health.is_some_and(|(_, health)| health["lastRun"]["number"].as_u64() >= Some(3))
    });
    kill_process(Pid::from_child(&second), Signal::TERM).unwrap();
    let run = finish(second).ends_in(0);
    let said = format!("warning: another certctl run (process {process}) also uses ");
    assert_eq!(run.stderr.matches(&said).count(), 1, "{}", run.stderr);
    let run = first.end();
    assert!(!run.stderr.contains("another certctl run"), "{}", run.stderr);
}

#[test]
fn a_second_signal_ends_a_run_that_hangs() {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
    let folder = world.path("").display().to_string();
    // The run is the parent of its hook.
    let script = format!(
        "cd {folder}; kill -STOP $PPID; : > stopped; while [ -e stopped ]; do sleep 0.1; done"
    );
    world.write_program("config/hooks.d/install", &script);
    let mut service = Service::start(&world, &["--every", "1000h"]);
    until("the run is stopped", || world.path("stopped").exists());
    service.signal(Signal::TERM);
    assert_eq!(service.health().0, 200);
    // Two signals of which the first was not seen yet are one.
    until("it has ended", || {
        service.signal(Signal::TERM);
        service.child.as_mut().unwrap().try_wait().unwrap().is_some()
    });
    finish(service.child.take().unwrap()).ends_in(0).says("stopped; the next start continues");
}
