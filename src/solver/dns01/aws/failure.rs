//! What Amazon's services say when they say no.

use super::xml::Element;
use crate::solver::dns01::error::shown;
use crate::solver::dns01::{ProviderError, Reply};

/// A code and a message; from a text that is no such document, the text.
pub(in super::super) struct Failure {
    /// One word, such as `Throttling`; empty when there is none.
    pub(in super::super) code: String,
    /// What is wrong.
    pub(in super::super) message: String,
}

impl Failure {
    /// Of a body that is free of credentials.
    pub(in super::super) fn read(body: &str) -> Self {
        let Ok(root) = Element::read(body.as_bytes()) else {
            return Self { code: String::new(), message: body.to_owned() };
        };
        // InvalidChangeBatch is a document of its own, with a message for each change.
        if let Some(messages) = root.child("Messages") {
            let texts: Vec<_> = messages.children.iter().map(|text| text.text.as_str()).collect();
            return Self { code: root.name.clone(), message: texts.join("; ") };
        }
        let error = root.child("Error").unwrap_or(&root);
        let (code, message) = (error.text_at(&["Code"]), error.text_at(&["Message"]));
        Self { code: code.to_owned(), message: message.to_owned() }
    }

    /// Whether to try again in a moment.
    pub(in super::super) fn is_busy(&self) -> bool {
        matches!(
            self.code.as_str(),
            "Throttling" | "ThrottlingException" | "PriorRequestNotComplete"
        )
    }

    /// The error of the answer that this was read from.
    pub(in super::super) fn error(&self, reply: &Reply) -> ProviderError {
        let text = match (self.code.as_str(), self.message.as_str()) {
            ("", message) => message.to_owned(),
            (code, "") => code.to_owned(),
            (code, message) => format!("{code}: {message}"),
        };
        let service = reply.service.clone();
        if self.code.starts_with("Throttling") {
            ProviderError::RateLimited { service, retry_after: None }
        } else if CREDENTIALS.contains(&self.code.as_str()) {
            ProviderError::Unauthorized { service, reason: shown(&text) }
        } else {
            reply.refused(&text)
        }
    }
}

/// Codes about credentials, whatever the status is.
const CREDENTIALS: [&str; 8] = [
    "AccessDenied",
    "ExpiredToken",
    "ExpiredTokenException",
    "IDPRejectedClaim",
    "InvalidClientTokenId",
    "InvalidIdentityToken",
    "RequestExpired",
    "SignatureDoesNotMatch",
];
