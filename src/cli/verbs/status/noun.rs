//! The kinds of objects that have a status.

use std::ffi::{OsStr, OsString};

use crate::workspace::target::{CERTIFICATE, ISSUERS};

/// The kinds of objects that have a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// cert-manager's kinds.
pub enum Noun {
    Certificate,
    Issuer,
    CertificateRequest,
    Order,
    Challenge,
}

impl Noun {
    /// Takes a leading kind from the words of `status`; without one they are certificates. To see
    /// a certificate whose name is a kind, write `certificate order` or `default/order`. The first
    /// name may have its kind in front, as `-o name` prints it: `order/web-1-1`.
    pub fn split(words: &[OsString]) -> (Self, &[OsString]) {
        if let [first, rest @ ..] = words {
            if let Some(noun) = Self::parse(first) {
                return (noun, rest);
            }
            let kind = first.to_str().and_then(|first| Some(first.split_once('/')?.0));
            let is_of = |noun: &Self| kind.is_some_and(|kind| noun.kinds().contains(&kind));
            if let Some(noun) = Self::ALL.into_iter().find(is_of) {
                return (noun, words);
            }
        }
        (Self::Certificate, words)
    }

    fn parse(word: &OsStr) -> Option<Self> {
        match word.to_str()? {
            "certificate" | "certificates" | "cert" | "certs" | "crt" => Some(Self::Certificate),
            "issuer" | "issuers" | "clusterissuer" | "clusterissuers" => Some(Self::Issuer),
            "request" | "requests" | "certificaterequest" | "certificaterequests" | "cr" => {
                Some(Self::CertificateRequest)
            }
            "order" | "orders" => Some(Self::Order),
            "challenge" | "challenges" => Some(Self::Challenge),
            _ => None,
        }
    }

    const ALL: [Self; 5] =
        [Self::Certificate, Self::Issuer, Self::CertificateRequest, Self::Order, Self::Challenge];

    /// The kinds in front of a name that `-o name` prints.
    pub(super) fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Certificate => CERTIFICATE,
            Self::Issuer => ISSUERS,
            Self::CertificateRequest => &["certificaterequest"],
            Self::Order => &["order"],
            Self::Challenge => &["challenge"],
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Certificate => "Certificate",
            Self::Issuer => "Issuer",
            Self::CertificateRequest => "CertificateRequest",
            Self::Order => "Order",
            Self::Challenge => "Challenge",
        }
    }
}
