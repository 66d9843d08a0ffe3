//! The steps after publishing, and their targets.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The steps, in their order: a later one waits for those before it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum DeployStep {
    /// The files are written to `certctl/output-dir`.
    Output,
    /// The program of `certctl/deploy-hook` is run for this certificate.
    Hook,
    /// The program of `certctl/reload` is run, once for all certificates of a run.
    Reload,
}

/// A step and its target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum DeployTarget {
    /// The settings `certctl/output-*`, as in the manifest.
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

    /// The folder that an output writes to.
    pub fn folder(&self) -> Option<&str> {
        match self {
            Self::Output { folder, .. } => Some(folder),
            Self::Hook { .. } | Self::Reload { .. } => None,
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
