//! What can go wrong with a signing request.

use thiserror::Error;

use super::signing::SigningError;
use super::subject::SubjectError;

/// Why a request cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CsrError {
    /// The subject cannot be written.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The key cannot sign as the spec wants it.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// A name that only ASCII can express.
    #[error("{field}: `{text}` is not ASCII")]
    NotAscii {
        /// The field of the spec.
        field: &'static str,
        /// The name.
        text: String,
    },
    /// `otherNames[].oid` is not an object identifier.
    #[error("otherNames: `{oid}` is not an object identifier")]
    ObjectIdentifier {
        /// What stands there.
        oid: String,
    },
    /// The encoder refuses.
    #[error("cannot encode the request: {reason}")]
    Encoding {
        /// What it says.
        reason: String,
    },
}

impl From<der::Error> for CsrError {
    fn from(error: der::Error) -> Self {
        Self::Encoding { reason: error.to_string() }
    }
}
