//! How a run ends that does not settle: failure, timeout, signal; and the clean-ups at every
//! ending.

use std::collections::BTreeSet;

use futures_util::{FutureExt, StreamExt};
use jiff::{SignedDuration, Timestamp};

use super::state::Drive;
use crate::controller::{
    Change, Deferral, Record, Snapshot, Step, backoff, challenge, deploy, next_step, trigger,
};
use crate::engine::ending::{Ending, Issued, PendingOn};
use crate::engine::goal::Goal;
use crate::engine::notice;
use crate::engine::perform::cause_of_state;
use crate::engine::ports::{Clock, Ports, Store, StoreError};
use crate::engine::run::{Engine, OVERDUE};
use crate::engine::session::Session;
use crate::engine::task::Task;
use crate::resource::{Challenge, Doing, Failure, Order, OrderPhase, Phase, Reason, Rollback};

impl<P: Ports> Drive<'_, P> {
    /// Records that an issuance has failed.
    pub(super) async fn fail(&mut self, failure: Failure, now: Timestamp) -> Ending {
        self.drop_effects();
        let (snapshot, before) = (&self.session.snapshot, self.before_force.as_ref());
        let taken_back = before.and_then(|one| trigger::taken_back(snapshot, one, &failure, now));
        if let Some(record) = taken_back {
            self.session.apply(record);
            self.session.snapshot.run.taken_back = true;
            return Ending::Failed { failure, attempts: None, next_attempt: None };
        }
        if let Err(error) = self.add_failed_validations(now).await {
            tracing::warn!(certificate = %self.session.name, %error, "failed validations not noted");
        }
        let failure = backoff::lasting(&self.session.snapshot, failure, now);
        let mut record = backoff::record_failure(&self.session.snapshot, &failure, now);
        if !failure.counts() {
            self.park().await;
            // The failure is recorded with its cause; the order is continued.
            record.events.clear();
        }
        self.session.apply(record);
        let record = &self.session.snapshot.record;
        let attempts = failure.counts().then_some(record.status.failed_issuance_attempts).flatten();
        // Without an issuance in progress, the failure does not wait for the next attempt.
        let waits = failure.counts() || self.session.snapshot.is_issuing();
        let next_attempt = backoff::next_try(&self.session.snapshot, record, now);
        let next_attempt = next_attempt.filter(|time| *time > now && waits);
        if self.engine.options.comes_by_itself(self.task)
            && backoff::is_passing(record, &failure, now)
        {
            let why = Deferral::Outage(Box::new(failure));
            return Ending::Deferred { until: next_attempt, why, urgent: None };
        }
        Ending::Failed { failure, attempts, next_attempt }
    }

    /// Whether there is no work left.
    pub(super) fn settled(&self) -> Ending {
        let snapshot = &self.session.snapshot;
        let status = &snapshot.record.status;
        let leaf = snapshot.secret.as_ref().and_then(|pair| pair.certificate.as_ref());
        match (status.revision, leaf) {
            (Some(revision), Some(Ok(leaf)))
                if self.task.goal == Goal::Issue && Some(revision) != self.before.revision =>
            {
                let (added, removed) = self.before.changed(leaf);
                Ending::Issued(Box::new(Issued {
                    revision,
                    leaf: leaf.clone(),
                    added,
                    removed,
                    renewal_time: status.renewal_time,
                    secret_name: snapshot.certificate.spec.secret_name.clone(),
                }))
            }
            _ => unchanged(&self.session),
        }
    }

    pub(super) async fn interrupted(&mut self, signal: i32) -> Result<Ending, StoreError> {
        self.take_last_answers().await?;
        self.drop_effects();
        if self.task.goal == Goal::Issue {
            self.leave_order(challenge::withdrawn).await;
        }
        self.flush(&[]).await?;
        Ok(Ending::Interrupted { signal })
    }

    /// Waits a moment for what is under way and would be lost: an order of which the next run would
    /// know nothing, or a record that is written after its clean-up.
    async fn take_last_answers(&mut self) -> Result<(), StoreError> {
        let ends = self.engine.ports.clock().sleep(LAST_ANSWERS).fuse();
        futures_util::pin_mut!(ends);
        while self.would_lose_an_answer() {
            let next = tokio::select! {
                biased;
                next = self.effects.next() => next,
                () = &mut ends => None,
            };
            let Some((effect, outcome)) = next else { break };
            let outcome = self.claimed(&effect, outcome).await?;
            self.absorb(&effect, outcome);
        }
        Ok(())
    }

    /// Whether the CA needs nothing more from certctl: its verdict may still arrive.
    pub(super) fn may_wait_for_the_verdict(&self) -> bool {
        let undone = |order: &Order| order.challenges.iter().any(|c| !is_past_accept(c));
        let order = self.session.snapshot.current_order();
        !self.extended
            && order.is_some_and(|order| {
                !matches!(order.phase, OrderPhase::Solving(_)) || !undone(order)
            })
    }

    /// No wait ends it: the DNS provider denied permission, or this host's own web server does not
    /// serve the webroot.
    pub(super) fn is_refused_for_good(&self) -> bool {
        let snapshot = &self.session.snapshot;
        let gives_up = |c: &Challenge| {
            matches!(c.phase(), Some(Phase::Presenting | Phase::SelfChecking))
                && snapshot.run.attempt(&c.spec.url).gives_up()
        };
        snapshot.current_order().is_some_and(|order| order.challenges.iter().any(gives_up))
    }

    pub(super) async fn leave_pending(&mut self) -> Result<Ending, StoreError> {
        let now = self.engine.ports.clock().now();
        let is_refused = self.is_refused_for_good();
        let run = self.session.snapshot.run.clone();
        let order = self.session.snapshot.current_order().cloned();
        self.park().await;
        self.flush(&[]).await?;
        let Some(order) = order else { return Ok(unchanged(&self.session)) };
        // Of several that wait, one with a known reason: the others queue behind it.
        let waiting = order.challenges.iter().filter(|c| !is_past_accept(c));
        let refused = waiting.clone().find(|c| run.attempt(&c.spec.url).gives_up());
        let explained = refused.or_else(|| waiting.clone().find(|c| !c.reason.is_empty()));
        let why = explained
            .or(waiting.clone().next())
            .or(order.challenges.iter().find(|c| c.phase().is_some()))
            .map_or_else(|| PendingOn::order(&order), PendingOn::challenge);
        let is_old = order.creation_timestamp.duration_until(now) >= OVERDUE;
        let is_urgent = backoff::is_urgent(&self.session.snapshot.record, now);
        Ok(Ending::Pending {
            since: order.creation_timestamp,
            overdue: is_old || is_urgent || is_refused,
            order: order.name,
            why,
        })
    }

    /// Adds journal events for slots that no other event covers: challenges of an earlier run that
    /// hold one now, beside those that were `held`; and slots freed since `begun`, before another
    /// run could take them.
    pub(super) fn note_slots(
        &mut self,
        held: &BTreeSet<String>,
        released: &[String],
        begun: Timestamp,
    ) {
        let snapshot = &self.session.snapshot;
        let now = self.engine.ports.clock().now();
        let mut record = Record::default();
        let challenges = snapshot.current_order().map_or(&[][..], |order| &order.challenges);
        for challenge in challenges {
            let url = &challenge.spec.url;
            let has_one = snapshot.run.attempt(url).has_slot() && !held.contains(url);
            if has_one && challenge.is_processing() {
                let (at, message) = challenge::scheduled(snapshot, challenge, now);
                record = record.normal(at, Reason::Started, message);
            }
        }
        for identifier in released {
            record = record.normal(begun, Reason::Released, challenge::released(identifier));
        }
        self.session.apply(record);
    }

    /// Leaves the order so that the next run continues it.
    pub(super) async fn park(&mut self) {
        self.leave_order(challenge::parked).await;
    }

    pub(super) async fn leave_order(&mut self, as_it_is_left: fn(Order) -> Order) {
        self.drop_effects();
        self.claims.clear();
        if let Some(order) = self.session.snapshot.current_order() {
            let left = as_it_is_left(order.clone());
            if &left != order {
                self.session.apply(Record::of(Change::Order(Box::new(left))));
            }
        }
        let now = self.engine.ports.clock().now();
        let mut record = Record::default();
        let snapshot = Some(self.session.snapshot.as_ref());
        for identifier in self.shared.schedule.release(&self.session.name, snapshot).await {
            record = record.normal(now, Reason::Released, challenge::released(&identifier));
        }
        self.session.apply(record);
        self.session.snapshot.run.give_slots_back();
    }
}

/// How long a run that is ending waits for an answer.
const LAST_ANSWERS: SignedDuration = SignedDuration::from_secs(5);

fn is_past_accept(challenge: &Challenge) -> bool {
    matches!(challenge.phase(), Some(Phase::Accepted) | None)
}

pub(in crate::engine) fn state_failure(error: &StoreError) -> Ending {
    let failure = Failure::of(Doing::Nothing, cause_of_state(error));
    Ending::Failed { failure, attempts: None, next_attempt: None }
}

pub(super) fn unchanged<S: Store>(session: &Session<'_, S>) -> Ending {
    let status = &session.snapshot.record.status;
    Ending::Unchanged { not_after: status.not_after, renewal_time: status.renewal_time }
}

pub(super) fn deferred<S: Store>(
    session: &Session<'_, S>,
    until: Timestamp,
    why: Deferral,
    now: Timestamp,
) -> Ending {
    let record = &session.snapshot.record;
    let urgent = backoff::is_urgent(record, now).then(|| backoff::class_of_last_failure(record));
    Ending::Deferred { until: Some(until), why, urgent }
}

/// Whether a pair of the manifests may be adopted, which no controller decides.
fn may_adopt(task: &Task, snapshot: &Snapshot) -> bool {
    let is_found = task.secret.is_some() && snapshot.secret.is_none();
    is_found && trigger::is_unissued(&snapshot.record)
}

/// The ending, when there is nothing to do, to write or to report.
pub(super) fn nothing_to_do<P: Ports>(
    engine: &Engine<'_, P>,
    task: &Task,
    session: &Session<'_, P::Store>,
    now: Timestamp,
) -> Option<Ending> {
    let snapshot = &session.snapshot;
    let is_requested = task.force.is_some()
        || task.allow_untrusted
        || task.revoked.is_some()
        || task.goal != Goal::Issue
        || engine.options.ignore_limits;
    let goes_back = snapshot.record.rollback.as_ref().is_some_and(Rollback::is_owed);
    if is_requested
        || goes_back
        || snapshot.repair.is_some()
        || may_adopt(task, snapshot)
        || !session.is_known()
        || session.is_unsaved()
        || session.has_temporaries()
        || deploy::owed(snapshot).is_some()
    {
        return None;
    }
    match next_step(snapshot, now) {
        (owed, Step::Settled) if owed.is_empty() => Some(unchanged(session)),
        (owed, Step::Defer { until, why }) if owed.is_empty() => {
            let ending = deferred(session, until, why, now);
            let is_new = notice::is_new(&snapshot.record, &ending, now);
            (!engine.options.reports_daily || !is_new).then_some(ending)
        }
        (
            _,
            Step::Settled
            | Step::Record(_)
            | Step::Act(_)
            | Step::Wait { .. }
            | Step::Defer { .. }
            | Step::Fail(_),
        ) => None,
    }
}
