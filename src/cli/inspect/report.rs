//! The report on one certificate, as `-o json` prints it.

use jiff::Timestamp;
use rustls::RootCertStore;
use schemars::JsonSchema;
use serde::Serialize;

use super::source::Subject;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::controller::policy::leaf_mismatches;
use crate::pki::{
    self, CertificateDetails, ChainEntry, KeyMatch, Revocation, chain_entries, issuer_of,
};
use crate::probe::Network;
use crate::resource::{RevocationReason, SuggestedWindow};

/// One certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Report {
    /// Where it came from.
    pub(super) source: String,
    /// The first certificate.
    pub(super) leaf: CertificateDetails,
    /// Whole days until it expires; negative when it has.
    pub(super) days_left: i64,
    /// Whether the key fits.
    pub(super) private_key: KeyMatch,
    /// The Certificate it belongs to, when one is known.
    pub(super) certificate: Option<String>,
    /// Whether it matches that Certificate.
    pub(super) spec: Option<SpecMatch>,
    /// Its revocation, as the state knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revoked: Option<KnownRevocation>,
    /// What the CA says about when to renew it (ARI).
    pub(super) renewal_information: Option<RenewalWindow>,
    /// How what a server shows compares with the state.
    pub(super) served: Option<Served>,
    /// Whether the system's roots vouch for it.
    pub(super) trust: Trust,
    /// Whether the caBundle of its Issuer does.
    pub(super) bundle_trust: Option<Trust>,
    /// What the CRLs say.
    pub(super) crl: Check,
    /// What the OCSP responders say.
    pub(super) ocsp: Check,
    /// All certificates, in their order.
    pub(super) chain: Vec<ChainEntry>,
}

/// A revocation that certctl requested, or found, earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct KnownRevocation {
    pub(super) at: Timestamp,
    pub(super) reason: RevocationReason,
    /// Whether no replacement is issued until `certctl renew`.
    pub(super) without_replacement: bool,
}

/// What the CA says about when to renew a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct RenewalWindow {
    pub(super) suggested_window: Option<SuggestedWindow>,
    pub(super) last_checked: Option<Timestamp>,
    pub(super) next_check: Timestamp,
    /// Why the last question brought no window.
    pub(super) last_error: Option<String>,
}

/// A comparison with a Certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct SpecMatch {
    pub(super) matches: bool,
    /// The fields that differ.
    pub(super) differences: Vec<&'static str>,
}

/// A comparison of a server with the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Served {
    pub(super) same: bool,
    /// Lower-case hexadecimal, as `serialNumberHex` is.
    pub(super) state_serial: String,
}

/// A verdict on trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Trust {
    pub(super) trusted: bool,
    /// Why not.
    pub(super) reason: Option<String>,
}

/// A verdict on revocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) enum Check {
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
pub(super) struct Roots {
    pub(super) system: RootCertStore,
    pub(super) bundle: Option<RootCertStore>,
    /// The DER of all of them.
    pub(super) certificates: Vec<Vec<u8>>,
}

impl Report {
    /// Runs all checks; without a network, revocation is not checked.
    pub(super) async fn make(
        subject: &Subject,
        roots: &Roots,
        network: Option<&Network>,
        now: Timestamp,
    ) -> Result<Self, CliError> {
        let certificates = subject.bundle.certificates();
        let damaged = |error: pki::CertificateError| CliError::new(ExitCode::Manifest, error);
        let leaf = CertificateDetails::read(subject.bundle.leaf()).map_err(damaged)?;
        let facts = subject.facts().map_err(damaged)?;
        let spec = subject.spec.as_ref().map(|spec| {
            let mut differences = leaf_mismatches(spec, &facts);
            let lacks_one = spec.usages.iter().any(|usage| {
                let name = usage.name();
                usage.is_extended() && !leaf.usages.iter().any(|found| found == name)
            });
            differences.extend(lacks_one.then_some("spec.usages"));
            SpecMatch { matches: differences.is_empty(), differences }
        });
        let served = subject.state_serial.as_ref().map(|state_serial| Served {
            same: *state_serial == leaf.serial_number_hex,
            state_serial: state_serial.clone(),
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
        let trust = |roots| Trust::of(pki::verify_trust(certificates, roots, &leaf.usages, now));
        let issuer = issuer_of(
            subject.bundle.leaf(),
            [certificates, &subject.above, &roots.certificates]
                .into_iter()
                .flatten()
                .map(|der| &**der),
        );
        let asking = Asking { leaf: subject.bundle.leaf(), issuer, network, now };
        Ok(Self {
            source: subject.label.clone(),
            days_left: leaf.not_after.duration_since(now).as_secs().div_euclid(DAY),
            private_key: subject.bundle.key().clone(),
            certificate: subject.certificate.as_ref().map(ToString::to_string),
            spec,
            revoked,
            renewal_information: known,
            served,
            trust: trust(&roots.system),
            bundle_trust: roots.bundle.as_ref().map(trust),
            crl: asking.all(&leaf.crl_urls, false).await,
            ocsp: asking.all(&leaf.ocsp_urls, true).await,
            chain: chain_entries(certificates, now).map_err(damaged)?,
            leaf,
        })
    }

    /// Whether `--exit-code` ends in 8: expired, revoked, or a check failed.
    pub(super) fn needs_attention(&self) -> bool {
        let key_is_wrong = match self.private_key {
            KeyMatch::DoesNotMatch | KeyMatch::Unreadable(_) => true,
            KeyMatch::Matches | KeyMatch::Absent => false,
        };
        self.days_left < 0
            || key_is_wrong
            || self.revoked.is_some()
            || self.spec.as_ref().is_some_and(|spec| !spec.matches)
            || self.served.as_ref().is_some_and(|served| !served.same)
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
