//! How an order ends, other than with a certificate.

use jiff::Timestamp;

use crate::controller::{DeedError, Failure};
use crate::resource::{
    AuthorizationState, Challenge, Deed, FailureClass, Order, OrderState, Phase, Reason,
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

/// An order that the CA refuses: a failure.
pub(in crate::controller) fn refused(order: &Order, why: String, error: &DeedError) -> Order {
    let mut order = order.clone();
    order.reason = why;
    order.state = OrderState::Errored;
    order.problem = error.problem.as_deref().cloned();
    finish(&mut order);
    order
}

/// Nothing more is done for this order; what it has put out is owed.
pub(in crate::controller) fn finish(order: &mut Order) {
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

/// The failure that a challenge's verdict is.
pub(in crate::controller) fn verdict(challenge: &Challenge) -> Failure {
    let class = match challenge.state {
        // Given up here, for what the CA answered.
        AuthorizationState::Errored => FailureClass::Ca,
        AuthorizationState::Unknown
        | AuthorizationState::Pending
        | AuthorizationState::Processing
        | AuthorizationState::Valid
        | AuthorizationState::Invalid
        | AuthorizationState::Expired
        | AuthorizationState::Deactivated
        | AuthorizationState::Revoked
        | AuthorizationState::Other(_) => FailureClass::Validation,
    };
    failure(class, format!("{}: {}", challenge.spec.identifier, challenge.reason))
}

pub(in crate::controller) fn failure(class: FailureClass, message: String) -> Failure {
    Failure { class, reason: Reason::Failed, message, retry_after: None }
}
