//! What follows from one pass of a self-check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What follows from a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Verdict {
    /// The CA may be told to look.
    Passed,
    /// The CA would fail.
    Failed {
        /// One line, in cert-manager's words where it has any.
        reason: String,
    },
}

impl Verdict {
    /// Whether the CA may be told to look.
    pub fn has_passed(&self) -> bool {
        *self == Self::Passed
    }

    /// Why it failed, in one line; `None` when it passed.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed { reason } => Some(reason),
        }
    }
}
