//! One file for each verb: its arguments, the call below, and what it prints.

pub(in crate::cli) mod account;
pub(in crate::cli) mod blocked;
pub(in crate::cli) mod check;
pub(in crate::cli) mod create;
pub(in crate::cli) mod doctor;
pub mod explain;
pub(in crate::cli) mod forget;
pub mod help;
pub(in crate::cli) mod inspect;
pub(in crate::cli) mod issue;
pub(in crate::cli) mod last_run;
pub(in crate::cli) mod metrics_file;
pub(in crate::cli) mod orphans;
pub(in crate::cli) mod ping;
pub(in crate::cli) mod plan;
pub(in crate::cli) mod rehearse;
pub(in crate::cli) mod revocations;
pub(in crate::cli) mod revoke;
pub(in crate::cli) mod revoked;
pub(in crate::cli) mod rollback;
pub mod schema;
pub(in crate::cli) mod service;
pub(in crate::cli) mod start_page;
pub mod status;
pub(in crate::cli) mod timer;
pub(in crate::cli) mod validate;
pub mod version;
