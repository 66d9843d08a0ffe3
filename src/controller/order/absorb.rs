//! The transitions of an order: a total match on (effect, outcome).

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::end::{end_challenges, fail, given_up};
use super::replaces;
use super::unreachable::end_of_stuck;
use crate::controller::run::FINALIZE_TRIES;
use crate::controller::{
    Change, Effect, EffectError, IllegalOutcome, OrderRun, OrderSeen, OthersOrder, Outcome, Record,
    Run, Snapshot, challenge,
};
use crate::resource::{
    Authorization, CauseKind, Challenge, FailedOrder, Order, OrderPhase, OrderState, OrderUrls,
    Phase, Reason, rfc3339,
};

/// How often the download is retried when the CA does not have the certificate yet.
const DOWNLOAD_TRIES: u32 = 12;

/// How often one run orders anew because another certificate had finalized its order.
const OTHERS_ORDERS: u32 = 1;
/// The CA's servers know of it by then.
const BEFORE_ANOTHER: SignedDuration = SignedDuration::from_secs(5);

/// Applies the outcome of `CreateOrder`, `ReadOrder`, `Finalize` or `Download`.
pub fn absorb(
    snapshot: &mut Snapshot,
    effect: &Effect,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let Some(mut order) = snapshot.current_order().cloned() else {
        return Err(IllegalOutcome::new("no order", &outcome));
    };
    match (effect, outcome) {
        (Effect::CreateOrder { .. }, Outcome::HeldOrder(url)) => {
            snapshot.run.order.note_answer(now);
            snapshot.run.order.others = Some(OthersOrder::Held { url });
            Ok(Record::default())
        }
        // No CSR was sent for it.
        (Effect::CreateOrder { .. }, Outcome::Order(seen))
            if matches!(seen.state, OrderState::Processing | OrderState::Valid)
                && snapshot.run.order.finalized_by_others < OTHERS_ORDERS =>
        {
            let run = &mut snapshot.run.order;
            run.note_answer(now);
            run.finalized_by_others += 1;
            let again = now.saturating_add(BEFORE_ANOTHER).unwrap_or(now);
            run.others = Some(OthersOrder::Finalized { again });
            Ok(Record::default())
        }
        (Effect::ReadOrder { .. }, Outcome::Order(seen))
            if is_finalized_by_another(&snapshot.run.order, &order, &seen.state) =>
        {
            Ok(others(snapshot, &order, now))
        }
        (
            Effect::CreateOrder { .. } | Effect::ReadOrder { .. } | Effect::Finalize { .. },
            Outcome::Order(seen),
        ) => Ok(order_seen(snapshot, order, effect, *seen, now)),
        (Effect::Download { .. }, Outcome::Certificate { pem, leaf }) => {
            let OrderPhase::Downloading { urls, certificate_url } = order.phase else {
                let outcome = Outcome::Certificate { pem, leaf };
                return Err(IllegalOutcome::new(order.phase.word(), &outcome));
            };
            order.phase = OrderPhase::Issued { urls, certificate_url, certificate: pem };
            order.state = OrderState::Valid;
            Ok(Record::of(Change::Order(Box::new(order))).normal(
                now,
                Reason::Complete,
                "Order completed successfully",
            ))
        }
        (Effect::Download { .. }, Outcome::OtherKey(error)) => {
            if snapshot.run.order.csr_is_taken
                || snapshot.run.order.finalized_by_others >= OTHERS_ORDERS
            {
                return Ok(refusal(&mut snapshot.run, order, effect, &error, now));
            }
            Ok(others(snapshot, &order, now))
        }
        (Effect::CreateOrder { .. }, Outcome::Failed(error))
            if replaces::is_refused(&order, &error) =>
        {
            snapshot.run.order.note_answer(now);
            Ok(replaces::without(order, &error, now))
        }
        (_, Outcome::Failed(error)) => Ok(refusal(&mut snapshot.run, order, effect, &error, now)),
        (_, other) => Err(IllegalOutcome::new(order.phase.word(), &other)),
    }
}

/// Applies an order as the CA shows it.
fn order_seen(
    snapshot: &mut Snapshot,
    mut order: Order,
    effect: &Effect,
    mut seen: OrderSeen,
    now: Timestamp,
) -> Record {
    if let Some(expired) = expired_before(&snapshot.run.order, effect, &order, &seen, now) {
        snapshot.run.order.note_replaced();
        return Record::of(Change::Order(Box::new(expired)));
    }
    run_after_read(&mut snapshot.run.order, effect, &seen, now);
    if ran_out(snapshot, effect, &order, &seen, now) {
        seen.state = OrderState::Expired;
        end_challenges(&mut order);
    }
    let newly_valid = settle_authorizations(&mut order, &seen);
    let (before, retry_after) = (order.phase.clone(), seen.retry_after);
    follow(&mut order, seen, effect);
    if !matches!(effect, Effect::CreateOrder { .. }) {
        snapshot.run.order.note_look((&before, &order.phase), retry_after, now);
    }
    if let Some(ended) = end_of_stuck(snapshot, &order, now) {
        order = ended;
    }
    let mut record = Record::of(Change::Order(Box::new(order)));
    for message in newly_valid {
        record = record.normal(now, Reason::DomainVerified, message);
    }
    record
}

/// Whether an order that was ready has got a CSR, although this run made it and has not sent one.
fn is_finalized_by_another(run: &OrderRun, order: &Order, state: &OrderState) -> bool {
    matches!(order.phase, OrderPhase::Finalizing(_))
        && matches!(state, OrderState::Processing | OrderState::Valid)
        && run.was_requested
        && run.finalize_tries == 0
        && run.finalized_by_others < OTHERS_ORDERS
}

/// Gives up an order that another certificate has finalized.
fn others(snapshot: &mut Snapshot, order: &Order, now: Timestamp) -> Record {
    snapshot.run.order.note_finalized_by_others();
    let why = "the CA had given the same order to another certificate";
    Record::of(Change::Order(Box::new(given_up(order, why, now))))
}

/// Applies the order, as the CA shows it, to this run.
fn run_after_read(run: &mut OrderRun, effect: &Effect, seen: &OrderSeen, now: Timestamp) {
    run.was_seen |= !seen.state.is_failure();
    if matches!(effect, Effect::ReadOrder { .. }) {
        run.is_known = true;
        return;
    }
    run.note_answer(now);
    if matches!(effect, Effect::Finalize { .. }) {
        run.finalize_tries += 1;
        run.csr_is_taken = true;
    } else {
        run.was_requested = true;
        // Another certificate may have finalized it before this one could take it.
        run.is_known = seen.state != OrderState::Ready;
        run.csr_is_taken = false;
    }
}

/// Applies an error to this run. An unreachable server is not contacted again in it;
/// every other error is in the order's own record.
fn run_after_refusal(run: &mut Run, effect: &Effect, error: &EffectError, now: Timestamp) {
    let mut is_over = error.kind() == CauseKind::Transient;
    let outlasts_the_run = is_over && error.outlasts_a_run();
    if matches!(effect, Effect::Finalize { .. }) {
        run.order.finalize_tries += 1;
        run.order.finalize_refusal = Some(error.clone());
        run.order.is_known = false;
        run.order.note_vain_look(error.retry_after, now);
        // An unreachable CA has refused nothing: the next run continues the order.
        is_over &= run.order.finalize_tries >= FINALIZE_TRIES || outlasts_the_run;
    } else if matches!(effect, Effect::Download { .. }) {
        // A CA may need a moment between "valid" and serving the certificate.
        run.order.note_vain_look(error.retry_after, now);
        is_over |= error.kind() == CauseKind::Gone;
        is_over &= run.order.poll.looks >= DOWNLOAD_TRIES || outlasts_the_run;
    } else if matches!(effect, Effect::CreateOrder { .. }) {
        run.order.was_requested = true;
    } else {
        run.order.is_known = true;
    }
    if is_over {
        run.error = Some((effect.doing(), error.clone()));
    }
}

/// The end of an order of an earlier run that the CA still shows, although its time is over: what is
/// sent to it would be refused.
fn expired_before(
    run: &OrderRun,
    effect: &Effect,
    order: &Order,
    seen: &OrderSeen,
    now: Timestamp,
) -> Option<Order> {
    let is_open = match &seen.state {
        OrderState::Unknown | OrderState::Pending | OrderState::Ready | OrderState::Other(_) => {
            true
        }
        OrderState::Processing
        | OrderState::Valid
        | OrderState::Invalid
        | OrderState::Expired
        | OrderState::Errored => false,
    };
    let is_read = matches!(effect, Effect::ReadOrder { .. });
    let expired = seen.expires.or(order.expires).filter(|expires| *expires <= now)?;
    let why = format!("it expired at {}", rfc3339(expired));
    (is_read && is_open && !run.was_requested).then(|| given_up(order, &why, now))
}

/// Whether an order is invalid because it expired before this run read it, without any "accept":
/// RFC 8555 section 7.1.6 has no other state for that, and it says nothing about the names.
fn ran_out(
    snapshot: &Snapshot,
    effect: &Effect,
    order: &Order,
    seen: &OrderSeen,
    now: Timestamp,
) -> bool {
    let run = &snapshot.run.order;
    let is_accepted = |c: &Challenge| matches!(c.phase(), Some(Phase::Accepting | Phase::Accepted));
    matches!(effect, Effect::ReadOrder { .. })
        && order.phase.is_being_authorized()
        && !order.challenges.iter().any(is_accepted)
        && seen.state == OrderState::Invalid
        && !run.was_requested
        && !run.was_seen
        && seen.expires.or(order.expires).is_some_and(|expires| expires <= now)
}

/// Marks the challenges of an order past pending as valid, whatever was last read of them.
fn settle_authorizations(order: &mut Order, seen: &OrderSeen) -> Vec<String> {
    let proven =
        matches!(seen.state, OrderState::Ready | OrderState::Processing | OrderState::Valid);
    if !proven {
        return Vec::new();
    }
    let mut verified = Vec::new();
    for challenge in order.challenges.iter_mut().filter(|c| c.pending().is_some()) {
        verified.push(challenge::verified(challenge));
    }
    verified
}

/// Applies the order's state at the CA, and returns the next phase.
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
    // URLs that the CA says anew are taken, except the one by which the order is known.
    let urls = match order.phase.urls() {
        Some(known) if finalize_url.is_empty() => known.clone(),
        Some(known) => OrderUrls { finalize_url, ..known.clone() },
        None => OrderUrls { url, finalize_url },
    };
    if let Some(known) = order.phase.urls_mut() {
        known.clone_from(&urls);
    }
    order.expires = expires.or(order.expires);
    let had_none = order.authorizations.is_empty();
    take_authorizations(order, authorizations);
    if state.is_failure() {
        order.reason = match &problem {
            Some(problem) => problem.to_string(),
            None => format!("the CA says the order is {}", state.as_str()),
        };
    }
    let known = order.phase.certificate_url().map(str::to_owned);
    order.phase = match (&state, &order.phase) {
        (
            OrderState::Pending | OrderState::Unknown | OrderState::Other(_),
            OrderPhase::Creating,
        ) => OrderPhase::Authorizing(urls),
        // A server that is not ready in time is queried again.
        (
            OrderState::Pending | OrderState::Unknown | OrderState::Other(_),
            OrderPhase::Finalizing(_),
        ) if matches!(effect, Effect::Finalize { .. }) => OrderPhase::Awaiting(urls),
        (
            OrderState::Pending | OrderState::Unknown | OrderState::Other(_),
            OrderPhase::Solving(_),
        ) if had_none && !order.authorizations.is_empty() => OrderPhase::Authorizing(urls),
        (OrderState::Pending | OrderState::Unknown | OrderState::Other(_), phase) => phase.clone(),
        (OrderState::Ready, _) => OrderPhase::Finalizing(urls),
        // No CSR was sent: there is nothing of ours to wait for.
        (OrderState::Processing, OrderPhase::Creating | OrderPhase::Authorizing(_)) => {
            OrderPhase::Authorizing(urls)
        }
        (OrderState::Processing, OrderPhase::Solving(_)) => OrderPhase::Solving(urls),
        (OrderState::Processing, _) => OrderPhase::Awaiting(urls),
        (OrderState::Valid, _) => match certificate_url.or(known) {
            Some(certificate_url) => OrderPhase::Downloading { urls, certificate_url },
            None => OrderPhase::Awaiting(urls),
        },
        // The challenges' own errors are read before the order is final.
        (OrderState::Invalid, OrderPhase::Solving(_) | OrderPhase::Refused { .. }) => {
            OrderPhase::Refused { urls, problem }
        }
        (OrderState::Invalid | OrderState::Expired | OrderState::Errored, _) => {
            let urls = Some(urls);
            OrderPhase::Failed(FailedOrder { urls, problem, ..FailedOrder::default() })
        }
    };
    order.state = state;
}

/// What was read of an authorization stays; the others are those that the CA says now.
fn take_authorizations(order: &mut Order, urls: Vec<String>) {
    let has_unread = order.authorizations.iter().any(|known| known.identifier.is_none());
    if urls.is_empty() || !(has_unread || order.authorizations.is_empty()) {
        return;
    }
    order.authorizations.retain(|known| known.identifier.is_some() || urls.contains(&known.url));
    for url in urls {
        if order.authorizations.iter().all(|known| known.url != url) {
            order.authorizations.push(Arc::new(unread(url)));
        }
    }
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

/// Applies an error: read the order where the effect may have succeeded already, else fail.
pub(super) fn refusal(
    run: &mut Run,
    mut order: Order,
    effect: &Effect,
    error: &EffectError,
    now: Timestamp,
) -> Record {
    run_after_refusal(run, effect, error, now);
    let not_ready = error.problem().is_some_and(|p| p.short_kind() == "orderNotReady");
    let conflict = error.problem().and_then(|p| p.status).is_some_and(|s| s == 403);
    match (effect, error.kind()) {
        (Effect::ReadOrder { .. }, CauseKind::Gone) => order.state = OrderState::Expired,
        (Effect::Finalize { .. }, CauseKind::Transient | CauseKind::Gone) => {
            return read_again(order);
        }
        (Effect::Finalize { .. }, CauseKind::Refused) if not_ready || conflict => {
            return read_again(order);
        }
        // The certificate is not there yet, the response may be lost, or the server is unreachable:
        // nothing changes.
        (Effect::Download { .. }, CauseKind::Gone)
        | (_, CauseKind::Transient | CauseKind::State | CauseKind::Precondition) => {
            return Record::default();
        }
        (
            _,
            CauseKind::Refused
            | CauseKind::Unusable
            | CauseKind::Unauthorized
            | CauseKind::Denied
            | CauseKind::Program
            | CauseKind::Local
            | CauseKind::Gone,
        ) => order.state = OrderState::Errored,
    }
    if let Effect::ReadAuthorization { url, .. } = effect {
        challenge::authorization_refused(&mut order, url, error);
    }
    fail(&mut order, error.failure(effect.doing()));
    Record::of(Change::Order(Box::new(order)))
}

/// Whether the CA accepted the CSR is read from the CA.
fn read_again(mut order: Order) -> Record {
    if let OrderPhase::Finalizing(urls) = order.phase {
        order.phase = OrderPhase::Awaiting(urls);
    }
    Record::of(Change::Order(Box::new(order)))
}
