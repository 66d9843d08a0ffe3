//! The CA's problem document (RFC 7807, RFC 8555 section 6.7).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A problem document as the CA sent it; every text is the CA's and is escaped before display.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Problem {
    /// HTTP status of the response, unless the document was part of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The type URN, such as `urn:ietf:params:acme:error:rateLimited`.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The description for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// A URL that names this occurrence, or a page about it (RFC 7807 section 3.1).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instance: String,
    /// The signature algorithms that the CA accepts, when it rejected certctl's (RFC 8555 section
    /// 6.2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithms: Vec<String>,
    /// One entry per identifier, when the CA names those at fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subproblems: Vec<Subproblem>,
}

/// Part of a problem document that is about one identifier (RFC 8555 section 6.7.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subproblem {
    /// The identifier's value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub identifier: String,
    /// The type URN.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The description for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Problem {
    /// The last part of the type URN: `rateLimited`, `unauthorized`, ….
    pub fn short_kind(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or(&self.kind)
    }

    /// Whether the CA paused the account for some names until its owner visits a page of the CA, in
    /// the words of Boulder (`wfe2/wfe.go`).
    pub fn is_paused(&self) -> bool {
        self.short_kind() == "rateLimited" && self.detail.contains("temporarily prevented from")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status {
            write!(f, "{status} ")?;
        }
        if self.status.is_some() || !self.kind.is_empty() {
            write!(f, "{}: ", self.kind)?;
        }
        f.write_str(&self.detail)?;
        for sub in &self.subproblems {
            write!(f, "; {}: {}: {}", sub.identifier, sub.kind, sub.detail)?;
        }
        Ok(())
    }
}
