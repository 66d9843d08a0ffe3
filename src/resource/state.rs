//! The states of orders and authorizations at the CA (RFC 8555 section 7.1.6), and those that
//! certctl, as cert-manager, adds to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A state with the word for it in JSON. A word that this version does not know is no error: it is
/// stored as it is, and read again.
macro_rules! states {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $state:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $state,)+
            /// A value this version does not know; read again, never an error.
            #[serde(untagged)]
            Other(String),
        }

        impl $name {
            /// The value in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$state => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                serde_json::from_value(word.into()).unwrap_or_default()
            }
        }
    };
}

states! {
    /// The state of an order at the CA, plus cert-manager's `expired` and `errored`.
    OrderState {
        /// Not created yet.
        #[default]
        Unknown = "",
        /// Waiting for authorizations.
        Pending = "pending",
        /// Waiting for the CSR.
        Ready = "ready",
        /// The CA is issuing.
        Processing = "processing",
        /// Issued.
        Valid = "valid",
        /// Failed at the CA.
        Invalid = "invalid",
        /// Expired at the CA.
        Expired = "expired",
        /// Abandoned by certctl.
        Errored = "errored",
    }
}

impl OrderState {
    /// Whether it is a final failure.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Invalid | Self::Expired | Self::Errored)
    }
}

states! {
    /// The state of an authorization at the CA, plus `errored` for one abandoned by certctl.
    AuthorizationState {
        /// Not read yet.
        #[default]
        Unknown = "",
        /// Waiting for a valid challenge.
        Pending = "pending",
        /// The CA is validating.
        Processing = "processing",
        /// Validated.
        Valid = "valid",
        /// Validation failed.
        Invalid = "invalid",
        /// No longer valid.
        Expired = "expired",
        /// Deactivated by the client.
        Deactivated = "deactivated",
        /// Revoked by the CA.
        Revoked = "revoked",
        /// Abandoned by certctl.
        Errored = "errored",
    }
}

impl AuthorizationState {
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
