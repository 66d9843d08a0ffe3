//! Which network an address is of: this machine, a private one, or the public one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far away an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine: loopback and unspecified addresses.
    Host,
    /// This link, and the addresses at which clouds give credentials to their machines.
    Link,
    /// A private network (RFC 1918, RFC 4193, RFC 6598).
    Private,
    /// Everything else.
    Public,
}

impl Reach {
    /// The reach of an address; an IPv4 address within an IPv6 one counts as what it is.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => of_v4(v4),
            IpAddr::V6(v6) => of_v6(v6),
        }
    }

    /// The reach of a URL's host, when it is an address or a name of this machine or of a cloud's
    /// metadata service; `None` for other names, whose addresses are not known here.
    pub fn of_host(host: &str) -> Option<Self> {
        let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        if let Ok(address) = bare.parse() {
            return Some(Self::of(address));
        }
        let name = bare.to_ascii_lowercase();
        // RFC 6761 section 6.3, and /etc/hosts of common systems.
        if name == "localhost" || name.ends_with(".localhost") || HOST_NAMES.contains(&&*name) {
            return Some(Self::Host);
        }
        METADATA_NAMES.contains(&&*name).then_some(Self::Link)
    }

    /// Whether a request to this host must not go through a proxy: the proxy would see credentials
    /// that never leave this machine or link, and would reach another machine with them.
    pub fn is_direct(host: &str) -> bool {
        matches!(Self::of_host(host), Some(Self::Host | Self::Link))
    }

    /// Those of the addresses to which foreign text from this reach may send a request; when that is
    /// none of them, the first one. From a public address none leads inside, and none ever leads to
    /// another link or a cloud's metadata service.
    pub fn leads_to(self, mut addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, IpAddr> {
        let is_allowed = |to: &IpAddr| match (self, Self::of(*to)) {
            (_, Self::Public)
            | (Self::Link, Self::Link)
            | (Self::Host | Self::Link | Self::Private, Self::Host | Self::Private) => true,
            (Self::Public, Self::Host | Self::Link | Self::Private)
            | (Self::Host | Self::Private, Self::Link) => false,
        };
        let refused = addresses.iter().copied().find(|to| !is_allowed(to));
        addresses.retain(is_allowed);
        match refused {
            Some(to) if addresses.is_empty() => Err(to),
            Some(_) | None => Ok(addresses),
        }
    }

    /// In words, for messages.
    pub fn description(self) -> &'static str {
        match self {
            Self::Host => "an address of this machine",
            Self::Link => "a link-local or metadata address",
            Self::Private => "a private address",
            Self::Public => "a public address",
        }
    }
}

fn of_v4(address: Ipv4Addr) -> Reach {
    let [first, second, _, _] = address.octets();
    if first == 0 || address.is_loopback() {
        Reach::Host
    } else if address.is_link_local() || METADATA_V4.contains(&address) {
        Reach::Link
    } else if address.is_private() || (first == 100 && (64..128).contains(&second)) {
        Reach::Private
    } else {
        Reach::Public
    }
}

fn of_v6(address: Ipv6Addr) -> Reach {
    let bits = address.to_bits();
    let is_in = |network: Ipv6Addr, prefix: u32| {
        let shift = 128_u32.saturating_sub(prefix);
        bits.checked_shr(shift) == network.to_bits().checked_shr(shift)
    };
    if address.is_loopback() || address.is_unspecified() {
        return Reach::Host;
    }
    if EMBEDDING.iter().any(|network| is_in(*network, 96)) {
        let [.., a, b, c, d] = address.octets();
        return of_v4(Ipv4Addr::new(a, b, c, d));
    }
    let link = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);
    let (unique, site) =
        (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0));
    if is_in(link, 10) || address == METADATA_V6 {
        Reach::Link
    } else if is_in(unique, 7) || is_in(site, 10) {
        Reach::Private
    } else {
        Reach::Public
    }
}

/// Networks of addresses that end in an IPv4 address: compatible and mapped ones, and those of
/// NAT64 (RFC 6052).
const EMBEDDING: [Ipv6Addr; 3] = [
    Ipv6Addr::UNSPECIFIED,
    Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0),
    Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0),
];
const HOST_NAMES: [&str; 3] = ["localhost.localdomain", "ip6-localhost", "ip6-loopback"];
/// Of Google's cloud; the others have addresses only.
const METADATA_NAMES: [&str; 3] = ["metadata", "metadata.google.internal", "metadata.goog"];
/// Of Alibaba's cloud and of Azure; those of the others are link-local.
const METADATA_V4: [Ipv4Addr; 2] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
/// Of Amazon's cloud.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_the_nearest_network_that_has_it() {
        for (text, reach) in [
            ("127.0.0.1", Reach::Host),
            ("127.9.9.9", Reach::Host),
            ("0.0.0.0", Reach::Host),
            ("::1", Reach::Host),
            ("[::]", Reach::Host),
            ("::ffff:127.0.0.1", Reach::Host),
            ("64:ff9b::7f00:1", Reach::Host),
            ("LocalHost", Reach::Host),
            ("a.localhost.", Reach::Host),
            ("ip6-localhost", Reach::Host),
            ("169.254.169.254", Reach::Link),
            ("[fe80::1]", Reach::Link),
            ("fd00:ec2::254", Reach::Link),
            ("100.100.100.200", Reach::Link),
            ("168.63.129.16", Reach::Link),
            ("metadata.google.internal", Reach::Link),
            ("::ffff:169.254.169.254", Reach::Link),
            ("10.0.0.1", Reach::Private),
            ("172.31.255.255", Reach::Private),
            ("192.168.1.1", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("fd12::1", Reach::Private),
            ("::ffff:10.0.0.1", Reach::Private),
            ("172.32.0.1", Reach::Public),
            ("192.0.2.1", Reach::Public),
            ("100.128.0.1", Reach::Public),
            ("2001:db8::1", Reach::Public),
        ] {
            assert_eq!(Reach::of_host(text), Some(reach), "{text}");
            let is_direct = matches!(reach, Reach::Host | Reach::Link);
            assert_eq!(Reach::is_direct(text), is_direct, "{text}");
        }
        for name in ["ca.test", "localhost.ca.test", "notlocalhost", "10.test", ""] {
            assert_eq!((Reach::of_host(name), Reach::is_direct(name)), (None, false), "{name}");
        }
    }
}
