//! Authorizations and their challenges (RFC 8555 section 7.5).

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::resource::{AuthorizationState, Identifier};

use super::Shared;
use super::identifier;
use super::jws::Signed;
use super::problem::{Problem, ProblemType, with_some};
use super::reply::Reply;
use super::route::Route;
use super::world::World;

/// The challenge types offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeKind {
    Http01,
    Dns01,
    TlsAlpn01,
}

impl ChallengeKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Http01 => "http-01",
            Self::Dns01 => "dns-01",
            Self::TlsAlpn01 => "tls-alpn-01",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        let all = [Self::Http01, Self::Dns01, Self::TlsAlpn01];
        all.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The challenge types that may prove control: DNS-01 for no address, the others for no wildcard.
    fn offered_for(subject: &Identifier) -> &'static [Self] {
        match subject {
            Identifier::Dns(name) if name.is_wildcard() => &[Self::Dns01],
            Identifier::Dns(_) => &[Self::Http01, Self::Dns01, Self::TlsAlpn01],
            Identifier::Ip(_) => &[Self::Http01, Self::TlsAlpn01],
        }
    }
}

/// One challenge.
#[derive(Clone, Debug)]
pub(super) struct Challenge {
    pub(super) kind: ChallengeKind,
    pub(super) token: String,
    pub(super) status: AuthorizationState,
    pub(super) validated: Option<Timestamp>,
    pub(super) error: Option<Problem>,
    pub(super) records: Vec<Value>,
}

/// One authorization.
#[derive(Clone, Debug)]
pub(super) struct Authorization {
    pub(super) account: u64,
    /// As ordered, `*.` included.
    pub(super) identifier: Identifier,
    pub(super) status: AuthorizationState,
    pub(super) expires: Timestamp,
    pub(super) challenges: Vec<Challenge>,
}

impl Authorization {
    pub(super) fn new(
        account: u64,
        subject: Identifier,
        status: AuthorizationState,
        expires: Timestamp,
        token: impl Fn() -> String,
    ) -> Self {
        let is_decided = matches!(status, AuthorizationState::Valid | AuthorizationState::Invalid);
        let of_challenge = if is_decided { status.clone() } else { AuthorizationState::Pending };
        let challenges = ChallengeKind::offered_for(&subject).iter().map(|kind| Challenge {
            kind: *kind,
            token: token(),
            status: of_challenge.clone(),
            validated: None,
            error: None,
            records: Vec::new(),
        });
        let challenges = challenges.collect();
        Self { account, identifier: subject, status, expires, challenges }
    }

    pub(super) fn settle(&mut self, now: Timestamp) {
        if !self.status.is_failure() && self.expires <= now {
            self.status = AuthorizationState::Expired;
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
            self.status != AuthorizationState::Pending && self.challenges.iter().any(was_tried);
        let challenges: Value = self
            .challenges
            .iter()
            .filter(|challenge| !decided || was_tried(challenge))
            .map(|challenge| challenge.to_json(shared, id))
            .collect();
        let document = json!({
            "identifier": identifier::base_to_json(&self.identifier),
            "status": self.status.as_str(),
            "expires": self.expires.to_string(),
            "challenges": challenges,
        });
        let is_wildcard = identifier::is_wildcard(&self.identifier);
        with_some(document, [("wildcard", is_wildcard.then_some(true.into()))])
    }
}

impl Challenge {
    pub(super) fn to_json(&self, shared: &Shared, authorization: u64) -> Value {
        let document = json!({
            "type": self.kind.as_str(),
            "url": shared.url(Route::Challenge(authorization, self.kind)),
            "token": self.token,
            "status": self.status.as_str(),
        });
        let records = (!self.records.is_empty()).then(|| self.records.iter().cloned().collect());
        with_some(
            document,
            [
                ("validated", self.validated.map(|at| at.to_string().into())),
                ("error", self.error.as_ref().map(Problem::to_json)),
                ("validationRecord", records),
            ],
        )
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
        found.status = AuthorizationState::Deactivated;
    }
    let reply = Reply::json(200, found.to_json(shared, id));
    let waiting = found.status == AuthorizationState::Pending;
    Ok(reply.retry_after(shared.options.retry_after.clone().filter(|_| waiting)))
}
