//! Certificate signing requests (PKCS#10, RFC 2986): built from a spec, and read back.

use std::net::IpAddr;

use der::asn1::{BitString, ObjectIdentifier, OctetString};
use der::{Decode, Encode};
use thiserror::Error;
use x509_cert::attr::{Attribute, Attributes};
use x509_cert::ext::{Extension, Extensions};
use x509_cert::request::{CertReq, CertReqInfo, ExtensionReq, Version};
use x509_cert::spki::SubjectPublicKeyInfoOwned;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::FromDer;

use super::names::{self, Names};
use super::pem::{self, PemError};
use super::private_key::{PrivateKey, public_key_digest};
use super::signing::{self, SigningError};
use super::subject::{self, SubjectError};
use super::usages;
use crate::resource::{CertificateSpec, PublicKeyDigest};

/// A signed request in both its forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csr {
    /// What goes to the CA.
    pub der: Vec<u8>,
    /// What is stored: one `CERTIFICATE REQUEST` block.
    pub pem: String,
}

/// Why a request cannot be built or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CsrError {
    /// The subject cannot be written.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The key cannot sign as the spec wants it.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// A name that only ASCII can express.
    #[error("{field}: `{text}` is not ASCII")]
    NotAscii {
        /// The field of the spec.
        field: &'static str,
        /// The name.
        text: String,
    },
    /// `otherNames[].oid` is not an object identifier.
    #[error("otherNames: `{oid}` is not an object identifier")]
    ObjectIdentifier {
        /// What stands there.
        oid: String,
    },
    /// The encoder refuses.
    #[error("cannot encode the request: {reason}")]
    Encoding {
        /// What it says.
        reason: String,
    },
    /// The text holds no request.
    #[error("no PEM encoded certificate request found")]
    NotFound,
    /// The text is not PEM.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// The block is no request.
    #[error("certificate request is damaged: {reason}")]
    Damaged {
        /// What is wrong with it.
        reason: String,
    },
}

impl From<der::Error> for CsrError {
    fn from(error: der::Error) -> Self {
        Self::Encoding { reason: error.to_string() }
    }
}

/// What is known of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsrFacts {
    /// Digest of the public key it asks to certify.
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

/// Builds and signs the request that a spec describes. An extension is there only when it says
/// something; the names are critical when the subject is empty (RFC 5280 section 4.2.1.6).
pub fn build_csr(spec: &CertificateSpec, key: &PrivateKey) -> Result<Csr, CsrError> {
    let subject = subject::subject(spec)?;
    let extensions = extensions(spec, subject.is_empty())?;
    let mut attributes = Attributes::new();
    if !extensions.is_empty() {
        attributes.insert(Attribute::try_from(ExtensionReq(extensions))?)?;
    }
    let public_key = SubjectPublicKeyInfoOwned::from_der(key.public_key_der())?;
    let info = CertReqInfo { version: Version::V1, subject, public_key, attributes };
    let algorithm =
        spec.signature_algorithm.unwrap_or_else(|| signing::default_algorithm(key.facts()));
    let signature = key.sign(algorithm, &info.to_der()?)?;
    let request = CertReq {
        info,
        algorithm: signing::identifier(algorithm),
        signature: BitString::from_bytes(&signature)?,
    };
    let der = request.to_der()?;
    let pem = pem::encode(LABEL, &der).to_string();
    Ok(Csr { der, pem })
}

/// Reads the first request of a PEM text.
pub fn read_csr(pem: &str) -> Result<CsrFacts, CsrError> {
    for block in pem::blocks(pem) {
        let block = block?;
        if block.label == LABEL || block.label == "NEW CERTIFICATE REQUEST" {
            return read_der(&block.der);
        }
    }
    Err(CsrError::NotFound)
}

fn read_der(der: &[u8]) -> Result<CsrFacts, CsrError> {
    let (rest, request) = X509CertificationRequest::from_der(der)
        .map_err(|error| CsrError::Damaged { reason: error.to_string() })?;
    if !rest.is_empty() {
        let reason = format!("{} bytes after its end", rest.len());
        return Err(CsrError::Damaged { reason });
    }
    let info = &request.certification_request_info;
    let mut names = Names::default();
    for extension in request.requested_extensions().into_iter().flatten() {
        if let ParsedExtension::SubjectAlternativeName(found) = extension {
            names = Names::read(&found.general_names);
        } else if let ParsedExtension::ParseError { error } = extension {
            return Err(CsrError::Damaged { reason: error.to_string() });
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

fn extensions(spec: &CertificateSpec, subject_is_empty: bool) -> Result<Extensions, CsrError> {
    let mut extensions = Extensions::new();
    let mut add = |oid: ObjectIdentifier, critical: bool, value: Vec<u8>| {
        let extn_value = OctetString::new(value)?;
        extensions.push(Extension { extn_id: oid, critical, extn_value });
        Ok::<_, der::Error>(())
    };
    let names = names::requested(spec)?;
    if !names.is_empty() {
        add(SUBJECT_ALT_NAME, subject_is_empty, names.to_der()?)?;
    }
    let (key_usage, extended) = usages::requested(spec);
    if let Some(usage) = key_usage {
        add(KEY_USAGE, true, usage.to_der()?)?;
    }
    if let Some(usage) = extended {
        add(EXTENDED_KEY_USAGE, false, usage.to_der()?)?;
    }
    Ok(extensions)
}

const LABEL: &str = "CERTIFICATE REQUEST";
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");
