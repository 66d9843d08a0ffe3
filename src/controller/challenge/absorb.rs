//! The transitions of a challenge: (effect, outcome) to phase.

use std::sync::Arc;

use jiff::Timestamp;

use super::left_pending;
use crate::controller::attempt::{Answer, Attempt, DENIALS};
use crate::controller::{
    AuthorizationSeen, ChallengeSeen, Change, Effect, EffectError, IllegalOutcome, Outcome, Record,
    Run, Snapshot,
};
use crate::resource::{
    AuthorizationState, CauseKind, Challenge, ChallengeState, CheckReport, Order, OrderState,
    Outlook, Pause, Phase, Reason, ReasonSource,
};

/// How often "accept" is posted in one run.
const ACCEPT_TRIES: u32 = 3;

/// Applies the outcome of `Present`, `SelfCheck` or `Accept` to the challenge.
pub fn absorb(
    snapshot: &mut Snapshot,
    effect: &Effect,
    url: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    run_after(snapshot, effect, url, &outcome, now);
    let Some(order) = snapshot.current_order() else {
        return Err(IllegalOutcome::new("no order", &outcome));
    };
    let mut order = order.clone();
    let Some(challenge) = order.challenges.iter_mut().find(|c| c.spec.url == url) else {
        return Err(IllegalOutcome::new("no challenge", &outcome));
    };
    // What was never presented needs no clean-up, which would fail with the same error.
    let is_denied = matches!(&outcome, Outcome::Failed(error) if error.kind().has_done_nothing());
    let answer = snapshot.run.attempt(url).answer;
    if is_denied && challenge.phase() == Some(Phase::Presenting) && answer == Answer::NotOut {
        challenge.presented.is_owed = false;
    }
    let record = absorb_one(challenge, outcome, answer == Answer::Out, now)?;
    Ok(Record { changes: vec![Change::Order(Box::new(order))], ..record })
}

/// Applies the outcome to this run.
fn run_after(
    snapshot: &mut Snapshot,
    effect: &Effect,
    url: &str,
    outcome: &Outcome,
    now: Timestamp,
) {
    let interval = snapshot.intervals.self_check;
    let challenges = snapshot.order.iter().flat_map(|order| &order.challenges);
    let pending = challenges.filter(|c| c.spec.url == url).find_map(Challenge::pending);
    let is_first_accept = pending.is_none_or(|pending| pending.accepts.is_none());
    let run = &mut snapshot.run;
    let attempt = run.attempt_mut(url);
    if *outcome == Outcome::Presented {
        attempt.denials = 0;
        attempt.answer = Answer::Out;
        // That was the clean-up of an earlier order with the same challenge.
        attempt.clean_up_failed = false;
    } else if let Outcome::Checked(report) = outcome {
        if report.has_passed() {
            attempt.failed_checks = 0;
        } else {
            let own = interval.max(Pause::POLL.length(attempt.failed_checks));
            attempt.failed_checks = attempt.failed_checks.saturating_add(1);
            attempt.not_before = now.checked_add(own).ok();
        }
        attempt.note_outlook(report.outlook(), now);
    } else if let Outcome::Accepted(seen) = outcome {
        attempt.is_unsure = false;
        attempt.is_cut_off = false;
        attempt.accept_tries = 0;
        attempt.looks = 0;
        attempt.begin_accept(now).accepted = Some(now);
        forget_failed_validation(attempt, seen);
        if is_first_accept {
            run.order.note_first_accept();
        }
    } else if let Outcome::Failed(error) = outcome {
        if matches!(effect, Effect::Accept { .. }) {
            // Whether "accept" arrived is read from the CA.
            let pause = Pause::POLL.or_wish(attempt.accept_tries, error.retry_after);
            attempt.not_before = now.checked_add(pause).ok();
            attempt.accept_tries += 1;
            attempt.is_unsure = true;
            let has_to_wait = error.kind() == CauseKind::Transient && error.outlasts_a_run();
            if attempt.accept_tries >= ACCEPT_TRIES || has_to_wait {
                run.error = Some((effect.doing(), error.clone()));
            }
            return;
        }
        let is_denied = !matches!(effect, Effect::SelfCheck { .. })
            && note_denial(attempt, effect, error.kind());
        let own = if is_denied { interval * 2 } else { interval };
        let own = own.max(Pause::POLL.length(attempt.failed_checks));
        attempt.failed_checks = attempt.failed_checks.saturating_add(1);
        attempt.not_before = now.checked_add(own.max(error.retry_after.unwrap_or_default())).ok();
    }
}

/// Counts a permanent error, and notes whether the challenge may be presented all the same.
fn note_denial(attempt: &mut Attempt, effect: &Effect, kind: CauseKind) -> bool {
    if matches!(effect, Effect::Present { .. }) && !kind.has_done_nothing() {
        attempt.answer = attempt.answer.max(Answer::MayBeOut);
    }
    attempt.denials = if kind == CauseKind::Unauthorized {
        DENIALS
    } else if kind.is_permanent() {
        attempt.denials.saturating_add(1)
    } else {
        0
    };
    attempt.denials > 0
}

/// The CA's validation failed: earlier requests for the token do not belong to the next one.
pub(in crate::controller) fn forget_failed_validation(attempt: &mut Attempt, seen: &ChallengeSeen) {
    if seen.state == AuthorizationState::Pending && seen.problem.is_some() {
        attempt.acceptance = None;
    }
}

/// A self-check that was made: the CA is asked to validate next, or the check is repeated.
fn absorb_check(challenge: &mut Challenge, report: Box<CheckReport>) {
    if let Some(reason) = report.reason() {
        // What no wait ends is not waited for.
        let reason = if report.outlook() == Outlook::Unserved {
            reason.to_owned()
        } else {
            challenge.waiting_for_propagation(reason)
        };
        let source = match challenge.problem() {
            None => ReasonSource::SelfCheck,
            Some(_) => ReasonSource::Other,
        };
        challenge.explain(source, left_pending::reason(challenge, reason));
    } else {
        challenge.go_to(Phase::Accepting);
        let warnings = report.warnings().join("; ");
        let reason = left_pending::reason_unless_it_fails(challenge, warnings);
        challenge.explain(ReasonSource::Other, reason);
    }
    if let Some(pending) = challenge.pending_mut() {
        pending.check = Some(Arc::from(report));
    }
}

fn absorb_one(
    challenge: &mut Challenge,
    outcome: Outcome,
    is_out: bool,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let kind = challenge.spec.kind.as_str().to_uppercase();
    let identifier = challenge.spec.identifier.clone();
    let quiet = Record::default();
    match (challenge.phase(), outcome) {
        (Some(Phase::Presenting), Outcome::Located(target)) => {
            let message = format!("Presenting {target}");
            challenge.explain(ReasonSource::Other, &message);
            challenge.presented.target = Some(target);
            Ok(quiet.normal(now, Reason::Located, message))
        }
        (Some(Phase::Presenting), Outcome::Presented) => {
            challenge.go_to(Phase::SelfChecking);
            challenge.presented.at = Some(now);
            let reason = match challenge.spec.solver.wait_instead_of_self_check {
                Some(wait) => challenge.spec.waiting_instead(wait),
                None => format!("Waiting for {kind} challenge propagation"),
            };
            let reason = left_pending::reason_unless_it_fails(challenge, reason);
            challenge.explain(ReasonSource::Other, reason);
            let message =
                format!("Presented challenge using {kind} challenge mechanism ({identifier})");
            Ok(quiet.normal(now, Reason::Presented, message))
        }
        (Some(Phase::Presenting), Outcome::Failed(error)) => {
            let reason = format!("Error presenting challenge: {error}");
            if challenge.reason == reason {
                return Ok(quiet);
            }
            challenge.explain(ReasonSource::Other, reason);
            let message = format!("{} ({identifier})", challenge.reason);
            Ok(quiet.warning(now, Reason::PresentError, message))
        }
        (Some(Phase::SelfChecking), Outcome::Checked(report)) => {
            absorb_check(challenge, report);
            Ok(quiet)
        }
        (Some(Phase::SelfChecking), Outcome::Failed(error)) => {
            let reason = challenge.waiting_for_propagation(&error.to_string());
            challenge.explain(ReasonSource::Other, left_pending::reason(challenge, reason));
            Ok(quiet)
        }
        (Some(Phase::Accepting), Outcome::Accepted(seen)) => {
            challenge.go_to(Phase::Accepted);
            challenge.explain(ReasonSource::Accept, "Waiting for the CA to validate");
            left_pending::count_accept(challenge, now);
            if seen.state == AuthorizationState::Valid || seen.state.is_failure() {
                return Ok(settle(challenge, &seen, now));
            }
            Ok(left_pending::absorb(challenge, &seen, is_out, now))
        }
        (Some(Phase::Accepting), Outcome::Failed(error)) => {
            // Whatever the response: the challenge's state is read from the CA.
            let reason = format!("Error accepting challenge: {error}");
            challenge.explain(ReasonSource::Other, reason);
            left_pending::count_accept(challenge, now);
            Ok(quiet)
        }
        // The turn ended while this effect was in flight.
        (Some(Phase::Requeued), Outcome::Presented) => {
            challenge.presented.at = Some(now);
            Ok(quiet)
        }
        // The order became final, or the turn ended, while this effect was in flight.
        (
            None | Some(Phase::Queued | Phase::Requeued),
            Outcome::Located(_)
            | Outcome::Presented
            | Outcome::Checked(_)
            | Outcome::Accepted(_)
            | Outcome::Failed(_),
        ) => Ok(quiet),
        (phase, outcome) => Err(IllegalOutcome::new(format!("{phase:?}"), &outcome)),
    }
}

/// Copies a verdict.
fn settle(challenge: &mut Challenge, seen: &ChallengeSeen, now: Timestamp) -> Record {
    let identifier = challenge.spec.identifier.clone();
    if seen.state == AuthorizationState::Valid {
        return Record::default().normal(now, Reason::DomainVerified, verified(challenge));
    }
    challenge.fail(seen.state.clone(), seen.problem.clone());
    let why = match &seen.problem {
        Some(problem) => problem.to_string(),
        None => format!("the CA says {}", seen.state.as_str()),
    };
    let why = format!("acme: authorization error for {identifier}: {why}");
    challenge.explain(ReasonSource::Other, format!("Error accepting authorization: {why}"));
    let message = format!("Accepting challenge authorization failed: {why}");
    Record::default().warning(now, Reason::Failed, message)
}

/// Marks a challenge and its authorization as valid. Returns the message of the event.
pub(in crate::controller) fn verified(challenge: &mut Challenge) -> String {
    challenge.state = ChallengeState::Valid;
    challenge.explain(ReasonSource::Other, "Successfully authorized domain");
    let kind = challenge.spec.kind.as_str().to_uppercase();
    format!("Domain \"{}\" verified with \"{kind}\" validation", challenge.spec.identifier)
}

/// Fails a challenge: the CA's response about it is unusable.
fn unusable(challenge: &mut Challenge, why: &str) {
    challenge.fail(AuthorizationState::Errored, challenge.problem().cloned());
    challenge.explain(ReasonSource::Other, format!("unexpected non-ACME API error: {why}"));
}

/// Applies a refused authorization to its challenges.
pub(in crate::controller) fn authorization_refused(
    order: &mut Order,
    authorization_url: &str,
    error: &EffectError,
) {
    let undecided =
        |c: &&mut Challenge| c.spec.authorization_url == authorization_url && c.pending().is_some();
    for challenge in order.challenges.iter_mut().filter(undecided) {
        match error.problem() {
            None if matches!(error.kind(), CauseKind::Unusable | CauseKind::Local) => {
                unusable(challenge, &error.to_string());
            }
            problem => {
                let malformed = problem.is_some_and(|p| p.short_kind() == "malformed");
                let state = if malformed {
                    AuthorizationState::Expired
                } else {
                    AuthorizationState::Errored
                };
                challenge.fail(state, problem.cloned());
                let reason = format!("Failed to fetch authorization: {error}");
                challenge.explain(ReasonSource::Other, reason);
            }
        }
    }
}

/// Applies an authorization to the challenge that answers it. The state kept is the
/// authorization's, the error the challenge's own.
pub(in crate::controller) fn authorization_seen(
    run: &Run,
    order: &mut Order,
    authorization_url: &str,
    seen: &AuthorizationSeen,
    now: Timestamp,
) -> Record {
    let order_is_invalid = order.state == OrderState::Invalid;
    let found = order
        .challenges
        .iter_mut()
        .find(|c| c.spec.authorization_url == authorization_url && c.pending().is_some());
    let Some(challenge) = found else { return Record::default() };
    let own = seen.seen.iter().find(|(url, _)| *url == challenge.spec.url).map(|(_, seen)| seen);
    let problem = own.and_then(|own| own.problem.clone());
    let state = seen.state.clone();
    if state == AuthorizationState::Valid || state.is_failure() {
        return settle(challenge, &ChallengeSeen { state, problem }, now);
    }
    let attempt = run.attempt(&challenge.spec.url);
    let is_served = challenge.spec.kind.is_served();
    let Some(pending) = challenge.pending_mut() else { return Record::default() };
    pending.authorization = state;
    let (is_out, is_counted) = (attempt.answer == Answer::Out, attempt.accept_tries > 0);
    let mut record = Record::default();
    match (pending.phase, own) {
        (Phase::Accepting, Some(own)) if own.state != AuthorizationState::Pending => {
            pending.phase = Phase::Accepted;
            record = left_pending::absorb(challenge, own, is_out, now);
        }
        (Phase::Accepting, Some(own)) if own.problem.is_some() => {
            // An earlier run sent "accept", and was interrupted before it could count that.
            if !is_counted {
                left_pending::count_accept(challenge, now);
            }
            record = left_pending::absorb(challenge, own, is_out, now);
        }
        (Phase::Accepted, Some(own)) => {
            record = left_pending::absorb(challenge, own, is_out, now);
        }
        // It was not seen for a turn. Another certificate with the same challenge may have taken
        // back what an earlier run presented.
        (Phase::SelfChecking, _) if attempt.answer == Answer::MayBeOut => {
            pending.phase = Phase::Presenting;
        }
        // "accept" did not arrive. A power failure may have taken what the earlier run presented.
        (Phase::Accepting, Some(_)) if is_served && attempt.answer == Answer::MayBeOut => {
            pending.phase = Phase::Presenting;
        }
        // Another request would get the same response, at once and forever.
        (Phase::Accepting, None) => {
            unusable(challenge, "challenge was not present in authorization");
        }
        (
            Phase::Queued
            | Phase::Requeued
            | Phase::Presenting
            | Phase::SelfChecking
            | Phase::Accepting
            | Phase::Accepted,
            _,
        ) => {}
    }
    if order_is_invalid {
        // Another name of the same order was refused; the CA did not finish this one.
        challenge.end();
    }
    record
}

/// Records a clean-up as done, or leaves it to the next run, with a warning that names it.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other outcome is refused, not kept")]
pub fn absorb_clean_up(
    snapshot: &mut Snapshot,
    order: &str,
    url: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let attempt = snapshot.run.attempt_mut(url);
    if outcome == Outcome::CleanedUp {
        attempt.answer = Answer::NotOut;
    } else {
        attempt.clean_up_failed = true;
    }
    let found = snapshot.retired.iter().chain(&snapshot.order).find(|o| o.name == order);
    let Some(order) = found else {
        return Err(IllegalOutcome::new("no order", &outcome));
    };
    let mut order = order.clone();
    let Some(challenge) = order.challenges.iter_mut().find(|c| c.spec.url == url) else {
        return Err(IllegalOutcome::new("no challenge", &outcome));
    };
    match outcome {
        Outcome::CleanedUp => {
            challenge.presented.is_owed = false;
            Ok(Record::of(Change::Order(Box::new(order))))
        }
        Outcome::Failed(error) => {
            let message = match &challenge.presented.target {
                Some(target) => {
                    format!("Error cleaning up challenge: {target} remains: {error}")
                }
                None => format!("Error cleaning up challenge: {error}"),
            };
            let mut record = Record::default();
            // The reason of a failure stays.
            if !challenge.is_failed() && challenge.reason != message {
                challenge.explain(ReasonSource::Other, &message);
                record = Record::of(Change::Order(Box::new(order)));
            }
            Ok(record.warning(now, Reason::CleanUpError, message))
        }
        other => Err(IllegalOutcome::new("clean-up owed", &other)),
    }
}
