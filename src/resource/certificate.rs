//! Certificate: what the user wants to be true.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{
    DnsName, GoDuration, IssuerKind, KeyAlgorithm, KeyEncoding, Metadata, NamespacedName, Origin,
    SecretKeySelector, Settings, SignatureAlgorithm, Usage,
};

/// A `cert-manager.io/v1` Certificate, read from a manifest and valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Name, namespace, labels, annotations.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: CertificateSpec,
    /// Its own `certctl.io/` annotations, the Issuer's defaults not yet applied.
    pub settings: Settings,
    /// Where it was written.
    pub origin: Origin,
}

impl Certificate {
    /// The Secret that the issued pair goes into; it is in the Certificate's namespace.
    pub fn secret_key(&self) -> NamespacedName {
        NamespacedName::new(&self.metadata.namespace, &self.spec.secret_name)
    }
}

/// `spec` of a Certificate, by cert-manager's names. Absent fields stay absent; what they default
/// to is said at each reader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateSpec {
    /// The Secret that receives the pair.
    pub secret_name: String,
    /// Who issues.
    pub issuer_ref: IssuerRef,
    /// Subject CN; must be among the names for an ACME issuer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub common_name: String,
    /// SANs of type dNSName, in A-label form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_names: Vec<DnsName>,
    /// SANs of type iPAddress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_addresses: Vec<IpAddr>,
    /// SANs of type rfc822Name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email_addresses: Vec<String>,
    /// SANs of type URI.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uris: Vec<String>,
    /// SANs of type otherName.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<OtherName>,
    /// Subject attributes other than CN; excludes `literal_subject`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The whole subject as an RFC 4514 string.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub literal_subject: String,
    /// Wished lifetime; 90 days where one is needed and none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<GoDuration>,
    /// Renew this long before expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_before: Option<GoDuration>,
    /// Renew when this percentage of the lifetime remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_before_percentage: Option<i32>,
    /// Renewal policy and windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Renewal>,
    /// Key usages; [`Usage::DEFAULT`] when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<Usage>,
    /// Whether the CSR asks for a CA certificate.
    #[serde(default, rename = "isCA", skip_serializing_if = "std::ops::Not::not")]
    pub is_ca: bool,
    /// The private key's parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<PrivateKeySpec>,
    /// How the CSR is signed; by key size when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_algorithm: Option<SignatureAlgorithm>,
    /// Whether usages go into the CSR; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encode_usages_in_request: Option<bool>,
    /// How many requests to keep; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
    /// Metadata for the Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_template: Option<SecretTemplate>,
    /// JKS and PKCS#12 stores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keystores: Option<Keystores>,
    /// Further output formats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_output_formats: Vec<OutputFormat>,
    /// X.509 name constraints, for CAs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_constraints: Option<NameConstraints>,
}

impl CertificateSpec {
    /// Key algorithm and size in bits, with cert-manager's defaults applied: RSA 2048,
    /// ECDSA 256, Ed25519 256.
    pub fn key_parameters(&self) -> (KeyAlgorithm, u32) {
        let key = self.private_key.clone().unwrap_or_default();
        let algorithm = key.algorithm.unwrap_or_default();
        let size = match algorithm {
            KeyAlgorithm::Rsa => key.size.unwrap_or(2048),
            KeyAlgorithm::Ecdsa => key.size.unwrap_or(256),
            KeyAlgorithm::Ed25519 => 256,
        };
        (algorithm, size)
    }

    /// `rotationPolicy`; Always when absent (since cert-manager 1.18).
    pub fn rotation_policy(&self) -> RotationPolicy {
        self.private_key.as_ref().and_then(|key| key.rotation_policy).unwrap_or_default()
    }

    /// The usages to ask for.
    pub fn effective_usages(&self) -> &[Usage] {
        if self.usages.is_empty() { Usage::DEFAULT } else { &self.usages }
    }
}

/// `spec.issuerRef`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IssuerRef {
    /// Name of the Issuer or ClusterIssuer.
    pub name: String,
    /// Its kind; Issuer when absent.
    #[serde(default)]
    pub kind: IssuerKind,
    /// Its API group; `cert-manager.io` when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
}

/// One entry of `spec.otherNames`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OtherName {
    /// Dotted decimal object identifier.
    pub oid: String,
    /// The value.
    pub utf8_value: String,
}

/// `spec.subject`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the subject attributes of RFC 5280, appendix A.1")]
pub struct Subject {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub organizations: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub countries: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub organizational_units: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub localities: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provinces: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub street_addresses: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub postal_codes: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub serial_number: String,
}

/// `spec.privateKey`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrivateKeySpec {
    /// RSA when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<KeyAlgorithm>,
    /// Bits; by algorithm when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// PKCS1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<KeyEncoding>,
    /// Always when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation_policy: Option<RotationPolicy>,
}

/// Whether a new issuance gets a new key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RotationPolicy {
    /// A new key for each issuance.
    #[default]
    Always,
    /// Keep the key; make one only when there is none.
    Never,
}

/// `spec.renewal`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Renewal {
    /// RenewBefore when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<RenewalPolicy>,
    /// Maintenance windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<RenewalWindow>,
}

/// `spec.renewal.policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RenewalPolicy {
    /// Renew when renewBefore is reached.
    RenewBefore,
    /// Never renew by time.
    Disabled,
}

/// One entry of `spec.renewal.windows`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenewalWindow {
    /// Five fields (minute, hour, day, month, weekday) or a descriptor such as `@daily`.
    pub cron: String,
    /// How long the window stays open.
    pub window_duration: GoDuration,
    /// IANA time zone; UTC when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timezone: String,
}

/// `spec.secretTemplate`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretTemplate {
    /// Annotations to keep beside the files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Labels to keep beside the files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// `spec.keystores`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Keystores {
    /// A Java keystore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jks: Option<Jks>,
    /// A PKCS#12 store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pkcs12: Option<Pkcs12>,
}

/// `spec.keystores.jks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Jks {
    /// Whether to write the store.
    pub create: bool,
    /// Alias of the key entry; `certificate` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The password, literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The password, by reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_secret_ref: Option<SecretKeySelector>,
}

/// `spec.keystores.pkcs12`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pkcs12 {
    /// Whether to write the store.
    pub create: bool,
    /// LegacyRC2 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<KeystoreProfile>,
    /// The password, literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The password, by reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_secret_ref: Option<SecretKeySelector>,
}

/// `spec.keystores.pkcs12.profile`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "cert-manager's four profiles")]
pub enum KeystoreProfile {
    #[default]
    LegacyRC2,
    LegacyDES,
    Modern2023,
    Modern2026,
}

/// `spec.additionalOutputFormats[].type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum OutputFormat {
    /// `key.der`.
    #[serde(rename = "DER")]
    Der,
    /// `tls-combined.pem`.
    #[serde(rename = "CombinedPEM")]
    CombinedPem,
}

/// `spec.nameConstraints`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NameConstraints {
    /// Whether the extension is critical.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
    /// Permitted subtrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permitted: Option<NameConstraintItem>,
    /// Excluded subtrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<NameConstraintItem>,
}

/// One side of the name constraints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the subtrees of RFC 5280 section 4.2.1.10")]
pub struct NameConstraintItem {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_domains: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_ranges: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email_addresses: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uri_domains: Vec<String>,
}
