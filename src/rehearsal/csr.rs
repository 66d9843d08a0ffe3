//! Certificate signing requests (RFC 2986), decoded strictly.

use std::collections::BTreeSet;
use std::net::IpAddr;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ECDSA_P521_SHA256_ASN1, ECDSA_P521_SHA384_ASN1,
    ECDSA_P521_SHA512_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
};
use rcgen::{PublicKeyData, SignatureAlgorithm};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey as ParsedKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::resource::Identifier;

use super::jwk::PublicKey;
use super::problem::{Problem, ProblemType};

/// A request whose signature verifies.
#[derive(Debug)]
pub(super) struct Csr {
    pub(super) key: SubjectKey,
    pub(super) identifiers: BTreeSet<Identifier>,
    pub(super) common_name: Option<String>,
    /// The key in the form of an account key, when it could be one.
    pub(super) as_account_key: Option<PublicKey>,
}

/// The key to be certified.
#[derive(Clone, Debug)]
pub(super) struct SubjectKey {
    algorithm: &'static SignatureAlgorithm,
    bits: Vec<u8>,
}

impl PublicKeyData for SubjectKey {
    fn der_bytes(&self) -> &[u8] {
        &self.bits
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.algorithm
    }
}

impl Csr {
    pub(super) fn parse(der: &[u8]) -> Result<Self, Problem> {
        let (rest, csr) = X509CertificationRequest::from_der(der)
            .map_err(|error| bad(format!("the CSR does not parse: {error}")))?;
        if !rest.is_empty() {
            return Err(bad("there is more behind the CSR"));
        }
        let info = &csr.certification_request_info;
        let algorithm = key_algorithm(&info.subject_pki)?;
        let bits = info.subject_pki.subject_public_key.data.to_vec();
        let signed_with = csr.signature_algorithm.algorithm.to_id_string();
        UnparsedPublicKey::new(verification(&signed_with, algorithm)?, &bits)
            .verify(info.raw, &csr.signature_value.data)
            .map_err(|_| bad("the signature of the CSR does not verify"))?;
        let common_names: Vec<&str> =
            info.subject.iter_common_name().filter_map(|name| name.as_str().ok()).collect();
        let common_name = match common_names.as_slice() {
            [] => None,
            [one] => Some((*one).to_owned()),
            [..] => return Err(bad("more than one common name")),
        };
        Ok(Self {
            identifiers: identifiers(&csr)?,
            common_name,
            as_account_key: account_key(&info.subject_pki),
            key: SubjectKey { algorithm, bits },
        })
    }
}

fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemType::BadCsr, detail)
}

fn key_algorithm(key: &SubjectPublicKeyInfo<'_>) -> Result<&'static SignatureAlgorithm, Problem> {
    let curve = || {
        let parameters = key.algorithm.parameters.as_ref()?;
        parameters.as_oid().ok().map(|oid| oid.to_id_string())
    };
    match key.algorithm.algorithm.to_id_string().as_str() {
        RSA => match key.parsed() {
            Ok(ParsedKey::RSA(rsa)) if (2048..=8192).contains(&rsa.key_size()) => {
                Ok(&rcgen::PKCS_RSA_SHA256)
            }
            _ => Err(bad("RSA keys have 2048 to 8192 bits here")),
        },
        EC => match curve().as_deref() {
            Some(P256) => Ok(&rcgen::PKCS_ECDSA_P256_SHA256),
            Some(P384) => Ok(&rcgen::PKCS_ECDSA_P384_SHA384),
            Some(P521) => Ok(&rcgen::PKCS_ECDSA_P521_SHA512),
            other => Err(bad(format!("curve {other:?} is not accepted"))),
        },
        ED25519_OID => Ok(&rcgen::PKCS_ED25519),
        other => Err(bad(format!("keys of type {other} are not accepted"))),
    }
}

fn verification(
    oid: &str,
    key: &'static SignatureAlgorithm,
) -> Result<&'static dyn VerificationAlgorithm, Problem> {
    let is = |algorithm: &SignatureAlgorithm| key == algorithm;
    let found: Option<&'static dyn VerificationAlgorithm> = match oid {
        "1.2.840.113549.1.1.11" if is(&rcgen::PKCS_RSA_SHA256) => Some(&RSA_PKCS1_2048_8192_SHA256),
        "1.2.840.113549.1.1.12" if is(&rcgen::PKCS_RSA_SHA256) => Some(&RSA_PKCS1_2048_8192_SHA384),
        "1.2.840.113549.1.1.13" if is(&rcgen::PKCS_RSA_SHA256) => Some(&RSA_PKCS1_2048_8192_SHA512),
        "1.2.840.10045.4.3.2" if is(&rcgen::PKCS_ECDSA_P256_SHA256) => {
            Some(&ECDSA_P256_SHA256_ASN1)
        }
        "1.2.840.10045.4.3.3" if is(&rcgen::PKCS_ECDSA_P384_SHA384) => {
            Some(&ECDSA_P384_SHA384_ASN1)
        }
        "1.2.840.10045.4.3.2" if is(&rcgen::PKCS_ECDSA_P521_SHA512) => {
            Some(&ECDSA_P521_SHA256_ASN1)
        }
        "1.2.840.10045.4.3.3" if is(&rcgen::PKCS_ECDSA_P521_SHA512) => {
            Some(&ECDSA_P521_SHA384_ASN1)
        }
        "1.2.840.10045.4.3.4" if is(&rcgen::PKCS_ECDSA_P521_SHA512) => {
            Some(&ECDSA_P521_SHA512_ASN1)
        }
        ED25519_OID if is(&rcgen::PKCS_ED25519) => Some(&ED25519),
        _ => None,
    };
    found.ok_or_else(|| bad(format!("CSR signature algorithm {oid} does not fit the key")))
}

fn identifiers(csr: &X509CertificationRequest<'_>) -> Result<BTreeSet<Identifier>, Problem> {
    let mut found = BTreeSet::new();
    let Some(extensions) = csr.requested_extensions() else { return Ok(found) };
    for extension in extensions {
        let ParsedExtension::SubjectAlternativeName(names) = extension else { continue };
        for name in &names.general_names {
            found.insert(identifier(name)?);
        }
    }
    Ok(found)
}

fn identifier(name: &GeneralName<'_>) -> Result<Identifier, Problem> {
    if let GeneralName::DNSName(text) = name {
        return text
            .parse()
            .map(Identifier::Dns)
            .map_err(|error| bad(format!("DNS name {text:?} in the CSR: {error}")));
    }
    let octets = if let GeneralName::IPAddress(octets) = name { *octets } else { &[] };
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    let six = <[u8; 16]>::try_from(octets).map(IpAddr::from);
    four.or(six).map(Identifier::Ip).map_err(|_| {
        bad("the CSR has a subject alternative name that is neither DNS name nor address")
    })
}

/// The key of a certificate in the form of an account key, when it could be one.
pub(super) fn key_of_certificate(der: &[u8]) -> Option<PublicKey> {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
    account_key(certificate.public_key())
}

fn account_key(key: &SubjectPublicKeyInfo<'_>) -> Option<PublicKey> {
    match key.parsed().ok()? {
        ParsedKey::EC(point) => PublicKey::of_point(point.data()),
        ParsedKey::RSA(rsa) => {
            let trim = |bytes: &[u8]| {
                bytes.iter().copied().skip_while(|byte| *byte == 0).collect::<Vec<u8>>()
            };
            Some(PublicKey::Rsa { n: trim(rsa.modulus), e: trim(rsa.exponent) })
        }
        ParsedKey::Unknown(x) if key.algorithm.algorithm.to_id_string() == ED25519_OID => {
            Some(PublicKey::Ed25519 { x: x.to_vec() })
        }
        ParsedKey::DSA(_)
        | ParsedKey::GostR3410(_)
        | ParsedKey::GostR3410_2012(_)
        | ParsedKey::Unknown(_) => None,
    }
}

const RSA: &str = "1.2.840.113549.1.1.1";
const EC: &str = "1.2.840.10045.2.1";
const P256: &str = "1.2.840.10045.3.1.7";
const P384: &str = "1.3.132.0.34";
const P521: &str = "1.3.132.0.35";
const ED25519_OID: &str = "1.3.101.112";
