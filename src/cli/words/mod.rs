//! States, steps and remedies in words, and the words of other tools.

pub(in crate::cli) mod count;
pub(in crate::cli) mod diagnosis;
pub mod field;
pub(in crate::cli) mod fix;
pub(in crate::cli) mod hint;
pub(in crate::cli) mod next;
pub(in crate::cli) mod order;
pub(in crate::cli) mod problem;
mod scene;
pub(in crate::cli) mod state;
pub(in crate::cli) mod synonym;
pub mod time;

pub use scene::Scene;
