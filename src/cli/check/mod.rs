//! `certctl check`: diagnoses DNS, HTTP and the CA.
//!
//! Contract: read-only. Errors are printed on stdout; the exit code is that of an issuance now: 4
//! when validation would fail, 5 when the CA cannot be used, 3 when something on this host must be
//! fixed first.

mod account;
mod acme;
mod dns;
mod dns_issuer;
mod http;
mod known;
mod names;
mod page;

use super::args::CheckVerb;
use super::error::CliError;
use super::exit::ExitCode;
use super::shell::Shell;
pub(super) use account::{AccountState, unused_key};
pub(super) use acme::{AcmeItem, Findings as AcmeFindings};
pub(super) use dns::DnsDocument;
pub(super) use http::{HttpDocument, Port, Server, WAYS_OF_WEBROOT, listening, ways_out};
pub(super) use known::Known;
pub(super) use page::format_of;

/// `certctl check`.
pub(crate) fn check(verb: &CheckVerb, shell: &mut Shell) -> Result<ExitCode, CliError> {
    match verb {
        CheckVerb::Acme(args) => acme::check(args, shell),
        CheckVerb::Dns(args) => dns::check(args, shell),
        CheckVerb::Http(args) => http::check(args, shell),
    }
}
