//! What a certificate names: a server's certificates, a CRL, an OCSP response.
//!
//! Contract: 10 seconds for each, no redirects, at most 4 MiB, names looked up with the one
//! resolver. What comes back is data that the caller verifies. The addresses of a CRL or of an OCSP
//! server are foreign text: only the ports to which the self-check follows redirects are asked and
//! the CA's own servers, no link-local and no metadata address, and no private one for the
//! certificate of a public server.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Url, header};
use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Resolver;
use crate::pki;
use crate::resource::Reach;

/// The network access.
#[derive(Debug)]
pub struct Network {
    resolver: Rc<Resolver>,
    patience: Duration,
    /// The ports that are asked; all when `None`.
    ports: Option<[u16; 3]>,
    /// The hosts and ports that are asked all the same.
    servers: Vec<(String, u16)>,
    /// Whether the certificate came from a public address.
    is_public: Cell<bool>,
}

/// Why a fetch failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    #[error("no answer within {seconds} s")]
    Timeout { seconds: u64 },
    #[error("name lookup failed: {reason}")]
    Lookup { reason: String },
    #[error("cannot be reached: {reason}")]
    Unreachable { reason: String },
    #[error("TLS failed: {reason}")]
    Tls { reason: String },
    #[error("answers with HTTP status {status}")]
    Status { status: u16 },
    #[error("the answer is longer than {max} bytes")]
    TooLarge { max: usize },
    #[error("not queried: {reason}")]
    Near { reason: String },
    #[error("not a usable URL: {reason}")]
    Url { reason: String },
}

impl Network {
    /// With the time limit of the contract.
    pub fn new(resolver: impl Into<Rc<Resolver>>, check_port: u16) -> Self {
        let ports = Some([80, 443, check_port]);
        Self {
            resolver: resolver.into(),
            patience: PATIENCE,
            ports,
            servers: Vec::new(),
            is_public: Cell::new(false),
        }
    }

    /// These servers are asked whatever their ports are: certctl asks them anyway.
    #[must_use]
    pub fn with_servers<'a>(mut self, urls: impl Iterator<Item = &'a str>) -> Self {
        let urls = urls.filter_map(|url| Url::parse(url).ok());
        self.servers = urls.filter_map(|url| origin(&url)).collect();
        self
    }

    /// With a shorter time limit.
    #[cfg(test)]
    pub fn hurried(resolver: Resolver, patience: Duration) -> Self {
        Self { patience, ports: None, ..Self::new(resolver, 80) }
    }

    /// The certificates that a TLS server shows for `host`, its own first.
    pub async fn certificates(&self, host: &str, port: u16) -> Result<Vec<Vec<u8>>, NetworkError> {
        self.in_time(self.handshake(host, port)).await
    }

    /// Fetches a URL; `ocsp_request` is posted when there is one.
    pub async fn fetch(
        &self,
        url: &str,
        ocsp_request: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, NetworkError> {
        self.in_time(self.exchange(url, ocsp_request)).await
    }

    async fn in_time<T>(
        &self,
        exchange: impl Future<Output = Result<T, NetworkError>>,
    ) -> Result<T, NetworkError> {
        let timeout = NetworkError::Timeout { seconds: self.patience.as_secs() };
        tokio::time::timeout(self.patience, exchange).await.unwrap_or(Err(timeout))
    }

    async fn handshake(&self, host: &str, port: u16) -> Result<Vec<Vec<u8>>, NetworkError> {
        let tls = |error: &dyn std::fmt::Display| NetworkError::Tls { reason: error.to_string() };
        let name = ServerName::try_from(host.to_owned()).map_err(|error| tls(&error))?;
        let configuration = Arc::new(pki::unverified_client().map_err(|error| tls(&error))?);
        let mut last = NetworkError::Lookup { reason: "there is no address".to_owned() };
        for address in self.addresses(host).await? {
            let stream = match TcpStream::connect((address, port)).await {
                Ok(stream) => stream,
                Err(error) => {
                    let reason = format!("{address}: {error}");
                    last = NetworkError::Unreachable { reason };
                    continue;
                }
            };
            let connector = TlsConnector::from(Arc::clone(&configuration));
            let stream =
                connector.connect(name.clone(), stream).await.map_err(|error| tls(&error))?;
            self.is_public.set(Reach::of(address) == Reach::Public);
            let (_, connection) = stream.get_ref();
            let shown = connection.peer_certificates().unwrap_or_default();
            return Ok(shown.iter().map(|der| der.to_vec()).collect());
        }
        Err(last)
    }

    async fn exchange(
        &self,
        url: &str,
        ocsp_request: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, NetworkError> {
        let bad = |reason: String| NetworkError::Url { reason };
        let url = Url::parse(url).map_err(|error| bad(error.to_string()))?;
        let origin = origin(&url).ok_or_else(|| bad("there is no host".to_owned()))?;
        let is_configured = self.servers.contains(&origin);
        let (host, port) = origin;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Some(ports) = self.ports.filter(|ports| !is_configured && !ports.contains(&port)) {
            let [_, _, check] = ports;
            let reason =
                format!("port {port} is neither 80 nor 443 nor --http01-check-port ({check})");
            return Err(NetworkError::Near { reason });
        }
        let addresses = self.permitted(self.addresses(bare).await?)?;
        let addresses: Vec<SocketAddr> =
            addresses.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        // CRLs and OCSP responses are signed: the server does not matter.
        let tls = pki::unverified_client()
            .map_err(|error| NetworkError::Tls { reason: error.to_string() })?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("certctl/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .resolve_to_addrs(bare, &addresses)
            .build()
            .map_err(unreachable)?;
        let request = match ocsp_request {
            None => client.get(url),
            Some(body) => {
                client.post(url).header(header::CONTENT_TYPE, "application/ocsp-request").body(body)
            }
        };
        let mut response = request.send().await.map_err(unreachable)?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(NetworkError::Status { status: response.status().as_u16() });
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len().saturating_add(chunk.len()) > MAX_BYTES {
                return Err(NetworkError::TooLarge { max: MAX_BYTES });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Those of the addresses that are asked.
    fn permitted(&self, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, NetworkError> {
        let from = if self.is_public.get() { Reach::Public } else { Reach::Private };
        from.leads_to(addresses).map_err(|to| {
            let reason = format!("{to} is {}", Reach::of(to).description());
            NetworkError::Near { reason }
        })
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NetworkError> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        // RFC 6761 section 6.3: localhost is not looked up in DNS.
        if host.eq_ignore_ascii_case("localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let found = self.resolver.addresses(host).await;
        let found = found.map_err(|error| NetworkError::Lookup { reason: error.to_string() })?;
        Ok(found.iter().collect())
    }
}

/// Host and port.
fn origin(url: &Url) -> Option<(String, u16)> {
    Some((url.host_str()?.to_owned(), url.port_or_known_default().unwrap_or(80)))
}

/// The deepest cause says what happened; those around it say only that it was a request.
fn unreachable(error: reqwest::Error) -> NetworkError {
    let error = error.without_url();
    let mut deepest: &dyn std::error::Error = &error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    NetworkError::Unreachable { reason: deepest.to_string() }
}

/// Whether an address is of this host's own interfaces: a socket can be bound to it. Behind a NAT, that
/// of a name is none.
pub fn is_of_this_host(address: IpAddr) -> bool {
    std::net::UdpSocket::bind((address, 0)).is_ok()
}

/// The address of this host from which it reaches another. Nothing is sent.
pub(super) fn own_address(other: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match other {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = std::net::UdpSocket::bind((any, 0)).ok()?;
    socket.connect((other, 80)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

const PATIENCE: Duration = Duration::from_secs(10);
/// As much as the state keeps of one file.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::ResolverOptions;

    /// What a certificate names is not asked wherever it leads.
    #[tokio::test]
    async fn crl_and_ocsp_addresses_are_asked_as_redirects_are_followed() {
        let servers = vec!["127.0.0.1:9".parse().unwrap()];
        let resolver = Resolver::new(ResolverOptions { servers, ..ResolverOptions::default() });
        let network = Network::new(resolver, 5002);
        let network =
            network.with_servers(["https://127.0.0.1:8/dir", "http://10.0.0.1:8"].into_iter());
        let near = |reason: &str| Err(NetworkError::Near { reason: reason.to_owned() });
        let metadata = "169.254.169.254 is a link-local or metadata address";
        for (url, is_public, wanted) in [
            (
                "http://127.0.0.1:9/x",
                false,
                "port 9 is neither 80 nor 443 nor --http01-check-port (5002)",
            ),
            ("http://10.0.0.1:8/x", true, "10.0.0.1 is a private address"),
            ("http://169.254.169.254/x", false, metadata),
            ("http://169.254.169.254:443/x", true, metadata),
            ("http://10.0.0.1/x", true, "10.0.0.1 is a private address"),
            ("http://localhost/x", true, "127.0.0.1 is an address of this machine"),
        ] {
            network.is_public.set(is_public);
            assert_eq!(network.fetch(url, None).await, near(wanted), "{url}");
        }
        network.is_public.set(false);
        assert_eq!(network.permitted(vec![Ipv4Addr::LOCALHOST.into()]).map(|all| all.len()), Ok(1));
    }
}
