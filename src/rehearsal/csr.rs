//! Certificate signing requests (RFC 2986), decoded strictly.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rcgen::SubjectPublicKeyInfo as SubjectKey;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey as ParsedKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::pki::{Verdict, verify_signature};
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

impl Csr {
    pub(super) fn parse(der: &[u8]) -> Result<Self, Problem> {
        let (rest, csr) = X509CertificationRequest::from_der(der)
            .map_err(|error| bad(format!("the CSR does not parse: {error}")))?;
        if !rest.is_empty() {
            return Err(bad("there is more behind the CSR"));
        }
        let info = &csr.certification_request_info;
        let key = subject_key(&info.subject_pki)?;
        let (signed_with, signature) = (&csr.signature_algorithm, &csr.signature_value.data);
        match verify_signature(&info.subject_pki, signed_with, signature, info.raw) {
            Verdict::Good => {}
            Verdict::Bad => return Err(bad("the signature of the CSR does not verify")),
            Verdict::Unknown => {
                let oid = signed_with.algorithm.to_id_string();
                return Err(bad(format!("CSR signature algorithm {oid} does not fit the key")));
            }
        }
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
            key,
        })
    }
}

fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemType::BadCsr, detail)
}

/// The key to be certified, of a kind that the CA signs.
fn subject_key(key: &SubjectPublicKeyInfo<'_>) -> Result<SubjectKey, Problem> {
    if let Ok(ParsedKey::RSA(rsa)) = key.parsed()
        && !(2048..=8192).contains(&rsa.key_size())
    {
        return Err(bad("RSA keys have 2048 to 8192 bits here"));
    }
    SubjectKey::from_der(key.raw).map_err(|error| bad(format!("the key: {error}")))
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

const ED25519_OID: &str = "1.3.101.112";
