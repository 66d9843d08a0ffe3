//! Authorizations and their challenges (RFC 8555 section 7.5).

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::resource::Identifier;

use super::Shared;
use super::identifier;
use super::jws::Signed;
use super::problem::{Problem, ProblemType};
use super::reply::Reply;
use super::route::Route;
use super::world::World;

/// The states of an authorization (RFC 8555 section 7.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// The names of RFC 8555 section 7.1.6.
pub enum AuthorizationStatus {
    Pending,
    Valid,
    Invalid,
    Deactivated,
    Expired,
    Revoked,
}

impl AuthorizationStatus {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Deactivated => "deactivated",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }

    pub(super) fn is_failure(self) -> bool {
        match self {
            Self::Pending | Self::Valid => false,
            Self::Invalid | Self::Deactivated | Self::Expired | Self::Revoked => true,
        }
    }
}

/// The challenge types offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeKind {
    Http01,
    Dns01,
}

impl ChallengeKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Http01 => "http-01",
            Self::Dns01 => "dns-01",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::Http01, Self::Dns01].into_iter().find(|kind| kind.as_str() == word)
    }

    /// The challenge types that may prove control: HTTP-01 for no wildcard, DNS-01 for no address.
    fn offered_for(subject: &Identifier) -> &'static [Self] {
        match subject {
            Identifier::Dns(name) if name.is_wildcard() => &[Self::Dns01],
            Identifier::Dns(_) => &[Self::Http01, Self::Dns01],
            Identifier::Ip(_) => &[Self::Http01],
        }
    }
}

/// The states of a challenge (RFC 8555 section 7.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeStatus {
    Pending,
    Processing,
    Valid,
    Invalid,
}

impl ChallengeStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
        }
    }
}

/// One challenge.
#[derive(Debug)]
pub(super) struct Challenge {
    pub(super) kind: ChallengeKind,
    pub(super) token: String,
    pub(super) status: ChallengeStatus,
    pub(super) validated: Option<Timestamp>,
    pub(super) error: Option<Problem>,
    pub(super) records: Vec<Value>,
}

/// One authorization.
#[derive(Debug)]
pub(super) struct Authorization {
    pub(super) account: u64,
    /// As ordered, `*.` included.
    pub(super) identifier: Identifier,
    pub(super) status: AuthorizationStatus,
    pub(super) expires: Timestamp,
    pub(super) challenges: Vec<Challenge>,
}

impl Authorization {
    pub(super) fn new(
        account: u64,
        subject: Identifier,
        status: AuthorizationStatus,
        expires: Timestamp,
        token: impl Fn() -> String,
    ) -> Self {
        let challenge_status = match status {
            AuthorizationStatus::Valid => ChallengeStatus::Valid,
            AuthorizationStatus::Invalid => ChallengeStatus::Invalid,
            AuthorizationStatus::Pending
            | AuthorizationStatus::Deactivated
            | AuthorizationStatus::Expired
            | AuthorizationStatus::Revoked => ChallengeStatus::Pending,
        };
        let challenges = ChallengeKind::offered_for(&subject).iter().map(|kind| Challenge {
            kind: *kind,
            token: token(),
            status: challenge_status,
            validated: None,
            error: None,
            records: Vec::new(),
        });
        let challenges = challenges.collect();
        Self { account, identifier: subject, status, expires, challenges }
    }

    pub(super) fn settle(&mut self, now: Timestamp) {
        if !self.status.is_failure() && self.expires <= now {
            self.status = AuthorizationStatus::Expired;
        }
    }

    pub(super) fn challenge(&mut self, kind: ChallengeKind) -> Option<&mut Challenge> {
        self.challenges.iter_mut().find(|challenge| challenge.kind == kind)
    }

    /// Why an order with this authorization fails; `None` while it does not.
    pub(super) fn fault(&self) -> Option<Problem> {
        if !self.status.is_failure() {
            return None;
        }
        let of_challenge = self.challenges.iter().find_map(|challenge| challenge.error.clone());
        Some(of_challenge.unwrap_or_else(|| {
            let detail = format!("the authorization is {}", self.status.as_str());
            Problem::new(ProblemType::Unauthorized, detail)
        }))
    }

    fn to_json(&self, shared: &Shared, id: u64) -> Value {
        // Only the challenge that was tried is listed once the authorization is decided.
        let was_tried =
            |challenge: &Challenge| challenge.validated.is_some() || challenge.error.is_some();
        let decided =
            self.status != AuthorizationStatus::Pending && self.challenges.iter().any(was_tried);
        let challenges: Value = self
            .challenges
            .iter()
            .filter(|challenge| !decided || was_tried(challenge))
            .map(|challenge| challenge.to_json(shared, id))
            .collect();
        let mut document = json!({
            "identifier": identifier::base_to_json(&self.identifier),
            "status": self.status.as_str(),
            "expires": self.expires.to_string(),
            "challenges": challenges,
        });
        if let Some(fields) = document.as_object_mut()
            && identifier::is_wildcard(&self.identifier)
        {
            fields.insert("wildcard".into(), true.into());
        }
        document
    }
}

impl Challenge {
    pub(super) fn to_json(&self, shared: &Shared, authorization: u64) -> Value {
        let mut document = json!({
            "type": self.kind.as_str(),
            "url": shared.url(Route::Challenge(authorization, self.kind)),
            "token": self.token,
            "status": self.status.as_str(),
        });
        let Some(fields) = document.as_object_mut() else { return document };
        if let Some(validated) = self.validated {
            fields.insert("validated".into(), validated.to_string().into());
        }
        if let Some(error) = &self.error {
            fields.insert("error".into(), error.to_json());
        }
        if !self.records.is_empty() {
            fields.insert("validationRecord".into(), self.records.iter().cloned().collect());
        }
        document
    }
}

#[derive(Debug, Deserialize)]
struct Update {
    status: String,
}

/// The authorization: read, or deactivated (section 7.5.2).
pub(super) fn authorization(
    shared: &Shared,
    world: &mut World,
    id: u64,
    signed: &Signed,
) -> Result<Reply, Problem> {
    let now = shared.now();
    let found = world.authorization_of(signed.account()?, id)?;
    found.settle(now);
    if !signed.is_read() {
        let update: Update = signed.parse()?;
        if update.status != "deactivated" {
            let detail = format!("an authorization cannot become {:?}", update.status);
            return Err(Problem::malformed(detail));
        }
        if found.status.is_failure() {
            return Err(Problem::malformed("the authorization is final already"));
        }
        found.status = AuthorizationStatus::Deactivated;
    }
    let reply = Reply::json(200, found.to_json(shared, id));
    let waiting = found.status == AuthorizationStatus::Pending;
    Ok(reply.retry_after(shared.options.retry_after.clone().filter(|_| waiting)))
}
