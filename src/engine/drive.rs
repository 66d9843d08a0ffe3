//! One certificate, or one account, on its way to a goal.

mod account;
mod adopt;
mod alert;
mod ask;
mod claim;
mod hold;
mod lost;
mod pace;
mod reload;
mod shared;
mod state;
mod stop;
mod wait;

use std::collections::BTreeSet;

use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};

use super::ending::{Ended, Ending, Evidence};
use super::goal::{AFTER_A_FAILURE, BEGIN, Goal, Pass};
use super::hooks::Hooks;
use super::ports::{
    self, Clock, Documents, LeaseOf, LiveFiles, Lock, Performer, Ports, Store, StoreError,
};
use super::run::{Engine, GRACE, signal};
use super::schedule::Look;
use super::session::Session;
use super::task::Task;
use super::{gather, notice};
use account::{AccountTurn, needs_the_account};
pub(super) use adopt::{may_adopt_now, pair_of_the_manifests, refused};
pub(super) use alert::alert;
pub(super) use ask::{Answer, ask};
pub(super) use reload::reload;
pub(super) use shared::Shared;
use state::{Before, Drive};
pub(super) use stop::state_failure;
use stop::{deferred, nothing_to_do, unchanged};
use wait::Woken;

use crate::controller::renewal_information::Question;
use crate::controller::{
    Change, DENIALS, Effect, Record, RevocationRequest, Slot, Snapshot, Step, UserRequest,
    WITHOUT_NAME, Wake, challenge, deploy, first_step, idle, renewal_information, revocation,
    step_of,
};
use crate::resource::{ChallengeType, CheckReport, Order, OrderPhase, Outlook, Phase};

/// How long a run that is ending waits for clean-ups.
const CLEAN_UP: SignedDuration = SignedDuration::from_secs(30);

/// Works on one certificate until its goal is reached, waits or has failed. Returns what the CA may
/// be asked about it when nothing is due any more.
pub(super) async fn certificate<P: Ports>(
    engine: &Engine<'_, P>,
    shared: &Shared<'_, P::Clock, P::Store>,
    task: &Task,
) -> (Ended, Option<Question>) {
    let certificate = task.certificate.metadata.key();
    let ended_with = |ending| Ended::new(certificate.clone(), ending);
    let (ended, question) = match reach(engine, shared, task).await {
        Ok((mut ended, snapshot)) => {
            let is_idle =
                task.goal == Goal::Issue && matches!(ended.ending, Ending::Unchanged { .. });
            let now = engine.ports.clock().now();
            // What was issued is asked about at once: the date of its renewal does not move later.
            let may_query = is_idle || matches!(ended.ending, Ending::Issued(_));
            let question =
                may_query.then(|| renewal_information::question(&snapshot, now)).flatten();
            ended.idle_until = is_idle.then(|| idle::until(&snapshot, now)).flatten();
            (ended, question)
        }
        Err(StoreError::Locked { holder, .. }) => (ended_with(Ending::Locked { holder }), None),
        Err(StoreError::Lost { .. }) => {
            let holder = "another host".to_owned();
            (ended_with(Ending::Locked { holder }), None)
        }
        Err(error) => {
            let mut ended = ended_with(state_failure(&error));
            ended.evidence.damage = Some(error.course());
            (ended, None)
        }
    };
    shared.paces.release(&certificate);
    shared.schedule.release(&certificate, None).await;
    (ended, question)
}

/// Decides without a lock first: a certificate that is not due costs no lock and no write.
pub(super) async fn reach<P: Ports>(
    engine: &Engine<'_, P>,
    shared: &Shared<'_, P::Clock, P::Store>,
    task: &Task,
) -> Result<(Ended, Snapshot), StoreError> {
    let intervals = engine.options.intervals;
    let now = engine.ports.clock().now();
    let mut session = Session::load(engine.ports.store(), task, intervals, now).await?;
    let ended_with = |ending| Ended::new(task.certificate.metadata.key(), ending);
    if task.goal == Goal::CleanUp && !session.owes_clean_up() {
        return Ok((ended_with(unchanged(&session)), *session.snapshot));
    }
    compare_passwords(engine, task, &mut session);
    if let Some(ending) = nothing_to_do(engine, task, &session, now) {
        // That it was reported is recorded under the lock.
        let is_new = matches!(ending, Ending::Unchanged { .. }) || !engine.options.reports_daily;
        let evidence = Evidence::of(&session.snapshot, &ending);
        return Ok((Ended { is_new, evidence, ..ended_with(ending) }, *session.snapshot));
    }
    let lock = match task.goal {
        // Its lock is taken around its effects: see `AccountTurn`.
        Goal::Account(_) => None,
        Goal::Issue | Goal::CleanUp | Goal::Deploy { .. } | Goal::Revoke(_) | Goal::RollBack(_) => {
            Some(Lock::Certificate(session.name.clone()))
        }
    };
    let next_revision = session.snapshot.record.next_revision();
    drop(session);
    let locked = async {
        match &lock {
            Some(lock) => lock_or_queue(engine, task, lock).await.map(Some),
            None => Ok(None),
        }
    };
    let lease = tokio::select! {
        biased;
        signal = signal(engine.shutdown.clone()) => {
            let session = Session::load(engine.ports.store(), task, intervals, now).await?;
            return Ok((ended_with(Ending::Interrupted { signal }), *session.snapshot));
        }
        lease = locked => lease?,
    };
    let (store, now) = (engine.ports.store(), engine.ports.clock().now());
    let mut session = match &lease {
        Some(lease) => Session::load_under(lease, store, task, intervals, now).await?,
        None => Session::load(store, task, intervals, now).await?,
    };
    session.lock_timeout = engine.options.lock_timeout;
    let is_renewed = session.snapshot.record.next_revision() > next_revision;
    let mut drive = Drive::new(engine, shared, task, session, lease);
    // Of two who ask for a renewal at once, both get the same.
    if is_renewed && drive.force.take_if(|force| !force.asks_for_more()).is_some() {
        engine.observer.renewed_meanwhile(&task.certificate.metadata.key());
    }
    let limited = engine.options.reports_once_a_day(task);
    let passed = drive.all_passes(limited).await;
    let (ending, is_new) = passed.map_err(|error| drive.refused(error))?;
    let evidence = Evidence::of(&drive.session.snapshot, &ending);
    let mut ended = Ended { is_new, evidence, ..ended_with(ending) };
    if matches!(task.goal, Goal::Issue | Goal::Deploy { .. } | Goal::CleanUp) {
        drive.reload_or_report(&mut ended, limited).await?;
    }
    if lock.is_some() {
        drive.session.settle().await?;
    }
    ended.left = deploy::left(&drive.session.snapshot).map(|target| target.to_string());
    let run = &mut drive.session.snapshot.run;
    ended.rewritten = run.rewritten.take();
    ended.deployed = std::mem::take(&mut run.deployment.texts);
    Ok((ended, *drive.session.snapshot))
}

/// Takes the lock of a certificate. A wait for another process is told when it begins: it may take
/// as long as `--lock-timeout`.
async fn lock_or_queue<P: Ports>(
    engine: &Engine<'_, P>,
    task: &Task,
    lock: &Lock,
) -> Result<LeaseOf<P::Store>, StoreError> {
    let at_most = engine.options.lock_timeout;
    match engine.ports.store().documents().lease(lock, SignedDuration::ZERO).await {
        Err(StoreError::Locked { holder, .. }) if at_most.is_positive() => {
            engine.observer.queues(&task.certificate.metadata.key(), &holder, at_most);
            engine.ports.store().documents().lease(lock, at_most).await
        }
        done @ (Ok(_) | Err(_)) => done,
    }
}

/// Compares the passwords of the live keystores with those of the spec.
fn compare_passwords<P: Ports>(
    engine: &Engine<'_, P>,
    task: &Task,
    session: &mut Session<'_, P::Store>,
) {
    let Snapshot { secret, run, .. } = session.snapshot.as_mut();
    let live = secret.as_ref();
    run.changed_passwords = live
        .map_or_else(BTreeSet::new, |live| engine.ports.performer().changed_passwords(task, live));
}

impl<P: Ports> Drive<'_, P> {
    /// Runs all passes, one after the other. Returns the ending, and whether to report it; when
    /// `limited`, the same ending is reported once a day.
    async fn all_passes(&mut self, limited: bool) -> Result<(Ending, bool), StoreError> {
        if !matches!(self.task.goal, Goal::Account(_)) {
            self.session.remove_temporaries()?;
            let begun = self.pass(Pass::Begin).await?;
            if matches!(begun, Ending::Failed { .. } | Ending::Interrupted { .. }) {
                return Ok((begun, true));
            }
            self.session.snapshot.run.went_back = None;
        }
        self.begin_the_goal().await?;
        if self.task.goal == Goal::CleanUp {
            return Ok((self.clean_up().await?, true));
        }
        let ending = self.pass(Pass::Goal).await?;
        if self.task.goal != Goal::Issue {
            return Ok((ending, true));
        }
        if let Ending::Failed { attempts: Some(_), .. } = ending {
            self.pass(Pass::AfterAFailure).await?;
        }
        let record = &mut self.session.snapshot.record;
        let is_new = !limited || notice::note(record, &ending, self.engine.ports.clock().now());
        if self.session.is_unsaved() {
            // Whatever the result: the manifest's path and the generation are current.
            let record = Box::new(self.session.snapshot.record.clone());
            self.session.apply(Record::of(Change::Certificate(record)));
        }
        self.clean_up().await?;
        self.session.prune().await?;
        Ok((ending, is_new))
    }

    /// Applies the request, and loads what a goal's controllers read.
    async fn begin_the_goal(&mut self) -> Result<(), StoreError> {
        self.session.snapshot.run.deployment.leaves_hooks =
            self.engine.options.hooks == Hooks::Later;
        match &self.task.goal {
            Goal::Issue => {
                compare_passwords(self.engine, self.task, &mut self.session);
                self.session.snapshot.run.deployment.at_once = self.task.is_named;
                self.session.snapshot.run.allow_untrusted = self.task.allow_untrusted;
                self.session.resume();
                if self.engine.options.ignore_limits {
                    self.session.forget_retry_after();
                }
                if let Some(found) = &self.task.revoked {
                    let now = self.engine.ports.clock().now();
                    self.session.apply(revocation::found(&self.session.snapshot, found, now));
                }
                if let Some(force) = self.force {
                    self.before_force = self.session.force(force, self.engine.ports.clock().now());
                }
                self.adopt().await?;
                self.claim_the_order().await?;
                self.before = Before::of(&self.session.snapshot);
            }
            Goal::CleanUp => self.leave_order(challenge::withdrawn).await,
            Goal::Deploy { again } => {
                compare_passwords(self.engine, self.task, &mut self.session);
                self.session.snapshot.run.deployment.at_once = true;
                self.session.snapshot.run.deployment.again = *again;
            }
            Goal::Revoke(Some(request)) => {
                let secret = self.session.snapshot.certificate.secret_key();
                let files = self.engine.ports.store().live_files().published(&secret).await?;
                let certificate = files.as_ref().and_then(gather::leaf_pem);
                let request = RevocationRequest { certificate, ..request.clone() };
                self.session.snapshot.run.request = Some(UserRequest::Revoke(request));
            }
            Goal::RollBack(to) => {
                self.session.snapshot.run.request = Some(UserRequest::RollBack(*to));
            }
            Goal::Revoke(None) | Goal::Account(_) => {}
        }
        Ok(())
    }

    /// The clean-ups owed, and the step of the controllers of a pass.
    fn next(&self, pass: Pass, now: Timestamp) -> (Vec<Effect>, Step) {
        let snapshot = &self.session.snapshot;
        let (mut owed, step) = match pass {
            Pass::Begin => (Vec::new(), step_of(BEGIN, snapshot, now)),
            Pass::Goal => {
                let is_issuance = self.task.goal == Goal::Issue;
                let owed = is_issuance.then(|| challenge::clean_ups(snapshot));
                let controllers = self.task.goal.controllers();
                (owed.unwrap_or_default(), step_of(controllers, snapshot, now))
            }
            Pass::AfterAFailure => (Vec::new(), first_step(AFTER_A_FAILURE, snapshot, now)),
            Pass::CleanUp => (challenge::clean_ups(snapshot), Step::Settled),
        };
        let (schedule, name) = (&self.shared.schedule, &self.session.name);
        owed.retain(|effect| {
            !matches!(effect, Effect::CleanUp { challenge, .. }
                if !schedule.may_clean_up(name, challenge))
        });
        (owed, step)
    }

    /// The loop: decides, performs, absorbs and records until there is nothing left to do or to
    /// wait for.
    async fn pass(&mut self, pass: Pass) -> Result<Ending, StoreError> {
        let is_issuance = pass == Pass::Goal && self.task.goal == Goal::Issue;
        let mut turn = None;
        loop {
            self.hold().await?;
            self.refresh().await?;
            self.give_done_orders_up();
            if is_issuance {
                self.keep_pace(turn.is_some()).await?;
            }
            if is_issuance && let Some(signal) = self.apply_events_or_stop().await? {
                return self.interrupted(signal).await;
            }
            if pass == Pass::CleanUp {
                self.ask_for_names().await;
            }
            // After `decide`: a slot that was held before was noted at an earlier time.
            let now = self.engine.ports.clock().now();
            let (owed, step) = self.next(pass, now);
            if let Some(turn) = &mut turn {
                self.look_at_the_account(turn);
            }
            match (needs_the_account(&step), turn.take()) {
                (true, None) => {
                    turn = match self.account_or_stop(pass).await? {
                        Ok(taken) => taken,
                        Err(signal) => return self.interrupted(signal).await,
                    };
                    continue;
                }
                (false, Some(held)) => {
                    self.flush(&[]).await?;
                    self.give_the_account_back(held, &step);
                    continue;
                }
                (true, held @ Some(_)) => turn = held,
                (false, None) => {}
            }
            // Consecutive records are written together, before the next effect starts.
            if !matches!(step, Step::Record(_)) {
                let next = if let Step::Act(effects) = &step { effects.as_slice() } else { &[] };
                self.flush(next).await?;
                self.start(owed);
            }
            let wait = match step {
                Step::Record(record) => {
                    if begins_an_order(&record) {
                        self.drop_effects();
                    }
                    self.session.apply(record);
                    continue;
                }
                Step::Act(effects) => {
                    self.start(effects);
                    None
                }
                Step::Settled if self.effects.is_empty() => return Ok(self.settled()),
                Step::Settled => None,
                Step::Defer { until, why } => return Ok(deferred(&self.session, until, why, now)),
                Step::Wait { until, wake, what } => {
                    let (limit, obstructed) = (self.waits_at_most(), self.obstructed());
                    let wait = ports::Wait { what, limit, obstructed };
                    self.engine.observer.waits(&self.session.name, &wait);
                    Some((until, wake))
                }
                Step::Fail(failure) if is_issuance => return Ok(self.fail(failure, now).await),
                Step::Fail(failure) => {
                    let (attempts, next_attempt) = (None, None);
                    return Ok(Ending::Failed { failure, attempts, next_attempt });
                }
            };
            if let Some(ending) = self.wait_and_absorb(pass, wait).await? {
                return Ok(ending);
            }
        }
    }

    /// Waits for the next event, and applies it; returns the ending when the run stops waiting.
    async fn wait_and_absorb(
        &mut self,
        pass: Pass,
        wait: Option<(Option<Timestamp>, Wake)>,
    ) -> Result<Option<Ending>, StoreError> {
        let is_issuance = pass == Pass::Goal && self.task.goal == Goal::Issue;
        // Final clean-ups get their time, whatever ends the run.
        match self.wait(wait, pass != Pass::CleanUp).await {
            Woken::Outcome(effect, outcome) => {
                self.absorb_all(effect, *outcome).await?;
                if is_issuance && self.is_refused_for_good() {
                    return self.leave_pending().await.map(Some);
                }
            }
            Woken::Time => {}
            Woken::Order(claim) => self.end_the_wait(claim?),
            // The next run does the rest.
            Woken::Deadline if pass == Pass::CleanUp => {
                self.drop_effects();
                return Ok(Some(unchanged(&self.session)));
            }
            Woken::Deadline if self.may_wait_for_the_verdict() => {
                self.extended = true;
                let grace = GRACE.min(self.engine.options.timeout);
                self.deadline = Some(self.engine.ports.clock().sleep(grace).boxed_local());
                self.gives_up_at = self.engine.ports.clock().now().checked_add(grace).ok();
            }
            Woken::Deadline => return self.leave_pending().await.map(Some),
            Woken::Signal(signal) => return self.interrupted(signal).await.map(Some),
        }
        Ok(None)
    }

    /// Performs the owed clean-ups, for at most half a minute.
    async fn clean_up(&mut self) -> Result<Ending, StoreError> {
        self.deadline = Some(self.engine.ports.clock().sleep(CLEAN_UP).boxed_local());
        // The run no longer waits for slots.
        self.look_at = None;
        self.session.snapshot.run.is_crowded = false;
        self.pass(Pass::CleanUp).await
    }

    /// Asks for the names at which clean-ups are owed. What others present there now, perhaps the
    /// same, is left to the next run.
    async fn ask_for_names(&mut self) {
        let begun = self.engine.ports.clock().now();
        let (name, snapshot) = (&self.session.name, &mut self.session.snapshot);
        match self.shared.schedule.sync(name, snapshot, true).await {
            Ok(Look { released, .. }) => self.note_slots(&BTreeSet::new(), &released, begun),
            Err(error) => tracing::warn!(certificate = %name, %error, "clean-ups are left"),
        }
    }

    /// Exclusive access to the account, if it still needs work; or the signal that ends the run.
    async fn account_or_stop(
        &mut self,
        pass: Pass,
    ) -> Result<Result<Option<AccountTurn<LeaseOf<P::Store>>>, i32>, StoreError> {
        self.flush(&[]).await?;
        let shutdown = self.engine.shutdown.clone();
        tokio::select! {
            biased;
            signal = signal(shutdown) => Ok(Err(signal)),
            taken = self.take_the_account(pass) => taken.map(Ok),
        }
    }

    /// Applies outside events, unless a signal ends the run.
    async fn apply_events_or_stop(&mut self) -> Result<Option<i32>, StoreError> {
        let shutdown = self.engine.shutdown.clone();
        tokio::select! {
            biased;
            signal = signal(shutdown) => Ok(Some(signal)),
            looked = self.apply_events() => looked.map(|()| None),
        }
    }

    /// Applies outside events: the responder's hits and the scheduler's grants.
    async fn apply_events(&mut self) -> Result<(), StoreError> {
        self.hits_seen = self.engine.ports.performer().hits();
        let snapshot = &mut self.session.snapshot;
        snapshot.run.listener_gone = self.engine.ports.performer().listener_gone();
        snapshot.run.lacks_renewal_information =
            self.engine.ports.performer().lacks_renewal_information(snapshot.issuer());
        if let Some(order) = &snapshot.order {
            for challenge in &order.challenges {
                if let Some(at) = self.engine.ports.performer().last_hit(&challenge.spec) {
                    snapshot.run.note_hit(&challenge.spec.url, at);
                }
            }
        }
        let held: BTreeSet<String> = snapshot.run.with_slot().map(str::to_owned).collect();
        let begun = self.engine.ports.clock().now();
        let (name, snapshot) = (&self.session.name, &mut self.session.snapshot);
        let looked = self.shared.schedule.sync(name, snapshot, false);
        let Look { released, until } = looked.await?;
        self.look_at = until;
        self.note_slots(&held, &released, begun);
        let waits = self.session.snapshot.run.order.waits_for_others();
        if self.deadline.is_none() && !waits && self.is_past_the_queue() {
            let timeout = self.timeout();
            self.deadline = Some(self.engine.ports.clock().sleep(timeout).boxed_local());
            self.gives_up_at = self.engine.ports.clock().now().checked_add(timeout).ok();
        }
        Ok(())
    }

    /// The first challenge whose self-check fails by what time alone rarely ends.
    fn obstructed(&self) -> Option<(ChallengeType, String)> {
        let order = self.session.snapshot.current_order()?;
        let found = order.challenges.iter().find(|challenge| {
            challenge.phase() == Some(Phase::SelfChecking)
                && challenge.check().is_some_and(CheckReport::is_obstructed)
        })?;
        Some((found.spec.kind.clone(), found.spec.identifier.to_string()))
    }

    /// How long the run waits for the order, where it does not wait for its end.
    fn waits_at_most(&self) -> Option<ports::WaitLimit> {
        let snapshot = &self.session.snapshot;
        let challenges = snapshot.current_order().into_iter().flat_map(|order| &order.challenges);
        let mut ends_at = self.gives_up_at;
        for one in challenges {
            let outlook = one.check().map(CheckReport::outlook);
            if outlook == Some(Outlook::Unserved) {
                return Some(ports::WaitLimit::Checks(DENIALS));
            }
            let since = snapshot.run.attempt(&one.spec.url).without_name_since;
            let at = since.and_then(|since| since.checked_add(WITHOUT_NAME).ok());
            ends_at = at.into_iter().chain(ends_at).min();
        }
        ends_at.map(ports::WaitLimit::Until)
    }

    /// A slot was granted, or the order needs none: the timeout starts now.
    fn is_past_the_queue(&self) -> bool {
        let snapshot = &self.session.snapshot;
        let needs_none = |order: &Order| match order.phase {
            OrderPhase::Creating
            | OrderPhase::Authorizing(_)
            | OrderPhase::Issued { .. }
            | OrderPhase::Replaced { .. }
            | OrderPhase::Failed(_) => false,
            OrderPhase::Solving(_) => order.challenges.iter().all(|c| {
                let waits = matches!(c.phase(), Some(Phase::Queued | Phase::Requeued));
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

    /// An unattended run probes a challenge of an earlier run for at most a minute.
    fn timeout(&self) -> SignedDuration {
        let options = &self.engine.options;
        let order = self.session.snapshot.current_order();
        let pending_before = order.is_some_and(|order| {
            order.challenges.iter().any(|challenge| challenge.presented.at.is_some())
        });
        if pending_before && options.unattended {
            options.timeout.min(GRACE)
        } else {
            options.timeout
        }
    }
}

/// Cancels effects in flight for another order; their outcomes no longer matter.
fn begins_an_order(record: &Record) -> bool {
    let mut changes = record.changes.iter();
    changes
        .any(|change| matches!(change, Change::Order(order) if order.phase == OrderPhase::Creating))
}
