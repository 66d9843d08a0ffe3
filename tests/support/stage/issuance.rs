//! The certificates that the CA makes: the one that was ordered, and others.

use std::time::Duration;

use certctl::resource::Identifier;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    Certificate, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    PublicKeyData, SanType,
};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

/// In what a certificate differs from the one that was ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wrong {
    Key,
    Names,
    Expired,
    NotYetValid,
    /// The next certificate of the chain belongs to another CA.
    Chain,
}

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A CA of this name, and its own certificate.
pub(crate) fn authority(name: &str) -> (Issuer<'static, KeyPair>, Certificate) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (Issuer::new(params, key), certificate)
}

/// The chain in PEM for the DER of this CSR; for `life` from `now`, unless that is what is wrong.
pub(crate) fn issue(
    issuer: &Issuer<'static, KeyPair>,
    csr: &[u8],
    identifiers: &[Identifier],
    now: Timestamp,
    (life, has_authority_key_id): (SignedDuration, bool),
    wrong: Option<Wrong>,
) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.use_authority_key_identifier_extension = has_authority_key_id;
    for identifier in identifiers {
        params.subject_alt_names.push(match identifier {
            Identifier::Dns(_) if wrong == Some(Wrong::Names) => {
                SanType::DnsName("other.example".try_into().unwrap())
            }
            Identifier::Dns(name) => SanType::DnsName(name.as_str().try_into().unwrap()),
            Identifier::Ip(address) => SanType::IpAddress(*address),
        });
    }
    let shift = match wrong {
        Some(Wrong::Expired) => -(life + DAY),
        Some(Wrong::NotYetValid) => DAY * 30,
        Some(Wrong::Key | Wrong::Names | Wrong::Chain) | None => SignedDuration::ZERO,
    };
    let time = |at: Timestamp| {
        let seconds = u64::try_from(at.as_second()).unwrap();
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    params.not_before = time(now + shift);
    params.not_after = time(now + shift + life);
    let leaf = if wrong == Some(Wrong::Key) {
        params.signed_by(&KeyPair::generate().unwrap(), issuer)
    } else {
        params.signed_by(&ordered_key(csr), issuer)
    };
    let leaf = leaf.unwrap().pem();
    if wrong == Some(Wrong::Chain) { leaf + &authority("other CA").1.pem() } else { leaf }
}

fn ordered_key(csr: &[u8]) -> Key {
    let (_, csr) = X509CertificationRequest::from_der(csr).unwrap();
    let public_key = &csr.certification_request_info.subject_pki;
    Key {
        bits: public_key.subject_public_key.data.to_vec(),
        is_ed25519: public_key.algorithm.algorithm.to_id_string() == "1.3.101.112",
    }
}

/// An Ed25519 or P-256 key to be certified.
struct Key {
    bits: Vec<u8>,
    is_ed25519: bool,
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        &self.bits
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        if self.is_ed25519 { &rcgen::PKCS_ED25519 } else { &rcgen::PKCS_ECDSA_P256_SHA256 }
    }
}
