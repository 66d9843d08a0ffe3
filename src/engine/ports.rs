//! The three seams: [`Clock`], [`Store`] and [`Performer`]. Only these, and the [`Observer`] that
//! shows what happens, are replaced by tests. The store's seam is defined beside what implements
//! it, in `store::port`.

use std::collections::BTreeSet;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};

use super::ending::Ended;
use crate::controller::{Effect, EffectError, Outcome, Snapshot};
use crate::resource::{Event, NamespacedName};

pub use crate::store::port::{Etag, KeptSet, Key, Lock, Prefix, Store, StoreError, Stored};

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

/// Does the effects. Replaced by tests.
pub trait Performer {
    /// Does one effect; every error is an outcome.
    fn perform(&self, snapshot: Rc<Snapshot>, effect: Effect) -> impl Future<Output = Outcome>;

    /// When the HTTP-01 responder was last asked for a token, by somebody else than us.
    fn last_hit(&self, token: &str) -> Option<Timestamp>;

    /// How often the responder was asked, in all.
    fn hits(&self) -> u64;

    /// Waits until it was asked more often than `seen`.
    fn hit_after(&self, seen: u64) -> impl Future<Output = ()>;

    /// Runs the program that lets servers take up what was deployed, for these certificates.
    fn reload(
        &self,
        _program: &str,
        _certificates: &[NamespacedName],
    ) -> impl Future<Output = Result<(), EffectError>> {
        std::future::ready(Ok(()))
    }

    /// Whether the operator has a hook for failures.
    fn hears_of_failures(&self) -> bool {
        false
    }

    /// Runs the operator's hook for failures.
    fn alert(&self, _alert: &Alert) -> impl Future<Output = Result<(), EffectError>> {
        std::future::ready(Ok(()))
    }

    /// Live keystores, by file name, whose password is not the one that the spec names now. One
    /// whose password cannot be had is not among them.
    fn changed_passwords(&self, _snapshot: &Snapshot) -> BTreeSet<String> {
        BTreeSet::new()
    }
}

/// What the operator's hook for failures is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Of which certificate.
    pub certificate: NamespacedName,
    /// The root cause, in one sentence.
    pub message: String,
    /// How many attempts have failed in a row.
    pub attempts: u32,
    /// When the next one may be made.
    pub next_attempt: Option<Timestamp>,
    /// When the live certificate ends, if there is one.
    pub not_after: Option<Timestamp>,
    /// 1: the failure is new; 2: less than a third of the life is left; 3: less than a tenth.
    pub stage: u8,
}

/// Hears what happens, to show it. Never asked anything.
pub trait Observer {
    /// Something happened.
    fn event(&self, certificate: &NamespacedName, event: &Event);

    /// A certificate's work continues this.
    fn stage(&self, certificate: &NamespacedName, stage: &str);

    /// A certificate's work is over; reloads, and the operator's hook for failures, come later.
    fn ended(&self, _end: &Ended) {}
}

impl<O: Observer> Observer for Rc<O> {
    fn event(&self, certificate: &NamespacedName, event: &Event) {
        O::event(self, certificate, event);
    }

    fn stage(&self, certificate: &NamespacedName, stage: &str) {
        O::stage(self, certificate, stage);
    }

    fn ended(&self, end: &Ended) {
        O::ended(self, end);
    }
}
