//! Certificate: the user's specification.

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::field::Absent;
use super::{
    Choices, Cron, DnsName, FieldDoc, FieldType, GoDuration, IssuerKind, KeyAlgorithm, KeyEncoding,
    Metadata, NamespacedName, Origin, SecretKeySelector, Settings, SignatureAlgorithm, Usage, Used,
    Zone,
};

/// A `cert-manager.io/v1` Certificate, read from a manifest and valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Name, namespace, labels, annotations.
    pub metadata: Metadata,
    pub spec: CertificateSpec,
    /// Its own `certctl/` annotations, the Issuer's defaults not yet applied.
    pub settings: Settings,
    /// The position in the manifest.
    pub origin: Origin,
}

impl Certificate {
    /// The Secret that the issued pair goes into; it is in the Certificate's namespace.
    pub fn secret_key(&self) -> NamespacedName {
        NamespacedName::new(&self.metadata.namespace, &self.spec.secret_name)
    }
}

/// Generates the spec from the table of its fields: the struct with serde, and the description of
/// each field. A row is the field, its name and its type in Rust; its type for users, which program
/// uses it, and `default` and `example` where there are any. Its comment is the help text; fields
/// of nested mappings are described in `cli/words/field/fields.txt`.
macro_rules! spec {
    (
        required {$(
            $(#[doc = $needed_meaning:literal])+
            $(#[serde $needed_serde:tt])?
            $needed:ident $needed_name:literal: $needed_type:ty as $needed_kind:ident,
                $needed_used:ident $(, example $needed_example:literal)?;
        )*}
        optional {$(
            $(#[doc = $meaning:literal])+
            $field:ident $name:literal: $type:ty as $kind:ident $(($choices:literal))?, $used:ident
                $(, default $default:literal)? $(, example $example:literal)?;
        )*}
    ) => {
        /// `spec` of a Certificate, by cert-manager's names. Absent fields stay absent; each reader
        /// applies the defaults.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct CertificateSpec {
            $(
                $(#[doc = $needed_meaning])+
                #[serde(rename = $needed_name)]
                $(#[serde $needed_serde])?
                pub $needed: $needed_type,
            )*
            $(
                $(#[doc = $meaning])+
                #[serde(rename = $name, default, skip_serializing_if = "Absent::is_absent")]
                pub $field: $type,
            )*
        }

        impl CertificateSpec {
            /// The meaning of each field, in the order of the manual.
            pub const FIELDS: &'static [FieldDoc] = &[
                $(FieldDoc {
                    name: $needed_name,
                    kind: FieldType::$needed_kind,
                    used: Used::$needed_used,
                    is_required: true,
                    meaning: concat!($($needed_meaning),+).trim_ascii(),
                    default: "",
                    example: concat!($($needed_example)?),
                },)*
                $(FieldDoc {
                    name: $name,
                    kind: FieldType::$kind $((Choices($choices)))?,
                    used: Used::$used,
                    is_required: false,
                    meaning: concat!($($meaning),+).trim_ascii(),
                    default: concat!($($default)?),
                    example: concat!($($example)?),
                },)*
            ];
        }
    };
}

spec! {
    required {
        /// The Secret that receives key and chain: the folder secrets/NAMESPACE/SECRETNAME of the
        /// state directory.
        #[serde(default, skip_serializing_if = "Absent::is_absent")]
        secret_name "secretName": String as Text, Both, example "web-tls";
        /// The Issuer or ClusterIssuer that signs the certificate.
        issuer_ref "issuerRef": IssuerRef as Object, Both;
    }
    optional {
        /// The common name, at most 64 characters; with an ACME issuer also one of the names.
        common_name "commonName": String as Text, Both, example "www.example.com";
        /// DNS names; a wildcard such as '*.example.com' needs a dns01 solver.
        dns_names "dnsNames": Vec<DnsName> as Texts, Both,
            example "[www.example.com, example.com]";
        /// IP addresses, if the CA certifies them. They need http01.
        ip_addresses "ipAddresses": Vec<IpAddr> as Texts, Both, example "[192.0.2.1]";
        /// E-mail addresses. No public ACME CA certifies them.
        email_addresses "emailAddresses": Vec<String> as Texts, Both, example "[ops@example.com]";
        /// URIs. No public ACME CA certifies them.
        uris "uris": Vec<String> as Texts, Both, example "['spiffe://example.com/web']";
        /// Names of other types. No public ACME CA certifies them.
        other_names "otherNames": Vec<OtherName> as Objects, Both;
        /// Attributes of the subject; excludes literalSubject. ACME CAs drop them.
        subject "subject": Option<Subject> as Object, Both;
        /// The whole subject in RFC 4514's form; excludes subject and commonName.
        literal_subject "literalSubject": String as Text, Both, example "CN=www.example.com,O=a";
        /// The lifetime, at least 1h. Sent to an ACME CA only with
        /// enableDurationFeature.
        duration "duration": Option<GoDuration> as Duration, Both,
            default "2160h", example "2160h";
        /// The time before expiry at which certctl renews, or earlier if the CA suggests it (ARI).
        /// At least 5m and less than the lifetime; excludes renewBeforePercentage.
        renew_before "renewBefore": Option<GoDuration> as Duration, Both,
            default "a third of the lifetime", example "720h";
        /// The same as a percentage of the lifetime, 1 to 99.
        renew_before_percentage "renewBeforePercentage": Option<i32> as Integer, Both,
            example "33";
        /// The allowed times of renewals.
        renewal "renewal": Option<Renewal> as Object, Both;
        /// The purposes of the key.
        usages "usages": Vec<Usage> as Choices(
            "signing, digital signature, content commitment, key encipherment, key agreement, \
             data encipherment, cert sign, crl sign, encipher only, decipher only, any, \
             server auth, client auth, code signing, email protection, s/mime, ipsec end system, \
             ipsec tunnel, ipsec user, timestamping, ocsp signing, microsoft sgc, netscape sgc"
        ), Both, default "digital signature, key encipherment",
            example "[digital signature, server auth]";
        /// Request a CA certificate. No ACME CA issues them.
        is_ca "isCA": bool as Bool, Both, default "false", example "false";
        /// The private key.
        private_key "privateKey": Option<PrivateKeySpec> as Object, Both;
        /// The algorithm that signs the request; must match the key.
        signature_algorithm "signatureAlgorithm": Option<SignatureAlgorithm> as Word(
            "SHA256WithRSA, SHA384WithRSA, SHA512WithRSA, ECDSAWithSHA256, ECDSAWithSHA384, \
             ECDSAWithSHA512, PureEd25519"
        ), Both, example "SHA256WithRSA";
        /// Whether the request contains the usages.
        encode_usages_in_request "encodeUsagesInRequest": Option<bool> as Bool, Both,
            default "true", example "true";
        /// The number of past requests to keep, at least 1.
        revision_history_limit "revisionHistoryLimit": Option<i32> as Integer, Both,
            default "1", example "3";
        /// Metadata of the Secret; certctl keeps it in metadata.json beside the pair.
        secret_template "secretTemplate": Option<SecretTemplate> as Object, Both;
        /// Keystores beside the PEM files.
        keystores "keystores": Option<Keystores> as Object, Both;
        /// Further forms of key and chain.
        additional_output_formats "additionalOutputFormats": Vec<OutputFormat> as Objects, Both;
        /// Constraints of a CA certificate. certctl validates but does not request them, because no
        /// ACME CA issues CA certificates.
        name_constraints "nameConstraints": Option<NameConstraints> as Object, Cluster;
    }
}

impl CertificateSpec {
    /// The format of a stored CertificateRequest, which has the spec in it: a new field here raises
    /// it.
    pub(crate) const FORMAT: u64 = 1;

    /// Whether time alone never makes a renewal due.
    pub fn never_renews(&self) -> bool {
        let policy = self.renewal.as_ref().and_then(|renewal| renewal.policy);
        policy == Some(RenewalPolicy::Disabled)
    }

    /// Key algorithm and size in bits, with cert-manager's defaults applied: RSA 2048,
    /// ECDSA 256, Ed25519 256.
    pub fn key_parameters(&self) -> (KeyAlgorithm, u32) {
        self.private_key
            .as_ref()
            .map_or_else(|| PrivateKeySpec::default().parameters(), PrivateKeySpec::parameters)
    }

    /// `rotationPolicy`; Always when absent (since cert-manager 1.18).
    pub fn rotation_policy(&self) -> RotationPolicy {
        self.private_key.as_ref().and_then(|key| key.rotation_policy).unwrap_or_default()
    }

    /// The usages to request.
    pub fn effective_usages(&self) -> &[Usage] {
        if self.usages.is_empty() { Usage::DEFAULT } else { &self.usages }
    }
}

/// A field of the spec that goes to the CA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestedField {
    /// The name in messages.
    pub name: &'static str,
    /// In canonical form, so that equal requests are equal: lists sorted, defaults applied.
    pub value: Value,
    #[serde(skip)]
    compared: Compared,
}

/// When a request with another value does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    Always,
    /// Unless the spec is empty here.
    IfWanted,
    /// Unless one of the two leaves it to the CA.
    IfBoth,
    /// The value applies from the next request on.
    Never,
}

impl CertificateSpec {
    /// The table of the spec's fields: which of them go to the CA, in cert-manager's order.
    ///
    /// The comparison with a request and the digest of the backoff are generated from it. The
    /// pattern names every field, so that a new one does not compile until it is listed on one side
    /// or the other; that one which goes to the CA has a row, a test demands.
    pub fn requested(&self) -> Vec<RequestedField> {
        let Self {
            // These stay on this machine.
            secret_name: _,
            renew_before: _,
            renew_before_percentage: _,
            renewal: _,
            revision_history_limit: _,
            secret_template: _,
            keystores: _,
            additional_output_formats: _,
            // These go to the CA.
            ip_addresses,
            uris,
            email_addresses,
            dns_names,
            other_names,
            literal_subject,
            common_name,
            subject,
            is_ca,
            usages: _,
            duration,
            issuer_ref,
            private_key,
            signature_algorithm,
            encode_usages_in_request,
            name_constraints,
        } = self;
        let subject_compared =
            if literal_subject.is_empty() { Compared::Always } else { Compared::Never };
        let row = |name, value, compared| RequestedField { name, value, compared };
        let mut rows = vec![
            row("spec.ipAddresses", in_order(ip_addresses), Compared::Always),
            row("spec.uris", in_order(uris), Compared::Always),
            row("spec.emailAddresses", in_order(email_addresses), Compared::Always),
            row("spec.dnsNames", in_order(dns_names), Compared::Always),
            row("spec.otherNames", in_order(other_names), Compared::IfWanted),
            row("spec.commonName", json!(common_name), subject_compared),
        ];
        let subject = subject.clone().unwrap_or_default().attributes();
        rows.extend(subject.map(|(name, value)| row(name, value, subject_compared)));
        rows.extend([
            row("spec.literalSubject", json!(literal_subject), Compared::IfWanted),
            row("spec.isCA", json!(is_ca), Compared::Always),
            row("spec.usages", in_order(self.effective_usages()), Compared::Always),
            row("spec.duration", json!(duration), Compared::IfBoth),
            row("spec.issuerRef", issuer_ref.in_full(), Compared::Always),
            // The key itself is compared with the spec's requirements.
            row("spec.privateKey", json!(private_key), Compared::Never),
            row("spec.signatureAlgorithm", json!(signature_algorithm), Compared::Never),
            row("spec.encodeUsagesInRequest", json!(encode_usages_in_request), Compared::Never),
            row("spec.nameConstraints", json!(name_constraints), Compared::Never),
        ]);
        rows
    }
}

impl CertificateSpec {
    /// Only the fields that go to the CA; those that stay on this machine are absent.
    #[must_use]
    pub fn into_requested(self) -> Self {
        Self {
            secret_name: String::new(),
            renew_before: None,
            renew_before_percentage: None,
            renewal: None,
            revision_history_limit: None,
            secret_template: None,
            keystores: None,
            additional_output_formats: Vec::new(),
            ..self
        }
    }
}

impl RequestedField {
    /// Whether a request with this value does not match.
    pub fn differs_from(&self, requested: &Self) -> bool {
        let is_compared = match self.compared {
            Compared::Always => true,
            Compared::IfWanted => !is_absent(&self.value),
            Compared::IfBoth => !is_absent(&self.value) && !is_absent(&requested.value),
            Compared::Never => false,
        };
        is_compared && self.value != requested.value
    }
}

fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// A list whose order is irrelevant.
fn in_order<T: Ord + Serialize>(list: &[T]) -> Value {
    let mut sorted: Vec<&T> = list.iter().collect();
    sorted.sort_unstable();
    json!(sorted)
}

impl Subject {
    /// Each attribute, in cert-manager's order.
    fn attributes(&self) -> [(&'static str, Value); 8] {
        let Self {
            serial_number,
            organizations,
            countries,
            localities,
            organizational_units,
            postal_codes,
            provinces,
            street_addresses,
        } = self;
        [
            ("spec.subject.serialNumber", json!(serial_number)),
            ("spec.subject.organizations", in_order(organizations)),
            ("spec.subject.countries", in_order(countries)),
            ("spec.subject.localities", in_order(localities)),
            ("spec.subject.organizationalUnits", in_order(organizational_units)),
            ("spec.subject.postCodes", in_order(postal_codes)),
            ("spec.subject.provinces", in_order(provinces)),
            ("spec.subject.streetAddresses", in_order(street_addresses)),
        ]
    }
}

impl IssuerRef {
    /// With the default group when none is written.
    fn in_full(&self) -> Value {
        let Self { name, kind, group } = self;
        let group = if group.is_empty() { "cert-manager.io" } else { group };
        json!({ "name": name, "kind": kind, "group": group })
    }
}

/// `spec.issuerRef`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OtherName {
    /// Dotted decimal object identifier.
    pub oid: String,
    /// The value.
    pub utf8_value: String,
}

/// `spec.subject`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
// The subject attributes of RFC 5280, appendix A.1.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

impl PrivateKeySpec {
    /// Algorithm and size in bits, with the defaults.
    pub fn parameters(&self) -> (KeyAlgorithm, u32) {
        let algorithm = self.algorithm.unwrap_or_default();
        let size = match algorithm {
            KeyAlgorithm::Rsa => self.size.unwrap_or(2048),
            KeyAlgorithm::Ecdsa => self.size.unwrap_or(256),
            KeyAlgorithm::Ed25519 => 256,
        };
        (algorithm, size)
    }
}

/// Whether a new issuance gets a new key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RotationPolicy {
    /// A new key for each issuance.
    #[default]
    Always,
    /// Keep the key; generate one only when there is none.
    Never,
}

/// `spec.renewal`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RenewalPolicy {
    /// Renew when renewBefore is reached.
    RenewBefore,
    /// Never renew by time.
    Disabled,
}

/// One entry of `spec.renewal.windows`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenewalWindow {
    /// Five fields (minute, hour, day, month, weekday) or a descriptor such as `@daily`.
    pub cron: Cron,
    /// The length of a window.
    pub window_duration: GoDuration,
    /// The time zone of the expression.
    #[serde(default, skip_serializing_if = "Zone::is_default")]
    pub timezone: Zone,
}

/// `spec.secretTemplate`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Jks {
    /// Whether to write the keystore.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pkcs12 {
    /// Whether to write the keystore.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// cert-manager's four profiles.
pub enum KeystoreProfile {
    #[default]
    LegacyRC2,
    LegacyDES,
    Modern2023,
    Modern2026,
}

/// `spec.additionalOutputFormats[].type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
// The subtrees of RFC 5280 section 4.2.1.10.
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

#[cfg(test)]
mod tests {
    use super::*;

    type Edit = fn(&mut CertificateSpec);

    #[test]
    fn what_stays_on_this_machine_is_not_requested() {
        let edits: &[Edit] = &[
            |spec| spec.secret_name = "other".to_owned(),
            |spec| spec.renew_before = Some(GoDuration::default()),
            |spec| spec.renew_before_percentage = Some(10),
            |spec| spec.renewal = Some(Renewal::default()),
            |spec| spec.revision_history_limit = Some(3),
            |spec| spec.secret_template = Some(SecretTemplate::default()),
            |spec| spec.keystores = Some(Keystores::default()),
            |spec| spec.additional_output_formats = vec![OutputFormat::Der],
        ];
        let spec = CertificateSpec::default();
        for (number, edit) in edits.iter().enumerate() {
            let mut edited = spec.clone();
            edit(&mut edited);
            assert_eq!(edited.requested(), spec.requested(), "{number}");
            assert_eq!(edited.into_requested(), spec, "{number}");
        }
    }

    #[test]
    fn a_field_stays_on_this_machine_or_has_a_row_of_its_own() {
        let local = [
            "secretName",
            "renewBefore",
            "renewBeforePercentage",
            "renewal",
            "revisionHistoryLimit",
            "secretTemplate",
            "keystores",
            "additionalOutputFormats",
        ];
        let rows = CertificateSpec::default().requested();
        for field in CertificateSpec::FIELDS {
            let name = format!("spec.{}", field.name);
            let is_row = |row: &RequestedField| {
                row.name
                    .strip_prefix(&name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let goes_to_the_ca = rows.iter().any(is_row);
            assert_ne!(goes_to_the_ca, local.contains(&field.name), "{name}");
        }
    }

    #[test]
    fn what_holds_when_nothing_is_written_is_the_same_request() {
        let edits: &[Edit] = &[
            |spec| spec.usages = Usage::DEFAULT.to_vec(),
            |spec| spec.issuer_ref.group = "cert-manager.io".to_owned(),
            |spec| spec.subject = Some(Subject::default()),
            |spec| spec.dns_names.reverse(),
        ];
        let names = || ["a.example", "b.example"].map(|name| name.parse().unwrap()).to_vec();
        let spec = CertificateSpec { dns_names: names(), ..CertificateSpec::default() };
        for (number, edit) in edits.iter().enumerate() {
            let mut edited = spec.clone();
            edit(&mut edited);
            assert_eq!(edited.requested(), spec.requested(), "{number}");
        }
    }

    #[test]
    fn an_edit_of_what_goes_to_the_ca_is_seen_in_its_row() {
        let edits: &[(&str, Edit)] = &[
            ("spec.duration", |spec| spec.duration = Some(GoDuration::default())),
            ("spec.privateKey", |spec| spec.private_key = Some(PrivateKeySpec::default())),
            ("spec.signatureAlgorithm", |spec| {
                spec.signature_algorithm = Some(SignatureAlgorithm::Sha512WithRsa);
            }),
            ("spec.encodeUsagesInRequest", |spec| spec.encode_usages_in_request = Some(false)),
            ("spec.nameConstraints", |spec| {
                spec.name_constraints = Some(NameConstraints::default());
            }),
            ("spec.subject.serialNumber", |spec| {
                let serial_number = "1".to_owned();
                spec.subject = Some(Subject { serial_number, ..Subject::default() });
            }),
        ];
        let spec = CertificateSpec::default();
        for (name, edit) in edits {
            let mut edited = spec.clone();
            edit(&mut edited);
            let (before, changed) = (spec.requested(), edited.requested());
            let rows = before.iter().zip(&changed);
            let changed: Vec<&str> =
                rows.filter(|(one, other)| one != other).map(|(row, _)| row.name).collect();
            assert_eq!(changed, [*name]);
        }
    }
}
