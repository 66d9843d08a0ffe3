//! The orders that a certificate's run works on, and its wait for those of others.

use super::state::Drive;
use crate::controller::{Effect, OthersOrder, Outcome};
use crate::engine::claim::{Claim, claim};
use crate::engine::ports::{LeaseOf, Ports, StoreError};
use crate::resource::Order;

impl<P: Ports> Drive<'_, P> {
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
            self.session.snapshot.run.order.others = Some(OthersOrder::Held { url });
        }
        Ok(())
    }

    /// Whether no other certificate works on the order. If one does, all claims are given up.
    async fn try_to_claim(&mut self, url: &str) -> Result<bool, StoreError> {
        if self.claims.iter().any(|claim| claim.url == url) {
            return Ok(true);
        }
        match claim(self.engine.ports.store(), url).await? {
            Some(claim) => self.claims.push(claim),
            None => self.claims.clear(),
        }
        Ok(!self.claims.is_empty())
    }

    /// The wait for another certificate's order is over.
    pub(super) fn end_the_wait(&mut self, claim: Claim<LeaseOf<P::Store>>) {
        self.claims = vec![claim];
        self.session.snapshot.run.order.others = None;
    }

    /// Gives the orders up that are done.
    pub(super) fn give_done_orders_up(&mut self) {
        let is_open = |order: &Order| order.phase.is_open();
        if !self.session.snapshot.current_order().is_some_and(is_open) {
            self.claims.clear();
        }
    }
}
