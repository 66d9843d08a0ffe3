//! The controllers, by tables: snapshot and outcome in, step and record out.

#![expect(
    clippy::wildcard_enum_match_arm,
    clippy::large_stack_arrays,
    reason = "a table names what it expects, and its rows are whole snapshots"
)]

mod account;
mod alert;
mod backoff;
mod challenge;
mod deploy;
mod effects;
mod fallback;
mod fixture;
mod formats;
mod idle;
mod issuing;
mod keymanager;
mod links;
mod lost_record;
mod order;
mod order_absorb;
mod policy;
mod readiness;
mod renewal_information;
mod requestmanager;
mod revocation;
mod rollback;
mod temporary;
mod trigger;
