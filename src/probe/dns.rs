//! Resolver: the addresses of a name, from an explicit list of name servers.
//!
//! Servers are queried in their order, in two rounds; the first that answers decides ("no such
//! record" is an answer, SERVFAIL is not). Nothing is cached, so that a repeated check sees
//! changes, and an error names each server.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use std::{fmt, fs};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{self, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};

use super::dns_error::code as mnemonic;
use super::resolv_conf::{self, RESOLV_CONF};
use super::server::DNS_PORT;
use super::{DnsError, DnsServer, Fault, ServerFault};

/// The options of lookups.
#[derive(Clone, Debug)]
pub struct ResolverOptions {
    /// The servers to query, in this order; none means those of the system's `resolv.conf`.
    pub servers: Vec<SocketAddr>,
    /// Servers that were named and cannot be queried.
    pub unusable: Vec<DnsServer>,
    /// Names that are not looked up, with their addresses; without a trailing dot.
    pub overrides: BTreeMap<String, Vec<IpAddr>>,
    /// The timeout of one server for one answer; each server is queried twice.
    pub timeout: Duration,
    /// The port of a zone's servers; 53 except in tests.
    #[doc(hidden)]
    pub authoritative_port: u16,
    /// Whether to query servers over IPv6; off means as if this host had no IPv6.
    #[doc(hidden)]
    pub has_ipv6: bool,
}

impl Default for ResolverOptions {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            unusable: Vec::new(),
            overrides: BTreeMap::new(),
            timeout: Duration::from_secs(5),
            authoritative_port: DNS_PORT,
            has_ipv6: true,
        }
    }
}

/// Looks names up. One object serves all lookups of a process.
pub struct Resolver {
    servers: Vec<(SocketAddr, TokioResolver)>,
    unusable: Vec<DnsServer>,
    overrides: BTreeMap<String, Vec<IpAddr>>,
    timeout: Duration,
    authoritative_port: u16,
    has_ipv6: bool,
}

/// The addresses of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// From A records, in ascending order.
    pub v4: Vec<Ipv4Addr>,
    /// From AAAA records, in ascending order.
    pub v6: Vec<Ipv6Addr>,
    /// The lookup that failed, when the other one gave addresses.
    pub error: Option<DnsError>,
}

impl Addresses {
    /// All of them, IPv4 first.
    pub fn iter(&self) -> impl Iterator<Item = IpAddr> {
        let v4 = self.v4.iter().copied().map(IpAddr::V4);
        v4.chain(self.v6.iter().copied().map(IpAddr::V6))
    }
}

impl Resolver {
    /// Prepares the servers; sends no query. A server that cannot be used is no error of its own:
    /// names fail, each with the reason, and what needs no name is not affected.
    pub fn new(options: ResolverOptions) -> Self {
        let (addresses, mut unusable) = if options.servers.is_empty() && options.unusable.is_empty()
        {
            resolv_conf::servers(fs::read_to_string(RESOLV_CONF))
        } else {
            (options.servers, options.unusable)
        };
        let mut servers = Vec::new();
        for address in addresses {
            match asking_only(address, options.timeout) {
                Ok(server) => servers.push((address, server)),
                Err(error) => unusable.push(DnsServer::Unusable {
                    written: address.to_string(),
                    reason: error.to_string(),
                }),
            }
        }
        let lower = |(name, ips): (String, Vec<IpAddr>)| (name.to_ascii_lowercase(), ips);
        let overrides = options.overrides.into_iter().map(lower).collect();
        Self {
            servers,
            unusable,
            overrides,
            timeout: options.timeout,
            authoritative_port: options.authoritative_port,
            has_ipv6: options.has_ipv6,
        }
    }

    /// The timeout of one server for one answer.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The port of a zone's servers.
    pub(super) fn authoritative_port(&self) -> u16 {
        self.authoritative_port
    }

    /// Whether servers are queried over IPv6.
    pub(super) fn has_ipv6(&self) -> bool {
        self.has_ipv6
    }

    /// The servers to query, in their order.
    pub fn servers(&self) -> impl Iterator<Item = SocketAddr> {
        self.servers.iter().map(|(address, _)| *address)
    }

    /// The servers that were named and cannot be queried.
    pub(super) fn unusable(&self) -> &[DnsServer] {
        &self.unusable
    }

    /// Looks up the A and AAAA records of `name`, following CNAMEs.
    ///
    /// When one of the two lookups fails and the other gives addresses, those are the answer: a CA
    /// continues as well.
    pub async fn addresses(&self, name: &str) -> Result<Addresses, DnsError> {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if let Some(ips) = self.overrides.get(&name) {
            return Ok(sorted(ips.iter().copied(), None));
        }
        let bad = |error: &dyn fmt::Display| DnsError::BadName {
            name: name.clone(),
            reason: error.to_string(),
        };
        let query_name = Name::from_ascii(format!("{name}.")).map_err(|error| bad(&error))?;
        let (v4, v6) = futures_util::future::join(
            self.lookup(&query_name, RecordType::A),
            self.lookup(&query_name, RecordType::AAAA),
        )
        .await;
        settle(&name, v4, v6)
    }

    async fn lookup(&self, name: &Name, record: RecordType) -> Result<Answer, Vec<ServerFault>> {
        let mut faults: Vec<ServerFault> = Vec::new();
        for _ in 0..ROUNDS {
            for (server, resolver) in &self.servers {
                let lookup =
                    tokio::time::timeout(self.timeout, resolver.lookup(name.clone(), record));
                let fault = match lookup.await {
                    Err(_) => Fault::Timeout,
                    Ok(Ok(found)) => {
                        let ips = found.answers().iter().filter_map(|r| address_in(&r.data));
                        return Ok(Answer {
                            server: *server,
                            found: Found::Records(ips.collect()),
                        });
                    }
                    Ok(Err(error)) => match read_error(&error) {
                        Ok(found) => return Ok(Answer { server: *server, found }),
                        Err(fault) => fault,
                    },
                };
                let fault =
                    ServerFault { server: (*server).into(), record: record.to_string(), fault };
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
        }
        faults.extend(self.unusable.iter().filter_map(ServerFault::of_unusable));
        Err(faults)
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<SocketAddr> = self.servers().collect();
        f.debug_struct("Resolver")
            .field("servers", &servers)
            .field("unusable", &self.unusable)
            .field("overrides", &self.overrides)
            .field("timeout", &self.timeout)
            .field("authoritative_port", &self.authoritative_port)
            .field("has_ipv6", &self.has_ipv6)
            .finish()
    }
}

struct Answer {
    server: SocketAddr,
    found: Found,
}

enum Found {
    Records(Vec<IpAddr>),
    NoRecords,
    NxDomain,
}

fn asking_only(server: SocketAddr, timeout: Duration) -> Result<TokioResolver, NetError> {
    let (mut udp, mut tcp) = (ConnectionConfig::udp(), ConnectionConfig::tcp());
    udp.port = server.port();
    tcp.port = server.port();
    let server = NameServerConfig::new(server.ip(), true, vec![udp, tcp]);
    let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
    let mut options = ResolverOpts::default();
    options.timeout = timeout;
    // The resolver counts the rounds itself: another server comes before the same one again.
    options.attempts = 0;
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    let provider = TokioRuntimeProvider::default();
    TokioResolver::builder_with_config(config, provider).with_options(options).build()
}

/// The address, when this is one.
pub(super) fn address_in(data: &RData) -> Option<IpAddr> {
    if let RData::A(a) = data {
        Some(IpAddr::V4(a.0))
    } else if let RData::AAAA(aaaa) = data {
        Some(IpAddr::V6(aaaa.0))
    } else {
        None
    }
}

/// A negative answer comes as an error.
fn read_error(error: &NetError) -> Result<Found, Fault> {
    let code = if let NetError::Dns(net::DnsError::NoRecordsFound(none)) = error {
        none.response_code
    } else if let NetError::Dns(net::DnsError::ResponseCode(code)) = error {
        *code
    } else if let NetError::Timeout = error {
        return Err(Fault::Timeout);
    } else if let NetError::Io(error) = error {
        return Err(Fault::Unusable(error.to_string()));
    } else {
        return Err(Fault::Unusable(error.to_string()));
    };
    if code == ResponseCode::NXDomain {
        return Ok(Found::NxDomain);
    } else if code == ResponseCode::NoError {
        return Ok(Found::NoRecords);
    }
    Err(Fault::Code(mnemonic(code)))
}

fn settle(
    name: &str,
    v4: Result<Answer, Vec<ServerFault>>,
    v6: Result<Answer, Vec<ServerFault>>,
) -> Result<Addresses, DnsError> {
    let mut ips = Vec::new();
    let mut faults = Vec::new();
    let mut empty = None;
    for lookup in [v4, v6] {
        match lookup {
            Ok(Answer { found: Found::Records(found), server }) => {
                ips.extend(found);
                empty = empty.or(Some((server, false)));
            }
            Ok(Answer { found: Found::NoRecords, server }) => {
                empty = empty.or(Some((server, false)));
            }
            Ok(Answer { found: Found::NxDomain, server }) => empty = Some((server, true)),
            Err(others) => {
                for fault in others {
                    if !faults.contains(&fault) {
                        faults.push(fault);
                    }
                }
            }
        }
    }
    let name = name.to_owned();
    let failed = (!faults.is_empty()).then(|| DnsError::Failed { name: name.clone(), faults });
    if !ips.is_empty() {
        return Ok(sorted(ips, failed));
    }
    Err(match (failed, empty) {
        (Some(failed), _) => failed,
        (None, Some((server, true))) => DnsError::NxDomain { name, server },
        (None, Some((server, false))) => DnsError::NoAddress { name, server },
        (None, None) => DnsError::Failed { name, faults: Vec::new() },
    })
}

fn sorted(ips: impl IntoIterator<Item = IpAddr>, error: Option<DnsError>) -> Addresses {
    let all: BTreeSet<IpAddr> = ips.into_iter().collect();
    let mut addresses = Addresses { error, ..Addresses::default() };
    for ip in all {
        match ip {
            IpAddr::V4(v4) => addresses.v4.push(v4),
            IpAddr::V6(v6) => addresses.v6.push(v6),
        }
    }
    addresses
}

/// How many times each server is queried.
const ROUNDS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::name_server::{NameServer, Reply};

    const LONG: Duration = Duration::from_mins(1);
    /// Long enough for an answer on this host, even one of two tries.
    const SHORT: Duration = Duration::from_millis(250);

    fn resolver(servers: &[&NameServer], timeout: Duration) -> Resolver {
        Resolver::new(ResolverOptions {
            servers: servers.iter().map(|server| server.address).collect(),
            overrides: BTreeMap::from([(
                "Pinned.example.com".to_owned(),
                vec!["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()],
            )]),
            timeout,
            ..ResolverOptions::default()
        })
    }

    fn addresses(v4: &[&str], v6: &[&str]) -> Addresses {
        Addresses {
            v4: v4.iter().map(|ip| ip.parse().unwrap()).collect(),
            v6: v6.iter().map(|ip| ip.parse().unwrap()).collect(),
            error: None,
        }
    }

    fn fault(server: &NameServer, record: &str, fault: Fault) -> ServerFault {
        ServerFault { server: server.address.into(), record: record.to_owned(), fault }
    }

    #[tokio::test]
    async fn both_families_are_asked_and_overrides_are_not() {
        let server = NameServer::start(|name, record| match name {
            "www.example.com." => Reply::Addresses(vec![
                "192.0.2.2".parse().unwrap(),
                "192.0.2.1".parse().unwrap(),
                "2001:db8::1".parse().unwrap(),
            ]),
            "alias.example.com." => {
                Reply::Alias("target.example.com.", "192.0.2.1".parse().unwrap())
            }
            "target.example.com." => Reply::Addresses(vec![]),
            _ => panic!("asked for {name} {record}"),
        })
        .await;
        let resolver = resolver(&[&server], LONG);
        let cases = [
            ("www.example.com", addresses(&["192.0.2.1", "192.0.2.2"], &["2001:db8::1"])),
            ("WWW.example.com.", addresses(&["192.0.2.1", "192.0.2.2"], &["2001:db8::1"])),
            ("alias.example.com", addresses(&["192.0.2.1"], &[])),
            ("pinned.EXAMPLE.com", addresses(&["127.0.0.1"], &["::1"])),
        ];
        for (name, expected) in cases {
            assert_eq!(resolver.addresses(name).await, Ok(expected), "{name}");
        }
    }

    #[tokio::test]
    async fn errors_are_distinct_and_name_the_server() {
        let server = NameServer::start(|name, record| match (name, record) {
            ("none.example.com.", _) => Reply::Code(ResponseCode::NXDomain),
            ("broken.example.com.", _) | ("half.example.com.", RecordType::AAAA) => {
                Reply::Code(ResponseCode::ServFail)
            }
            ("refused.example.com.", _) => Reply::Code(ResponseCode::Refused),
            ("half.example.com.", _) => Reply::Addresses(vec!["192.0.2.1".parse().unwrap()]),
            _ => Reply::Addresses(vec![]),
        })
        .await;
        let resolver = resolver(&[&server], LONG);
        let failed = |name: &str, kind: Fault| DnsError::Failed {
            name: name.to_owned(),
            faults: vec![fault(&server, "A", kind.clone()), fault(&server, "AAAA", kind)],
        };
        let code = |code: &str| Fault::Code(code.to_owned());
        let cases = [
            failed("broken.example.com", code("SERVFAIL")),
            failed("refused.example.com", code("REFUSED")),
            DnsError::NxDomain { name: "none.example.com".into(), server: server.address },
            DnsError::NoAddress { name: "empty.example.com".into(), server: server.address },
        ];
        for expected in cases {
            let (DnsError::Failed { name, .. }
            | DnsError::NxDomain { name, .. }
            | DnsError::NoAddress { name, .. }
            | DnsError::BadName { name, .. }) = &expected;
            assert_eq!(resolver.addresses(name).await.as_ref(), Err(&expected));
        }
        let faults = vec![fault(&server, "AAAA", code("SERVFAIL"))];
        let error = Some(DnsError::Failed { name: "half.example.com".into(), faults });
        let half = Addresses { error, ..addresses(&["192.0.2.1"], &[]) };
        assert_eq!(resolver.addresses("half.example.com").await, Ok(half));
        let text = resolver.addresses("none.example.com").await.unwrap_err().to_string();
        let expected =
            format!("none.example.com does not exist (NXDOMAIN from {})", server.address);
        assert_eq!(text, expected);
        let long = "a".repeat(64);
        let bad = resolver.addresses(&long).await;
        assert!(matches!(bad, Err(DnsError::BadName { .. })), "{bad:?}");
    }

    #[tokio::test]
    async fn a_server_that_cannot_be_used_is_the_reason_when_no_other_answers() {
        let unusable = |written: &str, reason: &str| DnsServer::Unusable {
            written: written.to_owned(),
            reason: reason.to_owned(),
        };
        let without = |servers| {
            let unusable = vec![unusable("/etc/resolv.conf", "it lists no name server")];
            Resolver::new(ResolverOptions { servers, unusable, ..ResolverOptions::default() })
        };
        let text = without(vec![]).addresses("www.example.com").await.unwrap_err().to_string();
        let reason = "cannot look up www.example.com: /etc/resolv.conf: it lists no name server";
        assert_eq!(text, reason);
        let recursive = without(vec![]);
        let text = super::super::zone_of(&recursive, "www.example.com").await.unwrap_err();
        assert_eq!(text.to_string(), reason);
        let good =
            NameServer::start(|_, _| Reply::Addresses(vec!["192.0.2.1".parse().unwrap()])).await;
        let found = without(vec![good.address]).addresses("www.example.com").await;
        assert_eq!(found, Ok(addresses(&["192.0.2.1"], &[])));
    }

    #[tokio::test]
    async fn a_server_that_fails_gives_way_to_the_next() {
        let broken = NameServer::start(|_, _| Reply::Code(ResponseCode::ServFail)).await;
        let silent = NameServer::start(|_, _| Reply::Silence).await;
        let name = "www.example.com".to_owned();
        let faults =
            vec![fault(&silent, "A", Fault::Timeout), fault(&silent, "AAAA", Fault::Timeout)];
        let given_up = resolver(&[&silent], SHORT).addresses(&name).await;
        assert_eq!(given_up, Err(DnsError::Failed { name, faults }));
        let good =
            NameServer::start(|_, _| Reply::Addresses(vec!["192.0.2.1".parse().unwrap()])).await;
        let resolver = resolver(&[&broken, &silent, &good], SHORT);
        let found = resolver.addresses("www.example.com").await;
        assert_eq!(found, Ok(addresses(&["192.0.2.1"], &[])));
    }

    #[tokio::test]
    async fn nothing_is_remembered() {
        let count = std::sync::atomic::AtomicU8::new(0);
        let server = NameServer::start(move |_, record| {
            if record == RecordType::AAAA {
                return Reply::Addresses(vec![]);
            }
            let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Reply::Addresses(vec![IpAddr::from([192, 0, 2, n])])
        })
        .await;
        let resolver = resolver(&[&server], LONG);
        for expected in ["192.0.2.0", "192.0.2.1"] {
            let found = resolver.addresses("www.example.com").await;
            assert_eq!(found, Ok(addresses(&[expected], &[])));
        }
    }
}
