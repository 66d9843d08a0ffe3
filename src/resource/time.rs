//! How a time is written for machines, in messages too.

use jiff::Timestamp;

/// RFC 3339 in UTC, whole seconds: `2026-11-21T03:12:09Z`. A message that has such a time in it is
/// told without the time by whoever looks for these very words.
pub fn rfc3339(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
