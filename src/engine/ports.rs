//! The three seams of a run, which [`Ports`] has together: [`Clock`], [`Store`] and [`Performer`].
//! Tests replace only these and the [`Observer`] that shows events. The parts of the store are
//! defined in `store`, beside the directory that implements them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::ending::Ended;
use super::task::Task;
use crate::controller::alert::Stage;
use crate::controller::{Awaited, Effect, EffectError, Outcome};
use crate::resource::{
    ChallengeSpec, ChallengeType, Event, Issuer, NamespacedName, PublishedPair, RevokedCertificate,
};

pub use crate::store::{
    Cache, Collection, DamageCourse, Documents, HookTurn, HostRecord, Key, Lease, LeaseOf,
    LiveFiles, LiveSet, Lock, Log, Page, Part, SecretSet, Store, StoreError, Stored, Version,
    WrongEntry,
};

/// The seams of a run, together.
pub trait Ports {
    type Clock: Clock;
    type Store: Store;
    type Performer: Performer;

    fn clock(&self) -> &Self::Clock;

    fn store(&self) -> &Self::Store;

    fn performer(&self) -> &Self::Performer;
}

/// The [`Ports`] of a run whose clock and state outlive it.
#[derive(Clone, Copy, Debug)]
pub struct Borrowed<'a, C, S, P> {
    pub clock: &'a C,
    pub store: &'a S,
    pub performer: &'a P,
}

impl<C: Clock, S: Store, P: Performer> Ports for Borrowed<'_, C, S, P> {
    type Clock = C;
    type Store = S;
    type Performer = P;

    fn clock(&self) -> &C {
        self.clock
    }

    fn store(&self) -> &S {
        self.store
    }

    fn performer(&self) -> &P {
        self.performer
    }
}

/// The source of the time.
///
/// Contract: `now` is wall-clock time; `sleep` waits on a monotonic clock.
pub trait Clock {
    /// The current time.
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
        if let Ok(duration) = Duration::try_from(duration) {
            tokio::time::sleep(duration).await;
        }
    }
}

/// The lock under which an effect was begun.
pub trait Guard {
    /// Whether it outlasts a request that is sent now.
    fn outlasts(&self) -> bool;
}

/// The lock of what needs none.
#[derive(Clone, Copy, Debug)]
pub struct Unguarded;

impl Guard for Unguarded {
    fn outlasts(&self) -> bool {
        true
    }
}

/// Performs the effects. Replaced by tests.
pub trait Performer {
    /// Performs one effect, at the CA of this issuer if it goes to one; every error is an outcome. It
    /// waits for as long as the lock does not outlast a request.
    fn perform(
        &self,
        task: &Task,
        issuer: Arc<Issuer>,
        effect: Effect,
        guard: &dyn Guard,
    ) -> impl Future<Output = Outcome>;

    /// When the HTTP-01 responder last received a request for a token from another host.
    fn last_hit(&self, challenge: &ChallengeSpec) -> Option<Timestamp>;

    /// When another run that shared the responder's port was last seen to have ended.
    fn listener_gone(&self) -> Option<Timestamp> {
        None
    }

    /// Whether this run has seen that the directory of an issuer's CA has no renewalInfo.
    fn lacks_renewal_information(&self, _issuer: &Issuer) -> bool {
        false
    }

    /// Whether the CRL of a task's live certificate says that its CA has revoked it.
    fn revoked(&self, _task: &Task) -> impl Future<Output = Option<RevokedCertificate>> {
        std::future::ready(None)
    }

    /// The number of requests to the responder.
    fn hits(&self) -> u64;

    /// Waits until the responder received more than `seen` requests.
    fn hit_after(&self, seen: u64) -> impl Future<Output = ()>;

    /// Why no hook and no reload may run for a task.
    fn bars_hooks(&self, _task: &Task) -> Option<EffectError> {
        None
    }

    /// Runs the program that makes servers reload the deployed files, for these certificates.
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

    /// Live keystores, by file name, with a password other than the one the spec names. A keystore
    /// is left out when its new password is unavailable.
    fn changed_passwords(&self, _task: &Task, _live: &PublishedPair) -> BTreeSet<String> {
        BTreeSet::new()
    }
}

/// The arguments of the operator's hook for failures, also as they are left to a later run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    pub certificate: NamespacedName,
    /// The root cause, in one sentence.
    pub message: String,
    /// The number of consecutive failed attempts.
    pub attempts: u32,
    /// When the next attempt is due.
    pub next_attempt: Option<Timestamp>,
    /// When the live certificate expires, if there is one.
    pub not_after: Option<Timestamp>,
    pub stage: Stage,
}

/// What a certificate's run waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub what: Awaited,
    /// How long the run waits.
    pub limit: Option<WaitLimit>,
    /// The challenge, by its type and its name, of a self-check that fails by what time alone rarely
    /// ends ([`CheckReport::is_obstructed`](crate::resource::CheckReport::is_obstructed)).
    pub obstructed: Option<(ChallengeType, String)>,
}

/// When a run does not wait any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitLimit {
    Until(Timestamp),
    /// After so many self-checks.
    Checks(u32),
}

/// Receives events, to show them. It never influences a run.
pub trait Observer {
    /// An event.
    fn event(&self, certificate: &NamespacedName, event: &Event);

    /// A certificate's run continues this order.
    fn stage(&self, certificate: &NamespacedName, stage: &str);

    /// A certificate's run waits.
    fn waits(&self, _certificate: &NamespacedName, _wait: &Wait) {}

    /// Another process works on the certificate; this one waits for it, for `at_most`.
    fn queues(&self, _certificate: &NamespacedName, _holder: &str, _at_most: SignedDuration) {}

    /// The run that this one waited for has issued what this one was to renew.
    fn renewed_meanwhile(&self, _certificate: &NamespacedName) {}

    /// All work is done, and the port still answers for other runs, for `at_most`.
    fn lingers(&self, _at_most: Duration) {}

    /// A certificate's run ended; reloads, and the operator's hook for failures, come later.
    fn ended(&self, _end: &Ended) {}
}
