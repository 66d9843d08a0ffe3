//! The issued chain (RFC 8555 section 7.4.2) and the URLs of its alternates.

use super::answer::Answer;
use super::error::AcmeError;
use super::field;

/// A downloaded chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Downloaded {
    /// The chain in PEM, leaf first, as the CA sent it; not verified.
    pub pem: String,
    /// The URLs of other chains for the same leaf, in the CA's order; all are https.
    pub alternates: Vec<String>,
}

/// Reads a chain and its https alternates; it ignores alternates with other schemes, because they
/// are optional.
pub(super) fn read(answer: &Answer) -> Result<Downloaded, AcmeError> {
    let pem = std::str::from_utf8(&answer.body)
        .map_err(|_| answer.malformed("the certificate chain is not text"))?;
    if !pem.contains("-----BEGIN CERTIFICATE-----") {
        return Err(answer.malformed("the certificate chain has no PEM certificate"));
    }
    let mut alternates = Vec::new();
    for found in &answer.alternates {
        match field::https_from(answer, found, "alternate chain") {
            Ok(url) => alternates.push(url),
            Err(error) => tracing::warn!(target: "certctl::acme", "alternate skipped: {error}"),
        }
    }
    Ok(Downloaded { pem: pem.to_owned(), alternates })
}
