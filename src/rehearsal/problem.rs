//! Problem documents (RFC 7807, RFC 8555 section 6.7).

use std::fmt;

use serde_json::{Value, json};

/// The error types of RFC 8555 section 6.7, plus `invalidProfile` of the profiles extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// The variants are named as in RFC 8555 section 6.7.
pub enum ProblemType {
    AccountDoesNotExist,
    AlreadyRevoked,
    BadCsr,
    BadNonce,
    BadPublicKey,
    BadRevocationReason,
    BadSignatureAlgorithm,
    Caa,
    Compound,
    Connection,
    Dns,
    ExternalAccountRequired,
    IncorrectResponse,
    InvalidContact,
    InvalidProfile,
    Malformed,
    OrderNotReady,
    RateLimited,
    RejectedIdentifier,
    ServerInternal,
    Tls,
    Unauthorized,
    UnsupportedContact,
    UnsupportedIdentifier,
    UserActionRequired,
}

impl ProblemType {
    /// The last part of the URN.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccountDoesNotExist => "accountDoesNotExist",
            Self::AlreadyRevoked => "alreadyRevoked",
            Self::BadCsr => "badCSR",
            Self::BadNonce => "badNonce",
            Self::BadPublicKey => "badPublicKey",
            Self::BadRevocationReason => "badRevocationReason",
            Self::BadSignatureAlgorithm => "badSignatureAlgorithm",
            Self::Caa => "caa",
            Self::Compound => "compound",
            Self::Connection => "connection",
            Self::Dns => "dns",
            Self::ExternalAccountRequired => "externalAccountRequired",
            Self::IncorrectResponse => "incorrectResponse",
            Self::InvalidContact => "invalidContact",
            Self::InvalidProfile => "invalidProfile",
            Self::Malformed => "malformed",
            Self::OrderNotReady => "orderNotReady",
            Self::RateLimited => "rateLimited",
            Self::RejectedIdentifier => "rejectedIdentifier",
            Self::ServerInternal => "serverInternal",
            Self::Tls => "tls",
            Self::Unauthorized => "unauthorized",
            Self::UnsupportedContact => "unsupportedContact",
            Self::UnsupportedIdentifier => "unsupportedIdentifier",
            Self::UserActionRequired => "userActionRequired",
        }
    }

    /// The usual HTTP status of this problem type.
    fn status(self) -> u16 {
        match self {
            Self::Caa
            | Self::ExternalAccountRequired
            | Self::OrderNotReady
            | Self::Unauthorized
            | Self::UserActionRequired => 403,
            Self::RateLimited => 429,
            Self::ServerInternal => 500,
            Self::AccountDoesNotExist
            | Self::AlreadyRevoked
            | Self::BadCsr
            | Self::BadNonce
            | Self::BadPublicKey
            | Self::BadRevocationReason
            | Self::BadSignatureAlgorithm
            | Self::Compound
            | Self::Connection
            | Self::Dns
            | Self::IncorrectResponse
            | Self::InvalidContact
            | Self::InvalidProfile
            | Self::Malformed
            | Self::RejectedIdentifier
            | Self::Tls
            | Self::UnsupportedContact
            | Self::UnsupportedIdentifier => 400,
        }
    }
}

impl fmt::Display for ProblemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "urn:ietf:params:acme:error:{}", self.as_str())
    }
}

/// One problem, as an answer of its own or as the error of a challenge or an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) kind: ProblemType,
    pub(super) status: u16,
    pub(super) detail: String,
    /// The signature algorithms that are accepted (RFC 8555 section 6.2).
    algorithms: Vec<String>,
    /// Subproblems, each with its identifier as JSON.
    pub(super) subproblems: Vec<(Value, Problem)>,
}

impl Problem {
    pub(super) fn new(kind: ProblemType, detail: impl Into<String>) -> Self {
        Self {
            kind,
            status: kind.status(),
            detail: detail.into(),
            algorithms: Vec::new(),
            subproblems: Vec::new(),
        }
    }

    /// A signature algorithm that is not among those accepted.
    pub(super) fn signature_algorithm(detail: impl Into<String>, accepted: &[String]) -> Self {
        let algorithms = accepted.to_vec();
        Self { algorithms, ..Self::new(ProblemType::BadSignatureAlgorithm, detail) }
    }

    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Malformed, detail)
    }

    pub(super) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Unauthorized, detail)
    }

    pub(super) fn internal(error: impl fmt::Display) -> Self {
        Self::new(ProblemType::ServerInternal, error.to_string())
    }

    pub(super) fn not_found(what: &str) -> Self {
        Self::malformed(format!("no such {what}")).with_status(404)
    }

    pub(super) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// One problem for several identifiers: the only one itself, else `compound` over all
    /// (RFC 8555 section 6.7.1). `None` without any problem.
    pub(super) fn of_identifiers(faults: Vec<(Value, Self)>) -> Option<Self> {
        let (_, first) = faults.first()?;
        let same = faults.iter().all(|(_, problem)| problem.kind == first.kind);
        let kind = if same { first.kind } else { ProblemType::Compound };
        let mut problem = if faults.len() == 1 {
            first.clone()
        } else {
            let detail = format!("{} identifiers are at fault, see the subproblems", faults.len());
            Self::new(kind, detail).with_status(first.status)
        };
        problem.subproblems = faults;
        Some(problem)
    }

    pub(super) fn to_json(&self) -> Value {
        let mut document = json!({
            "type": self.kind.to_string(),
            "detail": self.detail,
            "status": self.status,
        });
        let Some(fields) = document.as_object_mut() else { return document };
        if !self.algorithms.is_empty() {
            fields.insert("algorithms".into(), json!(self.algorithms));
        }
        if !self.subproblems.is_empty() {
            let list = self.subproblems.iter().map(|(about, problem)| {
                json!({
                    "type": problem.kind.to_string(),
                    "detail": problem.detail,
                    "status": problem.status,
                    "identifier": about,
                })
            });
            fields.insert("subproblems".into(), list.collect());
        }
        document
    }
}
