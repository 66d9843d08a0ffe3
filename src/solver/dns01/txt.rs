//! The value of a challenge's TXT record; and TXT records as HTTP APIs hold them: quotes around
//! values, and ids.

use aws_lc_rs::digest::{SHA256, digest};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};

/// The value that a CA looks for (RFC 8555 section 8.4).
pub fn txt_value(key_authorization: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, key_authorization.as_bytes()))
}

/// A value without the quotes of a zone file.
pub(super) fn unquoted(content: &str) -> &str {
    let content = content.trim();
    content.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(content)
}

/// Whether a service's text is safe as a path component of a URL.
pub(super) fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= 100 && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_a_zone_file_are_no_part_of_a_value() {
        let cases = [("\"a\"", "a"), ("a", "a"), (" \"a\" ", "a"), ("\"a", "\"a"), ("", "")];
        for (content, value) in cases {
            assert_eq!(unquoted(content), value);
        }
    }

    #[test]
    fn an_id_cannot_reach_another_path() {
        let long = "a".repeat(101);
        let cases =
            [("023e-1_f", true), ("", false), ("../x", false), ("a?b", false), (&long, false)];
        for (text, fine) in cases {
            assert_eq!(is_id(text), fine, "{text}");
        }
    }
}
