//! The work on a certificate: its steps in `in-flight`, and its documents in the end.
//!
//! Contract: see [`in_flight`]. A document that the steps have changed is read from there, by all
//! processes. A certificate's folder that has a `status.json` has a durable name: that file is
//! written after the name was synced.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::Arc;

use rustix::fs::{OFlags, Stat};
use rustix::io::retry_on_intr;
use zeroize::Zeroizing;

use super::directory::StateDirectory;
use super::folder::{Folder, Guard, io_error, text};
use super::in_flight::{Change, FILE, FULL, Facts, File, Made, Steps, Versions};
use super::{atomic, layout};
use crate::resource::NamespacedName;
use crate::store::documents::{Documents as _, Stored, Version};
use crate::store::error::StoreError;
use crate::store::frame::{Frame, parts, version};
use crate::store::key::{Key, Part};

impl StateDirectory {
    /// A part of what is stored of a certificate, as the work on it left it.
    pub(super) fn part(
        &self,
        of: &NamespacedName,
        part: Part,
    ) -> Result<Option<Stored>, StoreError> {
        let steps = self.steps_of(of, part == Part::Record)?;
        self.part_after(steps.as_deref(), of, part)
    }

    /// A part, after these steps.
    fn part_after(
        &self,
        steps: Option<&Steps>,
        of: &NamespacedName,
        part: Part,
    ) -> Result<Option<Stored>, StoreError> {
        match steps.and_then(|steps| steps.document(part)) {
            Some(made) => Ok(made.stored().cloned()),
            None => self.read(&layout::document(&part.of(of))?),
        }
    }

    /// The parts of what is stored of a certificate, as the work on it left them.
    pub(super) fn parts(&self, of: &NamespacedName) -> Result<BTreeSet<Part>, StoreError> {
        let steps = self.steps_of(of, false)?;
        self.parts_after(steps.as_deref(), of)
    }

    /// The parts, after these steps.
    fn parts_after(
        &self,
        steps: Option<&Steps>,
        of: &NamespacedName,
    ) -> Result<BTreeSet<Part>, StoreError> {
        let mut found: BTreeSet<Part> = self.parts_on_disk(of)?.into_iter().collect();
        for (part, made) in steps.into_iter().flat_map(Steps::documents) {
            match made {
                Some(_) => found.insert(part),
                None => found.remove(&part),
            };
        }
        Ok(found)
    }

    /// All that is stored of a certificate.
    pub(super) fn whole(&self, of: &NamespacedName) -> Result<Option<Stored>, StoreError> {
        let is_writer = self.opened().is_none();
        let folder = if is_writer { self.find(&layout::certificate(of)?)? } else { None };
        let seen = folder.as_ref().map(facts).transpose()?;
        let steps = self.steps_of(of, true)?;
        let steps = steps.as_deref();
        let (mut frame, mut versions) = (Frame::default(), Versions::new());
        for part in self.parts_after(steps, of)? {
            if let Some(stored) = self.part_after(steps, of, part)? {
                versions.insert(part, stored.revision);
                frame.parts.insert(part, stored.bytes);
            }
        }
        let revision = if is_writer { version(&versions) } else { Version(String::new()) };
        if let Some(seen) = seen.filter(|_| steps.is_none()) {
            self.open_steps().on_disk().insert(of.clone(), (seen, Arc::new(versions)));
        }
        Ok((!frame.parts.is_empty()).then(|| Stored { bytes: frame.bytes(), revision }))
    }

    /// The versions of the documents' own files, but for those that the steps have changed.
    fn versions_on_disk(
        &self,
        of: &NamespacedName,
        folder: &Folder,
        steps: Option<&Steps>,
    ) -> Result<Arc<Versions>, StoreError> {
        if let Some(known) = steps.and_then(Steps::on_disk) {
            return Ok(Arc::clone(known));
        }
        let known = self.open_steps().on_disk().remove(of);
        if steps.is_none()
            && let Some((seen, known)) = known
            && seen == facts(folder)?
        {
            return Ok(known);
        }
        let mut versions = Versions::new();
        for part in self.parts_on_disk(of)? {
            if steps.is_none_or(|steps| steps.document(part).is_none())
                && let Some(version) = self.version_on_disk(of, part)?
            {
                versions.insert(part, version);
            }
        }
        Ok(Arc::new(versions))
    }

    /// The steps in flight of a certificate; `None` when it has none. `is_record`: for its record,
    /// which a reader reads before its other documents.
    fn steps_of(
        &self,
        of: &NamespacedName,
        is_record: bool,
    ) -> Result<Option<Arc<Steps>>, StoreError> {
        let look = || match self.folder_with_steps(of)? {
            Some(folder) => self.steps_in(&folder, of),
            None => Ok(None),
        };
        match self.opened() {
            Some(opened) => opened.steps(of, is_record, look),
            None => look(),
        }
    }

    /// Whether a certificate has the file.
    pub(super) fn has_steps(&self, of: &NamespacedName) -> Result<bool, StoreError> {
        Ok(self.folder_with_steps(of)?.is_some())
    }

    /// The folder of a certificate, if it has the file: most have none, which one call tells.
    fn folder_with_steps(&self, of: &NamespacedName) -> Result<Option<Folder>, StoreError> {
        let names = layout::certificate(of)?;
        let Some(root) = self.find(&[])? else { return Ok(None) };
        // Links on the way are refused as the folder is opened.
        let path = format!("{}/{FILE}", names.join("/"));
        if root.stat(&path).is_ok_and(|found| found.is_none()) {
            return Ok(None);
        }
        self.find(&names)
    }

    /// The steps in the file of this folder; `None` when there is none.
    fn steps_in(
        &self,
        folder: &Folder,
        of: &NamespacedName,
    ) -> Result<Option<Arc<Steps>>, StoreError> {
        let Some(stat) = folder.stat(FILE)? else { return Ok(None) };
        let is_same = |file: &&File| file.is_same(&stat);
        if let Some(known) = self.open_steps().get().get(of).filter(is_same) {
            return Ok(Some(Arc::clone(&known.steps)));
        }
        let Some(bytes) = folder.read(FILE, Guard::Document)? else { return Ok(None) };
        let place = text(&folder.join(FILE));
        let on_disk = |part| self.version_on_disk(of, part);
        Steps::read(&bytes, &place, on_disk).map(|steps| Some(Arc::new(steps)))
    }

    fn version_on_disk(
        &self,
        of: &NamespacedName,
        part: Part,
    ) -> Result<Option<Version>, StoreError> {
        let bytes = self.bytes(&layout::document(&part.of(of))?)?;
        Ok(bytes.map(|bytes| Version::of(&bytes)))
    }

    /// Writes a step of the work on a certificate: `frame` is the next version of all that is stored
    /// of it, and `expected` the version before, none when there must be none.
    pub(super) fn put_step(
        &self,
        of: &NamespacedName,
        frame: &[u8],
        expected: Option<&Version>,
    ) -> Result<Version, StoreError> {
        let key = Key::Certificate(of.clone());
        let place = layout::document(&key)?;
        let (_, parts) = parts(frame, &self.place(&key))?;
        let folder = self.make_unsynced(&layout::certificate(of)?)?;
        let known = self.steps_in(&folder, of)?;
        let on_disk = self.versions_on_disk(of, &folder, known.as_deref())?;
        let now = versions(&on_disk, known.as_deref());
        if (!now.is_empty()).then(|| version(&now)).as_ref() != expected {
            return Err(self.conflict(&place));
        }
        let changes = changes(&now, known.as_deref(), &parts);
        let mut next = now;
        for change in &changes {
            match &change.version {
                Some(version) => next.insert(change.part, version.clone()),
                None => next.remove(&change.part),
            };
        }
        if !changes.is_empty() {
            self.append(of, &folder, known, on_disk, changes)?;
        }
        Ok(version(&next))
    }

    fn append(
        &self,
        of: &NamespacedName,
        folder: &Folder,
        known: Option<Arc<Steps>>,
        on_disk: Arc<Versions>,
        changes: Vec<Change<'_>>,
    ) -> Result<(), StoreError> {
        let size = size_of(changes.iter().filter_map(|change| change.bytes).map(<[u8]>::len).sum());
        let is_full = |steps: &Steps| steps.length() > 0 && steps.length() + size > FULL;
        let (known, on_disk) = match known {
            Some(steps) if is_full(&steps) => {
                let now = versions(&on_disk, Some(&steps));
                self.settle_steps(of, &[])?;
                (None, Arc::new(now))
            }
            known => (known, on_disk),
        };
        // What fits into no such file goes straight to its own.
        if size > FULL {
            self.settle_steps(of, &[])?;
            return changes.iter().try_for_each(|change| self.put_file(of, change));
        }
        let is_new = known.is_none();
        // Without the other owner, the steps need not be copied.
        let before = self.open_steps().get().remove(of);
        let before =
            before.map(|File { seen, is_named, is_synced, .. }| (seen, is_named, is_synced));
        let mut steps = match known {
            Some(steps) => Arc::unwrap_or_clone(steps),
            // What is on disk is what was compared, or has been written by the steps before.
            None => Steps::following(on_disk),
        };
        if is_new {
            // Their names are made durable with that of the file.
            folder.make_child(layout::REQUESTS)?;
            folder.make_child(layout::ORDERS)?;
        }
        let last = changes.len().saturating_sub(1);
        let records = changes.iter().enumerate();
        let records: Vec<_> = records.map(|(n, change)| steps.record(change, n < last)).collect();
        let written = match &records[..] {
            [record] => write(folder, &steps, record),
            records => {
                let all: Vec<&[u8]> = records.iter().map(|record| record.as_slice()).collect();
                write(folder, &steps, &Zeroizing::new(all.concat()))
            }
        };
        let (seen, is_named, is_synced) = match (&written, before) {
            (Ok(seen), before) => {
                changes
                    .into_iter()
                    .zip(records)
                    .for_each(|(change, record)| steps.add(change, record));
                (*seen, !is_new && before.is_some_and(|(_, is_named, _)| is_named), false)
            }
            (Err(_), Some(before)) => before,
            (Err(_), None) => return written.map(drop),
        };
        let file = File { seen, steps: Arc::new(steps), is_named, is_synced };
        self.open_steps().get().insert(of.clone(), file);
        written.map(drop)
    }

    fn put_file(&self, of: &NamespacedName, change: &Change<'_>) -> Result<(), StoreError> {
        let key = change.part.of(of);
        match (change.bytes, &change.base) {
            (Some(bytes), None) => self.create_file(&key, bytes).map(drop),
            (Some(bytes), Some(base)) => self.replace_file(&key, bytes, base).map(drop),
            (None, _) => self.remove_file(&key),
        }
    }

    /// Makes the steps so far durable.
    pub(super) fn sync_steps(&self, of: &NamespacedName) -> Result<(), StoreError> {
        let (is_named, is_synced) = match self.open_steps().get().get(of) {
            Some(file) => (file.is_named, file.is_synced),
            None => return Ok(()),
        };
        let names = layout::certificate(of)?;
        let Some(folder) = self.find(&names)? else { return Ok(()) };
        if !is_synced {
            let Some(file) = folder.open_file(FILE, OFlags::WRONLY)? else { return Ok(()) };
            file.sync_data().map_err(|error| io_error(&folder.join(FILE), "sync", error))?;
        }
        if !is_named {
            folder.sync()?;
            self.make(&names)?;
        }
        if let Some(file) = self.open_steps().get().get_mut(of) {
            (file.is_named, file.is_synced) = (true, true);
        }
        Ok(())
    }

    /// Writes the documents to their files and removes the file of the steps. Nothing is done where
    /// there is none. See [`Documents::settle`](super::documents::Documents::settle).
    pub(super) fn settle_steps(&self, of: &NamespacedName, past: &[Key]) -> Result<(), StoreError> {
        self.open_steps().on_disk().remove(of);
        let names = layout::certificate(of)?;
        let Some(folder) = self.folder_with_steps(of)? else { return Ok(()) };
        let Some(steps) = self.steps_in(&folder, of)? else { return Ok(()) };
        if steps.documents().next().is_some() {
            self.make(&names)?;
        }
        let is_committed = self.write_documents(of, &folder, &steps, past)?;
        let mut has_removed = false;
        for (part, _) in steps.documents().filter(|(_, stored)| stored.is_none()) {
            let place = layout::document(&part.of(of))?;
            if let Some(within) = self.find(&place.folders)? {
                let is_removed = within.remove(&place.file)?;
                has_removed |= is_removed && part == Part::NextKey;
            }
        }
        folder.remove(FILE)?;
        self.open_steps().get().remove(of);
        let is_void = is_committed || steps.documents().next().is_none();
        if has_removed || !is_void { folder.sync() } else { Ok(()) }
    }

    /// Writes the documents of the steps, `status.json` last. Whether that was one of them, so that
    /// the file of the steps is void.
    fn write_documents(
        &self,
        of: &NamespacedName,
        folder: &Folder,
        steps: &Steps,
        past: &[Key],
    ) -> Result<bool, StoreError> {
        // As the steps of an issuance follow each other: what a power loss between two of them
        // leaves is what a kill would have left.
        let mut written: Vec<_> = steps
            .documents()
            .filter_map(|(part, stored)| Some((order_of_writing(part)?, part, stored?)))
            .collect();
        written.sort_by_key(|(order, ..)| *order);
        // A run that was killed may have made the folders, and not have synced their names.
        let is_named = self.open_steps().get().get(of).is_some_and(|file| file.is_named);
        let mut has_names = !is_named && !written.is_empty();
        let mut touched = BTreeSet::new();
        for (kind, part, stored) in written {
            let key = part.of(of);
            let place = layout::document(&key)?;
            if kind == NEXT_KEY {
                has_names = true;
                atomic::replace_unsynced(folder, &place.file, &stored.bytes)?;
                continue;
            }
            let name = if kind == ORDER { layout::ORDERS } else { layout::REQUESTS };
            has_names |= folder.make_child(name)?;
            let Some(within) = folder.child(name)? else { continue };
            // An older version of an order that comes back could owe what was done.
            if !past.contains(&key) || within.stat(&place.file)?.is_some() {
                touched.insert(name);
            }
            atomic::replace_unsynced(&within, &place.file, &stored.bytes)?;
        }
        for name in touched {
            folder.child(name)?.map_or(Ok(()), |within| within.sync())?;
        }
        if has_names {
            folder.sync()?;
        }
        let Some(Made::Written(stored)) = steps.document(Part::Record) else { return Ok(false) };
        atomic::replace(folder, layout::STATUS_FILE, &stored.bytes)?;
        Ok(true)
    }
}

/// When a document is written among the others; `status.json` is written after all.
fn order_of_writing(part: Part) -> Option<u8> {
    match part {
        Part::NextKey => Some(NEXT_KEY),
        Part::Order(..) => Some(ORDER),
        Part::Request(_) => Some(REQUEST),
        Part::Record => None,
    }
}

const NEXT_KEY: u8 = 0;
const ORDER: u8 = 1;
const REQUEST: u8 = 2;

/// Appends a record where the file is whole.
fn write(folder: &Folder, steps: &Steps, record: &[u8]) -> Result<Stat, StoreError> {
    let failed = |error| io_error(&folder.join(FILE), "write", error);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
    let Some((mut file, found)) = folder.open_plain(FILE, flags)? else {
        return Err(io_error(&folder.join(FILE), "open", rustix::io::Errno::NOENT));
    };
    if found.st_mode & 0o7777 != 0o600 {
        atomic::give_mode(&file, 0o600)
            .map_err(|error| io_error(&folder.join(FILE), "change the mode of", error))?;
    }
    // What a failed write left is no record, and none after it would be read.
    if u64::try_from(found.st_size) != Ok(steps.length()) {
        file.set_len(steps.length()).map_err(failed)?;
    }
    file.write_all(record).map_err(failed)?;
    retry_on_intr(|| rustix::fs::fstat(&file)).map_err(|error| failed(error.into()))
}

/// The versions of all documents, given those of their own files and the steps.
fn versions(on_disk: &Versions, steps: Option<&Steps>) -> Versions {
    let mut all = on_disk.clone();
    for (part, stored) in steps.into_iter().flat_map(Steps::documents) {
        match stored {
            Some(stored) => all.insert(part, stored.revision.clone()),
            None => all.remove(&part),
        };
    }
    all
}

/// What is to be written, given the versions of the documents that are there.
fn changes<'a>(
    now: &Versions,
    steps: Option<&Steps>,
    parts: &BTreeMap<Part, &'a [u8]>,
) -> Vec<Change<'a>> {
    let written = parts.iter().filter_map(|(part, bytes)| {
        let known = steps.and_then(|steps| steps.document(*part)).and_then(Made::stored);
        if known.is_some_and(|known| **known.bytes == **bytes) {
            return None;
        }
        let (base, version) = (now.get(part).cloned(), Version::of(bytes));
        let is_changed = base.as_ref() != Some(&version);
        let (part, bytes) = (*part, Some(*bytes));
        is_changed.then_some(Change { part, base, bytes, version: Some(version) })
    });
    let removed =
        now.iter().filter(|(part, _)| !parts.contains_key(part)).map(|(part, version)| Change {
            part: *part,
            base: Some(version.clone()),
            bytes: None,
            version: None,
        });
    written.chain(removed).collect()
}

/// What tells whether the files of a certificate's folder were written since.
fn facts(folder: &Folder) -> Result<Facts, StoreError> {
    let of = |stat: Stat| (stat.st_ino, stat.st_ctime, stat.st_ctime_nsec);
    let here = folder.facts()?;
    Ok(Facts { folder: of(here), record: folder.stat(layout::STATUS_FILE)?.map(of) })
}

fn size_of(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    use std::path::{Path, PathBuf};

    use jiff::SignedDuration;
    use tempfile::TempDir;

    use super::*;
    use crate::store::OpenMode;
    use crate::store::key::Lock;
    use crate::store::live_files::LiveFiles;

    const FOLDER: &str = "certificates/default/web";

    fn web() -> NamespacedName {
        NamespacedName::new("default", "web")
    }

    fn done<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(future)
    }

    fn open(path: &Path, mode: OpenMode) -> StateDirectory {
        StateDirectory::open(path, mode).unwrap()
    }

    /// Writes a step that makes a part so, or removes it.
    fn step(
        state: &StateDirectory,
        part: Part,
        bytes: Option<&[u8]>,
    ) -> Result<Version, StoreError> {
        let stored = done(state.get(&Key::Certificate(web()))).unwrap();
        let frame = stored.as_ref().map(|stored| Frame::read(&stored.bytes, "here").unwrap());
        let mut frame = frame.unwrap_or_default();
        match bytes {
            Some(bytes) => frame.parts.insert(part, Zeroizing::new(bytes.to_vec())),
            None => frame.parts.remove(&part),
        };
        state.put_step(&web(), &frame.bytes(), stored.as_ref().map(|stored| &stored.revision))
    }

    const PARTS: [Part; 4] = [Part::Record, Part::NextKey, Part::Request(1), Part::Order(1, 1)];

    fn keys() -> [Key; 4] {
        PARTS.map(|part| part.of(&web()))
    }

    /// A state with a record, and the path of its steps.
    fn known() -> (TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        state.create_file(&Key::Certificate(web()), b"before").unwrap();
        let file = scratch.path().join(FOLDER).join(FILE);
        (scratch, file)
    }

    fn put(path: &Path, bytes: &[u8]) {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(path).unwrap().write_all(bytes).unwrap();
    }

    /// What a reader finds.
    fn seen(path: &Path) -> Vec<Option<String>> {
        let state = open(path, OpenMode::ReadOnly);
        let text = |stored: Stored| String::from_utf8(stored.bytes.to_vec()).unwrap();
        keys().iter().map(|key| done(state.get(key)).unwrap().map(text)).collect()
    }

    #[test]
    fn a_reader_sees_all_documents_of_a_certificate_with_the_steps_that_it_saw_with_its_record() {
        let (scratch, _) = known();
        let path = scratch.path();
        let state = open(path, OpenMode::ReadWrite);
        let reader = open(path, OpenMode::ReadOnly);
        let text = |key: &Key| {
            let stored = done(reader.get(key)).unwrap();
            stored.map(|stored| String::from_utf8(stored.bytes.to_vec()).unwrap())
        };
        let [record, _, request, order] = keys();
        let orders = || {
            let parts = reader.parts(&web()).unwrap().into_iter();
            parts.filter(|part| matches!(part, Part::Order(..))).collect::<Vec<_>>()
        };
        assert_eq!((text(&record).as_deref(), text(&request)), (Some("before"), None));
        step(&state, PARTS[2], Some(b"csr")).unwrap();
        step(&state, PARTS[3], Some(b"creating")).unwrap();
        assert_eq!((text(&request), text(&order), orders()), (None, None, Vec::new()));
        // With the record it looks again, and when it has read another certificate.
        assert_eq!(text(&record).as_deref(), Some("before"));
        assert_eq!((text(&request).as_deref(), orders()), (Some("csr"), vec![PARTS[3]]));
        step(&state, PARTS[3], Some(b"ordered")).unwrap();
        assert_eq!(text(&order).as_deref(), Some("creating"));
        assert_eq!(text(&Part::NextKey.of(&NamespacedName::new("default", "mail"))), None);
        assert_eq!(text(&order).as_deref(), Some("ordered"));
    }

    /// The steps of an issuance, with what a reader finds after each.
    fn issue(state: &StateDirectory, path: &Path) -> Vec<Vec<Option<String>>> {
        let [record, key, request, order] = PARTS;
        let steps: [(Part, Option<&str>); 8] = [
            (record, Some("issuing")),
            (key, Some("key\nof\nlines\n")),
            (request, Some("csr")),
            (order, Some("creating")),
            (order, Some("ordered")),
            (request, Some("answered")),
            (record, Some("issued")),
            (key, None),
        ];
        let mut all = vec![seen(path)];
        for (part, bytes) in steps {
            step(state, part, bytes.map(str::as_bytes)).unwrap();
            all.push(seen(path));
        }
        all
    }

    #[test]
    fn readers_see_each_step_and_the_documents_are_written_in_the_end() {
        let (scratch, file) = known();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        let all = issue(&state, scratch.path());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            all[5],
            [some("issuing"), some("key\nof\nlines\n"), some("csr"), some("ordered")]
        );
        let last = vec![some("issued"), None, some("answered"), some("ordered")];
        assert_eq!(all[8], last);
        let parts = state.parts(&web()).unwrap();
        assert_eq!(Vec::from_iter(parts), [Part::Record, Part::Request(1), Part::Order(1, 1)]);
        let folder = scratch.path().join(FOLDER);
        assert_eq!(fs::read_to_string(folder.join("status.json")).unwrap(), "before");
        state.settle_steps(&web(), &[]).unwrap();
        assert!(!file.exists());
        assert_eq!(seen(scratch.path()), last);
        let texts = ["status.json", "requests/1.json", "orders/1-1.json"]
            .map(|name| fs::read_to_string(folder.join(name)).unwrap());
        assert_eq!(texts, ["issued", "answered", "ordered"]);
    }

    #[test]
    fn a_step_of_another_document_than_was_read_is_refused() {
        let (scratch, _) = known();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        let key = Key::Certificate(web());
        let seen = done(state.get(&key)).unwrap().unwrap();
        let refused = |expected: Option<&Version>| {
            let found = state.put_step(&web(), &seen.bytes, expected);
            assert!(matches!(found, Err(StoreError::Conflict { .. })), "{expected:?} {found:?}");
        };
        refused(None);
        refused(Some(&Version::of(b"other")));
        // Of a part that another process changed, and of one that it made.
        for part in [Part::Record, Part::Request(1)] {
            let before = done(state.get(&key)).unwrap().unwrap().revision;
            step(&open(scratch.path(), OpenMode::ReadWrite), part, Some(b"new")).unwrap();
            refused(Some(&before));
            open(scratch.path(), OpenMode::ReadWrite).settle_steps(&web(), &[]).unwrap();
            refused(Some(&before));
        }
    }

    #[test]
    fn a_document_is_set_aside_as_the_steps_made_it_and_the_other_steps_hold() {
        let (scratch, _) = known();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        let [record, _, request, order] = PARTS;
        step(&state, record, Some(b"damaged")).unwrap();
        step(&state, request, Some(b"csr")).unwrap();
        step(&state, order, Some(b"creating")).unwrap();
        let found = done(state.quarantine(&record.of(&web()), &Version::of(b"before")));
        assert!(matches!(found, Err(StoreError::Conflict { .. })), "{found:?}");
        let moved = [(record, "damaged"), (order, "creating")].map(|(part, seen)| {
            done(state.quarantine(&part.of(&web()), &Version::of(seen.as_bytes()))).unwrap()
        });
        assert_eq!(moved.map(|path| fs::read_to_string(path).unwrap()), ["damaged", "creating"]);
        assert_eq!(seen(scratch.path()), [None, None, Some("csr".to_owned()), None]);
    }

    #[test]
    fn of_a_write_of_several_documents_all_hold_or_none() {
        let (scratch, file) = known();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        step(&state, PARTS[1], Some(b"key")).unwrap();
        let (first, before) = (fs::read(&file).unwrap(), seen(scratch.path()));
        let stored = done(state.get(&Key::Certificate(web()))).unwrap().unwrap();
        let mut frame = Frame::default();
        for (part, text) in [(PARTS[0], "issued"), (PARTS[2], "answered"), (PARTS[3], "ordered")] {
            frame.parts.insert(part, Zeroizing::new(text.as_bytes().to_vec()));
        }
        state.put_step(&web(), &frame.bytes(), Some(&stored.revision)).unwrap();
        let (whole, last) = (fs::read(&file).unwrap(), seen(scratch.path()));
        assert_eq!(last.iter().flatten().collect::<Vec<_>>(), ["issued", "answered", "ordered"]);
        for end in first.len()..whole.len() {
            put(&file, &whole[..end]);
            assert_eq!(seen(scratch.path()), before, "{end} bytes");
        }
        // What is left of it is cut off by the next one.
        let state = open(scratch.path(), OpenMode::ReadWrite);
        step(&state, PARTS[1], Some(b"another key")).unwrap();
        assert_eq!(seen(scratch.path())[..2], [before[0].clone(), Some("another key".to_owned())]);
    }

    #[test]
    fn however_the_file_is_cut_or_damaged_what_is_read_is_a_step() {
        let (scratch, file) = known();
        let all = issue(&open(scratch.path(), OpenMode::ReadWrite), scratch.path());
        let whole = fs::read(&file).unwrap();
        let mut found = Vec::new();
        for end in 0..=whole.len() {
            put(&file, &whole[..end]);
            found.push(seen(scratch.path()));
        }
        found.dedup();
        assert_eq!(found, all, "each step in its turn, and nothing else");
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            put(&file, &bytes);
            assert!(all.contains(&seen(scratch.path())), "byte {at}");
            put(&file, &[&whole[..at], &vec![0; whole.len() - at]].concat());
            assert!(all.contains(&seen(scratch.path())), "zeros from {at}");
        }
    }

    #[test]
    fn the_next_holder_of_the_lock_ends_what_a_killed_run_left_and_goes_on_after_a_torn_step() {
        let (scratch, file) = known();
        let all = issue(&open(scratch.path(), OpenMode::ReadWrite), scratch.path());
        let whole = fs::read(&file).unwrap();
        put(&file, &whole[..whole.len() - 3]);
        let state = open(scratch.path(), OpenMode::ReadWrite);
        let secret = NamespacedName::new("default", "web-tls");
        assert!(LiveFiles::has_temporaries(&state, &web(), &secret).unwrap());
        let _lease = done(state.lease(&Lock::Certificate(web()), SignedDuration::ZERO)).unwrap();
        assert!(!file.exists() && !LiveFiles::has_temporaries(&state, &web(), &secret).unwrap());
        assert_eq!(seen(scratch.path()), all[7]);
        step(&state, Part::NextKey, None).unwrap();
        assert_eq!(seen(scratch.path()), all[8]);
    }

    #[test]
    fn a_file_that_comes_back_after_the_end_says_nothing() {
        let (scratch, file) = known();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        let last = issue(&state, scratch.path()).pop().unwrap();
        let whole = fs::read(&file).unwrap();
        state.settle_steps(&web(), &[]).unwrap();
        for end in 0..=whole.len() {
            // Cut before the key was removed, the file alone would bring it back.
            put(&file, &whole[..end]);
            assert_eq!(seen(scratch.path()), last, "{end} bytes");
        }
    }

    #[test]
    fn a_step_that_follows_another_document_than_is_there_says_nothing() {
        let (scratch, file) = known();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        let [_, _, request, order] = keys();
        state.create_file(&order, b"creating").unwrap();
        let creating = Version::of(b"creating");
        step(&state, PARTS[3], Some(b"ordered")).unwrap();
        step(&state, PARTS[2], Some(b"csr")).unwrap();
        let steps = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        state.replace_file(&order, b"replaced", &creating).unwrap();
        put(&file, &steps);
        let found = seen(scratch.path());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(found, [some("before"), None, some("csr"), some("replaced")]);
        // Nor does one that begins a document that is there.
        fs::remove_file(&file).unwrap();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        state.create_file(&request, b"answered").unwrap();
        put(&file, &steps);
        let found = seen(scratch.path());
        assert_eq!(found, [some("before"), None, some("answered"), some("replaced")]);
    }

    #[test]
    fn what_a_failed_write_left_is_cut_off_before_the_next_step() {
        let (scratch, file) = known();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        issue(&state, scratch.path());
        let mut bytes = fs::read(&file).unwrap();
        bytes.extend(b"{\"version\":1,\"docu");
        put(&file, &bytes);
        step(&state, Part::Order(1, 1), Some(b"more")).unwrap();
        assert_eq!(seen(scratch.path())[3].as_deref(), Some("more"));
    }

    #[test]
    fn a_file_of_a_newer_version_is_refused_and_left_alone() {
        let (scratch, file) = known();
        let newer = b"{\"version\":2,\"more\":true}\nx\n";
        put(&file, newer);
        let state = open(scratch.path(), OpenMode::ReadWrite);
        let refused = |found: Result<(), StoreError>| {
            assert!(matches!(found, Err(StoreError::Version { found: 2, known: 1, .. })));
        };
        refused(done(state.get(&Key::Certificate(web()))).map(drop));
        refused(done(state.lease(&Lock::Certificate(web()), SignedDuration::ZERO)).map(drop));
        assert_eq!(fs::read(&file).unwrap(), newer);
    }

    #[test]
    fn a_full_file_is_ended_and_another_begun() {
        let (scratch, file) = known();
        let state = open(scratch.path(), OpenMode::ReadWrite);
        let order = Part::Order(1, 1);
        for number in 0..5_u8 {
            let bytes = vec![number; 1_200_000];
            step(&state, order, Some(&bytes)).unwrap();
            assert!(fs::metadata(&file).unwrap().len() <= FULL);
        }
        let large = vec![7; usize::try_from(FULL).unwrap() + 1];
        step(&state, order, Some(&large)).unwrap();
        assert_eq!(done(state.get(&order.of(&web()))).unwrap().unwrap().bytes.len(), large.len());
    }
}
