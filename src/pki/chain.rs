//! A certificate with those that lead to its root, as a CA hands them out (RFC 8555 section 9.1).

use super::certificate::{self, CertificateError};
use super::names;
use super::pem;
use super::verify::ChainError;
use crate::resource::LeafFacts;

/// One or more certificates that decode, the leaf first. Whether they belong together is
/// [`super::verify_issued`]'s question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    certificates: Vec<Vec<u8>>,
    leaf: LeafFacts,
    topmost_issuer: String,
}

impl Chain {
    /// Reads a PEM text of at most [`MAX_CHAIN_BYTES`] with at most [`MAX_CERTIFICATES`], none of
    /// them longer than [`super::MAX_CERTIFICATE_BYTES`]. Blocks that are not certificates are
    /// refused; text between the blocks is skipped.
    pub fn from_pem(pem: &str) -> Result<Self, ChainError> {
        Self::decode(pem).map_err(ChainError::Undecodable)
    }

    /// What is known of the first certificate.
    pub fn leaf(&self) -> &LeafFacts {
        &self.leaf
    }

    /// All certificates in PEM, leaf first, with nothing around them.
    pub fn to_pem(&self) -> String {
        self.certificates
            .iter()
            .map(|der| pem::encode(certificate::LABEL, der).to_string())
            .collect()
    }

    /// The issuer CN of the last certificate, which `preferredChain` is compared with; empty when
    /// there is none.
    pub fn topmost_issuer_common_name(&self) -> &str {
        &self.topmost_issuer
    }

    /// The DER of each certificate, leaf first; never empty.
    pub fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }

    fn decode(pem: &str) -> Result<Self, CertificateError> {
        if pem.len() > MAX_CHAIN_BYTES {
            return Err(CertificateError::TooLong { bytes: pem.len(), max: MAX_CHAIN_BYTES });
        }
        let mut certificates = Vec::new();
        let mut leaf = None;
        let mut topmost_issuer = String::new();
        for block in pem::blocks(pem) {
            let block = block?;
            if block.label != certificate::LABEL {
                return Err(CertificateError::Label { label: block.label.to_owned() });
            }
            if certificates.len() == MAX_CERTIFICATES {
                return Err(CertificateError::TooMany { max: MAX_CERTIFICATES });
            }
            let parsed = certificate::parse(&block.der)?;
            if leaf.is_none() {
                leaf = Some(certificate::facts(&parsed, &block.der)?);
            }
            topmost_issuer = names::common_name(parsed.issuer());
            certificates.push(block.der.to_vec());
        }
        let leaf = leaf.ok_or(CertificateError::NotFound)?;
        Ok(Self { certificates, leaf, topmost_issuer })
    }
}

/// The longest PEM text that is read as a chain: 256 KiB.
pub const MAX_CHAIN_BYTES: usize = 256 * 1024;

/// The most certificates that are read as a chain. Public chains have two to four; each link costs
/// the check of a signature.
pub const MAX_CERTIFICATES: usize = 20;
