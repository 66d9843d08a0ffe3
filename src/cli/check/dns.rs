//! `certctl check dns`: the name of a DNS-01 challenge's TXT record, its current values on each
//! name server, and the CAs that the domain's CAA records allow.

use std::collections::BTreeMap;

use std::rc::Rc;

use schemars::JsonSchema;
use serde::Serialize;

use super::dns_issuer::{Judged, judge};
use super::known::Known;
use super::page::{code_of, format_of, lines, written};
use crate::cli::args::CheckDnsArgs;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::probe::{Caa, Dns01Request, LookupError, Resolver, caa, check_dns01};
use crate::resource::{
    Aliases, Dns01Report, DnsName, FailureClass, NameServerReport, ServerAnswer,
};

/// `certctl check dns`.
pub(super) fn check(args: &CheckDnsArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let format = format_of(shell, "check dns")?;
    let usage = |message: &dyn std::fmt::Display| CliError::new(ExitCode::Usage, message);
    let refused = |error| usage(&format_args!("{:?}: {error}", args.name));
    let name: DnsName = args.name.parse().map_err(refused)?;
    on_one_thread(async {
        let known = Known::read(shell, false).await?;
        let resolver = Rc::new(known.workspace.settings().resolver(BTreeMap::new()).await?);
        let mut findings = Findings::gather(&resolver, &name).await;
        findings.issuers = judge(shell, &known, &resolver, &name, findings.caa.as_ref().ok()).await;
        shell.output.data(&written(format, findings.page(), &findings.document())?)?;
        Ok(code_of(findings.failures()))
    })
}

struct Findings {
    report: Dns01Report,
    caa: Result<Caa, LookupError>,
    issuers: Vec<Judged>,
}

impl Findings {
    async fn gather(resolver: &Resolver, name: &DnsName) -> Self {
        // No value is expected: the report lists the existing values.
        let request = Dns01Request::new(name.base(), "");
        let asked =
            futures_util::future::join(check_dns01(resolver, &request), caa(resolver, name.base()));
        let (report, caa) = asked.await;
        Self { report, caa, issuers: Vec::new() }
    }

    /// Why no name server was queried.
    fn error(&self) -> Option<&str> {
        self.report.reason().filter(|_| self.report.servers.is_empty())
    }

    /// What would make DNS-01 validation fail: no zone for the record, a listed name server that is
    /// not authoritative, a CAA record that excludes the CA, or a provider that does not work.
    fn failures(&self) -> Vec<FailureClass> {
        let is_blocking = self.error().is_some()
            || self.report.servers.iter().any(is_broken)
            || self.issuers.iter().any(Judged::is_blocking);
        is_blocking.then_some(FailureClass::Validation).into_iter().collect()
    }

    fn page(&self) -> String {
        let report = &self.report;
        let mut page = vec![("domain", report.domain.clone())];
        let first = format!("_acme-challenge.{}", report.domain);
        let chain = [vec![first], report.aliases.chain.clone()].concat();
        page.push(("challenge", chain.join(" -> ")));
        if report.aliases.is_wildcard {
            page.push(("write to", report.name.clone()));
        }
        page.extend(report.zone.clone().map(|zone| ("zone", zone)));
        page.push(("CAA", self.caa_line()));
        page.extend(self.issuers.iter().map(|judged| ("issuer", judged.to_string())));
        page.extend(self.error().map(|why| ("error", why.to_owned())));
        page.extend(report.warnings().into_iter().map(|warning| ("warning", warning)));
        let text = lines(&page);
        let table = report.table();
        if table.is_empty() { text } else { format!("{text}\n{table}\n") }
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
        let report = &self.report;
        DnsDocument {
            domain: &report.domain,
            name: &report.name,
            aliases: &report.aliases,
            zone: report.zone.as_deref(),
            servers: &report.servers,
            warnings: report.warnings(),
            error: self.error(),
            caa: match &self.caa {
                Ok(caa) => FoundCaa::Known(caa),
                Err(error) => FoundCaa::Unknown { error: error.to_string() },
            },
            issuers: &self.issuers,
        }
    }
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
    servers: &'a [NameServerReport],
    warnings: Vec<String>,
    /// Why no name server was queried.
    error: Option<&'a str>,
    caa: FoundCaa<'a>,
    issuers: &'a [Judged],
}

/// The CAA records, or why they could not be read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum FoundCaa<'a> {
    Known(&'a Caa),
    Unknown { error: String },
}

/// Whether no address of a name server is authoritative for the name. Addresses of a family that
/// this host has no route to do not count.
fn is_broken(server: &NameServerReport) -> bool {
    let speaks = |said: &ServerAnswer| match said {
        ServerAnswer::Records { is_authoritative, .. } => *is_authoritative,
        ServerAnswer::NxDomain | ServerAnswer::NoRoute { .. } => true,
        ServerAnswer::Code { .. }
        | ServerAnswer::Lame
        | ServerAnswer::Silent { .. }
        | ServerAnswer::NoAddress { .. }
        | ServerAnswer::LookupFailed { .. } => false,
    };
    !server.answers.is_empty() && !server.answers.iter().any(|answer| speaks(&answer.said))
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
        let found = Findings::gather(&resolver.unwrap(), &name.parse().unwrap()).await;
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
";
        assert_eq!(page, expected);
        assert_eq!(found.failures(), [FailureClass::Validation], "ns2 is lame");
        let value = serde_json::to_value(found.document()).unwrap();
        let answer = json!([{
            "address": format!("127.0.0.11:{}", lab.port),
            "said": { "records": {
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
";
        assert_eq!(found.page(), expected);
        assert_eq!(found.failures(), [FailureClass::Validation]);
    }
}
