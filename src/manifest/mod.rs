//! Parses YAML into validated resources; every error carries file, line and column.
//!
//! ```text
//! files → text (documents) → tree (nodes with places) → object (kind) → resource, or findings
//!                                                        load ──→ check_references
//! ```
//!
//! Contract: all errors of all documents are reported in one run; no manifest can make this panic,
//! hang or use unbounded memory; a manifest that is valid here is valid for a cluster as well. Only
//! this module uses the YAML crate.

mod builder;
mod certificate;
mod constraint;
mod diagnostic;
mod field;
mod file;
mod issuer;
mod json;
mod key;
mod load;
mod metadata;
mod name;
mod object;
mod output;
mod placeholder;
mod provider;
mod reference;
mod secret;
mod secret_source;
mod settings;
mod sink;
mod solver;
mod subject;
mod suggestion;
mod syntax;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod url;
mod validity;

pub(crate) use diagnostic::UNREAD;
pub use diagnostic::{Blocks, Diagnostic, Mark, ObjectId, Severity, count, joined};
pub use file::{ReadError, is_gone};
pub use load::{Conflict, Loaded, Manifests, Options, Source, is_listed, load};
pub(crate) use name::is_component;
pub use name::is_secret_key;
pub use object::{SkipReason, Skipped};
pub use placeholder::placeholders;
pub use reference::{
    check_owned_references, check_references, check_references_of, explain_remembered,
    keep_recorded, prefer, unmet, webroots,
};
pub use secret::SecretManifest;
pub use secret_source::{SecretError, SecretSource};
pub use suggestion::nearest_by;
