//! The report of an HTTP-01 self-check, address by address, and its verdict.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::{self, AddressAnswer, OfAddress};
use super::verdict::Verdict;
use crate::resource::{Identifier, Token};

/// The report of one pass of the HTTP-01 self-check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Http01Report {
    /// The name or address to validate.
    pub identifier: Identifier,
    /// The requested URL.
    pub url: String,
    /// One entry per address, IPv4 first.
    pub addresses: Vec<AddressReport>,
    /// The errors of the lookup, wholly or for one of the two families.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<String>,
    /// What is to be expected of a failure. Of a run; a record has the reason.
    #[serde(skip)]
    pub outlook: Outlook,
    /// The result of the check.
    pub verdict: Verdict,
}

/// Whether time may end the failure of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outlook {
    /// It may.
    #[default]
    Open,
    /// The name does not exist: its record is on its way, or was forgotten, or the name is mistyped.
    NoName,
    /// It does not: nothing on this host serves the webroot, or forwards to the listener.
    Unserved,
}

/// The response of one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddressReport {
    /// The first address.
    pub address: IpAddr,
    /// The response.
    pub outcome: AddressAnswer<WrongResponse>,
    /// The targets of the redirects followed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<String>,
    /// Warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A response that is not the key authorization with status 200.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WrongResponse {
    /// The HTTP status.
    pub status: u16,
    /// The beginning of the body, escaped, at most 120 characters; empty after a redirect.
    pub first_bytes: String,
    /// The server that responded after all redirects.
    pub remote: SocketAddr,
}

impl OfAddress for AddressReport {
    type Wrong = WrongResponse;

    fn address(&self) -> IpAddr {
        self.address
    }

    fn outcome(&self) -> &AddressAnswer<WrongResponse> {
        &self.outcome
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl Http01Report {
    /// Whether the CA may validate.
    pub fn has_passed(&self) -> bool {
        self.verdict.has_passed()
    }

    /// Whether the port is not 80, the one that CAs connect to (RFC 8555 section 8.3).
    pub fn is_at_another_port(&self) -> bool {
        let host = self.url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let port = host.and_then(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
        port.is_some_and(|port| port != 80)
    }

    /// Why it failed, in one line; `None` when it passed.
    pub fn reason(&self) -> Option<&str> {
        self.verdict.reason()
    }

    /// Why it failed, beside the URL.
    pub fn cause(&self) -> Option<&str> {
        let reason = self.reason()?;
        Some(reason.strip_prefix(&failed_request(&self.url)).unwrap_or(reason))
    }

    /// The verdict, in one line.
    pub fn summary(&self) -> String {
        format!("{}: {}", self.url, self.cause().unwrap_or("passed"))
    }

    /// Warnings, one per line.
    pub fn warnings(&self) -> Vec<String> {
        address::warnings(&self.addresses, self.dns.as_ref())
    }

    /// Combines the parts and computes the verdict.
    pub(crate) fn judge(
        identifier: Identifier,
        url: String,
        key_authorization: &str,
        addresses: Vec<AddressReport>,
        dns: Option<String>,
    ) -> Self {
        let wrong = |shown: &WrongResponse| match shown.status {
            200 => {
                format!(
                    "did not get expected response {key_authorization:?} when querying endpoint"
                )
            }
            status => format!("wrong status code '{status}', expected '200'"),
        };
        let failed = failed_request(&url);
        let verdict = address::verdict(&addresses, dns.as_deref(), &failed, wrong);
        Self { identifier, url, addresses, dns, outlook: Outlook::Open, verdict }
    }

    /// The servers that responded with something else than the key authorization, and did not fail
    /// themselves (status 5xx). Another certctl, or a proxy, of which a warning is, is none.
    pub(crate) fn wrong_servers(&self) -> impl Iterator<Item = SocketAddr> {
        self.addresses.iter().filter_map(|report| match &report.outcome {
            AddressAnswer::Wrong(shown) if shown.status < 500 && report.warnings.is_empty() => {
                Some(shown.remote)
            }
            AddressAnswer::Wrong(_)
            | AddressAnswer::Correct
            | AddressAnswer::Broken { .. }
            | AddressAnswer::Unreachable { .. } => None,
        })
    }

    /// The addresses that could not be connected to, where none has a response.
    pub(crate) fn silent(&self) -> impl Iterator<Item = IpAddr> {
        address::silent(&self.addresses)
    }

    /// The addresses without the response. Another certctl, or a proxy, of which a warning is, is none.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = IpAddr> {
        address::lacking(&self.addresses)
    }

    /// Of a failed check: this address of the name is none of this host, which would ask from `own`.
    pub(crate) fn elsewhere(self, address: IpAddr, own: Option<IpAddr>) -> Self {
        self.because(Outlook::Open, &address::elsewhere(address, own))
    }

    /// Of a failed check: the response is in this webroot, and `server`, of this host, has another one.
    pub(crate) fn not_served(self, path: &str, server: SocketAddr) -> Self {
        let target = self.redirect_to(server);
        let target = target.map(|target| format!(" at {target}")).unwrap_or_default();
        let why = format!(
            "the web server of this host ({server}) has no server block for this name that serves \
             {path}{target}"
        );
        self.because(Outlook::Unserved, &why)
    }

    /// Of a failed check with a made-up token, which a server is to answer with this thumbprint: that it
    /// has the thumbprint of another account.
    pub(crate) fn of_any_token(self, token: &Token, thumbprint: &str) -> Self {
        let start = format!("{token}.");
        let other = self.addresses.iter().find_map(|report| match &report.outcome {
            AddressAnswer::Wrong(wrong) => wrong.first_bytes.strip_prefix(&start),
            AddressAnswer::Correct
            | AddressAnswer::Broken { .. }
            | AddressAnswer::Unreachable { .. } => None,
        });
        let Some(other) = other.map(str::trim_end) else { return self };
        let why = format!(
            "the server answers for an account with the thumbprint {other}, and that of this one is \
             {thumbprint}"
        );
        self.because(Outlook::Unserved, &why)
    }

    /// Of a failed check: the response is to be had of certctl at these addresses, and `server`, of this
    /// host, has another one.
    pub(crate) fn not_forwarded(self, listeners: &[String], server: SocketAddr) -> Self {
        let listeners = listeners.join(", ");
        let why = format!(
            "the server of this host ({server}) does not forward the request to certctl ({listeners})"
        );
        self.because(Outlook::Unserved, &why)
    }

    /// Of a failed check: the response is in this webroot, and this address, of this host, has no
    /// server.
    pub(crate) fn without_server(self, path: &str, server: SocketAddr) -> Self {
        let why = format!("no web server of this host listens on {server} to serve {path}");
        self.because(Outlook::Unserved, &why)
    }

    /// Where the request was redirected to, the last time, before this server had a wrong response.
    pub(crate) fn redirect_to(&self, server: SocketAddr) -> Option<&str> {
        let is_its = |report: &&AddressReport| match &report.outcome {
            AddressAnswer::Wrong(shown) => shown.remote == server,
            AddressAnswer::Correct
            | AddressAnswer::Broken { .. }
            | AddressAnswer::Unreachable { .. } => false,
        };
        self.addresses.iter().find(is_its)?.redirects.last().map(String::as_str)
    }

    /// Of a failed check: the cause, and whether a wait may end it.
    fn because(mut self, outlook: Outlook, why: &str) -> Self {
        self.verdict.because(why);
        self.outlook = outlook;
        self
    }
}

/// How the reason begins when there was no answer, in cert-manager's words.
fn failed_request(url: &str) -> String {
    format!("failed to perform self check GET request '{url}': ")
}

impl Http01Report {
    /// Whether the lookup and the responses say more than the verdict.
    pub fn adds_to_its_verdict(&self) -> bool {
        address::add_to_the_verdict(&self.addresses, self.dns.as_ref())
            || self.addresses.iter().any(|report| !report.redirects.is_empty())
    }

    /// The lookup and the response of each address, one per line.
    pub fn details(&self) -> Vec<String> {
        address::details(&self.addresses, self.dns.as_ref())
    }
}

impl fmt::Display for Http01Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        self.details().iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl fmt::Display for AddressReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.address)?;
        address::write_outcome(f, &self.outcome, |f, shown| {
            write!(f, "wrong, status {}", shown.status)?;
            if self.redirects.is_empty() {
                let body = &shown.first_bytes;
                match title_of(body) {
                    Some(title) => write!(f, ", page \"{title}\"")?,
                    None => write!(f, ", body \"{body}\"")?,
                }
            }
            write!(f, " from {}", shown.remote)
        })?;
        for redirect in &self.redirects {
            write!(f, ", redirected to {redirect}")?;
        }
        for warning in &self.warnings {
            write!(f, " (warning: {warning})")?;
        }
        Ok(())
    }
}

/// The title of a page of HTML, whose markup tells a person nothing.
fn title_of(body: &str) -> Option<&str> {
    // It has the length of the body: only letters of ASCII change.
    let start = body.to_ascii_lowercase().find(TITLE)?.checked_add(TITLE.len())?;
    let title = body.get(start..)?.split('<').next()?;
    (!title.is_empty()).then_some(title)
}

const TITLE: &str = "<title>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shown_by_its_title() {
        let shown = |body: &str| {
            let remote = "192.0.2.9:80".parse().unwrap();
            let first_bytes = body.to_owned();
            let outcome = AddressAnswer::Wrong(WrongResponse { status: 404, first_bytes, remote });
            let (redirects, warnings) = (vec![], vec![]);
            AddressReport { address: remote.ip(), outcome, redirects, warnings }.to_string()
        };
        for (body, expected) in [
            ("<html>\\r\\n<head><TITLE>404 Not Found</title></head>", "page \"404 Not Found\""),
            ("<!DOCTYPE HTML><title>404 Not Fou", "page \"404 Not Fou\""),
            ("<title></title>x", "body \"<title></title>x\""),
            ("no such file", "body \"no such file\""),
        ] {
            let expected = format!("192.0.2.9: wrong, status 404, {expected} from 192.0.2.9:80");
            assert_eq!(shown(body), expected);
        }
    }

    /// A server that fails, or is restarted, may serve the response later.
    #[test]
    fn a_server_that_fails_itself_has_no_wrong_response() {
        let servers = |status, warnings: &[&str]| {
            let remote = "192.0.2.9:80".parse().unwrap();
            let first_bytes = String::new();
            let outcome = AddressAnswer::Wrong(WrongResponse { status, first_bytes, remote });
            let address = remote.ip();
            let warnings = warnings.iter().map(|one| (*one).to_owned()).collect();
            let report = AddressReport { address, outcome, redirects: vec![], warnings };
            let name = Identifier::Ip(address);
            Http01Report::judge(name, "u".to_owned(), "key", vec![report], None)
                .wrong_servers()
                .count()
        };
        assert_eq!([200, 301, 404, 500, 503].map(|one| servers(one, &[])), [1, 1, 1, 0, 0]);
        assert_eq!(servers(404, &["another certctl answered"]), 0);
    }

    #[test]
    fn one_wrong_address_blocks_and_an_unreachable_one_does_not() {
        let wrong = |status| {
            let remote = "192.0.2.9:80".parse().unwrap();
            AddressAnswer::Wrong(WrongResponse { status, first_bytes: String::new(), remote })
        };
        let broken = || AddressAnswer::Broken { why: "a circle".to_owned() };
        let gone = || AddressAnswer::Unreachable { why: "refused".to_owned() };
        let get = "failed to perform self check GET request 'u'";
        let unexpected = "did not get expected response \"key\" when querying endpoint";
        let cases = [
            (vec![AddressAnswer::Correct], None, None),
            (vec![gone(), AddressAnswer::Correct], None, None),
            (vec![AddressAnswer::Correct], Some("AAAA: SERVFAIL"), None),
            (vec![wrong(200)], None, Some(format!("{unexpected} (192.0.2.0)"))),
            (
                vec![gone(), wrong(404), AddressAnswer::Correct],
                None,
                Some(
                    "wrong status code '404', expected '200' (192.0.2.1; 1 of 3 addresses)".into(),
                ),
            ),
            (
                vec![AddressAnswer::Correct, broken()],
                None,
                Some(format!("{get}: a circle (192.0.2.1; 1 of 2 addresses)")),
            ),
            (
                vec![gone(), gone()],
                None,
                Some(format!("{get}: 192.0.2.0: refused; 192.0.2.1: refused")),
            ),
            (vec![], Some("NXDOMAIN"), Some(format!("{get}: NXDOMAIN"))),
        ];
        for (outcomes, dns, expected) in cases {
            let addresses = (0_u8..).zip(outcomes).map(|(n, outcome)| AddressReport {
                address: IpAddr::from([192, 0, 2, n]),
                outcome,
                redirects: vec![],
                warnings: vec![],
            });
            let name = Identifier::Ip(IpAddr::from([192, 0, 2, 0]));
            let (addresses, dns) = (addresses.collect(), dns.map(str::to_owned));
            let found = Http01Report::judge(name, "u".to_owned(), "key", addresses, dns).verdict;
            let expected = expected.map_or(Verdict::Passed, |reason| Verdict::Failed { reason });
            assert_eq!(found, expected);
        }
    }
}
