//! The content of a PEM text for `inspect`: its certificates in order, and the key.
//!
//! Contract: unlike [`super::Chain`] this accepts everything that can be shown; order, linkage and
//! a mismatching key are findings, not errors.

use super::certificate::{self, CertificateError, MAX_CHAIN_BYTES, facts_of_der};
use super::chain::MAX_CERTIFICATES;
use super::pem;
use super::private_key::{PrivateKey, public_key_digest};
use crate::resource::LeafFacts;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// One or more certificates that decode, in the order of the text, and what is known of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    certificates: Vec<Vec<u8>>,
    key: KeyMatch,
}

/// Whether the private key belongs to the first certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum KeyMatch {
    /// It does.
    Matches,
    /// It belongs to another certificate.
    DoesNotMatch,
    /// There is no key.
    Absent,
    /// There is one, and it cannot be read.
    Unreadable(String),
}

impl Bundle {
    /// Reads a PEM text of at most [`MAX_CHAIN_BYTES`] with one to [`MAX_CERTIFICATES`]
    /// certificates; the first key in it is the key, other blocks are skipped.
    pub fn from_pem(text: &str) -> Result<Self, CertificateError> {
        if text.len() > MAX_CHAIN_BYTES {
            return Err(CertificateError::TooLong { bytes: text.len(), max: MAX_CHAIN_BYTES });
        }
        let (mut certificates, mut key) = (Vec::new(), None);
        for block in pem::blocks(text) {
            let block = block?;
            if block.label == certificate::LABEL {
                certificates.push(block.der.to_vec());
            } else if block.label.ends_with("PRIVATE KEY") && key.is_none() {
                key = Some(if block.is_encrypted {
                    Err(super::KeyError::Encrypted)
                } else {
                    PrivateKey::from_pem(&pem::encode(block.label, &block.der))
                });
            }
        }
        let mut bundle = Self::from_der(certificates)?;
        if let Some(key) = key {
            bundle.key = bundle.compare(key)?;
        }
        Ok(bundle)
    }

    /// Certificates as a TLS server sends them, without a key.
    pub fn from_der(certificates: Vec<Vec<u8>>) -> Result<Self, CertificateError> {
        if certificates.is_empty() {
            return Err(CertificateError::NotFound);
        }
        if certificates.len() > MAX_CERTIFICATES {
            return Err(CertificateError::TooMany { max: MAX_CERTIFICATES });
        }
        for der in &certificates {
            certificate::parse(der)?;
        }
        Ok(Self { certificates, key: KeyMatch::Absent })
    }

    /// The same with the key of this PEM text.
    pub fn with_key(mut self, pem: &str) -> Result<Self, CertificateError> {
        self.key = self.compare(PrivateKey::from_pem(pem))?;
        Ok(self)
    }

    /// The DER of each certificate, the leaf first; never empty.
    pub fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    /// The facts of each certificate that has them, in the same order.
    pub fn facts(&self) -> impl Iterator<Item = LeafFacts> {
        self.certificates.iter().filter_map(|der| facts_of_der(der).ok())
    }

    /// The end of the certificate that is valid longest.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.facts().map(|facts| facts.not_after).max()
    }

    /// The DER of the first certificate.
    pub fn leaf(&self) -> &[u8] {
        self.certificates.first().map_or(&[], Vec::as_slice)
    }

    /// Whether the key belongs to the first certificate.
    pub fn key(&self) -> &KeyMatch {
        &self.key
    }

    fn compare(
        &self,
        key: Result<PrivateKey, super::KeyError>,
    ) -> Result<KeyMatch, CertificateError> {
        let leaf = certificate::parse(self.leaf())?;
        Ok(match key {
            Err(error) => KeyMatch::Unreadable(error.to_string()),
            Ok(key) if key.facts().public_key == public_key_digest(leaf.public_key().raw) => {
                KeyMatch::Matches
            }
            Ok(_) => KeyMatch::DoesNotMatch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::test_ca::{Ca, leaf};
    use crate::resource::KeyAlgorithm;

    #[test]
    fn certificates_and_key_are_found_in_one_text_or_two() {
        let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let other = PrivateKey::generate(KeyAlgorithm::Ed25519, 256).unwrap();
        let pem = ca.sign(&leaf("", &["a.example"]), &key) + &ca.above;
        let (mine, foreign) = (key.to_pkcs8_pem(), other.to_pkcs8_pem());
        let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n\
                         -----END ENCRYPTED PRIVATE KEY-----\n";
        for (text, found) in [
            (pem.clone(), "Absent"),
            (format!("{pem}{}", *mine), "Matches"),
            (format!("{}{pem}", *mine), "Matches"),
            (format!("{pem}{}", *foreign), "DoesNotMatch"),
            (format!("{pem}{broken}"), "Unreadable"),
            (format!("{encrypted}{pem}"), "Unreadable"),
        ] {
            let bundle = Bundle::from_pem(&text).unwrap();
            assert_eq!(bundle.certificates().len(), 2);
            assert!(format!("{:?}", bundle.key()).starts_with(found), "{:?}", bundle.key());
        }
        let bundle = Bundle::from_pem(&pem).unwrap();
        assert_eq!(bundle.with_key(&mine).unwrap().key(), &KeyMatch::Matches);
        assert_eq!(Bundle::from_pem(&mine), Err(CertificateError::NotFound));
    }
}
