//! A temporary certificate, which a server can start with before the real one is issued.
//!
//! As in cert-manager it has the names and usages of the spec, is signed by a root whose key is
//! discarded at once, and is recognized by the name of that root, which no real CA uses.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, IsCa, Issuer,
    KeyPair, SerialNumber, date_time_ymd,
};
use thiserror::Error;

use super::csr;
use super::csr_error::CsrError;
use super::key_error::KeyError;
use super::pem;
use super::private_key::PrivateKey;
use crate::resource::{CertificateSpec, KeyAlgorithm, LeafFacts};

/// Why the temporary certificate cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TemporaryError {
    /// The spec cannot be encoded.
    #[error(transparent)]
    Request(#[from] CsrError),
    /// The root's key cannot be generated.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No random serial number.
    #[error("the system has no random bytes")]
    Random,
    /// The encoder returned an error.
    #[error("cannot make a temporary certificate: {reason}")]
    Encoding { reason: String },
}

impl From<rcgen::Error> for TemporaryError {
    fn from(error: rcgen::Error) -> Self {
        Self::Encoding { reason: error.to_string() }
    }
}

/// The PEM of a certificate for `key`, with the names and usages of the spec, valid from `now` for
/// the spec's duration, 90 days by default. Its serial number is random: the roots share one name,
/// and clients remember the serial numbers of an issuer.
pub fn temporary_certificate(
    spec: &CertificateSpec,
    key: &PrivateKey,
    now: Timestamp,
) -> Result<String, TemporaryError> {
    let lifetime = spec.duration.map_or(LIFETIME, |duration| duration.0);
    let end = now.checked_add(lifetime).unwrap_or(Timestamp::MAX);
    let mut root = CertificateParams::default();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    root.distinguished_name = DistinguishedName::new();
    root.distinguished_name.push(DnType::CommonName, LeafFacts::TEMPORARY_ISSUER);
    let root_key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 521)?;
    let issuer = Issuer::new(root, KeyPair::from_pem(&root_key.to_pkcs8_pem())?);

    let mut leaf = CertificateParams::default();
    leaf.distinguished_name = DistinguishedName::new();
    if !spec.common_name.is_empty() {
        leaf.distinguished_name.push(DnType::CommonName, spec.common_name.as_str());
    }
    // The mark of cert-manager's temporary certificates, a `serialNumber` of the subject (X.520).
    leaf.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 5]), "1234567890");
    let mut serial = [0; 16];
    aws_lc_rs::rand::fill(&mut serial).map_err(|_| TemporaryError::Random)?;
    leaf.serial_number = Some(SerialNumber::from_slice(&serial));
    leaf.is_ca = IsCa::ExplicitNoCa;
    leaf.use_authority_key_identifier_extension = true;
    // Truncated to seconds and limited to the years of X.509.
    let date = |at: Timestamp| {
        let since_epoch = u64::try_from(at.as_second()).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + Duration::from_secs(since_epoch.min(END_OF_TIME))
    };
    (leaf.not_before, leaf.not_after) = (date(now), date(end));
    for extension in csr::extensions(spec, false)? {
        let oid: Vec<u64> = extension.extn_id.arcs().map(u64::from).collect();
        let value = extension.extn_value.into_bytes();
        let mut custom = CustomExtension::from_oid_content(&oid, value.into());
        custom.set_criticality(extension.critical);
        leaf.custom_extensions.push(custom);
    }
    let public = KeyPair::from_pem(&key.to_pkcs8_pem())?;
    let signed = leaf.signed_by(&public, &issuer)?;
    Ok(pem::encode(super::certificate::LABEL, signed.der()).to_string())
}

const LIFETIME: SignedDuration = SignedDuration::from_hours(90 * 24);
/// 9999-12-31T23:59:59Z, the last time that X.509 can express.
const END_OF_TIME: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki;
    use crate::resource::{GoDuration, OtherName, Usage};

    #[test]
    fn it_follows_the_spec_and_is_recognized_by_its_issuer() {
        let now: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        for (algorithm, bits) in
            [(KeyAlgorithm::Rsa, 2048), (KeyAlgorithm::Ecdsa, 384), (KeyAlgorithm::Ed25519, 256)]
        {
            let key = PrivateKey::generate(algorithm, bits).unwrap();
            let spec = CertificateSpec {
                common_name: "a.example".to_owned(),
                dns_names: vec!["a.example".parse().unwrap(), "*.b.example".parse().unwrap()],
                ip_addresses: vec!["192.0.2.1".parse().unwrap()],
                uris: vec!["spiffe://a/b".to_owned()],
                email_addresses: vec!["a@b.example".to_owned()],
                other_names: vec![OtherName {
                    oid: "1.3.6.1.4.1.311.20.2.3".to_owned(),
                    utf8_value: "upn@b.example".to_owned(),
                }],
                usages: vec![Usage::DigitalSignature, Usage::ServerAuth],
                duration: Some(GoDuration(SignedDuration::from_hours(5))),
                ..CertificateSpec::default()
            };
            let pem = temporary_certificate(&spec, &key, now).unwrap();
            let leaf = pki::leaf_facts(&pem).unwrap();
            let expected = LeafFacts {
                public_key: key.facts().public_key.clone(),
                fingerprint: leaf.fingerprint.clone(),
                serial: leaf.serial.clone(),
                certificate_id: leaf.certificate_id.clone(),
                common_name: "a.example".to_owned(),
                dns_names: vec!["a.example".to_owned(), "*.b.example".to_owned()],
                ip_addresses: spec.ip_addresses.clone(),
                uris: spec.uris.clone(),
                email_addresses: spec.email_addresses.clone(),
                not_before: "2026-01-02T03:04:05Z".parse().unwrap(),
                not_after: "2026-01-02T08:04:05Z".parse().unwrap(),
                issuer_common_name: "cert-manager.local".to_owned(),
                key_description: leaf.key_description.clone(),
            };
            assert_eq!(leaf, expected);
            assert!(leaf.is_temporary());
            let again = temporary_certificate(&spec, &key, now).unwrap();
            assert_ne!(pki::leaf_facts(&again).unwrap().serial, leaf.serial);
            let chain = pki::Chain::from_pem(&pem).unwrap();
            let attributes = pki::subject_attributes(&chain);
            assert_eq!(attributes["serialnumber"], ["1234567890"]);
        }
    }

    #[test]
    fn without_a_duration_it_lives_as_long_as_a_real_one() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        for (duration, not_after) in [
            (None, "2026-04-02T03:04:05Z"),
            (Some(SignedDuration::from_hours(i64::from(i32::MAX))), "9999-12-30T22:00:00Z"),
        ] {
            let duration = duration.map(GoDuration);
            let spec = CertificateSpec { duration, ..CertificateSpec::default() };
            let leaf = temporary_certificate(&spec, &key, now).unwrap();
            assert_eq!(pki::leaf_facts(&leaf).unwrap().not_after, not_after.parse().unwrap());
        }
    }
}
