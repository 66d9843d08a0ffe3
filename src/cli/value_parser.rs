//! Values of flags: durations, addresses, names.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use thiserror::Error;

use crate::resource::{DnsName, GoDuration, NameError, is_dns_label};

/// A DNS server: a name or an address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Host name or address, without brackets.
    pub host: String,
    /// The port; 53 when none was given.
    pub port: u16,
}

impl FromStr for HostPort {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        // Of a link-local address with its zone, `fe80::1%eth0`; no name has this character.
        if text.contains('%') {
            return Err(ValueError::LinkLocal);
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self { host: address.ip().to_string(), port: address.port() });
        }
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self { host: address.to_string(), port: 53 });
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| ValueError::Port)?),
            None => (text, 53),
        };
        let host: DnsName = host.parse()?;
        Ok(Self { host: host.to_string(), port })
    }
}

/// `NAME=ADDR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolve {
    pub name: DnsName,
    /// Where it points to.
    pub address: IpAddr,
}

impl FromStr for Resolve {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (name, address) = text.split_once('=').ok_or(ValueError::Resolve)?;
        let bare = address.strip_prefix('[').and_then(|a| a.strip_suffix(']')).unwrap_or(address);
        Ok(Self { name: name.parse()?, address: bare.parse().map_err(|_| ValueError::Address)? })
    }
}

/// A socket address; `:80` means every address of both families.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, ValueError> {
    match text.strip_prefix(':') {
        Some(port) => {
            let port = port.parse().map_err(|_| ValueError::Port)?;
            Ok(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port))
        }
        None => text.parse().map_err(|_| ValueError::Listen),
    }
}

/// An http or https URL.
pub(super) fn web_url(text: &str) -> Result<reqwest::Url, ValueError> {
    let url: reqwest::Url = text.parse().map_err(|_| ValueError::Url)?;
    if matches!(url.scheme(), "http" | "https") { Ok(url) } else { Err(ValueError::Url) }
}

/// A duration in Go syntax that is not negative.
pub(crate) fn duration(text: &str) -> Result<GoDuration, ValueError> {
    let duration: GoDuration = text.parse()?;
    if duration.0.is_negative() { Err(ValueError::Negative) } else { Ok(duration) }
}

/// A duration in Go syntax above zero.
pub(crate) fn positive_duration(text: &str) -> Result<GoDuration, ValueError> {
    let duration = duration(text)?;
    if duration.0.is_zero() { Err(ValueError::Zero) } else { Ok(duration) }
}

/// A namespace.
pub(super) fn namespace(text: &str) -> Result<String, ValueError> {
    if is_dns_label(text) { Ok(text.to_owned()) } else { Err(ValueError::Namespace) }
}

/// The name of an account.
pub(crate) fn user(text: &str) -> Result<String, ValueError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = (1..=32).contains(&text.len())
        && text.chars().all(fits)
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if is_name { Ok(text.to_owned()) } else { Err(ValueError::User) }
}

/// Reason for an invalid value. clap names the flag.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValueError {
    #[error(transparent)]
    Duration(#[from] crate::resource::GoDurationError),
    #[error("neither a loopback address such as 127.0.0.1:9402 nor the path of a Unix socket")]
    Endpoint,
    #[error(
        "other hosts could connect to this address: use one of loopback, such as 127.0.0.1:9402"
    )]
    NotLoopback,
    #[error("must not be negative")]
    Negative,
    #[error("must be more than zero")]
    Zero,
    #[error("a namespace has lower-case letters, digits and hyphens only, at most 63")]
    Namespace,
    #[error("an account's name has letters, digits, `_`, `-` and `.`, at most 32")]
    User,
    #[error("a port is a number up to 65535; an address has no scope such as %eth0")]
    Port,
    #[error("certctl does not query link-local addresses")]
    LinkLocal,
    #[error("write ADDRESS:PORT, such as 127.0.0.1:5002, [::]:80, or :80")]
    Listen,
    #[error("write NAME=ADDRESS, such as www.example.com=127.0.0.1")]
    Resolve,
    #[error("the value after `=` must be an IP address")]
    Address,
    #[error("write an http or https URL, such as https://hc-ping.com/UUID")]
    Url,
    #[error("not a host name: {0}")]
    Name(#[from] NameError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dns_server_is_a_name_or_an_address_with_or_without_port() {
        for (text, host, port) in [
            ("192.0.2.1", "192.0.2.1", 53),
            ("192.0.2.1:5353", "192.0.2.1", 5353),
            ("[2001:db8::1]:54", "2001:db8::1", 54),
            ("2001:db8::1", "2001:db8::1", 53),
            ("[2001:db8::1]", "2001:db8::1", 53),
            ("dns:8053", "dns", 8053),
        ] {
            let found: HostPort = text.parse().unwrap();
            assert_eq!(found, HostPort { host: host.to_owned(), port }, "{text}");
        }
        assert_eq!("dns:dns".parse::<HostPort>(), Err(ValueError::Port));
        for text in ["[fe80::1%eth0]:53", "fe80::1%eth0", "[fe80::1%2]:53"] {
            assert_eq!(text.parse::<HostPort>(), Err(ValueError::LinkLocal), "{text}");
        }
        assert_eq!("".parse::<HostPort>(), Err(ValueError::Name(NameError::Empty)));
    }

    #[test]
    fn a_name_can_be_led_to_an_address() {
        let found: Resolve = "www.example.com=[::1]".parse().unwrap();
        let name = "www.example.com".parse().unwrap();
        assert_eq!(found, Resolve { name, address: Ipv6Addr::LOCALHOST.into() });
        assert_eq!("www.example.com".parse::<Resolve>(), Err(ValueError::Resolve));
        assert_eq!("a.example=b".parse::<Resolve>(), Err(ValueError::Address));
    }

    #[test]
    fn a_listener_may_leave_out_its_address() {
        for (text, wanted) in [(":80", "[::]:80"), ("127.0.0.1:0", "127.0.0.1:0")] {
            assert_eq!(listen_address(text).unwrap().to_string(), wanted);
        }
        assert_eq!(listen_address("localhost:80"), Err(ValueError::Listen));
        assert_eq!(listen_address(":x"), Err(ValueError::Port));
    }
}
