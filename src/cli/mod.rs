//! Talking to people: one file per verb, and the only code that prints.
//!
//! Contract: nothing here decides about certificates. Each verb turns arguments into calls of the
//! rooms below and their answers into text; `run` turns the result into an exit code. Only
//! `output` writes to stdout and stderr, only `environment` reads the environment.

pub mod args;
pub mod completion;
pub mod environment;
pub mod error;
pub mod exit;
pub mod explain;
pub mod log;
pub mod man;
pub mod output;
pub mod panic;
pub mod schema;
pub mod selector;
pub mod status;
pub mod target;
pub mod time;
pub mod version;
pub mod yaml;

mod account;
mod cause;
mod check;
mod forget;
mod inspect;
mod issue;
mod leftovers;
mod plan;
mod progress;
mod rehearse;
mod report;
mod revoke;
mod run;
mod scratch;
mod timer;
mod validate;
mod work;

use std::ffi::OsString;
use std::net::TcpListener;

use clap::builder::Resettable;
use clap::{CommandFactory, FromArgMatches};

use args::{Arguments, GlobalArgs, Verb};
use environment::Environment;
use error::CliError;
use exit::ExitCode;
use output::{Output, When};

use crate::solver::http01;

/// What every verb is given.
pub struct Shell {
    /// stdout and stderr.
    pub output: Output,
    /// Variables and directories.
    pub environment: Environment,
    /// The global flags.
    pub global: GlobalArgs,
    /// Sockets that were handed over, for HTTP-01.
    pub inherited: Vec<TcpListener>,
}

/// Runs the program with these arguments, the first being its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: Environment) -> ExitCode {
    let arguments = match parse(arguments, &environment) {
        Ok(arguments) => arguments,
        Err(refusal) => return refuse(&refusal, &environment),
    };
    let Arguments { global, verb, .. } = arguments;
    let output = Output::of_process(global.color, &environment);
    let mut shell = Shell { output, environment, global, inherited: Vec::new() };
    let sockets = http01::inherited().map_err(|error| CliError::new(ExitCode::Manifest, error));
    let ended = sockets.and_then(|sockets| {
        shell.inherited = sockets;
        start(verb, &mut shell)
    });
    match ended {
        Ok(code) => code,
        Err(error) => {
            shell.output.talk(&error.to_string());
            error.code
        }
    }
}

/// Reads the command line. A variable that is set but empty counts as unset.
fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<Arguments, clap::Error> {
    let command = Arguments::command().mut_args(|arg| {
        let is_blank = arg.get_env().is_some_and(|name| environment.is_blank(name));
        if is_blank { arg.env(Resettable::Reset) } else { arg }
    });
    Arguments::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

fn start(verb: Verb, shell: &mut Shell) -> Result<ExitCode, CliError> {
    log::start(&shell.global, &shell.environment, &shell.output)?;
    match verb {
        Verb::Version(args) => {
            let text = version::render(&args, &shell.global, &shell.environment)?;
            shell.output.data(&text)?;
        }
        Verb::Completion(args) => {
            let script = completion::script(args.shell);
            shell.output.data(&String::from_utf8_lossy(&script))?;
        }
        Verb::Man(args) => match &args.folder {
            Some(folder) => drop(man::write(folder)?),
            None => shell.output.data(&man::pages().remove(0).text)?,
        },
        Verb::Timer(verb) => return timer::timer(&verb, shell),
        Verb::Issue(args) => return issue::issue(&args, shell),
        Verb::Renew(args) => return issue::renew(&args, shell),
        Verb::Plan(args) => return plan::plan(&args, shell),
        Verb::Validate(args) => return validate::validate(&args, shell),
        Verb::Deploy(args) => return issue::deploy(&args, shell),
        Verb::Forget(args) => return forget::forget(&args, shell),
        Verb::Revoke(args) => return revoke::revoke(&args, shell),
        Verb::Status(args) => return status::status(&args, shell),
        Verb::Inspect(args) => return inspect::inspect(&args, shell),
        Verb::Check(verb) => return check::check(&verb, shell),
        Verb::Explain(args) => return explain::explain(&args, shell),
        Verb::Schema(args) => return schema::schema(&args, shell),
        Verb::Account(verb) => return account::account(&verb, shell),
        Verb::Rehearse(args) => return rehearse::rehearse(&args, shell),
    }
    Ok(ExitCode::Done)
}

/// Prints what clap has to say: help and version on stdout, a refusal on stderr.
fn refuse(refusal: &clap::Error, environment: &Environment) -> ExitCode {
    let mut output = Output::of_process(When::Auto, environment);
    let rendered = refusal.render();
    let text = |color: bool| {
        if color { rendered.ansi().to_string() } else { rendered.to_string() }
    };
    if refusal.use_stderr() {
        output.talk(&text(output.talk_has_color()));
        return ExitCode::Usage;
    }
    match output.data(&text(output.data_has_color())) {
        Ok(()) => ExitCode::Done,
        Err(error) => {
            let error = CliError::from(error);
            output.talk(&error.to_string());
            error.code
        }
    }
}
