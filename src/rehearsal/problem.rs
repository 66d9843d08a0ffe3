//! Problem documents (RFC 7807, RFC 8555 section 6.7).

use std::fmt;

use serde_json::{Value, json};

/// The error types of RFC 8555 section 6.7, plus `invalidProfile` of the profiles extension and
/// `alreadyReplaced` of RFC 9773.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// The variants are named as in RFC 8555 section 6.7.
pub enum ProblemType {
    AccountDoesNotExist,
    AlreadyReplaced,
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
    /// The last part of the URN, and the usual HTTP status.
    fn parts(self) -> (&'static str, u16) {
        match self {
            Self::AccountDoesNotExist => ("accountDoesNotExist", 400),
            Self::AlreadyReplaced => ("alreadyReplaced", 409),
            Self::AlreadyRevoked => ("alreadyRevoked", 400),
            Self::BadCsr => ("badCSR", 400),
            Self::BadNonce => ("badNonce", 400),
            Self::BadPublicKey => ("badPublicKey", 400),
            Self::BadRevocationReason => ("badRevocationReason", 400),
            Self::BadSignatureAlgorithm => ("badSignatureAlgorithm", 400),
            Self::Caa => ("caa", 403),
            Self::Compound => ("compound", 400),
            Self::Connection => ("connection", 400),
            Self::Dns => ("dns", 400),
            Self::ExternalAccountRequired => ("externalAccountRequired", 403),
            Self::IncorrectResponse => ("incorrectResponse", 400),
            Self::InvalidContact => ("invalidContact", 400),
            Self::InvalidProfile => ("invalidProfile", 400),
            Self::Malformed => ("malformed", 400),
            Self::OrderNotReady => ("orderNotReady", 403),
            Self::RateLimited => ("rateLimited", 429),
            Self::RejectedIdentifier => ("rejectedIdentifier", 400),
            Self::ServerInternal => ("serverInternal", 500),
            Self::Tls => ("tls", 400),
            Self::Unauthorized => ("unauthorized", 403),
            Self::UnsupportedContact => ("unsupportedContact", 400),
            Self::UnsupportedIdentifier => ("unsupportedIdentifier", 400),
            Self::UserActionRequired => ("userActionRequired", 403),
        }
    }

    /// The last part of the URN.
    pub fn as_str(self) -> &'static str {
        self.parts().0
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
            status: kind.parts().1,
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
        let each = |(about, problem): &(Value, Self)| {
            with_some(problem.about(), [("identifier", Some(about.clone()))])
        };
        let algorithms = (!self.algorithms.is_empty()).then(|| json!(self.algorithms));
        let subproblems =
            (!self.subproblems.is_empty()).then(|| self.subproblems.iter().map(each).collect());
        with_some(self.about(), [("algorithms", algorithms), ("subproblems", subproblems)])
    }

    fn about(&self) -> Value {
        let kind = self.kind.to_string();
        json!({ "type": kind, "detail": self.detail, "status": self.status })
    }
}

/// The document with those of the fields that have a value.
pub(super) fn with_some<const N: usize>(
    mut document: Value,
    fields: [(&str, Option<Value>); N],
) -> Value {
    if let Some(document) = document.as_object_mut() {
        let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        document.extend(given);
    }
    document
}
