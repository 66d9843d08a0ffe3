//! queued → presenting → self-checking → accepting → accepted → valid, or failed; clean-up owed.
//!
//! | phase | step | outcome → next phase |
//! | --- | --- | --- |
//! | Queued | wait for a slot; with one, record Presenting and the clean-up owed | |
//! | Queued behind another order, Requeued | with a slot, read the authorization first | none, if it is valid already |
//! | SelfChecking, without success for a turn | read the authorization | none, if it is valid already |
//! | Requeued | wait for a slot; with one, record SelfChecking, or Presenting when nothing is presented | |
//! | Presenting | DNS-01: find the zone and the name of the TXT record, and record them | Presenting |
//! | Presenting | present | presented → SelfChecking; failed → retry later; refused → nothing owed until then |
//! | SelfChecking | check from outside, or wait as `waitInsteadOfSelfCheck` says | passed → Accepting |
//! | Accepting | send "accept"; when it may have arrived already, read the authorization | Accepted; HTTP-01 of an earlier run to which it did not arrive → Presenting |
//! | Accepted | nothing: the order's controller reads the order; read the authorization when others wait for the slot, or for the name | none: valid, or failed |
//! | Accepting, Accepted | validation failed: the CA calls the challenge pending, with an `error` | SelfChecking, or Presenting when nothing in this run answers; not before the pause since the last accept is over |
//! | none | clean up, if owed | |
//!
//! Presenting and SelfChecking become Requeued when the turn is over: the challenge stays
//! presented. All challenges advance in one step: one record, then their effects concurrently.
//!
//! An order's challenges of one name and type, apex and wildcard, are a group: their values are
//! presented one after the other, checked once all are presented, accepted once all were seen, and
//! taken back when all are decided. A resolver that the CA asks may keep the first set of values
//! that it sees.
//!
//! A CA may give one challenge to several orders, of one certificate or of several. What another
//! order may have proven is read at the CA before it is presented; and what an order still presents
//! is not cleaned up for another one: the clean-ups of a certificate's earlier orders come before
//! it presents at the same name again, and those of others wait for the name's slot.

mod absorb;
mod left_pending;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::attempt::Slot;
use super::scheduler::turn;
use super::{Awaited, Change, Effect, Record, Snapshot, Step, Wake, order};
use crate::resource::{Challenge, GoDuration, Order, OrderPhase, Pause, Phase, Reason};

pub use absorb::{absorb, absorb_clean_up};
pub(super) use absorb::{
    authorization_refused, authorization_seen, forget_failed_validation, verified,
};

/// See the table above.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Step {
    let is_solving = |order: &&Order| matches!(order.phase, OrderPhase::Solving(_));
    let Some(order) = snapshot.current_order().filter(is_solving) else {
        return Step::Settled;
    };
    let moves = |c: &Challenge| {
        may_start(snapshot, c)
            || may_go_on(snapshot, c)
            || must_yield(snapshot, order, c)
            || waited_instead(snapshot, c, now)
            || is_tried_again(snapshot, c, now)
    };
    if order.challenges.iter().any(moves) {
        return Step::Record(moved_on(snapshot, order, now));
    }
    let mut effects = Vec::new();
    let mut until: Option<Timestamp> = None;
    let waits = |c: &Challenge| matches!(c.phase(), Some(Phase::Queued | Phase::Requeued));
    let queued = snapshot.run.is_crowded
        || snapshot.run.attempts.values().any(|attempt| attempt.slot == Slot::Missing)
        || order.challenges.iter().any(waits);
    for challenge in &order.challenges {
        let Some(phase) = challenge.phase() else { continue };
        // Reading an authorization needs no slot.
        let attempt = snapshot.run.attempt(&challenge.spec.url);
        if attempt.slot == Slot::Missing && !attempt.is_unsure {
            continue;
        }
        if waits_for_its_group(order, challenge, phase) && !attempt.is_unsure {
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
        let (spec, target) = (Arc::clone(&challenge.spec), challenge.presented.target.clone());
        effects.push(match phase {
            _ if looks_first(snapshot, challenge) || looks_again(snapshot, challenge, now) => {
                order::read_authorization(order, &spec.authorization_url)
            }
            Phase::Presenting if needs_a_place(challenge) => Effect::Locate { challenge: spec },
            Phase::Presenting => Effect::Present { challenge: spec, target },
            Phase::SelfChecking => Effect::SelfCheck { challenge: spec, target },
            Phase::Accepting if attempt.is_unsure => {
                order::read_authorization(order, &spec.authorization_url)
            }
            Phase::Accepting => {
                let account = order.spec.account_url.clone();
                Effect::Accept { account, url: spec.url.clone() }
            }
            Phase::Accepted if attempt.is_wanted || (queued && attempt.hit().is_none()) => {
                order::read_authorization(order, &spec.authorization_url)
            }
            Phase::Queued | Phase::Requeued | Phase::Accepted => continue,
        });
    }
    if !effects.is_empty() {
        return Step::Act(effects);
    }
    let is_done = |c: &Challenge| matches!(c.phase(), Some(Phase::Accepted) | None);
    let waits = until.is_some() || (queued && !order.challenges.iter().all(is_done));
    let Some(what) = awaited(order, now).filter(|_| waits) else { return Step::Settled };
    let wake = if queued { Wake::Slot } else { Wake::Time };
    Step::Wait { until, wake, what }
}

/// When the next effect for a challenge is due.
///
/// The verdict on an accepted one is read when others wait for its slot, or for its name: the order
/// is read only once all are accepted, and certctl does not see the CA fetch a response from a web
/// server or another process.
fn not_before(snapshot: &Snapshot, challenge: &Challenge, queued: bool) -> Option<Timestamp> {
    let attempt = snapshot.run.attempt(&challenge.spec.url);
    if challenge.phase() != Some(Phase::Accepted) {
        return attempt.not_before;
    }
    let pause = Pause::VERDICT.length(attempt.looks.saturating_sub(1));
    if let Some(hit) = attempt.hit().filter(|_| attempt.is_wanted) {
        let again = attempt.looked.filter(|looked| *looked >= hit);
        let again = again.map(|at| at.checked_add(pause));
        return again.unwrap_or_else(|| hit.checked_add(snapshot.run.order.first_pause())).ok();
    }
    if !(queued || attempt.is_wanted) || attempt.hit().is_some() {
        return None;
    }
    attempt.looked.max(attempt.accepted())?.checked_add(pause).ok()
}

/// One record for every change without an effect: queued challenges with a granted slot, those
/// whose turn is over, and those whose wait instead of a self-check is over.
fn moved_on(snapshot: &Snapshot, before: &Order, now: Timestamp) -> Record {
    let mut order = before.clone();
    let mut record = Record::default();
    for challenge in &mut order.challenges {
        let mut moves_to = None;
        if may_start(snapshot, challenge) {
            moves_to = Some(Phase::Presenting);
            if !challenge.owes_clean_up() {
                challenge.presented.target = None;
            }
            challenge.presented.is_owed = true;
            record = started(record, snapshot, challenge, now);
        } else if may_go_on(snapshot, challenge) {
            let is_out = challenge.presented.at.is_some();
            moves_to = Some(if is_out { Phase::SelfChecking } else { Phase::Presenting });
            record = started(record, snapshot, challenge, now);
        } else if must_yield(snapshot, before, challenge) {
            moves_to = Some(Phase::Requeued);
            let message = format!(
                "Challenge queued again, still presented, because others need its slot ({})",
                challenge.spec.identifier
            );
            record = record.normal(now, Reason::Requeued, message);
        } else if waited_instead(snapshot, challenge, now) {
            moves_to = Some(Phase::Accepting);
        } else if is_tried_again(snapshot, challenge, now) {
            challenge.presented.is_owed = true;
        }
        if let Some(phase) = moves_to {
            challenge.go_to(phase);
        }
    }
    record.changes.push(Change::Order(Box::new(order)));
    record
}

/// Whether another challenge of its group comes first.
fn waits_for_its_group(order: &Order, challenge: &Challenge, phase: Phase) -> bool {
    let mut others = order.challenges.iter().filter(|other| is_in_group(challenge, other));
    match phase {
        // One after the other: a provider may write all values of a name at once.
        Phase::Presenting => others
            .take_while(|other| other.spec.url != challenge.spec.url)
            .any(|other| other.phase() == Some(Phase::Presenting)),
        Phase::SelfChecking => others.any(|other| {
            matches!(other.phase(), Some(Phase::Queued | Phase::Requeued | Phase::Presenting))
        }),
        Phase::Accepting => others.any(|other| {
            matches!(
                other.phase(),
                Some(Phase::Queued | Phase::Requeued | Phase::Presenting | Phase::SelfChecking)
            )
        }),
        Phase::Queued | Phase::Requeued | Phase::Accepted => false,
    }
}

fn is_in_group(challenge: &Challenge, other: &Challenge) -> bool {
    other.spec.group() == challenge.spec.group()
}

/// A DNS record's place is stored before the record is written.
fn needs_a_place(challenge: &Challenge) -> bool {
    challenge.spec.kind.is_record() && challenge.presented.target.is_none()
}

/// A slot was granted, and no clean-up of an earlier turn, or of an earlier order, is in flight.
fn may_start(snapshot: &Snapshot, challenge: &Challenge) -> bool {
    let attempt = snapshot.run.attempt(&challenge.spec.url);
    challenge.phase() == Some(Phase::Queued)
        && attempt.has_slot()
        && !looks_first(snapshot, challenge)
        && (!challenge.owes_clean_up() || attempt.clean_up_failed)
        && !snapshot.retired.iter().flat_map(|order| &order.challenges).any(|old| {
            let has_failed = snapshot.run.attempt(&old.spec.url).clean_up_failed;
            is_in_group(challenge, old) && old.owes_clean_up() && !has_failed
        })
}

/// Whether the CA is asked before a granted slot is used: it may have validated the name for
/// another order, with which it shares the authorization.
fn looks_first(snapshot: &Snapshot, challenge: &Challenge) -> bool {
    let attempt = snapshot.run.attempt(&challenge.spec.url);
    let Slot::Held { grant: Some(grant), .. } = attempt.slot else { return false };
    let may_be_valid = match challenge.phase() {
        Some(Phase::Queued) => grant.was_behind,
        Some(Phase::Requeued) => true,
        Some(Phase::Presenting | Phase::SelfChecking | Phase::Accepting | Phase::Accepted)
        | None => false,
    };
    may_be_valid && attempt.looked.is_none_or(|looked| looked < grant.at)
}

/// Whether the CA is asked once more, since no self-check of this run has succeeded in a turn: a
/// sibling that shares the authorization may have proven the name, and taken back the answer.
fn looks_again(snapshot: &Snapshot, challenge: &Challenge, now: Timestamp) -> bool {
    let attempt = snapshot.run.attempt(&challenge.spec.url);
    let since = attempt.looked.max(challenge.presented.at);
    let ends = since.and_then(|at| at.checked_add(turn(snapshot.intervals.self_check)).ok());
    challenge.phase() == Some(Phase::SelfChecking)
        && attempt.not_before.is_some()
        && ends.is_some_and(|ends| ends <= now)
}

/// A refused challenge, which owes nothing, is presented again.
fn is_tried_again(snapshot: &Snapshot, challenge: &Challenge, now: Timestamp) -> bool {
    let attempt = snapshot.run.attempt(&challenge.spec.url);
    challenge.phase() == Some(Phase::Presenting)
        && !challenge.owes_clean_up()
        && attempt.slot != Slot::Missing
        && attempt.not_before.is_none_or(|time| time <= now)
}

/// A slot was granted to a challenge that had one before.
fn may_go_on(snapshot: &Snapshot, challenge: &Challenge) -> bool {
    challenge.phase() == Some(Phase::Requeued)
        && snapshot.run.attempt(&challenge.spec.url).has_slot()
        && !looks_first(snapshot, challenge)
}

/// Its turn is over, and others wait. A wait instead of a self-check ends by itself. However slow the
/// machine is, no turn ends without a self-check: else many challenges could take each other's slots
/// before any of them is checked.
fn must_yield(snapshot: &Snapshot, order: &Order, challenge: &Challenge) -> bool {
    let attempt = snapshot.run.attempt(&challenge.spec.url);
    let slot = attempt.slot;
    let may_yield = match challenge.phase() {
        Some(Phase::Presenting | Phase::SelfChecking) => true,
        Some(phase @ Phase::Accepting) => {
            !attempt.is_unsure && waits_for_its_group(order, challenge, phase)
        }
        Some(Phase::Queued | Phase::Requeued | Phase::Accepted) | None => false,
    };
    let group = || order.challenges.iter().filter(|c| c.spec.group() == challenge.spec.group());
    may_yield
        && challenge.spec.solver.wait_instead_of_self_check.is_none()
        && matches!(slot, Slot::Held { is_over: true, .. })
        && !group().any(|challenge| is_unchecked(snapshot, challenge))
}

/// Whether its self-check has not ended yet since the slot was granted.
fn is_unchecked(snapshot: &Snapshot, challenge: &Challenge) -> bool {
    let attempt = snapshot.run.attempt(&challenge.spec.url);
    let Slot::Held { grant: Some(grant), .. } = attempt.slot else { return false };
    let next = grant.at.checked_add(snapshot.intervals.self_check).unwrap_or(Timestamp::MAX);
    challenge.phase() == Some(Phase::SelfChecking)
        && attempt.not_before.is_none_or(|time| time < next)
}

/// The start event has the time of the grant: it is recorded a little later.
fn started(record: Record, snapshot: &Snapshot, challenge: &Challenge, now: Timestamp) -> Record {
    let (at, message) = scheduled(snapshot, challenge, now);
    record.normal(at, Reason::Started, message)
}

/// When a slot was granted, and the journal's event.
pub(crate) fn scheduled(
    snapshot: &Snapshot,
    challenge: &Challenge,
    now: Timestamp,
) -> (Timestamp, String) {
    let identifier = &challenge.spec.identifier;
    let (at, waited) = match snapshot.run.attempt(&challenge.spec.url).slot {
        Slot::Held { grant: Some(grant), .. } => {
            (grant.at, grant.queued_since.duration_until(grant.at).as_secs())
        }
        Slot::Held { grant: None, .. } | Slot::Missing | Slot::None => (now, 0),
    };
    let waited = if waited > 0 {
        format!(" after {waited}s of waiting for other challenges")
    } else {
        String::new()
    };
    (at, format!("Challenge started{waited} ({identifier})"))
}

/// The journal's event for a released slot without another event.
pub(crate) fn released(identifier: &str) -> String {
    format!("Challenge ended; the next one that waits may start ({identifier})")
}

fn wait_ends(challenge: &Challenge) -> Option<Timestamp> {
    let wait = challenge.spec.solver.wait_instead_of_self_check?;
    if challenge.phase() != Some(Phase::SelfChecking) {
        return None;
    }
    challenge.presented.at?.checked_add(wait.0).ok()
}

/// When a failed challenge is checked again and "accept" repeated.
fn accept_waits(challenge: &Challenge, now: Timestamp) -> Option<Timestamp> {
    let may_wait = matches!(challenge.phase(), Some(Phase::SelfChecking | Phase::Accepting));
    may_wait.then(|| left_pending::not_before(challenge, now)).flatten()
}

fn waited_instead(snapshot: &Snapshot, challenge: &Challenge, now: Timestamp) -> bool {
    snapshot.run.attempt(&challenge.spec.url).slot != Slot::Missing
        && accept_waits(challenge, now).is_none_or(|time| time <= now)
        && wait_ends(challenge).is_some_and(|time| time <= now)
}

/// What an order waits for: of several challenges, one whose self-check fails.
fn awaited(order: &Order, now: Timestamp) -> Option<Awaited> {
    let checked = order.challenges.iter().find(|c| c.phase() == Some(Phase::SelfChecking));
    let pending = || order.challenges.iter().find(|c| c.pending().is_some());
    let challenge = checked.or_else(pending)?;
    if matches!(challenge.phase(), Some(Phase::Queued | Phase::Requeued)) {
        return Some(Awaited::Slot(challenge.spec.identifier.clone()));
    }
    Some(match wait_ends(challenge).filter(|ends| *ends > now) {
        Some(ends) => Awaited::InsteadOfSelfCheck {
            challenge: Arc::clone(&challenge.spec),
            left: GoDuration(now.duration_until(ends)),
        },
        None => Awaited::Challenge(Box::new(challenge.clone())),
    })
}

/// The clean-ups owed now: of final challenges whose group is final, and of those that went back
/// to the queue; of a name and type one after the other, those of earlier orders first, and only
/// while the current order does not present there. One that failed in this run is left to the next.
pub fn clean_ups(snapshot: &Snapshot) -> Vec<Effect> {
    let orders = snapshot.retired.iter().chain(&snapshot.order);
    let current = || snapshot.order.iter().flat_map(|order| &order.challenges);
    let mut effects = Vec::new();
    let mut groups = BTreeSet::new();
    for order in orders {
        for challenge in order.challenges.iter().filter(|c| c.owes_clean_up()) {
            let others = order.challenges.iter().chain(current());
            let others = others.filter(|other| is_in_group(challenge, other));
            let over = match challenge.phase() {
                None => others.filter_map(Challenge::phase).all(|phase| phase == Phase::Queued),
                phase => phase == Some(Phase::Queued),
            };
            let has_failed = snapshot.run.attempt(&challenge.spec.url).clean_up_failed;
            if over && !has_failed && groups.insert(challenge.spec.group()) {
                let (order, spec) = (order.name.clone(), Arc::clone(&challenge.spec));
                let target = challenge.presented.target.clone();
                effects.push(Effect::CleanUp { order, challenge: spec, target });
            }
        }
    }
    effects
}

/// A challenge as loaded by a run that did not present it itself: HTTP-01 is presented again, and
/// whether "accept" arrived is read from the CA.
pub fn resumed(mut order: Order) -> (Order, Vec<String>) {
    let mut unsure = Vec::new();
    for challenge in &mut order.challenges {
        let (is_served, url) = (challenge.spec.kind.is_served(), challenge.spec.url.clone());
        let Some(pending) = challenge.pending_mut() else { continue };
        match (pending.phase, is_served) {
            (Phase::SelfChecking, true) => pending.phase = Phase::Presenting,
            // No listener answers for it any more: it is cleaned up first.
            (Phase::Requeued, true) => pending.phase = Phase::Queued,
            (Phase::Accepting, _) => unsure.push(url),
            (
                Phase::Queued
                | Phase::Requeued
                | Phase::Presenting
                | Phase::SelfChecking
                | Phase::Accepted,
                _,
            ) => {}
        }
    }
    (order, unsure)
}

/// The challenges, by URL, that an earlier run may have presented with a listener that is gone.
pub fn left_unanswered(order: &Order) -> impl Iterator<Item = String> {
    // After a power loss, that it may have been presented is all that is left on disk.
    let was_out = |c: &&Challenge| {
        let is_pending = c.pending().is_some();
        c.spec.kind.is_served() && is_pending && (c.presented.at.is_some() || c.owes_clean_up())
    };
    order.challenges.iter().filter(was_out).map(|challenge| challenge.spec.url.clone())
}

/// A challenge as left by a run that ends before "accept": HTTP-01 goes back to the queue, with a
/// clean-up owed; DNS-01 stays presented, and its self-check is repeated.
pub fn parked(mut order: Order) -> Order {
    for challenge in &mut order.challenges {
        let is_record = challenge.spec.kind.is_record();
        let Some(pending) = challenge.pending_mut() else { continue };
        match (pending.phase, is_record) {
            (
                Phase::Requeued | Phase::Presenting | Phase::SelfChecking | Phase::Accepting,
                false,
            ) => pending.phase = Phase::Queued,
            (Phase::Accepting, true) => pending.phase = Phase::SelfChecking,
            (Phase::Requeued | Phase::Presenting | Phase::SelfChecking, true)
            | (Phase::Queued | Phase::Accepted, _) => {}
        }
    }
    order
}

/// The same for a run ended by a signal: nothing stays presented.
pub fn withdrawn(mut order: Order) -> Order {
    for pending in order.challenges.iter_mut().filter_map(Challenge::pending_mut) {
        match pending.phase {
            Phase::Requeued | Phase::Presenting | Phase::SelfChecking | Phase::Accepting => {
                pending.phase = Phase::Queued;
            }
            Phase::Queued | Phase::Accepted => {}
        }
    }
    order
}
