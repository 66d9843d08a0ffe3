//! The slots for challenges, shared by all certificates of a run and by all runs on a state.
//!
//! This run's requests are known here at once; they take effect when they are written to the queue
//! that all runs share, under the scheduler's lock: entries of dead runs are dropped, this run's
//! entries are replaced, and this run's oldest challenges get slots, counted over all runs.
//! A slot that another run's challenge is due for is left to that run. What is cleaned up stays in
//! the queue meanwhile, without a slot, since others may have to present the same. Nothing is written
//! when nothing has changed, and a run without a challenge neither locks nor writes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex, Notify};

use super::ports::{Clock, Documents, LeaseOf, Lock, Store, StoreError};
use super::run::Options;
use crate::controller::scheduler::{crowd, grant, turn, turns_over};
use crate::controller::{Grant, Slot, Snapshot};
use crate::resource::{
    Challenge, ChallengeSpec, ChallengeType, Entry, Identifier, NamespacedName, Order, Phase,
    Place, Queue,
};
use crate::store::Records;

/// How often a run reads the queue while it waits for other runs.
const LOOK: SignedDuration = SignedDuration::from_secs(1);
/// The pause between two writes: four times the duration of the last one, within these bounds.
const PAUSE: [SignedDuration; 2] =
    [SignedDuration::from_millis(10), SignedDuration::from_millis(500)];

/// Which challenges wait for a slot and which hold one.
#[derive(Debug)]
pub(crate) struct Schedule<'a, C, S: Store> {
    clock: &'a C,
    store: &'a S,
    cap: usize,
    turn: SignedDuration,
    lock_timeout: SignedDuration,
    state: RefCell<State>,
    /// This run's number and its lock, once it has a challenge. Every writer has it.
    life: Mutex<Option<(u32, LeaseOf<S>)>>,
}

#[derive(Debug, Default)]
struct State {
    members: BTreeMap<NamespacedName, Member>,
    /// When the groups of this run last gave up a name and type.
    freed: BTreeMap<(Identifier, ChallengeType), Timestamp>,
    /// What the other runs have in the queue, as last read.
    others: Vec<Entry>,
    /// How many waited only for a slot when the queue was last read, less the slots that were
    /// given back since.
    crowd: usize,
    /// This run's requests have changed since they were written.
    is_unwritten: bool,
    looked_at: Option<Timestamp>,
    write_after: Option<Timestamp>,
}

/// The challenges of one certificate.
#[derive(Debug, Default)]
struct Member {
    turns: Vec<Turn>,
    clean_ups: Vec<OwedCleanUp>,
    woken: Rc<Notify>,
}

/// A group without a turn that owes a clean-up.
#[derive(Debug)]
struct OwedCleanUp {
    /// As it is in the queue once it may be cleaned up.
    entry: Entry,
    /// No other certificate presents at its name.
    has_name: bool,
    /// Others wait for its name.
    is_wanted: bool,
}

/// One group of challenges in this run.
#[derive(Clone, Debug)]
struct Turn {
    entry: Entry,
    /// The URLs of its challenges.
    urls: Vec<String>,
    phase: Phase,
    /// When it got its slot.
    began: Option<Timestamp>,
    /// When it entered the queue that all runs share.
    entered: Option<Timestamp>,
    /// The grant of its slot, for the journal.
    grant: Option<Grant>,
    /// Whether others may have the slot when the turn is over.
    may_yield: bool,
    /// It has waited for another group of the same name and type.
    was_behind: bool,
    /// Others wait for its name.
    is_wanted: bool,
}

impl Turn {
    /// Its identifier, for the journal, if it used its slot. One that another order had proven by
    /// the time of the grant did not.
    fn released(&self) -> Option<String> {
        let was_used = !matches!(self.phase, Phase::Queued | Phase::Requeued);
        let is_held = self.entry.place == Place::Granted;
        (is_held && was_used).then(|| self.entry.identifier.to_string())
    }
}

/// The result of an update.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Identifiers whose slots were released, other than at the end of a turn.
    pub(crate) released: Vec<String>,
    /// When to update again, whatever happens.
    pub(crate) until: Option<Timestamp>,
}

impl<'a, C: Clock, S: Store> Schedule<'a, C, S> {
    /// The schedule of one run.
    pub(crate) fn new(clock: &'a C, store: &'a S, options: &Options) -> Self {
        Self {
            clock,
            store,
            cap: options.max_concurrent_challenges,
            turn: turn(options.intervals.self_check),
            lock_timeout: options.lock_timeout,
            state: RefCell::default(),
            life: Mutex::new(None),
        }
    }

    /// Updates the entries of one certificate, and its grants in the snapshot. One that `only`
    /// cleans up needs no slots.
    pub(crate) async fn sync(
        &self,
        certificate: &NamespacedName,
        snapshot: &mut Snapshot,
        only_cleans_up: bool,
    ) -> Result<Look, StoreError> {
        let now = self.clock.now();
        let (has_changed, released) = self.take_in(certificate, snapshot, only_cleans_up, now);
        if self.must_write(now) || (only_cleans_up && self.lacks_a_name(certificate)) {
            self.write(Some(certificate)).await?;
        } else if has_changed {
            // The next writer writes it a little later.
            self.wake_one_that_waits(certificate);
        }
        let until = self.hand_out(certificate, snapshot, self.clock.now());
        Ok(Look { released, until })
    }

    /// Whether no other certificate presents at the name of a challenge of this one.
    pub(crate) fn may_clean_up(
        &self,
        certificate: &NamespacedName,
        challenge: &ChallengeSpec,
    ) -> bool {
        let state = self.state.borrow();
        state.members.get(certificate).is_some_and(|member| {
            let mut turns = member.turns.iter();
            let mut owed = member.clean_ups.iter();
            turns.any(|turn| {
                turn.entry.contested() == challenge.group() && turn.entry.place != Place::Queued
            }) || owed.any(|owed| owed.has_name && owed.entry.contested() == challenge.group())
        })
    }

    /// The certificate needs no slot any more, nor, without a snapshot, a name for its clean-ups.
    /// Returns the identifiers of the released slots.
    pub(crate) async fn release(
        &self,
        certificate: &NamespacedName,
        snapshot: Option<&Snapshot>,
    ) -> Vec<String> {
        let turns = {
            let mut state = self.state.borrow_mut();
            let Some(mut member) = state.members.remove(certificate) else { return Vec::new() };
            state.is_unwritten |= !member.turns.is_empty() || !member.clean_ups.is_empty();
            if !state.is_unwritten {
                return Vec::new();
            }
            let turns = std::mem::take(&mut member.turns);
            if let Some(snapshot) = snapshot {
                member.take_in_clean_ups(certificate, snapshot, &turns, self.clock.now());
                state.members.insert(certificate.clone(), member);
            }
            turns
        };
        // A waiting certificate writes it, since it may gain a slot.
        if !self.wake_one_that_waits(certificate)
            && let Err(error) = self.write(None).await
        {
            // The written entries are dropped when this run has ended.
            tracing::warn!(%error, "challenge slots cannot be released before the end of this run");
        }
        turns.iter().filter_map(Turn::released).collect()
    }

    /// The notification of a certificate's slot grant.
    pub(crate) fn woken(&self, certificate: &NamespacedName) -> Rc<Notify> {
        let state = self.state.borrow();
        state.members.get(certificate).map(|member| Rc::clone(&member.woken)).unwrap_or_default()
    }

    /// Applies a certificate's requests. Returns whether they changed, and the identifiers of the
    /// released slots.
    fn take_in(
        &self,
        certificate: &NamespacedName,
        snapshot: &Snapshot,
        only_cleans_up: bool,
        now: Timestamp,
    ) -> (bool, Vec<String>) {
        let mut state = self.state.borrow_mut();
        // Another certificate that works on the same order may need the slot.
        let needs_none = only_cleans_up || snapshot.run.order.waits_for_others();
        let order = snapshot.current_order().filter(|_| !needs_none);
        let since = order.map_or(now, |order| order.creation_timestamp);
        let groups = order.map(|order| needy(order, snapshot)).unwrap_or_default();
        let is_idle = groups.is_empty() && owed(snapshot).next().is_none();
        if is_idle && !state.members.contains_key(certificate) {
            return (false, Vec::new());
        }
        let State { members, freed, .. } = &mut *state;
        let member = members.entry(certificate.clone()).or_default();
        let mut old = std::mem::take(&mut member.turns);
        let (mut changed, mut again) = (false, 0);
        for group in groups {
            let is_it = |turn: &Turn| group.iter().any(|(c, _)| turn.urls.contains(&c.spec.url));
            let before = old.iter().position(is_it).map(|index| old.swap_remove(index));
            let Some(mut turn) = turn_of(certificate, since, &group, before.as_ref(), now) else {
                continue;
            };
            // Its authorization may have been read before.
            let freed = freed.get(&key_of(&turn.entry));
            turn.was_behind |= before.is_none() && freed.is_some_and(|at| *at >= since);
            if let Some(before) = &before
                && before.entry.place == Place::Granted
                && turn.entry.place == Place::Requeued
            {
                again += 1;
            }
            changed |= before.is_none_or(|before| before.entry != turn.entry);
            member.turns.push(turn);
        }
        changed |= member.take_in_clean_ups(certificate, snapshot, &old, now);
        changed |= !old.is_empty();
        let were_out = old.iter().filter(|turn| turn.entry.place != Place::Queued);
        freed.extend(were_out.map(|turn| (key_of(&turn.entry), now)));
        let free = old.iter().filter(|turn| turn.entry.place == Place::Granted).count();
        state.crowd = state.crowd.saturating_sub(free + again);
        state.is_unwritten |= changed;
        (changed, old.iter().filter_map(Turn::released).collect())
    }

    fn lacks_a_name(&self, certificate: &NamespacedName) -> bool {
        let state = self.state.borrow();
        let member = state.members.get(certificate);
        member.is_some_and(|member| member.clean_ups.iter().any(|owed| !owed.has_name))
    }

    /// Whether to read and write the queue now.
    fn must_write(&self, now: Timestamp) -> bool {
        let state = self.state.borrow();
        if state.is_unwritten {
            return state.write_after.is_none_or(|time| time <= now);
        }
        if state.next_look().is_none_or(|time| time > now) {
            return false;
        }
        let turns = || state.members.values().flat_map(|member| &member.turns);
        let looks = || state.members.values().any(|member| member.looks_at(&state.others));
        let is_over = |turn: &Turn| self.ends(turn).is_some_and(|ends| ends <= now);
        looks() || turns().any(is_over)
    }

    /// When a turn ends, if others want the slot.
    fn ends(&self, turn: &Turn) -> Option<Timestamp> {
        turn.began.filter(|_| turn.may_yield)?.checked_add(self.turn).ok()
    }

    fn wake_one_that_waits(&self, but: &NamespacedName) -> bool {
        let state = self.state.borrow();
        let waits = |turn: &&Turn| turn.entry.place != Place::Granted;
        let others = state.members.iter().filter(|(name, _)| *name != but);
        let oldest = others
            .filter_map(|(_, member)| {
                let turns = member.turns.iter().filter(waits).map(|turn| turn.entry.queued_at);
                let owed = member.clean_ups.iter().filter(|owed| !owed.has_name);
                let since = turns.chain(owed.map(|owed| owed.entry.queued_at));
                Some((since.min()?, member))
            })
            .min_by_key(|(since, _)| *since);
        if let Some((_, member)) = oldest {
            member.woken.notify_one();
        }
        oldest.is_some()
    }

    /// Updates this run's part of the queue and grants free slots.
    async fn write(&self, asking: Option<&NamespacedName>) -> Result<(), StoreError> {
        let mut life = self.life.lock().await;
        let begun = self.clock.now();
        let _lease = self.store.documents().lease(&Lock::Scheduler, self.lock_timeout).await?;
        if life.is_none() {
            *life = Some(self.begin().await?);
        }
        let Some((number, _)) = &*life else { return Ok(()) };
        let records = Records::new(self.store.documents());
        let stored = match records.queue().await {
            Ok(stored) => stored,
            // Each live run writes its own entries again.
            Err(StoreError::Corrupt { path, why, moved_to }) => {
                tracing::warn!(path, why, moved_to, "starting with an empty queue of challenges");
                None
            }
            Err(error) => return Err(error),
        };
        let (before, revision) = match stored {
            Some(stored) => (stored.value, Some(stored.revision)),
            None => (Queue::default(), None),
        };
        let mut queue = before.clone();
        for run in before.runs.keys().filter(|run| *run != number) {
            if self.is_gone(*run).await? {
                queue.runs.remove(run);
            }
        }
        queue.runs.remove(number);
        let now = self.clock.now();
        let own = self.state.borrow_mut().grant(&queue, self.cap, self.turn, now, asking);
        if !own.is_empty() {
            queue.runs.insert(*number, own);
        }
        if queue != before
            && let Err(error) = records.put_queue(&queue, revision.as_ref()).await
        {
            self.state.borrow_mut().is_unwritten = true;
            return Err(error);
        }
        let took = begun.duration_until(self.clock.now());
        let [least, most] = PAUSE;
        let pause = took.saturating_mul(4).clamp(least, most);
        self.state.borrow_mut().write_after = now.checked_add(pause).ok();
        Ok(())
    }

    /// Takes the smallest number that no other run has.
    async fn begin(&self) -> Result<(u32, LeaseOf<S>), StoreError> {
        let mut number = 0;
        loop {
            match self.store.documents().lease(&Lock::Run(number), SignedDuration::ZERO).await {
                Ok(lease) => return Ok((number, lease)),
                Err(error @ StoreError::Locked { .. }) if number == u32::MAX => return Err(error),
                Err(StoreError::Locked { .. }) => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    async fn is_gone(&self, run: u32) -> Result<bool, StoreError> {
        match self.store.documents().lease(&Lock::Run(run), SignedDuration::ZERO).await {
            Ok(_) => Ok(true),
            Err(StoreError::Locked { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the controllers read, and when to update again.
    fn hand_out(
        &self,
        certificate: &NamespacedName,
        snapshot: &mut Snapshot,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let state = self.state.borrow();
        let run = &mut snapshot.run;
        let own = state.members.get(certificate).map_or(&[][..], |member| &member.turns);
        let holds = |turn: &&Turn| turn.entry.place == Place::Granted;
        run.give_slots_back();
        run.is_crowded = state.crowd > 0;
        let mut over = BTreeSet::new();
        if own.iter().any(|turn| self.ends(turn).is_some_and(|ends| ends <= now)) {
            let all = state.members.values().flat_map(|member| &member.turns);
            let yielding = all.filter(|turn| turn.may_yield);
            let began = yielding.filter_map(|turn| Some((turn.entry.group(), turn.began?)));
            over = turns_over(began, self.turn, state.crowd, now);
        }
        for turn in own {
            let is_over = over.contains(&turn.entry.group());
            let slot = if holds(&turn) {
                Slot::Held { grant: turn.grant, is_over }
            } else if works(turn.phase) {
                Slot::Missing
            } else {
                Slot::None
            };
            for url in &turn.urls {
                let attempt = run.attempt_mut(url);
                (attempt.slot, attempt.is_wanted) = (slot, turn.is_wanted);
            }
        }
        let member = state.members.get(certificate);
        let owed = member.map_or(&[][..], |member| &member.clean_ups);
        for wanted in owed.iter().filter(|owed| owed.is_wanted) {
            let current = snapshot.order.iter().flat_map(|order| &order.challenges);
            for challenge in current.filter(|c| c.spec.group() == wanted.entry.contested()) {
                run.attempt_mut(&challenge.spec.url).is_wanted = true;
            }
        }
        let looks = member.is_some_and(|member| member.looks_at(&state.others));
        let looks = looks.then(|| state.next_look()).flatten();
        let writes = state.write_after.filter(|_| state.is_unwritten);
        let ends = own.iter().filter_map(|turn| self.ends(turn)).filter(|ends| *ends > now).min();
        [looks, writes, ends].into_iter().flatten().min()
    }
}

impl Member {
    /// What it has in the queue.
    fn entries(&self) -> impl Iterator<Item = &Entry> {
        let owed = self.clean_ups.iter().filter(|owed| owed.has_name);
        self.turns.iter().map(|turn| &turn.entry).chain(owed.map(|owed| &owed.entry))
    }

    /// Whether it depends on what other runs have in the queue: it waits for them, or they may wait
    /// for a verdict of it.
    fn looks_at(&self, others: &[Entry]) -> bool {
        let is_idle = |turn: &Turn| turn.phase == Phase::Accepted;
        let waits = |turn: &Turn| turn.entry.place != Place::Granted;
        !self.clean_ups.is_empty()
            || self.turns.iter().any(is_idle)
            || (!others.is_empty() && self.turns.iter().any(waits))
    }

    /// The clean-ups that are owed at names where the certificate has no turn. One whose turn is
    /// over keeps its name. Returns whether they have changed.
    fn take_in_clean_ups(
        &mut self,
        certificate: &NamespacedName,
        snapshot: &Snapshot,
        over: &[Turn],
        now: Timestamp,
    ) -> bool {
        let before = std::mem::take(&mut self.clean_ups);
        let keys: BTreeSet<_> = owed(snapshot).map(|challenge| challenge.spec.group()).collect();
        let mut changed = false;
        for key in keys {
            let has_key = |entry: &Entry| entry.contested() == key;
            if self.turns.iter().any(|turn| has_key(&turn.entry)) {
                continue;
            }
            let known = before.iter().find(|owed| has_key(&owed.entry));
            let was_out = |turn: &Turn| has_key(&turn.entry) && turn.entry.place != Place::Queued;
            changed |= known.is_none();
            self.clean_ups.push(OwedCleanUp {
                entry: Entry {
                    certificate: certificate.clone(),
                    identifier: key.0.clone(),
                    kind: key.1.clone(),
                    queued_at: known.map_or(now, |owed| owed.entry.queued_at),
                    place: Place::CleaningUp,
                },
                has_name: known.is_some_and(|owed| owed.has_name) || over.iter().any(was_out),
                is_wanted: known.is_some_and(|owed| owed.is_wanted),
            });
        }
        changed || before.len() != self.clean_ups.len()
    }
}

/// The challenges that may still be presented, and that this run can clean up.
fn owed(snapshot: &Snapshot) -> impl Iterator<Item = &Challenge> {
    let orders = snapshot.retired.iter().chain(&snapshot.order);
    let challenges = orders.flat_map(|order| &order.challenges);
    challenges.filter(|challenge| {
        challenge.owes_clean_up() && !snapshot.run.attempt(&challenge.spec.url).clean_up_failed
    })
}

impl State {
    /// What all runs have in the queue.
    fn all(&self) -> impl Iterator<Item = &Entry> {
        let own = self.members.values().flat_map(Member::entries);
        own.chain(&self.others)
    }

    /// Notes which groups wait for another one of the same name and type.
    fn note_those_behind(&mut self) {
        let mut rivals: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
        for entry in self.all() {
            rivals.entry(entry.contested()).or_default().push(entry);
        }
        let is_before = |own: &Entry, rival: &Entry| match rival.place {
            Place::Granted | Place::Requeued | Place::CleaningUp => true,
            Place::Queued => rival.queued_at <= own.queued_at,
        };
        let is_behind = |own: &Entry| {
            let mut rivals = rivals.get(&own.contested()).into_iter().flatten();
            rivals.any(|rival| rival.certificate != own.certificate && is_before(own, rival))
        };
        let own = self.members.values().flat_map(|member| &member.turns).map(|turn| &turn.entry);
        let behind: Vec<bool> =
            own.map(|own| own.place != Place::Granted && is_behind(own)).collect();
        let turns = self.members.values_mut().flat_map(|member| &mut member.turns);
        for (turn, is_behind) in turns.zip(behind) {
            turn.was_behind |= is_behind;
        }
    }

    /// Notes for which groups others wait, that have nothing left to do but to learn the verdict.
    fn note_those_wanted(&mut self) {
        let waits = |entry: &&Entry| matches!(entry.place, Place::Queued | Place::Requeued);
        let wanted: BTreeSet<_> = self.all().filter(waits).map(key_of).collect();
        for member in self.members.values_mut() {
            let turns = member.turns.iter_mut().filter(|turn| turn.phase == Phase::Accepted);
            let turns = turns.map(|turn| (&turn.entry, &mut turn.is_wanted));
            let owed = member.clean_ups.iter_mut().map(|owed| (&owed.entry, &mut owed.is_wanted));
            for (entry, was_wanted) in turns.chain(owed) {
                let is_wanted = wanted.contains(&key_of(entry));
                if is_wanted && !*was_wanted {
                    member.woken.notify_one();
                }
                *was_wanted = is_wanted;
            }
        }
    }

    /// Lets groups be cleaned up whose name is free.
    fn grant_names(&mut self) {
        let is_taken = |entry: &&Entry| entry.place != Place::Queued;
        let taken = self.all().filter(is_taken);
        let mut taken: BTreeSet<_> = taken.map(key_of).collect();
        for member in self.members.values_mut() {
            for owed in member.clean_ups.iter_mut().filter(|owed| !owed.has_name) {
                owed.has_name = taken.insert(key_of(&owed.entry));
                if owed.has_name {
                    member.woken.notify_one();
                }
            }
        }
    }

    fn next_look(&self) -> Option<Timestamp> {
        self.looked_at.map_or(Some(Timestamp::MIN), |time| time.checked_add(LOOK).ok())
    }

    /// Grants the slots that the other runs leave, and returns this run's entries.
    fn grant(
        &mut self,
        others: &Queue,
        cap: usize,
        turn: SignedDuration,
        now: Timestamp,
        asking: Option<&NamespacedName>,
    ) -> Vec<Entry> {
        let was_alone = self.others.is_empty();
        self.others = others.runs.values().flatten().cloned().collect();
        if was_alone && !self.others.is_empty() {
            // Those that wait look at the queue from now on.
            self.members.values().for_each(|member| member.woken.notify_one());
        }
        self.grant_names();
        let started: BTreeSet<_> = grant(self.all(), cap).into_iter().map(Entry::group).collect();
        let started: Vec<Entry> =
            self.all().filter(|entry| started.contains(&entry.group())).cloned().collect();
        self.crowd = crowd(self.all(), cap, turn, now);
        let mut entries = Vec::new();
        for (name, member) in &mut self.members {
            for turn in &mut member.turns {
                // A group of another run may have gone before this one came.
                turn.was_behind |= turn.entered.is_none() && !self.others.is_empty();
                let entered = *turn.entered.get_or_insert(now);
                if started.contains(&turn.entry) {
                    turn.entry.place = Place::Granted;
                    turn.began = Some(now);
                    let was_behind = std::mem::take(&mut turn.was_behind);
                    turn.grant = Some(Grant { at: now, queued_since: entered, was_behind });
                    if asking != Some(name) {
                        member.woken.notify_one();
                    }
                }
                entries.push(turn.entry.clone());
            }
            let owed = member.clean_ups.iter().filter(|owed| owed.has_name);
            entries.extend(owed.map(|owed| owed.entry.clone()));
        }
        self.note_those_behind();
        self.note_those_wanted();
        self.is_unwritten = false;
        self.looked_at = Some(now);
        entries
    }
}

/// What only one group at a time may have.
fn key_of(entry: &Entry) -> (Identifier, ChallengeType) {
    (entry.identifier.clone(), entry.kind.clone())
}

/// The challenges of a group, with their phases.
type Group<'a> = Vec<(&'a Challenge, Phase)>;

/// The groups that wait for a slot or hold one. A slot is held while there is work to do for a
/// challenge; for HTTP-01 that ends when the CA has fetched the response, since the verdict then
/// comes with the order and needs nothing more from certctl.
fn needy<'a>(order: &'a Order, snapshot: &Snapshot) -> Vec<Group<'a>> {
    let fetched = |c: &Challenge| {
        c.phase() == Some(Phase::Accepted)
            && c.spec.kind.is_served()
            && snapshot.run.attempt(&c.spec.url).hit().is_some()
    };
    let mut groups: BTreeMap<_, Group<'_>> = BTreeMap::new();
    for challenge in order.challenges.iter().filter(|c| !fetched(c)) {
        if let Some(phase) = challenge.phase() {
            groups.entry(challenge.spec.group()).or_default().push((challenge, phase));
        }
    }
    groups.into_values().collect()
}

/// The phase of a group: that of the challenge which decides about its slot.
fn phase_of(group: &Group<'_>) -> Option<Phase> {
    let by_weight = [
        // The CA validates it at any time, whatever the others do.
        Phase::Accepted,
        Phase::Presenting,
        Phase::SelfChecking,
        Phase::Accepting,
        Phase::Requeued,
        Phase::Queued,
    ];
    by_weight.into_iter().find(|phase| group.iter().any(|(_, of_it)| of_it == phase))
}

/// Whether certctl has no effects left for it.
fn works(phase: Phase) -> bool {
    match phase {
        Phase::Presenting | Phase::SelfChecking | Phase::Accepting => true,
        Phase::Queued | Phase::Requeued | Phase::Accepted => false,
    }
}

/// How a group continues its slot, or without one.
///
/// A group of an earlier run is already presented, and waits for a slot of this run. An accepted
/// one holds a slot whatever the others do: the CA validates it at any time.
fn turn_of(
    certificate: &NamespacedName,
    since: Timestamp,
    group: &Group<'_>,
    before: Option<&Turn>,
    now: Timestamp,
) -> Option<Turn> {
    let (phase, (first, _)) = (phase_of(group)?, group.first()?);
    let (mut place, mut queued_at, mut began) = match before {
        Some(before) => (before.entry.place, before.entry.queued_at, before.began),
        None if phase == Phase::Queued => (Place::Queued, since, None),
        None => (Place::Requeued, since, None),
    };
    let was_at_work = before.is_some_and(|before| works(before.phase));
    if phase == Phase::Requeued && was_at_work {
        (place, queued_at, began) = (Place::Requeued, now, None);
    }
    if phase == Phase::Accepted {
        (place, began) = (Place::Granted, began.or(Some(now)));
    }
    let waits_instead = |c: &Challenge| c.spec.solver.wait_instead_of_self_check.is_some();
    Some(Turn {
        entry: Entry {
            certificate: certificate.clone(),
            identifier: first.spec.identifier.clone(),
            kind: first.spec.kind.clone(),
            queued_at,
            place,
        },
        urls: group.iter().map(|(challenge, _)| challenge.spec.url.clone()).collect(),
        phase,
        began,
        entered: before.and_then(|before| before.entered),
        grant: before.and_then(|before| before.grant),
        was_behind: before.is_some_and(|before| before.was_behind),
        is_wanted: before.is_some_and(|before| before.is_wanted),
        may_yield: matches!(phase, Phase::Presenting | Phase::SelfChecking)
            && !group.iter().any(|(challenge, _)| waits_instead(challenge)),
    })
}
