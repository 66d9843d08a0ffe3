//! Shared by `check http` and `check tls-alpn`: the lines on a listener and on the servers of a name.

use std::fmt;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::resource::{DnsName, Fix};
use crate::workspace::check::{DnsError, Holder, ListenError, PortError};

/// The name of the argument; no wildcard.
pub(super) fn named(text: &str) -> Result<DnsName, CliError> {
    let usage = |message: &dyn fmt::Display| CliError::new(ExitCode::Usage, message);
    let name: DnsName = text.parse().map_err(|error| usage(&format_args!("{text:?}: {error}")))?;
    if name.is_wildcard() {
        return Err(usage(&format_args!("{name}: only DNS-01 validates a wildcard"))
            .trying(format_args!("certctl check dns {}", name.base())));
    }
    Ok(name)
}

pub(super) fn addresses_line(addresses: &Result<Vec<String>, DnsError>) -> String {
    match addresses {
        Ok(addresses) => addresses.join(", "),
        Err(why) => format!("none: {why}"),
    }
}

pub(super) fn listener_line(
    listener: &Result<Vec<SocketAddr>, PortError>,
    sharers: &[Holder],
) -> String {
    match listener {
        Ok(addresses) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let state = match descriptions(sharers).join(", ") {
                sharers if sharers.is_empty() => "free".to_owned(),
                sharers => format!("shared with {sharers}"),
            };
            format!("{}: {state}", addresses.join(", "))
        }
        Err(why) => why.to_string(),
    }
}

/// The verdict; `cause` is that of a failure, and `no_address` why no server was asked.
pub(super) fn verdict_line(
    is_served: bool,
    cause: Option<&str>,
    no_address: Option<&DnsError>,
) -> String {
    match (is_served, no_address, cause) {
        (true, Some(why), _) => format!("no server was queried: {why}"),
        (_, _, None) => CORRECT.to_owned(),
        (true, None, Some(cause)) => cause.to_owned(),
        (false, _, Some(_)) => {
            "unknown: certctl could not serve the test token; current responses below".to_owned()
        }
    }
}

/// The line on a port that is not the one of CAs; `setting` begins the name of its flag.
pub(super) fn other_port(
    verb: &str,
    setting: &str,
    name: &DnsName,
    port: u16,
    of_cas: u16,
) -> Option<(&'static str, String)> {
    let line = || {
        format!(
            "checked port {port} ({setting}-check-port), but a public CA connects to port {of_cas}; to \
             check that, run certctl check {verb} {name} --{setting}-check-port {of_cas}"
        )
    };
    if port == of_cas { None } else { Some(("port", line())) }
}

/// Fix for a listener that cannot listen.
pub(super) fn free_port(port: u16, error: &ListenError) -> Fix {
    Fix::FreePort { port, is_denied: matches!(error, ListenError::NoPermission { .. }) }
}

/// The listener of a check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListenerItem<'a> {
    /// The addresses that it can bind.
    addresses: Option<&'a [SocketAddr]>,
    /// Other certctl processes that listen there, and answer for its tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shared_with: Vec<String>,
    /// Reason why it cannot bind.
    error: Option<String>,
}

impl<'a> ListenerItem<'a> {
    pub(super) fn of(
        listener: Option<&'a Result<Vec<SocketAddr>, PortError>>,
        sharers: &[Holder],
    ) -> Self {
        Self {
            addresses: listener.and_then(|found| found.as_deref().ok()),
            shared_with: descriptions(sharers),
            error: listener.and_then(|found| Some(found.as_ref().err()?.to_string())),
        }
    }
}

fn descriptions(sharers: &[Holder]) -> Vec<String> {
    sharers.iter().map(ToString::to_string).collect()
}

pub(super) const CORRECT: &str = "this host receives the correct response";
/// Only this host has asked.
pub(super) const NOT_KNOWN: &str = "checked from this host only; a firewall, a NAT or the public \
    DNS can still block the CA";
