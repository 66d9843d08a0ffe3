//! Events: what happened, for people. Never read back to decide anything.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Reason;

/// Normal or Warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventType {
    /// Something went as it should.
    Normal,
    /// Something a person may want to look at.
    Warning,
}

/// One line of a certificate's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    /// When it happened.
    pub time: Timestamp,
    /// Normal or Warning.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// cert-manager's reason.
    pub reason: Reason,
    /// The sentence for people.
    pub message: String,
}
