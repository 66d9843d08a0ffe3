//! The formats of times: for programs, also in messages, and in those of cert-manager.

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// RFC 3339 in UTC, whole seconds: `2026-11-21T03:12:09Z`. The digests of reported messages leave
/// such times out, so that they must have exactly this format.
pub fn rfc3339(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// RFC 1123 in UTC, as Go prints it for cert-manager's messages: `Sat, 21 Nov 2026 03:12:09 UTC`.
pub fn rfc1123(at: Timestamp) -> String {
    at.strftime("%a, %d %b %Y %H:%M:%S UTC").to_string()
}

/// A time in JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct Rfc3339(#[schemars(with = "DateTime")] pub Timestamp);

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

/// The JSON Schema of a [`Timestamp`], for `#[schemars(with = …)]`: schemars knows jiff 0.2 only.
pub enum DateTime {}

impl JsonSchema for DateTime {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("DateTime")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}
