//! tls-alpn-01 (RFC 8737; of addresses RFC 8738), as public CAs do it: IPv6 first with one fallback to
//! IPv4, the protocol agreed to, a certificate of its own for the one name, with the digest.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Shared;
use super::addresses::Addresses;
use super::problem::{Problem, ProblemType};
use super::validate::{Attempt, Verdict};
use crate::pki;

/// Makes a handshake with the addresses of the name, until one succeeds or all have failed, and looks
/// at the certificate.
pub(super) async fn check(shared: &Shared, attempt: &Attempt) -> Verdict {
    let mut records = Vec::new();
    let result = look(shared, attempt, &mut records).await;
    Verdict { records, result }
}

async fn look(shared: &Shared, attempt: &Attempt, records: &mut Vec<Value>) -> Result<(), Problem> {
    let (address, stream) = connect(shared, attempt, records).await?;
    let (_, connection) = stream.get_ref();
    let incorrect = |what: &dyn fmt::Display| {
        Problem::unauthorized(format!(
            "{address}: incorrect validation certificate for {}: {what}",
            attempt.host
        ))
    };
    if connection.alpn_protocol() != Some(pki::ACME_TLS) {
        return Err(incorrect(&"the server did not agree to ALPN protocol acme-tls/1"));
    }
    let Some([certificate, ..]) = connection.peer_certificates() else {
        return Err(incorrect(&"there is none"));
    };
    let digest = pki::digest_of(&attempt.key_authorization);
    pki::check_challenge_certificate(certificate, &attempt.identifier, &digest)
        .map_err(|error| incorrect(&error))
}

/// One handshake; a failed one falls back to IPv4, as that of Let's Encrypt's server does.
async fn connect(
    shared: &Shared,
    attempt: &Attempt,
    records: &mut Vec<Value>,
) -> Result<(IpAddr, TlsStream<TcpStream>), Problem> {
    let port = shared.options.tlsalpn01_port;
    let addresses = Addresses::of(&shared.options.resolver, &attempt.host).await?;
    let mut failure = None;
    for address in addresses.tried() {
        records.push(json!({
            "hostname": attempt.host,
            "port": port.to_string(),
            "addressesResolved": addresses.to_json(),
            "addressUsed": address.to_string(),
        }));
        match handshake(attempt, SocketAddr::new(address, port)).await {
            Ok(stream) => return Ok((address, stream)),
            Err(problem) => failure = Some(problem),
        }
    }
    Err(failure.unwrap_or_else(|| Addresses::missing(&attempt.host)))
}

async fn handshake(attempt: &Attempt, server: SocketAddr) -> Result<TlsStream<TcpStream>, Problem> {
    let name = ServerName::try_from(attempt.identifier.server_name()).map_err(Problem::internal)?;
    let config = pki::acme_tls_client().map_err(Problem::internal)?;
    let failed = |kind, error: &io::Error| {
        Problem::new(kind, format!("{server}: TLS handshake for {}: {error}", attempt.host))
    };
    let stream = TcpStream::connect(server).await;
    let stream = stream.map_err(|error| failed(ProblemType::Connection, &error))?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    stream.map_err(|error| {
        let is_of_tls = error.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>);
        let kind = if is_of_tls { ProblemType::Tls } else { ProblemType::Connection };
        failed(kind, &error)
    })
}
