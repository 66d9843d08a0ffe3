//! What the CA says about when to renew one certificate (ARI, RFC 9773).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Cause, rfc3339};

/// `status.acme` of a Certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcmeStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ari: Option<RenewalInformation>,
}

impl AcmeStatus {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// `status.acme.ari` of a Certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenewalInformation {
    /// The certificate that it is about (RFC 9773 section 4.1). It says nothing about another one.
    #[serde(rename = "certificateID")]
    pub certificate_id: String,
    /// The last usable window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_window: Option<SuggestedWindow>,
    /// When the CA was last asked; `None` for a certificate that it was not asked about yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub last_checked: Option<Timestamp>,
    /// When the CA may be asked again.
    #[schemars(with = "crate::resource::DateTime")]
    pub next_check: Timestamp,
    /// Why the last question brought no window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<NoWindow>,
    /// It alone made the renewal due that is in progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_due: bool,
    /// The certificate replaced one that only ARI made due. A CA that always names a time in the
    /// past would have it replaced by every run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows_early_renewal: bool,
}

impl RenewalInformation {
    /// Whether there is something to show: a CA that offers none is nothing to look at.
    pub fn is_worth_showing(&self) -> bool {
        self.suggested_window.is_some()
            || !matches!(self.last_error, None | Some(NoWindow::NotOffered))
    }
}

/// A usable answer of the CA, and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SuggestedWindow {
    #[schemars(with = "crate::resource::DateTime")]
    pub start: Timestamp,
    #[schemars(with = "crate::resource::DateTime")]
    pub end: Timestamp,
    /// The instant in the window at which the renewal is due; when the CA was asked, if that was
    /// later.
    #[schemars(with = "crate::resource::DateTime")]
    pub renew_at: Timestamp,
    /// When the CA last named this window.
    #[schemars(with = "crate::resource::DateTime")]
    pub reported_at: Timestamp,
    /// A page that explains the window.
    #[serde(default, rename = "explanationURL", skip_serializing_if = "Option::is_none")]
    pub explanation_url: Option<String>,
}

/// Why a question brought no window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Error)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum NoWindow {
    /// The CA's directory has no `renewalInfo`.
    #[error("the CA does not offer renewal information")]
    NotOffered,
    /// The window does not end after it starts, or not before the certificate does; or it was over
    /// before the certificate began, again.
    #[error(
        "the CA suggests an impossible window: {} to {}", rfc3339(*.start), rfc3339(*.end)
    )]
    Unusable {
        #[schemars(with = "crate::resource::DateTime")]
        start: Timestamp,
        #[schemars(with = "crate::resource::DateTime")]
        end: Timestamp,
    },
    /// The request failed.
    #[error("{0}")]
    Failed(Cause),
}
