//! A challenge that the CA looked at in vain and left pending, with an `error` (RFC 8555 section
//! 8.2 allows it; step-ca and Caddy do it): the CA looks again only when it is told to again.
//!
//! The pauses between two accepts grow from 5 s to a minute and go on from run to run. Our own look
//! stands before each accept, so that the CA is not told of what does not answer.

use jiff::{SignedDuration, Timestamp};

use crate::controller::{ChallengeSeen, Record};
use crate::resource::{
    Accepts, AuthorizationState, Challenge, ChallengeType, Phase, Problem, Reason,
};

/// The pause after the first accept; each next one is twice as long.
const FIRST: SignedDuration = SignedDuration::from_secs(5);
/// The longest pause between two accepts.
const LONGEST: SignedDuration = SignedDuration::from_secs(60);

/// The pause after this many accepts: 5 s, doubling to a minute.
fn pause(accepts: u32) -> SignedDuration {
    let factor = 1_i32.checked_shl(accepts.saturating_sub(1).min(8)).unwrap_or(i32::MAX);
    FIRST.saturating_mul(factor).min(LONGEST)
}

/// When the CA may be told again. An accept yet to come is one of a wrong clock.
pub(super) fn not_before(challenge: &Challenge, now: Timestamp) -> Option<Timestamp> {
    challenge.problem.as_ref()?;
    let Accepts { count, last } = challenge.accepts.filter(|accepts| accepts.last <= now)?;
    last.checked_add(pause(count)).ok()
}

/// Counts an accept, whatever came of it.
pub(super) fn told(challenge: &mut Challenge, now: Timestamp) {
    let count = challenge.accepts.map_or(0, |accepts| accepts.count);
    challenge.accepts = Some(Accepts { count: count.saturating_add(1), last: now });
}

/// Keeps the error of a challenge without a verdict. One that is pending goes back to the
/// self-check, and where nothing in this run answers for it, to presenting.
pub(super) fn absorb(
    challenge: &mut Challenge,
    seen: &ChallengeSeen,
    is_out: bool,
    now: Timestamp,
) -> Record {
    let known = std::mem::replace(&mut challenge.problem, seen.problem.clone());
    let Some(problem) = &seen.problem else { return Record::default() };
    let message = if seen.state == AuthorizationState::Pending {
        let answers = is_out || challenge.spec.kind != ChallengeType::Http01;
        challenge.phase = if answers { Phase::SelfChecking } else { Phase::Presenting };
        sentence(problem)
    } else {
        format!("The CA has not validated the challenge yet: {problem}")
    };
    challenge.reason.clone_from(&message);
    if known.as_ref() == Some(problem) {
        return Record::default();
    }
    let message = format!("{message} ({})", challenge.spec.identifier);
    Record::default().warning(now, Reason::Pending, message)
}

/// Why a challenge waits whose answer we do not see from outside: the CA's error comes second.
pub(super) fn reason(challenge: &Challenge, own: String) -> String {
    match &challenge.problem {
        None => own,
        Some(problem) => format!("{own}. {}", sentence(problem)),
    }
}

/// Why a challenge waits as long as no look of ours has failed: for what the CA did not find.
pub(super) fn reason_unless_it_fails(challenge: &Challenge, own: String) -> String {
    challenge.problem.as_ref().map_or(own, sentence)
}

fn sentence(problem: &Problem) -> String {
    format!("The CA could not validate the challenge and left it pending: {problem}")
}
