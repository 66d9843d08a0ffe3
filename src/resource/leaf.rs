//! The facts of an issued certificate, read from its DER.

use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::PublicKeyDigest;

/// The facts of a leaf certificate for decisions and displays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LeafFacts {
    /// Digest of its public key.
    pub public_key: PublicKeyDigest,
    /// SHA-256 over its DER, lower-case hexadecimal.
    pub fingerprint: String,
    /// Serial number, lower-case hexadecimal without colons.
    pub serial: String,
    /// What the CA knows it by in `renewalInfo` and `replaces` (RFC 9773 section 4.1); `None`
    /// without an authority key identifier.
    pub certificate_id: Option<String>,
    /// Subject CN, empty when there is none.
    pub common_name: String,
    /// SANs of type dNSName, as written.
    pub dns_names: Vec<String>,
    /// SANs of type iPAddress.
    pub ip_addresses: Vec<IpAddr>,
    /// SANs of type URI.
    pub uris: Vec<String>,
    /// SANs of type rfc822Name.
    pub email_addresses: Vec<String>,
    /// Start of validity.
    pub not_before: Timestamp,
    /// End of validity.
    pub not_after: Timestamp,
    /// Issuer CN, empty when there is none.
    pub issuer_common_name: String,
    /// Key algorithm and size for people, such as `ECDSA P-256`.
    pub key_description: String,
}

impl LeafFacts {
    /// The name of the root that signs a temporary certificate, as in cert-manager.
    pub const TEMPORARY_ISSUER: &str = "cert-manager.local";

    /// The DNS names and addresses that it is for, as text.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let addresses = self.ip_addresses.iter().map(ToString::to_string);
        self.dns_names.iter().cloned().chain(addresses)
    }

    /// Whether it is a temporary certificate.
    pub fn is_temporary(&self) -> bool {
        self.issuer_common_name == Self::TEMPORARY_ISSUER
    }
}

/// The names that the others do not have.
pub fn only_in(names: &[String], others: &[String]) -> Vec<String> {
    names.iter().filter(|name| !others.contains(name)).cloned().collect()
}
