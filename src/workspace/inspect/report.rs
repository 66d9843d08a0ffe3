//! What is found out of one certificate.

use jiff::{SignedDuration, Timestamp};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use schemars::JsonSchema;
use serde::Serialize;

use super::subject::{HostMatch, Served, Subject};
use crate::controller::policy::leaf_mismatches;
use crate::pki::{
    self, CertificateDetails, CertificateError, ChainEntry, KeyMatch, Revocation, chain_entries,
    issuer_of,
};
use crate::probe::Network;
use crate::resource::{OtherName, RevocationReason, SuggestedWindow};

/// One certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Where it came from.
    pub source: String,
    /// The first certificate.
    pub leaf: CertificateDetails,
    /// Whole days until it expires; negative when it has.
    pub days_left: i64,
    /// The same for people, who read it rounded, as everywhere.
    #[serde(skip)]
    pub left: SignedDuration,
    /// Whether the key fits.
    pub private_key: KeyMatch,
    /// The Certificate it belongs to, when one is known.
    pub certificate: Option<String>,
    /// Whether it matches that Certificate.
    pub spec: Option<SpecMatch>,
    /// Its revocation, as the state knows it.
    pub revoked: Option<KnownRevocation>,
    /// What the CA says about when to renew it (ARI).
    pub renewal_information: Option<RenewalWindow>,
    /// Whether it is for the name that a server was asked for.
    pub host: Option<HostMatch>,
    /// How what a server shows compares with the state.
    pub served: Option<Served>,
    /// Whether the system's roots vouch for it.
    pub trust: Trust,
    /// Whether the caBundle of its Issuer does; `None` where the bundle has other roots: it is for
    /// the TLS of the CA's server, and need not have those of the certificates.
    pub bundle_trust: Option<Trust>,
    /// Whether the roots of `--ca-bundle` do.
    pub file_trust: Option<Trust>,
    /// What the CRLs say.
    pub crl: Check,
    /// What the OCSP responders say.
    pub ocsp: Check,
    /// All certificates, in their order.
    pub chain: Vec<ChainEntry>,
}

/// A revocation that certctl requested, or found, earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownRevocation {
    #[schemars(with = "crate::resource::DateTime")]
    pub at: Timestamp,
    pub reason: RevocationReason,
    /// Whether no replacement is issued until `certctl renew`.
    pub without_replacement: bool,
}

/// What the CA says about when to renew a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenewalWindow {
    pub suggested_window: Option<SuggestedWindow>,
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub last_checked: Option<Timestamp>,
    #[schemars(with = "crate::resource::DateTime")]
    pub next_check: Timestamp,
    /// Why the last question brought no window.
    pub last_error: Option<String>,
}

/// A comparison with a Certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpecMatch {
    pub matches: bool,
    /// The fields that differ.
    pub differences: Vec<&'static str>,
}

/// A verdict on trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trust {
    pub trusted: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// A verdict on revocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Check {
    /// The certificate has no URL.
    NoUrl,
    /// It has no HTTP URL.
    NoUsableUrl,
    /// `--offline`.
    NotChecked,
    /// There is a valid answer.
    Answered { url: String, answer: Revocation },
    /// There is none, for these reasons.
    Unknown { reasons: Vec<String> },
}

/// Trust anchors and possible issuers.
pub struct Roots {
    pub system: RootCertStore,
    pub bundle: Option<RootCertStore>,
    /// Those that a client is supposed to have.
    pub of_file: Option<RootCertStore>,
    /// The DER of all of them.
    pub certificates: Vec<Vec<u8>>,
}

impl Roots {
    /// The system's roots, those of the issuer's caBundle, and those of a file.
    pub fn read(ca_bundle: Option<&str>, of_file: Option<RootCertStore>) -> Self {
        let certificates = rustls_native_certs::load_native_certs().certs;
        let mut system = RootCertStore::empty();
        // Systems carry odd certificates; one that cannot be read must not stop the others.
        system.add_parsable_certificates(certificates.iter().cloned());
        let mut all: Vec<Vec<u8>> = certificates.into_iter().map(|der| der.to_vec()).collect();
        let bundle = ca_bundle.map(|pem| {
            let found: Vec<CertificateDer<'static>> =
                CertificateDer::pem_slice_iter(pem.as_bytes()).flatten().collect();
            all.extend(found.iter().map(|der| der.to_vec()));
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(found);
            store
        });
        Self { system, bundle, of_file, certificates: all }
    }
}

impl Report {
    /// Runs all checks; without a network, revocation is not checked.
    pub async fn make(
        subject: &Subject,
        roots: &Roots,
        network: Option<&Network>,
        now: Timestamp,
    ) -> Result<Self, CertificateError> {
        let certificates = subject.bundle.certificates();
        let leaf = CertificateDetails::read(subject.bundle.leaf())?;
        let facts = subject.facts()?;
        let spec = subject.spec.as_ref().map(|spec| {
            let mut differences = leaf_mismatches(spec, &facts);
            let lacks_one = spec.usages.iter().any(|usage| {
                let name = usage.name();
                usage.is_extended() && !leaf.usages.iter().any(|found| found == name)
            });
            differences.extend(lacks_one.then_some("spec.usages"));
            let has_other_name = |wanted: &OtherName| {
                let is_it = |(oid, value): &(String, Vec<u8>)| {
                    *oid == wanted.oid && value.ends_with(wanted.utf8_value.as_bytes())
                };
                leaf.other_names.iter().any(is_it)
            };
            let lacks_other_name = !spec.other_names.iter().all(has_other_name);
            differences.extend(lacks_other_name.then_some("spec.otherNames"));
            differences.extend((spec.is_ca != leaf.is_ca).then_some("spec.isCA"));
            SpecMatch { matches: differences.is_empty(), differences }
        });
        let known = subject.renewal_information.as_ref().map(|known| RenewalWindow {
            suggested_window: known.suggested_window.clone(),
            last_checked: known.last_checked,
            next_check: known.next_check,
            last_error: known.last_error.as_ref().map(ToString::to_string),
        });
        let revoked = subject.revocation.as_ref().and_then(|known| {
            let (reason, without_replacement) = (known.reason, known.without_replacement);
            Some(KnownRevocation { at: known.revoked_at?, reason, without_replacement })
        });
        let verdict = |roots| pki::verify_trust(certificates, roots, &leaf.usages, now);
        let by_bundle = roots.bundle.as_ref().map(verdict);
        let by_bundle = by_bundle.filter(|found| *found != Err(pki::TrustError::UnknownIssuer));
        let issuer = issuer_of(
            subject.bundle.leaf(),
            [certificates, &subject.above, &roots.certificates]
                .into_iter()
                .flatten()
                .map(|der| &**der),
        );
        let asking = Asking { leaf: subject.bundle.leaf(), issuer, network, now };
        let left = leaf.not_after.duration_since(now);
        Ok(Self {
            source: subject.label.clone(),
            days_left: left.as_secs().div_euclid(DAY),
            left,
            private_key: subject.bundle.key().clone(),
            certificate: subject.certificate.as_ref().map(ToString::to_string),
            spec,
            revoked,
            renewal_information: known,
            host: subject.host.clone(),
            served: subject.served.clone(),
            trust: Trust::of(verdict(&roots.system)),
            bundle_trust: by_bundle.map(Trust::of),
            file_trust: roots.of_file.as_ref().map(verdict).map(Trust::of),
            crl: asking.all(&leaf.crl_urls, false).await,
            ocsp: asking.all(&leaf.ocsp_urls, true).await,
            chain: chain_entries(certificates, now)?,
            leaf,
        })
    }

    /// Whether `--exit-code` ends in 8: expired, revoked, or a check failed.
    pub fn needs_attention(&self) -> bool {
        let key_is_wrong = match self.private_key {
            KeyMatch::DoesNotMatch | KeyMatch::Unreadable(_) => true,
            KeyMatch::Matches | KeyMatch::Absent => false,
        };
        self.days_left < 0
            || key_is_wrong
            || self.revoked.is_some()
            || self.spec.as_ref().is_some_and(|spec| !spec.matches)
            || self.host.as_ref().is_some_and(|host| !host.matches)
            || self.served.as_ref().is_some_and(|served| !served.same)
            || self.file_trust.as_ref().is_some_and(|found| !found.trusted)
            || self.crl.is_revoked()
            || self.ocsp.is_revoked()
    }
}

impl Trust {
    fn of(verdict: Result<(), pki::TrustError>) -> Self {
        let reason = verdict.err().map(|error| error.to_string());
        Self { trusted: reason.is_none(), reason }
    }
}

impl Check {
    fn is_revoked(&self) -> bool {
        match self {
            Self::Answered { answer, .. } => matches!(answer, Revocation::Revoked { .. }),
            Self::NoUrl | Self::NoUsableUrl | Self::NotChecked | Self::Unknown { .. } => false,
        }
    }
}

/// Input of a revocation check.
struct Asking<'a> {
    leaf: &'a [u8],
    issuer: Option<&'a [u8]>,
    network: Option<&'a Network>,
    now: Timestamp,
}

impl Asking<'_> {
    /// Queries one URL after another until there is a valid response.
    async fn all(&self, urls: &[String], is_ocsp: bool) -> Check {
        if urls.is_empty() {
            return Check::NoUrl;
        }
        let is_usable = |url: &&String| {
            let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
            scheme.is_some_and(|scheme| scheme == "http" || scheme == "https")
        };
        let usable: Vec<&String> = urls.iter().filter(is_usable).take(MAX_URLS).collect();
        if usable.is_empty() {
            return Check::NoUsableUrl;
        }
        let Some(network) = self.network else { return Check::NotChecked };
        let Some(issuer) = self.issuer else {
            let reason = "the issuer's certificate is missing";
            return Check::Unknown { reasons: vec![reason.to_owned()] };
        };
        let mut reasons = Vec::new();
        for url in usable {
            match self.one(network, url, issuer, is_ocsp).await {
                Ok(answer) => return Check::Answered { url: url.clone(), answer },
                Err(why) => reasons.push(format!("{url}: {why}")),
            }
        }
        Check::Unknown { reasons }
    }

    async fn one(
        &self,
        network: &Network,
        url: &str,
        issuer: &[u8],
        is_ocsp: bool,
    ) -> Result<Revocation, String> {
        if is_ocsp {
            let request =
                pki::ocsp_request(self.leaf, issuer).map_err(|error| error.to_string())?;
            let answer = network.fetch(url, Some(request)).await;
            let answer = answer.map_err(|error| error.to_string())?;
            pki::check_ocsp(&answer, self.leaf, issuer, self.now).map_err(|error| error.to_string())
        } else {
            let answer = network.fetch(url, None).await.map_err(|error| error.to_string())?;
            pki::check_crl(&answer, url, self.leaf, issuer, self.now)
                .map_err(|error| error.to_string())
        }
    }
}

const DAY: i64 = 24 * 3600;
/// Certificates have fewer in practice; each may take 10 seconds.
const MAX_URLS: usize = 4;
