//! Order: one newOrder at the CA, with its authorizations and challenges, in one document.
//!
//! The spec, the challenges' specs and a URL once set never change; `store` refuses it.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Challenge, ChallengeType, Failure, Identifier, IssuerRef, NamespacedName, Problem};

/// One order (RFC 8555 section 7.1.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// `<certificate>-<revision>-<n>`.
    pub name: String,
    /// When it was made here.
    pub creation_timestamp: Timestamp,
    /// What is ordered.
    pub spec: OrderSpec,
    /// The deed that comes next.
    pub deed: Deed,
    /// The state at the CA, as last seen.
    pub state: OrderState,
    /// The order's URL at the CA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where the CSR goes.
    #[serde(default, rename = "finalizeURL", skip_serializing_if = "Option::is_none")]
    pub finalize_url: Option<String>,
    /// Where the certificate is.
    #[serde(default, rename = "certificateURL", skip_serializing_if = "Option::is_none")]
    pub certificate_url: Option<String>,
    /// When the CA forgets the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// The authorizations, in the CA's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorizations: Vec<Authorization>,
    /// One challenge per name that must still be proven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub challenges: Vec<Challenge>,
    /// The issued chain in PEM, leaf first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Why it is in this state, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The CA's problem document, when it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// What it failed by on this side, when that was not the CA's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// When it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_time: Option<Timestamp>,
    /// Whether it took the place of another one that was not counted as a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_replacement: bool,
}

impl Order {
    /// The challenges that still owe a clean-up.
    pub fn owes_clean_up(&self) -> bool {
        self.challenges.iter().any(Challenge::owes_clean_up)
    }
}

/// What is ordered; immutable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrderSpec {
    /// The Certificate it belongs to.
    pub certificate: NamespacedName,
    /// The revision it is for.
    pub revision: u32,
    /// The CSR in PEM.
    pub request: String,
    /// Who is asked.
    pub issuer_ref: IssuerRef,
    /// The directory URL of that issuer when the order was made.
    #[serde(rename = "directoryURL")]
    pub directory_url: String,
    /// The account that ordered.
    #[serde(rename = "accountURL")]
    pub account_url: String,
    /// The identifiers: names sorted, then addresses sorted.
    pub identifiers: Vec<Identifier>,
    /// ACME profile; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Wished end of validity (`enableDurationFeature`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Timestamp>,
}

/// The deed that comes next for an order. It is on disk before the deed is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deed {
    /// POST newOrder.
    Create,
    /// Read the authorizations.
    Authorize,
    /// Work on the challenges, and read the order when they are done.
    Solve,
    /// POST the CSR.
    Finalize,
    /// Read the order until it has a certificate.
    Await,
    /// Fetch the chain.
    Download,
    /// Nothing: the order is final.
    Nothing,
}

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

/// One authorization of an order (RFC 8555 section 7.1.4), as first read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Authorization {
    /// Its URL.
    pub url: String,
    /// What it is about, without `*.`; `None` until it has been read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<Identifier>,
    /// Whether it is for `*.` identifier.
    #[serde(default)]
    pub wildcard: bool,
    /// Its state when it was first read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_state: Option<AuthorizationState>,
    /// The challenges the CA offers; shared by all copies.
    #[serde(default, skip_serializing_if = "<[OfferedChallenge]>::is_empty")]
    pub challenges: Arc<[OfferedChallenge]>,
}

/// A challenge as the CA offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OfferedChallenge {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ChallengeType,
    /// Its URL.
    pub url: String,
    /// Its token; empty for types that have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token: String,
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
