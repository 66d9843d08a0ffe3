//! A DNS server.

use std::fmt;
use std::net::SocketAddr;

/// A DNS server that can be queried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DnsServer {
    /// Over UDP and TCP.
    Address(SocketAddr),
    /// The URL of a DNS-over-HTTPS service.
    Https(String),
    /// A server that cannot be queried from this host, which is no reason to end a run: it fails at each
    /// query.
    Unusable {
        /// The text that was written, or the file where one should be.
        written: String,
        reason: String,
    },
}

impl fmt::Display for DnsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Https(url) => url.fmt(f),
            Self::Unusable { written, .. } => written.fmt(f),
        }
    }
}

impl From<SocketAddr> for DnsServer {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

/// The port of DNS over UDP and TCP (RFC 1035 section 4.2).
pub(super) const DNS_PORT: u16 = 53;
