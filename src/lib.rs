//! certctl: cert-manager for people without a cluster.

pub mod controller;
pub mod engine;
pub mod resource;
