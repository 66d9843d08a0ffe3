//! Which users can change a file, a folder, or where a path leads to.
//!
//! Contract: what certctl reads, runs or writes into is opened by one walk ([`Walk`]), from `/` on,
//! one name at a time, each in the handle of the folder before it. Each folder and each symbolic
//! link on the way is checked, and so is the file at the end; what was checked is what is read. A
//! program is run by its path: once no other user can change any part of the way, nothing can come
//! between the check and the start.

mod bounds;
mod rule;
#[cfg(test)]
mod tests;
mod walk;

pub use bounds::Bounds;
pub use rule::{Relation, TrustError, Trusted, check_secret, quoted};
pub use walk::{Folder, Seen, Walk, is_fresh, owner_of};
