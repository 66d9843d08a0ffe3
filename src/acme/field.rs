//! Fields of the CA's JSON: required ones are checked, invalid optional ones are ignored.

use instant_acme as wire;
use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::Value;

use super::answer::Answer;
use super::error::{AcmeError, excerpt};
use crate::resource::Identifier;

/// A text field; empty when it is missing or not a string.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A short word, such as a state; a longer one is cut.
pub(super) fn word(value: &Value, field: &str) -> String {
    text(value, field).chars().take(LONGEST_WORD).collect()
}

/// A list of strings; other elements are ignored.
pub(super) fn texts(value: &Value, field: &str) -> Vec<String> {
    let all = value.get(field).and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A time (RFC 3339); `None` when it is missing or invalid.
pub(super) fn time(value: &Value, field: &str) -> Option<Timestamp> {
    text(value, field).parse().ok()
}

/// A required URL.
pub(super) fn url(answer: &Answer, value: &Value, field: &str) -> Result<String, AcmeError> {
    match optional_url(value, field)? {
        Some(url) => Ok(url),
        None => Err(answer.malformed(format!("the answer has no `{field}`"))),
    }
}

/// An optional URL, which must be https.
pub(super) fn optional_url(value: &Value, field: &str) -> Result<Option<String>, AcmeError> {
    match text(value, field) {
        "" => Ok(None),
        found => https(found, field).map(Some),
    }
}

/// A list of URLs, each of them https.
pub(super) fn urls(value: &Value, field: &str) -> Result<Vec<String>, AcmeError> {
    texts(value, field).iter().map(|found| https(found, field)).collect()
}

/// An optional URL of a page for people; what is no http or https URL is ignored.
pub(super) fn page(value: &Value, field: &str) -> Option<String> {
    let found = text(value, field);
    is_url(found, &["https", "http"]).then(|| found.to_owned())
}

/// Whether it is a URL of one of these schemes, with a host.
fn is_url(found: &str, schemes: &[&str]) -> bool {
    found.len() <= LONGEST_URL
        && found.bytes().all(|b| b.is_ascii_graphic())
        && reqwest::Url::parse(found)
            .is_ok_and(|url| schemes.contains(&url.scheme()) && url.has_host())
}

/// Rejects anything but an https URL with a host. `what` names it in the error.
pub(super) fn https(found: &str, what: &str) -> Result<String, AcmeError> {
    if is_url(found, &["https"]) {
        Ok(found.to_owned())
    } else {
        let url = found.chars().take(LONGEST_URL).collect();
        Err(AcmeError::InsecureUrl { url, what: what.to_owned() })
    }
}

/// The URL of a header, which may be relative to the request's URL (RFC 9110 section 10.2.2).
pub(super) fn https_from(answer: &Answer, found: &str, what: &str) -> Result<String, AcmeError> {
    let relative = reqwest::Url::parse(found).is_err();
    let base = reqwest::Url::parse(&answer.url).ok();
    match base.and_then(|base| base.join(found).ok()) {
        Some(url) if relative => https(url.as_str(), what),
        Some(_) | None => https(found, what),
    }
}

/// An identifier object (RFC 8555 section 9.7.7, RFC 8738).
pub(super) fn identifier(answer: &Answer, value: &Value) -> Result<Identifier, AcmeError> {
    let parsed = match wire::Identifier::deserialize(value) {
        Ok(wire::Identifier::Dns(name)) => {
            name.parse().map(Identifier::Dns).map_err(|error| error.to_string())
        }
        // An IPv4 address is the same in IPv6 clothes.
        Ok(wire::Identifier::Ip(address)) => Ok(Identifier::Ip(address.to_canonical())),
        Ok(_) => Err(format!("its type is `{}`", word(value, "type"))),
        Err(error) => Err(error.to_string()),
    };
    parsed.map_err(|why| {
        let name = excerpt(text(value, "value"), 200);
        answer.malformed(format!("identifier `{name}` cannot be used: {why}"))
    })
}

/// An identifier as the CA reads it.
pub(super) fn wire_identifier(identifier: &Identifier) -> wire::Identifier {
    match identifier {
        Identifier::Dns(name) => wire::Identifier::Dns(name.to_string()),
        Identifier::Ip(address) => wire::Identifier::Ip(*address),
    }
}

const LONGEST_URL: usize = 2048;
const LONGEST_WORD: usize = 64;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    #[test]
    fn only_https_urls_pass() {
        for good in ["https://ca.test/a", "https://[::1]:14000/dir?x=1"] {
            assert_eq!(https(good, "x").as_deref(), Ok(good));
        }
        let long = format!("https://ca.test/{}", "a".repeat(3000));
        for bad in ["", "http://ca.test", "ftp://a", "/a", "https://", "https://a\n/", &long] {
            assert!(matches!(https(bad, "x"), Err(AcmeError::InsecureUrl { .. })), "{bad}");
        }
    }

    #[test]
    fn headers_may_be_relative() {
        let answer = Answer::new("https://ca.test/new-order", 201, &HeaderMap::new(), Bytes::new());
        let found = |text| https_from(&answer, text, "Location");
        assert_eq!(found("/order/1").as_deref(), Ok("https://ca.test/order/1"));
        assert_eq!(found("https://b.test/1").as_deref(), Ok("https://b.test/1"));
        assert!(found("http://ca.test/1").is_err());
        assert!(found("//[").is_err());
    }
}
