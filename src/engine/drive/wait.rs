//! What a certificate's run waits for.

use futures_util::StreamExt;
use jiff::Timestamp;

use super::state::Drive;
use crate::controller::{Effect, Outcome, Snapshot, Wake};
use crate::engine::claim::{Claim, claim_when_free};
use crate::engine::ports::{Clock, LeaseOf, Performer, Ports, StoreError};
use crate::engine::run::signal;
use crate::resource::Challenge;

/// Why a wait ended.
pub(super) enum Woken<L> {
    Outcome(Effect, Box<Outcome>),
    Time,
    /// The order of another certificate is free.
    Order(Result<Claim<L>, StoreError>),
    Deadline,
    Signal(i32),
}

impl<P: Ports> Drive<'_, P> {
    /// Waits for an outcome, a time, an event, the deadline, or a signal.
    pub(super) async fn wait(
        &mut self,
        wait: Option<(Option<Timestamp>, Wake)>,
        hears_signals: bool,
    ) -> Woken<LeaseOf<P::Store>> {
        let clock = self.engine.ports.clock();
        let performer = self.engine.ports.performer();
        let woken = self.shared.schedule.woken(&self.session.name);
        let may_ask = self.shared.paces.woken(&self.session.name);
        let is_crowded = self.session.snapshot.run.is_crowded;
        let seen = self.hits_seen;
        let now = clock.now();
        // The lock is held for longer then.
        let held_until = self.hold.left().and_then(|left| now.checked_add(left).ok());
        let look_at = self.look_at.into_iter().chain(held_until).min();
        let until = wait.and_then(|(until, _)| until);
        let wake = wait.map_or(Wake::Time, |(_, wake)| wake);
        let sleep = |time: Option<Timestamp>| async move {
            match time {
                Some(time) => clock.sleep(now.duration_until(time)).await,
                None => std::future::pending().await,
            }
        };
        let snapshot = &self.session.snapshot;
        let event = async {
            match wake {
                // A hit on one of its own challenges gives a slot back; no other certificate would
                // notice.
                Wake::Time if is_crowded => first_hit(performer, snapshot, seen).await,
                Wake::Time => std::future::pending().await,
                Wake::Slot | Wake::ChallengeHit => first_hit(performer, snapshot, seen).await,
            }
        };
        let signal = async {
            if hears_signals {
                signal(self.engine.shutdown.clone()).await
            } else {
                std::future::pending().await
            }
        };
        let deadline = &mut self.deadline;
        let deadline = async {
            match deadline {
                Some(deadline) => deadline.await,
                None => std::future::pending().await,
            }
        };
        let others_order = self.session.snapshot.run.order.others.as_ref();
        let claim = claim_when_free(clock, self.engine.ports.store(), others_order);
        let effects = &mut self.effects;
        let outcome = async {
            match effects.next().await {
                Some(outcome) => outcome,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            signal = signal => Woken::Signal(signal),
            (effect, outcome) = outcome => Woken::Outcome(effect, Box::new(outcome)),
            claim = claim => Woken::Order(claim),
            () = event => Woken::Time,
            () = woken.notified() => Woken::Time,
            () = may_ask.notified() => Woken::Time,
            () = sleep(until) => Woken::Time,
            () = sleep(look_at) => Woken::Time,
            () = deadline => Woken::Deadline,
        }
    }
}

/// Waits until the CA fetches the response of one of the certificate's challenges for the first time
/// since "accept". A CA fetches each several times, and the later fetches change only the times that
/// are read at the end of a wait; those of other certificates change nothing.
async fn first_hit<P: Performer>(performer: &P, snapshot: &Snapshot, mut seen: u64) {
    let is_first = |challenge: &Challenge| {
        let acceptance = snapshot.run.attempt(&challenge.spec.url).acceptance;
        acceptance.filter(|acceptance| acceptance.hit.is_none()).is_some_and(|acceptance| {
            performer.last_hit(&challenge.spec).is_some_and(|at| at >= acceptance.begun)
        })
    };
    let challenges = snapshot.order.iter().flat_map(|order| &order.challenges);
    loop {
        performer.hit_after(seen).await;
        seen = performer.hits();
        if challenges.clone().any(is_first) {
            return;
        }
    }
}
