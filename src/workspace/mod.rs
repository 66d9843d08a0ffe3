//! What a verb works on: manifests, state, records and secrets, read once for each process; and
//! what verbs do with them, as functions that return data.
//!
//! Contract: nothing is printed here, and nothing knows flags or exit codes. `cli` says in
//! [`Settings`] and a [`Request`] what was asked for, and shows what comes back. The state is opened
//! for reading until a verb asks for more, so that a mistake in a manifest leaves no trace in it.

pub mod plan;
pub mod request;
pub mod run;
pub mod selector;
pub mod settings;
pub mod target;
pub mod view;

mod accounts;
mod one_off;
mod orphans;
mod owners;
mod revocations;
mod rollback;
mod selection;
mod status;

use crate::engine::ports::StoreError;
use crate::manifest::{Manifests, Options};
use crate::resource::{CertificateRecord, NamespacedName};
use crate::store::{OpenMode, Records, StateDirectory};

pub use accounts::Settled;
pub use one_off::one_off;
pub use orphans::Orphans;
pub use owners::{Owner, Owners, OwnersError, covers};
pub use request::{Request, RequestError};
pub use revocations::{Finished, ForeignRevocation, Refusal, owes};
pub use run::{Job, RunError};
pub use selection::{Selection, Targets, issuer_of};
pub use settings::Settings;

/// See the module.
#[derive(Debug)]
pub struct Workspace {
    settings: Settings,
    manifests: Manifests,
    state: StateDirectory,
    records: Vec<(NamespacedName, CertificateRecord)>,
}

impl Workspace {
    /// Opens the state for reading, and reads its records; manifests are read as they are asked
    /// for.
    pub async fn open(settings: Settings) -> Result<Self, StoreError> {
        let state = StateDirectory::open(&settings.state_dir, OpenMode::ReadOnly)?;
        let options = Options { check_trust: settings.is_root, ..Options::default() };
        let manifests = Manifests::new(options);
        let mut workspace = Self { settings, manifests, state, records: Vec::new() };
        workspace.read_records().await?;
        Ok(workspace)
    }

    /// Opens the state for writing; the tree is made when it is missing.
    pub fn make_writable(&mut self) -> Result<(), StoreError> {
        self.state = StateDirectory::open(&self.settings.state_dir, OpenMode::ReadWrite)?;
        Ok(())
    }

    /// Reads the records, which a run has changed.
    pub async fn read_records(&mut self) -> Result<(), StoreError> {
        let all = Records::new(&self.state).certificates().await?;
        let readable = |(name, record): (_, Result<_, _>)| Some((name, record.ok()?));
        self.records = all.into_iter().filter_map(readable).collect();
        Ok(())
    }

    /// What was asked for beside the objects.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The state.
    pub fn state(&self) -> &StateDirectory {
        &self.state
    }

    /// The certificates that the state knows, those whose records can be read.
    pub fn records(&self) -> &[(NamespacedName, CertificateRecord)] {
        &self.records
    }
}
