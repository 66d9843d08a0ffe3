//! The moments at which a process can be killed, counted.

use std::cell::{Cell, RefCell};

/// Counts the moments of one run, and ends the run at one of them.
#[derive(Debug, Default)]
pub(crate) struct Fuse {
    at: Option<usize>,
    labels: RefCell<Vec<String>>,
    blown: Cell<bool>,
    /// The moment from which on another host has the locks.
    lost_at: Option<usize>,
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
        Self { lost_at: Some(at), ..Self::default() }
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
