//! Redacts credentials in a service's message: some services repeat the request that they refuse.

use super::percent::percent;

/// The text with each of the credentials redacted, verbatim and form- or JSON-encoded. Call it
/// before a text is cut, because half a credential is not found.
pub(super) fn without(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        let quoted = serde_json::Value::from(*secret).to_string();
        let in_json = quoted.trim_matches('"');
        for form in [*secret, percent(secret).as_str(), in_json] {
            text = text.replace(form, "[redacted]");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_blotted_out_in_every_form() {
        let secrets = ["", "s3/cr=t", "a\"b"];
        let cases = [
            ("nothing of it", "nothing of it"),
            ("key s3/cr=t, s3%2Fcr%3Dt", "key [redacted], [redacted]"),
            (r#"{"key":"a\"b"}"#, r#"{"key":"[redacted]"}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(without(text, &secrets), expected);
        }
    }
}
