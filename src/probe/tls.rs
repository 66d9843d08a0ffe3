//! The tls-alpn-01 self-check: one handshake with every address of a name (RFC 8737 section 3; of an
//! address RFC 8738 section 6).
//!
//! | an address answers | effect |
//! | --- | --- |
//! | with acme-tls/1 and the certificate of the challenge | correct |
//! | with another certificate or protocol, or not with TLS | blocks |
//! | nothing | warns; blocks when no address answers |

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::AlertDescription;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Resolver;
use super::http::CheckOptions;
use super::network::{is_of_this_host, own_address};
use super::targets::Targets;
use crate::pki::{self, ACME_TLS, ChallengeCertificateError};
use crate::resource::{
    AddressAnswer, HandshakeReport, Identifier, ShownCertificate, TlsAlpn01Report, WrongHandshake,
    innermost,
};

/// Looks at the certificate that every address of `identifier` shows, at once, and waits for all.
pub async fn check_tlsalpn01(
    resolver: &Resolver,
    identifier: &Identifier,
    key_authorization: &str,
    options: CheckOptions,
) -> TlsAlpn01Report {
    let targets = Targets::of(identifier, resolver).await;
    let wanted = Wanted { identifier, digest: pki::digest_of(key_authorization) };
    let reports = targets.each(|address| check_address(address, &wanted, options)).await;
    let Targets { error, outlook, .. } = targets;
    let report = TlsAlpn01Report::judge(identifier.clone(), options.port, reports, error);
    TlsAlpn01Report { outlook, ..report }
}

/// The report of a certificate that this host shows, with the commonest cause of a failure: the name
/// leads elsewhere; or, which no wait ends, another program of this host has the port, or does not
/// forward to these listeners.
pub fn handshake_explained_by_host(
    report: TlsAlpn01Report,
    listeners: &[SocketAddr],
) -> TlsAlpn01Report {
    let own = report.wrong_servers().find(|server| is_of_this_host(server.ip()));
    if let Some(server) = own {
        let has_its_port = listeners.iter().all(|listener| listener.port() == server.port());
        return if has_its_port {
            report.of_another_program(server)
        } else {
            report.not_forwarded(listeners, server)
        };
    }
    let elsewhere = report.lacking().find(|address| !is_of_this_host(*address));
    match elsewhere {
        Some(address) => report.elsewhere(address, own_address(address)),
        None => report,
    }
}

/// The certificate that a correct address shows.
struct Wanted<'a> {
    identifier: &'a Identifier,
    digest: [u8; 32],
}

async fn check_address(
    address: IpAddr,
    wanted: &Wanted<'_>,
    options: CheckOptions,
) -> HandshakeReport {
    let server = SocketAddr::new(address, options.port);
    let handshake = tokio::time::timeout(options.timeout, handshake(server, wanted));
    let outcome = handshake.await.unwrap_or_else(|_| silence(options.timeout));
    HandshakeReport { address, outcome }
}

fn silence(timeout: Duration) -> AddressAnswer<WrongHandshake> {
    AddressAnswer::Unreachable { why: format!("no answer in {} s", timeout.as_secs_f32()) }
}

async fn handshake(server: SocketAddr, wanted: &Wanted<'_>) -> AddressAnswer<WrongHandshake> {
    let broken = |error: &dyn std::fmt::Display| AddressAnswer::Broken { why: error.to_string() };
    let name = ServerName::try_from(wanted.identifier.server_name());
    let (name, config) = match (name, pki::acme_tls_client()) {
        (Ok(name), Ok(config)) => (name, config),
        (Err(error), _) => return broken(&error),
        (_, Err(error)) => return broken(&error),
    };
    let stream = match TcpStream::connect(server).await {
        Ok(stream) => stream,
        Err(error) => return AddressAnswer::Unreachable { why: innermost(&error) },
    };
    let stream = match TlsConnector::from(Arc::new(config)).connect(name, stream).await {
        Ok(stream) => stream,
        Err(error) => return failed(&error),
    };
    let (_, connection) = stream.get_ref();
    let certificate = connection.peer_certificates().and_then(<[_]>::first);
    let Some(certificate) = certificate else { return broken(&"TLS without a certificate") };
    if connection.alpn_protocol() != Some(ACME_TLS) {
        return wrong(NO_PROTOCOL.to_owned(), shown(certificate));
    }
    match pki::check_challenge_certificate(certificate, wanted.identifier, &wanted.digest) {
        Ok(()) => AddressAnswer::Correct,
        Err(error) => wrong(error.to_string(), shown_beside(&error, certificate)),
    }
}

fn wrong(why: String, certificate: Option<ShownCertificate>) -> AddressAnswer<WrongHandshake> {
    AddressAnswer::Wrong(WrongHandshake { why, certificate })
}

/// A handshake that the server, or the network, ended.
fn failed(error: &io::Error) -> AddressAnswer<WrongHandshake> {
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match of_tls {
        Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
            wrong(NO_PROTOCOL.to_owned(), None)
        }
        Some(rustls::Error::InvalidMessage(why)) => {
            AddressAnswer::Broken { why: format!("it does not speak TLS: {why:?}") }
        }
        Some(why) => AddressAnswer::Broken { why: format!("TLS failed: {why}") },
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            AddressAnswer::Unreachable { why: CLOSED.to_owned() }
        }
        None => AddressAnswer::Unreachable { why: innermost(error) },
    }
}

/// The certificate beside what is wrong with it, unless that says all.
fn shown_beside(error: &ChallengeCertificateError, certificate: &[u8]) -> Option<ShownCertificate> {
    match error {
        ChallengeCertificateError::NoAcmeIdentifier => shown(certificate),
        ChallengeCertificateError::Unreadable(_)
        | ChallengeCertificateError::Repeated
        | ChallengeCertificateError::NotCritical
        | ChallengeCertificateError::Damaged
        | ChallengeCertificateError::OtherDigest
        | ChallengeCertificateError::Names { .. }
        | ChallengeCertificateError::NotSelfSigned => None,
    }
}

fn shown(certificate: &[u8]) -> Option<ShownCertificate> {
    let facts = pki::facts_of_der(certificate).ok()?;
    let addresses = facts.ip_addresses.iter().map(ToString::to_string);
    let names = facts.dns_names.iter().cloned().chain(addresses);
    let names = names.take(MAX_SHOWN_NAMES).map(|name| shortened(&name)).collect();
    Some(ShownCertificate { names, issuer: shortened(&facts.issuer_common_name) })
}

/// It is foreign text.
fn shortened(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect()
}

const NO_PROTOCOL: &str = "the server does not support acme-tls/1";
const CLOSED: &str = "the connection was closed during the TLS handshake";
const MAX_SHOWN_NAMES: usize = 3;
const MAX_SHOWN_CHARS: usize = 64;

#[cfg(test)]
mod tests;
