//! The verdict of one pass of a self-check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict of a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Verdict {
    /// The CA may validate.
    Passed,
    /// The CA would fail.
    Failed {
        /// One line, in cert-manager's words if there are any.
        reason: String,
    },
}

impl Verdict {
    /// Whether the CA may validate.
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

    /// Adds the cause of a failure.
    pub(super) fn because(&mut self, why: &str) {
        if let Self::Failed { reason } = self {
            reason.push_str(": ");
            reason.push_str(why);
        }
    }
}
