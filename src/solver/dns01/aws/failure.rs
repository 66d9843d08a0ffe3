//! Error answers of Amazon's services.

use super::xml::Element;
use crate::solver::dns01::error::shown;
use crate::solver::dns01::{ProviderError, Reply};

/// A code and a message; a body that is not such a document is the message.
pub(in super::super) struct Failure {
    /// One word, such as `Throttling`; may be empty.
    pub(in super::super) code: String,
    pub(in super::super) message: String,
}

impl Failure {
    /// From a body from which credentials are removed.
    pub(in super::super) fn read(reply: &Reply) -> Self {
        let Ok(root) = Element::read(&reply.body) else {
            let message = String::from_utf8_lossy(&reply.body).into_owned();
            return Self { code: String::new(), message };
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

    /// Whether an early retry may help.
    pub(in super::super) fn is_busy(&self) -> bool {
        matches!(
            self.code.as_str(),
            "Throttling" | "ThrottlingException" | "PriorRequestNotComplete"
        )
    }

    /// The error for the answer that this was read from.
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

/// Codes about credentials, independent of the status.
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
