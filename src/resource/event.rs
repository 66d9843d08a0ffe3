//! Events: what happened, for users. Never read back to decide anything.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Reason;

/// Normal or Warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventType {
    /// An expected event.
    Normal,
    /// An error, or something that needs attention.
    Warning,
}

/// One line of a certificate's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    pub time: Timestamp,
    /// Normal or Warning.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// cert-manager's reason.
    pub reason: Reason,
    pub message: String,
}
