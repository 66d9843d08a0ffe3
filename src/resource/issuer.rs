//! Issuer and ClusterIssuer, of type acme.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret_key_selector::SecretKeySelector;
use super::{Dns01, DnsName, GoDuration, Metadata, Origin, Settings, host_of, lets_encrypt};

/// A `cert-manager.io/v1` Issuer or ClusterIssuer of type acme, valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Issuer or ClusterIssuer.
    pub kind: IssuerKind,
    /// Name, namespace (empty for a ClusterIssuer), labels, annotations.
    pub metadata: Metadata,
    /// `spec.acme`.
    pub acme: Acme,
    /// Its `certctl/` annotations: defaults for its Certificates.
    pub settings: Settings,
    /// The position in the manifest.
    pub origin: Origin,
    /// The line of `spec.acme.server`, counted from 1.
    pub server_line: usize,
}

/// The two kinds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum IssuerKind {
    /// Serves Certificates of its own namespace.
    #[default]
    Issuer,
    /// Serves Certificates of every namespace.
    ClusterIssuer,
}

impl std::fmt::Display for IssuerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl Issuer {
    /// The entries of Secrets that it names, apart from its account key: the key of its external
    /// account binding and the credentials of its DNS providers.
    pub fn secrets(&self) -> Vec<SecretKeySelector> {
        let binding = self.acme.external_account_binding.iter();
        let mut found: Vec<_> = binding.map(|eab| eab.key_secret_ref.clone()).collect();
        for solver in &self.acme.solvers {
            if let SolverKind::Dns01(dns01) = &solver.kind {
                found.extend(dns01.provider.credentials());
            }
        }
        found
    }

    /// What to say of a server whose answer is none of an ACME directory.
    pub fn no_directory(&self) -> String {
        format!(
            "this is not an ACME directory; see spec.acme.server of {} \"{}\" ({}:{}); a directory is, \
             for example, at {}",
            self.kind,
            self.metadata.name,
            self.origin.path.display(),
            self.server_line,
            lets_encrypt::PRODUCTION
        )
    }
}

/// `spec.acme`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Acme {
    /// The directory URL; https.
    pub server: String,
    /// Contact; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// The Secret of the account key, existing or to be generated.
    pub private_key_secret_ref: SecretKeySelector,
    /// Whether a missing account key is an error instead of being generated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disable_account_key_generation: bool,
    /// PEM certificates that replace the system's roots for the ACME server. In a manifest this
    /// is base64; here it is decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// Whether the ACME server's certificate is not verified at all.
    #[serde(default, rename = "skipTLSVerify", skip_serializing_if = "std::ops::Not::not")]
    pub skip_tls_verify: bool,
    /// Issuer CN of the topmost certificate of the preferred chain; empty for the default chain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preferred_chain: String,
    /// EAB (RFC 8555 section 7.3.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_account_binding: Option<ExternalAccountBinding>,
    /// Whether `spec.duration` is sent as `notAfter` of the order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub enable_duration_feature: bool,
    /// ACME profile; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// ARI when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal_information_source: Option<RenewalInformationSource>,
    /// The solvers, in the order written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub solvers: Vec<Solver>,
}

impl Acme {
    /// Whether the CA is asked when to renew.
    pub fn asks_when_to_renew(&self) -> bool {
        self.renewal_information_source != Some(RenewalInformationSource::None)
    }
}

/// Whether the certificates of an ACME server are for tests: no client trusts them.
pub fn is_staging(directory_url: &str) -> bool {
    STAGING.contains(&host_of(directory_url))
}

/// The hosts of the staging environments of public CAs.
const STAGING: &[&str] = &[
    "acme-staging.api.letsencrypt.org",
    lets_encrypt::STAGING_HOST,
    "dv.acme-v02.test-api.pki.goog",
    "api.test4.buypass.no",
];

/// Whether an ACME server is of a CA that browsers trust, or its staging environment.
pub fn is_public(directory_url: &str) -> bool {
    let host = host_of(directory_url);
    PUBLIC.iter().any(|domain| {
        host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// The domains of the ACME servers of public CAs.
const PUBLIC: &[&str] =
    &["letsencrypt.org", "zerossl.com", "pki.goog", "buypass.com", "buypass.no", "ssl.com"];

/// `spec.acme.renewalInformationSource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RenewalInformationSource {
    /// RFC 9773.
    #[serde(rename = "ARI")]
    Ari,
    /// Never query it.
    None,
}

/// `spec.acme.externalAccountBinding`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalAccountBinding {
    /// The key identifier at the CA.
    #[serde(rename = "keyID")]
    pub key_id: String,
    /// The HMAC key, unpadded base64url.
    pub key_secret_ref: SecretKeySelector,
}

/// One entry of `spec.acme.solvers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, into = "Written", try_from = "Written")]
#[schemars(with = "Written")]
pub struct Solver {
    /// The selector; `None` means "any name that no other solver selects".
    pub selector: Option<Selector>,
    /// Skip the self-check and wait this long after presenting.
    pub wait_instead_of_self_check: Option<GoDuration>,
    /// The challenge type, with its settings.
    pub kind: SolverKind,
}

impl Solver {
    /// Its settings, if it writes DNS records.
    pub fn dns01(&self) -> Option<&Dns01> {
        match &self.kind {
            SolverKind::Http01(_) => None,
            SolverKind::Dns01(dns01) => Some(dns01),
        }
    }

    /// The same, to be changed.
    pub fn dns01_mut(&mut self) -> Option<&mut Dns01> {
        match &mut self.kind {
            SolverKind::Http01(_) => None,
            SolverKind::Dns01(dns01) => Some(dns01),
        }
    }

    /// Whether it has the settings of another; those of `http01` are for clusters, and do not count.
    pub fn solves_as(&self, other: &Self) -> bool {
        self.dns01() == other.dns01()
    }
}

/// How a solver proves control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SolverKind {
    /// Answer the CA's connection, by HTTP-01 or TLS-ALPN-01.
    Http01(Http01),
    /// Write a TXT record.
    Dns01(Box<Dns01>),
}

/// `http01`: in a cluster this says how to reach a pod; here any of it means "serve it
/// in-process". Kept as written, to be printed back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Http01(pub serde_json::Map<String, serde_json::Value>);

impl Http01 {
    /// Where the annotations for one solver are, below `http01`: cert-manager adds them to its
    /// Ingress.
    pub const ANNOTATIONS: [&str; 4] = ["ingress", "ingressTemplate", "metadata", "annotations"];
}

/// `selector`: all non-empty parts must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// Labels of the Certificate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Exact names; `*.` literally.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_names: Vec<DnsName>,
    /// Zones: the name itself and everything below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_zones: Vec<DnsName>,
}

/// A solver as cert-manager writes it: two optional keys instead of one choice.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    selector: Option<Selector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait_instead_of_self_check: Option<GoDuration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http01: Option<Http01>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dns01: Option<Box<Dns01>>,
}

impl From<Solver> for Written {
    fn from(solver: Solver) -> Self {
        let Solver { selector, wait_instead_of_self_check, kind } = solver;
        let (http01, dns01) = match kind {
            SolverKind::Http01(http01) => (Some(http01), None),
            SolverKind::Dns01(dns01) => (None, Some(dns01)),
        };
        Self { selector, wait_instead_of_self_check, http01, dns01 }
    }
}

impl TryFrom<Written> for Solver {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, &'static str> {
        let Written { selector, wait_instead_of_self_check, http01, dns01 } = written;
        let kind = match (http01, dns01) {
            (Some(http01), None) => SolverKind::Http01(http01),
            (None, Some(dns01)) => SolverKind::Dns01(dns01),
            (Some(_), Some(_)) => {
                return Err("may not specify more than one solver type in a single solver");
            }
            (None, None) => return Err("no solver type configured"),
        };
        Ok(Self { selector, wait_instead_of_self_check, kind })
    }
}
