//! `certctl inspect`: one certificate, and what can be found out of it.
//!
//! Contract: read-only. A check that cannot be made is "unknown", never "good".

mod report;
mod subject;
#[cfg(test)]
mod tests;

pub use crate::pki::{KeyMatch, Party, Revocation};
pub use crate::probe::Network;
pub use report::{Check, KnownRevocation, RenewalWindow, Report, Roots, SpecMatch, Trust};
pub use subject::{HostMatch, InspectError, Served, Source, Subject, Unreadable, roots_of};
