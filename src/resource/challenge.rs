//! Challenge: one proof of control, from queued to its verdict.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AuthorizationState, CheckReport, Identifier, Problem, Solver};

/// One challenge of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Challenge {
    /// What is to be proven, and how; immutable, and so shared by all copies.
    pub spec: Arc<ChallengeSpec>,
    /// The effect that comes next.
    pub phase: Phase,
    /// The authorization's state, as last seen.
    #[serde(default)]
    pub state: AuthorizationState,
    /// Why it is in this state, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The CA's problem document, when it sent one: of a failure, or of a challenge that it left
    /// pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// What the last self-check saw, until the name is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<CheckReport>>,
    /// How often the CA was told to look, over all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Accepts>,
    /// When it was last presented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presented_at: Option<Timestamp>,
    /// Where the answer of a DNS-01 challenge goes: found and written down before it is written
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Dns01Target>,
    /// Whether something of ours may be out in the world.
    pub clean_up: CleanUp,
}

/// How often the CA was told to look at a challenge, and when last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accepts {
    /// How often; at least once.
    pub count: u32,
    /// When last.
    pub last: Timestamp,
}

/// The place of a DNS-01 answer: enough to take it back, once the credentials are there. Names are
/// in lower case, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dns01Target {
    /// The provider, as in the manifest.
    pub provider: String,
    /// SHA-256 over the provider's settings, hexadecimal: only a solver with the same settings
    /// takes the value back.
    pub solver_digest: String,
    /// The zone; empty for a provider that needs none.
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

    /// Whether its answer is out in the world (cert-manager's `presented`).
    pub fn is_presented(&self) -> bool {
        self.presented_at.is_some() && self.clean_up == CleanUp::Owed
    }

    /// Whether something must still be taken back.
    pub fn owes_clean_up(&self) -> bool {
        self.clean_up == CleanUp::Owed
    }
}

/// What is to be proven; immutable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChallengeSpec {
    /// The authorization it answers.
    #[serde(rename = "authorizationURL")]
    pub authorization_url: String,
    /// http-01 or dns-01.
    #[serde(rename = "type")]
    pub kind: ChallengeType,
    /// Where "accept" is posted.
    pub url: String,
    /// The name without `*.`, or the address.
    pub identifier: Identifier,
    /// Whether it is for `*.` identifier.
    #[serde(default)]
    pub wildcard: bool,
    /// The CA's token, checked to be base64url.
    pub token: String,
    /// The key authorization (RFC 8555 section 8.1); for dns-01 its digest is what is written.
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
    /// The word the protocol uses.
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

/// The effect that comes next for a challenge. It is on disk before the effect is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Wait for the scheduler.
    Queued,
    /// Wait for the scheduler once more: it is presented, and its turn was over when others were
    /// queued. The clean-up stays owed and is not done.
    Requeued,
    /// Put the answer into the world.
    Presenting,
    /// Look at it from outside.
    SelfChecking,
    /// Tell the CA to look.
    Accepting,
    /// Wait for the CA's verdict.
    Accepted,
    /// Nothing: the verdict is in.
    Final,
}

/// Whether something of ours may be out in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CleanUp {
    /// Nothing was ever put out.
    NotOwed,
    /// Something may be out.
    Owed,
    /// It was taken back.
    Done,
}
