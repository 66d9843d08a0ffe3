//! The moments at which a process can be killed, counted.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::task::Poll;

use jiff::SignedDuration;

use crate::weak::Fault;

/// Counts the moments of one run, and ends the run at one of them.
#[derive(Debug, Default)]
pub(crate) struct Fuse {
    at: Option<usize>,
    labels: RefCell<Vec<String>>,
    blown: Cell<bool>,
    /// The moment from which on another host has the locks.
    lost_at: Option<usize>,
    /// How long the locks are held, where they run out.
    left: Cell<Option<SignedDuration>>,
    renewals: Cell<usize>,
    /// What happens at moments, but for the end of the run.
    disturbances: BTreeMap<usize, Disturbance>,
    /// The host stands still from now on.
    stops: Cell<Option<Pause>>,
    /// The run has ended, or was killed.
    is_over: Cell<bool>,
}

/// What happens at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Disturbance {
    /// The host stands still.
    Pause(Pause),
    /// The reply to the request that is sent then is lost.
    LostReply,
    /// The write that is begun then has this fault.
    Write(Fault),
}

/// How long a host stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pause {
    For(SignedDuration),
    /// Until another run of those that go on side by side has passed this moment, or is over.
    Until {
        run: usize,
        moment: usize,
    },
}

impl Fuse {
    /// Never blows.
    pub(crate) fn endless() -> Self {
        Self::default()
    }

    /// Blows at the moment number `at`, counted from 0.
    pub(crate) fn at(at: usize) -> Self {
        Self { at: Some(at), ..Self::default() }
    }

    /// Never blows, and from the moment number `at` on another host has the locks.
    pub(crate) fn losing_at(at: usize) -> Self {
        let left = Cell::new(Some(SignedDuration::from_mins(5)));
        Self { lost_at: Some(at), left, ..Self::default() }
    }

    /// Never blows, and the locks run out soon after each moment.
    pub(crate) fn renewing() -> Self {
        Self { left: Cell::new(Some(SignedDuration::from_secs(9))), ..Self::default() }
    }

    /// The same, with what happens at this moment.
    pub(crate) fn with(mut self, at: usize, disturbance: Disturbance) -> Self {
        self.disturbances.insert(at, disturbance);
        self
    }

    /// How long the host stands still from now on.
    pub(crate) fn stops(&self) -> Option<Pause> {
        self.stops.take()
    }

    /// What happens at the moment that was passed last, or is passed now.
    pub(crate) fn disturbance(&self) -> Option<&Disturbance> {
        self.disturbances.get(&self.labels.borrow().len().checked_sub(1)?)
    }

    /// Whether the reply to the request of this moment is lost.
    pub(crate) fn loses_reply(&self, moment: usize) -> bool {
        matches!(self.disturbances.get(&moment), Some(Disturbance::LostReply))
    }

    /// How many moments were passed.
    pub(crate) fn count(&self) -> usize {
        self.labels.borrow().len()
    }

    /// Whether the run has passed this moment, or is over.
    pub(crate) fn has_passed(&self, moment: usize) -> bool {
        self.is_over.get() || self.labels.borrow().len() > moment
    }

    pub(crate) fn end(&self) {
        self.is_over.set(true);
    }

    /// How long the locks are held.
    pub(crate) fn holds_for(&self) -> SignedDuration {
        let left = if self.has_lost() { Some(SignedDuration::ZERO) } else { self.left.get() };
        left.unwrap_or(SignedDuration::MAX)
    }

    /// The locks are held for longer, until the next moment.
    pub(crate) fn renew(&self) {
        self.left.set(Some(SignedDuration::from_mins(5)));
        self.renewals.set(self.renewals.get() + 1);
    }

    /// How often they were.
    pub(crate) fn renewals(&self) -> usize {
        self.renewals.get()
    }

    /// Whether another host has the locks.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost_at.is_some_and(|at| self.labels.borrow().len() >= at)
    }

    /// Passes a moment; from the chosen one on nothing passes any more.
    pub(crate) async fn pass(&self, label: String) {
        if self.at == Some(self.labels.borrow().len()) {
            self.blown.set(true);
        }
        if self.blown.get() {
            std::future::pending::<()>().await;
        }
        self.labels.borrow_mut().push(label);
        if let Some(Disturbance::Pause(pause)) = self.disturbance() {
            self.stops.set(Some(*pause));
            yield_once().await;
        }
        if self.left.get().is_some() && self.lost_at.is_none() {
            self.left.set(Some(SignedDuration::from_secs(9)));
        }
    }

    pub(crate) fn is_blown(&self) -> bool {
        self.blown.get()
    }

    /// How many of the passed moments have a label that starts so.
    pub(crate) fn passed(&self, start: &str) -> usize {
        self.labels.borrow().iter().filter(|label| label.starts_with(start)).count()
    }

    /// What was passed.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.labels.borrow().clone()
    }
}

/// Goes on when the task is polled again.
async fn yield_once() {
    let mut is_first = true;
    std::future::poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}
