//! What output looks like: the scene that it is made for, and tables.

pub(in crate::cli) mod document;
pub mod log;
pub mod message;
pub mod output;
pub(in crate::cli) mod progress;
pub(in crate::cli) mod report;
mod scene;
pub(in crate::cli) mod table;
pub(in crate::cli) mod text;
pub mod yaml;

pub use scene::Scene;
pub use table::Width;
