//! Reads one X.509 certificate (RFC 5280).

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use jiff::Timestamp;
use thiserror::Error;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::ParsedExtension;
use x509_parser::oid_registry::{OID_EC_P256, OID_NIST_EC_P384, OID_NIST_EC_P521, OID_SIG_ED25519};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::time::ASN1Time;

use super::names::{self, Names};
use super::pem::{self, PemError};
use super::private_key::public_key_digest;
use crate::resource::{KeyAlgorithm, KeyFacts, LeafFacts, hex};

/// Why a text cannot be read as certificates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// The text exceeds the limit.
    #[error("certificates have {bytes} bytes, more than {max}")]
    TooLong {
        /// Length of the text.
        bytes: usize,
        /// The longest text that is read.
        max: usize,
    },
    /// More certificates than the limit.
    #[error("more than {max} certificates")]
    TooMany {
        /// The most that are read.
        max: usize,
    },
    /// One certificate exceeds the limit.
    #[error("certificate has {bytes} bytes, more than {max}")]
    TooLarge {
        /// Length of its DER.
        bytes: usize,
        /// The longest that is read.
        max: usize,
    },
    /// The text holds no certificate.
    #[error("error decoding certificate PEM block: no valid certificates found")]
    NotFound,
    /// A block in a chain that is not a certificate (RFC 8555 section 9.1 allows none).
    #[error("PEM block `{label}` among the certificates")]
    Label {
        /// The label after BEGIN.
        label: String,
    },
    /// The text is not PEM.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// The block is not a certificate.
    #[error("certificate is damaged: {reason}")]
    Damaged { reason: String },
}

/// Reads the first certificate of a PEM text; the rest of the text is ignored.
pub fn leaf_facts(pem: &str) -> Result<LeafFacts, CertificateError> {
    first(pem, facts)
}

fn first<T>(
    pem: &str,
    read: impl Fn(&X509Certificate<'_>, &[u8]) -> Result<T, CertificateError>,
) -> Result<T, CertificateError> {
    if pem.len() > MAX_CHAIN_BYTES {
        let max = MAX_CHAIN_BYTES;
        return Err(CertificateError::TooLong { bytes: pem.len(), max });
    }
    for block in pem::blocks(pem) {
        let block = block?;
        if block.label == LABEL {
            return read(&parse(&block.der)?, &block.der);
        }
    }
    Err(CertificateError::NotFound)
}

/// The same, and the facts of the key that the certificate is for, if it is of a kind that keys here
/// may be.
pub fn leaf_and_key_facts(pem: &str) -> Result<(LeafFacts, Option<KeyFacts>), CertificateError> {
    first(pem, |certificate, der| {
        let leaf = facts(certificate, der)?;
        let of_key = key_kind(certificate).map(|(algorithm, size)| KeyFacts {
            algorithm,
            size,
            public_key: leaf.public_key.clone(),
        });
        Ok((leaf, of_key))
    })
}

/// The facts of one certificate in DER.
pub fn facts_of_der(der: &[u8]) -> Result<LeafFacts, CertificateError> {
    facts(&parse(der)?, der)
}

/// Decodes one certificate that fills `der`.
pub(super) fn parse(der: &[u8]) -> Result<X509Certificate<'_>, CertificateError> {
    if der.len() > MAX_CERTIFICATE_BYTES {
        let max = MAX_CERTIFICATE_BYTES;
        return Err(CertificateError::TooLarge { bytes: der.len(), max });
    }
    let (rest, certificate) = X509Certificate::from_der(der).map_err(damaged)?;
    if !rest.is_empty() {
        let reason = format!("{} bytes after its end", rest.len());
        return Err(CertificateError::Damaged { reason });
    }
    Ok(certificate)
}

/// The facts of a certificate that decisions and displays need.
pub(super) fn facts(
    certificate: &X509Certificate<'_>,
    der: &[u8],
) -> Result<LeafFacts, CertificateError> {
    let extension = certificate.subject_alternative_name().map_err(damaged)?;
    let names = extension.map_or_else(Names::default, |e| Names::read(&e.value.general_names));
    Ok(LeafFacts {
        public_key: public_key_digest(certificate.public_key().raw),
        fingerprint: hex(digest_of(der).as_ref()),
        serial: serial(certificate.raw_serial()),
        certificate_id: certificate_id(certificate),
        common_name: names::common_name(certificate.subject()),
        dns_names: names.dns,
        ip_addresses: names.ip,
        uris: names.uris,
        email_addresses: names.emails,
        not_before: timestamp(&certificate.validity().not_before)?,
        not_after: timestamp(&certificate.validity().not_after)?,
        issuer_common_name: names::common_name(certificate.issuer()),
        key_description: key_description(certificate),
    })
}

fn digest_of(der: &[u8]) -> aws_lc_rs::digest::Digest {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, der)
}

/// The serial number without the zero byte that keeps a DER integer positive.
fn serial(raw: &[u8]) -> String {
    match raw {
        [0, rest @ ..] if !rest.is_empty() => hex(rest),
        all => hex(all),
    }
}

/// The serial number keeps that byte here: RFC 9773 section 4.1 takes the content of the DER.
fn certificate_id(certificate: &X509Certificate<'_>) -> Option<String> {
    let key_id = certificate.iter_extensions().find_map(|extension| {
        let ParsedExtension::AuthorityKeyIdentifier(authority) = extension.parsed_extension()
        else {
            return None;
        };
        authority.key_identifier.as_ref().map(|id| id.0).filter(|id| !id.is_empty())
    })?;
    let [key_id, serial] =
        [key_id, certificate.raw_serial()].map(|bytes| BASE64_URL_SAFE_NO_PAD.encode(bytes));
    Some(format!("{key_id}.{serial}"))
}

fn timestamp(time: &ASN1Time) -> Result<Timestamp, CertificateError> {
    Timestamp::from_second(time.timestamp()).map_err(damaged)
}

/// `ECDSA P-256`, `RSA 2048`, `Ed25519`; the object identifier of other algorithms.
fn key_description(certificate: &X509Certificate<'_>) -> String {
    let key = certificate.public_key();
    if let Ok(PublicKey::RSA(rsa)) = key.parsed() {
        return format!("RSA {}", rsa.key_size());
    }
    let algorithm = &key.algorithm.algorithm;
    if *algorithm == OID_SIG_ED25519 {
        return "Ed25519".to_owned();
    }
    // As text only where no name is known: that takes forty allocations.
    match key.algorithm.parameters.as_ref().and_then(|any| any.as_oid().ok()) {
        Some(curve) if curve == OID_EC_P256 => "ECDSA P-256".to_owned(),
        Some(curve) if curve == OID_NIST_EC_P384 => "ECDSA P-384".to_owned(),
        Some(curve) if curve == OID_NIST_EC_P521 => "ECDSA P-521".to_owned(),
        Some(curve) => format!("ECDSA {}", curve.to_id_string()),
        None => algorithm.to_id_string(),
    }
}

/// Algorithm and bits of its key.
fn key_kind(certificate: &X509Certificate<'_>) -> Option<(KeyAlgorithm, u32)> {
    let description = key_description(certificate);
    match description.as_str() {
        "Ed25519" => Some((KeyAlgorithm::Ed25519, 256)),
        "ECDSA P-256" => Some((KeyAlgorithm::Ecdsa, 256)),
        "ECDSA P-384" => Some((KeyAlgorithm::Ecdsa, 384)),
        "ECDSA P-521" => Some((KeyAlgorithm::Ecdsa, 521)),
        other => Some((KeyAlgorithm::Rsa, other.strip_prefix("RSA ")?.parse().ok()?)),
    }
}

fn damaged(error: impl std::error::Error) -> CertificateError {
    CertificateError::Damaged { reason: error.to_string() }
}

/// The label of a certificate in PEM (RFC 7468 section 5).
pub(super) const LABEL: &str = "CERTIFICATE";

/// The longest PEM text that is read as a chain: 256 KiB.
pub const MAX_CHAIN_BYTES: usize = 256 * 1024;

/// The longest DER that is read as one certificate: cert-manager's cap for a leaf, enough for a
/// hundred names of maximum length.
pub const MAX_CERTIFICATE_BYTES: usize = 36_500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::PrivateKey;
    use crate::pki::test_ca::{self, Ca};

    /// RFC 9773 appendix A.
    const EXAMPLE: &str = "-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
";

    #[test]
    fn a_certificate_has_the_identifier_of_renewal_information() {
        let example = leaf_facts(EXAMPLE).unwrap();
        assert_eq!(example.serial, "87654321");
        assert_eq!(example.certificate_id.as_deref(), Some("aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE"));
        let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let without = ca.sign(&test_ca::leaf("", &["a.example"]), &key);
        assert_eq!(leaf_facts(&without).unwrap().certificate_id, None);
    }
}
