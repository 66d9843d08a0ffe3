//! Hosts and sessions that are stopped, and go on much later.

use std::io::{BufRead as _, BufReader, Write as _, stdin};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use certctl::store::{Documents as _, Key, Lease as _, Lock, StoreError};
use jiff::SignedDuration;
use rustix::process::{Pid, Signal, kill_process};

use super::server::{Server, has_ended, reached};
use super::{WAIT, web};
use crate::own_process::only;
use crate::pebble_support::block_on;
use crate::postgres_support::{Postgres, Settings};
use crate::support::until;

const SCHEMA: &str = "stopped";

fn lock() -> Lock {
    Lock::Certificate(web())
}

/// With leases that run out soon.
fn brief(mut settings: Settings) -> Settings {
    settings.lasting = SignedDuration::from_millis(300);
    settings
}

/// The next line that another process has written for us.
fn line(from: &mut BufReader<ChildStdout>) -> String {
    let mut lines = from.lines().map(Result::unwrap);
    let line = lines.find(|line| line.starts_with(MARK)).unwrap();
    line.trim_start_matches(MARK).to_owned()
}

const MARK: &str = "holder: ";

#[test]
fn a_lease_whose_holder_is_stopped_goes_to_another_and_the_first_one_knows() {
    let server = Server::shared();
    let other = Postgres::open(brief(server.state(SCHEMA)));
    let (root, port) = server.identity();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(only(module_path!(), "hold")).arg("--nocapture");
    command.env("POSTGRES_TEST_ROOT", root).env("POSTGRES_TEST_PORT", port.to_string());
    let mut holder: Child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(holder.stdout.take().unwrap());
    assert_eq!(line(&mut out), "has 1");

    let process = Pid::from_child(&holder);
    kill_process(process, Signal::STOP).unwrap();
    let lease = block_on(other.lease(&lock(), WAIT)).unwrap();
    assert_eq!(lease.epoch(), 2);
    kill_process(process, Signal::CONT).unwrap();
    holder.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    assert_eq!(line(&mut out), "is left true, renews Conflict");
    assert!(holder.wait().unwrap().success());
    // What the first one gave back was not the second one's.
    let mut lease = lease;
    block_on(lease.renew()).unwrap();
    assert!(lease.left() > SignedDuration::ZERO);
}

#[test]
#[ignore = "the other process of the test above"]
#[expect(clippy::print_stdout, reason = "the test above reads it")]
fn hold() {
    let Some(root) = std::env::var_os("POSTGRES_TEST_ROOT") else { return };
    let port = std::env::var_os("POSTGRES_TEST_PORT").unwrap().into_string().unwrap();
    let settings = brief(reached(root.to_str().unwrap(), port.parse().unwrap(), SCHEMA));
    let store = Postgres::open(settings);
    let mut lease = block_on(store.lease(&lock(), WAIT)).unwrap();
    println!("\n{MARK}has {}", lease.epoch());
    stdin().lines().next();
    let is_left = lease.left() <= SignedDuration::ZERO;
    let renewed = match block_on(lease.renew()) {
        Err(StoreError::Conflict { .. }) => "Conflict".to_owned(),
        other => format!("{other:?}"),
    };
    println!("\n{MARK}is left {is_left}, renews {renewed}");
}

/// The session that got a write goes on when all believe that it is over.
#[test]
fn a_write_that_got_no_answer_is_done_before_the_next_read_or_never() {
    let server = Server::shared();
    let mut settings = server.state("late");
    let other = Postgres::open(settings.clone());
    settings.patience = Duration::from_secs(1);
    let store = Postgres::open(settings);
    let key = Key::Certificate(web());
    let version = block_on(other.create(&key, b"first")).unwrap();
    let mut session = None;
    until("a session begins", || {
        session = block_on(store.process()).ok().and_then(Pid::from_raw);
        session.is_some()
    });
    let session = session.unwrap();
    kill_process(session, Signal::STOP).unwrap();
    let put = block_on(store.put_if(&key, b"late", &version));
    assert!(matches!(put, Err(StoreError::Unknown { .. })), "{put:?}");
    // What became of it cannot be known yet, and so nothing is read and nothing written.
    until("the session is waited for", || {
        let error = block_on(store.get(&key)).unwrap_err().to_string();
        error.contains("an earlier session has not ended")
    });
    let found = block_on(store.put_if(&key, b"never", &version)).unwrap_err();
    assert!(matches!(found, StoreError::Io { .. }), "{found}");
    let seen = block_on(other.get(&key)).unwrap().unwrap();
    assert_eq!(&**seen.bytes, b"first");
    kill_process(session, Signal::CONT).unwrap();
    let mut found = None;
    until("the session ends", || {
        found = block_on(store.get(&key)).ok();
        found.is_some()
    });
    assert!(has_ended(session));
    assert_eq!(block_on(other.get(&key)).unwrap(), found.unwrap());
}
