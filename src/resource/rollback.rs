//! Rollback: a step back to a revision that was live before, by hand.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A step back that was asked for: owed from then on until it is done, and remembered until the
/// next revision is live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollback {
    /// The revision that is gone back to; 0 is what was there before certctl.
    pub to: u32,
    /// The revision that was live until then.
    pub from: u32,
    /// The newest revision that was ever live: the next one counts from it.
    pub newest: u32,
    /// The folder of the files that go live again.
    pub set: String,
    /// SHA-256 over the DER of their leaf, lower-case hexadecimal.
    pub fingerprint: String,
    /// The same of the leaves that this step, and those before it, have left: an output that holds
    /// one of them may be replaced by an older one.
    pub left: Vec<String>,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// The generation of the spec then.
    pub generation: i64,
    /// The directory URL of the Issuer then.
    #[serde(rename = "directoryURL")]
    pub directory_url: String,
    /// When it was done; `None` as long as it is owed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Timestamp>,
}

impl Rollback {
    /// Whether it is still to be done.
    pub fn is_owed(&self) -> bool {
        self.done_at.is_none()
    }
}
