//! How fast a run asks the CA of an account for orders.
//!
//! A few certificates at once, in the order in which they came. Once the CA refused an order of the
//! account, all wait until it may be asked again, and then ask one after the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use tokio::sync::Notify;

use super::state::Drive;
use crate::controller::{Change, Deferral, Hold, Record, limit};
use crate::engine::ports::{Clock, Lock, Observer, Performer, Store, StoreError};
use crate::resource::{AccountLimits, Failure, NamespacedName, Reason, Refusal, rfc3339};
use crate::store::Records;

/// As many as have requests in flight at one CA.
const AT_ONCE: usize = 8;

/// The certificates of a run that want an order, by account.
#[derive(Default)]
pub(in crate::engine) struct Paces(RefCell<BTreeMap<String, Pace>>);

#[derive(Default)]
struct Pace {
    known: AccountLimits,
    /// Those that may ask.
    asking: BTreeSet<NamespacedName>,
    /// Those that wait for their turn.
    waiting: VecDeque<(NamespacedName, Rc<Notify>)>,
}

impl Pace {
    /// Whether a certificate may ask now; else it waits for its turn.
    fn takes(&mut self, name: &NamespacedName) -> bool {
        if self.asking.contains(name) {
            return true;
        }
        let place = self.waiting.iter().position(|(waiting, _)| waiting == name);
        if self.has_room() && place.is_none_or(|place| place == 0) {
            if place.is_some() {
                self.waiting.pop_front();
            }
            self.asking.insert(name.clone());
            self.wake();
            return true;
        }
        if place.is_none() {
            self.waiting.push_back((name.clone(), Rc::default()));
        }
        false
    }

    fn has_room(&self) -> bool {
        self.asking.len() < if self.known.is_slow() { 1 } else { AT_ONCE }
    }

    /// The certificate asks for nothing any more.
    fn leave(&mut self, name: &NamespacedName) {
        self.asking.remove(name);
        self.waiting.retain(|(waiting, _)| waiting != name);
        self.wake();
    }

    fn wake(&self) {
        if let Some((_, next)) = self.waiting.front().filter(|_| self.has_room()) {
            next.notify_one();
        }
    }
}

impl Paces {
    /// The notification of a certificate's turn.
    pub(super) fn woken(&self, name: &NamespacedName) -> Rc<Notify> {
        let paces = self.0.borrow();
        let mut waiting = paces.values().flat_map(|pace| &pace.waiting);
        waiting
            .find(|(waiting, _)| waiting == name)
            .map(|(_, woken)| Rc::clone(woken))
            .unwrap_or_default()
    }

    /// The certificate asks for nothing any more.
    pub(super) fn leave(&self, name: &NamespacedName) {
        self.0.borrow_mut().values_mut().for_each(|pace| pace.leave(name));
    }
}

impl<C: Clock, S: Store, P: Performer, O: Observer> Drive<'_, C, S, P, O> {
    /// Tells the controllers whether an order may be asked for now, and stores what the CA refused.
    pub(super) async fn keep_pace(&mut self, has_account: bool) -> Result<(), StoreError> {
        if let Some((refusal, failure)) = self.session.snapshot.run.refusal.take() {
            self.add_refusal(refusal, failure, has_account).await?;
        }
        let (name, now) = (self.session.name.clone(), self.engine.clock.now());
        if !limit::asks(&self.session.snapshot, now) {
            self.shared.paces.leave(&name);
            self.session.snapshot.run.hold = None;
            return Ok(());
        }
        // The answer may be an order.
        if self.is_asking() {
            return Ok(());
        }
        let id = self.session.account_id();
        if !self.shared.paces.0.borrow().contains_key(&id) {
            let known = Records::new(self.engine.store).account_limits(&id).await?;
            let known = known.map(|kept| kept.value).unwrap_or_default();
            let pace = Pace { known, ..Pace::default() };
            self.shared.paces.0.borrow_mut().entry(id.clone()).or_insert(pace);
        }
        let mut paces = self.shared.paces.0.borrow_mut();
        let pace = paces.entry(id).or_default();
        let snapshot = &mut self.session.snapshot;
        let names = limit::names(snapshot);
        let renews = limit::renews(snapshot, &names);
        let until = pace.known.refusal(&names, renews, now).map(|refusal| refusal.until);
        snapshot.run.hold = match until {
            Some(until) => {
                pace.leave(&name);
                if now.duration_until(until) > self.engine.options.timeout {
                    let mut record = snapshot.record.clone();
                    record.retry_after = Some(until);
                    drop(paces);
                    self.session.apply(Record::of(Change::Certificate(Box::new(record))));
                    return Ok(());
                }
                let what = format!("no new order before {}, as the CA demands", rfc3339(until));
                Some(Hold { until: Some(until), why: Deferral::Progress(what) })
            }
            None if pace.takes(&name) => None,
            None => {
                let what = "waiting for its turn to order".to_owned();
                Some(Hold { until: None, why: Deferral::Progress(what) })
            }
        };
        Ok(())
    }

    /// Stores a refusal, and reports it unless it continues one of the last day.
    async fn add_refusal(
        &mut self,
        refusal: Refusal,
        failure: Failure,
        has_account: bool,
    ) -> Result<(), StoreError> {
        let id = self.session.account_id();
        let gate = self.shared.accounts.gate(&id);
        let lock = Lock::Account(id.clone());
        let _held = if has_account {
            None
        } else {
            let gate = gate.lock_owned().await;
            Some((gate, self.engine.store.lock(&lock, self.engine.options.lock_timeout).await?))
        };
        let records = Records::new(self.engine.store);
        let (mut known, version) = records
            .account_limits(&id)
            .await?
            .map_or_else(Default::default, |kept| (kept.value, Some(kept.revision)));
        let (at, until) = (refusal.at, refusal.until);
        let continues = known.add(refusal);
        records.put_account_limits(&id, &known, version.as_ref()).await?;
        let mut paces = self.shared.paces.0.borrow_mut();
        let pace = paces.entry(id).or_default();
        pace.known = known;
        pace.leave(&self.session.name);
        pace.waiting.iter().for_each(|(_, woken)| woken.notify_one());
        drop(paces);
        if !continues {
            let message = format!("{failure}; no new order is asked for before {}", rfc3339(until));
            if at.duration_until(until) <= self.engine.options.timeout {
                tracing::warn!(certificate = %self.session.name, "{message}");
            }
            let mut record = self.session.snapshot.record.clone();
            record.last_failure = Some(Failure { at: Some(at), ..failure });
            let record = Record::of(Change::Certificate(Box::new(record)));
            self.session.apply(record.warning(at, Reason::Failed, message));
        }
        Ok(())
    }
}
