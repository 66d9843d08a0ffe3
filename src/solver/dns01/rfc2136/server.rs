//! `nameserver`: a host with an optional port.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The server that receives the updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) host: Host,
    pub(super) port: u16,
}

/// An address, or a name that has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Address(IpAddr),
    Name(String),
}

impl Server {
    /// `host`, `host:port`, `[IPv6]` or `[IPv6]:port`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (address, port) = rest.split_once(']')?;
            let address: Ipv6Addr = address.parse().ok()?;
            let port = if port.is_empty() { None } else { Some(port.strip_prefix(':')?) };
            (Host::Address(address.into()), port)
        } else {
            let (host, port) =
                text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            if host.is_empty() {
                return None;
            }
            let address = host.parse().map(Host::Address);
            (address.unwrap_or_else(|_| Host::Name(host.to_owned())), port)
        };
        let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port != 0))?;
        Some(Self { host, port })
    }

    /// For messages: the server and the address in use.
    pub(super) fn at(&self, address: SocketAddr) -> String {
        match &self.host {
            Host::Address(_) => self.to_string(),
            Host::Name(_) => format!("{self} ({})", address.ip()),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

const PORT: u16 = 53;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_with_an_optional_port() {
        let cases = [
            ("192.0.2.1", Some("192.0.2.1:53")),
            ("192.0.2.1:5353", Some("192.0.2.1:5353")),
            ("[2001:db8::1]", Some("[2001:db8::1]:53")),
            ("[2001:db8::1]:5353", Some("[2001:db8::1]:5353")),
            ("ns.example.com", Some("ns.example.com:53")),
            ("ns.example.com:5353", Some("ns.example.com:5353")),
            ("", None),
            (":53", None),
            ("192.0.2.1:0", None),
            ("192.0.2.1:65536", None),
            ("2001:db8::1", None),
            ("[2001:db8::1]x", None),
            ("[192.0.2.1]", None),
        ];
        for (text, expected) in cases {
            let shown = Server::parse(text).map(|server| server.to_string());
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
        let ip = SocketAddr::from(([192, 0, 2, 1], 53));
        assert_eq!(Server::parse("ns.test").unwrap().at(ip), "ns.test:53 (192.0.2.1)");
        assert_eq!(Server::parse("192.0.2.1").unwrap().at(ip), "192.0.2.1:53");
    }
}
