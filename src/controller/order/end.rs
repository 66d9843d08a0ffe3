//! How an order ends without a certificate.

use jiff::Timestamp;

use crate::resource::{
    Cause, Challenge, ChallengeFailure, Doing, FailedOrder, Failure, Order, OrderFailure,
    OrderPhase, OrderState,
};

/// An order that another one replaces: its clean-ups are owed.
pub(super) fn replaced(order: &Order, why: &str) -> Order {
    let phase = OrderPhase::Replaced { urls: order.phase.urls().cloned() };
    let reason = why.to_owned();
    let mut order = Order { phase, reason, ..order.clone() };
    end_challenges(&mut order);
    order
}

/// The same for an order whose request stays: another order replaces it, uncounted, as
/// for one that expired.
pub fn given_up(order: &Order, why: &str, now: Timestamp) -> Order {
    let mut order = Order { state: OrderState::Expired, reason: why.to_owned(), ..order.clone() };
    let failed = FailedOrder { at: Some(now), ..order.phase.failed() };
    finish(&mut order, failed);
    order
}

/// An order that ends by a failure other than the CA's verdict.
pub(in crate::controller) fn failed(order: &Order, failure: Failure) -> Order {
    let mut order = Order { state: OrderState::Errored, ..order.clone() };
    fail(&mut order, failure);
    order
}

/// Ends an order by a failure, and records it.
pub(super) fn fail(order: &mut Order, failure: Failure) {
    order.reason = failure.to_string();
    let problem = failure.cause.problem().cloned();
    let failure = Some(Box::new(failure));
    let failed = FailedOrder { problem, failure, ..order.phase.failed() };
    finish(order, failed);
}

/// Ends an order without further requests; its clean-ups are owed.
pub(super) fn finish(order: &mut Order, failed: FailedOrder) {
    order.phase = OrderPhase::Failed(failed);
    end_challenges(order);
}

pub(super) fn end_challenges(order: &mut Order) {
    order.challenges.iter_mut().for_each(Challenge::end);
}

/// The failure of a final order.
pub(in crate::controller) fn failure_of(order: &Order) -> Failure {
    if let Some(challenge) = order.challenges.iter().find(|c| c.is_failed()) {
        return verdict(challenge);
    }
    let failed = order.phase.failed();
    let cause = Cause::Order(Box::new(OrderFailure {
        name: order.name.clone(),
        url: order.url().map(str::to_owned),
        state: order.state.clone(),
        problem: failed.problem.map(Box::new),
        failure: failed.failure,
        reason: order.reason.clone(),
    }));
    Failure::of(Doing::Nothing, cause)
}

/// The failure of a challenge, from the CA's verdict.
pub(in crate::controller) fn verdict(challenge: &Challenge) -> Failure {
    let cause = Cause::Challenge(Box::new(ChallengeFailure {
        identifier: challenge.spec.identifier.clone(),
        wildcard: challenge.spec.wildcard,
        url: challenge.spec.authorization_url.clone(),
        state: challenge.authorization().clone(),
        problem: challenge.problem().cloned().map(Box::new),
        check: challenge.check().cloned().map(Box::new),
        reason: challenge.reason.clone(),
    }));
    Failure::of(Doing::Nothing, cause)
}
