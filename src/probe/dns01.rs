//! The DNS-01 self-check: one pass over the name servers of the zone that holds the TXT record (RFC
//! 8555 section 8.4), after all CNAMEs, as a CA does it.
//!
//! | a name server | effect |
//! | --- | --- |
//! | has the value, maybe among others | right |
//! | lacks the value, or answers NXDOMAIN | blocks: not yet propagated |
//! | answers an error code, or does not serve the zone | blocks |
//! | does not answer from any of its addresses | blocks |
//! | is in an address family that this host lacks, or has no address | is skipped with a warning |
//!
//! One answering address of a server is enough, and at least one server must have the value. With
//! name servers of the solver's own, or with the recursive ones only, the check queries all of
//! those instead.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{RData, RecordType};
use tokio::time::{Instant, timeout_at};

use super::authority::{Authority, Zone, ZoneServer};
use super::dns_error::code;
use super::locate::{follow, follow_recursively};
use super::query::{Answer, query};
use super::recursive::{Recursive, alias, encode, normal, text};
use super::server::DnsServer;
use super::{DnsError, Fault, LookupError, Resolver, doh};
use crate::resource::dns01::record_name;
use crate::resource::{
    Aliases, AnswerReport, Dns01Report, NameServerReport, ServerAnswer, base_of,
};

/// The expected record, and the servers to query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dns01Request {
    /// The domain to validate; `*.` is ignored.
    pub domain: String,
    /// The expected TXT value; an empty one is never found, so that the report shows the values
    /// there.
    pub value: String,
    /// `dns01.nameservers` of the solver, `host:port` or the URL of a DNS-over-HTTPS service; when
    /// there are any, only these are queried.
    pub nameservers: Vec<String>,
    /// Whether to query the resolver's servers instead of those of the zone
    /// (`--dns01-recursive-nameservers-only`).
    pub is_recursive_only: bool,
    /// The name that the value was written to; the failure mentions CNAMEs that point elsewhere.
    pub written: Option<String>,
    /// Whether the value is there already. If not, recursive servers are not asked for the record,
    /// whose absence they would remember, but for the zones that it belongs to.
    pub is_presented: bool,
    /// How long the whole pass may take.
    pub time_limit: Duration,
}

impl Dns01Request {
    /// Queries the zone's own servers, for a minute at most.
    pub fn new(domain: &str, value: &str) -> Self {
        Self {
            domain: domain.to_owned(),
            value: value.to_owned(),
            nameservers: Vec::new(),
            is_recursive_only: false,
            written: None,
            is_presented: true,
            time_limit: Duration::from_mins(1),
        }
    }
}

/// Queries all relevant name servers in parallel and waits for all.
pub async fn check_dns01(resolver: &Resolver, request: &Dns01Request) -> Dns01Report {
    let deadline = Instant::now() + request.time_limit;
    let domain = normal(base_of(&request.domain));
    let written = request.written.as_deref().map(normal);
    let mut report = Dns01Report::blank(domain.clone(), record_name(&domain), written);
    let servers = match timeout_at(deadline, choose(resolver, request)).await {
        Ok(Ok(servers)) => servers,
        Ok(Err(error)) => return report.failed(error.to_string()),
        Err(_) => return report.failed(out_of_time(request)),
    };
    let targets = match timeout_at(deadline, plan(&servers, request, &mut report)).await {
        Ok(Ok(targets)) => targets,
        Ok(Err(error)) => return report.failed(error.to_string()),
        Err(_) => return report.failed(out_of_time(request)),
    };
    let question = Question {
        recursive: &servers.recursive,
        name: report.name.clone(),
        value: &request.value,
        is_presented: request.is_presented,
    };
    let answers = stream::iter(targets).map(async |target| {
        let mut answers = Vec::new();
        if timeout_at(deadline, question.ask(&target, &mut answers)).await.is_err() {
            answers.push(AnswerReport::nowhere(ServerAnswer::Silent { why: out_of_time(request) }));
        }
        NameServerReport { server: target.server, answers }
    });
    report.servers = answers.buffered(MAX_SERVERS).collect().await;
    report.judged()
}

fn out_of_time(request: &Dns01Request) -> String {
    format!("the lookups did not finish within {} s", request.time_limit.as_secs_f32())
}

/// One name server, and how it is reached.
struct Target {
    server: String,
    reach: Reach,
}

enum Reach {
    /// By the addresses of its name; it must be authoritative.
    Authoritative(ZoneServer),
    /// At these.
    Known(Vec<DnsServer>),
}

/// The recursive servers for the CNAMEs, and each of the solver's servers when there are any.
struct Servers<'a> {
    recursive: Recursive<'a>,
    own: Vec<(String, Vec<DnsServer>)>,
}

async fn choose<'a>(
    resolver: &'a Resolver,
    request: &Dns01Request,
) -> Result<Servers<'a>, LookupError> {
    if request.nameservers.is_empty() {
        return Ok(Servers { recursive: Recursive::new(resolver), own: Vec::new() });
    }
    let (mut all, mut own) = (Vec::new(), Vec::new());
    for written in &request.nameservers {
        let bad = |reason| LookupError::BadServer { server: written.clone(), reason };
        let found = reach(resolver, written).await.map_err(bad)?;
        all.extend(found.iter().cloned());
        own.push((written.clone(), found));
    }
    Ok(Servers { recursive: Recursive::with(resolver, all), own })
}

/// A server as a manifest writes it.
async fn reach(resolver: &Resolver, written: &str) -> Result<Vec<DnsServer>, String> {
    if written.contains("://") {
        doh::parse(written)?;
        return Ok(vec![DnsServer::Https(written.to_owned())]);
    }
    if let Ok(address) = written.parse::<SocketAddr>() {
        return Ok(vec![address.into()]);
    }
    if let Ok(ip) = written.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, DNS_PORT).into()]);
    }
    let (host, port) = match written.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| "not host:port".to_owned())?),
        None => (written, DNS_PORT),
    };
    let found = resolver.addresses(host).await.map_err(|error| error.to_string())?;
    Ok(found.iter().map(|ip| SocketAddr::new(ip, port).into()).collect())
}

/// Finds the name and the servers to query for it. The recursive servers are asked for the name only
/// when the report is about them.
async fn plan(
    servers: &Servers<'_>,
    request: &Dns01Request,
    report: &mut Dns01Report,
) -> Result<Vec<Target>, LookupError> {
    let recursive = &servers.recursive;
    let authority = Authority::new(recursive);
    let is_recursive = request.is_recursive_only || !servers.own.is_empty();
    let (name, aliases) = if is_recursive && request.is_presented {
        follow_recursively(recursive, &report.domain).await?
    } else {
        match follow(&authority, &report.domain).await {
            // Recursive servers may be the only ones that can be reached.
            Err(LookupError::Failed { .. }) if is_recursive => {
                (report.name.clone(), Aliases::default())
            }
            // The table of the servers shows what each answered.
            Err(LookupError::Failed { name, .. }) if name == report.name => {
                (name, Aliases::default())
            }
            followed => followed?,
        }
    };
    if is_recursive && !request.is_presented {
        for name in std::iter::once(&report.name).chain(&aliases.chain) {
            recursive.lookup(above(name), RecordType::SOA).await?;
        }
    }
    if let Aliases { is_wildcard: true, chain } = &aliases {
        let target = chain.first().map_or("", String::as_str);
        report.notes.push(format!(
            "the CNAME to {target} comes from *.{}: it no longer applies once the value is written",
            report.domain
        ));
    }
    (report.name, report.aliases) = (name, aliases);
    let known = |(server, reach)| Target { server, reach: Reach::Known(reach) };
    let mut targets: Vec<Target> = if !servers.own.is_empty() {
        servers.own.iter().cloned().map(known).collect()
    } else if request.is_recursive_only {
        let all = recursive.servers().iter();
        all.map(|server| known((server.to_string(), vec![server.clone()]))).collect()
    } else {
        let zone = match authority.zone(&report.name).await {
            Err(LookupError::Failed { name, .. }) if name == report.name => {
                authority.zone_above(&report.name).await?
            }
            found => found?,
        };
        let Zone { name, servers } = zone;
        report.zone = Some(name);
        let target = |server: ZoneServer| Target {
            server: server.name.clone(),
            reach: Reach::Authoritative(server),
        };
        servers.into_iter().map(target).collect()
    };
    if targets.len() > MAX_SERVERS {
        let count = targets.len();
        report.notes.push(format!("there are {count} name servers; {MAX_SERVERS} were queried"));
        targets.truncate(MAX_SERVERS);
    }
    Ok(targets)
}

/// The name above, which exists before the record does.
fn above(name: &str) -> &str {
    name.split_once('.').map_or("", |(_, above)| above)
}

struct Question<'a> {
    recursive: &'a Recursive<'a>,
    name: String,
    value: &'a str,
    is_presented: bool,
}

impl Question<'_> {
    /// Queries the addresses in turn until one answers; `answers` is kept on a timeout.
    async fn ask(&self, target: &Target, answers: &mut Vec<AnswerReport>) {
        let (addresses, is_authority) = match &target.reach {
            Reach::Known(addresses) => (addresses.clone(), false),
            Reach::Authoritative(server) => match self.addresses(server).await {
                Ok(addresses) => (addresses, true),
                Err(response) => return answers.push(AnswerReport::nowhere(response)),
            },
        };
        for address in addresses.iter().take(MAX_ADDRESSES) {
            let response = self.ask_address(address, is_authority).await;
            let is_answer = response.is_answer();
            answers.push(AnswerReport { address: Some(address.to_string()), response });
            if is_answer {
                return;
            }
        }
    }

    async fn addresses(&self, server: &ZoneServer) -> Result<Vec<DnsServer>, ServerAnswer> {
        let failed = |error: &dyn ToString| ServerAnswer::LookupFailed { why: error.to_string() };
        // A and AAAA.
        self.recursive.spend(2).map_err(|error| failed(&error))?;
        match server.addresses(self.recursive.resolver()).await {
            Ok(found) => Ok(found.into_iter().map(DnsServer::Address).collect()),
            Err(error @ (DnsError::NxDomain { .. } | DnsError::NoAddress { .. })) => {
                Err(ServerAnswer::NoAddress { why: error.to_string() })
            }
            Err(error @ (DnsError::Failed { .. } | DnsError::BadName { .. })) => {
                Err(failed(&error))
            }
        }
    }

    async fn ask_address(&self, server: &DnsServer, is_authority: bool) -> ServerAnswer {
        let failed = |error: LookupError| ServerAnswer::LookupFailed { why: error.to_string() };
        let is_about_the_zone = !is_authority && !self.is_presented;
        let (name, record) = if is_about_the_zone {
            (above(&self.name), RecordType::SOA)
        } else {
            (self.name.as_str(), RecordType::TXT)
        };
        let name = match self.recursive.spend(1).and_then(|()| encode(name)) {
            Ok(name) => name,
            Err(error) => return failed(error),
        };
        match query(self.recursive.resolver(), server, &name, record).await {
            Ok(answer)
                if is_about_the_zone && !(answer.is_authoritative || answer.is_recursive) =>
            {
                ServerAnswer::Lame
            }
            Ok(answer) => self.read(&answer, is_authority),
            Err(Fault::NoRoute(why)) => ServerAnswer::NoRoute { why },
            Err(Fault::Timeout) => ServerAnswer::Silent { why: "no answer in time".to_owned() },
            Err(Fault::Unusable(why) | Fault::Code(why)) => ServerAnswer::Silent { why },
        }
    }

    fn read(&self, answer: &Answer, is_authority: bool) -> ServerAnswer {
        if answer.code == ResponseCode::NXDomain {
            return ServerAnswer::NxDomain;
        } else if answer.code != ResponseCode::NoError {
            return ServerAnswer::Code { code: code(answer.code) };
        }
        let found = texts(answer, &self.name);
        let is_value = |text: &[u8]| !text.is_empty() && text == self.value.as_bytes();
        let has_value = found.iter().any(|(text, _)| is_value(text));
        let is_authoritative = !is_authority || answer.is_authoritative;
        if !is_authoritative && !has_value {
            return ServerAnswer::Lame;
        }
        let others = found.iter().filter(|(text, _)| !is_value(text));
        ServerAnswer::Records {
            has_value,
            other_count: others.clone().count(),
            others: others.take(MAX_SHOWN).map(|(text, _)| shorten(text)).collect(),
            ttl: found.iter().map(|(_, ttl)| *ttl).min(),
            is_authoritative,
        }
    }
}

/// The TXT records of `name`, after CNAMEs within the answer, with their TTLs. The strings of a
/// record are concatenated (RFC 7208 section 3.3 defines that for SPF; CAs do the same).
fn texts(answer: &Answer, name: &str) -> Vec<(Vec<u8>, u32)> {
    let mut owners = vec![name.to_owned()];
    for record in &answer.answers {
        if let Some(target) = alias(&record.data).filter(|_| owners.contains(&text(&record.name))) {
            owners.push(target);
        }
    }
    let mut found = Vec::new();
    for record in answer.answers.iter().filter(|record| owners.contains(&text(&record.name))) {
        if let RData::TXT(strings) = &record.data {
            found.push((strings.txt_data.concat(), record.ttl));
        }
    }
    found
}

fn shorten(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut short: String = text.escape_debug().take(MAX_SHOWN_CHARS).collect();
    if text.escape_debug().count() > MAX_SHOWN_CHARS {
        short.push('…');
    }
    short
}

const DNS_PORT: u16 = 53;
const MAX_SERVERS: usize = 32;
/// Addresses of one server that are tried.
const MAX_ADDRESSES: usize = 8;
/// Foreign values of one server that a report keeps.
const MAX_SHOWN: usize = 3;
const MAX_SHOWN_CHARS: usize = 24;

#[cfg(test)]
mod tests;
