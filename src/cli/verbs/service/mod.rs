//! `certctl run`: what cron would do, for hosts and containers without cron: `certctl issue` now and
//! then at each interval.
//!
//! Contract: each run is a process of its own, with the flags of this one. So it keeps locks and
//! state as one of cron's does, its memory goes with it, one that crashes does not end the loop, and
//! after an upgrade the next run is of the new version. Between two runs the port of the HTTP-01
//! listener is held, if the manifests need it (`port.rs`).
//!
//! SIGTERM and SIGINT are passed on to a run, which stops cleanly and is continued by the next one; a
//! second one ends it at once, even if it hangs. SIGHUP begins a run now.

mod args;
mod http;
mod init;
mod port;
mod program;
mod record;
mod signals;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::cli::{
    CliError, Ending, ExitCode, Hint, Level, Message, Shell, VerbArgs, escape, on_one_thread,
};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::Source;
use crate::store::{Documents, LeaseOf, Lock, OpenMode, Store, StoreError};
use crate::workspace::{State, open_state};
use args::Endpoint;
pub(in crate::cli) use args::RunArgs;
use http::Server;
use port::Port;
use program::Program;
use record::{Outcome, Record};
use signals::{Requested, Signals};

impl VerbArgs for RunArgs {
    const WRITES_METRICS: bool = true;

    fn acts_as_owner(&self, _has_files: bool) -> bool {
        // Each of its runs is a process of its own.
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        shell.refuse_in_a_hook("run")?;
        if !shell.inherited.is_empty() {
            let message = "run opens its port itself and accepts no inherited socket";
            let error = CliError::usage(message);
            return Err(error.trying_any(&[("certctl timer print --systemd", "with systemd")]));
        }
        if shell.files()?.iter().any(|source| matches!(source, Source::Stdin(_))) {
            let message = "run reads the manifests before each run, and standard input only once";
            return Err(CliError::usage(message).hinted("name files or folders"));
        }
        let program = Program::of(&shell.matches)?;
        on_one_thread(async {
            if std::process::id() == 1 {
                return init::run(&program, self).await;
            }
            Box::pin(serve(self, program, shell)).await
        })
    }
}

async fn serve(
    args: &RunArgs,
    program: Program,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    let mut signals = Signals::new().map_err(|error| CliError::new(ExitCode::Failed, error))?;
    let longest = shell.settings().map_or(DEFAULT_TIMEOUT, |settings| settings.options.timeout);
    let record = Arc::new(Record::new(longest.saturating_add(GRACE)));
    let program = Arc::new(program);
    let server = match &args.serve {
        Some(endpoint) => Some(bind(endpoint, &program, &record)?),
        None => None,
    };
    let place = server.map_or(String::new(), |server| {
        let address = server.address.clone();
        tokio::spawn(server.serve());
        format!("; /healthz and /metrics at {}", escape(&address))
    });
    let every = args.every.0;
    print(shell, &format!("certctl issue runs every {}{place}", args.every));
    let mut port = Port::default();
    let mut turn = None;
    loop {
        let began = SystemClock.now();
        port.release();
        record.begins(began);
        let outcome = round(&program, &mut signals, &mut turn, shell).await;
        record.ends(SystemClock.now(), &outcome);
        if let Outcome::Stopped(code) = outcome {
            print(shell, "stopped; the next start continues this run");
            return Ok(vec![Ending::Like(code)]);
        }
        Box::pin(port.hold(shell)).await;
        take_turn(&mut turn, shell).await;
        let next = began.saturating_add(every).unwrap_or(Timestamp::MAX);
        let next = next.max(SystemClock.now().saturating_add(PAUSE).unwrap_or(Timestamp::MAX));
        record.waits(next);
        let is_requested = std::mem::take(&mut signals.is_pending);
        if !is_requested
            && let Requested::Stop(_) = wait(next, every.max(PAUSE), &mut signals).await
        {
            print(shell, "stopped");
            return Ok(Vec::new());
        }
    }
}

fn bind(
    endpoint: &Endpoint,
    program: &Arc<Program>,
    record: &Arc<Record>,
) -> Result<Server, CliError> {
    Server::bind(endpoint, Arc::clone(program), Arc::clone(record)).map_err(|error| {
        CliError::manifest(format!("--serve {}: {error}", escape(&endpoint.to_string())))
    })
}

/// This loop's turn at the state; else who has it.
type Turn = Result<LeaseOf<State>, String>;

/// Takes the turn, unless there is no state yet: a run makes it.
async fn take_turn(turn: &mut Option<Turn>, shell: &mut Shell) {
    let is_there = |shell: &Shell| shell.settings().is_ok_and(|of| of.state_dir.exists());
    if turn.is_none() && is_there(shell) {
        *turn = turn_of(shell).await;
    }
}

/// This loop's turn, after a warning if another loop has it: both work, and one of them is too many.
async fn turn_of(shell: &mut Shell) -> Option<Turn> {
    let settings = shell.settings().ok()?;
    let state = open_state(&settings.state_dir, OpenMode::ReadWrite).ok()?;
    let turn = match state.documents().lease(&Lock::Service, SignedDuration::ZERO).await {
        Ok(lease) => Ok(lease),
        Err(StoreError::Locked { holder, .. }) => Err(holder),
        Err(_) => return None,
    };
    if let Err(holder) = &turn {
        let shown = escape(&settings.state_dir.to_string_lossy()).into_owned();
        let warning = format!("another certctl run ({holder}) also uses {shown}");
        shell
            .output
            .print(&Message::advice(&warning, Some(&Hint::Text("stop one of them".to_owned()))));
    }
    Some(turn)
}

/// Says what the loop does, unless that is not wanted.
fn print(shell: &mut Shell, text: &str) {
    if shell.global.quiet == 0 {
        shell.output.talk(Level::Info, text);
    }
}

/// Runs `certctl issue` once.
async fn round(
    program: &Program,
    signals: &mut Signals,
    turn: &mut Option<Turn>,
    shell: &mut Shell,
) -> Outcome {
    take_turn(turn, shell).await;
    let mut child = match program.issue().spawn() {
        Ok(child) => child,
        Err(error) => {
            let text = format!("cannot run {}: {error}", escape(&program.name()));
            shell.output.talk(Level::Error, &text);
            return Outcome::NotRun(error.to_string());
        }
    };
    let mut stops: usize = 0;
    // When a run that was told twice to stop is killed; and that this was done.
    let (mut kill_at, mut is_killed) = (None, false);
    loop {
        tokio::select! {
            biased;
            ended = child.wait() => {
                let code = ended.map_or(ExitCode::Failed, program::code_of);
                return if stops > 0 { Outcome::Stopped(after_stop(code)) } else { Outcome::Ended(code) };
            }
            // Not even the kernel can end it: it waits for a device.
            () = reached(kill_at), if is_killed => return Outcome::Stopped(ExitCode::Failed),
            () = reached(kill_at) => {
                program::kill(&child);
                is_killed = true;
                kill_at = Some(Instant::now() + AT_ONCE);
            }
            request = signals.next() => match request {
                Requested::Stop(signal) => {
                    stops = stops.saturating_add(1);
                    program::signal(&child, signal);
                    if stops > 1 {
                        kill_at = kill_at.or(Some(Instant::now() + AT_ONCE));
                    }
                }
                // The next run begins as soon as this one has ended.
                Requested::Run => signals.is_pending = true,
            },
            () = tokio::time::sleep(TURN_AGAIN), if turn.is_none() => take_turn(turn, shell).await,
        }
    }
}

/// Interval of the looks at a first run, which may have made the state.
const TURN_AGAIN: Duration = Duration::from_secs(1);

/// Waits until then; for ever when there is no such time.
async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The code of this process when a signal has ended its last run: that is no failure.
fn after_stop(code: ExitCode) -> ExitCode {
    if matches!(code, ExitCode::Signal(_)) { ExitCode::Done } else { code }
}

/// Waits for this time, or for a signal. The clock is looked at again and again: it may be set, and
/// a machine that was asleep is late.
async fn wait(until: Timestamp, at_most: SignedDuration, signals: &mut Signals) -> Requested {
    let mut until = until;
    loop {
        let now = SystemClock.now();
        let left = until.duration_since(now);
        if left > at_most {
            // The clock was set back.
            until = now.saturating_add(at_most).unwrap_or(Timestamp::MAX);
        }
        if left <= SignedDuration::ZERO {
            return Requested::Run;
        }
        tokio::select! {
            () = tokio::time::sleep(left.min(LOOK_EVERY).unsigned_abs()) => {}
            request = signals.next() => return request,
        }
    }
}

/// Time that a run may take beyond `--timeout`, which is for one certificate: a run has many, and
/// their hooks.
const GRACE: SignedDuration = SignedDuration::from_hours(1);
/// The value of `--timeout` where the settings cannot be read.
const DEFAULT_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// Time that a run may take to end at once: it ends its hooks.
const AT_ONCE: Duration = Duration::from_secs(2);
/// Between two runs at least, whatever `--every` says.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// Interval of the looks at the clock.
const LOOK_EVERY: SignedDuration = SignedDuration::from_secs(30);
