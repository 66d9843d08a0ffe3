//! A certificate authority for the tests of this folder.

use rcgen::{
    BasicConstraints, CertificateParams, CrlDistributionPoint, CustomExtension, DistinguishedName,
    DnType, IsCa, Issuer, KeyPair, date_time_ymd,
};

use super::PrivateKey;
use crate::resource::KeyAlgorithm;

/// An issuer, and its chain.
pub(crate) struct Ca {
    issuer: Issuer<'static, KeyPair>,
    /// The signing key.
    pub(crate) key: PrivateKey,
    pub(crate) above: String,
}

impl Ca {
    /// A self-signed root with a key of its own.
    pub(crate) fn root(common_name: &str, algorithm: KeyAlgorithm, bits: u32) -> Self {
        let (own, key) = key_pair(algorithm, bits);
        let params = ca_params(common_name);
        let above = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), key: own, above }
    }

    /// An intermediate below this one.
    pub(crate) fn intermediate(
        &self,
        common_name: &str,
        algorithm: KeyAlgorithm,
        bits: u32,
    ) -> Self {
        let (own, key) = key_pair(algorithm, bits);
        let params = ca_params(common_name);
        let above = params.signed_by(&key, &self.issuer).unwrap().pem();
        Self { issuer: Issuer::new(params, key), key: own, above }
    }

    /// The DER of a revocation list.
    pub(crate) fn revoke(&self, params: &rcgen::CertificateRevocationListParams) -> Vec<u8> {
        params.signed_by(&self.issuer).unwrap().der().to_vec()
    }

    /// The PEM of a leaf for this key.
    pub(crate) fn sign(&self, params: &CertificateParams, key: &PrivateKey) -> String {
        let public = KeyPair::from_pem(&key.to_pkcs8_pem()).unwrap();
        params.signed_by(&public, &self.issuer).unwrap().pem()
    }
}

/// A leaf valid in 2030 and 2031, with these names and a CN unless that is empty.
pub(crate) fn leaf(common_name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = DistinguishedName::new();
    if !common_name.is_empty() {
        params.distinguished_name.push(DnType::CommonName, common_name);
    }
    params.not_before = date_time_ymd(2030, 1, 1);
    params.not_after = date_time_ymd(2032, 1, 1);
    params.serial_number = Some(vec![0, 0x8a, 0x01].into());
    params
}

fn ca_params(common_name: &str) -> CertificateParams {
    let mut params = leaf(common_name, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn key_pair(algorithm: KeyAlgorithm, bits: u32) -> (PrivateKey, KeyPair) {
    let key = PrivateKey::generate(algorithm, bits).unwrap();
    let pair = KeyPair::from_pem(&key.to_pkcs8_pem()).unwrap();
    (key, pair)
}

/// A leaf for www.example.com whose CRL and OCSP addresses are these.
pub(crate) fn leaf_with_urls(crl: &str, ocsp: &str) -> CertificateParams {
    let mut params = leaf("www.example.com", &["www.example.com"]);
    params.crl_distribution_points = vec![CrlDistributionPoint { uris: vec![crl.to_owned()] }];
    // AuthorityInfoAccess with one accessMethod id-ad-ocsp (RFC 5280 section 4.2.2.1).
    let length = |inner: &[u8]| u8::try_from(inner.len()).unwrap();
    let location = [&[0x86, length(ocsp.as_bytes())], ocsp.as_bytes()].concat();
    let method = [0x06, 8, 0x2b, 6, 1, 5, 5, 7, 0x30, 1];
    let description = [&method[..], &location].concat();
    let description = [&[0x30, length(&description)], &description[..]].concat();
    let access = [&[0x30, length(&description)], &description[..]].concat();
    let extension = CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], access);
    params.custom_extensions = vec![extension];
    params
}
