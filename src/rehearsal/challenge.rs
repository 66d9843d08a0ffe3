//! Challenges (RFC 8555 section 7.5.1): read, accepted, validated in a separate task.

use std::sync::Arc;

use serde::Deserialize;

use super::Shared;
use super::authorization::ChallengeKind;
use super::identifier;
use super::jws::Signed;
use super::lock;
use super::problem::Problem;
use super::reply::Reply;
use super::route::Route;
use super::validate::{self, Attempt, Verdict};
use super::world::World;
use crate::resource::AuthorizationState;

/// The payload that accepts a challenge: `{}`.
#[derive(Debug, Deserialize)]
struct Empty {}

/// The challenge. An accepted one is validated once: a second accept during the validation changes
/// nothing, and one after its end is refused, as public CAs do. A failed validation is final,
/// unless the CA leaves such challenges pending.
pub(super) fn challenge(
    shared: &Arc<Shared>,
    world: &mut World,
    id: u64,
    kind: ChallengeKind,
    signed: &Signed,
) -> Result<Reply, Problem> {
    let account = signed.account()?;
    let thumbprint = world.account(account)?.thumbprint.clone();
    let found = world.authorization_of(account, id)?;
    found.settle(shared.now());
    let subject = found.identifier.clone();
    let authorization_status = found.status.clone();
    let Some(challenge) = found.challenge(kind) else {
        return Err(Problem::not_found("challenge"));
    };
    if !signed.is_read() {
        signed.parse::<Empty>()?;
        match (&authorization_status, &challenge.status) {
            (AuthorizationState::Pending, AuthorizationState::Pending) => {
                challenge.status = AuthorizationState::Processing;
                let attempt = Attempt {
                    authorization: id,
                    kind,
                    host: identifier::base(&subject),
                    identifier: subject,
                    token: challenge.token.clone(),
                    key_authorization: format!("{}.{thumbprint}", challenge.token),
                };
                begin(shared, attempt);
            }
            (AuthorizationState::Pending, AuthorizationState::Processing) => {}
            (status, _) => {
                let detail = format!("the authorization is {}, not pending", status.as_str());
                return Err(Problem::malformed(detail));
            }
        }
    }
    let waiting = challenge.status == AuthorizationState::Processing;
    Ok(Reply::json(200, challenge.to_json(shared, id))
        .link(&shared.url(Route::Authorization(id)), "up")
        .retry_after(shared.options.retry_after.clone().filter(|_| waiting)))
}

fn begin(shared: &Arc<Shared>, attempt: Attempt) {
    let task = Arc::clone(shared);
    shared.spawn(async move {
        let verdict = validate::validate(&task, &attempt).await;
        absorb(&task, &attempt, verdict);
    });
}

fn absorb(shared: &Shared, attempt: &Attempt, verdict: Verdict) {
    let now = shared.now();
    let mut world = lock(&shared.world);
    let Some(authorization) = world.authorizations.get_mut(&attempt.authorization) else { return };
    let valid = verdict.result.is_ok();
    let stays_pending = !valid && shared.options.leaves_pending;
    if let Some(challenge) = authorization.challenge(attempt.kind) {
        challenge.records = verdict.records;
        challenge.validated = Some(now).filter(|_| !stays_pending);
        challenge.error = verdict.result.err();
        challenge.status = match (valid, stays_pending) {
            (true, _) => AuthorizationState::Valid,
            (false, true) => AuthorizationState::Pending,
            (false, false) => AuthorizationState::Invalid,
        };
    }
    if stays_pending {
        return;
    }
    // One failed challenge decides the authorization (RFC 8555 section 7.1.6), unless it was
    // deactivated in the meantime.
    if authorization.status == AuthorizationState::Pending {
        if valid {
            authorization.status = AuthorizationState::Valid;
            authorization.expires = super::plus(now, shared.options.authorization_lifetime);
        } else {
            authorization.status = AuthorizationState::Invalid;
        }
    }
}
