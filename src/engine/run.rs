//! What a run works with, and its limits.

use jiff::SignedDuration;
use tokio::sync::watch;

use super::goal::Goal;
use super::hooks::Hooks;
use super::ports::Observer;
use super::task::Task;
use crate::controller::Intervals;
use crate::resource::{Fix, PublishedLimits};

/// The limits of a run.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Concurrent certificates.
    pub parallel: usize,
    /// Concurrent challenges.
    pub max_concurrent_challenges: usize,
    /// The time for each certificate, from its first slot.
    pub timeout: SignedDuration,
    /// The wait for a lock that another process holds.
    pub lock_timeout: SignedDuration,
    /// The polling intervals.
    pub intervals: Intervals,
    /// Unattended: a challenge of an earlier run gets at most a minute of probing.
    pub unattended: bool,
    /// A scheduler started the run.
    pub is_scheduled: bool,
    /// The same failure or wait of a certificate is reported once a day.
    pub reports_daily: bool,
    /// How many certificates there are, when the run is about some of them: that decides how many
    /// questions it may ask.
    pub certificates: usize,
    /// The limits that CAs publish.
    pub limits: &'static [PublishedLimits],
    /// Ask the CA for what its limits would refuse.
    pub ignore_limits: bool,
    /// Who runs deploy hooks and reloads.
    pub hooks: Hooks,
    /// Makes words of an intent, for the operator's hook.
    pub words: fn(&Fix) -> String,
}

impl Options {
    /// Whether the run came to this task by itself.
    pub(super) fn comes_by_itself(&self, task: &Task) -> bool {
        self.is_scheduled && task.force.is_none() && task.goal == Goal::Issue
    }

    /// Whether the same failure or wait of this task is reported once a day: the user did not ask
    /// for it now.
    pub(super) fn reports_once_a_day(&self, task: &Task) -> bool {
        self.reports_daily && task.force.is_none() && task.goal == Goal::Issue
    }
}

/// The longest wait for a verdict after the timeout, and no longer than that.
pub(super) const GRACE: SignedDuration = SignedDuration::from_secs(60);
/// An order younger than this is pending; an older one counts as a failure.
pub(super) const OVERDUE: SignedDuration = SignedDuration::from_hours(1);

/// A run over some certificates.
pub struct Engine<'a, P> {
    pub ports: P,
    pub observer: &'a dyn Observer,
    pub options: Options,
    /// The signal that ends the run, once one arrived.
    pub shutdown: watch::Receiver<Option<i32>>,
}

/// The signal that ends the run, once one arrived.
pub(super) async fn signal(mut shutdown: watch::Receiver<Option<i32>>) -> i32 {
    match shutdown.wait_for(Option::is_some).await {
        Ok(signal) => signal.unwrap_or(0),
        Err(_) => std::future::pending().await,
    }
}
