//! What a verb works on: manifests, state, records and secrets, read once per process; and the
//! verbs as functions that return data.
//!
//! Contract: nothing is printed here, and nothing knows flags or exit codes. `cli` passes
//! [`Settings`] and a [`Request`], and renders the result. The state is opened for reading until a
//! verb needs to write, so that an error in a manifest leaves no trace in it.

pub mod check;
pub mod inspect;
pub mod outlook;
pub mod plan;
pub mod request;
pub mod run;
pub mod selector;
pub mod settings;
pub mod target;
pub mod view;

mod accounts;
mod blocked;
mod copies;
mod idle;
mod judgement;
mod last_run;
mod ledgers;
mod monitor;
mod notes;
mod one_off;
mod open;
mod orphans;
mod outline;
mod owners;
mod precondition;
mod rehearsal;
mod revocations;
mod revoked;
mod rollback;
mod scratch;
mod secrets;
mod selection;
mod status;
pub mod unmanaged;

pub use crate::acme::{RequestCounts, RequestKind};
pub use accounts::Settled;
pub use blocked::Blocked;
pub use idle::{Glance, Layout};
pub use last_run::AutomaticRun;
pub use monitor::{MonitorError, call_monitor};
pub use one_off::one_off;
pub use open::{Scope, State, Workspace, open_state};
pub use orphans::Orphans;
pub use owners::{Owner, Owners, OwnersError, covers};
pub use precondition::{Lack, diagnostics};
pub use rehearsal::{Rehearsal, RehearsalError};
pub use request::{Request, RequestError};
pub use revocations::{
    AskError, Finished, ForeignRevocation, Holder, Refusal, Remembered, SentRevocation, owes,
};
pub use rollback::{BackError, WentBack};
pub use run::{Job, LeftAlerts, RunError};
pub use scratch::Scratch;
pub use selection::{Selection, Targets, concerns, issuer_of, narrow};
pub use settings::Settings;
pub use status::Depth;
