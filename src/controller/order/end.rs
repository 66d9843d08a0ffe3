//! How an order ends, other than with a certificate.

use jiff::Timestamp;

use crate::resource::{
    Cause, Challenge, ChallengeFailure, Deed, Doing, Failure, Order, OrderFailure, OrderState,
    Phase,
};

/// An order that is not wanted any more: final, with everything it put out owed.
pub(in crate::controller) fn retired(order: &Order) -> Order {
    let mut order = order.clone();
    "replaced by a newer request".clone_into(&mut order.reason);
    finish(&mut order);
    order
}

/// The same for an order whose request stays: another order for it takes its place, uncounted, as
/// it does for one that expired.
pub fn given_up(order: &Order, why: &str, now: Timestamp) -> Order {
    let mut order = retired(order);
    order.state = OrderState::Expired;
    order.failure_time = Some(now);
    why.clone_into(&mut order.reason);
    order
}

/// An order that ends by a failure which is not the CA's verdict on it.
pub(in crate::controller) fn failed(order: &Order, failure: Failure) -> Order {
    let mut order = order.clone();
    fail(&mut order, failure);
    order.state = OrderState::Errored;
    finish(&mut order);
    order
}

/// Keeps what an order failed by.
pub(super) fn fail(order: &mut Order, failure: Failure) {
    order.reason = failure.to_string();
    order.problem = failure.cause.problem().cloned();
    order.failure = Some(Box::new(failure));
}

/// Nothing more is done for this order; what it has put out is owed.
pub(super) fn finish(order: &mut Order) {
    order.deed = Deed::Nothing;
    for challenge in &mut order.challenges {
        challenge.phase = Phase::Final;
    }
}

/// The failure that a final order is.
pub(in crate::controller) fn failure_of(order: &Order) -> Failure {
    if let Some(challenge) = order.challenges.iter().find(|c| c.state.is_failure()) {
        return verdict(challenge);
    }
    let cause = Cause::Order(OrderFailure {
        name: order.name.clone(),
        url: order.url.clone(),
        state: order.state.clone(),
        problem: order.problem.clone().map(Box::new),
        failure: order.failure.clone(),
        reason: order.reason.clone(),
    });
    Failure::of(Doing::Nothing, cause)
}

/// The failure that a challenge's verdict is.
pub(in crate::controller) fn verdict(challenge: &Challenge) -> Failure {
    let cause = Cause::Challenge(ChallengeFailure {
        identifier: challenge.spec.identifier.clone(),
        wildcard: challenge.spec.wildcard,
        url: challenge.spec.authorization_url.clone(),
        state: challenge.state.clone(),
        problem: challenge.problem.clone().map(Box::new),
        check: challenge.check.clone(),
        reason: challenge.reason.clone(),
    });
    Failure::of(Doing::Nothing, cause)
}
