//! The orders at the CA on which a certificate works.
//!
//! A CA may give one order to several certificates. The first that takes the order's lock stores its
//! URL and works on it until the order is done or the run ends, so that a killed run leaves nothing
//! to wait for. A certificate that waits for a lock holds none meanwhile: no two wait for each
//! other. It keeps the lock for which it has waited until its own order is done, so that of many
//! that wait, one after the other orders.

use jiff::SignedDuration;

use super::inputs::digest_of;
use super::ports::{Clock, Documents, LeaseOf, Lock, Store, StoreError};
use crate::controller::OthersOrder;

/// An order that no other certificate works on until this is dropped.
pub(super) struct Claim<L> {
    pub(super) url: String,
    _lease: L,
}

/// Takes an order, unless another certificate works on it.
pub(super) async fn claim<S: Store>(
    store: &S,
    url: &str,
) -> Result<Option<Claim<LeaseOf<S>>>, StoreError> {
    let lock = Lock::Order(digest_of(url.as_bytes()));
    match store.documents().lease(&lock, SignedDuration::ZERO).await {
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
) -> Result<Claim<LeaseOf<S>>, StoreError> {
    let Some(OthersOrder::Held { url }) = order else { return std::future::pending().await };
    loop {
        if let Some(claim) = claim(store, url).await? {
            return Ok(claim);
        }
        clock.sleep(PAUSE).await;
    }
}

/// How often it is tried to take the order of another certificate.
const PAUSE: SignedDuration = SignedDuration::from_millis(50);
