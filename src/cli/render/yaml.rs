//! JSON values as YAML documents.

use serde::ser::Error as _;
use serde_json::Value;

use crate::resource::{escape_json, is_hidden};

/// Formats a document, ending in a line feed. A document with characters that YAML leaves as they
/// are, and that would steer a terminal, is written as JSON, which is YAML too.
pub fn document(value: &Value) -> serde_json::Result<String> {
    let mut text = serde_yaml::to_string(value)
        .map_err(|error| serde_json::Error::custom(format_args!("cannot write YAML: {error}")))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if text.contains(|c| c != '\n' && is_hidden(c)) {
        text = format!("{}\n", escape_json(&format!("{value:#}")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_back_as_the_same_value() {
        let long = "QUJD".repeat(400);
        let value = json!({
            "text": ["yes", "no", "on", "null", "~", "010", "1e3", "0x1f", "", " lead", "trail ",
                     "a: b", "a #b", "- x", "*.example.com", "&a", "!t", "%x", "@x", "`x", "'q'",
                     "\"d\"", "\u{9b}31m\u{202e}", "multi\nline\n", "multi\n\n  odd\nline", "\ttab", "\u{1b}[31m",
                     "2026-11-21T03:12:09Z", "12:30:45", "ünï", "{}", "[]", "?", "=", "<<", long],
            "other": { "yes": true, "number": 10, "null": null, "empty": {}, "none": [],
                       "true": { "*.a": [{ "k": "v", "l": [1, 2] }] } },
        });
        let text = document(&value).unwrap();
        let back: Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(back, value, "{text}");
        assert!(!text.contains(|c| c != '\n' && is_hidden(c)), "{text}");
    }
}
