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
mod page;

use super::args::CheckVerb;
use super::error::CliError;
use super::exit::ExitCode;
use super::shell::Shell;
use super::targets::show;
use crate::workspace::check::Known;
pub(super) use account::{account_line, unused_key_line};
pub(super) use acme::{AcmeItem, clock_line, refusal};
pub(super) use dns::DnsDocument;
pub(super) use http::{HttpDocument, WAYS_OF_WEBROOT, ways_out};
pub(super) use page::format_of;

/// `certctl check`.
pub(crate) fn check(verb: &CheckVerb, shell: &mut Shell) -> Result<ExitCode, CliError> {
    match verb {
        CheckVerb::Acme(args) => acme::check(args, shell),
        CheckVerb::Dns(args) => dns::check(args, shell),
        CheckVerb::Http(args) => http::check(args, shell),
    }
}

/// The manifests, and the state where it can be read; prints the errors of the manifests only when
/// `reports`.
pub(super) async fn known(shell: &mut Shell, reports: bool) -> Result<Known, CliError> {
    let path = shell.environment.state_dir(shell.global.state_dir.as_deref());
    let path = path.map(|found| found.path).unwrap_or_default();
    let known = Known::read(shell.settings_at(path)?).await?;
    if reports {
        show(shell, &known.targets.loaded);
    }
    Ok(known)
}
