//! The certificate that answers a tls-alpn-01 challenge (RFC 8737 section 3; of an address RFC 8738
//! section 6).
//!
//! Contract: what is made here passes the check here, which is as strict as the public CAs are. No CA
//! looks at the dates of such a certificate, so that no clock is needed.

use aws_lc_rs::digest;
use rcgen::{
    CertificateParams, CustomExtension, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256,
    SanType,
};
use thiserror::Error;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension, X509Extension};
use x509_parser::oid_registry::OID_X509_EXT_SUBJECT_ALT_NAME;
use zeroize::Zeroizing;

use super::certificate::{self, CertificateError};
use super::names::Names;
use super::signing::{self, Verdict};
use crate::resource::Identifier;

/// A certificate, and its key.
pub struct ChallengeCertificate {
    /// The certificate in DER.
    pub certificate: Vec<u8>,
    /// The private key, PKCS#8 in DER.
    pub private_key: Zeroizing<Vec<u8>>,
}

/// Why a certificate cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot make the certificate of a challenge: {reason}")]
pub struct ChallengeEncodingError {
    pub reason: String,
}

impl From<rcgen::Error> for ChallengeEncodingError {
    fn from(error: rcgen::Error) -> Self {
        Self { reason: error.to_string() }
    }
}

/// Why a CA does not take a certificate for the answer to a challenge.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChallengeCertificateError {
    /// No certificate at all.
    #[error(transparent)]
    Unreadable(#[from] CertificateError),
    /// A certificate of another purpose.
    #[error("the certificate has no acmeIdentifier extension")]
    NoAcmeIdentifier,
    /// RFC 5280 section 4.2 allows each extension once.
    #[error("the certificate has more than one extension of a kind")]
    Repeated,
    /// Old clients would take the certificate for a usual one.
    #[error("the acmeIdentifier extension is not critical")]
    NotCritical,
    /// The extension's value is not a SHA-256 digest.
    #[error("the acmeIdentifier extension is damaged")]
    Damaged,
    /// The digest of another key authorization: of another account or token.
    #[error("the acmeIdentifier extension has the digest of another key authorization")]
    OtherDigest,
    /// Other names, or further ones.
    #[error("the certificate is for {}, not for the one name", list(names))]
    Names {
        /// Those of the certificate, without names of rare types.
        names: Vec<String>,
    },
    /// The issuer is another one, or the signature is not of the certificate's own key.
    #[error("the certificate is not self-signed")]
    NotSelfSigned,
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "no name".to_owned() } else { names.join(", ") }
}

/// The digest that the certificate has of a key authorization (RFC 8555 section 8.1).
pub fn digest_of(key_authorization: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    let digest = digest::digest(&digest::SHA256, key_authorization.as_bytes());
    bytes.copy_from_slice(digest.as_ref());
    bytes
}

/// A new certificate with a new key, for the name without `*.` or the address.
pub fn challenge_certificate(
    identifier: &Identifier,
    digest: &[u8; 32],
) -> Result<ChallengeCertificate, ChallengeEncodingError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    // The names are not critical beside a subject that is not empty (RFC 5280 section 4.2.1.6).
    params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    params.subject_alt_names = vec![match identifier {
        Identifier::Dns(name) => SanType::DnsName(name.base().try_into()?),
        Identifier::Ip(address) => SanType::IpAddress(address.to_canonical()),
    }];
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = params.self_signed(&key)?.der().to_vec();
    Ok(ChallengeCertificate { certificate, private_key: Zeroizing::new(key.serialize_der()) })
}

/// Checks a certificate as a CA does: its acmeIdentifier, its one name, its own signature.
pub fn check_challenge_certificate(
    der: &[u8],
    identifier: &Identifier,
    digest: &[u8; 32],
) -> Result<(), ChallengeCertificateError> {
    let certificate = certificate::parse(der)?;
    let acme_identifier = unique(&certificate, ACME_IDENTIFIER)?;
    let acme_identifier = acme_identifier.ok_or(ChallengeCertificateError::NoAcmeIdentifier)?;
    if !acme_identifier.critical {
        return Err(ChallengeCertificateError::NotCritical);
    }
    check_names(&certificate, identifier)?;
    // An OCTET STRING of 32 bytes.
    match acme_identifier.value {
        [4, 32, found @ ..] if found == digest => {}
        [4, 32, found @ ..] if found.len() == digest.len() => {
            return Err(ChallengeCertificateError::OtherDigest);
        }
        _ => return Err(ChallengeCertificateError::Damaged),
    }
    let signature = signing::verify(
        certificate.public_key(),
        &certificate.signature_algorithm,
        &certificate.signature_value.data,
        certificate.tbs_certificate.as_ref(),
    );
    let is_own = certificate.subject().as_raw() == certificate.issuer().as_raw();
    if is_own && signature == Verdict::Good {
        Ok(())
    } else {
        Err(ChallengeCertificateError::NotSelfSigned)
    }
}

/// Letters of names are compared whatever their case (RFC 4343).
fn check_names(
    certificate: &X509Certificate<'_>,
    identifier: &Identifier,
) -> Result<(), ChallengeCertificateError> {
    let names = unique(certificate, &OID_X509_EXT_SUBJECT_ALT_NAME.to_id_string())?;
    let names = match names.map(X509Extension::parsed_extension) {
        Some(ParsedExtension::SubjectAlternativeName(names)) => names.general_names.as_slice(),
        _ => &[],
    };
    let found = Names::read(names);
    let is_the_one = match (names, identifier) {
        ([GeneralName::DNSName(found)], Identifier::Dns(name)) => {
            found.eq_ignore_ascii_case(name.base())
        }
        ([GeneralName::IPAddress(_)], Identifier::Ip(address)) => {
            found.ip == [address.to_canonical()]
        }
        _ => false,
    };
    if is_the_one {
        return Ok(());
    }
    let addresses = found.ip.iter().map(ToString::to_string);
    let names = found.dns.into_iter().chain(addresses).chain(found.uris).chain(found.emails);
    Err(ChallengeCertificateError::Names { names: names.collect() })
}

fn unique<'a, 'b>(
    certificate: &'a X509Certificate<'b>,
    oid: &str,
) -> Result<Option<&'a X509Extension<'b>>, ChallengeCertificateError> {
    let mut found = certificate.extensions().iter().filter(|one| one.oid.to_id_string() == oid);
    match (found.next(), found.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(ChallengeCertificateError::Repeated),
    }
}

/// The protocol of the handshake (RFC 8737 section 6.2), as ALPN writes it.
pub const ACME_TLS: &[u8] = b"acme-tls/1";
const COMMON_NAME: &str = "ACME challenge";
/// `id-pe-acmeIdentifier` (RFC 8737 section 6.1).
const ACME_IDENTIFIER: &str = "1.3.6.1.5.5.7.1.31";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::PrivateKey;
    use crate::pki::test_ca::Ca;
    use crate::resource::KeyAlgorithm;

    fn identifiers() -> [Identifier; 3] {
        [
            Identifier::Dns("www.example.com".parse().unwrap()),
            Identifier::Ip("192.0.2.1".parse().unwrap()),
            Identifier::Ip("2001:db8::1".parse().unwrap()),
        ]
    }

    /// Pebble and Boulder compare the names byte by byte, and want each extension once.
    #[test]
    fn a_certificate_has_the_one_name_and_the_digest_as_public_cas_want_them() {
        let digest = digest_of("token.thumbprint");
        let v6 = "20010db8000000000000000000000001";
        for (identifier, names) in identifiers().into_iter().zip([
            "3011820f7777772e6578616d706c652e636f6d".to_owned(),
            "30068704c0000201".to_owned(),
            format!("30128710{v6}"),
        ]) {
            let made = challenge_certificate(&identifier, &digest).unwrap();
            let certificate = certificate::parse(&made.certificate).unwrap();
            let hex = |bytes: &[u8]| crate::resource::hex(bytes);
            let found: Vec<(String, bool, String)> = certificate
                .extensions()
                .iter()
                .map(|one| (one.oid.to_id_string(), one.critical, hex(one.value)))
                .collect();
            assert_eq!(
                found,
                [
                    ("2.5.29.17".to_owned(), false, names),
                    (ACME_IDENTIFIER.to_owned(), true, format!("0420{}", hex(&digest))),
                ]
            );
            assert_eq!(
                check_challenge_certificate(&made.certificate, &identifier, &digest),
                Ok(())
            );
            let key = rustls::pki_types::PrivateKeyDer::try_from(made.private_key.as_slice());
            rustls::crypto::aws_lc_rs::sign::any_supported_type(&key.unwrap()).unwrap();
        }
    }

    #[test]
    fn the_digest_is_sha256_of_the_key_authorization() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(crate::resource::hex(&digest_of("abc")), expected);
    }

    /// A certificate with these names and extensions.
    fn certificate(names: &[&str], extensions: Vec<CustomExtension>) -> Vec<u8> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.custom_extensions = extensions;
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn each_departure_from_the_rfc_is_found() {
        use ChallengeCertificateError as E;
        let digest = digest_of("token.thumbprint");
        let right = || CustomExtension::new_acme_identifier(&digest);
        let raw = |content: &[u8]| {
            let oid = [1, 3, 6, 1, 5, 5, 7, 1, 31];
            let mut extension = CustomExtension::from_oid_content(&oid, content.to_vec());
            extension.set_criticality(true);
            extension
        };
        let lax = || {
            let mut extension = right();
            extension.set_criticality(false);
            extension
        };
        let names = |names: &[&str]| {
            Err(E::Names { names: names.iter().map(ToString::to_string).collect() })
        };
        let name = "www.example.com";
        for (found, expected) in [
            (certificate(&[name], vec![right()]), Ok(())),
            (certificate(&["WWW.example.com"], vec![right()]), Ok(())),
            (certificate(&[name], vec![]), Err(E::NoAcmeIdentifier)),
            (certificate(&[name], vec![right(), right()]), Err(E::Repeated)),
            (certificate(&[name], vec![lax()]), Err(E::NotCritical)),
            (
                certificate(&[name], vec![CustomExtension::new_acme_identifier(&[7; 32])]),
                Err(E::OtherDigest),
            ),
            (certificate(&[name], vec![raw(&digest)]), Err(E::Damaged)),
            (
                certificate(&[name], vec![raw(&[&[4, 33], &digest[..], &[0]].concat())]),
                Err(E::Damaged),
            ),
            (certificate(&[], vec![right()]), names(&[])),
            (certificate(&["example.com"], vec![right()]), names(&["example.com"])),
            (certificate(&[name, "192.0.2.1"], vec![right()]), names(&[name, "192.0.2.1"])),
            (certificate(&["192.0.2.1"], vec![right()]), names(&["192.0.2.1"])),
        ] {
            assert_eq!(check_challenge_certificate(&found, &identifiers()[0], &digest), expected);
        }
        let [_, v4, v6] = identifiers();
        let of_v4 = certificate(&["192.0.2.1"], vec![right()]);
        assert_eq!(check_challenge_certificate(&of_v4, &v4, &digest), Ok(()));
        assert_eq!(check_challenge_certificate(&of_v4, &v6, &digest), names(&["192.0.2.1"]));
        let damaged = check_challenge_certificate(&of_v4[..40], &v4, &digest);
        assert!(matches!(damaged, Err(E::Unreadable(_))), "{damaged:?}");
    }

    #[test]
    fn a_certificate_of_another_signer_is_refused() {
        let digest = digest_of("token.thumbprint");
        let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        for subject in ["leaf", "Root"] {
            let mut params = crate::pki::test_ca::leaf(subject, &["www.example.com"]);
            params.custom_extensions = vec![CustomExtension::new_acme_identifier(&digest)];
            let pem = ca.sign(&params, &key);
            let chain = crate::pki::Chain::from_pem(&pem).unwrap();
            assert_eq!(
                check_challenge_certificate(&chain.certificates()[0], &identifiers()[0], &digest),
                Err(ChallengeCertificateError::NotSelfSigned)
            );
        }
    }
}
