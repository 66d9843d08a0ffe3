//! Decodes signing requests, for tests.

use std::net::IpAddr;

use thiserror::Error;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::FromDer;

use super::csr::csr_der;
use super::names::{self, Names};
use super::pem::PemError;
use super::private_key::public_key_digest;
use crate::resource::PublicKeyDigest;

/// Why a request cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// The text holds no request.
    #[error("no PEM encoded certificate request found")]
    NotFound,
    /// The text is not PEM.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// The block is not a request.
    #[error("certificate request is damaged: {reason}")]
    Damaged { reason: String },
}

/// The facts of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsrFacts {
    /// Digest of the public key to certify.
    pub public_key: PublicKeyDigest,
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
}

/// Reads the first request of a PEM text.
pub fn read_csr(pem: &str) -> Result<CsrFacts, ReadError> {
    read_der(&csr_der(pem)?.ok_or(ReadError::NotFound)?)
}

fn read_der(der: &[u8]) -> Result<CsrFacts, ReadError> {
    let (rest, request) = X509CertificationRequest::from_der(der)
        .map_err(|error| ReadError::Damaged { reason: error.to_string() })?;
    if !rest.is_empty() {
        let reason = format!("{} bytes after its end", rest.len());
        return Err(ReadError::Damaged { reason });
    }
    let info = &request.certification_request_info;
    let mut names = Names::default();
    for extension in request.requested_extensions().into_iter().flatten() {
        if let ParsedExtension::SubjectAlternativeName(found) = extension {
            names = Names::read(&found.general_names);
        } else if let ParsedExtension::ParseError { error } = extension {
            return Err(ReadError::Damaged { reason: error.to_string() });
        }
    }
    Ok(CsrFacts {
        public_key: public_key_digest(info.subject_pki.raw),
        common_name: names::common_name(&info.subject),
        dns_names: names.dns,
        ip_addresses: names.ip,
        uris: names.uris,
        email_addresses: names.emails,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::csr::LABEL;
    use crate::pki::{PrivateKey, build_csr, pem};
    use crate::resource::{CertificateSpec, KeyAlgorithm};

    #[test]
    fn what_is_no_request_is_refused() {
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        assert_eq!(read_csr(""), Err(ReadError::NotFound));
        assert_eq!(read_csr(&key.to_pkcs8_pem()), Err(ReadError::NotFound));
        let der = build_csr(&CertificateSpec::default(), &key).unwrap().der;
        for length in [0, 1, 10, der.len() - 1] {
            let found = read_csr(&pem::encode(LABEL, &der[..length]));
            assert!(matches!(found, Err(ReadError::Damaged { .. })), "{length}: {found:?}");
        }
        let longer = read_csr(&pem::encode(LABEL, &[&der[..], &[0]].concat()));
        assert_eq!(longer, Err(ReadError::Damaged { reason: "1 bytes after its end".to_owned() }));
    }
}
