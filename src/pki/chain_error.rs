//! Errors of a chain that a CA issued.

use jiff::Timestamp;
use thiserror::Error;

use super::certificate::CertificateError;
use crate::resource::PublicKeyDigest;

/// Why an issued chain must not be used. Where cert-manager has a message for it, certctl uses that
/// message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// Not a chain of certificates.
    #[error("Issuer returned an invalid certificate: failed to decode: {0}")]
    Undecodable(#[source] CertificateError),
    /// The leaf certifies another key.
    #[error(
        "Issuer returned a certificate with a public key that does not match the CSR. This \
         usually indicates a misconfigured issuer."
    )]
    PublicKey {
        /// The key of the CSR.
        expected: PublicKeyDigest,
        /// The key of the leaf.
        found: PublicKeyDigest,
    },
    /// The leaf has expired.
    #[error(
        "Issuer returned an already expired certificate (notAfter: {not_after}). This usually \
         indicates an expired CA certificate in the issuer."
    )]
    Expired {
        /// End of its validity.
        not_after: Timestamp,
    },
    /// The leaf becomes valid later than [`super::MAX_SKEW`] from now.
    #[error(
        "Issuer returned a certificate that is not valid yet (notBefore: {not_before}, now: \
         {now}). This usually indicates a wrong clock."
    )]
    NotYetValid {
        /// Start of its validity.
        not_before: Timestamp,
        /// The time it was compared with.
        now: Timestamp,
    },
    /// The leaf is a CA certificate.
    #[error("Issuer returned a CA certificate (subject CN `{common_name}`) as the leaf")]
    CertificateAuthority {
        /// Its subject CN.
        common_name: String,
    },
    /// The names of the leaf differ from the requested ones.
    #[error(
        "Issuer returned a certificate for other names than requested: {}",
        differences(missing, unexpected)
    )]
    Names {
        /// Requested, but missing.
        missing: Vec<String>,
        /// Present, but not requested.
        unexpected: Vec<String>,
    },
    /// The leaf's CN was not requested.
    #[error(
        "Issuer returned a certificate whose common name `{common_name}` is not among the \
         requested names"
    )]
    CommonName {
        /// Its subject CN.
        common_name: String,
    },
    /// The issuer of one certificate is not the subject of the next.
    #[error(
        "Issuer returned a broken chain: certificate {position} was issued by `{issuer}` and is \
         followed by `{next}`"
    )]
    NotLinked {
        /// Position of the lower certificate; the leaf is 1.
        position: usize,
        /// Issuer of the lower certificate.
        issuer: String,
        /// Subject of the upper certificate.
        next: String,
    },
    /// The key of the next certificate does not verify the signature.
    #[error(
        "Issuer returned a broken chain: certificate {position} was not signed by the next one"
    )]
    Signature {
        /// Position of the lower certificate; the leaf is 1.
        position: usize,
    },
    /// The algorithm of a signature is not supported.
    #[error(
        "Issuer returned a chain that cannot be checked: certificate {position} is signed with \
         unsupported algorithm {oid}"
    )]
    SignatureAlgorithm {
        /// Position of the lower certificate; the leaf is 1.
        position: usize,
        /// The algorithm's object identifier.
        oid: String,
    },
}

fn differences(missing: &[String], unexpected: &[String]) -> String {
    let part = |word: &str, names: &[String]| format!("{word} {}", names.join(", "));
    match (missing.is_empty(), unexpected.is_empty()) {
        (_, true) => part("missing", missing),
        (true, false) => part("unexpected", unexpected),
        (false, false) => {
            format!("{}; {}", part("missing", missing), part("unexpected", unexpected))
        }
    }
}
