//! The addresses that a validation connects to, as public CAs do: IPv6 first, with one fallback to
//! IPv4.

use std::net::IpAddr;

use serde_json::Value;

use super::problem::{Problem, ProblemType};
use super::resolver::Resolver;

/// All addresses of a host.
pub(super) struct Addresses(Vec<IpAddr>);

impl Addresses {
    pub(super) async fn of(resolver: &Resolver, host: &str) -> Result<Self, Problem> {
        if let Ok(address) = host.parse() {
            return Ok(Self(vec![address]));
        }
        resolver.addresses(host).await.map(Self).map_err(|error| {
            let detail = format!("looking up A and AAAA for {host}: {error}");
            Problem::new(ProblemType::Dns, detail)
        })
    }

    /// The addresses to try, at most two.
    pub(super) fn tried(&self) -> impl Iterator<Item = IpAddr> {
        let six = self.0.iter().find(|address| address.is_ipv6());
        let four = self.0.iter().find(|address| address.is_ipv4());
        [six, four].into_iter().flatten().copied()
    }

    /// The form in a `validationRecord`.
    pub(super) fn to_json(&self) -> Value {
        self.0.iter().map(IpAddr::to_string).collect()
    }

    /// The problem of a name without addresses.
    pub(super) fn missing(host: &str) -> Problem {
        let detail = format!("no valid A or AAAA records found for {host}");
        Problem::new(ProblemType::Dns, detail)
    }
}
