//! The lock of a certificate, where it may run out: on a store that several hosts share.
//!
//! The CA and the DNS providers are not behind the fence that the documents are. So nothing is sent to
//! them unless the lock outlasts the request. Who has lost it sends nothing, cleans up nothing and
//! publishes nothing: what it would undo may be another host's.

use jiff::SignedDuration;
use tokio::sync::Mutex;

use crate::engine::ports::{Guard, Lease, StoreError};

/// The longest that one request takes (`acme::limit`, and the deadlines of DNS providers).
const REQUEST: SignedDuration = SignedDuration::from_mins(1);

/// The lock; none where the documents of a certificate are not written.
#[derive(Debug)]
pub(super) struct Hold<L>(Option<Mutex<L>>);

impl<L: Lease> Hold<L> {
    pub(super) fn of(lease: Option<L>) -> Self {
        Self(lease.map(Mutex::new))
    }

    /// How long the lock surely outlasts a request; `None` where it is until the run ends.
    pub(super) fn left(&self) -> Option<SignedDuration> {
        // Nothing is sent while it is renewed.
        let left = self.0.as_ref()?.try_lock().map_or(SignedDuration::ZERO, |lease| lease.left());
        (left < SignedDuration::MAX).then(|| left.saturating_sub(REQUEST))
    }

    /// Holds the lock for longer, if it does not outlast a request. Whether it does now.
    pub(super) async fn renew(&self) -> Result<bool, StoreError> {
        let Some(lease) = &self.0 else { return Ok(true) };
        let mut lease = lease.lock().await;
        if lease.left() > REQUEST {
            return Ok(true);
        }
        match lease.renew().await {
            Ok(()) => Ok(lease.left() > REQUEST),
            Err(StoreError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl<L: Lease> Guard for Hold<L> {
    fn outlasts(&self) -> bool {
        self.left().is_none_or(|left| left.is_positive())
    }
}
