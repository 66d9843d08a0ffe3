//! What output looks like: the scene that it is made for, and tables.

mod scene;
pub(in crate::cli) mod table;

pub use scene::Scene;
pub use table::Width;
