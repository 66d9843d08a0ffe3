//! From the errors of acme, pki, solver, program and store to an effect's error.

use jiff::{SignedDuration, Timestamp};

use crate::acme::{AcmeError, Distrust};
use crate::controller::EffectError;
use crate::engine::ports::{StoreError, WrongEntry};
use crate::program::ProgramError;
use crate::resource::{
    CaFailure, CaFault, Cause, Fix, Obstacle, ProgramFailure, ProviderFailure, ProviderFault,
};
use crate::solver::dns01::ProviderError;

/// The error of a request to the CA.
pub(super) fn ca(error: &AcmeError) -> EffectError {
    let gone = matches!(error.status(), Some(404 | 410));
    // A refused nonce says nothing about the request: after many retries the next run continues.
    let bad_nonce = error.is_problem("badNonce");
    let fault = match error {
        error if error.status().is_some_and(|status| status >= 500) => CaFault::ServerError,
        AcmeError::Untrusted { why, .. } => untrusted(why),
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
        | AcmeError::Timeout { .. } => CaFault::Refused,
    };
    let cause = Cause::Ca(CaFailure {
        fault,
        url: error.url().unwrap_or_default().to_owned(),
        problem: error.problem().cloned().map(Box::new),
        message: error.what(),
        clock_ahead: None,
    });
    EffectError { cause, retry_after: error.retry_after() }
}

fn untrusted(why: &Distrust) -> CaFault {
    match why {
        Distrust::UnknownIssuer | Distrust::OtherKey => CaFault::UnknownIssuer,
        Distrust::NotValidYet { .. } | Distrust::Expired { .. } => CaFault::Untimely,
        Distrust::CaCertificate | Distrust::Version | Distrust::Signature | Distrust::Other(_) => {
            CaFault::Untrusted
        }
    }
}

/// Notes how far the CA's clock is ahead of this host's, when they differ much.
pub(super) fn with_clock(
    mut error: EffectError,
    theirs: Timestamp,
    ours: Timestamp,
) -> EffectError {
    let ahead = ours.duration_until(theirs);
    if let Cause::Ca(ca) = &mut error.cause
        && ahead.abs() > CLOCKS_DIFFER
    {
        ca.clock_ahead = Some(ahead.as_secs());
    }
    error
}

/// Less than this is no cause of a failure.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_mins(5);

/// The error of a DNS provider.
pub(super) fn provider(error: &ProviderError) -> EffectError {
    let (fault, service) = match error {
        ProviderError::Settings { provider, .. } | ProviderError::Credential { provider, .. } => {
            (ProviderFault::Settings, (*provider).to_owned())
        }
        ProviderError::Program(_) => (ProviderFault::Settings, "exec".to_owned()),
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
    EffectError::new(cause_of_state(error))
}

/// The cause in an error of the state.
pub(in crate::engine) fn cause_of_state(error: &StoreError) -> Cause {
    let permit = error.wrong_entry().as_ref().and_then(WrongEntry::permit);
    let fixes = permit.map(Fix::Permit).into_iter().collect();
    Cause::State { message: error.to_string(), fixes }
}

/// A local precondition of any request that is not met.
#[expect(clippy::needless_pass_by_value, reason = "texts and errors alike, as they come")]
pub(super) fn precondition(message: impl ToString) -> EffectError {
    EffectError::new(Cause::precondition(message.to_string()))
}

/// What is in the way on this machine.
pub(super) fn obstacle(obstacle: Obstacle) -> EffectError {
    EffectError::new(Cause::obstacles(vec![obstacle]))
}

/// Any other error on this host.
#[expect(clippy::needless_pass_by_value, reason = "texts and errors alike, as they come")]
pub(super) fn local(message: impl ToString) -> EffectError {
    EffectError::new(Cause::local(message.to_string()))
}

/// What keeps a step on this host from its end.
pub(super) fn here(Obstacle { fact, fix }: Obstacle) -> EffectError {
    EffectError::new(Cause::Local { message: fact, fixes: fix.into_iter().collect() })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_clocks_is_noted_from_five_minutes_on() {
        let ours: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        for (seconds, noted) in
            [(0, None), (300, None), (-300, None), (301, Some(301)), (-7200, Some(-7200))]
        {
            let theirs = ours + SignedDuration::from_secs(seconds);
            let failed = with_clock(unusable("x"), theirs, ours);
            assert_eq!(failed.cause.at_the_ca().unwrap().clock_ahead, noted, "{seconds}");
        }
        let here = precondition("x");
        assert_eq!(with_clock(here.clone(), Timestamp::MAX, ours), here);
    }
}
