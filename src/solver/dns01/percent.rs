//! Percent-encoding (RFC 3986 section 2.1) as signatures, paths and forms need it: every byte but
//! the unreserved ones.

use crate::resource::hex;

/// One part of a path or a query.
pub(super) fn percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push_str(&hex(&[byte]).to_ascii_uppercase());
        }
    }
    encoded
}

/// Names and values of a query or a form, in the order given.
pub(super) fn pairs(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", percent(name), percent(value)));
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_unreserved_is_encoded() {
        let cases = [
            ("AZaz09-._~", "AZaz09-._~"),
            ("a b+c/d=e&f", "a%20b%2Bc%2Fd%3De%26f"),
            ("\"é\"\u{7f}", "%22%C3%A9%22%7F"),
        ];
        for (text, expected) in cases {
            assert_eq!(percent(text), expected);
        }
        assert_eq!(pairs(&[("a", "1"), ("b c", "&")]), "a=1&b%20c=%26");
    }
}
