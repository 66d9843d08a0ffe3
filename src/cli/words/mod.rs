//! States, steps and remedies in words.

pub(in crate::cli) mod next;
pub(in crate::cli) mod order;
pub(in crate::cli) mod remedy;
pub(in crate::cli) mod state;
