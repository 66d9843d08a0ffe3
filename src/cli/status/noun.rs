//! The kinds of objects that have a status.

use std::ffi::{OsStr, OsString};

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
    /// a certificate whose name is a kind, write `certificate order` or `default/order`.
    pub fn split(words: &[OsString]) -> (Self, &[OsString]) {
        if let [first, rest @ ..] = words
            && let Some(noun) = Self::parse(first)
        {
            return (noun, rest);
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
