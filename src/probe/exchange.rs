//! One GET over one connection to one address: no proxy, no keep-alive, no redirect.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONNECTION, HOST, LOCATION, USER_AGENT};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::resource::{RECEIVED_HOST_HEADER, SELF_CHECK_HEADER, UNKNOWN_TOKEN_HEADER, innermost};

/// An HTTP answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// The `Location` header, if there is one in ASCII.
    pub(super) location: Option<String>,
    /// The body, or its first [`MAX_BODY_BYTES`] and a little.
    pub(super) body: Vec<u8>,
    pub(super) remote: SocketAddr,
    /// The Host that the listener received, when a proxy changed it on the way.
    pub(super) changed_host: Option<String>,
    /// Whether a certctl answered that does not have the token.
    pub(super) is_of_stranger: bool,
}

/// Why there is no answer, as text.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// No server is reachable, or it does not answer.
    Unreachable(String),
    /// A server answers, but not with HTTP.
    Garbled(String),
}

/// Requests `url` from `address`, whatever the name in it resolves to.
pub(super) async fn ask(url: &Url, address: IpAddr) -> Result<Answer, NoAnswer> {
    let port = url.port_or_known_default().unwrap_or(HTTP_PORT);
    let remote = SocketAddr::new(address, port);
    let stream = TcpStream::connect(remote).await.map_err(|error| unreachable(&error))?;
    if url.scheme() == "https" {
        let stream = encrypt(url, stream).await?;
        exchange(url, remote, stream).await
    } else {
        exchange(url, remote, stream).await
    }
}

async fn encrypt(
    url: &Url,
    stream: TcpStream,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, NoAnswer> {
    let garbled = |error: &dyn Error| NoAnswer::Garbled(format!("TLS failed: {error}"));
    let configuration = crate::pki::unverified_client().map_err(|error| garbled(&error))?;
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(bare).map_err(|error| garbled(&error))?;
    let connector = TlsConnector::from(Arc::new(configuration));
    connector.connect(name, stream).await.map_err(|error| garbled(&error))
}

async fn exchange<S>(url: &Url, remote: SocketAddr, stream: S) -> Result<Answer, NoAnswer>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| unreachable(&error))?;
    // Ends with this function, whatever the server does.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let request = request(url).map_err(|error| NoAnswer::Garbled(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(|error| {
        if error.is_parse() {
            NoAnswer::Garbled(format!("it does not speak HTTP: {}", innermost(&error)))
        } else {
            unreachable(&error)
        }
    })?;
    let status = response.status().as_u16();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.map(ToOwned::to_owned);
    let received = response.headers().get(RECEIVED_HOST_HEADER);
    let received = received.and_then(|value| value.to_str().ok());
    let changed_host = received.filter(|host| !is_host_of(url, host)).map(ToOwned::to_owned);
    let is_of_stranger = response.headers().contains_key(UNKNOWN_TOKEN_HEADER);
    // The body of a redirect does not matter.
    let is_redirect = response.status().is_redirection() && location.is_some();
    let body = if is_redirect { Vec::new() } else { read_body(response).await? };
    Ok(Answer { status, location, body, remote, changed_host, is_of_stranger })
}

/// Whether `received` names the host of `url`; proxies leave the port out, or put another in.
fn is_host_of(url: &Url, received: &str) -> bool {
    let arrived = Url::parse(&format!("{}://{received}", url.scheme()));
    arrived.is_ok_and(|arrived| arrived.host() == url.host())
}

fn request(url: &Url) -> Result<Request<Empty<Bytes>>, http::Error> {
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Request::get(target)
        .header(HOST, host)
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "*/*")
        .header(CONNECTION, "close")
        .header(SELF_CHECK_HEADER, "1")
        .body(Empty::new())
}

async fn read_body(response: Response<Incoming>) -> Result<Vec<u8>, NoAnswer> {
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let garbled =
            |error| NoAnswer::Garbled(format!("the body broke off: {}", innermost(&error)));
        if let Some(data) = frame.map_err(garbled)?.data_ref() {
            body.extend_from_slice(data);
        }
        if body.len() > MAX_BODY_BYTES {
            break;
        }
    }
    Ok(body)
}

fn unreachable(error: &(dyn Error + 'static)) -> NoAnswer {
    NoAnswer::Unreachable(innermost(error))
}

/// A key authorization is below 1 KiB; a longer body is another web page.
pub(super) const MAX_BODY_BYTES: usize = 64 * 1024;
const HTTP_PORT: u16 = 80;
const AGENT: &str = concat!("certctl/", env!("CARGO_PKG_VERSION"));
