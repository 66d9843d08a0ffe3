//! Why a name gave no addresses: which server said what.

use std::fmt;
use std::net::SocketAddr;

use hickory_proto::op::ResponseCode;
use thiserror::Error;

use super::DnsServer;

/// Why there is no resolver.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResolverError {
    /// No server was given, and the system names none.
    #[error("cannot read the system's name servers: {reason}")]
    SystemConfiguration {
        /// What is wrong.
        reason: String,
    },
    /// A server cannot be asked.
    #[error("cannot use the name server {server}: {reason}")]
    Server {
        /// The server.
        server: SocketAddr,
        /// What is wrong.
        reason: String,
    },
}

/// Why a name gave no addresses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DnsError {
    /// The name does not exist.
    #[error("{name} does not exist (NXDOMAIN from {server})")]
    NxDomain {
        /// The name.
        name: String,
        /// Who said so.
        server: SocketAddr,
    },
    /// The name exists, without an address.
    #[error("{name} has neither an A nor an AAAA record (says {server})")]
    NoAddress {
        /// The name.
        name: String,
        /// Who said so.
        server: SocketAddr,
    },
    /// No server gave an answer.
    #[error("cannot look up {name}: {}", list(faults))]
    Failed {
        /// The name.
        name: String,
        /// What each server did, without repetitions.
        faults: Vec<ServerFault>,
    },
    /// The name cannot be put into a query.
    #[error("cannot look up {name:?}: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Why something other than addresses was not found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LookupError {
    /// No server gave an answer.
    #[error("cannot look up {name}: {}", list(faults))]
    Failed {
        /// The name.
        name: String,
        /// What each server did.
        faults: Vec<ServerFault>,
    },
    /// CNAMEs lead in a circle; cert-manager's words.
    #[error("Found recursive CNAME record to {target:?} when looking up {name:?}")]
    CnameLoop {
        /// The name that was seen before.
        target: String,
        /// The name whose CNAME leads back to it.
        name: String,
    },
    /// There are more CNAMEs than anybody follows.
    #[error("{name} leads through more than {limit} CNAME records")]
    TooManyHops {
        /// Where they begin.
        name: String,
        /// How many are followed.
        limit: usize,
    },
    /// No zone has the name; cert-manager's words.
    #[error("could not find the start of authority for {name:?}")]
    NoZone {
        /// The name.
        name: String,
    },
    /// A zone without NS records.
    #[error("the zone {zone} has no NS records")]
    NoServers {
        /// The zone.
        zone: String,
    },
    /// The name cannot be put into a query.
    #[error("cannot look up {name:?}: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A server in a manifest cannot be asked.
    #[error("cannot use the name server {server:?}: {reason}")]
    BadServer {
        /// As it is written.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
    /// One search asked as often as is allowed.
    #[error("more than {limit} DNS queries would be needed")]
    TooManyQueries {
        /// How many are allowed.
        limit: usize,
    },
}

/// What one server did instead of answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFault {
    /// The server.
    pub server: DnsServer,
    /// The record type it was asked for.
    pub record: String,
    /// What it did.
    pub fault: Fault,
}

impl fmt::Display for ServerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, record, fault } = self;
        match fault {
            Fault::Timeout => write!(f, "{server} did not answer in time ({record})"),
            Fault::Code(code) => write!(f, "{server} said {code} ({record})"),
            Fault::NoRoute(why) | Fault::Unusable(why) => write!(f, "{server}: {why} ({record})"),
        }
    }
}

/// The ways of not answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing came within the timeout.
    Timeout,
    /// An error code such as SERVFAIL or REFUSED.
    Code(String),
    /// This host lacks the server's address family, or a way there.
    NoRoute(String),
    /// It could not be reached, or sent what cannot be read.
    Unusable(String),
}

fn list(faults: &[ServerFault]) -> String {
    let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
    if texts.is_empty() { "no server to ask".to_owned() } else { texts.join(", ") }
}

/// The mnemonic of a response code, such as SERVFAIL (RFC 1035 section 4.1.1, RFC 2136).
pub(super) fn code(code: ResponseCode) -> String {
    let number = u16::from(code);
    let known = RCODES.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("RCODE {number}"), |(_, word)| (*word).to_owned())
}

const RCODES: [(u16, &str); 11] = [
    (0, "NOERROR"),
    (1, "FORMERR"),
    (2, "SERVFAIL"),
    (3, "NXDOMAIN"),
    (4, "NOTIMP"),
    (5, "REFUSED"),
    (6, "YXDOMAIN"),
    (7, "YXRRSET"),
    (8, "NXRRSET"),
    (9, "NOTAUTH"),
    (10, "NOTZONE"),
];
