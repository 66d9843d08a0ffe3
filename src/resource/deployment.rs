//! Deployments of a published pair outside the state, and their progress.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cause, CauseKind, DeployTarget, Doing, Failure};

/// For which files a step was last done. It is owed while those are not the live ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deployment {
    pub target: DeployTarget,
    /// Digest of the files it was last done with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// The number of consecutive failures.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub last_failure_time: Option<Timestamp>,
    /// Its last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl Deployment {
    /// One that was never done.
    pub fn new(target: DeployTarget) -> Self {
        Self { target, files: None, failed_attempts: 0, last_failure_time: None, cause: None }
    }

    /// Issued but not deployed, by this step.
    pub fn failure(&self) -> Failure {
        let (target, cause) = (self.target.clone(), self.cause.clone().map(Box::new));
        Failure::of(Doing::Deploy, Cause::Deployment { target, cause })
    }

    /// Whether nothing was started, because this machine lacks something.
    pub fn is_lacking(&self) -> bool {
        self.cause.as_ref().is_some_and(|cause| cause.kind() == CauseKind::Precondition)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
