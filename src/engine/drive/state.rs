//! One certificate's run: the snapshot, the effects in flight, and their outcomes.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use jiff::{SignedDuration, Timestamp};

use super::hold::Hold;
use super::shared::Shared;
use crate::controller::{Effect, EffectError, Outcome, Record, Snapshot, absorb, backoff, limit};
use crate::engine::claim::Claim;
use crate::engine::goal::Goal;
use crate::engine::ports::{Clock, Documents, LeaseOf, Performer, Ports, Store, StoreError};
use crate::engine::run::Engine;
use crate::engine::session::Session;
use crate::engine::task::{Force, Task};
use crate::resource::{Cause, CertificateRecord, Doing, LeafFacts, only_in};

/// Outcomes in quick succession are written together: those within this time, or within four times
/// the last write's duration, so that a slow disk does not dominate the run.
const GATHER: SignedDuration = SignedDuration::from_millis(20);
/// The longest that an outcome waits for others.
const GATHER_MOST: SignedDuration = SignedDuration::from_millis(500);

pub(super) struct Drive<'a, P: Ports> {
    pub(super) engine: &'a Engine<'a, P>,
    pub(super) shared: &'a Shared<'a, P::Clock, P::Store>,
    pub(super) task: &'a Task,
    pub(super) session: Session<'a, P::Store>,
    pub(super) hold: Rc<Hold<LeaseOf<P::Store>>>,
    /// How the issuance is forced; not where the run that this one waited for has issued.
    pub(super) force: Option<Force>,
    /// The record before, where nothing else asks for the issuance that is forced.
    pub(super) before_force: Option<CertificateRecord>,
    /// The effects in flight: a repeated request for one does not start it again.
    in_flight: Vec<Effect>,
    pub(super) effects: FuturesUnordered<LocalBoxFuture<'a, (Effect, Outcome)>>,
    /// Measured on the monotonic clock: no jump of the wall clock moves it.
    pub(super) deadline: Option<LocalBoxFuture<'a, ()>>,
    /// The same on the wall clock, to be shown.
    pub(super) gives_up_at: Option<Timestamp>,
    pub(super) extended: bool,
    pub(super) hits_seen: u64,
    /// When to decide again, whatever happens.
    pub(super) look_at: Option<Timestamp>,
    gather: SignedDuration,
    /// Another pair is live than the one that was loaded.
    is_outdated: bool,
    pub(super) before: Before,
    /// The orders at the CA that are this certificate's until they are done.
    pub(super) claims: Vec<Claim<LeaseOf<P::Store>>>,
}

/// What was live when an issuance began.
#[derive(Default)]
pub(super) struct Before {
    pub(super) revision: Option<u32>,
    /// The names and addresses; `None` without a certificate.
    names: Option<Vec<String>>,
}

impl Before {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self {
            revision: snapshot.record.status.revision,
            names: snapshot.live_leaf().map(|leaf| leaf.names().collect()),
        }
    }

    /// The names of a certificate that the one before did not have, and those that it does not have any
    /// more; none where there was none.
    pub(super) fn changed(&self, leaf: &LeafFacts) -> (Vec<String>, Vec<String>) {
        let Some(before) = &self.names else { return (Vec::new(), Vec::new()) };
        let now: Vec<String> = leaf.names().collect();
        (only_in(&now, before), only_in(before, &now))
    }
}

impl<'a, P: Ports> Drive<'a, P> {
    pub(super) fn new(
        engine: &'a Engine<'a, P>,
        shared: &'a Shared<'a, P::Clock, P::Store>,
        task: &'a Task,
        session: Session<'a, P::Store>,
        lease: Option<LeaseOf<P::Store>>,
    ) -> Self {
        Self {
            engine,
            shared,
            task,
            session,
            hold: Rc::new(Hold::of(lease)),
            force: task.force,
            before_force: None,
            in_flight: Vec::new(),
            effects: FuturesUnordered::new(),
            deadline: None,
            gives_up_at: None,
            extended: false,
            hits_seen: 0,
            look_at: None,
            gather: GATHER,
            is_outdated: false,
            before: Before::default(),
            claims: Vec::new(),
        }
    }

    /// Reloads everything when another pair went live. What happened in this run stays.
    pub(super) async fn refresh(&mut self) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.is_outdated) {
            return Ok(());
        }
        self.flush(&[]).await?;
        let (now, intervals) = (self.engine.ports.clock().now(), self.engine.options.intervals);
        let mut session = self.session.load_again(self.task, intervals, now).await?;
        session.snapshot.run = std::mem::take(&mut self.session.snapshot.run);
        self.session = session;
        Ok(())
    }

    /// Each effect may run twice: one that is still needed starts again.
    pub(super) fn drop_effects(&mut self) {
        self.effects.clear();
        self.in_flight.clear();
    }

    /// Whether a request for an account or an order is in flight.
    pub(super) fn is_asking(&self) -> bool {
        self.in_flight.iter().any(limit::creates)
    }

    /// Whether a request is in flight whose answer the next run could not read anywhere.
    pub(super) fn would_lose_an_answer(&self) -> bool {
        self.in_flight
            .iter()
            .any(|effect| matches!(effect, Effect::CreateOrder { .. } | Effect::Present { .. }))
    }

    pub(super) fn start(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if self.in_flight.contains(&effect) {
                continue;
            }
            self.in_flight.push(effect.clone());
            self.session.snapshot.run.note_begin(&effect, self.engine.ports.clock().now());
            self.engine.observer.stage(&self.session.name, effect.stage());
            let issuer = Arc::clone(self.session.snapshot.issuer());
            let (performer, task) = (self.engine.ports.performer(), self.task);
            let hold = Rc::clone(&self.hold);
            let answer = async move {
                let outcome = performer.perform(task, issuer, effect.clone(), &*hold).await;
                (effect, outcome)
            };
            self.effects.push(answer.boxed_local());
        }
    }

    /// Absorbs an outcome, and those that follow at once.
    pub(super) async fn absorb_all(
        &mut self,
        effect: Effect,
        outcome: Outcome,
    ) -> Result<(), StoreError> {
        let clock = self.engine.ports.clock();
        let window = clock.sleep(self.gather).fuse();
        futures_util::pin_mut!(window);
        let mut next = Some((effect, outcome));
        while let Some((effect, outcome)) = next {
            let outcome = self.claimed(&effect, outcome).await?;
            self.absorb(&effect, outcome);
            if self.effects.is_empty() || matches!(effect, Effect::CreateOrder { .. }) {
                // The URL is stored right away: without it the next run would have to order again.
                break;
            }
            next = tokio::select! {
                biased;
                outcome = self.effects.next() => outcome,
                () = &mut window => None,
            };
        }
        Ok(())
    }

    pub(super) fn absorb(&mut self, effect: &Effect, outcome: Outcome) {
        self.in_flight.retain(|other| other != effect);
        let now = self.engine.ports.clock().now();
        let is_done = outcome == Outcome::Done;
        // The record names the pair, and the live files follow it.
        let is_to_follow =
            <P::Store as Store>::Documents::SHARED && matches!(outcome, Outcome::Published(_));
        if let Some(change) = backoff::answered(&self.session.snapshot, effect, &outcome) {
            self.session.apply(Record::of(change));
        }
        match absorb(&mut self.session.snapshot, effect, outcome, now) {
            Ok(record) => {
                self.is_outdated |= is_to_follow
                    || is_done
                        && matches!(
                            effect,
                            Effect::SwitchBack { .. }
                                | Effect::RestoreLinks { .. }
                                | Effect::RestoreFiles { .. }
                                | Effect::Follow { .. }
                        );
                self.session.apply(record);
            }
            Err(illegal) => {
                tracing::error!(certificate = %self.session.name, %illegal, "outcome refused");
                let error = EffectError::new(Cause::local(illegal.to_string()));
                self.session.snapshot.run.error = Some((Doing::Nothing, error));
            }
        }
    }

    /// Writes what has changed, before these effects start.
    pub(super) async fn flush(&mut self, before: &[Effect]) -> Result<(), StoreError> {
        // Events of an account belong to no certificate's journal.
        if let Goal::Account(_) = self.task.goal {
            return self.session.flush_without_journal().await;
        }
        let begun = self.engine.ports.clock().now();
        for event in self.session.flush(before).await? {
            self.engine.observer.event(&self.session.name, &event);
        }
        let took = begun.duration_until(self.engine.ports.clock().now());
        self.gather = gather_after(took);
        Ok(())
    }
}

/// How long to gather outcomes, given the duration of the last write.
fn gather_after(took: SignedDuration) -> SignedDuration {
    took.saturating_mul(4).clamp(GATHER, GATHER_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_is_written_to_less_often() {
        let millis = SignedDuration::from_millis;
        let cases = [(-7, 20), (0, 20), (5, 20), (10, 40), (100, 400), (3_600_000, 500)];
        for (took, gathered) in cases {
            assert_eq!(gather_after(millis(took)), millis(gathered), "{took} ms");
        }
        assert_eq!(gather_after(SignedDuration::MAX), GATHER_MOST);
    }
}
