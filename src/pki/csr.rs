//! Certificate signing requests (PKCS#10, RFC 2986), built from a spec.

use der::asn1::{BitString, ObjectIdentifier, OctetString};
use der::{Decode, Encode};
use x509_cert::attr::{Attribute, Attributes};
use x509_cert::ext::{Extension, Extensions};
use x509_cert::request::{CertReq, CertReqInfo, ExtensionReq, Version};
use x509_cert::spki::SubjectPublicKeyInfoOwned;

use super::csr_error::CsrError;
use super::pem::PemError;
use super::private_key::PrivateKey;
use super::{names, pem, signing, subject, usages};
use crate::resource::CertificateSpec;

/// A signed request in both its forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csr {
    /// The DER, sent to the CA.
    pub der: Vec<u8>,
    /// The PEM, stored: one `CERTIFICATE REQUEST` block.
    pub pem: String,
}

/// Builds and signs the request that a spec describes. An empty extension is omitted; the names are
/// critical when the subject is empty (RFC 5280 section 4.2.1.6).
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

/// The DER of the first request of a PEM text; `None` without one.
pub fn csr_der(text: &str) -> Result<Option<Vec<u8>>, PemError> {
    for block in pem::blocks(text) {
        let block = block?;
        if [LABEL, OLD_LABEL].contains(&block.label) {
            return Ok(Some(block.der.to_vec()));
        }
    }
    Ok(None)
}

/// The names and usages of a spec.
pub(super) fn extensions(
    spec: &CertificateSpec,
    subject_is_empty: bool,
) -> Result<Extensions, CsrError> {
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

pub(super) const LABEL: &str = "CERTIFICATE REQUEST";
/// Older programs write it (RFC 7468 section 7).
const OLD_LABEL: &str = "NEW CERTIFICATE REQUEST";
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");

#[cfg(test)]
mod tests {
    use x509_parser::certification_request::X509CertificationRequest;
    use x509_parser::prelude::FromDer as _;

    use super::*;
    use crate::pki::{CsrFacts, SigningError, SubjectError, read_csr};
    use crate::resource::{KeyAlgorithm, OtherName, SignatureAlgorithm, Usage};

    fn key() -> PrivateKey {
        PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap()
    }

    fn spec() -> CertificateSpec {
        CertificateSpec {
            common_name: "a.example".to_owned(),
            dns_names: vec!["a.example".parse().unwrap(), "*.b.example".parse().unwrap()],
            ip_addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
            uris: vec!["spiffe://a/b".to_owned()],
            email_addresses: vec!["a@b.example".to_owned()],
            other_names: vec![OtherName {
                oid: "1.3.6.1.4.1.311.20.2.3".to_owned(),
                utf8_value: "upn@b.example".to_owned(),
            }],
            ..CertificateSpec::default()
        }
    }

    /// Object identifier and criticality of each extension.
    fn extensions_of(csr: &Csr) -> Vec<(String, bool)> {
        let (_, request) = X509CertificationRequest::from_der(&csr.der).unwrap();
        let attribute = request.certification_request_info.attributes().first().cloned();
        let parsed = attribute.as_ref().map(|a| a.parsed_attribute().clone());
        let Some(x509_parser::cri_attributes::ParsedCriAttribute::ExtensionRequest(found)) = parsed
        else {
            return Vec::new();
        };
        found.extensions.iter().map(|e| (e.oid.to_id_string(), e.critical)).collect()
    }

    #[test]
    fn a_request_is_read_back_as_it_was_asked_for() {
        let (spec, key) = (spec(), key());
        let csr = build_csr(&spec, &key).unwrap();
        let expected = CsrFacts {
            public_key: key.facts().public_key.clone(),
            common_name: spec.common_name,
            dns_names: vec!["a.example".to_owned(), "*.b.example".to_owned()],
            ip_addresses: spec.ip_addresses,
            uris: spec.uris,
            email_addresses: spec.email_addresses,
        };
        assert_eq!(read_csr(&csr.pem), Ok(expected.clone()));
        assert_eq!(read_csr(&format!("text\n{}", csr.pem.replace('\n', "\r\n"))), Ok(expected));
        let block = pem::blocks(&csr.pem).next().unwrap().unwrap();
        assert_eq!(*block.der, csr.der);
    }

    #[test]
    fn extensions_are_there_only_when_they_say_something() {
        let (names, usage, extended) = ("2.5.29.17", "2.5.29.15", "2.5.29.37");
        let bare = CertificateSpec { encode_usages_in_request: Some(false), ..Default::default() };
        let unnamed = CertificateSpec { common_name: String::new(), ..spec() };
        let server = CertificateSpec { usages: vec![Usage::ServerAuth], ..spec() };
        let both = CertificateSpec { usages: vec![Usage::CrlSign, Usage::ClientAuth], ..spec() };
        let literal = CertificateSpec { literal_subject: "CN=a".to_owned(), ..unnamed.clone() };
        let cases: &[(CertificateSpec, &[(&str, bool)])] = &[
            (bare, &[]),
            (CertificateSpec::default(), &[(usage, true)]),
            (spec(), &[(names, false), (usage, true)]),
            (unnamed, &[(names, true), (usage, true)]),
            (literal, &[(names, false), (usage, true)]),
            (server, &[(names, false), (extended, false)]),
            (both, &[(names, false), (usage, true), (extended, false)]),
        ];
        let key = key();
        for (spec, expected) in cases {
            let found = extensions_of(&build_csr(spec, &key).unwrap());
            let expected: Vec<_> = expected.iter().map(|(o, c)| ((*o).to_owned(), *c)).collect();
            assert_eq!(found, expected, "{spec:?}");
        }
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused() {
        let not_ascii = |field, text: &str| CsrError::NotAscii { field, text: text.to_owned() };
        let wanted = SignatureAlgorithm::Sha256WithRsa;
        let cases = [
            (CertificateSpec { uris: vec!["ü:".to_owned()], ..spec() }, not_ascii("uris", "ü:")),
            (
                CertificateSpec { email_addresses: vec!["ü@a".to_owned()], ..spec() },
                not_ascii("emailAddresses", "ü@a"),
            ),
            (
                CertificateSpec {
                    other_names: vec![OtherName { oid: "x".into(), utf8_value: "y".into() }],
                    ..spec()
                },
                CsrError::ObjectIdentifier { oid: "x".to_owned() },
            ),
            (
                CertificateSpec { literal_subject: "CN".to_owned(), ..spec() },
                SubjectError::NoValue { text: "CN".to_owned() }.into(),
            ),
            (
                CertificateSpec { signature_algorithm: Some(wanted), ..spec() },
                SigningError::WrongKey { wanted, found: KeyAlgorithm::Ecdsa }.into(),
            ),
        ];
        for (spec, expected) in cases {
            assert_eq!(build_csr(&spec, &key()), Err(expected));
        }
    }
}
