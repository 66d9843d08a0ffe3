//! Solvers: present the answer to a challenge, and clean it up.
//!
//! One folder per challenge type; [`listener`] is the server of those that a CA validates by
//! connecting to the name. [`crate::resource::pick_solver`] selects the solver of an issuer
//! for a name; nothing here selects. Presenting and cleaning up are idempotent.

pub mod dns01;
pub mod http01;
pub mod listener;
