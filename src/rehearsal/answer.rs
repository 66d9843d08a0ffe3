//! Answers one DNS message (RFC 1034 section 4.3.2, RFC 2308, RFC 6604).
//!
//! Answers keep the case of the query; CNAMEs are followed in the records of this server, which
//! has authority for every name. Records may change at any time, so answers have a TTL of 0.

use std::net::{IpAddr, Ipv4Addr};

use hickory_proto::ProtoError;
use hickory_proto::op::{Edns, Message, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME, NS, SOA, TXT};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

use super::zones::{MAX_ALIASES, Node, Zones, name_server, normal};

/// The answer to a query.
pub(super) fn answer(query: &Message, zones: &Zones) -> Message {
    let mut answer = Message::response(query.metadata.id, query.metadata.op_code);
    answer.metadata.recursion_desired = query.metadata.recursion_desired;
    answer.add_queries(query.queries.iter().cloned());
    if query.edns.is_some() {
        let mut edns = Edns::new();
        edns.set_max_payload(PAYLOAD);
        answer.set_edns(edns);
    }
    let code = match query.queries.as_slice() {
        _ if query.metadata.op_code != OpCode::Query => ResponseCode::NotImp,
        [question] if question.query_class() != DNSClass::IN => ResponseCode::Refused,
        [question] if question.name().is_root() => ResponseCode::Refused,
        [question] => fill(&mut answer, question, zones),
        _ => ResponseCode::FormErr,
    };
    answer.metadata.response_code = code;
    answer
}

/// Adds the records, and returns the response code.
fn fill(answer: &mut Message, question: &Query, zones: &Zones) -> ResponseCode {
    let kind = question.query_type();
    let mut owner = question.name().clone();
    answer.metadata.authoritative = true;
    for _ in 0..=MAX_ALIASES {
        let name = normal(&owner.to_ascii());
        let zone = zones.zone_of(&name);
        let Ok(apex) = Apex::new(zone, zones.serial()) else { return failed(answer) };
        let Some(node) = zones.find(&name) else {
            answer.add_authority(apex.soa());
            return ResponseCode::NXDomain;
        };
        if node.is_broken {
            return failed(answer);
        }
        let mut found = records(&owner, &node);
        if name == zone {
            found.extend([apex.ns(), apex.soa()]);
        }
        found.retain(|record| kind == RecordType::ANY || record.record_type() == kind);
        if let Some(target) = node.alias.as_deref().filter(|_| found.is_empty()) {
            let Ok(target) = absolute(target) else { return failed(answer) };
            answer.add_answers(records(&owner, &node));
            if answer.answers.iter().any(|seen| seen.name == target) {
                return ResponseCode::NoError;
            }
            owner = target;
            continue;
        }
        if found.is_empty() {
            answer.add_authority(apex.soa());
        } else if kind == RecordType::NS {
            answer.add_additional(apex.address());
        }
        answer.add_answers(found);
        return ResponseCode::NoError;
    }
    // The client can continue from the last name.
    ResponseCode::NoError
}

fn failed(answer: &mut Message) -> ResponseCode {
    answer.metadata.authoritative = false;
    answer.answers.clear();
    ResponseCode::ServFail
}

/// All records of a name. A name with a CNAME has no others (RFC 1034 section 3.6.2).
fn records(owner: &Name, node: &Node) -> Vec<Record> {
    let record = |data| Record::from_rdata(owner.clone(), TTL, data);
    if let Some(target) = &node.alias {
        let target = absolute(target);
        return target.map(|target| record(RData::CNAME(CNAME(target)))).into_iter().collect();
    }
    let addresses = node.addresses.iter().flatten().map(|ip| match ip {
        IpAddr::V4(v4) => RData::A(A(*v4)),
        IpAddr::V6(v6) => RData::AAAA(AAAA(*v6)),
    });
    let texts = node.txt.iter().map(|strings| RData::TXT(TXT::new(strings.clone())));
    addresses.chain(texts).map(record).collect()
}

/// The records of a zone itself.
struct Apex {
    zone: Name,
    server: Name,
    serial: u32,
}

impl Apex {
    fn new(zone: &str, serial: u32) -> Result<Self, ProtoError> {
        Ok(Self { zone: absolute(zone)?, server: absolute(&name_server(zone))?, serial })
    }

    fn ns(&self) -> Record {
        Record::from_rdata(self.zone.clone(), TTL, RData::NS(NS(self.server.clone())))
    }

    fn soa(&self) -> Record {
        let (server, mail) = (self.server.clone(), self.server.clone());
        let soa = SOA::new(server, mail, self.serial, 3600, 600, 86_400, TTL);
        Record::from_rdata(self.zone.clone(), TTL, RData::SOA(soa))
    }

    fn address(&self) -> Record {
        let here = RData::A(A(Ipv4Addr::LOCALHOST));
        Record::from_rdata(self.server.clone(), TTL, here)
    }
}

fn absolute(name: &str) -> Result<Name, ProtoError> {
    Name::from_ascii(format!("{name}."))
}

const TTL: u32 = 0;

/// The longest message this server takes over UDP, in bytes.
pub(super) const PAYLOAD: u16 = 4096;
