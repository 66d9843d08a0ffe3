//! The report of a DNS-01 self-check, server by server, and its verdict.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::Verdict;
use crate::resource::escape;

/// The report of one pass of the DNS-01 self-check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dns01Report {
    /// The domain to validate, without `*.`.
    pub domain: String,
    /// The queried name, at the end of the CNAMEs.
    pub name: String,
    /// The CNAMEs followed.
    #[serde(default)]
    pub aliases: Aliases,
    /// The zone of the name, when its authoritative servers were queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The name that the value was written to, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// One entry per name server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<NameServerReport>,
    /// Warnings about the whole check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The result of the check.
    pub verdict: Verdict,
}

/// The CNAMEs of `_acme-challenge.<domain>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Aliases {
    /// The targets, in order; the last one is the end of the chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<String>,
    /// Whether they come only from a CNAME of `*.<domain>`, which no longer applies to a name as
    /// soon as a record is written at it (RFC 4592 section 2.2.1): then they are not followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_wildcard: bool,
}

/// The responses of one name server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NameServerReport {
    /// Its name, or its address or URL when it has none.
    pub server: String,
    /// One entry per queried address; the last one is the one that responded, if any did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerReport>,
}

/// The response of one address of a name server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerReport {
    /// The address and port, or the URL; `None` when there was none to query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The response.
    pub response: ServerAnswer,
}

/// The result of one query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ServerAnswer {
    /// The name exists, with or without TXT records.
    Records {
        /// Whether the expected value is among them.
        has_value: bool,
        /// The number of other values.
        other_count: usize,
        /// The first few of them, escaped and shortened.
        others: Vec<String>,
        /// The time to live, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<u32>,
        /// Whether the server is authoritative for the zone, or need not be.
        is_authoritative: bool,
    },
    /// NXDOMAIN.
    NxDomain,
    /// An error code such as SERVFAIL or REFUSED.
    Code {
        /// The code.
        code: String,
    },
    /// The server is listed for the zone but not authoritative for it.
    Lame,
    /// No response, or an unreadable one.
    Silent {
        /// What happened.
        why: String,
    },
    /// This host lacks the address family.
    NoRoute {
        /// What happened.
        why: String,
    },
    /// The server's name has no address, so that it cannot be queried.
    NoAddress {
        /// The source of that response.
        why: String,
    },
    /// The lookup of the server's addresses failed.
    LookupFailed {
        /// What happened.
        why: String,
    },
}

impl ServerAnswer {
    /// Whether the address responded, so that no other of the same server needs a query.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Records { .. } | Self::NxDomain | Self::Code { .. } | Self::Lame)
    }
}

/// A server's share of the verdict.
enum Standing {
    HasValue,
    Lacks,
    /// A description that names the server.
    Broken(String),
    Skipped(String),
}

impl AnswerReport {
    /// No server could be queried.
    pub(crate) fn nowhere(response: ServerAnswer) -> Self {
        Self { address: None, response }
    }
}

impl NameServerReport {
    fn standing(&self, name: &str) -> Standing {
        let server = &self.server;
        let (mut faults, mut skipped) = (Vec::new(), Vec::new());
        for AnswerReport { address, response } in &self.answers {
            let at = |why: &str| match address.as_deref() {
                Some(address) if address != server => format!("{address}: {why}"),
                Some(_) | None => why.to_owned(),
            };
            match response {
                ServerAnswer::Records { has_value: true, .. } => return Standing::HasValue,
                ServerAnswer::Records { .. } | ServerAnswer::NxDomain => return Standing::Lacks,
                ServerAnswer::Code { code } => {
                    return Standing::Broken(format!("NS {server} returned {code} for {name}"));
                }
                ServerAnswer::Lame => {
                    let what = format!("NS {server} is not authoritative for {name}");
                    return Standing::Broken(what);
                }
                ServerAnswer::Silent { why } | ServerAnswer::LookupFailed { why } => {
                    faults.push(at(why));
                }
                ServerAnswer::NoRoute { why } | ServerAnswer::NoAddress { why } => {
                    skipped.push(at(why));
                }
            }
        }
        if !faults.is_empty() {
            let faults = faults.join("; ");
            return Standing::Broken(format!("NS {server} did not answer: {faults}"));
        }
        let skipped = if skipped.is_empty() { "no address".to_owned() } else { skipped.join("; ") };
        Standing::Skipped(format!("NS {server} was not queried: {skipped}"))
    }
}

impl Dns01Report {
    /// An empty report.
    pub(crate) fn blank(domain: String, name: String, written: Option<String>) -> Self {
        Self {
            domain,
            name,
            aliases: Aliases::default(),
            zone: None,
            written,
            servers: Vec::new(),
            notes: Vec::new(),
            verdict: Verdict::Passed,
        }
    }

    /// A check that ends before any query.
    pub(crate) fn failed(mut self, reason: String) -> Self {
        self.verdict = Verdict::Failed { reason };
        self
    }

    /// Computes the verdict from the responses.
    pub(crate) fn judged(mut self) -> Self {
        self.verdict = match self.blocking(false) {
            None => Verdict::Passed,
            Some(reason) => Verdict::Failed { reason: reason + &self.detour() },
        };
        self
    }

    /// Whether the CA may validate.
    pub fn has_passed(&self) -> bool {
        self.verdict.has_passed()
    }

    /// Why it failed, in one line, in cert-manager's words if there are any; `None` when it passed.
    pub fn reason(&self) -> Option<&str> {
        self.verdict.reason()
    }

    /// Warnings, one per line.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = self.notes.clone();
        for report in &self.servers {
            let server = &report.server;
            let standing = report.standing(&self.name);
            if let Standing::Skipped(why) = &standing {
                all.push(why.clone());
            }
            for AnswerReport { address, response } in &report.answers {
                let address = address.as_deref().unwrap_or(server);
                if let ServerAnswer::Silent { why } = response
                    && matches!(standing, Standing::HasValue)
                {
                    all.push(format!("NS {server} does not answer at {address}: {why}"));
                }
                let ServerAnswer::Records { has_value, other_count, is_authoritative, .. } =
                    response
                else {
                    continue;
                };
                if *has_value && !is_authoritative {
                    all.push(format!(
                        "NS {server} has the value and is not authoritative for {}",
                        self.name
                    ));
                }
                if *other_count > MANY_OTHERS {
                    all.push(format!(
                        "NS {server} has {other_count} other TXT records for {}: CAs may reject \
                         such a long answer",
                        self.name
                    ));
                }
            }
        }
        all
    }

    /// Why the check would fail once the value is written; `None` when it would pass.
    pub fn obstacle(&self) -> Option<String> {
        if self.servers.is_empty() {
            return self.reason().map(str::to_owned);
        }
        self.blocking(true)
    }

    /// Whether the name is in no zone below a top-level domain, whose servers say that it does not
    /// exist.
    pub fn is_without_zone(&self) -> bool {
        let is_top_level = |zone: &String| !zone.trim_end_matches('.').contains('.');
        let is_missing = |report: &NameServerReport| {
            let mut answers = report.answers.iter().filter(|answer| answer.response.is_answer());
            answers.next().is_some_and(|answer| answer.response == ServerAnswer::NxDomain)
        };
        self.zone.as_ref().is_some_and(is_top_level) && self.servers.iter().any(is_missing)
    }

    /// Why it fails; `is_absent` when no server is expected to have the value.
    fn blocking(&self, is_absent: bool) -> Option<String> {
        let (mut broken, mut lacking, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        let mut has_value = false;
        for report in &self.servers {
            match report.standing(&self.name) {
                Standing::HasValue => has_value = true,
                Standing::Lacks if is_absent => has_value = true,
                Standing::Lacks => lacking.push(report.server.as_str()),
                Standing::Broken(why) => broken.push(why),
                Standing::Skipped(why) => skipped.push(why),
            }
        }
        let of = |count: usize| match self.servers.len() {
            1 => String::new(),
            all => format!("{count} of {all} name servers"),
        };
        if let Some(first) = broken.first() {
            let of = of(broken.len());
            let of = if of.is_empty() { of } else { format!(" ({of})") };
            return Some(format!("{first}{of}"));
        }
        if let Some(first) = lacking.first() {
            let of = of(lacking.len());
            let of = if of.is_empty() { of } else { format!("; {of}") };
            let domain = &self.domain;
            return Some(format!("DNS record for {domain:?} not yet propagated ({first}{of})"));
        }
        if has_value {
            return None;
        }
        let why = skipped.join("; ");
        Some(if why.is_empty() { "there is no name server to ask".to_owned() } else { why })
    }

    /// The value is not at the queried name.
    fn detour(&self) -> String {
        match &self.written {
            Some(written) if *written != self.name => format!(
                "; the value was written at {written}, and CNAMEs point to {}, where cnameStrategy: \
                 Follow would write it",
                self.name
            ),
            Some(_) | None => String::new(),
        }
    }
}

impl fmt::Display for Dns01Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Passed => write!(f, "TXT {}: passed", self.name)?,
            Verdict::Failed { reason } => write!(f, "TXT {}: {reason}", self.name)?,
        }
        self.details().iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// Server, address, answer, TTL, error.
type Row = [String; 5];

impl Dns01Report {
    /// The CNAMEs, the zone and the response of each name server, one per line.
    pub fn details(&self) -> Vec<String> {
        let aliases = self.aliases.chain.iter().map(|target| format!("CNAME to {target}"));
        let zone = self.zone.iter().map(|zone| format!("zone {zone}"));
        let table = self.table();
        let rows = table.lines().map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned());
        aliases.chain(zone).chain(rows).collect()
    }

    /// The name servers, a line for each queried address, below a line of headings; empty
    /// when there are none.
    pub fn table(&self) -> String {
        let rows = self.rows();
        if rows.is_empty() {
            return String::new();
        }
        let head = HEAD.map(ToOwned::to_owned);
        let rows: Vec<&Row> = std::iter::once(&head).chain(&rows).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let line = |row: &&Row| {
            let pad = |(column, cell)| format!("  {cell:<width$}", width = width(column));
            let cells: Vec<String> = row.iter().enumerate().map(pad).collect();
            cells.concat().trim_end().to_owned()
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        lines.join("\n")
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for report in &self.servers {
            let nothing =
                AnswerReport::nowhere(ServerAnswer::NoAddress { why: "no address".to_owned() });
            let answers = if report.answers.is_empty() {
                std::slice::from_ref(&nothing)
            } else {
                &report.answers
            };
            for AnswerReport { address, response } in answers {
                let address = address.as_deref().unwrap_or("-").to_owned();
                let (answer, ttl, error) = cells(response);
                // Names and values are what name servers say.
                let row = [report.server.clone(), address, answer, ttl, error];
                rows.push(row.map(|cell| escape(&cell).into_owned()));
            }
        }
        rows
    }
}

fn cells(response: &ServerAnswer) -> (String, String, String) {
    let dash = || "-".to_owned();
    match response {
        ServerAnswer::Records { has_value, other_count, others, ttl, is_authoritative } => {
            let mut values: Vec<String> = Vec::new();
            if *has_value {
                values.push("the value".to_owned());
            }
            values.extend(others.iter().map(|other| format!("\"{other}\"")));
            let omitted = other_count.saturating_sub(others.len());
            if omitted > 0 {
                values.push(format!("{omitted} more"));
            }
            let answer = if values.is_empty() { "no TXT".to_owned() } else { values.join(", ") };
            let ttl = ttl.map_or_else(dash, |ttl| ttl.to_string());
            let error = if *is_authoritative { "" } else { "not authoritative" };
            (answer, ttl, error.to_owned())
        }
        ServerAnswer::NxDomain => ("no such name".to_owned(), dash(), String::new()),
        ServerAnswer::Code { code } => (dash(), dash(), code.clone()),
        ServerAnswer::Lame => (dash(), dash(), "not authoritative".to_owned()),
        ServerAnswer::Silent { why }
        | ServerAnswer::NoRoute { why }
        | ServerAnswer::NoAddress { why }
        | ServerAnswer::LookupFailed { why } => (dash(), dash(), why.clone()),
    }
}

const HEAD: [&str; 5] = ["NAME SERVER", "ADDRESS", "ANSWER", "TTL", "ERROR"];
/// Above it, responses grow so long that CAs fail to read them.
const MANY_OTHERS: usize = 20;
