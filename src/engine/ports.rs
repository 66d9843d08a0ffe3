//! The three seams: [`Clock`], [`Store`] and `engine::Performer`. Only these are replaced by
//! tests. The store's seam is defined beside what implements it, in `store::port`.

use jiff::{SignedDuration, Timestamp};

pub use crate::store::port::{KeptSet, Key, Lock, Prefix, Revision, Store, StoreError, Stored};

/// Where the time comes from.
///
/// Contract: `now` is wall-clock time; `sleep` waits on a monotonic clock.
pub trait Clock {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Waits; returns at once for a duration that is not positive.
    fn sleep(&self, duration: SignedDuration) -> impl Future<Output = ()>;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
        Timestamp::now()
    }

    async fn sleep(&self, duration: SignedDuration) {
        if let Ok(duration) = std::time::Duration::try_from(duration) {
            tokio::time::sleep(duration).await;
        }
    }
}
