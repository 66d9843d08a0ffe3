//! A run that has lost the lock of its certificate ends: see [`super::hold`].

use super::state::Drive;
use crate::engine::ports::{Guard, Ports, StoreError};

impl<P: Ports> Drive<'_, P> {
    /// Holds the lock for longer where it would not outlast a request that is sent now.
    pub(super) async fn hold(&self) -> Result<(), StoreError> {
        if self.hold.outlasts() || self.hold.renew().await? { Ok(()) } else { Err(self.lost()) }
    }

    /// What a refused write means: where the lock may run out, that another host has it.
    pub(super) fn refused(&self, error: StoreError) -> StoreError {
        let is_refused = matches!(error, StoreError::Conflict { .. });
        if is_refused && self.hold.left().is_some() { self.lost() } else { error }
    }

    fn lost(&self) -> StoreError {
        StoreError::Lost { what: format!("certificate {}", self.session.name.short()) }
    }
}
