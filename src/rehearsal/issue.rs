//! Signing: the throw-away roots, the intermediate, leaf certificates and their chains.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateRevocationListParams,
    CrlDistributionPoint, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::resource::Identifier;

use super::random;

/// The keys and certificates of one CA.
pub(super) struct Hierarchy {
    roots: Vec<Certificate>,
    /// The same intermediate, signed by each root.
    intermediates: Vec<Certificate>,
    issuer: Issuer<'static, KeyPair>,
}

/// The content of a leaf certificate.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) identifiers: Vec<Identifier>,
    pub(super) common_name: Option<String>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    /// The URL of the CRL, if there is one.
    pub(super) crl: Option<String>,
}

/// A certificate in DER, and the chains that begin with it in PEM, one per root.
pub(super) type Issuance = (Vec<u8>, Vec<String>);

impl Hierarchy {
    /// New keys; with `alternate` a second root that has signed the same intermediate.
    pub(super) fn generate(alternate: bool) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let params = authority("certctl rehearsal intermediate", BasicConstraints::Constrained(0));
        let mut roots = Vec::new();
        let mut intermediates = Vec::new();
        let names: &[&str] = if alternate { &[ROOT, ALTERNATE_ROOT] } else { &[ROOT] };
        for name in names {
            let root_key = KeyPair::generate()?;
            let root = authority(name, BasicConstraints::Unconstrained);
            roots.push(root.self_signed(&root_key)?);
            let mut params = params.clone();
            params.use_authority_key_identifier_extension = true;
            intermediates.push(params.signed_by(&key, &Issuer::new(root, root_key))?);
        }
        Ok(Self { roots, intermediates, issuer: Issuer::new(params, key) })
    }

    /// The roots in PEM; the first one signs the default chain.
    pub(super) fn root_pems(&self) -> Vec<String> {
        self.roots.iter().map(Certificate::pem).collect()
    }

    /// Chain and key of the CA's own HTTPS server. Its validity is that of the roots:
    /// TLS clients use the real time, not the CA's clock.
    pub(super) fn server(
        &self,
        address: IpAddr,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), rcgen::Error> {
        let key = KeyPair::generate()?;
        let names = ["127.0.0.1".to_owned(), "::1".into(), "localhost".into(), address.to_string()];
        let mut params = leaf_params(CertificateParams::new(names)?);
        set_long_validity(&mut params);
        let leaf = params.signed_by(&key, &self.issuer)?;
        let intermediates = self.intermediates.iter().take(1).cloned();
        let chain = std::iter::once(leaf).chain(intermediates).map(CertificateDer::from);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok((chain.collect(), key))
    }

    /// Signs a leaf.
    pub(super) fn sign(
        &self,
        key: &impl PublicKeyData,
        leaf: &Leaf,
    ) -> Result<Certificate, rcgen::Error> {
        params_of(leaf)?.signed_by(key, &self.issuer)
    }

    /// Signs a CRL, in DER.
    pub(super) fn sign_crl(
        &self,
        params: &CertificateRevocationListParams,
    ) -> Result<Vec<u8>, rcgen::Error> {
        Ok(params.signed_by(&self.issuer)?.der().to_vec())
    }

    /// The chains that begin with this leaf, in PEM: one per root.
    pub(super) fn chains(&self, leaf: &str) -> Vec<String> {
        self.intermediates
            .iter()
            .map(|intermediate| leaf.to_owned() + &intermediate.pem())
            .collect()
    }
}

fn params_of(leaf: &Leaf) -> Result<CertificateParams, rcgen::Error> {
    let mut params = leaf_params(CertificateParams::default());
    if let Some(name) = &leaf.common_name {
        params.distinguished_name.push(DnType::CommonName, name.as_str());
    }
    for identifier in &leaf.identifiers {
        params.subject_alt_names.push(match identifier {
            Identifier::Dns(name) => SanType::DnsName(name.as_str().try_into()?),
            Identifier::Ip(address) => SanType::IpAddress(*address),
        });
    }
    params.not_before = date_time_ymd(1970, 1, 1) + since_epoch(leaf.not_before);
    params.not_after = date_time_ymd(1970, 1, 1) + since_epoch(leaf.not_after);
    params.crl_distribution_points =
        leaf.crl.iter().map(|url| CrlDistributionPoint { uris: vec![url.clone()] }).collect();
    Ok(params)
}

/// A time, as far as X.509 goes.
pub(super) fn since_epoch(at: Timestamp) -> Duration {
    let seconds = u64::try_from(at.as_second()).unwrap_or_default();
    Duration::from_secs(seconds.min(END_OF_TIME))
}

fn leaf_params(mut params: CertificateParams) -> CertificateParams {
    params.distinguished_name = DistinguishedName::new();
    params.serial_number = Some(SerialNumber::from_slice(&random::serial()));
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params
}

fn authority(name: &str, constraints: BasicConstraints) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.serial_number = Some(SerialNumber::from_slice(&random::serial()));
    params.is_ca = IsCa::Ca(constraints);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_long_validity(&mut params);
    params
}

/// Long enough for any time that a test simulates.
fn set_long_validity(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(2999, 12, 31);
}

const ROOT: &str = "certctl rehearsal root X1";
const ALTERNATE_ROOT: &str = "certctl rehearsal root X2";
/// 9999-12-31T23:59:59Z, the latest time in X.509.
const END_OF_TIME: u64 = 253_402_300_799;
