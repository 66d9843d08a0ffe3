//! queued → presenting → self-checking → accepting → accepted → final; clean-up owed.
//!
//! | phase | step | outcome → next phase |
//! | --- | --- | --- |
//! | Queued | wait for a slot; with one, record Presenting and the clean-up owed | |
//! | Requeued | wait for a slot; with one, record SelfChecking, or Presenting when nothing is out | |
//! | Presenting | DNS-01: find where the answer belongs, and record that | Presenting |
//! | Presenting | put the answer out | presented → SelfChecking; failed → again later; refused → not owed until then |
//! | SelfChecking | look from outside, or wait as `waitInsteadOfSelfCheck` says | passed → Accepting |
//! | Accepting | tell the CA; when unsure whether it knows, read the authorization | Accepted |
//! | Accepted | nothing: the order's room looks; read the authorization, when others queue | Final |
//! | Accepting, Accepted | the CA looked in vain: it calls the challenge pending, with an `error` | SelfChecking, or Presenting when nothing in this run answers; not before the pause since the last accept is over |
//! | Final | take the answer back, when one is owed | |
//!
//! Presenting and SelfChecking become Requeued when the turn is over: the answer stays out.
//! Everything that can move moves in one step: one record, then all deeds side by side.

mod between_runs;
mod left_pending;

use jiff::{SignedDuration, Timestamp};

use super::{
    AuthorizationSeen, ChallengeSeen, Change, Deferral, Effect, EffectError, IllegalOutcome,
    Outcome, Record, Run, Snapshot, Step, Wake,
};
use crate::resource::{
    AuthorizationState, CauseKind, Challenge, ChallengeType, CleanUp, Deed, GoDuration, Order,
    OrderState, Phase, Reason,
};

pub use between_runs::{left_unanswered, parked, resumed, withdrawn};

/// Between two looks at a challenge whose slot others wait for.
const LOOK: SignedDuration = SignedDuration::from_secs(1);

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    let Some(order) = snapshot.current_order().filter(|order| order.deed == Deed::Solve) else {
        return Step::Settled;
    };
    let moves = |c: &Challenge| {
        may_start(snapshot, c)
            || may_go_on(snapshot, c)
            || must_yield(snapshot, c)
            || waited_instead(snapshot, c, now)
            || is_tried_again(snapshot, c, now)
    };
    if order.challenges.iter().any(moves) {
        return Step::Record(moved_on(snapshot, order, now));
    }
    let mut effects = Vec::new();
    let mut until: Option<Timestamp> = None;
    let waits = |c: &Challenge| matches!(c.phase, Phase::Queued | Phase::Requeued);
    let queued = snapshot.run.is_crowded
        || !snapshot.run.without_slot.is_empty()
        || order.challenges.iter().any(waits);
    for challenge in &order.challenges {
        let url = challenge.spec.url.clone();
        // What the CA was told may be read without a slot.
        if snapshot.run.without_slot.contains(&url) && !snapshot.run.unsure.contains(&url) {
            continue;
        }
        let waits = [
            not_before(snapshot, challenge, queued),
            wait_ends(challenge),
            accept_waits(challenge, now),
        ];
        if let Some(time) = waits.into_iter().flatten().find(|time| *time > now) {
            until = Some(until.map_or(time, |earlier| earlier.min(time)));
            continue;
        }
        match challenge.phase {
            Phase::Presenting if needs_a_place(challenge) => effects.push(Effect::Locate { url }),
            Phase::Presenting => effects.push(Effect::Present { url }),
            Phase::SelfChecking => effects.push(Effect::SelfCheck { url }),
            Phase::Accepting if snapshot.run.unsure.contains(&url) => {
                let url = challenge.spec.authorization_url.clone();
                effects.push(Effect::ReadAuthorization { url });
            }
            Phase::Accepting => effects.push(Effect::Accept { url }),
            Phase::Accepted if queued && !snapshot.run.hits.contains_key(&url) => {
                let url = challenge.spec.authorization_url.clone();
                effects.push(Effect::ReadAuthorization { url });
            }
            Phase::Queued | Phase::Requeued | Phase::Accepted | Phase::Final => {}
        }
    }
    if !effects.is_empty() {
        return Step::Act(effects);
    }
    let is_done = |c: &Challenge| matches!(c.phase, Phase::Accepted | Phase::Final);
    if until.is_none() && (!queued || order.challenges.iter().all(is_done)) {
        return Step::Settled;
    }
    let wake = if queued { Wake::Slot } else { Wake::Time };
    Step::Wait { until, wake, why: Deferral::Progress(waiting_for(order, now)) }
}

/// When the next deed for a challenge may be done.
///
/// The verdict on an accepted one is asked for when others wait for its slot: the order is looked
/// at only once all are accepted, and nobody here sees the CA fetch an answer that a web server,
/// or another process, gives.
fn not_before(snapshot: &Snapshot, challenge: &Challenge, queued: bool) -> Option<Timestamp> {
    let run = &snapshot.run;
    if challenge.phase != Phase::Accepted {
        return run.not_before.get(&challenge.spec.url).copied();
    }
    if !queued || run.hits.contains_key(&challenge.spec.url) {
        return None;
    }
    let looked = run.looked.get(&challenge.spec.authorization_url);
    let accepted = run.accepted.get(&challenge.spec.url);
    looked.max(accepted)?.checked_add(LOOK).ok()
}

/// One record for everything that moves without a deed: queued challenges that were granted a
/// slot, those whose turn is over, and those whose wait instead of a self-check is over.
fn moved_on(snapshot: &Snapshot, order: &Order, now: Timestamp) -> Record {
    let mut order = order.clone();
    let mut record = Record::default();
    for challenge in &mut order.challenges {
        if may_start(snapshot, challenge) {
            challenge.phase = Phase::Presenting;
            if !challenge.owes_clean_up() {
                challenge.target = None;
            }
            challenge.clean_up = CleanUp::Owed;
            record = started(record, snapshot, challenge, now);
        } else if may_go_on(snapshot, challenge) {
            let is_out = challenge.presented_at.is_some();
            challenge.phase = if is_out { Phase::SelfChecking } else { Phase::Presenting };
            record = started(record, snapshot, challenge, now);
        } else if must_yield(snapshot, challenge) {
            challenge.phase = Phase::Requeued;
            let message = format!(
                "Challenge queued again, still presented: others wait for its slot ({})",
                challenge.spec.identifier
            );
            record = record.normal(now, Reason::Requeued, message);
        } else if waited_instead(snapshot, challenge, now) {
            challenge.phase = Phase::Accepting;
        } else if is_tried_again(snapshot, challenge, now) {
            challenge.clean_up = CleanUp::Owed;
        }
    }
    record.changes.push(Change::Order(Box::new(order)));
    record
}

/// What is written into the DNS is written down before, with its place.
fn needs_a_place(challenge: &Challenge) -> bool {
    challenge.spec.kind == ChallengeType::Dns01 && challenge.target.is_none()
}

/// A slot was granted, and nothing of an earlier turn is being taken back any more.
fn may_start(snapshot: &Snapshot, challenge: &Challenge) -> bool {
    let url = &challenge.spec.url;
    challenge.phase == Phase::Queued
        && snapshot.run.granted.contains(url)
        && (!challenge.owes_clean_up() || snapshot.run.clean_up_failed.contains(url))
}

/// An answer that was refused, and so not owed, is to be put out once more.
fn is_tried_again(snapshot: &Snapshot, challenge: &Challenge, now: Timestamp) -> bool {
    let (run, url) = (&snapshot.run, &challenge.spec.url);
    let waits = run.not_before.get(url).is_some_and(|time| *time > now);
    challenge.phase == Phase::Presenting
        && !challenge.owes_clean_up()
        && !run.without_slot.contains(url)
        && !waits
}

/// A slot was granted to a challenge that had one before.
fn may_go_on(snapshot: &Snapshot, challenge: &Challenge) -> bool {
    challenge.phase == Phase::Requeued && snapshot.run.granted.contains(&challenge.spec.url)
}

/// Its turn is over, and others wait. What a wait replaces the self-check of ends by itself.
fn must_yield(snapshot: &Snapshot, challenge: &Challenge) -> bool {
    matches!(challenge.phase, Phase::Presenting | Phase::SelfChecking)
        && challenge.spec.solver.wait_instead_of_self_check.is_none()
        && snapshot.run.turn_over.contains(&challenge.spec.url)
}

/// The start is told with the time of its grant: it is noted a little later.
fn started(record: Record, snapshot: &Snapshot, challenge: &Challenge, now: Timestamp) -> Record {
    let (at, message) = scheduled(snapshot, challenge, now);
    record.normal(at, Reason::Started, message)
}

/// When a slot was granted, and what the journal says of it.
pub(crate) fn scheduled(
    snapshot: &Snapshot,
    challenge: &Challenge,
    now: Timestamp,
) -> (Timestamp, String) {
    let identifier = &challenge.spec.identifier;
    let (at, since) = match snapshot.run.grants.get(&challenge.spec.url) {
        Some(grant) => (grant.at, format!(", queued since {}", grant.queued_since)),
        None => (now, String::new()),
    };
    (at, format!("Challenge scheduled for processing{since} ({identifier})"))
}

/// What the journal says of a challenge whose slot is free for others, when nothing else says so.
pub(crate) fn released(identifier: &str) -> String {
    format!("Challenge gave its slot back ({identifier})")
}

fn wait_ends(challenge: &Challenge) -> Option<Timestamp> {
    let wait = challenge.spec.solver.wait_instead_of_self_check?;
    if challenge.phase != Phase::SelfChecking {
        return None;
    }
    challenge.presented_at?.checked_add(wait.0).ok()
}

/// When a challenge that the CA looked at in vain is looked at, and the CA told, once more.
fn accept_waits(challenge: &Challenge, now: Timestamp) -> Option<Timestamp> {
    let may_wait = matches!(challenge.phase, Phase::SelfChecking | Phase::Accepting);
    may_wait.then(|| left_pending::not_before(challenge, now)).flatten()
}

fn waited_instead(snapshot: &Snapshot, challenge: &Challenge, now: Timestamp) -> bool {
    !snapshot.run.without_slot.contains(&challenge.spec.url)
        && accept_waits(challenge, now).is_none_or(|time| time <= now)
        && wait_ends(challenge).is_some_and(|time| time <= now)
}

fn waiting_for(order: &Order, now: Timestamp) -> String {
    let waiting = order.challenges.iter().find(|c| c.phase == Phase::SelfChecking);
    match waiting.or_else(|| order.challenges.iter().find(|c| c.phase != Phase::Final)) {
        Some(challenge) if matches!(challenge.phase, Phase::Queued | Phase::Requeued) => {
            format!("{} is queued for a free slot", challenge.spec.identifier)
        }
        Some(challenge) => {
            let ends = wait_ends(challenge).filter(|ends| *ends > now);
            let left = ends.map(|ends| GoDuration(now.duration_until(ends)));
            let reason = left.map(|left| waiting_instead(challenge, left));
            let reason = reason.as_ref().unwrap_or(&challenge.reason);
            format!("{}: {reason}", challenge.spec.identifier)
        }
        None => String::new(),
    }
}

fn waiting_instead(challenge: &Challenge, wait: GoDuration) -> String {
    let kind = challenge.spec.kind.as_str().to_uppercase();
    format!("Waiting {wait} before accepting {kind} challenge without self-check")
}

/// The clean-ups that are owed now: of final challenges, and of those that went back to the
/// queue. One that failed in this run is left to the next.
pub fn clean_ups(snapshot: &Snapshot) -> Vec<Effect> {
    let orders = snapshot.retired.iter().chain(&snapshot.order);
    let mut effects = Vec::new();
    for order in orders {
        for challenge in order.challenges.iter().filter(|c| c.owes_clean_up()) {
            let url = &challenge.spec.url;
            let over = matches!(challenge.phase, Phase::Final | Phase::Queued);
            if over && !snapshot.run.clean_up_failed.contains(url) {
                effects.push(Effect::CleanUp { order: order.name.clone(), url: url.clone() });
            }
        }
    }
    effects
}

/// What the outcome of `Present`, `SelfCheck` or `Accept` means for the challenge.
pub fn absorb(
    snapshot: &Snapshot,
    url: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    let Some(order) = snapshot.current_order() else {
        return Err(IllegalOutcome::new("no order", &outcome));
    };
    let mut order = order.clone();
    let Some(challenge) = order.challenges.iter_mut().find(|c| c.spec.url == url) else {
        return Err(IllegalOutcome::new("no challenge", &outcome));
    };
    // What never got out needs no taking back, which would be refused in the same words.
    let is_denied = matches!(&outcome, Outcome::Failed(error) if error.kind().has_done_nothing());
    if is_denied && challenge.phase == Phase::Presenting && !snapshot.run.may_be_out.contains(url) {
        challenge.clean_up = CleanUp::NotOwed;
    }
    let is_out = snapshot.run.presented.contains(url);
    let record = absorb_one(challenge, outcome, is_out, now)?;
    Ok(Record { changes: vec![Change::Order(Box::new(order))], ..record })
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
    match (challenge.phase, outcome) {
        (Phase::Presenting, Outcome::Located(target)) => {
            let message = format!("Presenting {target}");
            challenge.reason.clone_from(&message);
            challenge.target = Some(target);
            Ok(quiet.normal(now, Reason::Located, message))
        }
        (Phase::Presenting, Outcome::Presented) => {
            challenge.phase = Phase::SelfChecking;
            challenge.presented_at = Some(now);
            let reason = match challenge.spec.solver.wait_instead_of_self_check {
                Some(wait) => waiting_instead(challenge, wait),
                None => format!("Waiting for {kind} challenge propagation"),
            };
            challenge.reason = left_pending::reason_unless_it_fails(challenge, reason);
            let message =
                format!("Presented challenge using {kind} challenge mechanism ({identifier})");
            Ok(quiet.normal(now, Reason::Presented, message))
        }
        (Phase::Presenting, Outcome::Failed(error)) => {
            let reason = format!("Error presenting challenge: {error}");
            if challenge.reason == reason {
                return Ok(quiet);
            }
            challenge.reason = reason;
            let message = format!("{} ({identifier})", challenge.reason);
            Ok(quiet.warning(now, Reason::PresentError, message))
        }
        (Phase::SelfChecking, Outcome::Checked(report)) => {
            if let Some(reason) = report.reason() {
                let reason = format!("Waiting for {kind} challenge propagation: {reason}");
                challenge.reason = left_pending::reason(challenge, reason);
            } else {
                challenge.phase = Phase::Accepting;
                let warnings = report.warnings().join("; ");
                challenge.reason = left_pending::reason_unless_it_fails(challenge, warnings);
            }
            challenge.check = Some(report);
            Ok(quiet)
        }
        (Phase::SelfChecking, Outcome::Failed(error)) => {
            let reason = format!("Waiting for {kind} challenge propagation: {error}");
            challenge.reason = left_pending::reason(challenge, reason);
            Ok(quiet)
        }
        (Phase::Accepting, Outcome::Accepted(seen)) => {
            challenge.phase = Phase::Accepted;
            "Waiting for the CA to look".clone_into(&mut challenge.reason);
            left_pending::told(challenge, now);
            if seen.state == AuthorizationState::Valid || seen.state.is_failure() {
                return Ok(settle(challenge, &seen, now));
            }
            Ok(left_pending::absorb(challenge, &seen, is_out, now))
        }
        (Phase::Accepting, Outcome::Failed(error)) => {
            // Whatever was answered: what the CA knows is read from the CA.
            challenge.reason = format!("Error accepting challenge: {error}");
            left_pending::told(challenge, now);
            Ok(quiet)
        }
        // The turn was over while this deed was in flight.
        (Phase::Requeued, Outcome::Presented) => {
            challenge.presented_at = Some(now);
            Ok(quiet)
        }
        // The order became final while this deed was in flight.
        (Phase::Final | Phase::Queued | Phase::Requeued, _) => Ok(quiet),
        (phase, outcome) => Err(IllegalOutcome::new(format!("{phase:?}"), &outcome)),
    }
}

/// Copies a verdict.
fn settle(challenge: &mut Challenge, seen: &ChallengeSeen, now: Timestamp) -> Record {
    let identifier = challenge.spec.identifier.clone();
    let kind = challenge.spec.kind.as_str().to_uppercase();
    if seen.state == AuthorizationState::Valid {
        verified(challenge);
        let message = format!("Domain \"{identifier}\" verified with \"{kind}\" validation");
        return Record::default().normal(now, Reason::DomainVerified, message);
    }
    challenge.phase = Phase::Final;
    challenge.state = seen.state.clone();
    challenge.problem.clone_from(&seen.problem);
    let why = match &seen.problem {
        Some(problem) => problem.to_string(),
        None => format!("the CA says {}", seen.state.as_str()),
    };
    challenge.reason =
        format!("Error accepting authorization: acme: authorization error for {identifier}: {why}");
    let message = format!("Accepting challenge authorization failed: {why}");
    Record::default().warning(now, Reason::Failed, message)
}

/// Marks a challenge as proven, and names what it proves.
pub(super) fn verified(challenge: &mut Challenge) -> String {
    challenge.phase = Phase::Final;
    challenge.state = AuthorizationState::Valid;
    // What is proven needs no explanation any more.
    challenge.check = None;
    challenge.problem = None;
    "Successfully authorized domain".clone_into(&mut challenge.reason);
    challenge.spec.identifier.to_string()
}

/// Gives a challenge up: what the CA answered about it cannot be used.
fn unusable(challenge: &mut Challenge, why: &str) {
    challenge.phase = Phase::Final;
    challenge.state = AuthorizationState::Errored;
    challenge.reason = format!("unexpected non-ACME API error: {why}");
}

/// What it means for the challenges of an authorization that the CA refuses to show it.
pub(super) fn authorization_refused(
    order: &mut Order,
    authorization_url: &str,
    error: &EffectError,
) {
    let undecided = |c: &&mut Challenge| {
        c.spec.authorization_url == authorization_url && c.phase != Phase::Final
    };
    for challenge in order.challenges.iter_mut().filter(undecided) {
        match error.problem() {
            None if matches!(error.kind(), CauseKind::Unusable | CauseKind::Local) => {
                unusable(challenge, &error.to_string());
            }
            problem => {
                let malformed = problem.is_some_and(|p| p.short_kind() == "malformed");
                challenge.phase = Phase::Final;
                challenge.state = if malformed {
                    AuthorizationState::Expired
                } else {
                    AuthorizationState::Errored
                };
                challenge.problem = problem.cloned();
                challenge.reason = format!("Failed to fetch authorization: {error}");
            }
        }
    }
}

/// What an authorization says of the challenge that answers it. The state kept is the
/// authorization's, the error the challenge's own.
pub(super) fn authorization_seen(
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
        .find(|c| c.spec.authorization_url == authorization_url && c.phase != Phase::Final);
    let Some(challenge) = found else { return Record::default() };
    let own = seen.seen.iter().find(|(url, _)| *url == challenge.spec.url).map(|(_, seen)| seen);
    let problem = own.and_then(|own| own.problem.clone());
    let state = seen.state.clone();
    if state == AuthorizationState::Valid || state.is_failure() {
        return settle(challenge, &ChallengeSeen { state, problem }, now);
    }
    challenge.state = state;
    let url = &challenge.spec.url;
    let (is_out, is_counted) = (run.presented.contains(url), run.accept_tries.contains_key(url));
    let mut record = Record::default();
    match (challenge.phase, own) {
        (Phase::Accepting, Some(own)) if own.state != AuthorizationState::Pending => {
            challenge.phase = Phase::Accepted;
            record = left_pending::absorb(challenge, own, is_out, now);
        }
        (Phase::Accepting, Some(own)) if own.problem.is_some() => {
            // An earlier run told the CA, and was cut off before it could count that.
            if !is_counted {
                left_pending::told(challenge, now);
            }
            record = left_pending::absorb(challenge, own, is_out, now);
        }
        (Phase::Accepted, Some(own)) => {
            record = left_pending::absorb(challenge, own, is_out, now);
        }
        // Asking again would be answered in the same way, at once and for ever.
        (Phase::Accepting, None) => {
            unusable(challenge, "challenge was not present in authorization");
        }
        (
            Phase::Queued
            | Phase::Requeued
            | Phase::Presenting
            | Phase::SelfChecking
            | Phase::Accepting
            | Phase::Accepted
            | Phase::Final,
            _,
        ) => {}
    }
    if order_is_invalid {
        // Another name of the same order was refused; this one was not looked at to the end.
        challenge.phase = Phase::Final;
    }
    record
}

/// A clean-up that is done, or one that is left to the next run, with a warning that names it.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other outcome is refused, not kept")]
pub fn absorb_clean_up(
    snapshot: &Snapshot,
    order: &str,
    url: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
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
            challenge.clean_up = CleanUp::Done;
            Ok(Record::of(Change::Order(Box::new(order))))
        }
        Outcome::Failed(error) => {
            let message = match &challenge.target {
                Some(target) => {
                    format!("Error cleaning up challenge: {target} is left there: {error}")
                }
                None => format!("Error cleaning up challenge: {error}"),
            };
            Ok(Record::default().warning(now, Reason::CleanUpError, message))
        }
        other => Err(IllegalOutcome::new("clean-up owed", &other)),
    }
}
