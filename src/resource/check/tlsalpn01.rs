//! The report of a tls-alpn-01 self-check, address by address, and its verdict.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::{self, AddressAnswer, OfAddress};
use super::http01::Outlook;
use super::verdict::Verdict;
use crate::resource::Identifier;

/// The report of one pass of the tls-alpn-01 self-check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TlsAlpn01Report {
    /// The name or address to validate.
    pub identifier: Identifier,
    /// The port that was connected to.
    pub port: u16,
    /// One entry per address, IPv4 first.
    pub addresses: Vec<HandshakeReport>,
    /// The errors of the lookup, wholly or for one of the two families.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<String>,
    /// What is to be expected of a failure. Of a run; a record has the reason.
    #[serde(skip)]
    pub outlook: Outlook,
    /// The result of the check.
    pub verdict: Verdict,
}

/// The handshake with one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HandshakeReport {
    /// The address.
    pub address: IpAddr,
    /// The result.
    pub outcome: AddressAnswer<WrongHandshake>,
}

/// A handshake without the certificate of the challenge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WrongHandshake {
    /// What is wrong with it.
    pub why: String,
    /// The certificate of a usual server; `None` where the server refused to show one, or showed that
    /// of another challenge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<ShownCertificate>,
}

/// What a server's certificate says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShownCertificate {
    /// Its first names and addresses, escaped.
    pub names: Vec<String>,
    /// The CN of its issuer, escaped; empty when there is none.
    pub issuer: String,
}

impl fmt::Display for WrongHandshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        let Some(ShownCertificate { names, issuer }) = &self.certificate else { return Ok(()) };
        let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
        write!(f, "; its certificate is for {names}")?;
        if issuer.is_empty() { Ok(()) } else { write!(f, ", issued by {issuer}") }
    }
}

impl OfAddress for HandshakeReport {
    type Wrong = WrongHandshake;

    fn address(&self) -> IpAddr {
        self.address
    }

    fn outcome(&self) -> &AddressAnswer<WrongHandshake> {
        &self.outcome
    }

    fn warnings(&self) -> &[String] {
        &[]
    }
}

impl TlsAlpn01Report {
    /// Whether the CA may validate.
    pub fn has_passed(&self) -> bool {
        self.verdict.has_passed()
    }

    /// Whether the port is not 443, the one that CAs connect to (RFC 8737 section 3).
    pub fn is_at_another_port(&self) -> bool {
        self.port != PORT_OF_CAS
    }

    /// Why it failed, in one line; `None` when it passed.
    pub fn reason(&self) -> Option<&str> {
        self.verdict.reason()
    }

    /// Why it failed, beside the server.
    pub fn cause(&self) -> Option<&str> {
        let reason = self.reason()?;
        Some(reason.strip_prefix(&failed_handshake(&self.server())).unwrap_or(reason))
    }

    /// Host and port.
    pub fn server(&self) -> String {
        server(&self.identifier, self.port)
    }

    /// The verdict, in one line.
    pub fn summary(&self) -> String {
        format!("{}: {}", self.server(), self.cause().unwrap_or("passed"))
    }

    /// Warnings, one per line.
    pub fn warnings(&self) -> Vec<String> {
        address::warnings(&self.addresses, self.dns.as_ref())
    }

    /// Whether the lookup and the responses say more than the verdict.
    pub fn adds_to_its_verdict(&self) -> bool {
        address::add_to_the_verdict(&self.addresses, self.dns.as_ref())
    }

    /// The lookup and the handshake with each address, one per line.
    pub fn details(&self) -> Vec<String> {
        address::details(&self.addresses, self.dns.as_ref())
    }

    /// A check that was not made.
    pub fn not_made(identifier: Identifier, port: u16, reason: String) -> Self {
        let verdict = Verdict::Failed { reason };
        let (addresses, dns, outlook) = (Vec::new(), None, Outlook::Open);
        Self { identifier, port, addresses, dns, outlook, verdict }
    }

    /// Combines the parts and computes the verdict.
    pub(crate) fn judge(
        identifier: Identifier,
        port: u16,
        addresses: Vec<HandshakeReport>,
        dns: Option<String>,
    ) -> Self {
        let failed = failed_handshake(&server(&identifier, port));
        let wrong = |shown: &WrongHandshake| format!("{failed}{shown}");
        let verdict = address::verdict(&addresses, dns.as_deref(), &failed, wrong);
        Self { identifier, port, addresses, dns, outlook: Outlook::Open, verdict }
    }

    /// The servers that have another certificate, or none for this protocol.
    pub(crate) fn wrong_servers(&self) -> impl Iterator<Item = SocketAddr> {
        let is_wrong = |one: &&HandshakeReport| matches!(one.outcome, AddressAnswer::Wrong(_));
        self.addresses.iter().filter(is_wrong).map(|one| SocketAddr::new(one.address, self.port))
    }

    /// The addresses without the certificate.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = IpAddr> {
        address::lacking(&self.addresses)
    }

    /// Of a failed check: this address of the name is none of this host, which would ask from `own`.
    pub(crate) fn elsewhere(self, address: IpAddr, own: Option<IpAddr>) -> Self {
        self.because(Outlook::Open, &address::elsewhere(address, own))
    }

    /// Of a failed check: another program of this host has this address and port.
    pub(crate) fn of_another_program(self, server: SocketAddr) -> Self {
        let why = format!("another program of this host listens on {server}");
        self.because(Outlook::Unserved, &why)
    }

    /// Of a failed check: the certificate is to be had of certctl at these addresses, and `server`, of
    /// this host, has another one.
    pub(crate) fn not_forwarded(self, listeners: &[SocketAddr], server: SocketAddr) -> Self {
        let listeners: Vec<String> = listeners.iter().map(ToString::to_string).collect();
        let listeners = listeners.join(", ");
        let why = format!(
            "the server of this host ({server}) does not forward the connection to certctl \
             ({listeners})"
        );
        self.because(Outlook::Unserved, &why)
    }

    /// Of a failed check: the cause, and whether a wait may end it.
    fn because(mut self, outlook: Outlook, why: &str) -> Self {
        self.verdict.because(why);
        self.outlook = outlook;
        self
    }
}

fn server(identifier: &Identifier, port: u16) -> String {
    match identifier {
        Identifier::Dns(name) => format!("{}:{port}", name.base()),
        Identifier::Ip(address) => SocketAddr::new(*address, port).to_string(),
    }
}

/// How the reason begins, like that of HTTP-01.
fn failed_handshake(server: &str) -> String {
    format!("failed to perform self check TLS handshake '{server}': ")
}

const PORT_OF_CAS: u16 = 443;

impl fmt::Display for TlsAlpn01Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        self.details().iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl fmt::Display for HandshakeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.address)?;
        address::write_outcome(f, &self.outcome, |f, shown| write!(f, "wrong, {shown}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcomes: Vec<AddressAnswer<WrongHandshake>>) -> TlsAlpn01Report {
        let addresses = (1_u8..)
            .zip(outcomes)
            .map(|(n, outcome)| HandshakeReport { address: IpAddr::from([192, 0, 2, n]), outcome });
        let name = Identifier::Dns("www.example.com".parse().unwrap());
        TlsAlpn01Report::judge(name, 443, addresses.collect(), None)
    }

    fn wrong(names: &[&str], issuer: &str) -> AddressAnswer<WrongHandshake> {
        let names = names.iter().map(ToString::to_string).collect();
        let certificate = Some(ShownCertificate { names, issuer: issuer.to_owned() });
        AddressAnswer::Wrong(WrongHandshake { why: "no acme-tls/1".to_owned(), certificate })
    }

    #[test]
    fn one_server_of_another_certificate_blocks_and_an_unreachable_one_does_not() {
        let gone = || AddressAnswer::Unreachable { why: "refused".to_owned() };
        let broken = AddressAnswer::Broken { why: "no TLS".to_owned() };
        let passed = report(vec![gone(), AddressAnswer::Correct]);
        assert_eq!((passed.reason(), passed.cause()), (None, None));
        assert_eq!(passed.warnings(), ["192.0.2.1 cannot be reached: refused"]);
        let tls = "failed to perform self check TLS handshake 'www.example.com:443': ";
        for (outcomes, cause) in [
            (vec![gone()], "192.0.2.1: refused"),
            (vec![AddressAnswer::Correct, broken], "no TLS (192.0.2.2; 1 of 2 addresses)"),
            (
                vec![wrong(&["a.example", "b.example"], "R11")],
                "no acme-tls/1; its certificate is for a.example, b.example, issued by R11 (192.0.2.1)",
            ),
            (vec![wrong(&[], "")], "no acme-tls/1; its certificate is for no name (192.0.2.1)"),
        ] {
            let report = report(outcomes);
            assert_eq!(report.reason(), Some(&*format!("{tls}{cause}")));
            assert_eq!(report.cause(), Some(cause));
        }
    }

    #[test]
    fn a_cause_of_this_host_follows_the_reason() {
        let server = "192.0.2.1:443".parse().unwrap();
        let reason = "no acme-tls/1; its certificate is for no name (192.0.2.1)";
        let report = || report(vec![wrong(&[], "")]);
        assert_eq!(report().wrong_servers().collect::<Vec<_>>(), [server]);
        let listeners = ["127.0.0.1:8443".parse().unwrap()];
        for (report, outlook, cause) in [
            (
                report().of_another_program(server),
                Outlook::Unserved,
                "another program of this host listens on 192.0.2.1:443",
            ),
            (
                report().not_forwarded(&listeners, server),
                Outlook::Unserved,
                "the server of this host (192.0.2.1:443) does not forward the connection to certctl \
                 (127.0.0.1:8443)",
            ),
            (
                report().elsewhere(server.ip(), None),
                Outlook::Open,
                "the name leads to 192.0.2.1, not an address of this host",
            ),
        ] {
            assert_eq!(report.cause(), Some(&*format!("{reason}: {cause}")));
            assert_eq!(report.outlook, outlook);
        }
    }

    /// Records have it.
    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = report(vec![wrong(&["a.example"], "R11"), AddressAnswer::Correct]);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["addresses"],
            serde_json::json!([
                { "address": "192.0.2.1", "outcome": { "wrong": {
                    "why": "no acme-tls/1",
                    "certificate": { "names": ["a.example"], "issuer": "R11" },
                } } },
                { "address": "192.0.2.2", "outcome": "correct" },
            ])
        );
        assert_eq!(serde_json::from_value::<TlsAlpn01Report>(json).unwrap(), report);
    }
}
