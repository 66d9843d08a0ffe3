//! From the errors of acme, pki, solver and store to a deed's error.

use crate::acme::AcmeError;
use crate::controller::{DeedError, DeedErrorKind};
use crate::engine::ports::StoreError;

/// What went wrong at the CA.
pub(super) fn ca(error: &AcmeError) -> DeedError {
    let gone = matches!(error.status(), Some(404 | 410));
    // A refused nonce says nothing about the deed: after many tries the next run goes on.
    let bad_nonce = error.problem().is_some_and(|problem| problem.short_kind() == "badNonce");
    let kind = match error {
        error if error.is_transient() || bad_nonce => DeedErrorKind::Transient,
        _ if gone => DeedErrorKind::Gone,
        AcmeError::TooLarge { .. }
        | AcmeError::InsecureUrl { .. }
        | AcmeError::Malformed { .. }
        | AcmeError::BadToken { .. } => DeedErrorKind::Unusable,
        AcmeError::UnsupportedAccountKey { .. }
        | AcmeError::AccountKey { .. }
        | AcmeError::Tls { .. } => DeedErrorKind::Precondition,
        AcmeError::Problem { .. }
        | AcmeError::SignatureAlgorithm { .. }
        | AcmeError::Http { .. }
        | AcmeError::Unsupported { .. }
        | AcmeError::Transport { .. }
        | AcmeError::Untrusted { .. }
        | AcmeError::Timeout { .. } => DeedErrorKind::Refused,
    };
    DeedError {
        kind,
        message: error.to_string(),
        problem: error.problem().cloned().map(Box::new),
        retry_after: error.retry_after(),
    }
}

/// What went wrong with the state.
pub(super) fn state(error: &StoreError) -> DeedError {
    plain(DeedErrorKind::State, error)
}

/// Something that must be true before any request is not.
pub(super) fn precondition(message: impl ToString) -> DeedError {
    plain(DeedErrorKind::Precondition, message)
}

/// Anything else here.
pub(super) fn local(message: impl ToString) -> DeedError {
    plain(DeedErrorKind::Local, message)
}

/// The CA answered what cannot be used.
pub(super) fn unusable(message: impl ToString) -> DeedError {
    plain(DeedErrorKind::Unusable, message)
}

/// The CA, or what it offers, does not fit.
pub(super) fn refused(message: impl ToString) -> DeedError {
    plain(DeedErrorKind::Refused, message)
}

#[expect(clippy::needless_pass_by_value, reason = "texts and errors alike, as they come")]
fn plain(kind: DeedErrorKind, message: impl ToString) -> DeedError {
    DeedError { kind, message: message.to_string(), problem: None, retry_after: None }
}
