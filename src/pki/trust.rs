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
    #[error("no root certificates to judge by")]
    NoRoots,
    /// No path ends at a root.
    #[error("issued by an unknown authority")]
    UnknownIssuer,
    #[error("a CA certificate is presented as the server's own")]
    CaCertificate,
    /// Another error, in the library's words.
    #[error("{0}")]
    Other(String),
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
        .map_err(|error| {
            if error == webpki::Error::UnknownIssuer {
                TrustError::UnknownIssuer
            } else if error == webpki::Error::CaUsedAsEndEntity {
                TrustError::CaCertificate
            } else {
                TrustError::Other(error.to_string())
            }
        })
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
        for (usages, now) in
            [(["client auth"], "2033-01-01T00:00:00Z"), (["server auth"], "2031-01-01T00:00:00Z")]
        {
            assert!(matches!(judge(&usages, now), Err(TrustError::Other(_))), "{usages:?} {now}");
        }
    }
}
