//! The states of orders and authorizations at the CA (RFC 8555 section 7.1.6), and those that
//! certctl, as cert-manager, adds to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of an order at the CA, plus cert-manager's `expired` and `errored`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrderState {
    /// Not created yet.
    #[default]
    #[serde(rename = "")]
    Unknown,
    /// Waiting for authorizations.
    Pending,
    /// Waiting for the CSR.
    Ready,
    /// The CA is issuing.
    Processing,
    /// Issued.
    Valid,
    /// Failed at the CA.
    Invalid,
    /// Expired at the CA.
    Expired,
    /// Abandoned by certctl.
    Errored,
    /// A value this version does not know; read again, never an error.
    #[serde(untagged)]
    Other(String),
}

impl OrderState {
    /// The value in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unknown => "",
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Processing => "processing",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Expired => "expired",
            Self::Errored => "errored",
            Self::Other(word) => word,
        }
    }

    /// Whether it is a final failure.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Invalid | Self::Expired | Self::Errored)
    }
}

impl From<String> for OrderState {
    fn from(word: String) -> Self {
        serde_json::from_value(word.into()).unwrap_or_default()
    }
}

/// The state of an authorization at the CA, plus `errored` for one abandoned by certctl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthorizationState {
    /// Not read yet.
    #[default]
    #[serde(rename = "")]
    Unknown,
    /// Waiting for a valid challenge.
    Pending,
    /// The CA is validating.
    Processing,
    /// Validated.
    Valid,
    /// Validation failed.
    Invalid,
    /// No longer valid.
    Expired,
    /// Deactivated by the client.
    Deactivated,
    /// Revoked by the CA.
    Revoked,
    /// Abandoned by certctl.
    Errored,
    /// A value this version does not know; read again, never an error.
    #[serde(untagged)]
    Other(String),
}

impl AuthorizationState {
    /// The value in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unknown => "",
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Expired => "expired",
            Self::Deactivated => "deactivated",
            Self::Revoked => "revoked",
            Self::Errored => "errored",
            Self::Other(word) => word,
        }
    }

    /// Whether it is a final failure.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Invalid | Self::Expired | Self::Deactivated | Self::Revoked | Self::Errored => {
                true
            }
            Self::Unknown | Self::Pending | Self::Processing | Self::Valid | Self::Other(_) => {
                false
            }
        }
    }
}

impl From<String> for AuthorizationState {
    fn from(word: String) -> Self {
        serde_json::from_value(word.into()).unwrap_or_default()
    }
}
