//! A failure with its typed cause, stored as it is.
//!
//! `Display` of a failure is the message of cert-manager's conditions and events. No code
//! parses it: code that needs details matches on the cause.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AuthorizationState, CheckReport, DeployTarget, Fix, Identifier, Obstacle, OrderState, Problem,
    Reason, escape, rfc3339,
};

/// The class of a failure: it decides the exit code, and whether it counts as an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailureClass {
    /// None of the others. Exit code 1.
    Other,
    /// A local precondition of any ACME request is not met. Exit code 3, never counted.
    Precondition,
    /// Domain validation failed. Exit code 4.
    Validation,
    /// The CA refused, or its response is unusable. Exit code 5.
    Ca,
    /// The CA is unreachable or answers 5xx. Exit code 5, never counted.
    Unreachable,
    /// An output or hook failed. Exit code 6.
    Output,
    /// The state directory. Exit code 7, never counted.
    State,
}

impl FailureClass {
    /// Its name, wherever it is shown or stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Precondition => "precondition",
            Self::Validation => "validation",
            Self::Ca => "ca",
            Self::Unreachable => "unreachable",
            Self::Output => "output",
            Self::State => "state",
        }
    }
}

/// A failed issuance, deployment or revocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failure {
    pub class: FailureClass,
    /// The operation that failed.
    #[serde(default, skip_serializing_if = "Doing::is_nothing")]
    pub doing: Doing,
    pub cause: Cause,
    /// When it was recorded; `None` before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub at: Option<Timestamp>,
    /// When a server error of the CA, or no answer at a URL of the order, came first that has come
    /// back ever since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub since: Option<Timestamp>,
    /// The CA's Retry-After, counted from its response; the certificate's record stores it as a
    /// time.
    #[serde(skip)]
    pub retry_after: Option<SignedDuration>,
    /// An issuance that waits meanwhile, with its own failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub besides: Option<Box<Waiting>>,
}

/// A waiting issuance, and its failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiting {
    #[schemars(with = "crate::resource::DateTime")]
    pub until: Timestamp,
    pub failure: Failure,
}

impl Failure {
    /// A failure that is about to be recorded.
    pub fn new(class: FailureClass, doing: Doing, cause: Cause) -> Self {
        Self { class, doing, cause, at: None, since: None, retry_after: None, besides: None }
    }

    /// The failure of a cause by itself.
    pub fn of(doing: Doing, cause: Cause) -> Self {
        Self::new(cause.class(), doing, cause)
    }

    /// Whether it makes the next attempt wait longer.
    pub fn counts(&self) -> bool {
        matches!(self.class, FailureClass::Other | FailureClass::Validation | FailureClass::Ca)
    }

    /// Whether the CA answered with a server error.
    pub fn is_server_error(&self) -> bool {
        matches!(&self.cause, Cause::Ca(ca) if ca.fault == CaFault::ServerError)
    }

    /// For the Issuing condition.
    pub fn reason(&self) -> Reason {
        if let Cause::Deployment { .. } = self.cause {
            Reason::DeployFailed
        } else if let Cause::KeyMismatch { .. } = self.cause {
            Reason::CannotRegenerateKey
        } else if let Cause::UnfinishedDeactivation { .. } = self.cause {
            Reason::ErrVerifyACMEAccount
        } else {
            Reason::Failed
        }
    }

    /// Without what to do about it where that is known apart from it: there are rows for that.
    #[must_use]
    pub fn without_fixes(&self) -> Self {
        Self { cause: self.cause.without_fixes(), ..self.clone() }
    }

    /// Without what differs from run to run, to compare two failures.
    #[must_use]
    pub fn likeness(&self) -> Self {
        Self::new(self.class, self.doing, self.cause.likeness())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.doing.sentence() {
            "" => write!(f, "{}", self.cause)?,
            doing => write!(f, "{doing}: {}", self.cause)?,
        }
        if let Some(since) = self.since.filter(|_| self.counts()) {
            let what = if self.is_server_error() {
                "the CA has answered with server errors"
            } else {
                "this URL of the order has not answered"
            };
            write!(f, "; {what} since {}", rfc3339(since))?;
        }
        match self.besides.as_deref() {
            Some(Waiting { until, failure }) => {
                write!(f, "; the issuance also waits until {}: {failure}", rfc3339(*until))
            }
            None => Ok(()),
        }
    }
}

/// The operation that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Doing {
    /// No operation had started, or the cause is sufficient.
    #[default]
    Nothing,
    MakeKey,
    BuildRequest,
    RegisterAccount,
    UpdateAccount,
    CreateOrder,
    ReadOrder,
    ReadAuthorization,
    Present,
    Accept,
    CleanUp,
    Finalize,
    Download,
    WriteSecret,
    Deploy,
}

impl Doing {
    /// cert-manager's wording; empty for none.
    fn sentence(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::MakeKey => "Failed to make the private key",
            Self::BuildRequest => "Failed to generate CSR",
            Self::RegisterAccount => "Failed to register ACME account",
            Self::UpdateAccount => "Failed to update ACME account",
            Self::CreateOrder => "Failed to create Order",
            Self::ReadOrder => "Failed to retrieve Order resource",
            Self::ReadAuthorization => "Failed to fetch authorization",
            Self::Present => "Error presenting challenge",
            Self::Accept => "Error accepting challenge",
            Self::CleanUp => "Error cleaning up challenge",
            Self::Finalize => "Failed to finalize Order",
            Self::Download => "Failed to retrieve signed certificate",
            Self::WriteSecret => "Failed to write the Secret",
            Self::Deploy => "issued but not deployed",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Cause {
    /// The CA's response, or its absence.
    Ca(CaFailure),
    /// The CA's verdict on one name.
    Challenge(Box<ChallengeFailure>),
    /// The order as a whole.
    Order(Box<OrderFailure>),
    /// The report of a self-check.
    Check(Box<CheckReport>),
    /// A DNS provider's response.
    Provider(ProviderFailure),
    /// The result of an operator's program.
    Program(ProgramFailure),
    /// A solver of the issuer cannot be used for a name.
    Solver { identifier: Identifier, issuer: String, cause: Box<Self> },
    /// A step of deployment.
    Deployment { target: DeployTarget, cause: Option<Box<Self>> },
    /// The CA has lost the requesting account, a second time.
    LostAccount { url: String, cause: Box<Self> },
    /// `rotationPolicy: Never`, and the live key does not fit the spec.
    KeyMismatch { secret_name: String, fields: Vec<String> },
    /// The deactivation of the account was started, and its result is unknown.
    UnfinishedDeactivation { directory_url: String, issuer: String },
    /// The state directory.
    State {
        message: String,
        #[serde(skip)]
        fixes: Vec<Fix>,
    },
    /// A local precondition of any request is not met.
    Precondition {
        message: String,
        /// What to do about it, where that is known; not of a failure that was stored.
        #[serde(skip)]
        fixes: Vec<Fix>,
    },
    /// Anything else on this host.
    Local {
        message: String,
        #[serde(skip)]
        fixes: Vec<Fix>,
    },
}

/// A CA's response, or its absence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaFailure {
    pub fault: CaFault,
    /// The URL of the request; empty when there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// The CA's problem document (RFC 8555 section 6.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Box<Problem>>,
    /// A description, beside the problem document or instead of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How many seconds the CA's clock is ahead of this host's, when they differ much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ahead: Option<i64>,
}

/// The kinds of CA errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CaFault {
    /// The network.
    Unreachable,
    /// An unknown authority issued the TLS certificate of the CA's server.
    UnknownIssuer,
    /// That certificate is not valid at this host's time.
    Untimely,
    /// That certificate is not trusted for another reason.
    Untrusted,
    /// The CA answered 5xx, which may be temporary.
    ServerError,
    /// The CA refused.
    Refused,
    /// The CA does not know the order, authorization or certificate (any more).
    Gone,
    /// The CA's response is unusable.
    Unusable,
}

/// The CA's verdict on one name, or certctl's on the CA's response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChallengeFailure {
    pub identifier: Identifier,
    #[serde(default)]
    pub wildcard: bool,
    /// The authorization.
    pub url: String,
    pub state: AuthorizationState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Box<Problem>>,
    /// The last self-check before the CA validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<CheckReport>>,
    /// The challenge's reason, in cert-manager's words.
    pub reason: String,
}

/// An order that did not become ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrderFailure {
    pub name: String,
    /// `None` when the CA never accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub state: OrderState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Box<Problem>>,
    /// The failure on certctl's side, when it was not the CA's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// The order's reason, in cert-manager's words.
    pub reason: String,
}

/// A DNS provider's response, or its absence; never a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderFailure {
    pub fault: ProviderFault,
    /// The provider, or the host that was queried.
    pub service: String,
    /// An HTTP status or a DNS response code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// One sentence, with the service.
    pub message: String,
}

/// The kinds of DNS provider errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProviderFault {
    /// The solver's settings or credentials are unusable.
    Settings,
    /// The provider refused the credentials: nothing was written.
    Unauthorized,
    /// The provider has no such zone, or refused the change as a whole: nothing was written.
    Denied,
    /// No response, or one that requests a retry.
    Unreachable,
    /// Anything else: whether the record was written is unknown.
    Failed,
}

/// The result of an operator's program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramFailure {
    /// The program, relative to its folder; empty when there is none to run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// Its exit code or signal; empty when it did not end by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// One sentence, with the program and the last lines of its stderr.
    pub message: String,
}

/// Causes with the same handling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// The network, or a server error that may be temporary.
    Transient,
    /// The CA refused.
    Refused,
    /// The CA does not know the order, authorization or certificate (any more).
    Gone,
    /// The CA's response is unusable.
    Unusable,
    /// A local precondition of any request is not met.
    Precondition,
    /// The state directory.
    State,
    /// The DNS provider refused the credentials, and nothing was written.
    Unauthorized,
    /// The DNS provider denied the change, and nothing was written.
    Denied,
    /// An operator's program failed: what it did is unknown.
    Program,
    /// Anything else on this host.
    Local,
}

impl CauseKind {
    /// Whether a retry fails the same way until the user changes something.
    pub fn is_permanent(self) -> bool {
        matches!(self, Self::Unauthorized | Self::Denied | Self::Program | Self::Precondition)
    }

    /// Whether a challenge with this error cannot be presented.
    pub fn has_done_nothing(self) -> bool {
        matches!(self, Self::Unauthorized | Self::Denied | Self::Precondition)
    }
}

impl Cause {
    /// A CA's response without a problem document and a URL.
    pub fn ca(fault: CaFault, message: impl Into<String>) -> Self {
        let (url, message) = (String::new(), message.into());
        Self::Ca(CaFailure { fault, url, problem: None, message, clock_ahead: None })
    }

    /// A local precondition that is not met.
    pub fn precondition(message: impl Into<String>) -> Self {
        Self::Precondition { message: message.into(), fixes: Vec::new() }
    }

    /// What is in the way on this machine.
    pub fn obstacles(obstacles: Vec<Obstacle>) -> Self {
        let facts: Vec<&str> = obstacles.iter().map(|one| one.fact.as_str()).collect();
        let message = facts.join("; ");
        Self::Precondition {
            message,
            fixes: obstacles.into_iter().filter_map(|one| one.fix).collect(),
        }
    }

    /// The state directory.
    pub fn state(message: impl Into<String>) -> Self {
        Self::State { message: message.into(), fixes: Vec::new() }
    }

    /// Anything else on this host.
    pub fn local(message: impl Into<String>) -> Self {
        Self::Local { message: message.into(), fixes: Vec::new() }
    }

    /// The cause alone, without what to do about it.
    #[must_use]
    pub fn without_fixes(&self) -> Self {
        let mut fact = self.clone();
        if let Self::Precondition { fixes, .. }
        | Self::State { fixes, .. }
        | Self::Local { fixes, .. } = &mut fact
        {
            fixes.clear();
        } else if let Self::Solver { cause, .. }
        | Self::LostAccount { cause, .. }
        | Self::Deployment { cause: Some(cause), .. } = &mut fact
        {
            **cause = cause.without_fixes();
        }
        fact
    }

    /// What to do about it, where that is known.
    pub fn fixes(&self) -> Vec<Fix> {
        match self {
            Self::Precondition { fixes, .. }
            | Self::State { fixes, .. }
            | Self::Local { fixes, .. } => fixes.clone(),
            Self::UnfinishedDeactivation { issuer, .. } => vec![Fix::Deactivate(issuer.clone())],
            Self::Solver { cause, .. }
            | Self::LostAccount { cause, .. }
            | Self::Deployment { cause: Some(cause), .. } => cause.fixes(),
            Self::Ca(_)
            | Self::Challenge(_)
            | Self::Order(_)
            | Self::Check(_)
            | Self::Provider(_)
            | Self::Program(_)
            | Self::Deployment { cause: None, .. }
            | Self::KeyMismatch { .. } => Vec::new(),
        }
    }

    /// The CA's problem document.
    pub fn problem(&self) -> Option<&Problem> {
        if let Self::Ca(ca) = self {
            ca.problem.as_deref()
        } else if let Self::Challenge(challenge) = self {
            challenge.problem.as_deref()
        } else if let Self::Order(order) = self {
            let of_failure = || order.failure.as_ref()?.cause.problem();
            order.problem.as_deref().or_else(of_failure)
        } else if let Self::Solver { cause, .. } | Self::LostAccount { cause, .. } = self {
            cause.problem()
        } else {
            None
        }
    }

    /// The failed request to the CA.
    pub fn at_the_ca(&self) -> Option<&CaFailure> {
        if let Self::Ca(ca) = self {
            Some(ca)
        } else if let Self::Order(order) = self {
            order.failure.as_ref()?.cause.at_the_ca()
        } else if let Self::Solver { cause, .. } | Self::LostAccount { cause, .. } = self {
            cause.at_the_ca()
        } else {
            None
        }
    }

    /// Whether the CA does not know the requesting account (RFC 8555 section 6.7).
    pub fn is_unknown_account(&self) -> bool {
        self.problem().is_some_and(|problem| problem.short_kind() == "accountDoesNotExist")
    }

    /// The handling of the cause.
    pub fn kind(&self) -> CauseKind {
        match self {
            Self::Ca(ca) => match ca.fault {
                CaFault::Unreachable
                | CaFault::UnknownIssuer
                | CaFault::Untimely
                | CaFault::Untrusted
                | CaFault::ServerError => CauseKind::Transient,
                CaFault::Refused if ca.is_busy() => CauseKind::Transient,
                CaFault::Refused => CauseKind::Refused,
                CaFault::Gone => CauseKind::Gone,
                CaFault::Unusable => CauseKind::Unusable,
            },
            Self::Challenge(_) | Self::Order(_) => CauseKind::Refused,
            Self::Provider(provider) => match provider.fault {
                ProviderFault::Settings => CauseKind::Precondition,
                ProviderFault::Unauthorized => CauseKind::Unauthorized,
                ProviderFault::Denied => CauseKind::Denied,
                ProviderFault::Unreachable => CauseKind::Transient,
                ProviderFault::Failed => CauseKind::Local,
            },
            Self::Program(_) => CauseKind::Program,
            Self::Solver { cause, .. } | Self::LostAccount { cause, .. } => cause.kind(),
            Self::State { .. } => CauseKind::State,
            Self::Precondition { .. }
            | Self::KeyMismatch { .. }
            | Self::UnfinishedDeactivation { .. } => CauseKind::Precondition,
            Self::Check(_) | Self::Deployment { .. } | Self::Local { .. } => CauseKind::Local,
        }
    }

    /// The class of a failure with only this cause.
    pub fn class(&self) -> FailureClass {
        // An errored challenge was abandoned because of the CA's response, not of its validation.
        let is_errored =
            |challenge: &ChallengeFailure| challenge.state == AuthorizationState::Errored;
        if matches!(self, Self::Challenge(challenge) if !is_errored(challenge))
            || matches!(self, Self::Check(_))
        {
            return FailureClass::Validation;
        }
        if let Self::Deployment { cause, .. } = self {
            let kind = cause.as_deref().map(Self::kind);
            let is_lacking = kind == Some(CauseKind::Precondition);
            return if is_lacking { FailureClass::Precondition } else { FailureClass::Output };
        }
        match self.kind() {
            CauseKind::Transient => FailureClass::Unreachable,
            CauseKind::Refused | CauseKind::Gone | CauseKind::Unusable => FailureClass::Ca,
            CauseKind::Precondition => FailureClass::Precondition,
            CauseKind::State => FailureClass::State,
            CauseKind::Unauthorized => FailureClass::Validation,
            CauseKind::Denied | CauseKind::Program | CauseKind::Local => FailureClass::Other,
        }
    }

    /// The cause without URLs, which name an order or an authorization, and without the report
    /// beside it.
    fn likeness(&self) -> Self {
        let mut like = self.clone();
        if let Self::Ca(ca) = &mut like {
            ca.url.clear();
            ca.clock_ahead = None;
        } else if let Self::Challenge(challenge) = &mut like {
            challenge.url.clear();
            challenge.check = None;
        } else if let Self::Order(order) = &mut like {
            order.name.clear();
            order.url = None;
            order.reason.clear();
            order.failure = order.failure.as_ref().map(|failure| Box::new(failure.likeness()));
        } else if let Self::Precondition { fixes, .. }
        | Self::State { fixes, .. }
        | Self::Local { fixes, .. } = &mut like
        {
            fixes.clear();
        } else if let Self::Solver { cause, .. }
        | Self::LostAccount { cause, .. }
        | Self::Deployment { cause: Some(cause), .. } = &mut like
        {
            **cause = cause.likeness();
        }
        like
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ca(ca) => write!(f, "{ca}"),
            Self::Challenge(challenge) => {
                write!(f, "{}: {}", challenge.identifier, challenge.reason)
            }
            Self::Order(order) => write!(
                f,
                "Failed to wait for order resource \"{}\" to become ready: order is in \"{}\" \
                 state: {}",
                order.name,
                order.state.as_str(),
                order.reason
            ),
            Self::Check(report) => write!(f, "{report}"),
            Self::Provider(ProviderFailure { message, .. })
            | Self::Program(ProgramFailure { message, .. })
            | Self::State { message, .. }
            | Self::Precondition { message, .. }
            | Self::Local { message, .. } => f.write_str(message),
            Self::KeyMismatch { secret_name, fields } => write!(
                f,
                "User intervention required: existing private key in Secret \"{secret_name}\" does \
                 not match requirements on Certificate resource, mismatching fields: [{}], and \
                 spec.privateKey.rotationPolicy Never forbids a new one. Set it to Always, \
                 restore the earlier spec.privateKey, or provide a matching tls.key",
                fields.join(" ")
            ),
            Self::UnfinishedDeactivation { directory_url, issuer } => write!(
                f,
                "the deactivation of the account of issuer \"{issuer}\" at {directory_url} was \
                 requested, but its result is unknown"
            ),
            Self::Solver { identifier, issuer, cause } => {
                write!(f, "{identifier}: issuer \"{issuer}\", dns01: {cause}")
            }
            // What is missing may be needed by a later step than the one that waits for it.
            Self::Deployment { cause: Some(cause), .. }
                if cause.kind() == CauseKind::Precondition =>
            {
                write!(f, "{cause}")
            }
            Self::Deployment { target, cause: Some(cause) } => write!(f, "{target}: {cause}"),
            Self::Deployment { target, cause: None } => write!(f, "{target}: not done yet"),
            Self::LostAccount { url, cause } => write!(
                f,
                "the CA does not know the account {url}, which was registered again in this run: \
                 {cause}"
            ),
        }
    }
}

impl CaFailure {
    /// Whether the CA limits the rate of requests (RFC 8555 section 6.6), which is no verdict on
    /// what was requested.
    pub fn is_busy(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| {
            self.fault == CaFault::Refused && problem.status == Some(429) && !problem.is_paused()
        })
    }
}

impl fmt::Display for CaFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [self.message.clone(), self.url.clone()];
        let problem = self.problem.as_ref().map(ToString::to_string);
        // A description of the problem precedes the URL, one instead of it follows.
        let parts: Vec<String> = match problem {
            Some(problem) => parts.into_iter().chain([problem]).collect(),
            None => parts.into_iter().rev().collect(),
        };
        let parts = parts.iter().filter(|part| !part.is_empty());
        f.write_str(&parts.map(|part| escape(part)).collect::<Vec<_>>().join(": "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_is_apart_from_the_fact_and_is_not_stored() {
        let fix = Fix::FreePort { port: 80, is_denied: true };
        let obstacles = vec![Obstacle::new("no port").with(fix.clone()), Obstacle::new("b")];
        let target = DeployTarget::Hook { name: "x".to_owned() };
        let cause = Some(Box::new(Cause::obstacles(obstacles)));
        let failure = Failure::of(Doing::Deploy, Cause::Deployment { target, cause });
        assert_eq!(failure.to_string(), "issued but not deployed: no port; b");
        let stored: Failure =
            serde_json::from_value(serde_json::to_value(&failure).unwrap()).unwrap();
        assert_eq!(failure.cause.fixes(), [fix]);
        assert_eq!(
            (stored.to_string(), stored.likeness()),
            (failure.to_string(), failure.likeness())
        );
        assert_eq!(stored, failure.without_fixes());
    }

    #[test]
    fn a_class_is_stored_and_printed_by_its_one_word() {
        use FailureClass::{Ca, Other, Output, Precondition, State, Unreachable, Validation};
        for class in [Other, Precondition, Validation, Ca, Unreachable, Output, State] {
            assert_eq!(serde_json::to_value(class).unwrap(), class.word());
        }
    }
}
