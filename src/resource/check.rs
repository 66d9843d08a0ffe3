//! The report of one pass of a self-check, by the challenge's type.

mod address;
mod dns01;
mod http01;
mod tlsalpn01;
mod verdict;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use address::AddressAnswer;
pub use dns01::{Aliases, AnswerReport, Dns01Report, NameServerReport, ServerAnswer};
pub use http01::{AddressReport, Http01Report, Outlook, WrongResponse};
pub use tlsalpn01::{HandshakeReport, ShownCertificate, TlsAlpn01Report, WrongHandshake};
pub use verdict::Verdict;

/// The report of one pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckReport {
    /// Of an HTTP-01 challenge (RFC 8555 section 8.3).
    Http01(Http01Report),
    /// Of a DNS-01 challenge (RFC 8555 section 8.4).
    Dns01(Dns01Report),
    /// Of a tls-alpn-01 challenge (RFC 8737 section 3).
    TlsAlpn01(TlsAlpn01Report),
}

impl CheckReport {
    /// Whether the CA may validate.
    pub fn has_passed(&self) -> bool {
        self.verdict().has_passed()
    }

    /// Why it failed, in one line; `None` when it passed.
    pub fn reason(&self) -> Option<&str> {
        self.verdict().reason()
    }

    /// Whether it failed by what time alone rarely ends: no address answers as it should, or
    /// no zone of the name, and no server of it, can be asked. A record that is missing in a zone
    /// takes its time.
    pub fn is_obstructed(&self) -> bool {
        !self.has_passed()
            && match self {
                Self::Http01(_) | Self::TlsAlpn01(_) => true,
                Self::Dns01(report) => report.obstacle().is_some() || report.is_without_zone(),
            }
    }

    /// Whether time may end its failure.
    pub fn outlook(&self) -> Outlook {
        match self {
            Self::Http01(report) => report.outlook,
            Self::Dns01(_) => Outlook::Open,
            Self::TlsAlpn01(report) => report.outlook,
        }
    }

    /// The same for people, who see what was asked beside it.
    pub fn cause(&self) -> Option<&str> {
        match self {
            Self::Http01(report) => report.cause(),
            Self::Dns01(report) => report.reason(),
            Self::TlsAlpn01(report) => report.cause(),
        }
    }

    /// Warnings, one per line.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Http01(report) => report.warnings(),
            Self::Dns01(report) => report.warnings(),
            Self::TlsAlpn01(report) => report.warnings(),
        }
    }

    /// The requested URL, the queried name of a TXT record, or the server of a handshake.
    pub fn query(&self) -> String {
        match self {
            Self::Http01(report) => report.url.clone(),
            Self::Dns01(report) => format!("TXT {}", report.name),
            Self::TlsAlpn01(report) => format!("TLS {}", report.server()),
        }
    }

    /// The responses, one per line.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Http01(report) => report.details(),
            Self::Dns01(report) => report.details(),
            Self::TlsAlpn01(report) => report.details(),
        }
    }

    /// Whether [`Self::details`] say more than [`Self::reason`].
    pub fn adds_to_its_verdict(&self) -> bool {
        match self {
            Self::Http01(report) => report.adds_to_its_verdict(),
            Self::Dns01(_) => true,
            Self::TlsAlpn01(report) => report.adds_to_its_verdict(),
        }
    }

    fn verdict(&self) -> &Verdict {
        match self {
            Self::Http01(report) => &report.verdict,
            Self::Dns01(report) => &report.verdict,
            Self::TlsAlpn01(report) => &report.verdict,
        }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http01(report) => report.fmt(f),
            Self::Dns01(report) => report.fmt(f),
            Self::TlsAlpn01(report) => report.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(zone: Option<&str>, response: &[ServerAnswer]) -> CheckReport {
        let name = "_acme-challenge.www.example.com".to_owned();
        let mut report = Dns01Report::blank("www.example.com".to_owned(), name, None);
        report.zone = zone.map(str::to_owned);
        report.servers = response
            .iter()
            .map(|response| NameServerReport {
                server: "ns.example.net".to_owned(),
                answers: vec![AnswerReport { address: None, response: response.clone() }],
            })
            .collect();
        CheckReport::Dns01(report.judged())
    }

    #[test]
    fn a_zone_that_cannot_be_asked_is_told_at_once_and_a_missing_record_is_not() {
        let refused = ServerAnswer::Code { code: "REFUSED".to_owned() };
        for (zone, response, is_obstructed) in [
            (Some("example.com"), vec![ServerAnswer::NxDomain], false),
            (Some("example.com"), vec![ServerAnswer::NxDomain, refused.clone()], true),
            (Some("example.com"), vec![refused], true),
            (Some("example.com"), vec![ServerAnswer::Lame], true),
            (None, Vec::new(), true),
            // The name is not delegated.
            (Some("com"), vec![ServerAnswer::NxDomain], true),
        ] {
            assert_eq!(
                report(zone, &response).is_obstructed(),
                is_obstructed,
                "{zone:?} {response:?}"
            );
        }
        let blank = Dns01Report::blank(String::new(), String::new(), None);
        let failed = blank.clone().failed("no DNS zone found".to_owned());
        assert!(CheckReport::Dns01(failed).is_obstructed());
        assert!(!CheckReport::Dns01(blank).is_obstructed());
    }
}
