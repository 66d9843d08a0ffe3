//! `certctl check dns`: the name of a DNS-01 challenge's TXT record, its current values on each
//! name server, and the CAs that the domain's CAA records allow.

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::dns_issuer;
use super::dns_issuer::{Judged, issuer_lines};
use super::known::{is_domain, known};
use super::page::{endings_of, format_of, lines, print};
use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::render::text::Text;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::resource::dns01::record_name;
use crate::resource::{Aliases, Dns01Report, DnsName, NameServerReport};
use crate::workspace::check::{Caa, CaaRecord, DnsCheck, SelfCheck};

/// `certctl check dns`.
#[derive(Debug, Args)]
pub struct CheckDnsArgs {
    /// The domain; a leading `*.` is ignored.
    #[arg(value_name = "DNSNAME")]
    pub name: String,
}

/// `certctl check dns`.
pub(super) fn check(args: &CheckDnsArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let format = format_of(shell, "check dns")?;
    let usage = |message: &dyn std::fmt::Display| CliError::new(ExitCode::Usage, message);
    let refused = |error| usage(&format_args!("{:?}: {error}", args.name));
    let name: DnsName = args.name.parse().map_err(refused)?;
    on_one_thread(async {
        let known = known(shell, false).await?;
        is_domain(&name, "dns", &known)?;
        let check = DnsCheck::of(&known, &name).await?;
        let judged: Vec<Judged> = check.issuers.iter().map(Judged::of).collect();
        print(shell, format, page(&check), &document(&check, &judged))?;
        Ok(endings_of(check.failures()))
    })
}

/// The servers that `issue` asks, unless they are those of the zone.
fn servers(check: &SelfCheck) -> Option<String> {
    if !check.nameservers.is_empty() {
        let issuers: Vec<&str> = check.issuers.iter().map(String::as_str).collect();
        let (servers, issuers) = (check.nameservers.join(", "), issuers.join(", "));
        return Some(format!("{servers}, the nameservers of the solver ({issuers})"));
    }
    let reason = "recursive servers, because of --dns01-recursive-nameservers-only";
    check.is_recursive_only.then(|| reason.to_owned())
}

fn page(found: &DnsCheck) -> Text {
    let (check, report) = &found.first;
    let mut page = vec![("domain", report.domain.clone())];
    if check.is_over_http() {
        let name = &report.domain;
        let by_http = "HTTP-01, which needs no TXT record";
        page.push(("solver", format!("{by_http} (certctl check http {name})")));
    }
    let first = record_name(&report.domain);
    let chain = [vec![first], report.aliases.chain.clone()].concat();
    page.push(("challenge", chain.join(" -> ")));
    if report.aliases.is_wildcard {
        page.push(("write to", report.name.clone()));
    }
    page.extend(report.zone.clone().map(|zone| ("zone", zone)));
    page.push(("CAA", caa_line(found)));
    page.extend(found.issuers.iter().flat_map(issuer_lines));
    let mut text = section(page, check, report);
    for (check, report) in &found.further {
        text.push("\n");
        text.extend(section(Vec::new(), check, report));
    }
    if let Some(way_out) = way_out(found) {
        text.push("\n");
        text.extend(lines(&[("try", way_out)]));
    }
    text
}

/// Fix of the first problem; `None` without one.
fn way_out(found: &DnsCheck) -> Option<String> {
    if let Some(way_out) = found.issuers.iter().find_map(dns_issuer::way_out) {
        return Some(way_out);
    }
    let (_, report) = &found.first;
    (!found.failures().is_empty()).then(|| format!("dig +trace TXT {}", report.name))
}

fn caa_line(found: &DnsCheck) -> String {
    match &found.caa {
        Ok(Caa { name: None, .. }) => "none, so every CA may issue".to_owned(),
        Ok(Caa { name: Some(name), records }) => {
            let record = |record: &CaaRecord| {
                let critical = if record.is_critical { ", critical" } else { "" };
                format!("{} \"{}\"{critical}", record.tag, record.value)
            };
            let records: Vec<String> = records.iter().map(record).collect();
            format!("{} (of {name})", records.join("; "))
        }
        Err(error) => format!("lookup failed: {error}"),
    }
}

fn document<'a>(found: &'a DnsCheck, issuers: &'a [Judged]) -> DnsDocument<'a> {
    let (check, report) = &found.first;
    let further = found.further.iter();
    DnsDocument {
        domain: &report.domain,
        name: &report.name,
        aliases: &report.aliases,
        zone: report.zone.as_deref(),
        queried: Queried::of(check, report),
        further: further.map(|(check, report)| Queried::of(check, report)).collect(),
        caa: match &found.caa {
            Ok(caa) => FoundCaa::Known(caa),
            Err(error) => FoundCaa::Unknown { error: error.to_string() },
        },
        issuers,
    }
}

/// The part of the page about one self-check, after `page`.
fn section(mut page: Vec<(&'static str, String)>, check: &SelfCheck, report: &Dns01Report) -> Text {
    page.extend(servers(check).map(|servers| ("queried", servers)));
    let error = error_of(report).map(|why| {
        if check.is_over_http() {
            ("DNS-01", format!("would fail: {why}"))
        } else {
            ("error", why.to_owned())
        }
    });
    page.extend(error);
    page.extend(report.warnings().into_iter().map(|warning| ("warning", warning)));
    let text = lines(&page);
    let table = report.table();
    if table.is_empty() { text } else { text.with(&format!("\n{table}\n")) }
}

/// Reason why no name server was queried.
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
    queried: Queried<'a>,
    /// The same for other solvers of the name, which have name servers of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further: Vec<Queried<'a>>,
    caa: FoundCaa<'a>,
    issuers: &'a [Judged],
}

/// Result of a self-check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Queried<'a> {
    servers: &'a [NameServerReport],
    warnings: Vec<String>,
    /// Reason why no name server was queried.
    error: Option<&'a str>,
    /// Reason why the self-check of an issuance would fail.
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
    use crate::resource::FailureClass;
    use crate::workspace::check::testing::check;

    #[tokio::test]
    async fn the_page_shows_the_cname_chain_and_the_values_per_server() {
        let records =
            ["_acme-challenge.example.com CNAME target.example.com", "target.example.com TXT old"];
        let (found, port) = check("*.example.com", &records).await;
        let text = page(&found).to_string().replace(&port.to_string(), "12345");
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
        assert_eq!(text, expected);
        assert_eq!(found.failures(), [FailureClass::Validation], "ns2 is lame");
        let value = serde_json::to_value(document(&found, &[])).unwrap();
        let answer = json!([{
            "address": format!("127.0.0.11:{}", port),
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
        let records = ["_acme-challenge.example.com CNAME _acme-challenge.example.com"];
        let (found, _) = check("example.com", &records).await;
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
        assert_eq!(page(&found).to_string(), expected);
        assert_eq!(found.failures(), [FailureClass::Validation]);
        let (found, _) = check("example.invalid", &[]).await;
        let expected = "\
domain:     example.invalid
challenge:  _acme-challenge.example.invalid
CAA:        none, so every CA may issue
error:      no DNS zone found for \"_acme-challenge.example.invalid\"

try:        dig +trace TXT _acme-challenge.example.invalid
";
        assert_eq!(page(&found).to_string(), expected);
        assert_eq!(found.failures(), [FailureClass::Validation]);
        let (check, report) = found.first;
        let first = (SelfCheck { is_needed: false, ..check }, report);
        let found = DnsCheck { first, ..found };
        let expected = "\
domain:     example.invalid
solver:     HTTP-01, which needs no TXT record (certctl check http example.invalid)
challenge:  _acme-challenge.example.invalid
CAA:        none, so every CA may issue
DNS-01:     would fail: no DNS zone found for \"_acme-challenge.example.invalid\"
";
        assert_eq!(page(&found).to_string(), expected);
        assert_eq!(found.failures(), []);
    }
}
