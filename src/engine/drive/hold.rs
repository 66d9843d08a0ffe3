//! The lock of a certificate, where it may run out: on a store that several hosts share.
//!
//! The CA and the DNS providers are not behind the fence that the documents are. So nothing is sent to
//! them unless the lock outlasts the request. Who has lost it sends nothing, cleans up nothing and
//! publishes nothing: what it would undo may be another host's.

use jiff::SignedDuration;

use super::state::Drive;
use crate::engine::ports::{Lease, Ports, StoreError};

/// The longest that one request takes (`acme::limit`, and the deadlines of DNS providers).
const REQUEST: SignedDuration = SignedDuration::from_mins(1);

impl<P: Ports> Drive<'_, P> {
    /// Makes sure that the lock outlasts a request that is sent now.
    pub(super) async fn hold(&mut self) -> Result<(), StoreError> {
        let Some(lease) = &mut self.lease else { return Ok(()) };
        if lease.left() > REQUEST {
            return Ok(());
        }
        let renewed = lease.renew().await;
        let outlasts = lease.left() > REQUEST;
        match renewed {
            Ok(()) if outlasts => Ok(()),
            Ok(()) | Err(StoreError::Conflict { .. }) => Err(self.lost()),
            Err(error) => Err(error),
        }
    }

    /// What a refused write means: where the lock may run out, that another host has it.
    pub(super) fn refused(&self, error: StoreError) -> StoreError {
        let may_be_lost =
            self.lease.as_ref().is_some_and(|lease| lease.left() < SignedDuration::MAX);
        let is_refused = matches!(error, StoreError::Conflict { .. });
        if is_refused && may_be_lost { self.lost() } else { error }
    }

    fn lost(&self) -> StoreError {
        StoreError::Lost { what: format!("certificate {}", self.session.name.short()) }
    }
}
