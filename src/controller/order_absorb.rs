//! What an outcome means for an order: a total match on (deed, outcome).

use std::sync::Arc;

use jiff::Timestamp;

use super::order::{failure, given_up};
use super::{
    AuthorizationSeen, Change, DeedError, DeedErrorKind, Effect, Failure, IllegalOutcome,
    OrderSeen, Outcome, Record, Snapshot, account, challenge,
};
use crate::resource::{
    Authorization, AuthorizationState, Challenge, ChallengeSpec, CleanUp, Deed, FailureClass,
    Order, OrderState, Phase, Reason, pick_solver,
};

/// What the outcome of `CreateOrder`, `ReadOrder`, `Finalize` or `Download` means.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other outcome is refused, not kept")]
pub fn absorb(
    snapshot: &Snapshot,
    effect: &Effect,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let Some(order) = snapshot.current_order() else {
        return Err(IllegalOutcome::new("no order", &outcome));
    };
    let mut order = order.clone();
    match outcome {
        Outcome::Order(mut seen) => {
            if ran_out(snapshot, effect, &order, &seen, now) {
                seen.state = OrderState::Expired;
                for challenge in &mut order.challenges {
                    challenge.phase = Phase::Final;
                }
            }
            let newly_valid = settle_authorizations(&mut order, &seen);
            follow(&mut order, *seen, effect);
            let mut record = Record::of(Change::Order(Box::new(order)));
            for identifier in newly_valid {
                let message = format!("Domain \"{identifier}\" verified");
                record = record.normal(now, Reason::DomainVerified, message);
            }
            Ok(record)
        }
        Outcome::Certificate { pem, .. } => {
            order.certificate = Some(pem);
            order.state = OrderState::Valid;
            order.deed = Deed::Nothing;
            Ok(Record::of(Change::Order(Box::new(order))).normal(
                now,
                Reason::Complete,
                "Order completed successfully",
            ))
        }
        Outcome::Failed(error) => Ok(refused(order, effect, &error)),
        other => Err(IllegalOutcome::new(format!("{:?}", order.deed), &other)),
    }
}

/// Whether an order is invalid for having expired before this run looked, when the CA was never
/// told to look: RFC 8555 section 7.1.6 has no other word for it, and it says nothing about the
/// names.
fn ran_out(
    snapshot: &Snapshot,
    effect: &Effect,
    order: &Order,
    seen: &OrderSeen,
    now: Timestamp,
) -> bool {
    let run = &snapshot.run;
    let was_asked = |c: &Challenge| matches!(c.phase, Phase::Accepting | Phase::Accepted);
    *effect == Effect::ReadOrder
        && matches!(order.deed, Deed::Authorize | Deed::Solve)
        && !order.challenges.iter().any(was_asked)
        && seen.state == OrderState::Invalid
        && !run.ordered
        && !run.order_was_seen
        && seen.expires.or(order.expires).is_some_and(|expires| expires <= now)
}

/// Challenges whose order has gone past pending are proven, whatever was last seen of them.
fn settle_authorizations(order: &mut Order, seen: &OrderSeen) -> Vec<String> {
    let proven =
        matches!(seen.state, OrderState::Ready | OrderState::Processing | OrderState::Valid);
    if !proven {
        return Vec::new();
    }
    let mut verified = Vec::new();
    for challenge in order.challenges.iter_mut().filter(|c| c.phase != Phase::Final) {
        verified.push(challenge::verified(challenge));
    }
    verified
}

/// Takes over what the CA says, and names the deed that follows from it.
fn follow(order: &mut Order, seen: OrderSeen, effect: &Effect) {
    let OrderSeen {
        url,
        state,
        authorizations,
        finalize_url,
        certificate_url,
        expires,
        problem,
        ..
    } = seen;
    order.url.get_or_insert(url);
    order.finalize_url.get_or_insert(finalize_url);
    if order.certificate_url.is_none() {
        order.certificate_url = certificate_url;
    }
    order.expires = expires.or(order.expires);
    if order.authorizations.is_empty() {
        order.authorizations = authorizations.into_iter().map(unread).collect();
    }
    order.deed = match &state {
        OrderState::Pending | OrderState::Unknown | OrderState::Other(_) => match order.deed {
            Deed::Create => Deed::Authorize,
            // A server that does not say ready in time is asked again.
            Deed::Finalize if matches!(effect, Effect::Finalize) => Deed::Await,
            Deed::Authorize
            | Deed::Solve
            | Deed::Finalize
            | Deed::Await
            | Deed::Download
            | Deed::Nothing => order.deed,
        },
        OrderState::Ready => Deed::Finalize,
        OrderState::Processing => Deed::Await,
        OrderState::Valid => Deed::Download,
        // The challenges' own errors are read before it is final.
        OrderState::Invalid if order.deed == Deed::Solve => Deed::Solve,
        OrderState::Invalid | OrderState::Expired | OrderState::Errored => Deed::Nothing,
    };
    if state.is_failure() {
        order.reason = match &problem {
            Some(problem) => problem.to_string(),
            None => format!("the CA says the order is {}", state.as_str()),
        };
        order.problem = problem;
    }
    // An order is invalid for good only once its challenges have been asked why.
    order.state = state;
}

fn unread(url: String) -> Authorization {
    Authorization {
        url,
        identifier: None,
        wildcard: false,
        initial_state: None,
        challenges: Arc::default(),
    }
}

/// A refusal: look at the server where the deed may have been done already, else the end.
fn refused(mut order: Order, effect: &Effect, error: &DeedError) -> Record {
    let not_ready = error.problem.as_ref().is_some_and(|p| p.short_kind() == "orderNotReady");
    let conflict = error.problem.as_ref().and_then(|p| p.status).is_some_and(|s| s == 403);
    match (effect, error.kind) {
        (Effect::ReadOrder, DeedErrorKind::Gone) => order.state = OrderState::Expired,
        (Effect::Finalize, DeedErrorKind::Transient | DeedErrorKind::Gone) => {
            order.deed = Deed::Await;
            return Record::of(Change::Order(Box::new(order)));
        }
        (Effect::Finalize, DeedErrorKind::Refused) if not_ready || conflict => {
            order.deed = Deed::Await;
            return Record::of(Change::Order(Box::new(order)));
        }
        // The certificate is not there yet, the reply may be lost, or the server is away: nothing
        // is known, nothing changes.
        (Effect::Download, DeedErrorKind::Gone)
        | (_, DeedErrorKind::Transient | DeedErrorKind::State | DeedErrorKind::Precondition) => {
            return Record::default();
        }
        (
            _,
            DeedErrorKind::Refused
            | DeedErrorKind::Unusable
            | DeedErrorKind::Denied
            | DeedErrorKind::Broken
            | DeedErrorKind::Local
            | DeedErrorKind::Gone,
        ) => order.state = OrderState::Errored,
    }
    order.reason = format!("{}: {error}", doing(effect));
    order.problem = error.problem.as_deref().cloned();
    if let Effect::ReadAuthorization { url } = effect {
        challenge::authorization_refused(&mut order, url, error);
    }
    finish(&mut order);
    Record::of(Change::Order(Box::new(order)))
}

/// The CA does not know the account that asked: the order is gone with it. The first time in a run
/// the account is made again, and another order after it, uncounted; the second time is a failure.
pub(super) fn account_unknown(
    snapshot: &Snapshot,
    effect: &Effect,
    error: &DeedError,
    now: Timestamp,
) -> Record {
    // Several deeds of one order hear the same.
    let order = snapshot.current_order().filter(|order| order.deed != Deed::Nothing);
    let Some(order) = order else { return Record::default() };
    let url = &order.spec.account_url;
    if snapshot.run.account_is_lost {
        let order = given_up(order, "the CA has forgotten the account that ordered", now);
        let message = account::lost(url, error);
        return Record::of(Change::Order(Box::new(order))).warning(
            now,
            Reason::ErrVerifyACMEAccount,
            message,
        );
    }
    let mut order = order.clone();
    order.reason = format!(
        "{}: the CA does not know the account {url}, which was registered again in this run: \
         {error}",
        doing(effect)
    );
    order.state = OrderState::Errored;
    order.problem = error.problem.as_deref().cloned();
    finish(&mut order);
    Record::of(Change::Order(Box::new(order)))
}

/// Nothing more is done for this order; what it has put out is owed.
fn finish(order: &mut Order) {
    order.deed = Deed::Nothing;
    for challenge in &mut order.challenges {
        challenge.phase = Phase::Final;
    }
}

/// What was being done, as cert-manager says it.
pub(super) fn doing(effect: &Effect) -> &'static str {
    match effect {
        Effect::CreateOrder => "Failed to create Order",
        Effect::ReadOrder => "Failed to retrieve Order resource",
        Effect::Finalize => "Failed to finalize Order",
        Effect::Download => "Failed to retrieve signed certificate",
        Effect::ReadAuthorization { .. } => "Failed to fetch authorization",
        Effect::FindAccount | Effect::RegisterAccount | Effect::ObtainAccountKey => {
            "Failed to register ACME account"
        }
        Effect::UpdateContacts => "Failed to update ACME account",
        Effect::Accept { .. } => "Error accepting challenge",
        Effect::Locate { .. } | Effect::Present { .. } => "Error presenting challenge",
        Effect::CleanUp { .. } => "Error cleaning up challenge",
        Effect::BuildRequest => "Failed to generate CSR",
        Effect::GenerateKey { .. } | Effect::ReuseKey => "Failed to make the private key",
        Effect::Publish | Effect::PublishTemporary | Effect::Rewrite => {
            "Failed to write the Secret"
        }
        Effect::SelfCheck { .. }
        | Effect::Prepare { .. }
        | Effect::Deploy { .. }
        | Effect::Revoke { .. }
        | Effect::SwitchBack { .. }
        | Effect::RestoreLinks { .. }
        | Effect::DeactivateAccount => "",
    }
}

/// The failure that a final order is.
pub(super) fn failure_of(order: &Order) -> Failure {
    if let Some(challenge) = order.challenges.iter().find(|c| c.state.is_failure()) {
        return super::order::verdict(challenge);
    }
    failure(
        FailureClass::Ca,
        format!(
            "Failed to wait for order resource \"{}\" to become ready: order is in \"{}\" state: {}",
            order.name,
            order.state.as_str(),
            order.reason
        ),
    )
}

/// What an authorization that was read means: for an order that is being authorized, and for a
/// challenge whose verdict is asked for.
pub fn absorb_authorization(
    snapshot: &Snapshot,
    url: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let Some(order) = snapshot.current_order() else {
        return Err(IllegalOutcome::new("no order", &outcome));
    };
    let mut order = order.clone();
    match (order.deed, outcome) {
        (Deed::Authorize, Outcome::Authorization(seen)) => {
            let mut record = authorization_read(snapshot, &mut order, url, &seen, now);
            if order.authorizations.iter().all(|a| a.identifier.is_some())
                && order.deed == Deed::Authorize
            {
                order.deed = Deed::Solve;
            }
            record.changes.push(Change::Order(Box::new(order)));
            Ok(record)
        }
        (_, Outcome::Authorization(seen)) => {
            let record = challenge::authorization_seen(&snapshot.run, &mut order, url, &seen, now);
            let all_final = order.challenges.iter().all(|c| c.phase == Phase::Final);
            if order.state == OrderState::Invalid && all_final {
                order.deed = Deed::Nothing;
            }
            Ok(Record { changes: vec![Change::Order(Box::new(order))], ..record })
        }
        (_, Outcome::Failed(error)) => {
            Ok(refused(order, &Effect::ReadAuthorization { url: url.to_owned() }, &error))
        }
        (deed, other) => Err(IllegalOutcome::new(format!("{deed:?}"), &other)),
    }
}

/// Notes what was read, and makes the challenge that answers it, unless it is valid already.
fn authorization_read(
    snapshot: &Snapshot,
    order: &mut Order,
    url: &str,
    seen: &AuthorizationSeen,
    now: Timestamp,
) -> Record {
    if let Some(authorization) = order.authorizations.iter_mut().find(|a| a.url == url) {
        authorization.identifier = Some(seen.identifier.clone());
        authorization.wildcard = seen.wildcard;
        authorization.initial_state = Some(seen.state.clone());
        authorization.challenges = seen.challenges.iter().map(|(o, _)| o.clone()).collect();
    }
    if seen.state == AuthorizationState::Valid || already_challenged(order, url) {
        return Record::default();
    }
    let name = asked_name(seen);
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
            finish(order);
            Record::default().warning(now, Reason::Solver, order.reason.clone())
        }
    }
}

fn already_challenged(order: &Order, url: &str) -> bool {
    order.challenges.iter().any(|c| c.spec.authorization_url == url)
}

fn asked_name(seen: &AuthorizationSeen) -> String {
    if seen.wildcard { format!("*.{}", seen.identifier) } else { seen.identifier.to_string() }
}

fn new_challenge(
    snapshot: &Snapshot,
    order: &Order,
    url: &str,
    seen: &AuthorizationSeen,
) -> Result<Challenge, String> {
    let name = asked_name(seen);
    if !order.spec.identifiers.iter().any(|identifier| identifier.to_string() == name) {
        return Err("the CA wants proof for a name that was not ordered".to_owned());
    }
    if seen.state.is_failure() {
        return Err(format!("the CA says the authorization is {}", seen.state.as_str()));
    }
    let offered: Vec<_> = seen.challenges.iter().map(|(offered, _)| offered.kind.clone()).collect();
    let labels = &snapshot.certificate.metadata.labels;
    let solvers = &snapshot.issuer.acme.solvers;
    let solver = pick_solver(solvers, &seen.identifier, seen.wildcard, labels, &offered)
        .ok_or("no configured challenge solvers can be used for this challenge")?;
    let kind = solver.challenge_type();
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
        phase: Phase::Queued,
        state: seen.state.clone(),
        reason: String::new(),
        problem: None,
        check: None,
        accepts: None,
        presented_at: None,
        target: None,
        clean_up: CleanUp::NotOwed,
    })
}
