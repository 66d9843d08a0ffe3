//! What is done with a published pair outside the state, and how far that is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The steps, in their order: a later one waits for those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeployStep {
    /// The files are written to `certctl.io/output-dir`.
    Output,
    /// The program of `certctl.io/deploy-hook` is run for this certificate.
    Hook,
    /// The program of `certctl.io/reload` is run, once for all certificates of a run.
    Reload,
}

/// One step with its target, and for which files it was last done. It is owed as long as those are
/// not the live ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deployment {
    /// Which step.
    pub step: DeployStep,
    /// Where to, with owner, group and mode; or which program.
    pub target: String,
    /// Digest of the files it was last done with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// How often in a row it has failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_attempts: u32,
    /// When it failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure_time: Option<Timestamp>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Deployment {
    /// One that was never done.
    pub fn new(step: DeployStep, target: String) -> Self {
        Self {
            step,
            target,
            files: None,
            failed_attempts: 0,
            last_failure_time: None,
            message: String::new(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
