//! From the errors of acme, pki, solver, program and store to an effect's error.

use jiff::SignedDuration;

use crate::acme::AcmeError;
use crate::controller::EffectError;
use crate::engine::ports::StoreError;
use crate::program::ProgramError;
use crate::resource::{CaFailure, CaFault, Cause, ProgramFailure, ProviderFailure, ProviderFault};
use crate::solver::dns01::ProviderError;

/// The error of a request to the CA.
pub(super) fn ca(error: &AcmeError) -> EffectError {
    let gone = matches!(error.status(), Some(404 | 410));
    // A refused nonce says nothing about the request: after many retries the next run continues.
    let bad_nonce = error.is_problem("badNonce");
    let fault = match error {
        error if error.status().is_some_and(|status| status >= 500) => CaFault::ServerError,
        error if error.is_transient() || bad_nonce => CaFault::Unreachable,
        _ if gone => CaFault::Gone,
        AcmeError::TooLarge { .. }
        | AcmeError::InsecureUrl { .. }
        | AcmeError::Malformed { .. }
        | AcmeError::BadToken { .. } => CaFault::Unusable,
        AcmeError::UnsupportedAccountKey { .. }
        | AcmeError::AccountKey { .. }
        | AcmeError::Tls { .. } => return precondition(error),
        AcmeError::Problem { .. }
        | AcmeError::SignatureAlgorithm { .. }
        | AcmeError::Http { .. }
        | AcmeError::Unsupported { .. }
        | AcmeError::Transport { .. }
        | AcmeError::Untrusted { .. }
        | AcmeError::Timeout { .. } => CaFault::Refused,
    };
    let cause = Cause::Ca(CaFailure {
        fault,
        url: error.url().unwrap_or_default().to_owned(),
        problem: error.problem().cloned().map(Box::new),
        message: error.what(),
    });
    EffectError { cause, retry_after: error.retry_after() }
}

/// The error of a DNS provider.
pub(super) fn provider(error: &ProviderError) -> EffectError {
    let (fault, service) = match error {
        ProviderError::Settings { provider, .. } | ProviderError::Credential { provider, .. } => {
            (ProviderFault::Settings, (*provider).to_owned())
        }
        ProviderError::RateLimited { service, .. }
        | ProviderError::Unreachable { service, .. }
        | ProviderError::Unfinished { service, .. } => {
            (ProviderFault::Unreachable, service.clone())
        }
        ProviderError::Unauthorized { service, .. } => {
            (ProviderFault::Unauthorized, service.clone())
        }
        // The signature is refused for its time.
        ProviderError::Refused { service, status, .. } if status == "BADTIME" => {
            (ProviderFault::Unauthorized, service.clone())
        }
        ProviderError::NoZone { service, .. } => (ProviderFault::Denied, service.clone()),
        ProviderError::Refused { service, .. } if error.is_for_good() => {
            (ProviderFault::Denied, service.clone())
        }
        ProviderError::Refused { service, .. } | ProviderError::Garbled { service, .. } => {
            (ProviderFault::Failed, service.clone())
        }
        ProviderError::Broken { program, status, .. } => {
            return EffectError::new(Cause::Program(ProgramFailure {
                program: program.clone(),
                status: status.clone(),
                message: error.to_string(),
            }));
        }
    };
    let status = if let ProviderError::Refused { status, .. } = error {
        status.clone()
    } else {
        String::new()
    };
    let message = error.to_string();
    let cause = Cause::Provider(ProviderFailure { fault, service, status, message });
    let retry_after = error.retry_after().and_then(|wait| SignedDuration::try_from(wait).ok());
    EffectError { cause, retry_after }
}

/// The result of a hook.
pub(super) fn program(error: &ProgramError) -> EffectError {
    let (program, status) = match error {
        ProgramError::Unusable { .. } => (String::new(), String::new()),
        ProgramError::Stopped { program, .. } => (program.clone(), String::new()),
        ProgramError::Failed { program, status, .. } => (program.clone(), status.clone()),
    };
    let message = error.to_string();
    EffectError::new(Cause::Program(ProgramFailure { program, status, message }))
}

/// The error of the state.
pub(super) fn state(error: &StoreError) -> EffectError {
    EffectError::new(Cause::State { message: error.to_string() })
}

/// A local precondition of any request that is not met.
#[expect(clippy::needless_pass_by_value, reason = "texts and errors alike, as they come")]
pub(super) fn precondition(message: impl ToString) -> EffectError {
    EffectError::new(Cause::Precondition { message: message.to_string() })
}

/// Any other error on this host.
#[expect(clippy::needless_pass_by_value, reason = "texts and errors alike, as they come")]
pub(super) fn local(message: impl ToString) -> EffectError {
    EffectError::new(Cause::Local { message: message.to_string() })
}

/// An unusable response of the CA.
#[expect(clippy::needless_pass_by_value, reason = "texts and errors alike, as they come")]
pub(super) fn unusable(message: impl ToString) -> EffectError {
    EffectError::new(Cause::ca(CaFault::Unusable, message.to_string()))
}

/// The CA does not support what the issuer requires.
#[expect(clippy::needless_pass_by_value, reason = "texts and errors alike, as they come")]
pub(super) fn refused(message: impl ToString) -> EffectError {
    EffectError::new(Cause::ca(CaFault::Refused, message.to_string()))
}
