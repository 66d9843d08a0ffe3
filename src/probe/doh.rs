//! DNS over HTTPS: one query by POST (RFC 8484 section 4.1).
//!
//! The service's own name is resolved by the one resolver; no redirect is followed; http is for
//! this machine only.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::Url;
use reqwest::redirect::Policy;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;

use super::{Fault, Resolver};
use crate::resource::{Reach, causes};

/// Sends the query to `url` and returns the answer's bytes.
pub(super) async fn post(
    resolver: &Resolver,
    url: &str,
    question: Vec<u8>,
) -> Result<Vec<u8>, Fault> {
    let url = parse(url).map_err(Fault::Unusable)?;
    let reply = timeout(resolver.timeout(), exchange(resolver, url, question));
    reply.await.map_err(|_| Fault::Timeout)?.map_err(Fault::Unusable)
}

/// Whether `url` can be used: https, or http on this machine.
pub(super) fn parse(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url:?}: {error}"))?;
    match parsed.scheme() {
        "https" => Ok(parsed),
        "http" if is_local(&parsed) => Ok(parsed),
        _ => Err(format!("{url:?} is not an https:// URL")),
    }
}

async fn exchange(resolver: &Resolver, url: Url, question: Vec<u8>) -> Result<Vec<u8>, String> {
    let client = client(resolver, &url).await?;
    let request = client
        .post(url)
        .header(CONTENT_TYPE, DNS_MESSAGE)
        .header(ACCEPT, DNS_MESSAGE)
        .body(question);
    let mut response = request.send().await.map_err(|error| causes(&error.without_url()))?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(format!("HTTP status {status}"));
    }
    let mut body = Vec::new();
    let broken = |error: reqwest::Error| causes(&error.without_url());
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER_BYTES {
            return Err(format!("an answer of more than {MAX_ANSWER_BYTES} bytes"));
        }
    }
    Ok(body)
}

async fn client(resolver: &Resolver, url: &Url) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls()?)
        .user_agent(AGENT)
        .http1_only()
        .referer(false)
        .redirect(Policy::none());
    if is_local(url) {
        builder = builder.no_proxy();
    }
    let host = url.host_str().unwrap_or_default();
    if address(host).is_none() {
        let found = resolver.addresses(host).await.map_err(|error| error.to_string())?;
        let addresses: Vec<SocketAddr> = found.iter().map(|ip| SocketAddr::new(ip, 0)).collect();
        // Port 0 means that of the URL.
        builder = builder.resolve_to_addrs(host, &addresses);
    }
    builder.build().map_err(|error| causes(&error))
}

fn tls() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    // System trust stores may contain invalid certificates; one must not block the others.
    let (_usable, _unusable) = roots.add_parsable_certificates(found.certs);
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn is_local(url: &Url) -> bool {
    Reach::is_direct(url.host_str().unwrap_or_default())
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

const DNS_MESSAGE: &str = "application/dns-message";
/// The longest DNS message there is.
const MAX_ANSWER_BYTES: usize = 65535;
const AGENT: &str = concat!("certctl/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_for_this_machine_only() {
        for good in ["https://dns.example/dns-query", "http://127.0.0.1:8053/q", "http://[::1]/"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in ["http://dns.example/dns-query", "http://10.0.0.1/", "tls://127.0.0.1", "x"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
