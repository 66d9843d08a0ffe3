//! One word for each certificate, and the sentence behind it.
//!
//! Words come before colours. The first row that applies wins:
//!
//! | word | when |
//! | --- | --- |
//! | NO MANIFEST | the state knows it, no manifest does |
//! | EXPIRED | the certificate in place is past its end |
//! | ISSUING, RENEWING | an issuance is under way, without or with a certificate that works |
//! | FAILED | the last attempt failed |
//! | PENDING DEPLOY | it is issued, and an output or a hook failed |
//! | READY | the Ready condition holds |
//! | PENDING | something must be issued, and nothing has been tried |

use jiff::Timestamp;

use super::view::CertificateView;
use crate::cli::output::{Paint, escape};
use crate::cli::time;
use crate::controller::deploy;
use crate::resource::ConditionType;

/// The word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table above says when each applies")]
pub enum Verdict {
    NoManifest,
    Expired,
    Issuing,
    Renewing,
    Failed,
    PendingDeploy,
    Ready,
    Pending,
}

impl Verdict {
    /// Judges one certificate.
    pub fn of(view: &CertificateView, now: Timestamp) -> Self {
        let leaf = view.readable_leaf();
        if view.certificate.is_none() {
            Self::NoManifest
        } else if leaf.is_some_and(|leaf| leaf.not_after <= now) {
            Self::Expired
        } else if view.is_issuing() {
            if leaf.is_some() { Self::Renewing } else { Self::Issuing }
        } else if has_failed(view) {
            Self::Failed
        } else if undeployed(view).is_some() {
            Self::PendingDeploy
        } else if view.is_ready() && leaf.is_some() {
            Self::Ready
        } else {
            Self::Pending
        }
    }

    /// The word as it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoManifest => "NO MANIFEST",
            Self::Expired => "EXPIRED",
            Self::Issuing => "ISSUING",
            Self::Renewing => "RENEWING",
            Self::Failed => "FAILED",
            Self::PendingDeploy => "PENDING DEPLOY",
            Self::Ready => "READY",
            Self::Pending => "PENDING",
        }
    }

    /// Its colour.
    pub fn paint(self) -> Paint {
        match self {
            Self::Ready | Self::Renewing => Paint::Good,
            Self::Issuing | Self::Pending | Self::PendingDeploy | Self::NoManifest => Paint::Warn,
            Self::Expired | Self::Failed => Paint::Bad,
        }
    }

    /// Whether `status --exit-code` ends in 8 for it.
    pub fn needs_attention(self) -> bool {
        match self {
            Self::Ready | Self::Renewing => false,
            Self::NoManifest
            | Self::Expired
            | Self::Issuing
            | Self::Failed
            | Self::PendingDeploy
            | Self::Pending => true,
        }
    }

    /// The sentence behind the word, on one line.
    pub fn sentence(self, view: &CertificateView, now: Timestamp) -> String {
        let leaf = view.readable_leaf();
        let expiry = leaf.map(|leaf| time::both(leaf.not_after, now)).unwrap_or_default();
        match self {
            Self::NoManifest => {
                let path = view.record.as_ref().and_then(|record| record.manifest.as_ref());
                let gone =
                    path.map(|path| format!("{} does not have it any more; ", path.display()));
                format!(
                    "{}nothing is renewed and nothing deleted; to end it: certctl forget {}",
                    gone.unwrap_or_default(),
                    view.key
                )
            }
            Self::Expired => match last_failure(view) {
                Some(failure) => format!("expired {expiry}; the last attempt failed: {failure}"),
                None => format!("expired {expiry}"),
            },
            Self::Issuing => {
                format!("no certificate yet, an issuance is under way{}", stand_in(view))
            }
            Self::Renewing => format!("valid until {expiry}, an issuance is under way"),
            Self::Failed => {
                let failure =
                    last_failure(view).unwrap_or_else(|| "the last attempt failed".into());
                match leaf {
                    Some(_) => {
                        format!("{failure}; the certificate in place is valid until {expiry}")
                    }
                    None => failure + stand_in(view),
                }
            }
            Self::PendingDeploy => {
                let why = undeployed(view).unwrap_or_default();
                format!("issued but not deployed: {why}; certctl deploy {} tries now", view.key)
            }
            Self::Ready => format!("valid until {expiry}{}", went_back(view)),
            Self::Pending => {
                let status = view.record.as_ref().map(|record| &record.status);
                match status.and_then(|status| status.condition(ConditionType::Ready)) {
                    Some(ready) if !view.is_ready() => {
                        escape(&ready.message).into_owned() + stand_in(view) + &went_back(view)
                    }
                    Some(_) | None => "not issued yet".to_owned(),
                }
            }
        }
    }
}

/// That a server can start, and that clients will not trust it yet.
fn stand_in(view: &CertificateView) -> &'static str {
    if view.is_temporary() {
        "; a temporary certificate stands in, which nobody trusts"
    } else {
        ""
    }
}

/// That somebody went back to this one by hand.
fn went_back(view: &CertificateView) -> String {
    let back = view.went_back();
    back.map_or_else(String::new, |back| format!("; rolled back from revision {}", back.from))
}

fn has_failed(view: &CertificateView) -> bool {
    view.failures() > 0 || view.record.as_ref().is_some_and(|record| record.last_failure.is_some())
}

/// The first step of deployment that failed.
fn undeployed(view: &CertificateView) -> Option<String> {
    let deployments = &view.record.as_ref()?.deployments;
    let failed = deployments.iter().find(|deployment| deployment.failed_attempts > 0)?;
    let what = deploy::what(failed.step, &failed.target);
    Some(escape(&format!("{what}: {}", failed.message)).into_owned())
}

pub(super) fn last_failure(view: &CertificateView) -> Option<String> {
    let failure = view.record.as_ref()?.last_failure.as_ref()?;
    Some(escape(&failure.message).into_owned())
}
