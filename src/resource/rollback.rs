//! Rollback: a manual return to an earlier revision.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A requested rollback: owed until it is done, and kept until the next revision is live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollback {
    /// The revision to restore; 0 is the certificate that was adopted.
    pub to: u32,
    /// The revision that was live before.
    pub from: u32,
    /// The newest revision that was ever live: the next one counts from it.
    pub newest: u32,
    /// The folder of the files that go live again.
    pub set: String,
    /// SHA-256 over the DER of their leaf, lower-case hexadecimal.
    pub fingerprint: String,
    /// The same of the leaves that this rollback, and those before it, replaced: an output that
    /// holds one of them may be replaced by an older one.
    pub left: Vec<String>,
    /// When it was requested.
    #[schemars(with = "crate::resource::DateTime")]
    pub requested_at: Timestamp,
    /// The generation of the spec at that time.
    pub generation: i64,
    /// The directory URL of the Issuer at that time.
    #[serde(rename = "directoryURL")]
    pub directory_url: String,
    /// When it was done; `None` while it is owed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub done_at: Option<Timestamp>,
}

impl Rollback {
    /// Whether it is still to be done.
    pub fn is_owed(&self) -> bool {
        self.done_at.is_none()
    }
}
