//! `certctl check tls-alpn`: the addresses of a name, whether the listener can bind, and the certificate
//! that each address shows (RFC 8737 section 3).

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::known::{is_domain, known};
use super::page::{endings_of, format_of, lines, print};
use super::served::{
    ListenerItem, NOT_KNOWN, addresses_line, free_port, listener_line, named, other_port,
    verdict_line,
};
use crate::cli::error::CliError;
use crate::cli::exit::Ending;
use crate::cli::render::text::Text;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::cli::signal::cleaned_up_at_signal;
use crate::cli::words::fix;
use crate::resource::TlsAlpn01Report;
use crate::workspace::check::{PortError, TlsAlpnCheck};

/// `certctl check tls-alpn`.
#[derive(Debug, Args)]
pub struct CheckTlsAlpnArgs {
    /// The domain.
    #[arg(value_name = "DNSNAME")]
    pub name: String,
}

/// `certctl check tls-alpn`.
pub(super) fn check(args: &CheckTlsAlpnArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let format = format_of(shell, "check tls-alpn")?;
    let name = named(&args.name)?;
    on_one_thread(async {
        let known = known(shell, false).await?;
        is_domain(&name, "tls-alpn", &known)?;
        let check = cleaned_up_at_signal(TlsAlpnCheck::of(&known, &name)).await?;
        print(shell, format, page(&check), &document(&check))?;
        Ok(endings_of(check.failures()))
    })
}

fn page(check: &TlsAlpnCheck) -> Text {
    let mut page = vec![
        ("name", check.name.to_string()),
        ("addresses", addresses_line(&check.addresses)),
        ("listener", listener_line(&check.listener, &check.sharers)),
        ("verdict", verdict(check)),
    ];
    let has_passed = check.report.has_passed();
    if has_passed {
        page.push(("", NOT_KNOWN.to_owned()));
    }
    if !check.report.addresses.is_empty() {
        let report = &check.report;
        page.push(("queried", if has_passed { report.summary() } else { report.server() }));
        page.extend(report.details().into_iter().map(|line| ("", format!("  {line}"))));
    }
    page.extend(other_port("tls-alpn", "tlsalpn01", &check.name, check.port, PORT_OF_CAS));
    page.extend(way_out(check).map(|way_out| ("try", way_out)));
    lines(&page)
}

fn verdict(check: &TlsAlpnCheck) -> String {
    verdict_line(check.listener.is_ok(), check.report.cause(), check.addresses.as_ref().err())
}

/// Fix of the first problem; `None` without one.
fn way_out(check: &TlsAlpnCheck) -> Option<String> {
    match &check.listener {
        Err(PortError::Listen(error)) => Some(fix::worded(&free_port(PORT_OF_CAS, error))),
        Ok(_) | Err(PortError::Address(_)) if check.addresses.is_err() => {
            Some(format!("publish an A or AAAA record of {}", check.name))
        }
        Ok(_) | Err(PortError::Address(_)) => None,
    }
}

fn document(check: &TlsAlpnCheck) -> TlsAlpnDocument<'_> {
    TlsAlpnDocument {
        name: check.name.to_string(),
        addresses: check.addresses.as_deref().ok(),
        error: check.addresses.as_ref().err().map(ToString::to_string),
        listener: ListenerItem::of(Some(&check.listener), &check.sharers),
        served: check.listener.is_ok(),
        passed: check.report.has_passed(),
        report: &check.report,
    }
}

/// True if this host receives the correct response to a TLS-ALPN-01 challenge at the name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct TlsAlpnDocument<'a> {
    name: String,
    /// The addresses of the name.
    addresses: Option<&'a [String]>,
    /// Reason why the name has no addresses.
    error: Option<String>,
    listener: ListenerItem<'a>,
    /// True if certctl answered for the name during the check.
    served: bool,
    /// True if this host received the correct response; a CA's requests come from elsewhere.
    passed: bool,
    report: &'a TlsAlpn01Report,
}

/// RFC 8737 section 3.
const PORT_OF_CAS: u16 = 443;
