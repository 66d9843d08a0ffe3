//! `certctl check dns`: the name of a DNS-01 challenge's TXT record, its current values on each
//! name server, and the CAs that the domain's CAA records allow.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures_util::future::{join_all, join3};
use schemars::JsonSchema;
use serde::Serialize;

use super::dns_issuer::{Judged, judge};
use super::known::Known;
use super::names::{Wanting, wanting};
use super::page::{code_of, format_of, lines, written};
use crate::cli::args::CheckDnsArgs;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::probe::{Caa, Dns01Request, LookupError, Resolver, caa, check_dns01};
use crate::resource::{Aliases, Dns01Report, DnsName, FailureClass, NameServerReport, SolverKind};

/// `certctl check dns`.
pub(super) fn check(args: &CheckDnsArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let format = format_of(shell, "check dns")?;
    let usage = |message: &dyn std::fmt::Display| CliError::new(ExitCode::Usage, message);
    let refused = |error| usage(&format_args!("{:?}: {error}", args.name));
    let name: DnsName = args.name.parse().map_err(refused)?;
    on_one_thread(async {
        let known = Known::read(shell, false).await?;
        let settings = known.workspace.settings();
        let resolver = Rc::new(settings.resolver(BTreeMap::new()).await?);
        let solvers = wanting(&known.targets.loaded, &name);
        let checks = self_checks(&solvers, settings.dns01_recursive_nameservers_only);
        let mut findings = Findings::gather(&resolver, &name, checks).await;
        findings.issuers = judge(shell, &known, &resolver, &name, findings.caa.as_ref().ok()).await;
        shell.output.data(&written(format, findings.page(), &findings.document())?)?;
        Ok(code_of(findings.failures()))
    })
}

/// The self-check of some solvers, before anything is presented.
#[derive(Clone, Debug)]
struct SelfCheck {
    /// The issuers with these solvers.
    issuers: BTreeSet<String>,
    nameservers: Vec<String>,
    is_recursive_only: bool,
    /// Whether `issue` checks: not with `waitInsteadOfSelfCheck`.
    is_needed: bool,
}

/// One for each list of name servers that the solvers have, and at least one: the first, and the
/// others.
fn self_checks(solvers: &[Wanting<'_>], is_recursive_only: bool) -> (SelfCheck, Vec<SelfCheck>) {
    let mut checks: Vec<SelfCheck> = Vec::new();
    for wanting in solvers {
        let Some(solver) = wanting.solver else { continue };
        let SolverKind::Dns01(dns01) = &solver.kind else { continue };
        let is_needed = solver.wait_instead_of_self_check.is_none();
        let known = checks.iter_mut().find(|check| check.nameservers == dns01.nameservers);
        if let Some(check) = known {
            check.issuers.insert(wanting.issuer_name());
            check.is_needed |= is_needed;
        } else {
            checks.push(SelfCheck {
                issuers: BTreeSet::from([wanting.issuer_name()]),
                nameservers: dns01.nameservers.clone(),
                is_recursive_only,
                is_needed,
            });
        }
    }
    let mut checks = checks.into_iter();
    let of_no_solver = SelfCheck {
        issuers: BTreeSet::new(),
        nameservers: Vec::new(),
        is_recursive_only,
        is_needed: true,
    };
    (checks.next().unwrap_or(of_no_solver), checks.collect())
}

impl SelfCheck {
    async fn report(self, resolver: &Resolver, domain: &str) -> (Self, Dns01Report) {
        // No value is expected: the report lists the existing values.
        let mut request = Dns01Request::new(domain, "");
        request.nameservers.clone_from(&self.nameservers);
        request.is_recursive_only = self.is_recursive_only;
        request.is_presented = false;
        let report = check_dns01(resolver, &request).await;
        (self, report)
    }

    /// The servers that `issue` asks, unless they are those of the zone.
    fn servers(&self) -> Option<String> {
        if !self.nameservers.is_empty() {
            let issuers: Vec<&str> = self.issuers.iter().map(String::as_str).collect();
            let (servers, issuers) = (self.nameservers.join(", "), issuers.join(", "));
            return Some(format!("{servers}, the nameservers of the solver ({issuers})"));
        }
        let words = "recursive servers, because of --dns01-recursive-nameservers-only";
        self.is_recursive_only.then(|| words.to_owned())
    }
}

struct Findings {
    first: (SelfCheck, Dns01Report),
    further: Vec<(SelfCheck, Dns01Report)>,
    caa: Result<Caa, LookupError>,
    issuers: Vec<Judged>,
}

impl Findings {
    async fn gather(
        resolver: &Resolver,
        name: &DnsName,
        (first, further): (SelfCheck, Vec<SelfCheck>),
    ) -> Self {
        let report = |check: SelfCheck| check.report(resolver, name.base());
        let further = join_all(further.into_iter().map(report));
        let caa = caa(resolver, name.base());
        let (first, further, caa) = join3(report(first), further, caa).await;
        Self { first, further, caa, issuers: Vec::new() }
    }

    /// What would make DNS-01 validation fail: no zone for the record, a name server that does not
    /// serve it, a CAA record that excludes the CA, or a provider that does not work. A setting or
    /// credential that cannot be used ends an issuance before any of these.
    fn failures(&self) -> Vec<FailureClass> {
        let mut failures: Vec<_> = self.issuers.iter().filter_map(Judged::failure).collect();
        if failures.contains(&FailureClass::Precondition) {
            return vec![FailureClass::Precondition];
        }
        let fails = |(check, report): &(SelfCheck, Dns01Report)| {
            check.is_needed && report.obstacle().is_some()
        };
        if std::iter::once(&self.first).chain(&self.further).any(fails) {
            failures.push(FailureClass::Validation);
        }
        failures
    }

    fn page(&self) -> String {
        let (check, report) = &self.first;
        let mut page = vec![("domain", report.domain.clone())];
        let first = format!("_acme-challenge.{}", report.domain);
        let chain = [vec![first], report.aliases.chain.clone()].concat();
        page.push(("challenge", chain.join(" -> ")));
        if report.aliases.is_wildcard {
            page.push(("write to", report.name.clone()));
        }
        page.extend(report.zone.clone().map(|zone| ("zone", zone)));
        page.push(("CAA", self.caa_line()));
        for judged in &self.issuers {
            page.push(("issuer", judged.to_string()));
            page.extend(judged.provider_line().map(|line| ("", line)));
        }
        let further = self.further.iter().map(|(check, report)| section(Vec::new(), check, report));
        let sections: Vec<String> =
            std::iter::once(section(page, check, report)).chain(further).collect();
        let way_out = self.way_out().map(|way_out| format!("\n{}", lines(&[("try", way_out)])));
        sections.join("\n") + &way_out.unwrap_or_default()
    }

    /// What leads on from the first thing that is wrong; `None` where nothing is.
    fn way_out(&self) -> Option<String> {
        if let Some(way_out) = self.issuers.iter().find_map(Judged::way_out) {
            return Some(way_out);
        }
        let (_, report) = &self.first;
        (!self.failures().is_empty()).then(|| format!("dig +trace TXT {}", report.name))
    }

    fn caa_line(&self) -> String {
        match &self.caa {
            Ok(Caa { name: None, .. }) => "none, so every CA may issue".to_owned(),
            Ok(Caa { name: Some(name), records }) => {
                let record = |record: &crate::probe::CaaRecord| {
                    let critical = if record.is_critical { ", critical" } else { "" };
                    format!("{} \"{}\"{critical}", record.tag, record.value)
                };
                let records: Vec<String> = records.iter().map(record).collect();
                format!("{} (of {name})", records.join("; "))
            }
            Err(error) => format!("lookup failed: {error}"),
        }
    }

    fn document(&self) -> DnsDocument<'_> {
        let (check, report) = &self.first;
        DnsDocument {
            domain: &report.domain,
            name: &report.name,
            aliases: &report.aliases,
            zone: report.zone.as_deref(),
            asked: Queried::of(check, report),
            further: self
                .further
                .iter()
                .map(|(check, report)| Queried::of(check, report))
                .collect(),
            caa: match &self.caa {
                Ok(caa) => FoundCaa::Known(caa),
                Err(error) => FoundCaa::Unknown { error: error.to_string() },
            },
            issuers: &self.issuers,
        }
    }
}

/// The part of the page about one self-check, after `page`.
fn section(
    mut page: Vec<(&'static str, String)>,
    check: &SelfCheck,
    report: &Dns01Report,
) -> String {
    page.extend(check.servers().map(|servers| ("queried", servers)));
    page.extend(error_of(report).map(|why| ("error", why.to_owned())));
    page.extend(report.warnings().into_iter().map(|warning| ("warning", warning)));
    let text = lines(&page);
    let table = report.table();
    if table.is_empty() { text } else { format!("{text}\n{table}\n") }
}

/// Why no name server was queried.
fn error_of(report: &Dns01Report) -> Option<&str> {
    report.reason().filter(|_| report.servers.is_empty())
}

/// Where the TXT record of a DNS-01 challenge belongs, and what prevents validation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct DnsDocument<'a> {
    /// Without `*.`.
    domain: &'a str,
    /// The name of the record, behind all CNAMEs.
    name: &'a str,
    aliases: &'a Aliases,
    zone: Option<&'a str>,
    #[serde(flatten)]
    asked: Queried<'a>,
    /// The same for other solvers of the name, which have name servers of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further: Vec<Queried<'a>>,
    caa: FoundCaa<'a>,
    issuers: &'a [Judged],
}

/// One self-check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Queried<'a> {
    servers: &'a [NameServerReport],
    warnings: Vec<String>,
    /// Why no name server was queried.
    error: Option<&'a str>,
    /// Why the self-check of an issuance would fail.
    obstacle: Option<String>,
}

impl<'a> Queried<'a> {
    fn of(check: &SelfCheck, report: &'a Dns01Report) -> Self {
        Self {
            servers: &report.servers,
            warnings: report.warnings(),
            error: error_of(report),
            obstacle: report.obstacle().filter(|_| check.is_needed),
        }
    }
}

/// The CAA records, or why they could not be read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum FoundCaa<'a> {
    Known(&'a Caa),
    Unknown { error: String },
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::probe::ResolverOptions;
    use crate::probe::lab::{Lab, Manner};

    const COMMON: [&str; 9] = [
        "com SOA",
        "net SOA",
        "example.com SOA",
        "example.com CAA issue letsencrypt.org",
        "example.com CAA issuewild! ;",
        "example.com NS ns1.example.net",
        "example.com NS ns2.example.net",
        "ns1.example.net A 127.0.0.11",
        "ns2.example.net A 127.0.0.12",
    ];

    async fn findings(name: &str, more: &[&str]) -> (Findings, Lab) {
        let lines: Vec<String> = COMMON.iter().chain(more).map(|&line| line.to_owned()).collect();
        let lab = Lab::start(vec![
            ("127.0.0.1", Manner::Recursive, lines.clone()),
            ("127.0.0.11", Manner::Honest, lines),
            ("127.0.0.12", Manner::Lame, vec![]),
        ])
        .await;
        let resolver = Resolver::new(ResolverOptions {
            servers: vec![lab.at("127.0.0.1")],
            authoritative_port: lab.port,
            ..ResolverOptions::default()
        });
        let checks = self_checks(&[], false);
        let found = Findings::gather(&resolver.unwrap(), &name.parse().unwrap(), checks).await;
        (found, lab)
    }

    #[tokio::test]
    async fn the_page_shows_the_cname_chain_and_the_values_per_server() {
        let more =
            ["_acme-challenge.example.com CNAME target.example.com", "target.example.com TXT old"];
        let (found, lab) = findings("*.example.com", &more).await;
        let page = found.page().replace(&lab.port.to_string(), "12345");
        let expected = "\
domain:     example.com
challenge:  _acme-challenge.example.com -> target.example.com
zone:       example.com
CAA:        issue \"letsencrypt.org\"; issuewild \";\", critical (of example.com)

  NAME SERVER      ADDRESS           ANSWER  TTL  ERROR
  ns1.example.net  127.0.0.11:12345  \"old\"   60
  ns2.example.net  127.0.0.12:12345  -       -    not authoritative

try:        dig +trace TXT target.example.com
";
        assert_eq!(page, expected);
        assert_eq!(found.failures(), [FailureClass::Validation], "ns2 is lame");
        let value = serde_json::to_value(found.document()).unwrap();
        let answer = json!([{
            "address": format!("127.0.0.11:{}", lab.port),
            "response": { "records": {
                "hasValue": false,
                "otherCount": 1,
                "others": ["old"],
                "ttl": 60,
                "isAuthoritative": true,
            } },
        }]);
        assert_eq!(value["servers"][0]["answers"], answer);
        assert_eq!(value["caa"]["name"], "example.com");
        assert_eq!(value["aliases"]["chain"], json!(["target.example.com"]));
        assert_eq!((&value["zone"], &value["error"]), (&json!("example.com"), &Value::Null));
    }

    #[tokio::test]
    async fn errors_are_shown_and_would_fail_validation() {
        let more = ["_acme-challenge.example.com CNAME _acme-challenge.example.com"];
        let (found, _lab) = findings("example.com", &more).await;
        let name = "_acme-challenge.example.com";
        let expected = format!(
            "\
domain:     example.com
challenge:  {name}
CAA:        issue \"letsencrypt.org\"; issuewild \";\", critical (of example.com)
error:      Found recursive CNAME record to \"{name}\" when looking up \"{name}\"

try:        dig +trace TXT {name}
"
        );
        assert_eq!(found.page(), expected);
        assert_eq!(found.failures(), [FailureClass::Validation]);
        let (found, _lab) = findings("example.invalid", &[]).await;
        let expected = "\
domain:     example.invalid
challenge:  _acme-challenge.example.invalid
CAA:        none, so every CA may issue
error:      could not find the start of authority for \"_acme-challenge.example.invalid\"

try:        dig +trace TXT _acme-challenge.example.invalid
";
        assert_eq!(found.page(), expected);
        assert_eq!(found.failures(), [FailureClass::Validation]);
    }
}
