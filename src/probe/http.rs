//! The HTTP-01 self-check: one pass over every address of a name (RFC 8555 section 8.3).
//!
//! | an address answers | effect |
//! | --- | --- |
//! | 200 and the key authorization, trailing white space aside | correct |
//! | anything else | blocks |
//! | nothing | warns; blocks when no address answers |

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use reqwest::Url;

use super::Resolver;
use super::exchange::{Answer, MAX_BODY_BYTES, NoAnswer};
use super::fetch::{Trail, fetch};
use super::network::{is_of_this_host, own_address};
use super::targets::Targets;
use crate::resource::{
    AddressAnswer, AddressReport, CHALLENGE_PATH, Http01Report, Identifier, Settings, Token,
    WrongResponse,
};

/// The options of a self-check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// The port of the first request. A real CA uses 80; test CAs differ.
    pub port: u16,
    /// The timeout of one address, redirects included.
    pub timeout: Duration,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { port: HTTP_PORT, timeout: Duration::from_secs(10) }
    }
}

/// Requests the token from every address of `identifier` at once, and waits for all.
pub async fn check_http01(
    resolver: &Resolver,
    identifier: &Identifier,
    token: &Token,
    key_authorization: &str,
    options: CheckOptions,
) -> Http01Report {
    let url = url(identifier, token, options.port);
    let report = |addresses, dns| {
        Http01Report::judge(identifier.clone(), url.clone(), key_authorization, addresses, dns)
    };
    let parsed = match Url::parse(&url) {
        Ok(parsed) => parsed,
        Err(error) => return report(Vec::new(), Some(format!("{url:?}: {error}"))),
    };
    let targets = Targets::of(identifier, resolver).await;
    let check =
        |address| check_address(resolver, parsed.clone(), address, key_authorization, options);
    let reports = targets.each(check).await;
    let Targets { error, outlook, .. } = targets;
    Http01Report { outlook, ..report(reports, error) }
}

/// The report of a token that was put where these settings have it, with the commonest cause of a
/// failure: the name leads elsewhere; or, which no wait ends, the web server of this host does not serve
/// the webroot, or does not forward to the listener, or none listens on `port`.
pub fn explained_by_host(report: Http01Report, settings: &Settings, port: u16) -> Http01Report {
    let own = report.wrong_servers().find(|server| is_of_this_host(server.ip()));
    let listeners = settings.http01_listen.as_slice();
    let closed = || {
        let at = report.silent().map(|ip| SocketAddr::new(ip, port));
        at.into_iter().find(|server| is_closed_here(*server))
    };
    match (&settings.http01_webroot, own) {
        (Some(webroot), Some(server)) => return report.not_served(webroot, server),
        (None, Some(server)) if !listeners.is_empty() => {
            return report.not_forwarded(listeners, server);
        }
        (Some(webroot), None) => {
            if let Some(server) = closed() {
                return report.without_server(webroot, server);
            }
        }
        (None, _) => {}
    }
    let elsewhere = report.lacking().find(|address| !is_of_this_host(*address));
    match elsewhere {
        Some(address) => report.elsewhere(address, own_address(address)),
        None => report,
    }
}

/// Whether this host has the address, and no listener on its port: the kernel says so at once.
fn is_closed_here(server: SocketAddr) -> bool {
    is_of_this_host(server.ip())
        && TcpStream::connect_timeout(&server, OWN_CONNECT)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// How long at most a connection to this host itself may take.
const OWN_CONNECT: Duration = Duration::from_millis(100);

fn url(identifier: &Identifier, token: &Token, port: u16) -> String {
    let host = match identifier {
        Identifier::Dns(name) => name.base().to_owned(),
        Identifier::Ip(IpAddr::V4(v4)) => v4.to_string(),
        Identifier::Ip(IpAddr::V6(v6)) => format!("[{v6}]"),
    };
    let port = if port == HTTP_PORT { String::new() } else { format!(":{port}") };
    format!("http://{host}{port}{CHALLENGE_PATH}{token}")
}

async fn check_address(
    resolver: &Resolver,
    url: Url,
    address: IpAddr,
    key_authorization: &str,
    options: CheckOptions,
) -> AddressReport {
    let mut trail = Trail::default();
    let ports = [HTTP_PORT, HTTPS_PORT, options.port];
    let fetched =
        tokio::time::timeout(options.timeout, fetch(resolver, url, address, &ports, &mut trail));
    let outcome = match fetched.await {
        Ok(Ok(answer)) => {
            trail.warnings.extend(answer.changed_host.as_deref().map(changed_host));
            trail.warnings.extend(answer.is_of_stranger.then(|| OF_STRANGER.to_owned()));
            compare(&answer, key_authorization, !trail.redirects.is_empty())
        }
        Ok(Err(NoAnswer::Unreachable(why))) => AddressAnswer::Unreachable { why },
        Ok(Err(NoAnswer::Garbled(why))) => AddressAnswer::Broken { why },
        Err(_) => {
            let why = format!("no answer in {} s", options.timeout.as_secs_f32());
            if trail.redirects.is_empty() {
                AddressAnswer::Unreachable { why }
            } else {
                AddressAnswer::Broken { why }
            }
        }
    };
    AddressReport { address, outcome, redirects: trail.redirects, warnings: trail.warnings }
}

fn changed_host(received: &str) -> String {
    let received: String = received.chars().take(MAX_SHOWN_CHARS).collect();
    format!(
        "a proxy changed the Host header to {received} (`proxy_set_header Host $host;` in nginx)"
    )
}

/// What a redirect led to is not shown: it may be of a server that this host alone can reach.
fn compare(
    answer: &Answer,
    key_authorization: &str,
    is_redirected: bool,
) -> AddressAnswer<WrongResponse> {
    let is_right = answer.status == 200
        && answer.body.len() <= MAX_BODY_BYTES
        && answer.body.trim_ascii_end() == key_authorization.as_bytes();
    if is_right {
        return AddressAnswer::Correct;
    }
    let shown = if is_redirected { 0 } else { MAX_SHOWN_CHARS };
    let first_bytes = answer.body.escape_ascii().take(shown).map(char::from).collect();
    let (status, remote) = (answer.status, answer.remote);
    AddressAnswer::Wrong(WrongResponse { status, first_bytes, remote })
}

const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;
const MAX_SHOWN_CHARS: usize = 120;
const OF_STRANGER: &str = "another certctl answered, which does not have this token: a run of another \
                           user or state directory, or certctl.service";

#[cfg(test)]
mod tests;
