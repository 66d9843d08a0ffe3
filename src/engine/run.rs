//! What a run works with, and for how long.

use jiff::SignedDuration;
use tokio::sync::watch;

use super::ports::Store;
use crate::controller::Intervals;

/// What a run may do, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Certificates at once.
    pub parallel: usize,
    /// Challenges at once.
    pub max_concurrent_challenges: usize,
    /// For each certificate, from its first slot.
    pub timeout: SignedDuration,
    /// For a lock that somebody else holds.
    pub lock_timeout: SignedDuration,
    /// How often things are looked at.
    pub intervals: Intervals,
    /// Nobody watches: a challenge that was pending before gets at most a minute of probing.
    pub unattended: bool,
}

/// The longest wait for a verdict after the timeout.
pub(super) const GRACE: SignedDuration = SignedDuration::from_secs(60);
/// An order younger than this is pending; an older one is a failure to look at.
pub(super) const OVERDUE: SignedDuration = SignedDuration::from_hours(1);

/// A run over some certificates.
pub struct Engine<'a, C, S: Store, P, O> {
    /// The time.
    pub clock: &'a C,
    /// The state.
    pub store: &'a S,
    /// The effects.
    pub performer: &'a P,
    /// Who hears of it.
    pub observer: &'a O,
    /// How long, how many.
    pub options: Options,
    /// The signal that ends the run, once there is one.
    pub shutdown: watch::Receiver<Option<i32>>,
}

/// The signal that ends the run, once there is one.
pub(super) async fn signal(mut shutdown: watch::Receiver<Option<i32>>) -> i32 {
    match shutdown.wait_for(Option::is_some).await {
        Ok(signal) => signal.unwrap_or(0),
        Err(_) => std::future::pending().await,
    }
}
