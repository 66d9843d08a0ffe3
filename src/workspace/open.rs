//! An open workspace.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::notes::Notes;
use super::outline::{Outline, RecordOutline};
use super::request::Request;
use super::settings::Settings;
use super::target::NameTarget;
use super::view::Damage;
use crate::acme::RequestCounts;
use crate::engine::RefusedProfiles;
use crate::engine::ports::{Cache, Store, StoreError};
use crate::manifest::{Manifests, Options};
use crate::resource::{CertificateRecord, Issuer, NamespacedName};
use crate::store::{OpenMode, Records, StateDirectory};

/// The store that holds the state: the one choice of it. All that use it know its traits alone.
pub type State = StateDirectory;

/// Opens the state.
pub fn open_state(state_dir: &Path, mode: OpenMode) -> Result<State, StoreError> {
    State::open(state_dir, mode)
}

/// Which certificates a workspace reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those in the state, the config directory and the recorded manifests.
    #[default]
    All,
    /// These, which the state knows: their records, and the files that their records name.
    Only(BTreeSet<NamespacedName>),
    /// The same, and what the config directory has under their names and those of their Secrets:
    /// two manifests of one name are found before anything is written for either.
    Named(BTreeSet<NamespacedName>),
}

impl Scope {
    /// The certificates; `None` for all.
    pub(super) fn names(&self) -> Option<&BTreeSet<NamespacedName>> {
        match self {
            Self::All => None,
            Self::Only(names) | Self::Named(names) => Some(names),
        }
    }

    /// Whether a certificate is among them.
    pub(super) fn contains(&self, name: &NamespacedName) -> bool {
        self.names().is_none_or(|names| names.contains(name))
    }
}

/// The state and its records, and the manifests read so far.
#[derive(Debug)]
pub struct Workspace {
    pub(super) settings: Settings,
    pub(super) scope: Scope,
    pub(super) manifests: Manifests,
    pub(super) state: State,
    /// By namespace and name.
    pub(super) records: Vec<(NamespacedName, CertificateRecord)>,
    /// The outlines of the records, by namespace and name, where these are not kept.
    pub(super) outlines: Vec<(NamespacedName, RecordOutline)>,
    keeps_records: bool,
    /// Whether the records of the scope were read.
    is_read: bool,
    /// The certificates whose record cannot be read, and why.
    pub(super) damaged: Vec<(NamespacedName, Damage)>,
    /// The absolute path of each manifest: many certificates are in one.
    pub(super) absolute_paths: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
    /// The issuers of the tasks.
    pub(super) issuers: RefCell<Vec<Arc<Issuer>>>,
    /// What the last run sent to CAs.
    pub(super) requests: RefCell<RequestCounts>,
    /// The profiles that the last run found missing at their CA.
    pub(super) refused_profiles: RefCell<RefusedProfiles>,
    /// What is noted for the index, once that is begun.
    pub(super) notes: RefCell<Option<Notes>>,
}

impl Workspace {
    /// Opens the state for reading, and reads its records; manifests are read on demand.
    pub async fn open(settings: Settings) -> Result<Self, StoreError> {
        Self::open_scoped(settings, Scope::All).await
    }

    /// The same for some certificates.
    pub async fn open_scoped(settings: Settings, scope: Scope) -> Result<Self, StoreError> {
        let mut workspace = Self::unread(settings)?;
        workspace.read(scope).await?;
        Ok(workspace)
    }

    /// The same for the certificates that have these names, if they are all there is to read; else
    /// for all.
    pub async fn open_named(
        settings: Settings,
        names: &[NameTarget],
        scope: fn(BTreeSet<NamespacedName>) -> Scope,
    ) -> Result<Self, StoreError> {
        let mut workspace = Self::unread(settings)?;
        workspace.read_named(names, scope).await?;
        Ok(workspace)
    }

    /// The same for a verb that only shows: no record is kept, only what selects of each.
    pub async fn open_shown(
        settings: Settings,
        names: &[NameTarget],
        scope: fn(BTreeSet<NamespacedName>) -> Scope,
    ) -> Result<Self, StoreError> {
        let mut workspace = Self { keeps_records: false, ..Self::unread(settings)? };
        workspace.read_named(names, scope).await?;
        Ok(workspace)
    }

    /// Reads the records for a request: those of its names, if they are all there is to read; else
    /// all, unless that has been done.
    pub async fn read_for(&mut self, request: &Request) -> Result<(), StoreError> {
        if self.is_read && self.scope == Scope::All {
            return Ok(());
        }
        // Files may hold what is not named: everything is read beside them.
        let names = if request.sources.is_empty() { request.names.as_slice() } else { &[] };
        self.read_named(names, Scope::Named).await
    }

    pub(super) async fn read_named(
        &mut self,
        names: &[NameTarget],
        scope: fn(BTreeSet<NamespacedName>) -> Scope,
    ) -> Result<(), StoreError> {
        if let Some(found) = self.find(names).await {
            let count = found.len();
            self.read(scope(found)).await?;
            // Manifests are read for those with records alone: else they would be read twice.
            let have_records = self.record_count() + self.damaged.len() == count;
            if have_records && self.is_conclusive() {
                return Ok(());
            }
        }
        self.read(Scope::All).await
    }

    /// Opens the state for reading; nothing of it has been read.
    pub fn unread(settings: Settings) -> Result<Self, StoreError> {
        let state = open_state(&settings.state_dir, OpenMode::ReadOnly)?;
        Ok(Self {
            scope: Scope::All,
            manifests: Manifests::new(settings.manifests()),
            state,
            records: Vec::new(),
            outlines: Vec::new(),
            keeps_records: true,
            is_read: false,
            damaged: Vec::new(),
            absolute_paths: RefCell::default(),
            issuers: RefCell::default(),
            requests: RefCell::default(),
            refused_profiles: RefCell::default(),
            notes: RefCell::default(),
            settings,
        })
    }

    /// The certificates that have these names, when the state knows one for each, and the settings
    /// select by nothing else.
    async fn find(&self, names: &[NameTarget]) -> Option<BTreeSet<NamespacedName>> {
        let Settings { files, selector, namespace, .. } = &self.settings;
        if names.is_empty() || !files.is_empty() || selector.is_some() {
            return None;
        }
        let mut all = BTreeSet::new();
        for name in names {
            let namespace = name.namespace.as_ref().or(namespace.as_ref()).map(String::as_str);
            let records = Records::new(self.state.documents());
            let found = records.certificates_named(&name.name, namespace).await.ok()?;
            let [one] = found.try_into().ok()?;
            all.insert(one);
        }
        Some(all)
    }

    /// Reads the records of a scope; what is read of manifests stays if it is of the same.
    pub(super) async fn read(&mut self, scope: Scope) -> Result<(), StoreError> {
        let is_another = self.scope != scope;
        self.scope = scope;
        self.read_records().await?;
        self.is_read = true;
        if is_another {
            let names = self.scope.names().map(|names| {
                let secrets = self.outlines().map(|(_, record)| record.secret_name.to_owned());
                names.iter().map(|name| name.name.clone()).chain(secrets).collect()
            });
            self.manifests = Manifests::new(Options { names, ..self.settings.manifests() });
        }
        Ok(())
    }

    /// Reads the records again after a run changed them, now of all certificates.
    pub async fn widen(&mut self) -> Result<(), StoreError> {
        self.read(Scope::All).await
    }

    /// Makes the state, which is open, writable; creates the directory tree when it is missing.
    pub fn make_writable(&mut self) -> Result<(), StoreError> {
        self.state.make_writable()
    }

    /// Reads the records again after a run changed them.
    pub async fn read_records(&mut self) -> Result<(), StoreError> {
        let (mut records, mut outlines, mut damaged) = (Vec::new(), Vec::new(), Vec::new());
        let keep =
            |name: NamespacedName, record: Result<CertificateRecord, StoreError>| match record {
                Ok(record) if self.keeps_records => records.push((name, record)),
                Ok(record) => outlines.push((name, RecordOutline::from(record))),
                Err(error) => damaged.push((name, Damage::of(&error))),
            };
        Records::new(self.state.documents()).each_certificate(self.scope.names(), keep).await?;
        records.sort_by(|(one, _), (other, _)| one.cmp(other));
        outlines.sort_by(|(one, _), (other, _)| one.cmp(other));
        (self.records, self.outlines, self.damaged) = (records, outlines, damaged);
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
    pub fn state(&self) -> &State {
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

    /// How many certificates in the state have a record that can be read.
    pub fn record_count(&self) -> usize {
        self.outlines().count()
    }

    /// When a run last wrote something: an idle one leaves nothing. A run of some certificates may
    /// leave the index as it is, and the records of those that are well are not read; what it issued
    /// is in `issuance.log`.
    pub fn last_write(&self) -> Option<Timestamp> {
        let of_records = self.records.iter().flat_map(|(_, record)| {
            let status = &record.status;
            let changed = status.conditions.iter().map(|condition| condition.last_transition_time);
            changed.chain(status.last_failure_time).chain([record.creation_timestamp])
        });
        let log = std::fs::metadata(self.settings.state_dir.join("issuance.log"));
        let issued = log.and_then(|log| log.modified()).ok();
        let issued = issued.and_then(|at| Timestamp::try_from(at).ok());
        of_records.chain(self.state.cache().index_written()).chain(issued).max()
    }

    /// The outlines of all records that can be read, by namespace and name.
    pub(super) fn outlines(&self) -> impl Iterator<Item = (&NamespacedName, Outline<'_>)> {
        let whole = self.records.iter().map(|(name, record)| (name, record.into()));
        whole.chain(self.outlines.iter().map(|(name, outline)| (name, outline.outline())))
    }

    /// The outline of the record of a certificate, if that can be read.
    pub(super) fn outline(&self, name: &NamespacedName) -> Option<Outline<'_>> {
        if let Some(record) = self.record(name) {
            return Some(record.into());
        }
        let found = self.outlines.binary_search_by(|(known, _)| known.cmp(name)).ok()?;
        self.outlines.get(found).map(|(_, outline)| outline.outline())
    }
}

#[cfg(test)]
mod tests;
