//! The answer to a request, before faults and HTTP encoding.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, LINK, LOCATION, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::Value;

use super::problem::Problem;

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(HeaderName, String)>,
    pub(super) content: Content,
}

/// The body of an answer.
#[derive(Debug)]
pub(super) enum Content {
    Empty,
    Json(Value),
    Problem(Value),
    Chain(String),
    Crl(Vec<u8>),
    #[cfg(feature = "testing")]
    Html(String),
    Text(&'static str),
}

impl Content {
    pub(super) fn media_type(&self) -> Option<&'static str> {
        match self {
            Self::Empty => None,
            Self::Json(_) => Some("application/json"),
            Self::Problem(_) => Some("application/problem+json"),
            Self::Chain(_) => Some("application/pem-certificate-chain"),
            Self::Crl(_) => Some("application/pkix-crl"),
            #[cfg(feature = "testing")]
            Self::Html(_) => Some("text/html; charset=utf-8"),
            Self::Text(_) => Some("text/plain; charset=utf-8"),
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Empty => Vec::new(),
            Self::Json(value) | Self::Problem(value) => value.to_string().into_bytes(),
            #[cfg(feature = "testing")]
            Self::Html(text) => text.into_bytes(),
            Self::Chain(text) => text.into_bytes(),
            Self::Crl(der) => der,
            Self::Text(text) => text.as_bytes().to_vec(),
        }
    }
}

impl Reply {
    pub(super) fn new(status: u16, content: Content) -> Self {
        Self { status, headers: Vec::new(), content }
    }

    pub(super) fn json(status: u16, value: Value) -> Self {
        Self::new(status, Content::Json(value))
    }

    pub(super) fn location(self, url: String) -> Self {
        self.header(LOCATION, url)
    }

    pub(super) fn link(self, url: &str, relation: &str) -> Self {
        self.header(LINK, format!("<{url}>;rel=\"{relation}\""))
    }

    pub(super) fn retry_after(self, value: Option<String>) -> Self {
        match value {
            Some(value) => self.header(RETRY_AFTER, value),
            None => self,
        }
    }

    /// The HTTP response.
    pub(super) fn into_response(self) -> Response<Bytes> {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or_default();
        let headers = response.headers_mut();
        for (name, value) in self.headers {
            // A value that is not valid in HTTP is omitted; only tests set one.
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.append(name, value);
            }
        }
        if let Some(media_type) = self.content.media_type() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        response.map(|()| self.content.into_bytes().into())
    }

    pub(super) fn header(mut self, name: HeaderName, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Self {
        Self::new(problem.status, Content::Problem(problem.to_json()))
    }
}
