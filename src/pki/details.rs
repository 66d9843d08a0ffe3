//! A certificate for display: every field that `inspect` shows.
//!
//! Contract: read from the DER alone; algorithms and usages are named as in cmctl.

use std::net::IpAddr;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{DistributionPointName, GeneralName, ParsedExtension};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use super::certificate::{self, CertificateError};
use super::names::{self, Names};
use crate::resource::hex;

/// All that is shown of one certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificateDetails {
    /// The subject.
    pub subject: Party,
    /// The issuer.
    pub issuer: Party,
    /// SANs of type dNSName.
    pub dns_names: Vec<String>,
    /// SANs of type URI.
    pub uris: Vec<String>,
    /// SANs of type iPAddress.
    pub ip_addresses: Vec<IpAddr>,
    /// SANs of type rfc822Name.
    pub email_addresses: Vec<String>,
    /// Other names: object identifier, and value in DER.
    #[serde(skip)]
    pub other_names: Vec<(String, Vec<u8>)>,
    /// Key usages, then extended ones, in cert-manager's words; an object identifier where it has
    /// none.
    pub usages: Vec<String>,
    /// Start of validity.
    #[schemars(with = "crate::resource::DateTime")]
    pub not_before: Timestamp,
    /// End of validity.
    #[schemars(with = "crate::resource::DateTime")]
    pub not_after: Timestamp,
    /// Such as `ECDSA-SHA256`.
    pub signature_algorithm: String,
    /// Such as `ECDSA`.
    pub public_key_algorithm: String,
    /// Decimal.
    pub serial_number: String,
    /// Lower-case hexadecimal without colons.
    pub serial_number_hex: String,
    /// SHA-256 over the DER: upper-case hexadecimal with colons.
    #[serde(rename = "sha256")]
    pub fingerprint: String,
    /// SHA-256 over the SubjectPublicKeyInfo in base64, as pins are written (RFC 7469 section 2.4).
    #[serde(rename = "spkiSha256")]
    pub spki_pin: String,
    /// Whether basicConstraints make it a CA.
    pub is_ca: bool,
    /// CRL distribution points.
    pub crl_urls: Vec<String>,
    /// OCSP responders.
    pub ocsp_urls: Vec<String>,
    /// How many signed certificate timestamps are embedded (RFC 6962 section 3.3).
    pub sct_count: usize,
}

/// A subject or an issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Party {
    /// CN, empty when there is none.
    pub common_name: String,
    /// O.
    pub organization: Vec<String>,
    /// OU.
    pub organizational_unit: Vec<String>,
    /// C.
    pub country: Vec<String>,
    /// The whole name in one line.
    pub name: String,
}

impl CertificateDetails {
    /// Reads one certificate.
    pub fn read(der: &[u8]) -> Result<Self, CertificateError> {
        let certificate = certificate::parse(der)?;
        let facts = certificate::facts(&certificate, der)?;
        let extensions = Extensions::read(&certificate);
        let spki = digest::digest(&digest::SHA256, certificate.public_key().raw);
        let fingerprint = digest::digest(&digest::SHA256, der);
        Ok(Self {
            subject: party(certificate.subject()),
            issuer: party(certificate.issuer()),
            dns_names: facts.dns_names,
            uris: facts.uris,
            ip_addresses: facts.ip_addresses,
            email_addresses: facts.email_addresses,
            other_names: extensions.other_names,
            usages: extensions.usages,
            not_before: facts.not_before,
            not_after: facts.not_after,
            signature_algorithm: signature_algorithm(&certificate),
            public_key_algorithm: public_key_algorithm(&certificate),
            serial_number: certificate.tbs_certificate.serial.to_string(),
            serial_number_hex: facts.serial,
            fingerprint: colons(fingerprint.as_ref()),
            spki_pin: STANDARD.encode(spki.as_ref()),
            is_ca: certificate.is_ca(),
            crl_urls: extensions.crl_urls,
            ocsp_urls: extensions.ocsp_urls,
            sct_count: extensions.sct_count,
        })
    }
}

/// The fields read from the extensions.
#[derive(Default)]
struct Extensions {
    other_names: Vec<(String, Vec<u8>)>,
    usages: Vec<String>,
    crl_urls: Vec<String>,
    ocsp_urls: Vec<String>,
    sct_count: usize,
}

impl Extensions {
    fn read(certificate: &X509Certificate<'_>) -> Self {
        let mut found = Self::default();
        let mut extended = Vec::new();
        for extension in certificate.extensions() {
            let parsed = extension.parsed_extension();
            if let ParsedExtension::KeyUsage(usage) = parsed {
                let names = KEY_USAGES.iter().enumerate();
                let is_set = |(bit, _): &(usize, &&str)| usage.flags >> bit & 1 == 1;
                found.usages = names.filter(is_set).map(|(_, name)| (*name).to_owned()).collect();
            } else if let ParsedExtension::ExtendedKeyUsage(_) = parsed {
                extended = extended_usages(extension.value);
            } else if let ParsedExtension::SubjectAlternativeName(names) = parsed {
                for name in &names.general_names {
                    if let GeneralName::OtherName(oid, value) = name {
                        found.other_names.push((oid.to_id_string(), value.to_vec()));
                    }
                }
            } else if let ParsedExtension::CRLDistributionPoints(points) = parsed {
                for point in &points.points {
                    if let Some(DistributionPointName::FullName(names)) = &point.distribution_point
                    {
                        found.crl_urls.extend(Names::read(names).uris);
                    }
                }
            } else if let ParsedExtension::AuthorityInfoAccess(access) = parsed {
                for description in &access.accessdescs {
                    if description.access_method.to_id_string() == "1.3.6.1.5.5.7.48.1"
                        && let GeneralName::URI(url) = &description.access_location
                    {
                        found.ocsp_urls.push((*url).to_owned());
                    }
                }
            } else if let ParsedExtension::SCT(list) = parsed {
                found.sct_count = found.sct_count.saturating_add(list.len());
            }
        }
        found.usages.extend(extended);
        found
    }
}

/// The purposes in the order of the extension.
fn extended_usages(value: &[u8]) -> Vec<String> {
    use der::Decode as _;
    let purposes = Vec::<der::asn1::ObjectIdentifier>::from_der(value).unwrap_or_default();
    let word = |oid: String| {
        let known = EXTENDED_USAGES.iter().find(|(known, _)| *known == oid);
        known.map_or(oid, |(_, word)| (*word).to_owned())
    };
    purposes.iter().map(|oid| word(oid.to_string())).collect()
}

fn party(name: &X509Name<'_>) -> Party {
    fn texts<'a>(values: impl Iterator<Item = &'a AttributeTypeAndValue<'a>>) -> Vec<String> {
        values.filter_map(|value| value.as_str().ok()).map(str::to_owned).collect()
    }
    Party {
        common_name: names::common_name(name),
        organization: texts(name.iter_organization()),
        organizational_unit: texts(name.iter_organizational_unit()),
        country: texts(name.iter_country()),
        name: name.to_string(),
    }
}

fn signature_algorithm(certificate: &X509Certificate<'_>) -> String {
    let oid = certificate.signature_algorithm.algorithm.to_id_string();
    let known = SIGNATURE_ALGORITHMS.iter().find(|(known, _)| *known == oid);
    known.map_or(oid, |(_, word)| (*word).to_owned())
}

fn public_key_algorithm(certificate: &X509Certificate<'_>) -> String {
    let oid = certificate.public_key().algorithm.algorithm.to_id_string();
    let known = KEY_ALGORITHMS.iter().find(|(known, _)| *known == oid);
    known.map_or(oid, |(_, word)| (*word).to_owned())
}

fn colons(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| hex(&[*byte]).to_ascii_uppercase()).collect();
    bytes.join(":")
}

/// By bit (RFC 5280 section 4.2.1.3).
const KEY_USAGES: [&str; 9] = [
    "digital signature",
    "content commitment",
    "key encipherment",
    "data encipherment",
    "key agreement",
    "cert sign",
    "crl sign",
    "encipher only",
    "decipher only",
];

const EXTENDED_USAGES: [(&str, &str); 14] = [
    ("2.5.29.37.0", "any"),
    ("1.3.6.1.5.5.7.3.1", "server auth"),
    ("1.3.6.1.5.5.7.3.2", "client auth"),
    ("1.3.6.1.5.5.7.3.3", "code signing"),
    ("1.3.6.1.5.5.7.3.4", "email protection"),
    ("1.3.6.1.5.5.7.3.5", "ipsec end system"),
    ("1.3.6.1.5.5.7.3.6", "ipsec tunnel"),
    ("1.3.6.1.5.5.7.3.7", "ipsec user"),
    ("1.3.6.1.5.5.7.3.8", "timestamping"),
    ("1.3.6.1.5.5.7.3.9", "ocsp signing"),
    ("1.3.6.1.4.1.311.10.3.3", "microsoft sgc"),
    ("2.16.840.1.113730.4.1", "netscape sgc"),
    ("1.3.6.1.4.1.311.2.1.22", "microsoft commercial code signing"),
    ("1.3.6.1.4.1.311.61.1.1", "microsoft kernel code signing"),
];

const SIGNATURE_ALGORITHMS: [(&str, &str); 11] = [
    ("1.2.840.113549.1.1.4", "MD5-RSA"),
    ("1.2.840.113549.1.1.5", "SHA1-RSA"),
    ("1.2.840.113549.1.1.10", "RSA-PSS"),
    ("1.2.840.113549.1.1.11", "SHA256-RSA"),
    ("1.2.840.113549.1.1.12", "SHA384-RSA"),
    ("1.2.840.113549.1.1.13", "SHA512-RSA"),
    ("1.2.840.10045.4.1", "ECDSA-SHA1"),
    ("1.2.840.10045.4.3.2", "ECDSA-SHA256"),
    ("1.2.840.10045.4.3.3", "ECDSA-SHA384"),
    ("1.2.840.10045.4.3.4", "ECDSA-SHA512"),
    ("1.3.101.112", "Ed25519"),
];

const KEY_ALGORITHMS: [(&str, &str); 4] = [
    ("1.2.840.113549.1.1.1", "RSA"),
    ("1.2.840.10045.2.1", "ECDSA"),
    ("1.3.101.112", "Ed25519"),
    ("1.2.840.10040.4.1", "DSA"),
];
