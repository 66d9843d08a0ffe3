//! The name servers of this host, in `/etc/resolv.conf`.
//!
//! A line that cannot be used is passed over, as by the C library, but named: what is looked up
//! fails for that reason when no other server answers.

use std::io;
use std::net::{IpAddr, SocketAddr};

use super::server::{DNS_PORT, DnsServer};

/// Where the servers stand.
pub(super) const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The servers in the text of the file, in their order; those that cannot be used apart, and what is
/// wrong with the file when it names none.
pub(super) fn servers(text: io::Result<String>) -> (Vec<SocketAddr>, Vec<DnsServer>) {
    let unusable = |written: &str, reason: &dyn std::fmt::Display| DnsServer::Unusable {
        written: written.to_owned(),
        reason: reason.to_string(),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return (Vec::new(), vec![unusable(RESOLV_CONF, &error)]),
    };
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some("nameserver"), Some(server)) = (words.next(), words.next()) else { continue };
        match address(server) {
            Ok(address) => good.push(SocketAddr::new(address, DNS_PORT)),
            Err(reason) => bad.push(unusable(server, &reason)),
        }
    }
    if good.is_empty() && bad.is_empty() {
        bad.push(unusable(RESOLV_CONF, &"it lists no name server"));
    }
    (good, bad)
}

/// An address without a zone.
fn address(text: &str) -> Result<IpAddr, &'static str> {
    let bare = text.split_once('%').map_or(text, |(address, _)| address);
    match bare.parse() {
        Ok(IpAddr::V6(address)) if address.is_unicast_link_local() => Err(LINK_LOCAL),
        Ok(address) => Ok(address),
        Err(_) => Err("not an IP address"),
    }
}

/// hickory's name servers have no zone.
const LINK_LOCAL: &str = "certctl does not query link-local addresses";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_named_and_the_rest_is() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("nameserver 192.0.2.1\nnameserver 2001:db8::1\n", &["192.0.2.1", "2001:db8::1"], &[]),
            ("# a\n; b\n\tnameserver\t192.0.2.1 # c\r\noptions edns0 new\n", &["192.0.2.1"], &[]),
            ("search example.com\n", &[], &["/etc/resolv.conf: it lists no name server"]),
            ("", &[], &["/etc/resolv.conf: it lists no name server"]),
            ("nameserver 127.0.0.1:53\n", &[], &["127.0.0.1:53: not an IP address"]),
            (
                "nameserver fe80::1%eth0\n",
                &[],
                &["fe80::1%eth0: certctl does not query link-local addresses"],
            ),
            (
                "nameserver fe80::1\nnameserver 192.0.2.1\nnameserver\n",
                &["192.0.2.1"],
                &["fe80::1: certctl does not query link-local addresses"],
            ),
        ];
        for (text, good, bad) in cases {
            let (found, unusable) = servers(Ok((*text).to_owned()));
            let found: Vec<String> = found.iter().map(|server| server.ip().to_string()).collect();
            assert_eq!((found, texts(&unusable)), (strings(good), strings(bad)), "{text:?}");
        }
        let (_, unusable) = servers(Err(io::ErrorKind::NotFound.into()));
        assert_eq!(texts(&unusable), ["/etc/resolv.conf: entity not found"]);
    }

    fn strings(all: &[&str]) -> Vec<String> {
        all.iter().map(|&text| text.to_owned()).collect()
    }

    fn texts(unusable: &[DnsServer]) -> Vec<String> {
        let text = |server: &DnsServer| match server {
            DnsServer::Unusable { written, reason } => format!("{written}: {reason}"),
            DnsServer::Address(_) | DnsServer::Https(_) => panic!("{server}"),
        };
        unusable.iter().map(text).collect()
    }
}
