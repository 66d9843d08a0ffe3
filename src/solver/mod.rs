//! Solvers: putting a challenge's answer into the world, and taking it back.
//!
//! One folder per challenge type. Which solver of an issuer answers for a name is decided by
//! [`crate::resource::pick_solver`]; nothing here selects. Every effect may run twice: presenting
//! what is presented and taking back what is gone are both successes.

pub mod dns01;
pub mod http01;
