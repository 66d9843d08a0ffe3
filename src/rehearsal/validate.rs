//! Validation: whether the account controls the name. One arm per challenge type.

use std::time::Duration;

use serde_json::Value;

use super::Shared;
use super::authorization::ChallengeKind;
use super::dns01;
use super::http01;
use super::problem::{Problem, ProblemType};
use super::tlsalpn01;
use crate::resource::Identifier;

/// The input of a validation.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) authorization: u64,
    pub(super) kind: ChallengeKind,
    /// As ordered, `*.` included.
    pub(super) identifier: Identifier,
    /// The name or address to query.
    pub(super) host: String,
    pub(super) token: String,
    pub(super) key_authorization: String,
}

/// The result of a validation.
#[derive(Debug)]
pub(super) struct Verdict {
    /// The `validationRecord` of the challenge: but for dns-01 one entry per address that was
    /// contacted.
    pub(super) records: Vec<Value>,
    pub(super) result: Result<(), Problem>,
}

impl From<Problem> for Verdict {
    fn from(problem: Problem) -> Self {
        Self { records: Vec::new(), result: Err(problem) }
    }
}

pub(super) async fn validate(shared: &Shared, attempt: &Attempt) -> Verdict {
    if let Some(problem) = shared.options.faults.refusal(&attempt.identifier.to_string()) {
        return problem.into();
    }
    let limit = shared.options.validation_timeout;
    match attempt.kind {
        ChallengeKind::Http01 => {
            let check = tokio::time::timeout(limit, http01::check(shared, attempt));
            check.await.unwrap_or_else(|_| timeout(attempt, limit).into())
        }
        ChallengeKind::Dns01 => {
            let check = tokio::time::timeout(limit, dns01::check(shared, attempt));
            check.await.unwrap_or_else(|_| dns01::timeout(attempt).into())
        }
        ChallengeKind::TlsAlpn01 => {
            let check = tokio::time::timeout(limit, tlsalpn01::check(shared, attempt));
            check.await.unwrap_or_else(|_| timeout(attempt, limit).into())
        }
    }
}

/// A server did not answer in time.
fn timeout(attempt: &Attempt, limit: Duration) -> Problem {
    let detail = format!("{}: timeout during connect or read ({limit:?})", attempt.host);
    Problem::new(ProblemType::Connection, detail)
}
