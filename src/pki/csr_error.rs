//! Errors of signing requests.

use thiserror::Error;

use super::signing::SigningError;
use super::subject::SubjectError;

/// Why a request cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CsrError {
    /// The subject cannot be encoded.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The key cannot sign with the spec's algorithm.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// A name that is not ASCII.
    #[error("{field}: `{text}` is not ASCII")]
    NotAscii { field: &'static str, text: String },
    /// `otherNames[].oid` is not an object identifier.
    #[error("otherNames: `{oid}` is not an object identifier")]
    ObjectIdentifier {
        /// The invalid value.
        oid: String,
    },
    /// The encoder returned an error.
    #[error("cannot encode the request: {reason}")]
    Encoding { reason: String },
}

impl From<der::Error> for CsrError {
    fn from(error: der::Error) -> Self {
        Self::Encoding { reason: error.to_string() }
    }
}
