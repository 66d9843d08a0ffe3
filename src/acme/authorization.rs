//! Authorizations and challenges as the CA describes them (RFC 8555 sections 7.1.4 and 8).

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::answer::Answer;
use super::error::{AcmeError, excerpt};
use super::{field, problem};
use crate::resource::{AuthorizationState, ChallengeType, Identifier, Problem};

/// An authorization as the CA described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationView {
    pub url: String,
    /// The identifier, without `*.`.
    pub identifier: Identifier,
    /// Whether it is for `*.` identifier.
    pub wildcard: bool,
    pub state: AuthorizationState,
    /// When the CA deletes the authorization.
    pub expires: Option<Timestamp>,
    /// The challenges offered, in the CA's order.
    pub challenges: Vec<ChallengeView>,
    /// Retry-After, from now.
    pub retry_after: Option<SignedDuration>,
}

/// A challenge as the CA described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeView {
    pub kind: ChallengeType,
    /// The URL that "ready" is posted to.
    pub url: String,
    /// Its token; empty for types that have none.
    pub token: String,
    pub state: AuthorizationState,
    pub problem: Option<Problem>,
}

/// Reads an authorization object.
pub(super) fn read(answer: &Answer) -> Result<AuthorizationView, AcmeError> {
    let value = answer.json()?;
    let Some(identifier) = value.get("identifier") else {
        return Err(answer.malformed("the authorization has no `identifier`"));
    };
    let (identifier, starred) = without_star(field::identifier(answer, identifier)?);
    let wildcard = value.get("wildcard").and_then(Value::as_bool).unwrap_or_default();
    let challenges = value.get("challenges").and_then(Value::as_array);
    let challenges = challenges.into_iter().flatten().map(|one| read_challenge(answer, one));
    let is_cut_short = |one: &Result<_, _>| matches!(one, Err(AcmeError::Malformed { .. }));
    let (unusable, usable): (Vec<_>, Vec<_>) = challenges.partition(is_cut_short);
    // One that lacks a field spoils no other.
    let challenges = if usable.is_empty() { unusable } else { usable };
    Ok(AuthorizationView {
        url: answer.url.clone(),
        identifier,
        wildcard: wildcard || starred,
        state: AuthorizationState::from(field::word(&value, "status")),
        expires: field::time(&value, "expires"),
        challenges: challenges.into_iter().collect::<Result<_, _>>()?,
        retry_after: answer.retry_after,
    })
}

/// Reads a challenge object.
pub(super) fn read_challenge(answer: &Answer, value: &Value) -> Result<ChallengeView, AcmeError> {
    let kind = ChallengeType::from(field::word(value, "type"));
    let token = field::text(value, "token");
    let needed = kind.method().is_some();
    let shortest = if needed { SHORTEST_SAFE_TOKEN } else { 1 };
    if (needed || !token.is_empty()) && !is_token(token, shortest) {
        let token = excerpt(token, 200);
        return Err(AcmeError::BadToken { url: answer.url.clone(), token });
    }
    Ok(ChallengeView {
        kind,
        url: field::url(answer, value, "url")?,
        token: token.to_owned(),
        state: AuthorizationState::from(field::word(value, "status")),
        problem: value.get("error").and_then(|error| problem::parse(error, None)),
    })
}

/// Some CAs leave `*.` in the identifier, where RFC 8555 section 7.1.4 requires `wildcard` instead.
fn without_star(identifier: Identifier) -> (Identifier, bool) {
    if let Identifier::Dns(name) = &identifier
        && name.is_wildcard()
        && let Ok(base) = name.base().parse()
    {
        return (Identifier::Dns(base), true);
    }
    (identifier, false)
}

/// A token that is safe as a file name, in a URL's path and in a TXT record.
fn is_token(token: &str, shortest: usize) -> bool {
    (shortest..=LONGEST_TOKEN).contains(&token.len())
        && token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// 128 bits in base64url (RFC 8555 section 8.1).
const SHORTEST_SAFE_TOKEN: usize = 22;
const LONGEST_TOKEN: usize = 512;
