//! Challenge: one proof of control (RFC 8555 section 8), from queued to its verdict.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AuthorizationState, CheckReport, Identifier, Problem, Solver};

/// One challenge of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Challenge {
    /// The immutable part, shared by all copies.
    pub spec: Arc<ChallengeSpec>,
    /// The effect that comes next.
    pub phase: Phase,
    /// The authorization's state, as last seen.
    #[serde(default)]
    pub state: AuthorizationState,
    /// The message for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The CA's problem document, if it sent one: of a failure, or of a challenge that it left
    /// pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The last self-check, until the challenge is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<CheckReport>>,
    /// The "accept" requests, over all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Accepts>,
    /// When it was last presented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presented_at: Option<Timestamp>,
    /// The TXT record of a DNS-01 challenge: determined and recorded before it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Dns01Target>,
    /// Whether it may still be presented.
    pub clean_up: CleanUp,
}

/// The "accept" requests of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accepts {
    /// Their number; at least 1.
    pub count: u32,
    /// The time of the last one.
    pub last: Timestamp,
}

/// The TXT record of a DNS-01 challenge: enough to remove it with the right credentials. Names are
/// in lower case, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dns01Target {
    /// The provider, as in the manifest.
    pub provider: String,
    /// SHA-256 over the provider's settings, hexadecimal: only a solver with the same settings
    /// removes the value.
    pub solver_digest: String,
    /// The zone; empty for a provider without zones.
    pub zone: String,
    /// The name of the TXT record.
    pub name: String,
    /// The value (RFC 8555 section 8.4).
    pub value: String,
}

impl std::fmt::Display for Dns01Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { provider, zone, name, value, .. } = self;
        write!(f, "TXT \"{value}\" at {name}")?;
        if zone.is_empty() {
            write!(f, " ({provider})")
        } else {
            write!(f, " (zone {zone}, {provider})")
        }
    }
}

impl Challenge {
    /// Whether its slot is taken (cert-manager's `processing`).
    pub fn is_processing(&self) -> bool {
        match self.phase {
            Phase::Presenting | Phase::SelfChecking | Phase::Accepting | Phase::Accepted => true,
            Phase::Queued | Phase::Requeued | Phase::Final => false,
        }
    }

    /// Whether it is presented (cert-manager's `presented`).
    pub fn is_presented(&self) -> bool {
        self.presented_at.is_some() && self.clean_up == CleanUp::Owed
    }

    /// Whether a clean-up is owed.
    pub fn owes_clean_up(&self) -> bool {
        self.clean_up == CleanUp::Owed
    }
}

/// The immutable part of a challenge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChallengeSpec {
    /// The URL of its authorization.
    #[serde(rename = "authorizationURL")]
    pub authorization_url: String,
    /// http-01 or dns-01.
    #[serde(rename = "type")]
    pub kind: ChallengeType,
    /// The challenge's URL, to which "accept" is posted.
    pub url: String,
    /// The name without `*.`, or the address.
    pub identifier: Identifier,
    /// Whether it is for `*.` identifier.
    #[serde(default)]
    pub wildcard: bool,
    /// The CA's token, checked to be base64url.
    pub token: String,
    /// The key authorization (RFC 8555 section 8.1); for dns-01 its digest is the TXT value.
    pub key: String,
    /// The solver chosen for it.
    pub solver: Solver,
}

/// Challenge types.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ChallengeType {
    /// RFC 8555 section 8.3.
    Http01,
    /// RFC 8555 section 8.4.
    Dns01,
    /// A type certctl does not solve.
    Other(String),
}

impl ChallengeType {
    /// The protocol's name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Http01 => "http-01",
            Self::Dns01 => "dns-01",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for ChallengeType {
    fn from(word: String) -> Self {
        match word.as_str() {
            "http-01" | "HTTP-01" => Self::Http01,
            "dns-01" | "DNS-01" => Self::Dns01,
            _ => Self::Other(word),
        }
    }
}

impl From<ChallengeType> for String {
    fn from(kind: ChallengeType) -> Self {
        kind.as_str().to_owned()
    }
}

/// The effect that comes next for a challenge. It is on disk before the effect is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Wait for the scheduler.
    Queued,
    /// Wait for the scheduler once more: it is presented, and its turn ended when others were
    /// queued. The clean-up stays owed and is not done.
    Requeued,
    /// Present it.
    Presenting,
    /// Check it from outside.
    SelfChecking,
    /// POST "accept".
    Accepting,
    /// Wait for the CA's verdict.
    Accepted,
    /// Nothing: the verdict is known.
    Final,
}

/// Whether a challenge may still be presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CleanUp {
    /// It was never presented.
    NotOwed,
    /// It may be presented.
    Owed,
    /// It was cleaned up.
    Done,
}
