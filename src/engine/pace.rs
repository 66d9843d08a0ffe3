//! How fast a run asks the CA of an account for orders.
//!
//! What a published limit of the CA leaves; a few certificates at once, in the order in which they
//! came. Once the CA refused an order of the account, all wait until it may be asked again, and then
//! ask one after the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::controller::{Awaited, Deferral, Hold, Snapshot, backoff, limit};
use crate::resource::{AccountLimits, Ledger, NamespacedName, Spent};

/// As many as have requests in flight at one CA.
const AT_ONCE: usize = 8;

/// The certificates of a run that want an order, by account.
#[derive(Default)]
pub(super) struct Paces(pub(super) RefCell<BTreeMap<String, Pace>>);

#[derive(Default)]
pub(super) struct Pace {
    pub(super) known: AccountLimits,
    /// The CA refused orders of the whole account within the last day.
    is_slow: bool,
    /// What was spent of the limits that the CA publishes.
    ledger: Option<Ledger>,
    /// When the orders of certificates fit these limits, and the limit that delays them.
    reserved: BTreeMap<NamespacedName, (Timestamp, Option<Spent>)>,
    /// Those that may ask.
    asking: BTreeSet<NamespacedName>,
    /// Those that wait for their turn.
    pub(super) waiting: VecDeque<(NamespacedName, Rc<Notify>)>,
}

impl Pace {
    pub(super) fn new(known: AccountLimits, ledger: Option<Ledger>) -> Self {
        Self { known, ledger, ..Self::default() }
    }

    /// Why a certificate must not ask for an order yet.
    pub(super) fn hold(
        &mut self,
        name: &NamespacedName,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Option<Hold> {
        let names = limit::names(snapshot);
        let spending = limit::spending(snapshot, &names, now);
        self.is_slow = self.known.is_slow(now);
        if let Some(refusal) = self.known.refusal(&names, spending.renews, now) {
            let until = backoff::believed(&snapshot.record, refusal.at, refusal.until);
            if now < until {
                self.release(name);
                return Some(Hold::Defer { until, why: Deferral::RetryAfter });
            }
        }
        if let Some(ledger) = &mut self.ledger
            && !self.reserved.contains_key(name)
        {
            self.reserved.insert(name.clone(), ledger.reserve(spending, now));
        }
        if let Some((at, Some(usage))) = self.reserved.get(name).filter(|(at, _)| *at > now) {
            return Some(Hold::Defer { until: *at, why: Deferral::Limit(Box::new(usage.clone())) });
        }
        if self.takes(name) {
            return None;
        }
        Some(Hold::Wait { until: None, what: Awaited::Turn })
    }

    /// Whether a certificate may ask now; else it waits for its turn.
    fn takes(&mut self, name: &NamespacedName) -> bool {
        if self.asking.contains(name) {
            return true;
        }
        let place = self.waiting.iter().position(|(waiting, _)| waiting == name);
        if self.has_capacity() && place.is_none_or(|place| place == 0) {
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

    fn has_capacity(&self) -> bool {
        self.asking.len() < if self.is_slow { 1 } else { AT_ONCE }
    }

    /// The certificate asks for nothing any more.
    pub(super) fn release(&mut self, name: &NamespacedName) {
        self.asking.remove(name);
        self.waiting.retain(|(waiting, _)| waiting != name);
        self.wake();
    }

    fn wake(&self) {
        if let Some((_, next)) = self.waiting.front().filter(|_| self.has_capacity()) {
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
    pub(super) fn release(&self, name: &NamespacedName) {
        self.0.borrow_mut().values_mut().for_each(|pace| pace.release(name));
    }
}
