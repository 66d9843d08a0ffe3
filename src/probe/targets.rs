//! The addresses to which a self-check connects: those of a name, or the address itself.

use std::net::IpAddr;

use futures_util::StreamExt as _;
use futures_util::stream;

use super::Resolver;
use super::dns_error::DnsError;
use crate::resource::{Identifier, Outlook};

/// The addresses, or why there are none.
pub(super) struct Targets {
    addresses: Vec<IpAddr>,
    /// The errors of the lookup, wholly or for one of the two families.
    pub(super) error: Option<String>,
    /// What is to be expected where there are no addresses.
    pub(super) outlook: Outlook,
}

impl Targets {
    pub(super) async fn of(identifier: &Identifier, resolver: &Resolver) -> Self {
        let found = |addresses, error| Self { addresses, error, outlook: Outlook::Open };
        let name = match identifier {
            Identifier::Ip(address) => return found(vec![*address], None),
            Identifier::Dns(name) => name,
        };
        match resolver.addresses(name.base()).await {
            Ok(all) => found(all.iter().collect(), all.error.map(|error| error.to_string())),
            Err(error) => {
                let outlook = match error {
                    DnsError::NxDomain { .. } => Outlook::NoName,
                    DnsError::NoAddress { .. }
                    | DnsError::Failed { .. }
                    | DnsError::BadName { .. } => Outlook::Open,
                };
                Self { outlook, ..found(Vec::new(), Some(error.to_string())) }
            }
        }
    }

    /// The reports on all addresses, made at once and returned in the order of these.
    pub(super) async fn each<F: Future>(&self, check: impl Fn(IpAddr) -> F) -> Vec<F::Output> {
        let checks = stream::iter(&self.addresses).map(|address| check(*address));
        checks.buffered(AT_ONCE).collect().await
    }
}

/// Addresses that are queried at the same time.
const AT_ONCE: usize = 32;
