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

/// How often a renewal is tried of which no answer comes.
const TRIES: u32 = 3;

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
        let mut tries = 0_u32;
        loop {
            tries = tries.saturating_add(1);
            match lease.renew().await {
                Ok(()) => return Ok(lease.left() > REQUEST),
                Err(StoreError::Conflict { .. }) => return Ok(false),
                Err(StoreError::Unknown { .. }) if tries < TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<L: Lease> Guard for Hold<L> {
    fn outlasts(&self) -> bool {
        self.left().is_none_or(|left| left.is_positive())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// A lock that is about to run out, and the renewals of it that have no answer.
    #[derive(Debug)]
    struct Unsure {
        left: SignedDuration,
        unknown: u32,
    }

    impl Lease for Unsure {
        fn epoch(&self) -> u64 {
            1
        }

        fn left(&self) -> SignedDuration {
            self.left
        }

        async fn renew(&mut self) -> Result<(), StoreError> {
            if let Some(left) = self.unknown.checked_sub(1) {
                self.unknown = left;
                return Err(StoreError::Unknown { path: String::new(), why: String::new() });
            }
            self.left = REQUEST * 5;
            Ok(())
        }
    }

    #[test]
    fn a_renewal_without_an_answer_is_tried_again_a_few_times() {
        for unknown in 0..=TRIES {
            let hold = Hold::of(Some(Unsure { left: REQUEST / 2, unknown }));
            let renewed = hold.renew().now_or_never().unwrap();
            assert_eq!(renewed.is_ok_and(|is_held| is_held), unknown < TRIES, "{unknown}");
        }
    }
}
