//! Lookups at the servers of zones, of names that no recursive resolver may be asked for: one that
//! the CA asks too would keep the absence of `_acme-challenge.NAME` for as long as the zone says.
//!
//! Only what exists before a challenge is looked up recursively: the zone of the name above, its
//! servers and their addresses. From there referrals lead from server to server (RFC 1034 section
//! 5.3.3).

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{RData, Record, RecordType};

use super::dns::address_in;
use super::dns_error::code;
use super::query::{Answer, query};
use super::recursive::{Recursive, alias, encode, is_at_or_below, start_of_authority, text};
use super::{DnsError, Fault, LookupError, Resolver, ServerFault};

/// A zone and its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) name: String,
    pub(super) servers: Vec<ZoneServer>,
}

/// A server of a zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ZoneServer {
    pub(super) name: String,
    /// The addresses that came with a referral: a server in the delegated zone has no others.
    glue: Vec<IpAddr>,
}

impl ZoneServer {
    /// Its addresses.
    pub(super) async fn addresses(&self, resolver: &Resolver) -> Result<Vec<SocketAddr>, DnsError> {
        let at = |ip| SocketAddr::new(ip, resolver.authoritative_port());
        if !self.glue.is_empty() {
            return Ok(self.glue.iter().copied().map(at).collect());
        }
        Ok(resolver.addresses(&self.name).await?.iter().map(at).collect())
    }
}

/// See the module.
pub(super) struct Authority<'a> {
    recursive: &'a Recursive<'a>,
    /// What did not answer: a dead server costs its timeout only once.
    silent: Mutex<BTreeSet<SocketAddr>>,
}

impl<'a> Authority<'a> {
    /// Looks up zones and addresses through `recursive`, which counts all queries.
    pub(super) fn new(recursive: &'a Recursive<'a>) -> Self {
        Self { recursive, silent: Mutex::default() }
    }

    /// One type of record of one name, without its CNAMEs, and the zone whose server answered.
    pub(super) async fn lookup(
        &self,
        name: &str,
        record: RecordType,
    ) -> Result<(Answer, Zone), LookupError> {
        let mut zone = self.zone_above(name).await?;
        loop {
            let answer = self.ask(&zone, name, record).await?;
            match referral(&answer, &zone.name, name) {
                // Each is longer than the one before, so this ends.
                Some(below) => zone = below,
                None => return Ok((answer, zone)),
            }
        }
    }

    /// The zone that `name` is in.
    pub(super) async fn zone(&self, name: &str) -> Result<Zone, LookupError> {
        let (answer, zone) = self.lookup(name, RecordType::SOA).await?;
        // A CNAME's owner is not a zone's apex, and the rest of the answer is about its target.
        let is_alias = answer.answers.iter().any(|record| alias(&record.data).is_some());
        match start_of_authority(&answer, name).filter(|_| !is_alias) {
            // The server has the delegated zone as well, so that there was no referral.
            Some(below) if below != zone.name && is_at_or_below(&below, &zone.name) => {
                let answer = self.ask(&zone, &below, RecordType::NS).await?;
                let servers = servers(&answer.answers, &below, &answer.additionals);
                let servers = if servers.is_empty() { zone.servers } else { servers };
                Ok(Zone { name: below, servers })
            }
            Some(_) | None => Ok(zone),
        }
    }

    /// The zone of the name above `name`, found recursively.
    pub(super) async fn zone_above(&self, name: &str) -> Result<Zone, LookupError> {
        let above = name.split_once('.').map_or("", |(_, above)| above);
        let found = self.recursive.zone(above).await.map_err(|error| match error {
            LookupError::NoZone { .. } => LookupError::NoZone { name: name.to_owned() },
            error @ (LookupError::Failed { .. }
            | LookupError::CnameLoop { .. }
            | LookupError::TooManyHops { .. }
            | LookupError::NoServers { .. }
            | LookupError::BadName { .. }
            | LookupError::BadServer { .. }
            | LookupError::TooManyQueries { .. }) => error,
        })?;
        let servers = self.recursive.name_servers(&found).await?;
        let servers = servers.into_iter().map(|name| ZoneServer { name, glue: Vec::new() });
        Ok(Zone { name: found, servers: servers.collect() })
    }

    /// The answer of the first server that is authoritative, or refers to the servers below; else
    /// of the first that answers.
    async fn ask(
        &self,
        zone: &Zone,
        name: &str,
        record: RecordType,
    ) -> Result<Answer, LookupError> {
        let query_name = encode(name)?;
        let (mut faults, mut other) = (Vec::new(), None);
        for server in &zone.servers {
            // A and AAAA.
            self.recursive.spend(2)?;
            let resolver = self.recursive.resolver();
            let Ok(addresses) = server.addresses(resolver).await else { continue };
            for address in addresses {
                if self.silent().contains(&address) {
                    continue;
                }
                self.recursive.spend(1)?;
                let server = address.into();
                let fault = match query(resolver, &server, &query_name, record).await {
                    Ok(answer) if is_usable(&answer) => {
                        if answer.is_authoritative || referral(&answer, &zone.name, name).is_some()
                        {
                            return Ok(answer);
                        }
                        other = other.or(Some(answer));
                        break;
                    }
                    Ok(answer) => Fault::Code(code(answer.code)),
                    Err(fault) => {
                        self.silent().insert(address);
                        fault
                    }
                };
                faults.push(ServerFault { server, record: record.to_string(), fault });
            }
        }
        other.ok_or(LookupError::Failed { name: name.to_owned(), faults })
    }

    fn silent(&self) -> MutexGuard<'_, BTreeSet<SocketAddr>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_usable(answer: &Answer) -> bool {
    matches!(answer.code, ResponseCode::NoError | ResponseCode::NXDomain)
}

/// The zone below `zone`, at or above `name`, to whose servers this answer refers.
fn referral(answer: &Answer, zone: &str, name: &str) -> Option<Zone> {
    if answer.is_authoritative || !answer.answers.is_empty() {
        return None;
    }
    let is_server = |record: &&Record| matches!(record.data, RData::NS(_));
    let owners = answer.authorities.iter().filter(is_server).map(|record| text(&record.name));
    let is_below = |owner: &String| {
        owner != zone && is_at_or_below(owner, zone) && is_at_or_below(name, owner)
    };
    let below = owners.filter(is_below).max_by_key(String::len)?;
    let servers = servers(&answer.authorities, &below, &answer.additionals);
    Some(Zone { name: below, servers })
}

/// The servers of a zone among these records, with the addresses that came along.
fn servers(records: &[Record], zone: &str, additionals: &[Record]) -> Vec<ZoneServer> {
    let mut found = Vec::new();
    for record in records.iter().filter(|record| text(&record.name) == zone) {
        let RData::NS(target) = &record.data else { continue };
        let name = text(&target.0);
        let own = additionals.iter().filter(|record| text(&record.name) == name);
        let glue = own.filter_map(|record| address_in(&record.data));
        found.push(ZoneServer { glue: glue.collect(), name });
    }
    found.sort();
    found.dedup();
    found
}
