//! `certctl check http`: the addresses of a name, whether the listener can bind, and the response
//! at the HTTP-01 challenge URL (RFC 8555 section 8.3).

use std::fmt;

use clap::Args;
use futures_util::{StreamExt as _, stream};
use schemars::JsonSchema;
use serde::Serialize;

use super::known::{is_domain, known};
use super::page::{endings_of, format_of, lines, print};
use super::served::{
    CORRECT, ListenerItem, NOT_KNOWN, addresses_line, free_port, listener_line, named, other_port,
    verdict_line,
};
use crate::cli::error::CliError;
use crate::cli::exit::Ending;
use crate::cli::render::text::Text;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::cli::signal::cleaned_up_at_signal;
use crate::cli::words::fix;
use crate::resource::{DnsName, Fix, Http01Report, Obstacle, Outlook, Setting, Settings};
use crate::workspace::Settings as RunSettings;
use crate::workspace::check::{HttpCheck, ListenError, PortError};

/// `certctl check http`.
#[derive(Debug, Args)]
pub struct CheckHttpArgs {
    /// The domain.
    #[arg(value_name = "DNSNAME")]
    pub name: String,
}

/// `certctl check http`.
pub(super) fn check(args: &CheckHttpArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let format = format_of(shell, "check http")?;
    let name = named(&args.name)?;
    on_one_thread(async {
        let known = known(shell, false).await?;
        is_domain(&name, "http", &known)?;
        let check = cleaned_up_at_signal(HttpCheck::of(&known, &name)).await?;
        print(shell, format, page(&check), &document(&check))?;
        Ok(endings_of(check.failures()))
    })
}

/// True if the challenges of a name are answered, as `check http` says it.
pub(in crate::cli) struct Trial {
    pub(in crate::cli) name: DnsName,
    pub(in crate::cli) verdict: String,
    pub(in crate::cli) ending: Tried,
}

/// See [`Trial`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli) enum Tried {
    Served,
    /// A run does not wait for it: the cause is on this host.
    UnservedHere,
    Unserved,
    /// The name has no addresses.
    Unresolved,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.verdict)
    }
}

/// Tries the webroot of these settings at each of these names at once, or the listener at one after the
/// other; `None` where that is not possible.
pub(in crate::cli) fn trials(
    shell: &Shell,
    settings: &Settings,
    names: &[DnsName],
) -> Vec<Option<Trial>> {
    let Ok(run) = shell.settings() else { return Vec::new() };
    let tried = names.iter().map(|name| trial_in_run(&run, settings, name));
    let at_once = if settings.http01_webroot.is_some() { names.len().max(1) } else { 1 };
    let all = stream::iter(tried).buffered(at_once).collect();
    on_one_thread(async { Ok(cleaned_up_at_signal(all).await) }).unwrap_or_default()
}

/// Tries the webroot of these settings, or the listener; `None` where that is not possible.
pub(in crate::cli) async fn trial_in_run(
    run: &RunSettings,
    settings: &Settings,
    name: &DnsName,
) -> Option<Trial> {
    let check = HttpCheck::with(run, settings, name).await.ok().filter(|check| check.is_served)?;
    let ending = match &check.addresses {
        _ if check.failures().is_empty() => Tried::Served,
        Err(_) => Tried::Unresolved,
        Ok(_) if check.report.outlook == Outlook::Unserved => Tried::UnservedHere,
        Ok(_) => Tried::Unserved,
    };
    Some(Trial { name: name.clone(), verdict: verdict(&check), ending })
}

fn page(check: &HttpCheck) -> Text {
    let listener = match &check.listener {
        None if check.webroot.is_some() => "not used: the Certificate has a webroot".to_owned(),
        None => "not used: a server is to answer any token".to_owned(),
        Some(listener) => listener_line(listener, &check.sharers),
    };
    let mut page = vec![
        ("name", check.name.to_string()),
        ("addresses", addresses_line(&check.addresses)),
        ("listener", listener),
    ];
    match &check.webroot {
        Some((path, Ok(()))) => {
            page.push(("webroot", format!("wrote a test file below {path} and removed it")));
        }
        Some((_, Err(Obstacle { fact, .. }))) => page.push(("webroot", fact.clone())),
        None => {}
    }
    page.push(("verdict", verdict(check)));
    if check.report.has_passed() {
        page.push(("", NOT_KNOWN.to_owned()));
    }
    if !check.report.addresses.is_empty() {
        // Of a failure, the line of an address says all that the verdict does.
        let failed = || check.report.url.clone();
        let has_passed = check.report.has_passed();
        page.push(("queried", if has_passed { check.report.summary() } else { failed() }));
        page.extend(check.report.details().into_iter().map(|line| ("", format!("  {line}"))));
    }
    page.extend(other_port("http", "http01", &check.name, check.port, PORT_OF_CAS));
    page.extend(way_out(check).map(|way_out| ("try", way_out)));
    lines(&page)
}

/// Fix of the first problem; `None` without one.
fn way_out(check: &HttpCheck) -> Option<String> {
    if check.failures().is_empty() {
        return None;
    }
    match (&check.webroot, &check.listener) {
        (Some((_, Err(obstacle))), _) => obstacle.fix.as_ref().map(fix::worded),
        (None, Some(Err(PortError::Listen(error)))) => Some(fix::worded(&way_out_of(error))),
        (None, Some(Err(PortError::Address(_)))) => Some(fix::worded(&FREE_PORT)),
        (Some(_) | None, _) if check.addresses.is_err() => {
            Some(format!("publish an A or AAAA record of {}", check.name))
        }
        (Some(_) | None, _) if check.report.outlook == Outlook::Unserved => {
            let is_silent = check.report.silent().next().is_some();
            let fix = if is_silent { Fix::Set(Setting::Webroot) } else { FREE_PORT };
            Some(fix::worded(&fix))
        }
        (Some(_) | None, _) => {
            let (folder, _) = check.report.url.rsplit_once('/')?;
            Some(format!("curl -v {folder}/"))
        }
    }
}

/// Returns whether a challenge is answered over a redirect to https.
fn is_redirected(check: &HttpCheck) -> bool {
    let mut redirects = check.report.addresses.iter().flat_map(|address| &address.redirects);
    redirects.any(|target| target.starts_with("https:"))
}

/// RFC 8555 section 8.3 recommends that CAs follow redirects.
const REDIRECT: &str = "Let's Encrypt follows it, but other CAs may not (certctl help port-80)";

fn verdict(check: &HttpCheck) -> String {
    if check.report.has_passed() && is_redirected(check) {
        return format!("{CORRECT}, over a redirect to https: {REDIRECT}");
    }
    let cause = check.report.cause();
    verdict_line(check.is_served, cause, check.addresses.as_ref().err())
}

fn document(check: &HttpCheck) -> HttpDocument<'_> {
    HttpDocument {
        name: check.name.to_string(),
        addresses: check.addresses.as_deref().ok(),
        error: check.addresses.as_ref().err().map(ToString::to_string),
        listener: ListenerItem::of(check.listener.as_ref(), &check.sharers),
        webroot: check
            .webroot
            .as_ref()
            .map(|(path, put)| WebrootItem { path, error: put.as_ref().err().map(|e| &e.fact) }),
        served: check.is_served,
        passed: check.report.has_passed(),
        report: &check.report,
    }
}

/// True if this host receives the correct response to an HTTP-01 challenge at the name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct HttpDocument<'a> {
    name: String,
    /// The addresses of the name.
    addresses: Option<&'a [String]>,
    /// Reason why the name has no addresses.
    error: Option<String>,
    listener: ListenerItem<'a>,
    /// The folder of `certctl/http01-webroot`.
    webroot: Option<WebrootItem<'a>>,
    /// True if certctl served a test token during the check.
    served: bool,
    /// True if this host received the correct response; a CA's requests come from elsewhere.
    passed: bool,
    report: &'a Http01Report,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct WebrootItem<'a> {
    path: &'a str,
    /// Reason why tokens cannot be written there.
    error: Option<&'a String>,
}

/// Fix for a listener that cannot listen.
pub(in crate::cli) fn way_out_of(error: &ListenError) -> Fix {
    free_port(PORT_OF_CAS, error)
}

/// RFC 8555 section 8.3.
const PORT_OF_CAS: u16 = 80;
const FREE_PORT: Fix = Fix::FreePort { port: PORT_OF_CAS, is_denied: false };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{AddressAnswer, AddressReport, Identifier, WrongResponse};

    /// A check of a webroot at an address that responds like this.
    fn check(outcome: AddressAnswer<WrongResponse>, redirects: &[&str]) -> HttpCheck {
        let (name, address) = ("www.example.com".parse::<DnsName>(), "127.0.0.1".parse());
        let (name, address) = (name.unwrap(), address.unwrap());
        let redirects = redirects.iter().map(|target| (*target).to_owned()).collect();
        let addresses = vec![AddressReport { address, outcome, redirects, warnings: Vec::new() }];
        let identifier = Identifier::Dns(name.clone());
        HttpCheck {
            name,
            addresses: Ok(vec![address.to_string()]),
            listener: None,
            sharers: Vec::new(),
            webroot: Some(("/srv".to_owned(), Ok(()))),
            port: 80,
            is_served: true,
            report: Http01Report::judge(identifier, "http://u/t".into(), "key", addresses, None),
        }
    }

    fn wrong() -> HttpCheck {
        let remote = "127.0.0.1:80".parse().unwrap();
        let first_bytes = String::new();
        check(AddressAnswer::Wrong(WrongResponse { status: 404, first_bytes, remote }), &[])
    }

    #[test]
    fn a_wrong_answer_leads_to_its_url_and_a_port_that_is_taken_to_the_ways_out() {
        let unserved = wrong();
        assert_eq!(verdict(&unserved), "wrong status code '404', expected '200' (127.0.0.1)");
        assert_eq!(way_out(&unserved).unwrap(), "curl -v http://u/");
        let (addr, holder) = ("[::]:80".parse().unwrap(), None);
        let taken = PortError::Listen(ListenError::InUse { addr, holder });
        let taken = HttpCheck { webroot: None, listener: Some(Err(taken)), ..unserved };
        assert_eq!(way_out(&taken).unwrap(), "certctl help port-80");
    }

    #[test]
    fn a_cause_on_this_host_is_said_as_a_run_says_it() {
        let found = wrong();
        let report = found.report.not_served("/srv", "127.0.0.1:80".parse().unwrap());
        let found = HttpCheck { report, ..wrong() };
        let cause = "the web server of this host (127.0.0.1:80) has no server block for this name that \
                     serves /srv";
        assert!(verdict(&found).ends_with(cause), "{}", verdict(&found));
        assert_eq!(way_out(&found).unwrap(), "certctl help port-80");
    }

    #[test]
    fn a_challenge_that_is_redirected_is_answered_as_far_as_a_ca_follows() {
        let of = |target: &str| verdict(&check(AddressAnswer::Correct, &[target]));
        assert_eq!(of("http://www.example.com/t"), CORRECT);
        let secure = of("https://www.example.com/t");
        assert_eq!(secure, format!("{CORRECT}, over a redirect to https: {REDIRECT}"));
    }
}
