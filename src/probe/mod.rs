//! Probes: external checks like those of a CA, made before the CA validates.
//!
//! Every lookup uses one [`Resolver`], never the system's resolver or its hosts file. A probe
//! changes nothing and decides nothing beyond its own report.

mod authority;
mod caa;
mod dns;
mod dns01;
mod dns_error;
mod doh;
mod exchange;
mod fetch;
mod http;
mod locate;
mod network;
mod query;
mod recursive;
mod resolv_conf;
mod server;
mod targets;
mod tls;

#[cfg(test)]
pub(crate) mod lab;
#[cfg(test)]
mod name_server;
#[cfg(test)]
pub(crate) mod tls_server;
#[cfg(test)]
mod web_server;

pub use caa::{Caa, CaaRecord, caa};
pub use dns::{Addresses, Resolver, ResolverOptions};
pub use dns_error::{DnsError, Fault, LookupError, ServerFault};
pub use dns01::{Dns01Request, check_dns01};
pub use http::{CheckOptions, check_http01, explained_by_host};
pub use locate::{Located, locate, zone_of};
pub use network::{MAX_BYTES, Network, NetworkError, is_of_this_host};
pub use server::DnsServer;
pub use tls::{check_tlsalpn01, handshake_explained_by_host};
