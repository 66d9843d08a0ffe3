//! Why a name has no addresses, with each server's failure.

use std::fmt;
use std::net::SocketAddr;

use hickory_proto::op::ResponseCode;
use thiserror::Error;

use super::DnsServer;
use crate::resource::response_code;

/// Why a name gave no addresses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DnsError {
    /// The name does not exist.
    #[error("{name} does not exist (NXDOMAIN from {server})")]
    NxDomain { name: String, server: SocketAddr },
    /// The name exists, without an address.
    #[error("{name} has neither an A nor an AAAA record (according to {server})")]
    NoAddress { name: String, server: SocketAddr },
    /// No server gave an answer.
    #[error("cannot look up {name}: {}", list(faults))]
    Failed {
        name: String,
        /// The failure of each server, without repetitions.
        faults: Vec<ServerFault>,
    },
    /// The name cannot be put into a query.
    #[error("cannot look up {name:?}: {reason}")]
    BadName { name: String, reason: String },
}

/// Why a lookup of something other than addresses failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LookupError {
    /// No server gave an answer.
    #[error("cannot look up {name}: {}", list(faults))]
    Failed {
        name: String,
        /// The failure of each server.
        faults: Vec<ServerFault>,
    },
    /// A CNAME loop; cert-manager's message.
    #[error("Found recursive CNAME record to {target:?} when looking up {name:?}")]
    CnameLoop {
        /// The name that was seen before.
        target: String,
        /// The name whose CNAME points back to it.
        name: String,
    },
    /// The CNAME chain is too long.
    #[error("{name} has a chain of more than {limit} CNAME records")]
    TooManyHops {
        /// The first name of the chain.
        name: String,
        /// How many are followed.
        limit: usize,
    },
    /// No zone holds the name; cert-manager's message.
    #[error("no DNS zone found for {name:?}")]
    NoZone { name: String },
    /// A zone without NS records.
    #[error("the zone {zone} has no NS records")]
    NoServers { zone: String },
    /// The name cannot be put into a query.
    #[error("cannot look up {name:?}: {reason}")]
    BadName { name: String, reason: String },
    /// A server in a manifest cannot be used.
    #[error("cannot use the name server {server:?}: {reason}")]
    BadServer {
        /// As it is written.
        server: String,
        reason: String,
    },
    /// One search reached its limit of queries.
    #[error("more than {limit} DNS queries would be needed")]
    TooManyQueries {
        /// How many are allowed.
        limit: usize,
    },
}

/// The failure of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFault {
    pub server: DnsServer,
    /// The record type of the query; empty when there was none.
    pub record: String,
    pub fault: Fault,
}

impl ServerFault {
    /// The failure of a server that is never asked for any record; `None` for the others.
    pub(super) fn of_unusable(server: &DnsServer) -> Option<Self> {
        let DnsServer::Unusable { reason, .. } = server else { return None };
        let fault = Fault::Unusable(reason.clone());
        Some(Self { server: server.clone(), record: String::new(), fault })
    }
}

impl fmt::Display for ServerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, record, fault } = self;
        match fault {
            Fault::NoRoute(why) | Fault::Unusable(why) if record.is_empty() => {
                write!(f, "{server}: {why}")
            }
            Fault::Timeout => write!(f, "{server} did not answer in time ({record})"),
            Fault::Code(code) => write!(f, "{server} answered {code} ({record})"),
            Fault::NoRoute(why) | Fault::Unusable(why) => write!(f, "{server}: {why} ({record})"),
        }
    }
}

/// The kinds of failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No answer within the timeout.
    Timeout,
    /// An error code such as SERVFAIL or REFUSED.
    Code(String),
    /// This host lacks the server's address family, or a route.
    NoRoute(String),
    /// The server could not be reached, or sent an unreadable answer.
    Unusable(String),
}

fn list(faults: &[ServerFault]) -> String {
    let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
    if texts.is_empty() { "no name server is known for it".to_owned() } else { texts.join(", ") }
}

pub(super) fn code(code: ResponseCode) -> String {
    response_code(code.into())
}
