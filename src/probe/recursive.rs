//! Recursive lookups through a list of servers, queried in their order.
//!
//! No name that a challenge creates is looked up here before it exists (see [`super::authority`]).
//!
//! The first server that answers decides ("no such record" is an answer, SERVFAIL is not); when
//! none does, the error lists the failure of each. Names are lower-case text without a trailing
//! dot.

use std::sync::atomic::{AtomicUsize, Ordering};

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{Name, RData, RecordType};

use super::dns_error::code;
use super::query::{Answer, query};
use super::server::DnsServer;
use super::{Fault, LookupError, Resolver, ServerFault};

/// The servers to query, and the remaining number of queries.
pub(super) struct Recursive<'a> {
    resolver: &'a Resolver,
    servers: Vec<DnsServer>,
    /// The server that answered last: it is queried first, so that a dead one costs its timeout
    /// only once.
    first: AtomicUsize,
    left: AtomicUsize,
}

impl<'a> Recursive<'a> {
    /// Queries the resolver's own servers.
    pub(super) fn new(resolver: &'a Resolver) -> Self {
        Self::with(resolver, resolver.servers().map(DnsServer::Address).collect())
    }

    /// Queries these servers.
    pub(super) fn with(resolver: &'a Resolver, servers: Vec<DnsServer>) -> Self {
        let left = AtomicUsize::new(MAX_QUERIES);
        Self { resolver, servers, first: AtomicUsize::new(0), left }
    }

    /// The resolver whose options apply.
    pub(super) fn resolver(&self) -> &'a Resolver {
        self.resolver
    }

    /// The servers to query.
    pub(super) fn servers(&self) -> &[DnsServer] {
        &self.servers
    }

    /// Looks up one type of record of one name: the answer is NOERROR or NXDOMAIN.
    pub(super) async fn lookup(
        &self,
        name: &str,
        record: RecordType,
    ) -> Result<Answer, LookupError> {
        let query_name = encode(name)?;
        let mut faults = Vec::new();
        if self.servers.is_empty() {
            faults.extend(self.resolver.unusable().iter().filter_map(ServerFault::of_unusable));
        }
        let first = self.first.load(Ordering::Relaxed);
        let (latter, former) = (self.servers.iter().enumerate(), self.servers.iter().enumerate());
        for (index, server) in latter.skip(first).chain(former.take(first)) {
            self.spend(1)?;
            let fault = match query(self.resolver, server, &query_name, record).await {
                Ok(answer) if has_answered(answer.code) => {
                    self.first.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Ok(answer) => Fault::Code(code(answer.code)),
                Err(fault) => fault,
            };
            let record = record.to_string();
            faults.push(ServerFault { server: server.clone(), record, fault });
        }
        Err(LookupError::Failed { name: name.to_owned(), faults })
    }

    /// Counts `queries` that follow.
    pub(super) fn spend(&self, queries: usize) -> Result<(), LookupError> {
        let spent = |left: usize| left.checked_sub(queries);
        let counted = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent);
        counted.map(drop).map_err(|_| LookupError::TooManyQueries { limit: MAX_QUERIES })
    }

    /// The zone that `name` is in: the closest one at or above it, found by SOA.
    pub(super) async fn zone(&self, name: &str) -> Result<String, LookupError> {
        let mut at = name;
        loop {
            let answer = self.lookup(at, RecordType::SOA).await?;
            // A CNAME's owner is not a zone's apex, and the rest of the answer is about its target.
            let is_alias = answer.answers.iter().any(|record| alias(&record.data).is_some());
            if !is_alias && let Some(zone) = start_of_authority(&answer, at) {
                // NXDOMAIN with the root's SOA means that the name is in no zone.
                if zone.is_empty() {
                    break;
                }
                return Ok(zone);
            }
            match at.split_once('.') {
                Some((_, parent)) => at = parent,
                None => break,
            }
        }
        Err(LookupError::NoZone { name: name.to_owned() })
    }

    /// The names of a zone's servers, sorted.
    pub(super) async fn name_servers(&self, zone: &str) -> Result<Vec<String>, LookupError> {
        let answer = self.lookup(zone, RecordType::NS).await?;
        let mut names: Vec<String> = Vec::new();
        for record in answer.answers.iter().filter(|record| text(&record.name) == zone) {
            if let RData::NS(target) = &record.data {
                names.push(text(&target.0));
            }
        }
        names.sort();
        names.dedup();
        if names.is_empty() {
            return Err(LookupError::NoServers { zone: zone.to_owned() });
        }
        Ok(names)
    }
}

fn has_answered(code: ResponseCode) -> bool {
    matches!(code, ResponseCode::NoError | ResponseCode::NXDomain)
}

/// The zone of an answer to an SOA query for `name`. A negative answer carries the SOA of its zone
/// (RFC 2308 section 2).
pub(super) fn start_of_authority(answer: &Answer, name: &str) -> Option<String> {
    let mut found: Option<String> = None;
    for record in answer.answers.iter().chain(&answer.authorities) {
        if record.record_type() != RecordType::SOA {
            continue;
        }
        let owner = text(&record.name);
        let is_closer = found.as_ref().is_none_or(|zone| owner.len() > zone.len());
        if is_closer && is_at_or_below(name, &owner) {
            found = Some(owner);
        }
    }
    found
}

pub(super) fn is_at_or_below(name: &str, zone: &str) -> bool {
    let rest = name.strip_suffix(zone);
    rest.is_some_and(|rest| zone.is_empty() || rest.is_empty() || rest.ends_with('.'))
}

/// The target, when this is a CNAME.
pub(super) fn alias(data: &RData) -> Option<String> {
    if let RData::CNAME(target) = data { Some(text(&target.0)) } else { None }
}

/// A name in the form for a query.
pub(super) fn encode(name: &str) -> Result<Name, LookupError> {
    Name::from_ascii(format!("{name}."))
        .map_err(|error| LookupError::BadName { name: name.to_owned(), reason: error.to_string() })
}

/// A name in the form used outside this module.
pub(super) fn text(name: &Name) -> String {
    normal(&name.to_ascii())
}

/// Lower case, no trailing dot.
pub(super) fn normal(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The limit of one check or search; 32 servers with both families of addresses and a long chain of
/// CNAMEs need half of it.
const MAX_QUERIES: usize = 250;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::ResolverOptions;
    use crate::probe::lab::{Lab, Manner};

    #[tokio::test]
    async fn one_search_has_a_limit_of_queries() {
        let lines = vec!["com SOA".to_owned()];
        let lab = Lab::start(vec![("127.0.0.1", Manner::Recursive, lines)]).await;
        let options =
            ResolverOptions { servers: vec![lab.at("127.0.0.1")], ..ResolverOptions::default() };
        let resolver = Resolver::new(options);
        let left = AtomicUsize::new(2);
        let recursive = Recursive { left, ..Recursive::new(&resolver) };
        for expected in [true, true, false, false] {
            let found = recursive.zone("www.example.com").await;
            let refusal = LookupError::TooManyQueries { limit: MAX_QUERIES };
            assert_eq!(found, if expected { Ok("com".to_owned()) } else { Err(refusal) });
        }
    }

    #[test]
    fn a_zone_ends_at_a_dot() {
        for (name, zone, expected) in [
            ("example.com", "example.com", true),
            ("a.example.com", "example.com", true),
            ("example.com", "", true),
            ("badexample.com", "example.com", false),
            ("com", "example.com", false),
        ] {
            assert_eq!(is_at_or_below(name, zone), expected, "{name} {zone}");
        }
    }
}
