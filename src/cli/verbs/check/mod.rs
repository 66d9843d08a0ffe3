//! `certctl check`: diagnoses DNS, HTTP, the CA and the reports of failures.
//!
//! Contract: writes nothing but the test file in a webroot, which it removes. Errors are printed on stdout;
//! the exit code is that of an issuance now: 4 when validation would fail, 5 when the CA cannot be used, 6
//! when a report fails, 3 when something on this host must be fixed first.

mod account;
mod acme;
mod alerts;
mod dns;
mod dns_issuer;
mod http;
mod known;
mod page;
mod served;
mod tls_alpn;

use clap::Subcommand;

use crate::cli::error::CliError;
use crate::cli::exit::Ending;
use crate::cli::shell::Shell;
use crate::cli::verb::VerbArgs;
pub(in crate::cli) use account::{account_line, unused_key_line};
pub(in crate::cli) use acme::{AcmeItem, clock_line, refusal, roots_end};
pub(in crate::cli) use alerts::AlertsDocument;
pub(in crate::cli) use dns::DnsDocument;
pub(in crate::cli) use http::{HttpDocument, Trial, Tried, trial_in_run, trials, way_out_of};
pub(in crate::cli) use known::known;
pub(in crate::cli) use page::format_of;
pub(in crate::cli) use tls_alpn::TlsAlpnDocument;

/// Check DNS, HTTP, the CA or the reports of failures.
#[derive(Debug, Subcommand)]
pub enum CheckVerb {
    /// Check the CA of an issuer, and whether the Issuer matches it.
    ///
    /// It checks directory, trust, clock, terms, external account binding, profile, CAA identities
    /// and the account. It creates no account. Without a name, it checks all issuers.
    Acme(acme::CheckAcmeArgs),
    /// Report a test failure, to check that you are told of real ones.
    ///
    /// It runs the hook on-failure as a run does, and requests the URL of `ping` with /fail. It neither
    /// reads nor writes the state.
    #[command(alias = "alert")]
    Alerts,
    /// Check the zone, the TXT record of a DNS-01 challenge and the CAA records.
    ///
    /// It queries the name servers of the self-check: those of the zone, those of the solver, or with
    /// --dns01-recursive-nameservers-only the resolvers.
    ///
    /// If a Certificate has the name, it also checks whether its CA may issue, and whether the DNS
    /// provider's credentials can read the zone.
    Dns(dns::CheckDnsArgs),
    /// Check that a CA could reach this host for NAME over HTTP.
    ///
    /// It shows the addresses of NAME, the program that listens on the port, and the responses. If the
    /// port is free, certctl serves a test token during the check. With a webroot, it writes a test
    /// file there and removes it afterwards.
    Http(http::CheckHttpArgs),
    /// Check that a CA could reach this host for NAME over TLS (TLS-ALPN-01).
    ///
    /// It shows the addresses of NAME, the program that listens on the port, and the certificates that
    /// are shown there. If the port is free, certctl answers for NAME during the check.
    TlsAlpn(tls_alpn::CheckTlsAlpnArgs),
}

impl VerbArgs for CheckVerb {
    fn acts_as_owner(&self, has_files: bool) -> bool {
        !has_files
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        match self {
            Self::Acme(args) => acme::check(args, shell),
            Self::Alerts => alerts::check(shell),
            Self::Dns(args) => dns::check(args, shell),
            Self::Http(args) => http::check(args, shell),
            Self::TlsAlpn(args) => tls_alpn::check(args, shell),
        }
    }
}

/// `check dns` of a name, for another verb.
pub(in crate::cli) fn check_dns(name: &str, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    dns::check(&dns::CheckDnsArgs { name: name.to_owned() }, shell)
}
