//! Order: one newOrder at the CA, with its authorizations and challenges, in one document.
//!
//! The spec, the challenges' specs and a URL once set never change; `store` refuses it.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AuthorizationState, Challenge, ChallengeType, Failure, Identifier, IssuerRef, NamespacedName,
    OrderState, Problem,
};

/// One order (RFC 8555 section 7.1.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// `<certificate>-<revision>-<number>`.
    pub name: String,
    /// Which of the orders for its revision it is, from 1 on.
    pub number: u32,
    /// When certctl created it.
    #[schemars(with = "crate::resource::DateTime")]
    pub creation_timestamp: Timestamp,
    /// Never changes: shared by all copies.
    pub spec: Arc<OrderSpec>,
    /// Whether it replaced another order that was not counted as a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_replacement: bool,
    /// The certificate that newOrder names as replaced (RFC 9773 section 5), if the CA has
    /// renewalInfo; `None` once the CA refused that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    pub phase: OrderPhase,
    /// The CA's state, as last read.
    pub state: OrderState,
    /// The message for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When the order expires at the CA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub expires: Option<Timestamp>,
    /// The authorizations, in the CA's order; one that was read is shared by all copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorizations: Vec<Arc<Authorization>>,
    /// One challenge per name that is not valid yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub challenges: Vec<Challenge>,
}

/// The phase of an order, with its data. An open phase names the effect that comes next, and is on
/// disk before that starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum OrderPhase {
    /// POST newOrder.
    Creating,
    /// Read the authorizations.
    Authorizing(OrderUrls),
    /// Work on the challenges, and read the order when they are done.
    Solving(OrderUrls),
    /// Read the authorizations for the cause of an invalid order.
    Refused {
        urls: OrderUrls,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<Problem>,
    },
    /// POST the CSR.
    Finalizing(OrderUrls),
    /// Read the order until it has a certificate.
    Awaiting(OrderUrls),
    /// Fetch the chain.
    Downloading {
        urls: OrderUrls,
        #[serde(rename = "certificateURL")]
        certificate_url: String,
    },
    Issued {
        urls: OrderUrls,
        #[serde(rename = "certificateURL")]
        certificate_url: String,
        /// The chain in PEM, leaf first.
        certificate: String,
    },
    /// Another request replaced its own.
    Replaced {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        urls: Option<OrderUrls>,
    },
    Failed(FailedOrder),
}

/// The order's URLs at the CA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrderUrls {
    pub url: String,
    /// Where the CSR is sent.
    #[serde(rename = "finalizeURL")]
    pub finalize_url: String,
}

/// An order that ended without a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailedOrder {
    /// `None` when the CA never accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<OrderUrls>,
    /// When its failure was recorded; `None` before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub at: Option<Timestamp>,
    /// The CA's problem document, if it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The failure on certctl's side, when it was not the CA's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
}

impl OrderPhase {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Authorizing(_) => "authorizing",
            Self::Solving(_) => "solving",
            Self::Refused { .. } => "refused",
            Self::Finalizing(_) => "finalizing",
            Self::Awaiting(_) => "awaiting",
            Self::Downloading { .. } => "downloading",
            Self::Issued { .. } => "issued",
            Self::Replaced { .. } => "replaced",
            Self::Failed(_) => "failed",
        }
    }

    /// Whether there is work left at the CA.
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Issued { .. } | Self::Replaced { .. } | Self::Failed(_))
    }

    /// Whether the authorizations are not final, or must be read for the cause of an invalid order.
    pub fn is_being_authorized(&self) -> bool {
        matches!(self, Self::Authorizing(_) | Self::Solving(_) | Self::Refused { .. })
    }

    pub fn urls(&self) -> Option<&OrderUrls> {
        match self {
            Self::Creating => None,
            Self::Authorizing(urls)
            | Self::Solving(urls)
            | Self::Refused { urls, .. }
            | Self::Finalizing(urls)
            | Self::Awaiting(urls)
            | Self::Downloading { urls, .. }
            | Self::Issued { urls, .. } => Some(urls),
            Self::Replaced { urls } | Self::Failed(FailedOrder { urls, .. }) => urls.as_ref(),
        }
    }

    /// The URLs of an order with work left at the CA.
    pub fn urls_mut(&mut self) -> Option<&mut OrderUrls> {
        match self {
            Self::Authorizing(urls)
            | Self::Solving(urls)
            | Self::Refused { urls, .. }
            | Self::Finalizing(urls)
            | Self::Awaiting(urls)
            | Self::Downloading { urls, .. } => Some(urls),
            Self::Creating | Self::Issued { .. } | Self::Replaced { .. } | Self::Failed(_) => None,
        }
    }

    pub fn certificate_url(&self) -> Option<&str> {
        let (Self::Downloading { certificate_url, .. } | Self::Issued { certificate_url, .. }) =
            self
        else {
            return None;
        };
        Some(certificate_url)
    }

    /// The phase's data that stays when the order ends here without a certificate.
    pub fn failed(&self) -> FailedOrder {
        match self {
            Self::Failed(failed) => failed.clone(),
            Self::Refused { urls, problem } => FailedOrder {
                urls: Some(urls.clone()),
                problem: problem.clone(),
                ..FailedOrder::default()
            },
            Self::Creating
            | Self::Authorizing(_)
            | Self::Solving(_)
            | Self::Finalizing(_)
            | Self::Awaiting(_)
            | Self::Downloading { .. }
            | Self::Issued { .. }
            | Self::Replaced { .. } => {
                FailedOrder { urls: self.urls().cloned(), ..FailedOrder::default() }
            }
        }
    }
}

impl Order {
    /// Whether this URL is one of the order, or of its authorizations and challenges.
    pub fn has_url(&self, url: &str) -> bool {
        let own = self.phase.urls().into_iter().flat_map(|urls| [&urls.url, &urls.finalize_url]);
        let mut own = own.map(String::as_str).chain(self.phase.certificate_url());
        own.any(|own| own == url)
            || self.authorizations.iter().any(|authorization| authorization.url == url)
            || self.challenges.iter().any(|challenge| challenge.spec.url == url)
    }

    /// Why nothing can be done with it, although the CA says no more than that it is under way.
    pub fn stuck(&self) -> Option<&'static str> {
        let is_being_solved =
            matches!(self.phase, OrderPhase::Authorizing(_) | OrderPhase::Solving(_));
        if !is_being_solved {
            None
        } else if self.state == OrderState::Processing {
            Some("the CA says the order is processing, although no CSR was sent for it")
        } else if self.authorizations.is_empty() {
            Some("the CA says the order is pending, and names no authorizations of it")
        } else {
            None
        }
    }

    /// The challenges that still owe a clean-up.
    pub fn owes_clean_up(&self) -> bool {
        self.challenges.iter().any(Challenge::owes_clean_up)
    }

    /// The state to show: an order that ended undecided is abandoned.
    pub fn final_state(&self) -> &OrderState {
        match (&self.state, &self.phase) {
            (
                OrderState::Unknown
                | OrderState::Pending
                | OrderState::Ready
                | OrderState::Processing,
                OrderPhase::Replaced { .. } | OrderPhase::Failed(_),
            ) => &OrderState::Errored,
            (state, _) => state,
        }
    }

    /// Its URL at the CA.
    pub fn url(&self) -> Option<&str> {
        self.phase.urls().map(|urls| urls.url.as_str())
    }

    /// The issued chain in PEM, leaf first.
    pub fn certificate(&self) -> Option<&str> {
        let OrderPhase::Issued { certificate, .. } = &self.phase else { return None };
        Some(certificate)
    }

    /// Its failure, once it has failed.
    pub fn failed(&self) -> Option<&FailedOrder> {
        let OrderPhase::Failed(failed) = &self.phase else { return None };
        Some(failed)
    }

    /// When its failure was recorded.
    pub fn failure_time(&self) -> Option<Timestamp> {
        self.failed()?.at
    }

    /// The CA's problem document, if it sent one.
    pub fn problem(&self) -> Option<&Problem> {
        self.failed()?.problem.as_ref()
    }
}

/// The immutable part of the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrderSpec {
    /// The owning Certificate.
    pub certificate: NamespacedName,
    pub revision: u32,
    /// The CSR in PEM.
    pub request: String,
    /// The issuer reference.
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
    /// The requested end of validity (`enableDurationFeature`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub not_after: Option<Timestamp>,
}

/// One authorization of an order (RFC 8555 section 7.1.4), as first read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Authorization {
    /// Its URL.
    pub url: String,
    /// Its identifier, without `*.`; `None` until it has been read.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
