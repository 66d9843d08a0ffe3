//! What can be wrong with a chain that a CA handed out.

use jiff::Timestamp;
use thiserror::Error;

use super::certificate::CertificateError;
use crate::resource::PublicKeyDigest;

/// Why an issued chain must not be used. Where cert-manager has a text for it, it is that text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// Not a chain of certificates at all.
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
    /// The leaf is not valid any more.
    #[error(
        "Issuer returned an already expired certificate (notAfter: {not_after}). This usually \
         indicates an expired CA certificate in the issuer."
    )]
    Expired {
        /// End of its validity.
        not_after: Timestamp,
    },
    /// The leaf is not valid for more than [`super::MAX_SKEW`] to come.
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
    /// The leaf may sign certificates itself.
    #[error("Issuer returned a CA certificate (subject CN `{common_name}`) as the leaf")]
    CertificateAuthority {
        /// Its subject CN.
        common_name: String,
    },
    /// The leaf has other names than were asked for.
    #[error(
        "Issuer returned a certificate for other names than requested: {}",
        differences(missing, unexpected)
    )]
    Names {
        /// Asked for and not there.
        missing: Vec<String>,
        /// There and not asked for.
        unexpected: Vec<String>,
    },
    /// The leaf's CN was not asked for.
    #[error(
        "Issuer returned a certificate whose common name `{common_name}` is not among the \
         requested names"
    )]
    CommonName {
        /// Its subject CN.
        common_name: String,
    },
    /// Two neighbours do not belong together by name.
    #[error(
        "Issuer returned a broken chain: certificate {position} was issued by `{issuer}` and is \
         followed by `{next}`"
    )]
    NotLinked {
        /// The lower one's place, the leaf being 1.
        position: usize,
        /// The lower one's issuer.
        issuer: String,
        /// The upper one's subject.
        next: String,
    },
    /// Two neighbours do not belong together by signature.
    #[error(
        "Issuer returned a broken chain: certificate {position} was not signed by the next one"
    )]
    Signature {
        /// The lower one's place, the leaf being 1.
        position: usize,
    },
    /// A link is signed in a way that cannot be checked.
    #[error(
        "Issuer returned a chain that cannot be checked: certificate {position} is signed with \
         unsupported algorithm {oid}"
    )]
    SignatureAlgorithm {
        /// The lower one's place, the leaf being 1.
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
