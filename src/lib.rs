//! certctl: cert-manager for people without a cluster.

pub mod engine;
pub mod resource;
