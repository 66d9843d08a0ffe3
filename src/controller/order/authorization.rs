//! The transitions after `ReadAuthorization`.

use std::sync::Arc;

use jiff::Timestamp;

use super::absorb::refusal;
use super::end::finish;
use crate::controller::{
    AuthorizationSeen, Change, Effect, IllegalOutcome, Outcome, Record, Run, Snapshot, challenge,
};
use crate::resource::{
    AuthorizationState, Challenge, ChallengeSpec, ChallengeState, ChallengeType, Chosen,
    Identifier, Order, OrderPhase, OrderState, PendingChallenge, Phase, Presented, Reason,
    ReasonSource,
};

/// Applies an authorization: to an order in phase Authorizing, and to an accepted challenge whose
/// verdict is wanted.
pub fn absorb_authorization(
    snapshot: &mut Snapshot,
    effect: &Effect,
    url: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let Some(mut order) = snapshot.current_order().cloned() else {
        return Err(IllegalOutcome::new("no order", &outcome));
    };
    if let Outcome::Authorization(seen) = &outcome {
        attempts_after(&mut snapshot.run, &order, url, seen, now);
    }
    match (&order.phase, outcome) {
        (OrderPhase::Authorizing(urls), Outcome::Authorization(seen)) => {
            let urls = urls.clone();
            let mut record = authorization_read(snapshot, &mut order, url, &seen, now);
            let all_read = order.authorizations.iter().all(|a| a.identifier.is_some());
            if all_read && order.phase.is_open() {
                order.phase = OrderPhase::Solving(urls);
            }
            record.changes.push(Change::Order(Box::new(order)));
            Ok(record)
        }
        (_, Outcome::Authorization(seen)) => {
            let record = challenge::authorization_seen(&snapshot.run, &mut order, url, &seen, now);
            let all_final = order.challenges.iter().all(|c| c.pending().is_none());
            if matches!(order.phase, OrderPhase::Refused { .. }) && all_final {
                order.phase = OrderPhase::Failed(order.phase.failed());
            }
            Ok(Record { changes: vec![Change::Order(Box::new(order))], ..record })
        }
        (_, Outcome::Failed(error)) => Ok(refusal(&mut snapshot.run, order, effect, &error, now)),
        (phase, other) => Err(IllegalOutcome::new(phase.word(), &other)),
    }
}

/// Applies it to this run. The CA has not received "accept" for a challenge that it still calls
/// pending.
fn attempts_after(
    run: &mut Run,
    order: &Order,
    url: &str,
    seen: &AuthorizationSeen,
    now: Timestamp,
) {
    for challenge in order.challenges.iter().filter(|c| c.spec.authorization_url == url) {
        let attempt = run.attempt_mut(&challenge.spec.url);
        attempt.looked = Some(now);
        attempt.looks = attempt.looks.saturating_add(1);
        let own = seen.seen.iter().find(|(url, _)| *url == challenge.spec.url);
        let Some((_, own)) = own else { continue };
        let was_unsure = std::mem::take(&mut attempt.is_unsure);
        if was_unsure && own.state != AuthorizationState::Pending {
            attempt.accept_tries = 0;
        }
        challenge::forget_failed_validation(attempt, own);
    }
}

/// Stores the authorization, and creates the challenge that answers it, unless it is valid already.
fn authorization_read(
    snapshot: &Snapshot,
    order: &mut Order,
    url: &str,
    seen: &AuthorizationSeen,
    now: Timestamp,
) -> Record {
    let seen = &AuthorizationSeen { wildcard: is_wildcard(order, url, seen), ..seen.clone() };
    if let Some(authorization) = order.authorizations.iter_mut().find(|a| a.url == url) {
        let authorization = Arc::make_mut(authorization);
        authorization.identifier = Some(seen.identifier.clone());
        authorization.wildcard = seen.wildcard;
        authorization.initial_state = Some(seen.state.clone());
        authorization.challenges = seen.challenges.iter().map(|(o, _)| o.clone()).collect();
    }
    if seen.state == AuthorizationState::Valid || already_challenged(order, url) {
        return Record::default();
    }
    let name = requested_name(seen);
    match new_challenge(snapshot, order, url, seen) {
        Ok(challenge) => {
            let number = order.challenges.len() + 1;
            let resource = format!("{}-{number}", order.name);
            let message =
                format!("Created Challenge resource \"{resource}\" for domain \"{name}\"");
            order.challenges.push(challenge);
            Record::default().normal(now, Reason::Created, message)
        }
        Err(why) => {
            order.state = OrderState::Errored;
            order.reason = format!("{name}: {why}");
            let failed = order.phase.failed();
            finish(order, failed);
            Record::default().warning(now, Reason::Solver, order.reason.clone())
        }
    }
}

/// Whether an authorization is for the wildcard of its name, where the CA does not say so (RFC 8555
/// section 7.1.4): the order has no other reading.
fn is_wildcard(order: &Order, url: &str, seen: &AuthorizationSeen) -> bool {
    let Identifier::Dns(name) = &seen.identifier else { return seen.wildcard };
    let wildcard = format!("*.{name}");
    let has = |wanted: &str| {
        order.spec.identifiers.iter().any(|identifier| identifier.to_string() == wanted)
    };
    // Another authorization is for the name itself.
    let is_taken = order.authorizations.iter().any(|other| {
        other.url != url && other.identifier.as_ref() == Some(&seen.identifier) && !other.wildcard
    });
    seen.wildcard || (has(&wildcard) && (!has(name.as_str()) || is_taken))
}

fn already_challenged(order: &Order, url: &str) -> bool {
    order.challenges.iter().any(|c| c.spec.authorization_url == url)
}

fn requested_name(seen: &AuthorizationSeen) -> String {
    if seen.wildcard { format!("*.{}", seen.identifier) } else { seen.identifier.to_string() }
}

fn new_challenge(
    snapshot: &Snapshot,
    order: &Order,
    url: &str,
    seen: &AuthorizationSeen,
) -> Result<Challenge, String> {
    let name = requested_name(seen);
    if !order.spec.identifiers.iter().any(|identifier| identifier.to_string() == name) {
        return Err("the CA wants proof for a name that was not ordered".to_owned());
    }
    if seen.state.is_failure() {
        return Err(format!("the CA says the authorization is {}", seen.state.as_str()));
    }
    let offered: Vec<_> = seen.challenges.iter().map(|(offered, _)| offered.kind.clone()).collect();
    let (issuer, certificate) = (snapshot.issuer(), &snapshot.certificate);
    let Chosen { solver, kind } = issuer
        .solver_for(certificate, &seen.identifier, seen.wildcard, &offered)
        .ok_or_else(|| {
            let offered: Vec<&str> = offered.iter().map(ChallengeType::as_str).collect();
            format!(
                "no configured challenge solvers can be used for this challenge (the CA offers {})",
                if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
            )
        })?;
    let (offered, key) = seen
        .challenges
        .iter()
        .find(|(offered, _)| offered.kind == kind)
        .ok_or("the CA does not offer the solver's challenge type")?;
    Ok(Challenge {
        spec: Arc::new(ChallengeSpec {
            authorization_url: url.to_owned(),
            kind,
            url: offered.url.clone(),
            identifier: seen.identifier.clone(),
            wildcard: seen.wildcard,
            token: offered.token.clone(),
            key: key.clone(),
            solver: solver.clone(),
        }),
        state: ChallengeState::Pending(PendingChallenge {
            phase: Phase::Queued,
            authorization: seen.state.clone(),
            problem: None,
            check: None,
            accepts: None,
        }),
        reason: String::new(),
        reason_source: ReasonSource::Other,
        presented: Presented::default(),
    })
}
