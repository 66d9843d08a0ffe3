//! The orders at the CA on which a certificate works.
//!
//! A CA may give one order to several certificates. The first that takes the order's lock stores its
//! URL and works on it until the order is done or the run ends, so that a killed run leaves nothing
//! to wait for. A certificate that waits for a lock holds none meanwhile: no two wait for each
//! other. It keeps the lock for which it has waited until its own order is done, so that of many
//! that wait, one after the other orders.

use jiff::SignedDuration;

use super::state::Drive;
use crate::controller::{Effect, OthersOrder, Outcome};
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Clock, Lock, Observer, Performer, Store, StoreError};

/// How often it is tried to take the order of another certificate.
const PAUSE: SignedDuration = SignedDuration::from_millis(50);

/// An order that no other certificate works on until this is dropped.
pub(super) struct Claim<L> {
    url: String,
    _lease: L,
}

/// Takes an order, unless another certificate works on it.
async fn claim<S: Store>(store: &S, url: &str) -> Result<Option<Claim<S::Lease>>, StoreError> {
    let lock = Lock::Order(digest_of(url.as_bytes()));
    match store.lock(&lock, SignedDuration::ZERO).await {
        Ok(lease) => Ok(Some(Claim { url: url.to_owned(), _lease: lease })),
        Err(StoreError::Locked { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits until no other certificate works on the order of this URL; for ever, if there is none.
pub(super) async fn claim_when_free<C: Clock, S: Store>(
    clock: &C,
    store: &S,
    order: Option<&OthersOrder>,
) -> Result<Claim<S::Lease>, StoreError> {
    let Some(OthersOrder::Held { url }) = order else { return std::future::pending().await };
    loop {
        if let Some(claim) = claim(store, url).await? {
            return Ok(claim);
        }
        clock.sleep(PAUSE).await;
    }
}

impl<C: Clock, S: Store, P: Performer, O: Observer> Drive<'_, C, S, P, O> {
    /// The outcome of newOrder, when another certificate works on the order.
    pub(super) async fn claimed(
        &mut self,
        effect: &Effect,
        outcome: Outcome,
    ) -> Result<Outcome, StoreError> {
        match (effect, outcome) {
            (Effect::CreateOrder { .. }, Outcome::Order(seen)) => {
                let is_ours = self.try_to_claim(&seen.url).await?;
                Ok(if is_ours { Outcome::Order(seen) } else { Outcome::HeldOrder(seen.url) })
            }
            (_, outcome) => Ok(outcome),
        }
    }

    /// The order of an earlier run: another certificate may work on it by now.
    pub(super) async fn claim_the_order(&mut self) -> Result<(), StoreError> {
        let order = self.session.snapshot.current_order().filter(|order| order.phase.is_open());
        let Some(url) = order.and_then(|order| order.url()).map(str::to_owned) else {
            return Ok(());
        };
        if !self.try_to_claim(&url).await? {
            self.session.snapshot.run.others_order = Some(OthersOrder::Held { url });
        }
        Ok(())
    }

    /// Whether no other certificate works on the order. If one does, all claims are given up.
    async fn try_to_claim(&mut self, url: &str) -> Result<bool, StoreError> {
        if self.claims.iter().any(|claim| claim.url == url) {
            return Ok(true);
        }
        match claim(self.engine.store, url).await? {
            Some(claim) => self.claims.push(claim),
            None => self.claims.clear(),
        }
        Ok(!self.claims.is_empty())
    }

    /// The wait for another certificate's order is over.
    pub(super) fn end_the_wait(&mut self, claim: Claim<S::Lease>) {
        self.claims = vec![claim];
        self.session.snapshot.run.others_order = None;
    }

    /// Gives the orders up that are done.
    pub(super) fn give_done_orders_up(&mut self) {
        let is_open = |order: &crate::resource::Order| order.phase.is_open();
        if !self.session.snapshot.current_order().is_some_and(is_open) {
            self.claims.clear();
        }
    }
}
