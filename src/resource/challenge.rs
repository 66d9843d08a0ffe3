//! Challenge: one proof of control (RFC 8555 section 8), from queued to its verdict.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::validation_method::{Presence, Proves, ValidationMethod};
use super::{
    ANNOTATION_PREFIX, AuthorizationState, CheckReport, GoDuration, Http01, Identifier, Problem,
    SOLVER, Settings, Solver, SolverKind, Token, TokenError,
};

/// One challenge of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Challenge {
    /// The immutable part, shared by all copies.
    pub spec: Arc<ChallengeSpec>,
    pub state: ChallengeState,
    /// The message for users.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the message is about.
    #[serde(default, skip_serializing_if = "ReasonSource::is_other")]
    pub reason_source: ReasonSource,
    #[serde(default)]
    pub presented: Presented,
}

/// What the reason of a challenge is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReasonSource {
    /// An error, a verdict, or the next effect.
    #[default]
    Other,
    /// The failure that the last self-check reports.
    SelfCheck,
    /// "accept", which the CA has just received.
    Accept,
}

impl ReasonSource {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_other(&self) -> bool {
        *self == Self::Other
    }
}

/// What is known of a challenge, with its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ChallengeState {
    /// There is no verdict.
    Pending(PendingChallenge),
    Valid,
    /// Refused by the CA, or not to be solved any more.
    Failed(EndedChallenge),
    /// Its order ended before the verdict.
    Ended(EndedChallenge),
}

/// A challenge without a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PendingChallenge {
    /// The effect that comes next.
    pub phase: Phase,
    /// The authorization's state, as last seen.
    pub authorization: AuthorizationState,
    /// The CA's error, when it left the challenge pending with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The last self-check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Arc<CheckReport>>,
    /// The "accept" requests, over all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Accepts>,
}

/// A challenge that did not become valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndedChallenge {
    /// The authorization's state, as last seen.
    pub authorization: AuthorizationState,
    /// The CA's problem document, if it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The last self-check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Arc<CheckReport>>,
}

/// The value outside that answers a challenge: a file, a TXT record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Presented {
    /// It may be there: a clean-up is owed.
    pub is_owed: bool,
    /// When it was last put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub at: Option<Timestamp>,
    /// The TXT record of a DNS-01 challenge: determined and recorded before it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Dns01Target>,
}

/// The "accept" requests of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accepts {
    /// Their number; at least 1.
    pub count: u32,
    /// The time of the last one.
    #[schemars(with = "crate::resource::DateTime")]
    pub last: Timestamp,
}

/// The TXT record of a DNS-01 challenge: enough to remove it with the right credentials. Names are
/// in lower case, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Its progress, until the verdict.
    pub fn pending(&self) -> Option<&PendingChallenge> {
        let ChallengeState::Pending(pending) = &self.state else { return None };
        Some(pending)
    }

    /// The same, to be changed.
    pub fn pending_mut(&mut self) -> Option<&mut PendingChallenge> {
        let ChallengeState::Pending(pending) = &mut self.state else { return None };
        Some(pending)
    }

    /// The effect that comes next, until the verdict.
    pub fn phase(&self) -> Option<Phase> {
        Some(self.pending()?.phase)
    }

    /// Another effect comes next.
    pub fn go_to(&mut self, phase: Phase) {
        if let Some(pending) = self.pending_mut() {
            pending.phase = phase;
        }
    }

    pub fn is_failed(&self) -> bool {
        matches!(self.state, ChallengeState::Failed(_))
    }

    /// The authorization's state, as last seen.
    pub fn authorization(&self) -> &AuthorizationState {
        match &self.state {
            ChallengeState::Pending(pending) => &pending.authorization,
            ChallengeState::Valid => &AuthorizationState::Valid,
            ChallengeState::Failed(ended) | ChallengeState::Ended(ended) => &ended.authorization,
        }
    }

    /// The state to show: a challenge that its order's end left undecided is abandoned.
    pub fn final_state(&self) -> &AuthorizationState {
        match self.authorization() {
            AuthorizationState::Unknown
            | AuthorizationState::Pending
            | AuthorizationState::Processing
                if self.pending().is_none() =>
            {
                &AuthorizationState::Errored
            }
            state @ (AuthorizationState::Unknown
            | AuthorizationState::Pending
            | AuthorizationState::Processing
            | AuthorizationState::Valid
            | AuthorizationState::Invalid
            | AuthorizationState::Expired
            | AuthorizationState::Deactivated
            | AuthorizationState::Revoked
            | AuthorizationState::Errored
            | AuthorizationState::Other(_)) => state,
        }
    }

    /// The CA's problem document, if it sent one.
    pub fn problem(&self) -> Option<&Problem> {
        match &self.state {
            ChallengeState::Pending(pending) => pending.problem.as_ref(),
            ChallengeState::Valid => None,
            ChallengeState::Failed(ended) | ChallengeState::Ended(ended) => ended.problem.as_ref(),
        }
    }

    /// Why it waits after this finding of a self-check, in cert-manager's words.
    pub fn waiting_for_propagation(&self, found: &str) -> String {
        format!("Waiting for {} challenge propagation: {found}", self.spec.kind.in_capitals())
    }

    /// Whether it could not be presented for a reason that a retry meets again, such as wrong
    /// credentials: nothing was put anywhere, so nothing is owed.
    pub fn was_refused(&self) -> bool {
        let is_next =
            matches!(self.phase(), Some(Phase::Queued | Phase::Requeued | Phase::Presenting));
        let is_explained = self.reason_source == ReasonSource::Other && !self.reason.is_empty();
        is_next && is_explained && self.presented.at.is_none() && !self.presented.is_owed
    }

    /// Replaces the message for users.
    pub fn explain(&mut self, source: ReasonSource, reason: impl Into<String>) {
        (self.reason_source, self.reason) = (source, reason.into());
    }

    /// Its reason in a terminal: the finding of the self-check alone.
    pub fn shown_reason(&self) -> String {
        let cause = match self.reason_source {
            ReasonSource::SelfCheck => self.check().and_then(CheckReport::cause),
            ReasonSource::Accept | ReasonSource::Other => None,
        };
        cause.unwrap_or(&self.reason).to_owned()
    }

    /// The last self-check, unless the challenge is valid.
    pub fn check(&self) -> Option<&CheckReport> {
        match &self.state {
            ChallengeState::Pending(pending) => pending.check.as_deref(),
            ChallengeState::Valid => None,
            ChallengeState::Failed(ended) | ChallengeState::Ended(ended) => ended.check.as_deref(),
        }
    }

    /// Its order has ended.
    pub fn end(&mut self) {
        if let Some(PendingChallenge { authorization, problem, check, .. }) = self.pending_mut() {
            let (problem, check) = (problem.take(), check.take());
            let authorization = authorization.clone();
            self.state = ChallengeState::Ended(EndedChallenge { authorization, problem, check });
        }
    }

    /// The CA's verdict, or an unusable response.
    pub fn fail(&mut self, authorization: AuthorizationState, problem: Option<Problem>) {
        let check = self.pending_mut().and_then(|pending| pending.check.take());
        self.state = ChallengeState::Failed(EndedChallenge { authorization, problem, check });
    }

    /// Whether its slot is taken (cert-manager's `processing`).
    pub fn is_processing(&self) -> bool {
        match self.phase() {
            Some(Phase::Presenting | Phase::SelfChecking | Phase::Accepting | Phase::Accepted) => {
                true
            }
            Some(Phase::Queued | Phase::Requeued) | None => false,
        }
    }

    /// Whether it is presented (cert-manager's `presented`).
    pub fn is_presented(&self) -> bool {
        self.presented.at.is_some() && self.presented.is_owed
    }

    /// Whether a clean-up is owed.
    pub fn owes_clean_up(&self) -> bool {
        self.presented.is_owed
    }
}

/// The immutable part of a challenge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChallengeSpec {
    /// The URL of its authorization.
    #[serde(rename = "authorizationURL")]
    pub authorization_url: String,
    /// One of those that certctl solves.
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
    /// The key authorization (RFC 8555 section 8.1); dns-01 and tls-alpn-01 show its digest.
    pub key: String,
    /// The solver chosen for it.
    pub solver: Solver,
}

impl ChallengeSpec {
    /// What the challenges of an order's group share: name and type.
    pub fn group(&self) -> (&Identifier, &ChallengeType) {
        (&self.identifier, &self.kind)
    }

    /// The name under which its answer is presented, if a server of the run gives it: the token, or
    /// what the CA asks for by SNI.
    pub fn answer_name(&self) -> Result<Token, TokenError> {
        if self.kind == ChallengeType::TlsAlpn01 {
            return Ok(Token::of_server_name(&self.identifier.server_name()));
        }
        self.token.parse()
    }

    /// Why it waits when it has no self-check, in cert-manager's words.
    pub fn waiting_instead(&self, wait: GoDuration) -> String {
        let kind = self.kind.in_capitals();
        format!("Waiting {wait} before accepting {kind} challenge without self-check")
    }
}

/// Challenge types.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "String", into = "String")]
pub enum ChallengeType {
    /// RFC 8555 section 8.3.
    Http01,
    /// RFC 8555 section 8.4.
    Dns01,
    /// RFC 8737.
    TlsAlpn01,
    /// A type certctl does not solve.
    Other(String),
}

impl ValidationMethod {
    /// RFC 8555 section 8.3; of addresses RFC 8738.
    pub const HTTP01: Self =
        Self { word: "http-01", presence: Presence::Served, port: Some(80), proves: Proves::Hosts };
    /// RFC 8555 section 8.4.
    pub const DNS01: Self =
        Self { word: "dns-01", presence: Presence::Record, port: None, proves: Proves::Names };
    /// RFC 8737; of addresses RFC 8738.
    pub const TLS_ALPN01: Self = Self {
        word: "tls-alpn-01",
        presence: Presence::Served,
        port: Some(443),
        proves: Proves::Hosts,
    };
}

impl ChallengeType {
    /// Those that certctl solves.
    const SOLVED: [Self; 3] = [Self::Http01, Self::TlsAlpn01, Self::Dns01];

    /// What is known of it; `None` for a type that certctl does not solve.
    pub fn method(&self) -> Option<&'static ValidationMethod> {
        match self {
            Self::Http01 => Some(&ValidationMethod::HTTP01),
            Self::Dns01 => Some(&ValidationMethod::DNS01),
            Self::TlsAlpn01 => Some(&ValidationMethod::TLS_ALPN01),
            Self::Other(_) => None,
        }
    }

    /// The type whose answer a server of the run gives, by its word.
    pub fn served(word: &str) -> Option<Self> {
        Self::SOLVED.into_iter().find(|kind| kind.is_served() && kind.as_str() == word)
    }

    /// The protocol's name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            Self::Http01 => ValidationMethod::HTTP01.word,
            Self::Dns01 => ValidationMethod::DNS01.word,
            Self::TlsAlpn01 => ValidationMethod::TLS_ALPN01.word,
        }
    }

    /// The same for people: `HTTP-01`.
    pub fn in_capitals(&self) -> String {
        self.as_str().to_uppercase()
    }

    /// Whether it is a file over HTTP, so that another web server can give it.
    pub fn is_over_http(&self) -> bool {
        *self == Self::Http01
    }

    /// Whether a listener of certctl answers it for a Certificate with these settings.
    pub fn is_answered_here(&self, settings: &Settings) -> bool {
        self.is_served() && !(self.is_over_http() && settings.is_answered_by_server())
    }

    /// Whether its answer is given by a server of the run.
    pub fn is_served(&self) -> bool {
        self.method().is_some_and(|method| method.presence == Presence::Served)
    }

    /// Whether its answer is a DNS record.
    pub fn is_record(&self) -> bool {
        self.method().is_some_and(|method| method.presence == Presence::Record)
    }

    /// The types that prove control of an identifier (the name without `*.`), and the others.
    pub fn proving(identifier: &Identifier, wildcard: bool) -> (Vec<Self>, Vec<Self>) {
        let proves =
            |kind: &Self| kind.method().is_some_and(|method| method.proves(identifier, wildcard));
        Self::SOLVED.into_iter().partition(proves)
    }
}

impl Http01 {
    /// The challenge type that this solver's own `certctl/solver` names.
    fn own_type(&self) -> Option<ChallengeType> {
        let [first, inner @ ..] = Self::ANNOTATIONS;
        let annotations = inner.iter().try_fold(self.0.get(first)?, |at, name| at.get(name))?;
        let word = annotations.get(format!("{ANNOTATION_PREFIX}{SOLVER}"))?.as_str()?;
        ChallengeType::served(word)
    }
}

impl Solver {
    /// The challenge type that it answers; `served` is that of an `http01` solver without a type of
    /// its own (`certctl/solver`).
    pub fn challenge_type(&self, served: Option<&ChallengeType>) -> ChallengeType {
        match &self.kind {
            SolverKind::Http01(http01) => {
                http01.own_type().or_else(|| served.cloned()).unwrap_or(ChallengeType::Http01)
            }
            SolverKind::Dns01(_) => ChallengeType::Dns01,
        }
    }
}

impl From<String> for ChallengeType {
    fn from(word: String) -> Self {
        let known = Self::SOLVED.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(&word));
        known.unwrap_or(Self::Other(word))
    }
}

impl From<ChallengeType> for String {
    fn from(kind: ChallengeType) -> Self {
        kind.as_str().to_owned()
    }
}

/// The effect that comes next for a challenge without a verdict. It is on disk before the effect is
/// started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
}

impl Phase {
    /// Whether the CA has accepted that it validates the challenge; before, it may still be solved
    /// in another way.
    pub fn is_accepted(self) -> bool {
        match self {
            Self::Accepted => true,
            Self::Queued
            | Self::Requeued
            | Self::Presenting
            | Self::SelfChecking
            | Self::Accepting => false,
        }
    }
}
