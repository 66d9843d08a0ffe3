//! `certctl check`: diagnosis of what issuing needs from the network.
//!
//! Contract: nothing is changed and nothing decided. What is off is shown on stdout, and the exit
//! code is that which an issuance would end with, as things are: 4 when the name could not be
//! proven, 5 when the CA could not be used, 3 when something here must be fixed first.

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
pub(super) use acme::AcmeItem;
pub(super) use dns::DnsDocument;
pub(super) use http::HttpDocument;

/// `certctl check`.
pub(crate) fn check(verb: &CheckVerb, shell: &mut Shell) -> Result<ExitCode, CliError> {
    match verb {
        CheckVerb::Acme(args) => acme::check(args, shell),
        CheckVerb::Dns(args) => dns::check(args, shell),
        CheckVerb::Http(args) => http::check(args, shell),
    }
}
