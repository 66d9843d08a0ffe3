//! Whether a chain ends at a trusted root.

use std::time::Duration;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, UnixTime};
use thiserror::Error;
use webpki::{EndEntityCert, KeyUsage};

/// Why a chain is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrustError {
    /// The certificate or the roots are missing.
    #[error("there are no root certificates")]
    NoRoots,
    /// No path ends at a root.
    #[error("issued by an unknown authority")]
    UnknownIssuer,
    #[error("it is the certificate of a CA, not of a server")]
    CaCertificate,
    /// The certificate or one above it.
    #[error("a certificate of the chain expired at {not_after}")]
    Expired { not_after: Timestamp },
    #[error("a certificate of the chain is not valid before {not_before}")]
    NotYetValid { not_before: Timestamp },
    /// The extended key usage of the certificate or of one above it.
    #[error("a certificate of the chain is not for this use (extended key usage)")]
    Usage,
    #[error("a certificate of the chain has a wrong signature")]
    Signature,
    /// Another error, by the name that the library gives it.
    #[error("{0}")]
    Other(String),
}

impl From<&webpki::Error> for TrustError {
    fn from(error: &webpki::Error) -> Self {
        use webpki::Error::{
            CaUsedAsEndEntity, CertExpired, CertNotValidYet, InvalidSignatureForPublicKey,
            RequiredEkuNotFoundContext, UnknownIssuer,
        };
        if let CertExpired { not_after, .. } = error {
            Self::Expired { not_after: instant(*not_after) }
        } else if let CertNotValidYet { not_before, .. } = error {
            Self::NotYetValid { not_before: instant(*not_before) }
        } else if matches!(error, RequiredEkuNotFoundContext(_)) {
            Self::Usage
        } else if *error == UnknownIssuer {
            Self::UnknownIssuer
        } else if *error == CaUsedAsEndEntity {
            Self::CaCertificate
        } else if *error == InvalidSignatureForPublicKey {
            Self::Signature
        } else {
            Self::Other(spaced(&error.to_string()))
        }
    }
}

fn instant(time: UnixTime) -> Timestamp {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

/// The name of a variant as words, without its fields: the library prints it as Rust has it.
fn spaced(name: &str) -> String {
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// Verifies a leaf against `roots`; the certificates behind it serve only as intermediates, never
/// as roots. A leaf for clients only is verified as a client's, any other as a server's; names are
/// not compared.
pub fn verify_trust(
    certificates: &[Vec<u8>],
    roots: &RootCertStore,
    usages: &[String],
    now: Timestamp,
) -> Result<(), TrustError> {
    if roots.is_empty() {
        return Err(TrustError::NoRoots);
    }
    let all: Vec<CertificateDer<'_>> =
        certificates.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
    let Some((leaf, intermediates)) = all.split_first() else {
        return Err(TrustError::UnknownIssuer);
    };
    let has = |word: &str| usages.iter().any(|usage| usage == word);
    let for_clients = has("client auth") && !has("server auth");
    let usage = if for_clients { KeyUsage::client_auth() } else { KeyUsage::server_auth() };
    let seconds = u64::try_from(now.as_second()).unwrap_or(0);
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    EndEntityCert::try_from(leaf)
        .and_then(|leaf| {
            leaf.verify_for_usage(
                provider.signature_verification_algorithms.all,
                &roots.roots,
                intermediates,
                UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
                usage,
                None,
                None,
            )
            .map(|_| ())
        })
        .map_err(|error| TrustError::from(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::test_ca::{Ca, leaf};
    use crate::pki::{Bundle, PrivateKey};
    use crate::resource::KeyAlgorithm;

    #[test]
    fn certificates_sent_with_a_leaf_are_no_roots() {
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let root = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let other = Ca::root("Other", KeyAlgorithm::Ecdsa, 256);
        let middle = root.intermediate("Middle", KeyAlgorithm::Ecdsa, 384);
        let leaf = middle.sign(&leaf("", &["a.example"]), &key);
        let unknown = Err(TrustError::UnknownIssuer);
        for (chain, root, now, expected) in [
            (leaf.clone() + &middle.above, &root, "2031-01-01T00:00:00Z", Ok(())),
            (leaf.clone() + &middle.above + &root.above, &root, "2031-01-01T00:00:00Z", Ok(())),
            (leaf.clone() + &root.above + &middle.above, &root, "2031-01-01T00:00:00Z", Ok(())),
            (leaf.clone(), &root, "2031-01-01T00:00:00Z", unknown.clone()),
            (leaf + &middle.above + &root.above, &other, "2031-01-01T00:00:00Z", unknown),
        ] {
            let mut roots = RootCertStore::empty();
            let anchor = Bundle::from_pem(&root.above).unwrap().leaf().to_vec();
            roots.add(CertificateDer::from(anchor)).unwrap();
            let chain = Bundle::from_pem(&chain).unwrap();
            let found = verify_trust(chain.certificates(), &roots, &[], now.parse().unwrap());
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn time_and_usage_count() {
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let root = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let mut params = leaf("", &["a.example"]);
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let chain = Bundle::from_pem(&root.sign(&params, &key)).unwrap();
        let mut roots = RootCertStore::empty();
        let anchor = Bundle::from_pem(&root.above).unwrap().leaf().to_vec();
        roots.add(CertificateDer::from(anchor)).unwrap();
        let judge = |usages: &[&str], now: &str| {
            let usages: Vec<String> = usages.iter().map(ToString::to_string).collect();
            verify_trust(chain.certificates(), &roots, &usages, now.parse().unwrap())
        };
        assert_eq!(judge(&["client auth"], "2031-01-01T00:00:00Z"), Ok(()));
        for (usages, now, expected) in [
            (
                "client auth",
                "2033-01-01T00:00:00Z",
                "a certificate of the chain expired at 2032-01-01T00:00:00Z",
            ),
            (
                "client auth",
                "2019-01-01T00:00:00Z",
                "a certificate of the chain is not valid before 2030-01-01T00:00:00Z",
            ),
            (
                "server auth",
                "2031-01-01T00:00:00Z",
                "a certificate of the chain is not for this use (extended key usage)",
            ),
        ] {
            assert_eq!(judge(&[usages], now).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn what_the_library_prints_as_rust_has_it_is_words() {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(0));
        for (error, expected) in [
            (
                webpki::Error::InvalidSignatureForPublicKey,
                "a certificate of the chain has a wrong signature",
            ),
            (webpki::Error::PathLenConstraintViolated, "path len constraint violated"),
            (webpki::Error::CrlExpired { time, next_update: time }, "crl expired"),
        ] {
            assert_eq!(TrustError::from(&error).to_string(), expected);
        }
    }
}
