//! `certctl check`: diagnosis of what issuing needs from the network.
//!
//! Contract: nothing is changed and nothing decided. What is off is shown on stdout, and the exit
//! code is that which an issuance would end with, as things are: 4 when the name could not be
//! proven, 5 when the CA could not be used, 3 when something here must be mended first.

mod account;
mod acme;
mod dns;
mod dns_issuer;
mod http;
mod known;
mod names;

use serde_json::Value;

use super::args::{CheckVerb, Format};
use super::error::CliError;
use super::exit::{self, ExitCode};
use super::output::escape;
use super::shell::Shell;
use super::yaml;
use crate::resource::FailureClass;

/// `certctl check`.
pub(crate) fn check(verb: &CheckVerb, shell: &mut Shell) -> Result<ExitCode, CliError> {
    match verb {
        CheckVerb::Acme(args) => acme::check(args, shell),
        CheckVerb::Dns(args) => dns::check(args, shell),
        CheckVerb::Http(args) => http::check(args, shell),
    }
}

/// The format, when it is one that `verb` has.
fn format_of(shell: &Shell, verb: &str) -> Result<Format, CliError> {
    match shell.global.format() {
        Format::Name | Format::Prometheus => {
            let message = format!("{verb} has no such format");
            Err(CliError::new(ExitCode::Usage, message).hinted("-o json"))
        }
        format @ (Format::Text | Format::Wide | Format::Json | Format::Yaml) => Ok(format),
    }
}

/// What is printed: a page for people, a value for programs.
fn written(format: Format, page: &str, value: &Value) -> Result<String, CliError> {
    match format {
        Format::Json => Ok(format!("{value:#}\n")),
        Format::Yaml => yaml::document(value),
        Format::Text | Format::Wide | Format::Name | Format::Prometheus => Ok(page.to_owned()),
    }
}

/// The exit code for what was found to be off.
fn code_of(troubles: Vec<FailureClass>) -> ExitCode {
    exit::of_run(troubles.into_iter().map(exit::Ending::Failed), false)
}

/// A line for each label; further lines of a value stand below it.
fn lines(lines: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (label, value) in lines {
        let mut label = format!("{label}:");
        for part in value.lines() {
            text = format!("{text}{label:<12}{}\n", escape(part));
            label.clear();
        }
    }
    text
}
