//! Events: what happened, for users. Never read back to decide anything.

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use super::{Reason, Rfc3339};

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
    #[serde(serialize_with = "in_seconds")]
    pub time: Timestamp,
    /// Normal or Warning.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// cert-manager's reason.
    pub reason: Reason,
    pub message: String,
}

/// For people: its order in the journal says what came first.
fn in_seconds<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    Rfc3339(*time).serialize(serializer)
}
