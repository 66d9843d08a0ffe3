//! How a run leaves challenges, and how the next one finds them.

use crate::resource::{Challenge, ChallengeType, Order, Phase};

/// A challenge as it is when found by a run that did not present it itself: an HTTP-01 answer is
/// put out again, and whether the CA was told to look is read from the CA.
pub fn resumed(mut order: Order) -> (Order, Vec<String>) {
    let mut unsure = Vec::new();
    for challenge in &mut order.challenges {
        match (challenge.phase, &challenge.spec.kind) {
            (Phase::SelfChecking, ChallengeType::Http01) => challenge.phase = Phase::Presenting,
            // Nobody answers for it any more: what is left of the answer is taken back first.
            (Phase::Requeued, ChallengeType::Http01) => challenge.phase = Phase::Queued,
            (Phase::Accepting, _) => unsure.push(challenge.spec.url.clone()),
            (
                Phase::Queued
                | Phase::Requeued
                | Phase::Presenting
                | Phase::SelfChecking
                | Phase::Accepted
                | Phase::Final,
                _,
            ) => {}
        }
    }
    (order, unsure)
}

/// The challenges, by URL, that an earlier run presented with a listener that is gone.
pub fn left_unanswered(order: &Order) -> impl Iterator<Item = String> {
    let was_out = |c: &&Challenge| {
        c.spec.kind == ChallengeType::Http01 && c.phase != Phase::Final && c.presented_at.is_some()
    };
    order.challenges.iter().filter(was_out).map(|challenge| challenge.spec.url.clone())
}

/// A challenge as it is left by a run that ends before the CA was told to look: HTTP-01 goes back
/// to the queue, its answer owed; DNS-01 stays out and is looked at again.
pub fn parked(mut order: Order) -> Order {
    for challenge in &mut order.challenges {
        match (challenge.phase, &challenge.spec.kind) {
            (
                Phase::Requeued | Phase::Presenting | Phase::SelfChecking | Phase::Accepting,
                ChallengeType::Http01 | ChallengeType::Other(_),
            ) => challenge.phase = Phase::Queued,
            (Phase::Accepting, ChallengeType::Dns01) => challenge.phase = Phase::SelfChecking,
            (Phase::Requeued | Phase::Presenting | Phase::SelfChecking, ChallengeType::Dns01)
            | (Phase::Queued | Phase::Accepted | Phase::Final, _) => {}
        }
    }
    order
}

/// The same for a run that is ended by a signal: nothing stays out.
pub fn withdrawn(mut order: Order) -> Order {
    for challenge in &mut order.challenges {
        match challenge.phase {
            Phase::Requeued | Phase::Presenting | Phase::SelfChecking | Phase::Accepting => {
                challenge.phase = Phase::Queued;
            }
            Phase::Queued | Phase::Accepted | Phase::Final => {}
        }
    }
    order
}
