//! certctl: cert-manager for people without a cluster.

pub mod acme;
pub mod cli;
pub mod controller;
pub mod engine;
pub mod manifest;
pub mod pki;
pub mod probe;
pub mod rehearsal;
pub mod resource;
pub mod solver;
pub mod store;
