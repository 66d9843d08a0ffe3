//! The moments at which a process can be killed, counted.

use std::cell::{Cell, RefCell};

/// Counts the moments of one run, and ends the run at one of them.
#[derive(Default)]
pub(crate) struct Fuse {
    at: Option<usize>,
    labels: RefCell<Vec<String>>,
    blown: Cell<bool>,
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
