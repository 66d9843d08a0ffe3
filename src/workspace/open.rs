//! An open workspace.

use std::cell::RefCell;

use super::settings::Settings;
use crate::acme::RequestCounts;
use crate::engine::RefusedProfiles;
use crate::engine::ports::StoreError;
use crate::manifest::{Manifests, Options};
use crate::resource::{CertificateRecord, NamespacedName};
use crate::store::{OpenMode, Records, StateDirectory};

/// The state and its records, and the manifests read so far.
#[derive(Debug)]
pub struct Workspace {
    pub(super) settings: Settings,
    pub(super) manifests: Manifests,
    pub(super) state: StateDirectory,
    /// By namespace and name.
    pub(super) records: Vec<(NamespacedName, CertificateRecord)>,
    /// The certificates whose record cannot be read, and why.
    pub(super) damaged: Vec<(NamespacedName, String)>,
    /// What the last run sent to CAs.
    pub(super) requests: RefCell<RequestCounts>,
    /// The profiles that the last run found missing at their CA.
    pub(super) refused_profiles: RefCell<RefusedProfiles>,
}

impl Workspace {
    /// Opens the state for reading, and reads its records; manifests are read on demand.
    pub async fn open(settings: Settings) -> Result<Self, StoreError> {
        let state = StateDirectory::open(&settings.state_dir, OpenMode::ReadOnly)?;
        let manifests = Manifests::new(Options::default());
        let (records, damaged) = (Vec::new(), Vec::new());
        let mut workspace = Self {
            settings,
            manifests,
            state,
            records,
            damaged,
            requests: RefCell::default(),
            refused_profiles: RefCell::default(),
        };
        workspace.read_records().await?;
        Ok(workspace)
    }

    /// Opens the state for writing; creates the directory tree when it is missing.
    pub fn make_writable(&mut self) -> Result<(), StoreError> {
        self.state = StateDirectory::open(&self.settings.state_dir, OpenMode::ReadWrite)?;
        Ok(())
    }

    /// Reads the records again after a run changed them.
    pub async fn read_records(&mut self) -> Result<(), StoreError> {
        let all = Records::new(&self.state).certificates().await?;
        (self.records, self.damaged) = (Vec::new(), Vec::new());
        for (name, record) in all {
            match record {
                Ok(record) => self.records.push((name, record)),
                Err(error) => self.damaged.push((name, error.to_string())),
            }
        }
        self.records.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(())
    }

    /// Whether to ask CAs for what their limits would refuse.
    pub fn ignore_limits(&mut self, ignores: bool) {
        self.settings.options.ignore_limits = ignores;
    }

    /// Reports a failure or a wait again that was reported within the last day.
    pub fn report_again(&mut self) {
        self.settings.options.reports_daily = false;
    }

    /// The settings of the request, beside its objects.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the last run sent to CAs.
    pub fn sent_requests(&self) -> RequestCounts {
        self.requests.borrow().clone()
    }

    /// The state.
    pub fn state(&self) -> &StateDirectory {
        &self.state
    }

    /// The record of a certificate, if it can be read.
    pub fn record(&self, name: &NamespacedName) -> Option<&CertificateRecord> {
        let found = self.records.binary_search_by(|(known, _)| known.cmp(name)).ok()?;
        self.records.get(found).map(|(_, record)| record)
    }

    /// The certificates in the state whose records can be read.
    pub fn records(&self) -> &[(NamespacedName, CertificateRecord)] {
        &self.records
    }
}
