//! Errors of a provider: each names its source, and none contains a credential.

use std::time::Duration;

use thiserror::Error;

pub(super) use crate::program::shown;
use crate::resource::{Fix, Obstacle};

/// Why a provider's operation failed. Texts of a service are cut and escaped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProviderError {
    /// The solver's settings cannot be used.
    #[error("{provider}: {reason}")]
    Settings {
        /// The provider, as in the manifest.
        provider: &'static str,
        /// The field and its error.
        reason: String,
    },
    /// The operator's program cannot be run.
    #[error("exec: {0}")]
    Program(Obstacle),
    /// A credential is missing or invalid.
    #[error("{provider}: {field}: {reason}")]
    Credential {
        provider: &'static str,
        /// The field that names it.
        field: &'static str,
        /// The error; never the credential.
        reason: String,
    },
    /// The service rejects the credentials or denies permission.
    #[error("{service} refuses the credentials: {reason}")]
    Unauthorized {
        /// Host, or host and port.
        service: String,
        reason: String,
    },
    /// The account holds no zone for the name.
    #[error("{service} has no zone for {name}: {reason}")]
    NoZone {
        /// Host, or host and port.
        service: String,
        name: String,
        /// The zones searched, or the service's message.
        reason: String,
    },
    /// The service limits the rate of requests.
    #[error("{service} limits the rate of requests{}", retry_time(*retry_after))]
    RateLimited {
        /// Host, or host and port.
        service: String,
        /// Retry-After.
        retry_after: Option<Duration>,
    },
    /// The service refused for another reason.
    #[error("{service} answered {status}: {reason}")]
    Refused {
        /// Host, or host and port.
        service: String,
        /// An HTTP status, or a DNS response code.
        status: String,
        reason: String,
    },
    /// The operator's program failed; what it changed is unknown.
    #[error("{program} answered {status}: {reason}")]
    Broken {
        /// The program's path, from its folder on.
        program: String,
        status: String,
        /// The last lines of its output.
        reason: String,
    },
    /// No answer.
    #[error("{service} cannot be reached: {reason}")]
    Unreachable {
        /// Host, or host and port.
        service: String,
        reason: String,
    },
    /// An answer that violates the service's documentation.
    #[error("{service} sent an unusable answer: {reason}")]
    Garbled {
        /// Host, or host and port.
        service: String,
        reason: String,
    },
    /// The record is written but not served by all name servers within the time limit.
    #[error("{service} has not finished: {reason}")]
    Unfinished {
        /// Host, or host and port.
        service: String,
        /// What certctl waited for.
        reason: String,
    },
}

impl ProviderError {
    /// What to do about it, where that is known.
    pub fn fix(&self) -> Option<Fix> {
        if let Self::Program(found) = self { found.fix.clone() } else { None }
    }

    /// Whether nothing was changed and an early retry would fail in the same way.
    pub fn is_for_good(&self) -> bool {
        match self {
            Self::Settings { .. }
            | Self::Program(_)
            | Self::Credential { .. }
            | Self::Unauthorized { .. }
            | Self::NoZone { .. } => true,
            Self::Refused { status, .. } => match status.parse::<u16>() {
                Ok(status) => (400..500).contains(&status) && !PASSING.contains(&status),
                Err(_) => FIRM.contains(&status.as_str()),
            },
            Self::RateLimited { .. }
            | Self::Broken { .. }
            | Self::Unreachable { .. }
            | Self::Garbled { .. }
            | Self::Unfinished { .. } => false,
        }
    }

    /// Converts an error after the record was written, when it no longer concerns the write.
    pub(super) fn after_the_write(self) -> Self {
        let text = self.to_string();
        let (service, reason) = match self {
            Self::Unauthorized { service, reason } => (service, reason),
            Self::Refused { service, status, reason } => (service, format!("{status}: {reason}")),
            Self::NoZone { service, .. } => (service, text),
            Self::Settings { provider, .. } | Self::Credential { provider, .. } => {
                (provider.to_owned(), text)
            }
            Self::Program(_) => ("exec".to_owned(), text),
            same @ (Self::RateLimited { .. }
            | Self::Broken { .. }
            | Self::Unreachable { .. }
            | Self::Garbled { .. }
            | Self::Unfinished { .. }) => return same,
        };
        let reason = format!("the record was written, but its place is unknown: {reason}");
        Self::Unfinished { service, reason }
    }

    /// Adds advice when no server answers.
    pub(super) fn when_unreachable(mut self, hint: &str) -> Self {
        if let Self::Unreachable { reason, .. } = &mut self {
            reason.push_str("; ");
            reason.push_str(hint);
        }
        self
    }

    /// Retry-After of the service.
    pub fn retry_after(&self) -> Option<Duration> {
        let Self::RateLimited { retry_after, .. } = self else { return None };
        *retry_after
    }
}

/// Transient HTTP statuses: a timeout, conflicts with other clients, "too early", and too many
/// requests.
const PASSING: [u16; 6] = [408, 409, 412, 423, 425, 429];
/// Response codes of DNS updates (RFC 2136 section 2.2, RFC 8945) that refuse a change as a whole.
const FIRM: [&str; 10] = [
    "BADTIME", "FORMERR", "NOTAUTH", "NOTIMP", "NOTZONE", "NXDOMAIN", "NXRRSET", "REFUSED",
    "YXDOMAIN", "YXRRSET",
];

fn retry_time(retry_after: Option<Duration>) -> String {
    retry_after
        .map_or_else(String::new, |wait| format!(" and asks to wait {} s", wait.as_secs().max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_for_good_when_nothing_was_done_and_nothing_passes() {
        let service = || "dns.test".to_owned();
        let refused = |status: &str| ProviderError::Refused {
            service: service(),
            status: status.to_owned(),
            reason: String::new(),
        };
        for (status, expected) in [
            ("400", true),
            ("404", true),
            ("422", true),
            ("408", false),
            ("409", false),
            ("500", false),
            ("302", false),
            ("REFUSED", true),
            ("BADTIME", true),
            ("SERVFAIL", false),
            ("RCODE 23", false),
            ("signal 9 (SIGKILL)", false),
            ("`success: false`", false),
        ] {
            assert_eq!(refused(status).is_for_good(), expected, "{status}");
        }
        let reason = String::new;
        let unauthorized = ProviderError::Unauthorized { service: service(), reason: reason() };
        assert!(unauthorized.is_for_good());
        assert!(!ProviderError::Unreachable { service: service(), reason: reason() }.is_for_good());
        // A permission error on polling a change does not undo the write.
        let later = unauthorized.after_the_write();
        assert!(matches!(later, ProviderError::Unfinished { .. }) && !later.is_for_good());
        let limited = ProviderError::RateLimited { service: service(), retry_after: None };
        assert_eq!(limited.clone().after_the_write(), limited);
    }
}
