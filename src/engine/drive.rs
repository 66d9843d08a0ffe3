//! One certificate through the pipeline.

mod account;
mod adopt;
mod alert;
mod deploy;
mod leave;
mod wait;

use std::collections::BTreeSet;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::effect::InFlight;
use super::ports::{Clock, Lock, Store, StoreError};
use super::schedule::{Look, Schedule};
use super::session::{Only, Session, Task};
pub(super) use account::AccountGates;
pub(super) use adopt::pair_of_the_manifests;
pub(super) use alert::alert;
pub(super) use deploy::{Reloads, reload};
use leave::{deferred, nothing_to_do, state_failure, unchanged};
use wait::Woken;

use super::{
    Ended, Ending, Engine, Evidence, GRACE, Issued, Observer, Performer, links, news, rollback,
};
use crate::controller::{
    Change, Deferral, Effect, EffectError, Outcome, Record, Slot, Step, absorb, deploy as room,
    next_step,
};
use crate::resource::{Cause, Doing, Order, OrderPhase, Phase};

/// Outcomes that come in quick succession are written together: those of this long, or of four
/// times what the last write took, so that a slow disk does not get most of the run.
const GATHER: SignedDuration = SignedDuration::from_millis(20);
/// The longest that an outcome waits for others.
const GATHER_MOST: SignedDuration = SignedDuration::from_millis(500);

/// What the certificates of one run share.
pub(super) struct Shared<'a, C, S: Store> {
    pub(super) schedule: &'a Schedule<'a, C, S>,
    pub(super) accounts: &'a AccountGates,
    pub(super) reloads: &'a Reloads,
}

impl<C, S: Store> Clone for Shared<'_, C, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, S: Store> Copy for Shared<'_, C, S> {}

/// Works on one certificate until it is settled, waits or has failed.
pub(super) async fn certificate<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    shared: Shared<'_, C, S>,
    task: &Task,
) -> Ended {
    let certificate = task.certificate.metadata.key();
    let told = |ending| Ended::new(certificate.clone(), ending);
    let ended = match begin(engine, shared, task).await {
        Ok(ended) => ended,
        Err(StoreError::Locked { holder, .. }) => told(Ending::Locked { holder }),
        Err(error) => told(state_failure(&error)),
    };
    shared.schedule.leave(&certificate).await;
    ended
}

/// Looks without a lock first: what is not due costs no lock and no write.
async fn begin<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    shared: Shared<'_, C, S>,
    task: &Task,
) -> Result<Ended, StoreError> {
    let intervals = engine.options.intervals;
    let now = engine.clock.now();
    let mut session = Session::load(engine.store, task, intervals, now).await?;
    let told = |ending| Ended::new(task.certificate.metadata.key(), ending);
    if task.only == Some(Only::CleanUp) && !session.owes_clean_up() {
        return Ok(told(unchanged(&session)));
    }
    look_at_passwords(engine, &mut session);
    if let Some(ending) = nothing_to_do(engine, task, &session, now) {
        // That it was told is written down, under the lock.
        let is_news = matches!(ending, Ending::Unchanged { .. }) || !engine.options.unattended;
        let evidence = Evidence::of(&session.snapshot, &ending);
        return Ok(Ended { is_news, evidence, ..told(ending) });
    }
    let lock = Lock::Certificate(session.name.clone());
    drop(session);
    let _lease = tokio::select! {
        biased;
        signal = signal(engine.shutdown.clone()) => return Ok(told(Ending::Interrupted { signal })),
        lease = engine.store.lock(&lock, engine.options.lock_timeout) => lease?,
    };
    let mut session = Session::load(engine.store, task, intervals, engine.clock.now()).await?;
    session.bring_up_to_date().await?;
    let now = engine.clock.now();
    let back = rollback::finish(engine.store, &mut session, task, intervals, now).await?;
    let linked = links::put_right(engine.store, &mut session, task, intervals, now).await?;
    for event in back.iter().chain(&linked) {
        engine.observer.event(&session.name, event);
    }
    session.snapshot.run.deploy_now = task.only == Some(Only::Deploy);
    look_at_passwords(engine, &mut session);
    if task.only.is_none() {
        session.resume();
    }
    if let Some(force) = task.force {
        session.force(force, engine.clock.now());
    }
    let mut drive = Drive {
        engine,
        shared,
        session,
        in_flight: InFlight::default(),
        deeds: FuturesUnordered::new(),
        deadline: None,
        extended: false,
        hits_seen: 0,
        look_at: None,
        gather: GATHER,
        revision_before: None,
    };
    let limited = engine.options.unattended && task.force.is_none() && task.only.is_none();
    let (ending, is_news) = match task.only {
        Some(Only::CleanUp) => (drive.only_clean_up().await?, true),
        Some(Only::Deploy) => (drive.only_deploy().await?, true),
        None => {
            drive.adopt(task).await?;
            drive.revision_before = drive.session.snapshot.record.status.revision;
            drive.run_to_the_end(limited).await?
        }
    };
    let snapshot = &drive.session.snapshot;
    let interrupted = matches!(ending, Ending::Interrupted { .. });
    let undeployed = match room::reload(snapshot, engine.clock.now()) {
        Some(program) if !interrupted && task.only != Some(Only::CleanUp) => {
            shared.reloads.ask(program, task);
            None
        }
        Some(_) | None => drive.undeployed(limited).await?,
    };
    let evidence = Evidence::of(&drive.session.snapshot, &ending);
    let run = &mut drive.session.snapshot.run;
    let (rewritten, deployed) = (run.rewritten.take(), std::mem::take(&mut run.deployments));
    Ok(Ended { undeployed, rewritten, is_news, deployed, evidence, ..told(ending) })
}

/// Takes in whether keystores would be made with other passwords now.
fn look_at_passwords<C: Clock, S: Store, P: Performer, O: Observer>(
    engine: &Engine<'_, C, S, P, O>,
    session: &mut Session<'_, S>,
) {
    session.snapshot.run.changed_passwords = engine.performer.changed_passwords(&session.snapshot);
}

type Deeds<'a> = FuturesUnordered<LocalBoxFuture<'a, (Effect, Outcome)>>;

struct Drive<'a, C, S: Store, P, O> {
    engine: &'a Engine<'a, C, S, P, O>,
    shared: Shared<'a, C, S>,
    session: Session<'a, S>,
    in_flight: InFlight,
    deeds: Deeds<'a>,
    /// A wait that began with the deadline's clock: no jump of the wall clock moves it.
    deadline: Option<LocalBoxFuture<'a, ()>>,
    extended: bool,
    hits_seen: u64,
    /// When to look around again, whatever happens.
    look_at: Option<Timestamp>,
    gather: SignedDuration,
    revision_before: Option<u32>,
}

impl<C: Clock, S: Store, P: Performer, O: Observer> Drive<'_, C, S, P, O> {
    /// How it ended, and whether that is to be told; when `limited`, the same is told once a day.
    async fn run_to_the_end(&mut self, limited: bool) -> Result<(Ending, bool), StoreError> {
        let ending = self.pipeline().await?;
        let record = &mut self.session.snapshot.record;
        let is_news = !limited || news::note(record, &ending, self.engine.clock.now());
        if self.session.is_unsaved() {
            // Whatever came of it: the manifest's place and the generation are of today.
            let record = Box::new(self.session.snapshot.record.clone());
            self.session.apply(Record::of(Change::Certificate(record)));
        }
        self.finish_clean_ups().await?;
        self.session.prune().await?;
        Ok((ending, is_news))
    }

    async fn pipeline(&mut self) -> Result<Ending, StoreError> {
        loop {
            let stopped = tokio::select! {
                biased;
                signal = signal(self.engine.shutdown.clone()) => Some(signal),
                looked = self.look_around() => looked.map(|()| None)?,
            };
            if let Some(signal) = stopped {
                return self.interrupted(signal).await;
            }
            // After the look: whoever had a slot before has said so at an earlier time.
            let now = self.engine.clock.now();
            let (owed, step) = next_step(&self.session.snapshot, now);
            if Self::needs_the_account(&step) {
                self.flush().await?;
                let signal = tokio::select! {
                    biased;
                    signal = signal(self.engine.shutdown.clone()) => signal,
                    settled = self.settle_the_account() => {
                        settled?;
                        continue;
                    }
                };
                return self.interrupted(signal).await;
            }
            // What is recorded in a row is written in one go, before the next deed begins.
            if !matches!(step, Step::Record(_)) {
                self.flush().await?;
                self.start(owed);
            }
            let wait = match step {
                Step::Record(record) => {
                    if begins_an_order(&record) {
                        self.drop_deeds();
                    }
                    self.session.apply(record);
                    continue;
                }
                Step::Act(effects) => {
                    self.start(effects);
                    None
                }
                Step::Settled if self.deeds.is_empty() => return Ok(self.settled()),
                Step::Settled => None,
                Step::Wait {
                    until,
                    why: why @ (Deferral::Backoff { .. } | Deferral::RetryAfter),
                    ..
                } => return Ok(deferred(&self.session, until, &why, now)),
                Step::Wait { until, wake, why: Deferral::Progress(what) } => {
                    self.engine.observer.stage(&self.session.name, &what);
                    Some((until, wake))
                }
                Step::Fail(failure) => return self.fail(failure, now).await,
            };
            match self.wait(wait).await {
                Woken::Outcome(effect, outcome) => {
                    self.absorb_all(effect, *outcome).await;
                    if self.is_refused_for_good() {
                        return self.leave_pending().await;
                    }
                }
                Woken::Time => {}
                Woken::Deadline if self.may_wait_for_the_verdict() => {
                    self.extended = true;
                    self.deadline = Some(self.engine.clock.sleep(GRACE).boxed_local());
                }
                Woken::Deadline => return self.leave_pending().await,
                Woken::Signal(signal) => return self.interrupted(signal).await,
            }
        }
    }

    /// Takes in what happened outside: the responder's hits and the scheduler's grants.
    async fn look_around(&mut self) -> Result<(), StoreError> {
        self.hits_seen = self.engine.performer.hits();
        let snapshot = &mut self.session.snapshot;
        if let Some(order) = &snapshot.order {
            for challenge in &order.challenges {
                if let Some(at) = self.engine.performer.last_hit(&challenge.spec.token) {
                    snapshot.run.note_hit(&challenge.spec.url, at);
                }
            }
        }
        let held: BTreeSet<String> = snapshot.run.with_slot().map(str::to_owned).collect();
        let begun = self.engine.clock.now();
        let looked = self.shared.schedule.sync(&self.session.name, &mut self.session.snapshot);
        let Look { released, until } = looked.await?;
        self.look_at = until;
        self.note_slots(&held, &released, begun);
        if self.deadline.is_none() && self.is_past_the_queue() {
            self.deadline = Some(self.engine.clock.sleep(self.timeout()).boxed_local());
        }
        Ok(())
    }

    /// A slot was granted, or the order needs none: from now on the run's patience is limited.
    fn is_past_the_queue(&self) -> bool {
        let snapshot = &self.session.snapshot;
        let needs_none = |order: &Order| match order.phase {
            OrderPhase::Creating
            | OrderPhase::Authorizing(_)
            | OrderPhase::Issued { .. }
            | OrderPhase::Replaced { .. }
            | OrderPhase::Failed(_) => false,
            OrderPhase::Solving(_) => order.challenges.iter().all(|c| {
                let waits = matches!(c.phase, Phase::Queued | Phase::Requeued);
                !waits && snapshot.run.attempt(&c.spec.url).slot != Slot::Missing
            }),
            OrderPhase::Refused { .. }
            | OrderPhase::Finalizing(_)
            | OrderPhase::Awaiting(_)
            | OrderPhase::Downloading { .. } => true,
        };
        snapshot.run.with_slot().next().is_some()
            || snapshot.current_order().is_some_and(needs_none)
    }

    /// A challenge that was pending in an earlier run gets at most a minute when nobody watches.
    fn timeout(&self) -> SignedDuration {
        let options = &self.engine.options;
        let order = self.session.snapshot.current_order();
        let pending_before = order.is_some_and(|order| {
            order.challenges.iter().any(|challenge| challenge.presented_at.is_some())
        });
        if pending_before && options.unattended {
            options.timeout.min(GRACE)
        } else {
            options.timeout
        }
    }

    /// Each deed may run twice: what is needed still is begun again.
    fn drop_deeds(&mut self) {
        self.deeds.clear();
        self.in_flight = InFlight::default();
    }

    fn start(&mut self, effects: Vec<Effect>) {
        let fresh: Vec<Effect> =
            effects.into_iter().filter(|effect| self.in_flight.start(effect)).collect();
        if fresh.is_empty() {
            return;
        }
        let now = self.engine.clock.now();
        for effect in &fresh {
            self.session.snapshot.run.note_begin(effect, now);
        }
        let snapshot = Rc::new(self.session.snapshot.clone());
        for effect in fresh {
            self.engine.observer.stage(&self.session.name, effect.stage());
            let deed = self.engine.performer.perform(Rc::clone(&snapshot), effect.clone());
            self.deeds.push(deed.map(move |outcome| (effect, outcome)).boxed_local());
        }
    }

    /// Absorbs an outcome, and those that come right behind it.
    async fn absorb_all(&mut self, effect: Effect, outcome: Outcome) {
        self.absorb(&effect, outcome);
        if effect == Effect::CreateOrder {
            // Its URL is stored right away: without it the next run would have to order again.
            return;
        }
        let clock = self.engine.clock;
        let window = clock.sleep(self.gather).fuse();
        futures_util::pin_mut!(window);
        while !self.deeds.is_empty() {
            let more = tokio::select! {
                biased;
                more = self.deeds.next() => more,
                () = &mut window => None,
            };
            match more {
                Some((effect, outcome)) => self.absorb(&effect, outcome),
                None => return,
            }
        }
    }

    fn absorb(&mut self, effect: &Effect, outcome: Outcome) {
        self.in_flight.end(effect);
        let now = self.engine.clock.now();
        match absorb(&mut self.session.snapshot, effect, outcome, now) {
            Ok(record) => self.session.apply(record),
            Err(illegal) => {
                tracing::error!(certificate = %self.session.name, %illegal, "outcome refused");
                let error = EffectError::new(Cause::Local { message: illegal.to_string() });
                self.session.snapshot.run.trouble = Some((Doing::Nothing, error));
            }
        }
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        let begun = self.engine.clock.now();
        for event in self.session.flush().await? {
            self.engine.observer.event(&self.session.name, &event);
        }
        let took = begun.duration_until(self.engine.clock.now());
        self.gather = gather_after(took);
        Ok(())
    }

    fn settled(&self) -> Ending {
        let snapshot = &self.session.snapshot;
        let status = &snapshot.record.status;
        let leaf = snapshot.secret.as_ref().and_then(|pair| pair.certificate.as_ref());
        match (status.revision, leaf) {
            (Some(revision), Some(Ok(leaf))) if Some(revision) != self.revision_before => {
                Ending::Issued(Box::new(Issued {
                    revision,
                    leaf: leaf.clone(),
                    renewal_time: status.renewal_time,
                    secret_name: snapshot.certificate.spec.secret_name.clone(),
                }))
            }
            _ => unchanged(&self.session),
        }
    }
}

/// Deeds for another order that are still under way are of no use any more, nor is what they bring.
fn begins_an_order(record: &Record) -> bool {
    let mut changes = record.changes.iter();
    changes
        .any(|change| matches!(change, Change::Order(order) if order.phase == OrderPhase::Creating))
}

/// The signal that ends the run, once there is one.
async fn signal(mut shutdown: watch::Receiver<Option<i32>>) -> i32 {
    match shutdown.wait_for(Option::is_some).await {
        Ok(signal) => signal.unwrap_or(0),
        Err(_) => std::future::pending().await,
    }
}

/// How long to gather when the last write took this long.
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
