//! A challenge whose validation failed and that the CA left pending, with an `error` (RFC 8555
//! section 8.2 allows it; step-ca and Caddy do it): the CA validates it again only after another
//! "accept".
//!
//! The pauses between two accepts grow from 5 s to a minute, also across runs. A self-check
//! precedes each accept, so that the CA does not validate a challenge that does not respond.

use jiff::Timestamp;

use crate::controller::{ChallengeSeen, Record};
use crate::resource::{
    Accepts, AuthorizationState, Challenge, Pause, Phase, Problem, Reason, ReasonSource,
};

/// The earliest time of the next accept. A last accept in the future comes from a wrong clock.
pub(super) fn not_before(challenge: &Challenge, now: Timestamp) -> Option<Timestamp> {
    let pending = challenge.pending().filter(|pending| pending.problem.is_some())?;
    let Accepts { count, last } = pending.accepts.filter(|accepts| accepts.last <= now)?;
    last.checked_add(Pause::ACCEPT.length(count.saturating_sub(1))).ok()
}

/// Counts an accept, whatever its result.
pub(super) fn count_accept(challenge: &mut Challenge, now: Timestamp) {
    let Some(pending) = challenge.pending_mut() else { return };
    let count = pending.accepts.map_or(0, |accepts| accepts.count);
    pending.accepts = Some(Accepts { count: count.saturating_add(1), last: now });
}

/// Stores the error of a challenge without a verdict. A pending one goes back to the self-check,
/// or to presenting if this run does not answer it.
pub(super) fn absorb(
    challenge: &mut Challenge,
    seen: &ChallengeSeen,
    is_out: bool,
    now: Timestamp,
) -> Record {
    let answers = is_out || !challenge.spec.kind.is_served();
    let Some(pending) = challenge.pending_mut() else { return Record::default() };
    let known = std::mem::replace(&mut pending.problem, seen.problem.clone());
    let Some(problem) = &seen.problem else { return Record::default() };
    let message = if seen.state == AuthorizationState::Pending {
        pending.phase = if answers { Phase::SelfChecking } else { Phase::Presenting };
        sentence(problem)
    } else {
        format!("The CA has not validated the challenge yet: {problem}")
    };
    challenge.explain(ReasonSource::Other, &message);
    if known.as_ref() == Some(problem) {
        return Record::default();
    }
    let message = format!("{message} ({})", challenge.spec.identifier);
    Record::default().warning(now, Reason::Pending, message)
}

/// Why a challenge waits whose self-check fails; the CA's error follows.
pub(super) fn reason(challenge: &Challenge, own: String) -> String {
    match challenge.problem() {
        None => own,
        Some(problem) => format!("{own}. {}", sentence(problem)),
    }
}

/// Why a challenge waits while no self-check has failed: the CA's error.
pub(super) fn reason_unless_it_fails(challenge: &Challenge, own: String) -> String {
    challenge.problem().map_or(own, sentence)
}

fn sentence(problem: &Problem) -> String {
    format!("The CA could not validate the challenge and left it pending: {problem}")
}
