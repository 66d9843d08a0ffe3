//! The states of orders and authorizations at the CA (RFC 8555 section 7.1.6), and those that
//! certctl, as cert-manager, adds to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of an order at the CA, plus cert-manager's `expired` and `errored`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub enum OrderState {
    /// Not created yet.
    #[default]
    Unknown,
    /// Waiting for authorizations.
    Pending,
    /// Waiting for the CSR.
    Ready,
    /// The CA is at work.
    Processing,
    /// Issued.
    Valid,
    /// Refused by the CA.
    Invalid,
    /// Forgotten by the CA.
    Expired,
    /// Given up here.
    Errored,
    /// A word this version does not know; read again, never an error.
    Other(String),
}

impl OrderState {
    /// The word for it.
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

    /// Whether nothing will change any more, for the worse.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Invalid | Self::Expired | Self::Errored)
    }
}

impl From<String> for OrderState {
    fn from(word: String) -> Self {
        match word.as_str() {
            "" => Self::Unknown,
            "pending" => Self::Pending,
            "ready" => Self::Ready,
            "processing" => Self::Processing,
            "valid" => Self::Valid,
            "invalid" => Self::Invalid,
            "expired" => Self::Expired,
            "errored" => Self::Errored,
            _ => Self::Other(word),
        }
    }
}

impl From<OrderState> for String {
    fn from(state: OrderState) -> Self {
        state.as_str().to_owned()
    }
}

/// The state of an authorization at the CA, plus `errored` for one given up here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub enum AuthorizationState {
    /// Not read yet.
    #[default]
    Unknown,
    /// To be proven.
    Pending,
    /// The CA is looking.
    Processing,
    /// Proven.
    Valid,
    /// Refused.
    Invalid,
    /// Out of date.
    Expired,
    /// Given back by the client.
    Deactivated,
    /// Taken back by the CA.
    Revoked,
    /// Given up here.
    Errored,
    /// A word this version does not know; read again, never an error.
    Other(String),
}

impl AuthorizationState {
    /// The word for it.
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

    /// Whether nothing will change any more, for the worse.
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
        match word.as_str() {
            "" => Self::Unknown,
            "pending" => Self::Pending,
            "processing" => Self::Processing,
            "valid" => Self::Valid,
            "invalid" => Self::Invalid,
            "expired" => Self::Expired,
            "deactivated" => Self::Deactivated,
            "revoked" => Self::Revoked,
            "errored" => Self::Errored,
            _ => Self::Other(word),
        }
    }
}

impl From<AuthorizationState> for String {
    fn from(state: AuthorizationState) -> Self {
        state.as_str().to_owned()
    }
}
