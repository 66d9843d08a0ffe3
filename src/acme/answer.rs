//! Answer: the HTTP answer to one request, before it is interpreted.

use bytes::Bytes;
use http::header::{DATE, HeaderMap, LINK, LOCATION, RETRY_AFTER};
use jiff::SignedDuration;
use serde_json::Value;

use super::error::{AcmeError, excerpt};
use super::{link, problem, retry_after};

/// One answer of the CA.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) url: String,
    pub(super) status: u16,
    /// The Location header, verbatim.
    pub(super) location: Option<String>,
    /// The targets of `Link: …; rel="alternate"`, verbatim.
    pub(super) alternates: Vec<String>,
    pub(super) retry_after: Option<SignedDuration>,
    /// Retry-After as it was sent, also when it is zero, past or far off.
    pub(super) sent_retry_after: Option<SignedDuration>,
    /// The Replay-Nonce header, when it holds a nonce (RFC 8555 section 6.5.1).
    pub(super) nonce: Option<String>,
    pub(super) body: Bytes,
}

impl Answer {
    /// Extracts all headers that the client uses.
    pub(super) fn new(url: &str, status: u16, headers: &HeaderMap, body: Bytes) -> Self {
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let sent = header(RETRY_AFTER).and_then(|value| retry_after::read(value, header(DATE)));
        Self {
            url: url.to_owned(),
            status,
            location: header(LOCATION).map(str::to_owned),
            alternates: headers
                .get_all(LINK)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .flat_map(link::alternates)
                .collect(),
            retry_after: sent.and_then(retry_after::bounded),
            sent_retry_after: sent,
            nonce: headers
                .get("Replay-Nonce")
                .and_then(|value| value.to_str().ok())
                .filter(|nonce| is_nonce(nonce))
                .map(str::to_owned),
            body,
        }
    }

    /// Whether the request succeeded.
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The answer itself when it is a success, else the problem it holds, else its status and body.
    pub(super) fn success(self) -> Result<Self, AcmeError> {
        if self.is_success() {
            return Ok(self);
        }
        let document = serde_json::from_slice::<Value>(&self.body).ok();
        let found = document.and_then(|value| problem::parse(&value, Some(self.status)));
        let found = found.or_else(|| problem::of_status(self.status, &self.body));
        Err(match found {
            Some(problem) => AcmeError::Problem {
                url: self.url,
                problem: Box::new(problem),
                retry_after: self.retry_after,
            },
            None => AcmeError::Http {
                url: self.url,
                status: self.status,
                snippet: match self.location.filter(|_| (300..400).contains(&self.status)) {
                    Some(target) => format!("a redirect to {}", excerpt(&target, 200)),
                    None => excerpt(&String::from_utf8_lossy(&self.body), 200),
                },
                retry_after: self.retry_after,
            },
        })
    }

    /// The body as a JSON object.
    pub(super) fn json(&self) -> Result<Value, AcmeError> {
        match serde_json::from_slice::<Value>(&self.body) {
            Ok(value) if value.is_object() => Ok(value),
            Ok(_) => Err(self.malformed("the answer is not a JSON object")),
            Err(error) => Err(self.malformed(format!("the answer is not JSON: {error}"))),
        }
    }

    /// An error about this answer.
    pub(super) fn malformed(&self, why: impl Into<String>) -> AcmeError {
        AcmeError::Malformed { url: self.url.clone(), why: why.into() }
    }
}

/// RFC 8555 section 6.5.1: base64url, everything else is ignored.
fn is_nonce(text: &str) -> bool {
    (1..=1024).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn failures_keep_their_status_whatever_the_body_is() {
        let url = "https://ca.test/x";
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("30"));
        let wait = Some(SignedDuration::from_secs(30));
        let http = |status, snippet: &str| AcmeError::Http {
            url: url.into(),
            status,
            snippet: snippet.into(),
            retry_after: wait,
        };
        let cases = [
            (503, "<html>\r\nbusy\x1b[0m</html>\n", "<html>\\r\\nbusy\\u{1b}[0m</html>"),
            (404, "", ""),
            (301, "{\"status\":\"valid\"}", "{\"status\":\"valid\"}"),
        ];
        for (status, body, snippet) in cases {
            let answer = Answer::new(url, status, &headers, Bytes::from(body));
            assert_eq!(answer.success().unwrap_err(), http(status, snippet));
        }
        headers.insert(LOCATION, HeaderValue::from_static("https://ca.test/dir/"));
        let answer = Answer::new(url, 301, &headers, Bytes::from("<html>"));
        let target = "a redirect to https://ca.test/dir/";
        assert_eq!(answer.success().unwrap_err(), http(301, target));
    }

    #[test]
    fn nonces_are_base64url_or_ignored() {
        for (text, expected) in [("ab-_9", true), ("", false), ("a b", false), ("a+b", false)] {
            assert_eq!(is_nonce(text), expected, "{text}");
        }
        assert!(!is_nonce(&"a".repeat(1025)));
    }
}
