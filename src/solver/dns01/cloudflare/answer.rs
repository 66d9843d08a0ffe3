//! Cloudflare's answers, which share one envelope.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::solver::dns01::error::shown;
use crate::solver::dns01::{ProviderError, Reply};

/// A zone.
#[derive(Debug, Deserialize)]
pub(super) struct Zone {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) status: String,
}

/// A record.
#[derive(Debug, Deserialize)]
pub(super) struct Record {
    pub(super) id: String,
    name: String,
    pub(super) content: String,
}

impl Record {
    /// Whether the record is at the name with this content.
    pub(super) fn is_at(&self, name: &str) -> bool {
        self.name.trim_end_matches('.').eq_ignore_ascii_case(name)
    }
}

/// Success with a result, or failure with errors.
pub(super) enum Answer<T> {
    Yes(Found<T>),
    No(No),
}

/// The requested data.
pub(super) struct Found<T> {
    pub(super) result: T,
    /// How many pages the list has.
    pub(super) pages: u64,
}

/// A failure.
pub(super) struct No {
    reply: Reply,
    faults: Vec<Fault>,
}

impl<T: DeserializeOwned> Answer<T> {
    pub(super) fn read(reply: Reply) -> Result<Self, ProviderError> {
        if !reply.is_success() {
            // Proxies in front of the API answer in HTML.
            let envelope = reply.json::<Envelope<serde_json::Value>>().ok();
            let faults = envelope.and_then(|envelope| envelope.errors).unwrap_or_default();
            return Ok(Self::No(No { reply, faults }));
        }
        let status: Envelope<serde_json::Value> = reply.json()?;
        if !status.success {
            return Ok(Self::No(No { reply, faults: status.errors.unwrap_or_default() }));
        }
        let envelope: Envelope<T> = reply.json()?;
        let pages = envelope.result_info.and_then(|info| info.total_pages).unwrap_or(1);
        match envelope.result {
            Some(result) => Ok(Self::Yes(Found { result, pages })),
            None => Err(reply.garbled(&"there is no `result` in it")),
        }
    }
}

impl No {
    /// Whether one of these codes is among the errors.
    pub(super) fn has(&self, codes: &[i64]) -> bool {
        self.faults.iter().any(|fault| fault.has(codes))
    }

    /// Whether the object does not exist.
    pub(super) fn is_gone(&self) -> bool {
        self.reply.status == 404 || self.has(&NO_SUCH_RECORD)
    }

    /// The error. `advice`: the requirements for the credentials.
    pub(super) fn error(&self, advice: &str) -> ProviderError {
        let message: Vec<String> = self.faults.iter().map(Fault::text).collect();
        let message = if message.is_empty() { self.reply.text() } else { message.join("; ") };
        if self.has(&CREDENTIALS) || matches!(self.reply.status, 401 | 403) {
            let service = self.reply.service.clone();
            let reason = format!("{}; {advice}", shown(&message));
            return ProviderError::Unauthorized { service, reason };
        }
        self.reply.refused(&message)
    }
}

#[derive(Deserialize)]
struct Envelope<T> {
    success: bool,
    #[serde(default)]
    errors: Option<Vec<Fault>>,
    #[serde(default = "none")]
    result: Option<T>,
    #[serde(default)]
    result_info: Option<Info>,
}

fn none<T>() -> Option<T> {
    None
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    total_pages: Option<u64>,
}

#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    error_chain: Option<Vec<Fault>>,
}

impl Fault {
    fn has(&self, codes: &[i64]) -> bool {
        codes.contains(&self.code) || self.causes().iter().any(|cause| codes.contains(&cause.code))
    }

    fn text(&self) -> String {
        let own = format!("{} ({})", self.message, self.code);
        let causes =
            self.causes().iter().map(|cause| format!("{} ({})", cause.message, cause.code));
        std::iter::once(own).chain(causes).collect::<Vec<_>>().join(": ")
    }

    fn causes(&self) -> &[Self] {
        self.error_chain.as_deref().unwrap_or_default()
    }
}

/// Headers in a wrong form, unknown key or email, no credentials, no access, not authenticated.
const CREDENTIALS: [i64; 7] = [6003, 6103, 6111, 9103, 9106, 9109, 10_000];
const NO_SUCH_RECORD: [i64; 1] = [81_044];
