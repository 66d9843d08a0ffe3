//! What is done with a published pair outside the state, and how far that is.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cause;

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

/// A step, and where to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum DeployTarget {
    /// The settings `certctl.io/output-*`, as they stand in the manifest.
    Output {
        folder: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// The name of a program in `hooks.d`.
    Hook { name: String },
    /// The name of a program in `hooks.d`.
    Reload { name: String },
}

impl DeployTarget {
    /// The step that it belongs to.
    pub fn step(&self) -> DeployStep {
        match self {
            Self::Output { .. } => DeployStep::Output,
            Self::Hook { .. } => DeployStep::Hook,
            Self::Reload { .. } => DeployStep::Reload,
        }
    }
}

impl fmt::Display for DeployTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output { folder, owner, group, mode } => {
                write!(f, "output to {folder}")?;
                for (word, value) in [("owner", owner), ("group", group)] {
                    if let Some(value) = value {
                        write!(f, " {word} {value}")?;
                    }
                }
                mode.map_or(Ok(()), |mode| write!(f, " mode {mode:04o}"))
            }
            Self::Hook { name } => write!(f, "deploy hook {name}"),
            Self::Reload { name } => write!(f, "reload {name}"),
        }
    }
}

/// For which files a step was last done. It is owed as long as those are not the live ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deployment {
    pub target: DeployTarget,
    /// Digest of the files it was last done with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// How often in a row it has failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure_time: Option<Timestamp>,
    /// What it failed by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl Deployment {
    /// One that was never done.
    pub fn new(target: DeployTarget) -> Self {
        Self { target, files: None, failed_attempts: 0, last_failure_time: None, cause: None }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
