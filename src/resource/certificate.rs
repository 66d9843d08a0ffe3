//! Certificate: what the user wants to be true.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

/// A field of the spec that goes to the CA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestedField {
    /// As messages name it.
    pub name: &'static str,
    /// In a form in which equal requests are equal: lists in order, defaults applied.
    pub value: Value,
    #[serde(skip)]
    compared: Compared,
}

/// When a request with another value is not the one that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    Always,
    /// Unless nothing is wanted here.
    IfWanted,
    /// Unless one of the two leaves it to the CA.
    IfBoth,
    /// The value holds from the next request on.
    Never,
}

impl CertificateSpec {
    /// The table of the spec's fields: which of them go to the CA, in cert-manager's order.
    ///
    /// The comparison with a request and the digest behind the backoff are made from it. The pattern
    /// names every field, so that a new one does not compile before it stands on one side or the
    /// other.
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
            // The key itself is compared with what is wanted of it.
            row("spec.privateKey", json!(private_key), Compared::Never),
            row("spec.signatureAlgorithm", json!(signature_algorithm), Compared::Never),
            row("spec.encodeUsagesInRequest", json!(encode_usages_in_request), Compared::Never),
            row("spec.nameConstraints", json!(name_constraints), Compared::Never),
        ]);
        rows
    }
}

impl RequestedField {
    /// Whether a request with this value is not the one that is wanted.
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

/// A list whose order means nothing.
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
    /// With the group that holds when none is written.
    fn in_full(&self) -> Value {
        let Self { name, kind, group } = self;
        let group = if group.is_empty() { "cert-manager.io" } else { group };
        json!({ "name": name, "kind": kind, "group": group })
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
            // These are what holds without them.
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
            let (before, after) = (spec.requested(), edited.requested());
            let rows = before.iter().zip(&after);
            let changed: Vec<&str> =
                rows.filter(|(one, other)| one != other).map(|(row, _)| row.name).collect();
            assert_eq!(changed, [*name]);
        }
    }
}
