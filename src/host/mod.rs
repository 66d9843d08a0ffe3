//! Facts about this host: what starts certctl, which process has a port, users and what they may do.
//!
//! Contract: read-only, and typed. What a fact means, and the command that changes it, are words of the
//! program.

pub mod rights;
pub mod scheduler;
