//! The glance of a run without arguments, or of files with many certificates: whether the index says
//! that nothing is due, and nothing that it was decided from has changed since.
//!
//! Contract: a wrong "nothing is due" is not possible by any change of a file, by a clock that was
//! set, by other settings or another version. Whatever is odd means the long way: all manifests and
//! records are read, and the index is written anew. Where something may be due for a few certificates
//! alone, only those are read, and the lines of the others stay. What rots under an unchanged `stat` is found
//! within a day, when its certificate is looked at again. A run of files has an index of its own, by
//! its files and settings; it is about the certificates in them, and has of the others that none owes
//! what such a run would do.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::notes::Notes;
use super::open::{Scope, State, Workspace};
use super::request::Request;
use super::revocations::owes;
use super::selection::Targets;
use super::settings::Settings;
use crate::controller::revocation::LOOK_EVERY;
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Cache, Clock as _, Store, StoreError, SystemClock};
use crate::engine::{Ended, Goal, Task};
use crate::manifest::{SecretSource, Source};
use crate::resource::{
    Certificate, CertificateRecord, DeployTarget, NamespacedName, SecretMetadata,
};
use crate::store::Records;
use crate::store::index::{
    Entry, Facts, Header, Index, Line, Manifest, VERSION, Witness, Writer, is_trusted_file,
    is_trusted_folder,
};

/// What is there as a run begins, and what the index says of it.
#[derive(Debug)]
pub struct Glance {
    now: Timestamp,
    /// The settings that decide.
    settings: Vec<String>,
    /// What all certificates have in common, before anything is read.
    seen: Vec<Witness>,
    /// The digest of the settings of a run of files.
    of_files: Option<String>,
    known: Option<Known>,
}

/// An index whose common evidence holds.
#[derive(Debug)]
struct Known {
    index: Index,
    young_until: Option<Timestamp>,
    manifests: Vec<Manifest>,
    /// How many certificates it has.
    count: usize,
    /// Those for which something may be due.
    due: BTreeSet<NamespacedName>,
}

/// What a new index is made of.
#[derive(Debug)]
pub struct Layout {
    manifests: Vec<Manifest>,
    /// The certificates of the run.
    of: BTreeSet<NamespacedName>,
    young_until: Option<Timestamp>,
    /// The index that has the other certificates.
    others: Option<Index>,
    /// The records of those that a run of files is not about.
    records: Vec<Witness>,
}

impl Glance {
    /// Looks at the index and its evidence; `None` where an index cannot say anything.
    pub fn take(workspace: &Workspace, request: &Request, now: Timestamp) -> Option<Self> {
        let Workspace { settings, state, .. } = workspace;
        if settings.namespace.is_some() || settings.selector.is_some() || !request.names.is_empty()
        {
            return None;
        }
        let mut seen = state.cache().shared_witnesses()?;
        for folder in folders(settings, &request.sources)? {
            seen.push(state.cache().witness(&folder)?);
        }
        let settings = deciding(settings, &request.sources)?;
        let is_of_files = !request.sources.is_empty();
        let of_files = is_of_files.then(|| digest_of(settings.join("\n").as_bytes()));
        let glance = Self { now, settings, seen, of_files, known: None };
        let index = state.cache().index(glance.of_files.as_deref());
        let known = index.and_then(|index| glance.read(state, index));
        Some(Self { known, ..glance })
    }

    /// Whether nothing is due for any certificate.
    pub fn is_idle(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.count > 0 && known.due.is_empty())
    }

    /// Has a workspace read those certificates alone for which something may be due, if these are few,
    /// and nothing is odd about them.
    pub async fn read_due(&mut self, workspace: &mut Workspace) -> Option<(Targets, Layout)> {
        if self.of_files.is_some() {
            return None;
        }
        let few = |known: &mut Known| !known.due.is_empty() && known.due.len() * 2 <= known.count;
        let Known { index, young_until, manifests, count, due } = self.known.take_if(few)?;
        workspace.read(Scope::Only(due.clone())).await.ok()?;
        let paths: BTreeSet<&Path> = manifests.iter().map(Manifest::path).collect();
        let is_known = |(_, record): &(NamespacedName, CertificateRecord)| {
            let mut named = record.manifest.iter().chain(&record.references);
            named.all(|path| paths.contains(path.as_path()))
        };
        let are_known =
            workspace.records.len() == due.len() && workspace.records.iter().all(is_known);
        let targets = workspace.everything();
        let is_plain = are_known
            && targets.loaded.diagnostics.is_empty()
            && targets.orphans.is_empty()
            && targets.tasks.len() == due.len();
        let young_until = workspace.young_until().into_iter().chain(young_until).min();
        let (others, records) = (Some(index), Vec::new());
        let layout = Layout { manifests, of: due, young_until, others, records };
        if !is_plain {
            return None;
        }
        workspace.settings.options.certificates = count;
        Some((targets, layout))
    }

    fn read(&self, state: &State, mut index: Index) -> Option<Known> {
        let (mut count, mut due, mut manifests) = (0, BTreeSet::new(), Vec::new());
        let (mut folders, mut young_until) = (BTreeSet::new(), None);
        let is_whole = index.read(&mut |line| match line {
            Line::Header(header) => {
                young_until = header.young_until;
                self.accepts(state, &header)
            }
            Line::Manifest(manifest) => {
                let is_same = holds(state, &manifest, &mut folders);
                manifests.push(manifest);
                is_same
            }
            Line::Certificate(entry) => {
                count += 1;
                if !self.is_idle_until(state, &entry) {
                    due.insert(NamespacedName::new(entry.namespace, entry.name));
                }
                true
            }
            Line::Other(record) => state.cache().holds(&record),
            Line::End { .. } => false,
        });
        let named = self.seen.iter().filter(|seen| Path::new(&seen.0).is_absolute());
        let named = named.filter(|seen| seen.1.is_some()).map(|seen| PathBuf::from(&seen.0));
        folders.extend(named);
        let is_trusted = folders.iter().all(|folder| is_trusted_folder(folder));
        let known = Known { index, young_until, manifests, count, due };
        (is_whole && is_trusted).then_some(known)
    }

    fn accepts(&self, state: &State, header: &Header) -> bool {
        let Header { version, program, settings, written, seen, young_until } = header;
        // A run of files looks at no CRL.
        let has_looked = self.of_files.is_some()
            || match state.cache().looks() {
                Ok(Some(looks)) => looks.done <= self.now && self.now < looks.next,
                Ok(None) => young_until.is_some_and(|until| self.now < until),
                Err(_) => false,
            };
        *version == VERSION
            && program == env!("CARGO_PKG_VERSION")
            && *settings == self.settings
            && *seen == self.seen
            && *written <= self.now
            && has_looked
    }

    fn is_idle_until(&self, state: &State, entry: &Entry) -> bool {
        entry.until.is_some_and(|until| self.now < until)
            && !entry.seen.is_empty()
            && entry.seen.iter().all(|seen| state.cache().holds(seen))
    }
}

/// Whether a manifest is as it was. Its folder is added to those that are checked at the end, each
/// once.
fn holds(state: &State, manifest: &Manifest, folders: &mut BTreeSet<PathBuf>) -> bool {
    let path = manifest.path();
    if let Some(folder) = path.parent().filter(|folder| !folders.contains(*folder)) {
        folders.insert(folder.to_owned());
    }
    state.cache().holds(&manifest.seen) && (!manifest.is_link || is_trusted_file(path))
}

/// The folders whose manifests are read; `None` when manifests come from elsewhere too.
fn folders(settings: &Settings, named: &[Source]) -> Option<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> = settings.config_dir.iter().cloned().collect();
    for source in settings.files.iter().chain(named) {
        match source {
            Source::Directory(path) => folders.push(path.clone()),
            Source::File(_) => {}
            Source::Stdin(_) => return None,
        }
    }
    folders.iter().map(|folder| std::path::absolute(folder).ok()).collect()
}

/// The settings that decide what is due.
fn deciding(settings: &Settings, named: &[Source]) -> Option<Vec<String>> {
    let us = rustix::process::geteuid().as_raw().to_string();
    let mut deciding = vec![us, settings.cluster_resource_namespace.clone()];
    let files = settings.files.iter().map(path_of);
    let files: Vec<&PathBuf> = files.collect::<Option<_>>()?;
    let text = |path: &PathBuf| Some(std::path::absolute(path).ok()?.to_str()?.to_owned());
    for path in settings.config_dir.iter().chain(&settings.credentials_dir).chain(files) {
        deciding.push(text(path)?);
    }
    if !named.is_empty() {
        deciding.push("run of".to_owned());
    }
    for source in named {
        deciding.push(text(path_of(source)?)?);
    }
    Some(deciding)
}

fn path_of(source: &Source) -> Option<&PathBuf> {
    match source {
        Source::File(path) | Source::Directory(path) => Some(path),
        Source::Stdin(_) => None,
    }
}

impl Workspace {
    /// From now on, runs note what the next index needs.
    pub fn note_for_the_index(&self) {
        self.notes.replace(Some(Notes::default()));
    }

    /// What an index of these targets says of the manifests; `None` when there must be none: an
    /// error or a warning is printed by every run, and so is a certificate without a manifest.
    pub async fn index_layout(
        &self,
        targets: &Targets,
        request: &Request,
        glance: &Glance,
    ) -> Option<Layout> {
        let Targets { loaded, tasks, orphans, .. } = targets;
        let named: Vec<&PathBuf> = request.sources.iter().filter_map(path_of).collect();
        let is_meant = |certificate: &&Arc<Certificate>| {
            let path = &certificate.origin.path;
            named.is_empty() || named.iter().any(|named| path.starts_with(named))
        };
        if !named.is_empty() && tasks.len() < MANY {
            return None;
        }
        let is_plain = loaded.diagnostics.is_empty()
            && loaded.conflicts.is_empty()
            && loaded.blocked.is_empty()
            && orphans.is_empty()
            && self.damaged.is_empty()
            && loaded.holding_nothing(&request.sources).is_empty()
            && tasks.len() == loaded.certificates.iter().filter(is_meant).count();
        if !is_plain {
            return None;
        }
        let due: BTreeSet<NamespacedName> =
            tasks.iter().map(|task| task.certificate.metadata.key()).collect();
        let mut records = Vec::new();
        let stored = Records::new(self.state.documents()).certificate_names().await.ok()?;
        for name in stored.iter().filter(|name| !due.contains(name)) {
            let is_plain = self.record(name).is_some_and(|record| !owes(record));
            if named.is_empty() || !is_plain {
                return None;
            }
            records.extend(self.state.cache().record_witnesses(name)?);
        }
        if !records.iter().all(|record| record.is_settled(glance.now)) {
            return None;
        }
        let mut manifests = Vec::new();
        for (path, found) in self.manifests.seen() {
            let found = found.as_ref().filter(|found| found.is_file())?;
            let absolute = std::path::absolute(path).ok()?;
            let seen = Witness(absolute.to_str()?.to_owned(), Some(Facts::of(found)));
            if !seen.is_settled(glance.now) {
                return None;
            }
            let is_link = std::fs::symlink_metadata(path).ok()?.is_symlink();
            manifests.push(Manifest { seen, is_link });
        }
        let young_until = self.young_until();
        Some(Layout { manifests, of: due, young_until, others: None, records })
    }

    /// Until when no certificate is old enough for its CRL to be looked at.
    fn young_until(&self) -> Option<Timestamp> {
        let begins = self.records.iter().filter_map(|(_, record)| record.status.not_before);
        begins.min().and_then(|begin| begin.checked_add(LOOK_EVERY).ok())
    }

    /// Notes the evidence of the tasks, before they are worked on.
    pub(super) fn note_evidence(&self, tasks: &[Task], secrets: &SecretSource) {
        let mut notes = self.notes.borrow_mut();
        let Some(notes) = notes.as_mut() else { return };
        let now = SystemClock.now();
        for task in tasks.iter().filter(|task| task.goal == Goal::Issue) {
            let key = task.certificate.metadata.key();
            notes.until.remove(&key);
            let record = self.record(&key).filter(|record| !owes(record));
            let seen = record.and_then(|record| self.evidence(task, record, secrets));
            let seen = seen.filter(|seen| seen.iter().all(|one| one.is_settled(now)));
            notes.seen.extend(seen.map(|seen| (key, seen)));
        }
    }

    /// Notes until when nothing is due.
    pub(super) fn note_endings(&self, ended: &[Ended]) {
        let mut notes = self.notes.borrow_mut();
        let Some(notes) = notes.as_mut() else { return };
        let idle = |end: &Ended| Some((end.certificate.clone(), end.idle_until?));
        notes.until.extend(ended.iter().filter_map(idle));
    }

    /// What a certificate is decided from, beside its manifests.
    fn evidence(
        &self,
        task: &Task,
        record: &CertificateRecord,
        secrets: &SecretSource,
    ) -> Option<Vec<Witness>> {
        let certificate = &task.certificate;
        let (key, revision) = (certificate.metadata.key(), record.status.revision);
        let mut seen = self.state.cache().witnesses(&key, revision, &certificate.secret_key())?;
        let files: Vec<String> = seen.iter().filter_map(file_of_a_set).collect();
        for target in task.settings().deploy_targets() {
            let DeployTarget::Output { folder, .. } = &target else { continue };
            let folder = Path::new(folder);
            seen.push(self.state.cache().witness(folder)?);
            seen.push(self.state.cache().witness(&folder.join("..data"))?);
            for file in &files {
                seen.push(self.state.cache().witness(&folder.join("..data").join(file))?);
            }
        }
        let keystores = certificate.spec.keystores.clone().unwrap_or_default();
        let passwords = [
            keystores.jks.and_then(|jks| jks.password_secret_ref),
            keystores.pkcs12.and_then(|pkcs12| pkcs12.password_secret_ref),
        ];
        for password in passwords.into_iter().flatten() {
            let secret = NamespacedName::new(&key.namespace, &password.name);
            for place in secrets.places(&secret, &password.key) {
                seen.push(self.state.cache().witness(&std::path::absolute(place).ok()?)?);
            }
        }
        Some(seen)
    }

    /// Writes the index for the next run, if it would say more than the last one.
    pub fn write_index(&self, glance: &Glance, layout: Layout) -> Result<(), StoreError> {
        let notes = self.notes.take().unwrap_or_default();
        let Layout { manifests, of, young_until, others, records } = layout;
        let is_settled = glance.seen.iter().all(|seen| seen.is_settled(glance.now));
        if !is_settled || notes.others_owe || !of.iter().any(|key| notes.has(key)) {
            return Ok(());
        }
        self.state.cache().write_index(glance.of_files.as_deref(), |index| {
            index.add(&Line::Header(Header {
                version: VERSION,
                program: env!("CARGO_PKG_VERSION").to_owned(),
                settings: glance.settings.clone(),
                written: glance.now,
                seen: glance.seen.clone(),
                young_until,
            }))?;
            manifests.into_iter().try_for_each(|manifest| index.add(&Line::Manifest(manifest)))?;
            records.into_iter().try_for_each(|record| index.add(&Line::Other(record)))?;
            if let Some(mut others) = others {
                copy(&mut others, index, &of)?;
            }
            let mut entries = of.iter().map(|key| notes.entry(key));
            entries.try_for_each(|entry| index.add(&Line::Certificate(entry)))
        })
    }
}

/// A run of files with fewer certificates is quick without an index; there may be many such runs.
const MANY: usize = 16;

/// Copies the certificates that are not among these.
fn copy(from: &mut Index, to: &mut Writer<'_>, but: &BTreeSet<NamespacedName>) -> io::Result<()> {
    let mut copied = Ok(());
    let is_whole = from.read(&mut |line| {
        if let Line::Certificate(entry) = &line
            && !but.contains(&NamespacedName::new(&entry.namespace, &entry.name))
        {
            copied = to.add(&line);
        }
        copied.is_ok()
    });
    copied?;
    if is_whole { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// The name of a file that servers read.
fn file_of_a_set(seen: &Witness) -> Option<String> {
    let path = Path::new(&seen.0);
    let is_in_a_set = path.parent()?.file_name()?.to_str()?.starts_with("..");
    let name = path.file_name()?.to_str()?;
    (is_in_a_set && name != SecretMetadata::FILE).then(|| name.to_owned())
}
