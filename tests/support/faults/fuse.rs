//! The moments at which a process can be killed, counted.

use std::cell::{Cell, RefCell};
use std::task::Poll;

use jiff::SignedDuration;

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
    /// The moment at which the host stands still, and for how long.
    pause: Option<(usize, SignedDuration)>,
    stops: Cell<Option<SignedDuration>>,
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

    /// Never blows; at the moment number `at` the host stands still for so long.
    pub(crate) fn pausing_at(at: usize, duration: SignedDuration) -> Self {
        Self { pause: Some((at, duration)), ..Self::default() }
    }

    /// For how long the host stands still from now on.
    pub(crate) fn stops(&self) -> Option<SignedDuration> {
        self.stops.take()
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
        let pause = self.pause.filter(|(at, _)| *at == self.labels.borrow().len());
        self.labels.borrow_mut().push(label);
        if let Some((_, duration)) = pause {
            self.stops.set(Some(duration));
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
