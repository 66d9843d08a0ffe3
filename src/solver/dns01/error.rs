//! What goes wrong at a provider: who said what, and never a credential.

use std::time::Duration;

use thiserror::Error;

pub(super) use crate::program::shown;

/// Why a provider did not do what it was asked. Texts of a service are cut and escaped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProviderError {
    /// The solver's settings cannot be used.
    #[error("{provider}: {reason}")]
    Settings {
        /// The provider, as in the manifest.
        provider: &'static str,
        /// What is wrong with which field.
        reason: String,
    },
    /// A credential cannot be had, or is not one.
    #[error("{provider}: {field}: {reason}")]
    Credential {
        /// The provider.
        provider: &'static str,
        /// The field that names it.
        field: &'static str,
        /// What is wrong; never the credential.
        reason: String,
    },
    /// The service does not accept the credentials, or they may not do this.
    #[error("{service} refuses the credentials: {reason}")]
    Unauthorized {
        /// Host, or host and port.
        service: String,
        /// What it said.
        reason: String,
    },
    /// The account holds no zone for the name.
    #[error("{service} has no zone for {name}: {reason}")]
    NoZone {
        /// Host, or host and port.
        service: String,
        /// The name of the record.
        name: String,
        /// What was looked for.
        reason: String,
    },
    /// The service wants to be left alone.
    #[error("{service} limits the rate of requests{}", said(*retry_after))]
    RateLimited {
        /// Host, or host and port.
        service: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The service said no for another reason.
    #[error("{service} answered {status}: {reason}")]
    Refused {
        /// Host, or host and port.
        service: String,
        /// An HTTP status, or a DNS response code.
        status: String,
        /// What it said.
        reason: String,
    },
    /// No answer.
    #[error("{service} cannot be reached: {reason}")]
    Unreachable {
        /// Host, or host and port.
        service: String,
        /// What happened.
        reason: String,
    },
    /// An answer that is not what the service's documentation promises.
    #[error("{service} answered what cannot be used: {reason}")]
    Garbled {
        /// Host, or host and port.
        service: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The record was written and is not served everywhere in the time allowed for that.
    #[error("{service} has not finished: {reason}")]
    Unfinished {
        /// Host, or host and port.
        service: String,
        /// What is waited for.
        reason: String,
    },
}

impl ProviderError {
    /// Whether nothing but another manifest, secret or folder can mend it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Settings { .. } | Self::Credential { .. } => true,
            Self::Unauthorized { .. }
            | Self::NoZone { .. }
            | Self::RateLimited { .. }
            | Self::Refused { .. }
            | Self::Unreachable { .. }
            | Self::Garbled { .. }
            | Self::Unfinished { .. } => false,
        }
    }

    /// With what else can be done, when nobody answers.
    pub(super) fn when_unreachable(mut self, hint: &str) -> Self {
        if let Self::Unreachable { reason, .. } = &mut self {
            reason.push_str("; ");
            reason.push_str(hint);
        }
        self
    }

    /// How long the service asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } => *retry_after,
            Self::Settings { .. }
            | Self::Credential { .. }
            | Self::Unauthorized { .. }
            | Self::NoZone { .. }
            | Self::Refused { .. }
            | Self::Unreachable { .. }
            | Self::Garbled { .. }
            | Self::Unfinished { .. } => None,
        }
    }
}

fn said(retry_after: Option<Duration>) -> String {
    retry_after
        .map_or_else(String::new, |wait| format!(" and asks to wait {} s", wait.as_secs().max(1)))
}
