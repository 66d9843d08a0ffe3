//! Errors of requests to the CA, with their URLs.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::UnixTime;
use thiserror::Error;

use crate::resource::{GoDuration, Problem, escape};

/// Why an operation at the CA has no usable answer.
///
/// `Display` escapes every text of the CA; the fields hold it verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AcmeError {
    /// The CA answered with a problem document (RFC 8555 section 6.7).
    #[error("{}: {}", escape(url), escape(&problem.to_string()))]
    Problem {
        url: String,
        /// The CA's problem document; boxed, because it is long and rare.
        problem: Box<Problem>,
        /// Retry-After, from now.
        retry_after: Option<SignedDuration>,
    },
    /// The CA, or a proxy in front of it, answered a failure without a problem document.
    #[error("{}: HTTP status {status}{}", escape(url), after_colon(snippet))]
    Http {
        url: String,
        status: u16,
        /// The first 200 characters of the body, escaped.
        snippet: String,
        /// Retry-After, from now.
        retry_after: Option<SignedDuration>,
    },
    /// No answer: name resolution, connection, TLS, or a connection that broke.
    #[error("{}: {}", escape(url), escape(message))]
    Transport {
        url: String,
        /// The whole chain of causes.
        message: String,
    },
    /// The CA's TLS certificate is not trusted: no request was sent.
    #[error("{}: the server's certificate is not trusted: {}", escape(url), escape(&why.to_string()))]
    Untrusted {
        /// The URL of the request.
        url: String,
        why: Distrust,
    },
    /// No complete answer in time.
    #[error("{}: no answer within {}", escape(url), waited(*limit))]
    Timeout { url: String, limit: Duration },
    /// The body exceeds the limit.
    #[error("{}: the answer is longer than {limit} bytes", escape(url))]
    TooLarge {
        url: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A URL that is not https.
    #[error("{what} is not an https URL{}: {}", behind_proxy(url), escape(url))]
    InsecureUrl {
        url: String,
        /// What it was for: `directory`, `newNonce`, `finalize`, ….
        what: String,
    },
    /// An unusable answer.
    #[error("{}: {}", escape(url), escape(why))]
    Malformed {
        url: String,
        /// The field and its error.
        why: String,
    },
    /// A challenge token outside `^[A-Za-z0-9_-]{22,512}$`: RFC 8555 section 8.1 asks for 128 bits.
    #[error(
        "{}: the challenge token `{token}` is not 22 to 512 characters of base64url",
        escape(url)
    )]
    BadToken {
        url: String,
        /// The token, escaped, at most 200 characters of it.
        token: String,
    },
    /// The CA, or this client, does not support it.
    #[error("not supported: {}", escape(what))]
    Unsupported {
        /// The missing feature.
        what: String,
    },
    /// The CA rejects signatures of such a key (RFC 8555 section 6.2).
    #[error(
        "the CA does not accept {algorithm} signatures, which the {key} key makes{}: {}: {}",
        accepted(problem), escape(url), escape(&problem.to_string())
    )]
    SignatureAlgorithm {
        url: String,
        /// The kind of key, such as `RSA 2048`.
        key: String,
        /// The `alg` of the JWS.
        algorithm: &'static str,
        problem: Box<Problem>,
    },
    /// An account key of a kind or size that few CAs accept.
    #[error(
        "the account key is {key}; account keys that work are RSA of 2048 to 4096 bits, \
         ECDSA P-256, ECDSA P-384 and Ed25519"
    )]
    UnsupportedAccountKey {
        /// The kind of key.
        key: String,
    },
    /// An account key that cannot be read.
    #[error("Account private key is invalid: {why}")]
    AccountKey { why: String },
    /// The caBundle, the system's roots, or the TLS setup.
    #[error("cannot set up TLS: {why}")]
    Tls { why: String },
}

/// Why the TLS certificate of the CA's server is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Distrust {
    /// None of the trusted certificates has issued it.
    #[error("it is issued by an unknown authority")]
    UnknownIssuer,
    /// A trusted certificate has the issuer's name, and another key.
    #[error("it is not signed by the trusted certificate that has its issuer's name")]
    OtherKey,
    #[error("it is valid from {not_before}, but this host's clock says {now}")]
    NotValidYet { not_before: Timestamp, now: Timestamp },
    #[error("it expired at {not_after}, but this host's clock says {now}")]
    Expired { not_after: Timestamp, now: Timestamp },
    #[error("the server presents a CA certificate as its own")]
    CaCertificate,
    #[error("its X.509 version is 1 or 2, but TLS clients accept only version 3")]
    Version,
    #[error("it, or one above it, is signed with an algorithm that is not accepted, such as SHA-1")]
    Signature,
    /// Another error, in the library's words.
    #[error("{0}")]
    Other(String),
}

impl From<&rustls::CertificateError> for Distrust {
    fn from(error: &rustls::CertificateError) -> Self {
        use rustls::CertificateError::{
            BadSignature, ExpiredContext, NotValidYetContext, Other, UnknownIssuer,
            UnsupportedSignatureAlgorithmContext,
        };
        let at = |time: &UnixTime| {
            let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
            Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
        };
        if *error == UnknownIssuer {
            Self::UnknownIssuer
        } else if *error == BadSignature {
            Self::OtherKey
        } else if let NotValidYetContext { time, not_before } = error {
            Self::NotValidYet { not_before: at(not_before), now: at(time) }
        } else if let ExpiredContext { time, not_after } = error {
            Self::Expired { not_after: at(not_after), now: at(time) }
        } else if let Other(other) = error
            && other.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
        {
            Self::CaCertificate
        } else if let Other(other) = error
            && other.0.downcast_ref() == Some(&webpki::Error::UnsupportedCertVersion)
        {
            Self::Version
        } else if let UnsupportedSignatureAlgorithmContext { .. } = error {
            Self::Signature
        } else {
            Self::Other(error.to_string())
        }
    }
}

impl AcmeError {
    /// Whether the CA could not be reached or was not able to answer: transport, trust, timeout,
    /// 5xx.
    /// Such a failure never counts as an attempt.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Transport { .. } | Self::Untrusted { .. } | Self::Timeout { .. } => true,
            Self::Problem { .. } | Self::Http { .. } | Self::SignatureAlgorithm { .. } => {
                self.status().is_some_and(|s| s >= 500)
            }
            Self::TooLarge { .. }
            | Self::InsecureUrl { .. }
            | Self::Malformed { .. }
            | Self::BadToken { .. }
            | Self::Unsupported { .. }
            | Self::UnsupportedAccountKey { .. }
            | Self::AccountKey { .. }
            | Self::Tls { .. } => false,
        }
    }

    /// The HTTP status of a failed answer.
    pub fn status(&self) -> Option<u16> {
        if let Self::Http { status, .. } = self {
            return Some(*status);
        }
        self.problem().and_then(|problem| problem.status)
    }

    /// Retry-After; at most 7 days.
    pub fn retry_after(&self) -> Option<SignedDuration> {
        if let Self::Problem { retry_after, .. } | Self::Http { retry_after, .. } = self {
            *retry_after
        } else {
            None
        }
    }

    /// How long the CA asks to wait when it limits the rate of requests.
    pub(super) fn pace(&self) -> Option<Duration> {
        let is_paused = self.problem().is_some_and(Problem::is_paused);
        let is_limit = self.status() == Some(429) && !is_paused;
        self.retry_after().filter(|_| is_limit).map(SignedDuration::unsigned_abs)
    }

    /// Whether the CA has not processed the request, and says when to repeat it.
    pub(super) fn is_put_off(&self) -> bool {
        self.status() == Some(503) && self.retry_after().is_some()
    }

    /// The CA's problem document.
    pub fn problem(&self) -> Option<&Problem> {
        if let Self::Problem { problem, .. } | Self::SignatureAlgorithm { problem, .. } = self {
            Some(problem)
        } else {
            None
        }
    }

    /// Whether the problem document's type ends in `kind`, such as `accountDoesNotExist`.
    pub fn is_problem(&self, kind: &str) -> bool {
        self.problem().is_some_and(|problem| problem.short_kind() == kind)
    }

    /// The URL it happened at.
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Problem { url, .. }
            | Self::SignatureAlgorithm { url, .. }
            | Self::Http { url, .. }
            | Self::Transport { url, .. }
            | Self::Untrusted { url, .. }
            | Self::Timeout { url, .. }
            | Self::TooLarge { url, .. }
            | Self::InsecureUrl { url, .. }
            | Self::Malformed { url, .. }
            | Self::BadToken { url, .. } => Some(url),
            Self::Unsupported { .. }
            | Self::UnsupportedAccountKey { .. }
            | Self::AccountKey { .. }
            | Self::Tls { .. } => None,
        }
    }

    /// The error without the URL and the problem document, verbatim.
    pub fn what(&self) -> String {
        match self {
            Self::Problem { .. } => String::new(),
            Self::Http { status, snippet, .. } => {
                format!("HTTP status {status}{}", after_colon(snippet))
            }
            Self::Transport { message, .. } => message.clone(),
            Self::Untrusted { why, .. } => {
                format!("the server's certificate is not trusted: {why}")
            }
            Self::Timeout { limit, .. } => format!("no answer within {}", waited(*limit)),
            Self::TooLarge { limit, .. } => format!("the answer is longer than {limit} bytes"),
            Self::InsecureUrl { what, url } => {
                format!("{what} is not an https URL{}", behind_proxy(url))
            }
            Self::Malformed { why, .. } => why.clone(),
            Self::BadToken { token, .. } => {
                format!("the challenge token `{token}` is not 22 to 512 characters of base64url")
            }
            Self::SignatureAlgorithm { key, algorithm, problem, .. } => format!(
                "the CA does not accept {algorithm} signatures, which the {key} key makes{}",
                accepted(problem)
            ),
            Self::Unsupported { .. }
            | Self::UnsupportedAccountKey { .. }
            | Self::AccountKey { .. }
            | Self::Tls { .. } => self.to_string(),
        }
    }

    /// Whether an answer came from the directory's URL and is no ACME directory: a web page.
    pub fn is_no_directory(&self, directory_url: &str) -> bool {
        let is_other = matches!(self, Self::Malformed { .. } | Self::TooLarge { .. })
            || matches!(self.status(), Some(300..400 | 404 | 405 | 410));
        is_other && self.url() == Some(directory_url)
    }

    /// Whether the URL seems to be gone: the directory may have a new one.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.status(), Some(404 | 405 | 410))
    }

    /// Whether the CA may have processed the request.
    pub(super) fn is_ambiguous(&self) -> bool {
        matches!(self, Self::Transport { .. } | Self::Timeout { .. } | Self::TooLarge { .. })
            || self.status().is_some_and(|status| status >= 500)
    }

    /// Whether a retry in a few seconds may help. A timeout has already taken a minute and is left
    /// to the next run.
    pub(super) fn is_worth_repeating(&self) -> bool {
        let is_limit = self.status() == Some(429) && self.retry_after().is_none();
        matches!(self, Self::Transport { .. })
            || matches!(self.status(), Some(502..=504))
            || is_limit
    }
}

/// As Go writes it: `5s`, `1m0s`.
fn waited(limit: Duration) -> GoDuration {
    GoDuration(SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX))
}

/// The first `characters` of `text`, escaped.
pub(super) fn excerpt(text: &str, characters: usize) -> String {
    let escaped = escape(text.trim());
    match escaped.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", escaped.get(..end).unwrap_or_default()),
        None => escaped.into_owned(),
    }
}

/// The algorithms that the CA accepts, if it lists them.
fn accepted(problem: &Problem) -> String {
    match problem.algorithms.as_slice() {
        [] => String::new(),
        algorithms => format!("; it accepts {}", escape(&algorithms.join(", "))),
    }
}

/// The usual cause of an `http` URL of a CA.
fn behind_proxy(url: &str) -> &'static str {
    if url.starts_with("http://") {
        " (if a proxy terminates TLS for the CA, configure the CA with its https address)"
    } else {
        ""
    }
}

fn after_colon(snippet: &str) -> String {
    if snippet.is_empty() { String::new() } else { format!(": {snippet}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn excerpts_are_cut_by_character() {
        assert_eq!(excerpt("  äöü  ", 3), "äöü");
        assert_eq!(excerpt("äöüß", 3), "äöü…");
        assert_eq!(excerpt("\n\x1b", 200), "\\u{1b}");
    }

    #[test]
    fn only_what_the_ca_could_not_answer_is_transient() {
        let url = || "https://ca.test/x".to_owned();
        let problem = |status| AcmeError::Problem {
            url: url(),
            problem: Box::new(Problem { status: Some(status), ..Problem::default() }),
            retry_after: None,
        };
        let http = |status| AcmeError::Http {
            url: url(),
            status,
            snippet: String::new(),
            retry_after: None,
        };
        let cases = [
            (AcmeError::Transport { url: url(), message: "reset".into() }, true),
            (AcmeError::Timeout { url: url(), limit: Duration::from_secs(5) }, true),
            (problem(500), true),
            (http(503), true),
            (problem(429), false),
            (http(404), false),
            (AcmeError::Malformed { url: url(), why: "x".into() }, false),
        ];
        for (error, expected) in cases {
            assert_eq!(error.is_transient(), expected, "{error}");
        }
    }

    #[test]
    fn no_distrust_is_worded_as_the_library_writes_its_values() {
        let version = rustls::OtherError(Arc::new(webpki::Error::UnsupportedCertVersion));
        let version = rustls::CertificateError::Other(version);
        let signature = rustls::CertificateError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: vec![6, 9, 42],
            supported_algorithms: Vec::new(),
        };
        assert_eq!(Distrust::from(&version), Distrust::Version);
        assert_eq!(Distrust::from(&signature), Distrust::Signature);
    }

    #[test]
    fn an_error_shows_the_url_and_escapes_what_the_ca_said() {
        let error = AcmeError::Problem {
            url: "https://ca.test/new-order".into(),
            problem: Box::new(Problem {
                status: Some(429),
                kind: "urn:ietf:params:acme:error:rateLimited".into(),
                detail: "too many\n\x1b[2J".into(),
                ..Problem::default()
            }),
            retry_after: None,
        };
        assert_eq!(
            error.to_string(),
            "https://ca.test/new-order: 429 urn:ietf:params:acme:error:rateLimited: \
             too many\\n\\u{1b}[2J"
        );
    }
}
