//! A solver that is a program of the operator's, in `solvers.d`.
//!
//! A manifest only names it. With `groupName: certctl`, `solverName: exec` its
//! `config` is `command`, a file in `solvers.d/certctl` or `solvers.d`; `mode`; and `config`,
//! for the program. Any other pair is the program `solvers.d/<groupName>/<solverName>`, which gets
//! the webhook's `config`, so that a manifest for a cluster works unchanged.
//!
//! | mode | arguments | standard input |
//! | --- | --- | --- |
//! | `payload` (the default) | `present` or `cleanup` | cert-manager's ChallengePayload, JSON |
//! | `lego` | `present` or `cleanup`, the name with a trailing dot, the value | nothing |
//!
//! lego's RAW mode is not supported: it needs the challenge's token. In both modes the environment is
//! `PATH`, `HOME`, `LANG`, `TZ` and `CERTCTL_ACTION`, `CERTCTL_DOMAIN`, `CERTCTL_FQDN` and
//! `CERTCTL_ZONE` (with a trailing dot), `CERTCTL_VALUE`; the working directory is that of the
//! program. Exit code 0 is success; otherwise the last lines of standard error are the reason. Exit
//! code 75 means that an early retry may help, every other code that it will not.
//!
//! For one value, two runs of the program never overlap, not even when the first one is left from a
//! certctl that was killed: the caller of [`SolverProgram::run`] holds a lock, which the program inherits.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use std::path::Path;

use super::config::decoded;
use super::error::shown;
use super::payload::{Payload, rooted};
use super::{
    Action, Context, DnsProvider, Opened, ProviderError, ProviderFuture, SolverProgram, TxtRecord,
};
use crate::program::{INHERITED, Limits, Program, ProgramError, Run, Runner, is_component};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    command: String,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    config: Option<Value>,
}

/// `solverName: exec`.
pub(super) fn open_command(config: Option<&Value>, context: &Context<'_>) -> Opened {
    let none = Value::Object(Map::new());
    let settings: Settings = decoded(NAME, config.unwrap_or(&none))?;
    let mode = match settings.mode.as_deref() {
        None | Some("payload") => Mode::Payload,
        Some("lego") => Mode::Lego,
        Some(_) => return Err(fault("config.mode: use payload or lego".to_owned())),
    };
    let program = command_of(context.solvers_dir, &settings.command)?;
    Ok(Box::new(Exec::new(program, mode, settings.config.as_ref(), context)))
}

/// A solver of another group.
pub(super) fn open_solver(
    group: &str,
    solver: &str,
    config: Option<&Value>,
    context: &Context<'_>,
) -> Opened {
    let program = solver_program(context.solvers_dir, group, solver)?;
    Ok(Box::new(Exec::new(program, Mode::Payload, config, context)))
}

/// The input of the program and its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Payload,
    Lego,
}

/// See the module.
#[derive(Debug)]
struct Exec {
    program: Program,
    mode: Mode,
    payload: Payload,
    environment: Vec<(&'static str, String)>,
    limits: Limits,
}

impl Exec {
    fn new(program: Program, mode: Mode, config: Option<&Value>, context: &Context<'_>) -> Self {
        let inherited = INHERITED.iter().filter_map(|name| {
            let value = (context.environment)(name);
            value.map(|value| (*name, value))
        });
        let payload = Payload::new(context, config);
        Self { program, mode, payload, environment: inherited.collect(), limits: LIMITS }
    }

    async fn act(
        &self,
        action: Action,
        record: &TxtRecord,
        lock: Option<&File>,
    ) -> Result<(), ProviderError> {
        self.program.check(Runner::Us).map_err(ProviderError::Program)?;
        let (name, zone) = (rooted(&record.name), rooted(&record.zone));
        let mut arguments = vec![action.in_arguments().to_owned()];
        let mut input = Vec::new();
        match self.mode {
            Mode::Payload => {
                input = self.payload.of(action, record).0.to_string().into_bytes();
                input.push(b'\n');
            }
            Mode::Lego => arguments.extend([name.clone(), record.value.clone()]),
        }
        let mut environment = self.environment.clone();
        environment.extend([
            ("CERTCTL_ACTION", action.in_arguments().to_owned()),
            ("CERTCTL_DOMAIN", record.domain.clone()),
            ("CERTCTL_FQDN", name),
            ("CERTCTL_ZONE", zone),
            ("CERTCTL_VALUE", record.value.clone()),
        ]);
        let as_root = false;
        let run = Run { program: &self.program, arguments, environment, input, lock, as_root };
        run.to_the_end(&self.limits).await.map_err(ended)
    }
}

impl DnsProvider for Exec {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(self.act(Action::Present, record, None))
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(self.act(Action::CleanUp, record, None))
    }

    fn as_program(&self) -> Option<&dyn SolverProgram> {
        Some(self)
    }

    /// No read-only operation exists, so the check does not run the program.
    fn check<'a>(&'a self, _name: &'a str, _zone: &'a str) -> ProviderFuture<'a, String> {
        Box::pin(async move {
            self.program.check(Runner::Us).map_err(ProviderError::Program)?;
            let name = &self.program;
            Ok(format!(
                "exec: {name} is executable; its permissions at the DNS provider are unknown"
            ))
        })
    }
}

impl SolverProgram for Exec {
    fn limit(&self) -> Duration {
        self.limits.time
    }

    fn run<'a>(
        &'a self,
        action: Action,
        record: &'a TxtRecord,
        lock: Option<&'a File>,
    ) -> ProviderFuture<'a> {
        Box::pin(self.act(action, record, lock))
    }
}

impl fmt::Display for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.fmt(f)
    }
}

/// `solvers.d/certctl/<command>`, or `solvers.d/<command>`.
fn command_of(solvers: &Path, command: &str) -> Result<Program, ProviderError> {
    let name = component("config.command", command)?;
    let own = ["certctl", name];
    for parts in [&own[..], &[name]] {
        if Program::is_there(solvers, PLACE, parts).map_err(ProviderError::Program)? {
            return find(solvers, parts);
        }
    }
    let solvers = solvers.display();
    Err(fault(format_args!("there is neither {solvers}/certctl/{name} nor {solvers}/{name}")))
}

/// `solvers.d/<group>/<solver>`.
fn solver_program(solvers: &Path, group: &str, solver: &str) -> Result<Program, ProviderError> {
    find(solvers, &[component("groupName", group)?, component("solverName", solver)?])
}

fn find(solvers: &Path, parts: &[&str]) -> Result<Program, ProviderError> {
    Program::find(solvers, PLACE, parts, Runner::Us).map_err(ProviderError::Program)
}

/// One path component: no `/`, no `..`, no leading `.` or `-`.
fn component<'a>(field: &str, text: &'a str) -> Result<&'a str, ProviderError> {
    is_component(text).then_some(text).ok_or_else(|| {
        let text = if text.is_empty() { String::new() } else { shown(text) };
        fault(format_args!(
            "{field}: `{text}` is not the name of a file in solvers.d, made of letters, digits, \
             '-', '_' and '.'"
        ))
    })
}

fn ended(error: ProgramError) -> ProviderError {
    match error {
        ProgramError::Unusable { reason } => fault(reason),
        ProgramError::Stopped { program, seconds, output } => ProviderError::Unfinished {
            service: program,
            reason: format!("stopped after {seconds} s: {output}"),
        },
        // Another process or the kernel sent the signal, for example when memory ran out.
        ProgramError::Failed { program, status, output } if status.starts_with(EXIT_CODE) => {
            match status.as_str() {
                TEMPORARY => ProviderError::Unfinished {
                    service: program,
                    reason: format!("{status}: {output}"),
                },
                _ => ProviderError::Broken { program, status, reason: output },
            }
        }
        ProgramError::Failed { program, status, output } => {
            ProviderError::Refused { service: program, status, reason: output }
        }
    }
}

fn fault(reason: impl fmt::Display) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason: reason.to_string() }
}

const EXIT_CODE: &str = "exit code ";
/// `EX_TEMPFAIL` of sysexits.h.
const TEMPORARY: &str = "exit code 75";
const NAME: &str = "exec";
const PLACE: &str = "solvers.d";
const LIMITS: Limits = Limits::within(Duration::from_mins(1));
