//! Validation: whether the account controls the name. One arm per challenge type.

use serde_json::Value;

use super::Shared;
use super::authorization::ChallengeKind;
use super::faults::Fault;
use super::http01;
use super::log::RequestKind;
use super::problem::{Problem, ProblemType};

/// What is to be validated.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) authorization: u64,
    pub(super) kind: ChallengeKind,
    /// As ordered, `*.` included.
    pub(super) name: String,
    /// The name or address that is asked.
    pub(super) host: String,
    pub(super) token: String,
    pub(super) key_authorization: String,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Verdict {
    /// The `validationRecord` of the challenge: one entry per address asked.
    pub(super) records: Vec<Value>,
    pub(super) result: Result<(), Problem>,
}

impl From<Problem> for Verdict {
    fn from(problem: Problem) -> Self {
        Self { records: Vec::new(), result: Err(problem) }
    }
}

pub(super) async fn validate(shared: &Shared, attempt: &Attempt) -> Verdict {
    let names = [attempt.name.clone()];
    let refusal = shared.options.faults.draw_first(RequestKind::Challenge, &names, |fault| {
        if let Fault::Refuse { kind, detail } = fault {
            Some(Problem::new(*kind, detail.clone()))
        } else {
            None
        }
    });
    if let Some(problem) = refusal {
        return problem.into();
    }
    match attempt.kind {
        ChallengeKind::Http01 => in_time(shared, attempt, http01::check(shared, attempt)).await,
        ChallengeKind::Dns01 => Problem::new(
            ProblemType::Dns,
            format!("{}: this CA cannot validate dns-01 yet", attempt.name),
        )
        .into(),
    }
}

async fn in_time(
    shared: &Shared,
    attempt: &Attempt,
    check: impl Future<Output = Verdict>,
) -> Verdict {
    let limit = shared.options.validation_timeout;
    tokio::time::timeout(limit, check).await.unwrap_or_else(|_| {
        let detail = format!("{}: timeout during connect or read ({limit:?})", attempt.host);
        Problem::new(ProblemType::Connection, detail).into()
    })
}
