//! The work on a certificate: its steps in `in-flight`, and its documents in the end.
//!
//! Contract: see [`in_flight`]. A document that the steps have changed is read from there, by all
//! processes. A certificate's folder that has a `status.json` has a durable name: that file is
//! written after the name was synced.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{OFlags, Stat};

use super::directory::StateDirectory;
use super::folder::{Folder, Guard, io_error, text};
use super::in_flight::{self, FILE, FULL, Steps};
use super::{atomic, layout};
use crate::resource::NamespacedName;
use crate::store::port::{Etag, Key, Store, StoreError, Stored};

/// The files that were read or written last, by certificate.
#[derive(Debug, Default)]
pub(super) struct Open(Mutex<HashMap<NamespacedName, File>>);

/// A file as it was left.
#[derive(Clone, Debug)]
struct File {
    seen: Stat,
    steps: Arc<Steps>,
    /// Whether the file's name, and the way to it, are durable.
    is_named: bool,
    /// Whether its bytes are.
    is_synced: bool,
}

impl Open {
    fn get(&self) -> MutexGuard<'_, HashMap<NamespacedName, File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StateDirectory {
    /// The document as the steps in flight left it: `Some(None)` when they removed it, `None` when
    /// they have not changed it.
    pub(super) fn in_flight(&self, key: &Key) -> Result<Option<Option<Stored>>, StoreError> {
        let Some(of) = in_flight::certificate_of(key) else { return Ok(None) };
        let Some(folder) = self.find(&layout::certificate(of)?)? else { return Ok(None) };
        let known = self.steps_in(&folder, of)?;
        Ok(known.and_then(|steps| steps.document(key).map(Option::<&Stored>::cloned)))
    }

    /// The documents that the steps in flight have changed; those they removed are told as such.
    pub(super) fn keys_in_flight(
        &self,
        of: &NamespacedName,
    ) -> Result<Vec<(Key, bool)>, StoreError> {
        let Some(folder) = self.find(&layout::certificate(of)?)? else { return Ok(Vec::new()) };
        let Some(steps) = self.steps_in(&folder, of)? else { return Ok(Vec::new()) };
        Ok(steps.documents().map(|(key, stored)| (key.clone(), stored.is_some())).collect())
    }

    /// Whether a certificate has the file.
    pub(super) fn has_steps(&self, of: &NamespacedName) -> Result<bool, StoreError> {
        let Some(folder) = self.find(&layout::certificate(of)?)? else { return Ok(false) };
        Ok(folder.stat(FILE)?.is_some())
    }

    /// The steps in the file of this folder; `None` when there is none.
    fn steps_in(
        &self,
        folder: &Folder,
        of: &NamespacedName,
    ) -> Result<Option<Arc<Steps>>, StoreError> {
        let Some(stat) = folder.stat(FILE)? else { return Ok(None) };
        let is_same = |file: &&File| is_same(&file.seen, &stat);
        if let Some(known) = self.open_steps().get().get(of).filter(is_same) {
            return Ok(Some(Arc::clone(&known.steps)));
        }
        let Some(bytes) = folder.read(FILE, Guard::Document)? else { return Ok(None) };
        let place = text(&folder.join(FILE));
        let on_disk = |key: &Key| self.etag_on_disk(key);
        Steps::read(&bytes, of, &place, on_disk).map(|steps| Some(Arc::new(steps)))
    }

    fn etag_on_disk(&self, key: &Key) -> Result<Option<Etag>, StoreError> {
        let stored = self.read(&layout::document(key)?)?;
        Ok(stored.map(|stored| stored.revision))
    }

    /// Appends a step. See [`Store::append`].
    pub(super) async fn append_step(
        &self,
        key: &Key,
        bytes: Option<&[u8]>,
        expected: Option<&Etag>,
    ) -> Result<Etag, StoreError> {
        let Some(of) = in_flight::certificate_of(key) else {
            return Err(self.conflict(&layout::document(key)?));
        };
        let folder = self.make_unsynced(&layout::certificate(of)?)?;
        let known = self.steps_in(&folder, of)?;
        let now = match known.as_ref().and_then(|steps| steps.document(key)) {
            Some(known) => known.map(|stored| stored.revision.clone()),
            None => self.etag_on_disk(key)?,
        };
        if now.as_ref() != expected {
            return Err(self.conflict(&layout::document(key)?));
        }
        let etag = Etag::of(bytes.unwrap_or_default());
        let size = bytes.map_or(0, <[u8]>::len);
        let is_full = |steps: &Steps| steps.length() > 0 && steps.length() + size_of(size) > FULL;
        let known = match known {
            Some(steps) if is_full(&steps) => {
                self.settle_steps(of, &[])?;
                None
            }
            known => known,
        };
        // One that fits into no such file goes straight to its own.
        if size_of(size) > FULL {
            self.settle_steps(of, &[])?;
            return match (bytes, expected) {
                (Some(bytes), None) => self.create(key, bytes).await,
                (Some(bytes), Some(expected)) => self.put_if(key, bytes, expected).await,
                (None, _) => Ok(etag),
            };
        }
        let is_new = known.is_none();
        let mut steps = match known {
            Some(steps) => Arc::unwrap_or_clone(steps),
            None => Steps::after(self.etag_on_disk(&Key::Certificate(of.clone()))?),
        };
        if is_new {
            // Their names are made durable with that of the file.
            folder.make_child(layout::REQUESTS)?;
            folder.make_child(layout::ORDERS)?;
        }
        let record = steps.record(key, expected, bytes);
        let stat = write(&folder, &steps, &record)?;
        steps.add(key, bytes, &record);
        let mut open = self.open_steps().get();
        let is_named = !is_new && open.get(of).is_some_and(|file| file.is_named);
        let steps = Arc::new(steps);
        open.insert(of.clone(), File { seen: stat, steps, is_named, is_synced: false });
        Ok(etag)
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
    /// there is none. See [`Store::settle`].
    pub(super) fn settle_steps(&self, of: &NamespacedName, past: &[Key]) -> Result<(), StoreError> {
        let names = layout::certificate(of)?;
        let Some(folder) = self.find(&names)? else { return Ok(()) };
        let Some(steps) = self.steps_in(&folder, of)? else { return Ok(()) };
        if steps.documents().next().is_some() {
            self.make(&names)?;
        }
        let is_committed = self.write_documents(of, &folder, &steps, past)?;
        let mut has_removed = false;
        for (key, _) in steps.documents().filter(|(_, stored)| stored.is_none()) {
            let place = layout::document(key)?;
            if let Some(within) = self.find(&place.folders)? {
                let is_removed = within.remove(&place.file)?;
                has_removed |= is_removed && matches!(key, Key::NextKey(_));
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
        let status = Key::Certificate(of.clone());
        let mut written: Vec<(&Key, &Stored)> = steps
            .documents()
            .filter_map(|(key, stored)| Some((key, stored?)))
            .filter(|(key, _)| **key != status)
            .collect();
        // As the steps of an issuance follow each other: what a power loss between two of them
        // leaves is what a kill would have left.
        written.sort_by_key(|(key, _)| match key {
            Key::NextKey(_) => 0,
            Key::Order(..) => 1,
            _ => 2,
        });
        // A run that was killed may have made the folders, and not have synced their names.
        let is_named = self.open_steps().get().get(of).is_some_and(|file| file.is_named);
        let mut has_names = !is_named && !written.is_empty();
        let (mut orders, mut requests) = (false, false);
        for (key, stored) in written {
            let place = layout::document(key)?;
            let within = match place.folders.last().map(String::as_str) {
                Some(layout::REQUESTS | layout::ORDERS) => {
                    let name = place.folders.last().map_or("", String::as_str);
                    has_names |= folder.make_child(name)?;
                    self.find(&place.folders)?
                }
                Some(_) | None => Some(folder.duplicate()?),
            };
            let Some(within) = within else { continue };
            match key {
                // An older version of it that comes back could owe what was done.
                Key::Order(..) => {
                    orders |= !past.contains(key) || within.stat(&place.file)?.is_some();
                }
                Key::Request(..) => requests = true,
                _ => has_names = true,
            }
            atomic::replace_unsynced(&within, &place.file, &stored.bytes)?;
        }
        let mut of_names = Vec::new();
        if orders {
            of_names.extend(self.find(&layout::orders(of)?)?);
        }
        if requests {
            of_names.extend(self.find(&layout::requests(of)?)?);
        }
        of_names.iter().try_for_each(Folder::sync)?;
        if has_names {
            folder.sync()?;
        }
        let Some(Some(stored)) = steps.document(&status) else { return Ok(false) };
        atomic::replace(folder, layout::STATUS_FILE, &stored.bytes)?;
        Ok(true)
    }
}

/// Appends a record where the file is whole.
fn write(folder: &Folder, steps: &Steps, record: &[u8]) -> Result<Stat, StoreError> {
    let failed = |error| io_error(&folder.join(FILE), "write", error);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
    let Some(mut file) = folder.open_file(FILE, flags)? else {
        return Err(io_error(&folder.join(FILE), "open", rustix::io::Errno::NOENT));
    };
    atomic::give_mode(&file, 0o600)
        .map_err(|error| io_error(&folder.join(FILE), "change the mode of", error))?;
    // What a failed write left is no record, and none after it would be read.
    if file.metadata().map_err(failed)?.len() != steps.length() {
        file.set_len(steps.length()).map_err(failed)?;
    }
    file.write_all(record).map_err(failed)?;
    rustix::fs::fstat(&file).map_err(|error| failed(error.into()))
}

/// Whether a file was not written since.
fn is_same(before: &Stat, now: &Stat) -> bool {
    (before.st_dev, before.st_ino, before.st_size) == (now.st_dev, now.st_ino, now.st_size)
        && (before.st_ctime, before.st_ctime_nsec) == (now.st_ctime, now.st_ctime_nsec)
}

fn size_of(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
