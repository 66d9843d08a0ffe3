//! HTTP-01 (RFC 8555 section 8.3), as public CAs do it: IPv6 first with one fallback to IPv4,
//! at most 10 redirects to ports 80 and 443, certificates behind a redirect not checked, little
//! of the body read, trailing white space ignored.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, HOST, LOCATION, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Shared;
use super::addresses::Addresses;
use super::problem::{Problem, ProblemType};
use super::redirect::Target;
use super::validate::{Attempt, Verdict};

/// Requests the token from the addresses of the name, until one answers or all have failed.
pub(super) async fn check(shared: &Shared, attempt: &Attempt) -> Verdict {
    let mut records = Vec::new();
    let result = follow(shared, attempt, &mut records).await;
    Verdict { records, result }
}

async fn follow(
    shared: &Shared,
    attempt: &Attempt,
    records: &mut Vec<Value>,
) -> Result<(), Problem> {
    let path = format!("/.well-known/acme-challenge/{}", attempt.token);
    let mut target = Target::first(&attempt.host, shared.http01_port(), &path)?;
    for _ in 0..=MAX_REDIRECTS {
        let (address, answer) = fetch(shared, &target, records).await?;
        let status = answer.status();
        if matches!(status.as_u16(), 301 | 302 | 307 | 308) {
            let location = answer.headers().get(LOCATION).map(|value| value.to_str().ok());
            let Some(Some(location)) = location else {
                return Err(unauthorized(address, &target, "a redirect without a Location"));
            };
            target = target.redirected(location, shared.http01_port())?;
            continue;
        }
        if status != StatusCode::OK {
            return Err(unauthorized(address, &target, status.as_str()));
        }
        let body = read_start(answer.into_body()).await;
        let found = String::from_utf8_lossy(&body);
        if found.trim_end() == attempt.key_authorization {
            return Ok(());
        }
        return Err(Problem::unauthorized(format!(
            "{address}: the file at {target} has the wrong content: expected {:?}, got {:?}",
            attempt.key_authorization,
            found.trim_end().chars().take(256).collect::<String>(),
        )));
    }
    let detail = format!("{}: more than {MAX_REDIRECTS} redirects", attempt.host);
    Err(Problem::new(ProblemType::Connection, detail))
}

fn unauthorized(address: IpAddr, target: &Target, what: &str) -> Problem {
    Problem::unauthorized(format!("{address}: invalid response from {target}: {what}"))
}

fn unreachable(address: IpAddr, target: &Target, error: impl std::fmt::Display) -> Problem {
    let detail = format!("{address}: fetching {target}: {error}");
    Problem::new(ProblemType::Connection, detail)
}

/// One request. Only a failed connection falls back to IPv4.
async fn fetch(
    shared: &Shared,
    target: &Target,
    records: &mut Vec<Value>,
) -> Result<(IpAddr, Response<Incoming>), Problem> {
    let addresses = Addresses::of(&shared.options.resolver, target.host()).await?;
    let mut failure = None;
    for address in addresses.tried() {
        records.push(json!({
            "url": target.to_string(),
            "hostname": target.host(),
            "port": target.port.to_string(),
            "addressesResolved": addresses.to_json(),
            "addressUsed": address.to_string(),
        }));
        match TcpStream::connect(SocketAddr::new(address, target.port)).await {
            Err(error) => failure = Some(unreachable(address, target, error)),
            Ok(stream) => {
                let answer = if target.is_https() {
                    ask(secured(address, target, stream).await?, target).await
                } else {
                    ask(stream, target).await
                };
                let answer = answer.map_err(|error| unreachable(address, target, error))?;
                return Ok((address, answer));
            }
        }
    }
    Err(failure.unwrap_or_else(|| Addresses::missing(target.host())))
}

async fn secured(
    address: IpAddr,
    target: &Target,
    stream: TcpStream,
) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + 'static, Problem> {
    let refused = |error: String| {
        let detail = format!("{address}: fetching {target}: {error}");
        Problem::new(ProblemType::Tls, detail)
    };
    let name =
        ServerName::try_from(target.host().to_owned()).map_err(|e| refused(e.to_string()))?;
    let config = crate::pki::unverified_client().map_err(|e| refused(e.to_string()))?;
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.map_err(|e| refused(e.to_string()))
}

async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    target: &Target,
) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The connection ends with the answer's body, or when the runtime does.
    drop(tokio::spawn(connection));
    let request = Request::get(target.path())
        .header(HOST, target.authority())
        .header(USER_AGENT, "certctl-rehearsal (HTTP-01 validation)")
        .header(ACCEPT, "*/*")
        .body(Empty::<Bytes>::new())?;
    Ok(sender.send_request(request).await?)
}

/// The first bytes of a body; a longer body is wrong in any case.
async fn read_start(mut body: Incoming) -> Vec<u8> {
    let mut read = Vec::new();
    while read.len() <= MAX_BODY {
        let Some(Ok(frame)) = body.frame().await else { break };
        if let Some(data) = frame.data_ref() {
            read.extend_from_slice(data);
        }
    }
    read.truncate(MAX_BODY);
    read
}

const MAX_REDIRECTS: usize = 10;
const MAX_BODY: usize = 64 * 1024;
