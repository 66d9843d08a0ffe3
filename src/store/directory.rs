//! The state directory as a [`Store`]: all parts of it are one folder, and each has a file here.
//!
//! Contract: see [`super`]. Opened for reading, it never writes and never locks, works on a
//! read-only file system, and finds nothing where there is no directory.

mod cache;
mod documents;
mod host_record;
mod live_files;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use zeroize::Zeroizing;

use super::folder::{Folder, Guard, TEMP_PREFIX, io_error, text};
use super::layout::{self, Place};
use super::lock::{self, KernelLock};
use super::opened::Opened;
use super::opening::{self, OpenMode};
use super::{atomic, in_flight, secret};
use crate::resource::NamespacedName;
use crate::store::documents::{Stored, Version};
use crate::store::error::StoreError;
use crate::store::key::{Key, Lock};
use crate::store::parts::Store;

/// An open state directory.
#[derive(Debug)]
pub struct StateDirectory {
    path: PathBuf,
    mode: OpenMode,
    /// `None` when there is no directory, which only a reader accepts.
    root: Option<Folder>,
    /// What a reader opened.
    opened: Opened,
    /// The folders known to be durable.
    durable: Mutex<HashSet<PathBuf>>,
    /// The open folders that many certificates share.
    shared: Mutex<HashMap<PathBuf, Folder>>,
    /// The Secrets with sets none of which was live: nothing of those is removed.
    lost: Mutex<HashSet<NamespacedName>>,
    /// The steps of the certificates that are being worked on.
    steps: in_flight::Open,
}

impl StateDirectory {
    /// Opens a state directory.
    ///
    /// For writing, the tree is made with mode 0700, must belong to the calling user, be closed to
    /// all others, be writable and have 1 MiB of space. For reading, root may open any user's. No
    /// other user may be able to change the way to it.
    pub fn open(path: &Path, mode: OpenMode) -> Result<Self, StoreError> {
        Self::of(path, mode, opening::open_state(path, mode)?)
    }

    fn of(path: &Path, mode: OpenMode, root: Option<Folder>) -> Result<Self, StoreError> {
        let us = rustix::process::geteuid().as_raw();
        if let Some(root) = &root {
            let may = root.owner() == us || (mode == OpenMode::ReadOnly && us == 0);
            if !may {
                return Err(StoreError::ForeignOwner {
                    path: text(path),
                    owner: root.owner(),
                    us,
                    state: None,
                });
            }
        }
        let state = Self {
            path: path.to_owned(),
            mode,
            root,
            opened: Opened::default(),
            durable: Mutex::default(),
            shared: Mutex::default(),
            lost: Mutex::default(),
            steps: in_flight::Open::default(),
        };
        if mode == OpenMode::ReadWrite {
            state.prepare()?;
        }
        Ok(state)
    }

    /// The folder, where there is one.
    pub(super) fn root(&self) -> Option<&Folder> {
        self.root.as_ref()
    }

    /// The path of the state.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a run can write here, as far as owner, mode and space show it; changes nothing.
    pub(super) fn check_ready(&self) -> Result<(), StoreError> {
        let Some(root) = &self.root else { return Ok(()) };
        let (owner, us) = (root.owner(), rustix::process::geteuid().as_raw());
        if owner != us {
            return Err(StoreError::ForeignOwner {
                path: text(&self.path),
                owner,
                us,
                state: None,
            });
        }
        let mode = root.mode()?;
        if mode & 0o077 != 0 {
            return Err(StoreError::TooOpen { path: text(&self.path), mode, state: None });
        }
        opening::check_writable(root)?;
        opening::check_space(root)
    }

    fn prepare(&self) -> Result<(), StoreError> {
        let root = self.writable_root()?;
        self.check_ready()?;
        let mut is_new = false;
        for name in TOPS {
            is_new |= root.make_child(name)?;
            if let Some(folder) = root.child(name)? {
                opening::check_writable(&folder)?;
                // Nothing is put into them before their names are durable.
                is_new |= name == layout::CERTIFICATES && folder.is_empty()?;
                self.durable().insert(folder.path().to_owned());
            }
        }
        if is_new {
            root.sync()?;
        }
        if let Err(error) = self.sweep_shared().and_then(|()| self.sweep_tokens()) {
            tracing::warn!(%error, "cannot remove the files of an interrupted run");
        }
        Ok(())
    }

    /// What a reader opened; `None` for a writer.
    pub(super) fn opened(&self) -> Option<&Opened> {
        (self.mode == OpenMode::ReadOnly).then_some(&self.opened)
    }

    pub(super) fn open_steps(&self) -> &in_flight::Open {
        &self.steps
    }

    fn durable(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder with this path; `None` when there is none.
    pub(super) fn find(&self, names: &[String]) -> Result<Option<Folder>, StoreError> {
        let Some(root) = &self.root else { return Ok(None) };
        if let Some(opened) = self.opened() {
            return opened.find(root, names);
        }
        let mut folder = root.clone();
        for depth in 0..names.len() {
            match self.child(&folder, names, depth, Folder::child)? {
                Some(child) => folder = child,
                None => return Ok(None),
            }
        }
        Ok(Some(folder))
    }

    /// The folder at this depth of a path, by `open` if it is not open yet. The folders above those of
    /// certificates and Secrets stay open: certctl never removes them, and each document of each
    /// certificate is reached through them.
    fn child(
        &self,
        parent: &Folder,
        names: &[String],
        depth: usize,
        open: impl FnOnce(&Folder, &str) -> Result<Option<Folder>, StoreError>,
    ) -> Result<Option<Folder>, StoreError> {
        let (Some(top), Some(name)) = (names.first(), names.get(depth)) else { return Ok(None) };
        let has_namespaces = [layout::CERTIFICATES, layout::SECRETS].contains(&top.as_str());
        if depth > usize::from(has_namespaces) {
            return open(parent, name);
        }
        let path = parent.join(name);
        let known = self.shared().get(&path).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let found = open(parent, name)?;
        if let Some(found) = &found {
            let mut shared = self.shared();
            if shared.len() >= MAX_SHARED {
                shared.clear();
            }
            shared.insert(path, found.clone());
        }
        Ok(found)
    }

    fn shared(&self) -> MutexGuard<'_, HashMap<PathBuf, Folder>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder with this path, created durably if it is missing.
    pub(super) fn make(&self, names: &[String]) -> Result<Folder, StoreError> {
        self.make_synced(names, names.len())
    }

    /// The same, but that the name of the last folder need not be durable.
    pub(super) fn make_unsynced(&self, names: &[String]) -> Result<Folder, StoreError> {
        self.make_synced(names, names.len().saturating_sub(1))
    }

    /// The folder of a lock: only living processes need it.
    fn make_fleeting(&self, names: &[String]) -> Result<Folder, StoreError> {
        self.make_synced(names, 0)
    }

    /// The folder with this path. The names of the first `synced` of the folders are durable.
    fn make_synced(&self, names: &[String], synced: usize) -> Result<Folder, StoreError> {
        let mut folder = self.writable_root()?.clone();
        for (depth, name) in names.iter().enumerate() {
            let mut is_new = false;
            let made = self.child(&folder, names, depth, |parent, name| {
                is_new = parent.make_child(name)?;
                parent.child(name)
            });
            let Some(child) = made? else {
                return Err(io_error(&folder.join(name), "open", Errno::NOENT));
            };
            if depth < synced && !self.durable().contains(child.path()) {
                // Also when it was there already: the run that made it may have been killed before
                // the name was durable. One that has been used had a durable name before that.
                let is_certificate =
                    depth == 2 && names.first().is_some_and(|top| top == layout::CERTIFICATES);
                let is_used = if is_certificate {
                    child.stat(layout::STATUS_FILE)?.is_some()
                } else {
                    !is_new && !child.is_empty()?
                };
                if !is_used {
                    folder.sync()?;
                }
                self.durable().insert(child.path().to_owned());
            }
            folder = child;
        }
        Ok(folder)
    }

    fn writable_root(&self) -> Result<&Folder, StoreError> {
        match (self.mode, &self.root) {
            (OpenMode::ReadWrite, Some(root)) => Ok(root),
            (OpenMode::ReadOnly, _) => {
                let why = io::Error::new(
                    io::ErrorKind::ReadOnlyFilesystem,
                    "the state was opened for reading only",
                );
                Err(io_error(&self.path, "write", why))
            }
            (OpenMode::ReadWrite, None) => Err(io_error(&self.path, "open", Errno::NOENT)),
        }
    }

    pub(super) fn read(&self, place: &Place) -> Result<Option<Stored>, StoreError> {
        let stored = match self.mode {
            OpenMode::ReadOnly => Stored::shown,
            OpenMode::ReadWrite => Stored::of,
        };
        Ok(self.bytes(place)?.map(stored))
    }

    /// The bytes of a document's own file.
    pub(super) fn bytes(&self, place: &Place) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let Some(folder) = self.find(&place.folders)? else { return Ok(None) };
        folder.read(&place.file, Guard::Document)
    }

    pub(super) fn create_file(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        let place = layout::document(key)?;
        let folder = self.make(&place.folders)?;
        let create = if is_fleeting(key) { atomic::create_fleeting } else { atomic::create };
        let is_new = create(&folder, &place.file, bytes)?;
        if is_new { Ok(Version::of(bytes)) } else { Err(self.conflict(&place)) }
    }

    /// Between the comparison and the write, the lock keeps others out.
    pub(super) fn replace_file(
        &self,
        key: &Key,
        bytes: &[u8],
        seen: &Version,
    ) -> Result<Version, StoreError> {
        let place = layout::document(key)?;
        let folder = self.make(&place.folders)?;
        let found = folder.read(&place.file, Guard::Document)?;
        if found.is_none_or(|found| Version::of(&found) != *seen) {
            return Err(self.conflict(&place));
        }
        let replace = if is_fleeting(key) { atomic::replace_fleeting } else { atomic::replace };
        replace(&folder, &place.file, bytes)?;
        Ok(Version::of(bytes))
    }

    pub(super) fn remove_file(&self, key: &Key) -> Result<(), StoreError> {
        let place = layout::document(key)?;
        self.writable_root()?;
        if let Some(folder) = self.find(&place.folders)?
            && folder.remove(&place.file)?
        {
            folder.sync()?;
        }
        Ok(())
    }

    /// Whether this Secret had sets and none of them live.
    fn has_lost(&self, secret: &NamespacedName, folder: &Folder) -> Result<bool, StoreError> {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if secret::has_lost_live(folder)? {
            lost.insert(secret.clone());
        }
        Ok(lost.contains(secret))
    }

    pub(super) fn conflict(&self, place: &Place) -> StoreError {
        StoreError::Conflict { path: text(&self.path.join(place.relative_path())) }
    }

    pub(super) fn remove_folder(
        &self,
        mut names: Vec<String>,
        last: Option<&str>,
    ) -> Result<(), StoreError> {
        self.writable_root()?;
        let Some(folder) = self.find(&names)? else { return Ok(()) };
        if let Some(last) = last {
            for name in folder.entries()? {
                if name != last {
                    folder.remove_any(&name)?;
                }
            }
            folder.sync()?;
        }
        let Some(name) = names.pop() else { return Ok(()) };
        let Some(parent) = self.find(&names)? else { return Ok(()) };
        self.durable().clear();
        self.shared().clear();
        parent.remove_tree(&name)?;
        parent.sync()
    }

    /// Removes what killed runs left in the folders that a lock guards.
    fn sweep(&self, lock: &Lock) -> Result<(), StoreError> {
        guarded_by(lock)?.iter().try_for_each(|names| self.sweep_folder(names))
    }

    fn sweep_folder(&self, names: &[String]) -> Result<(), StoreError> {
        self.find(names)?.map_or(Ok(()), |folder| folder.sweep())
    }

    fn has_temporaries(&self, names: &[String]) -> Result<bool, StoreError> {
        let Some(folder) = self.find(names)? else { return Ok(false) };
        Ok(folder.entries()?.iter().any(|name| name.starts_with(TEMP_PREFIX)))
    }

    /// Removes what killed runs left beside the certificates. What another process works on stays.
    fn sweep_shared(&self) -> Result<(), StoreError> {
        let accounts = self.folders(&[layout::ACCOUNTS.to_owned()])?.into_iter();
        for lock in accounts.map(Lock::Account).chain([Lock::Scheduler]) {
            // A folder of another name is not ours.
            let Ok(folders) = guarded_by(&lock) else { continue };
            for names in folders {
                if self.has_temporaries(&names)?
                    && let Some(_lease) = self.try_lock(&layout::lock(&lock)?)?
                {
                    self.sweep_folder(&names)?;
                }
            }
        }
        self.sweep_queue()?;
        self.sweep_revoked()?;
        let Some(locks) = self.find(&[layout::LOCKS.to_owned()])? else { return Ok(()) };
        lock::remove_abandoned(&locks, &[layout::ORDER_LOCK, layout::HOOK_LOCK])
    }

    /// Removes what is beside the queue: it concerned processes that are gone.
    fn sweep_queue(&self) -> Result<(), StoreError> {
        let Some(root) = self.find(&[])? else { return Ok(()) };
        let is_past = |name: &String| {
            let rest = name.strip_prefix(layout::SCHEDULER_FILE);
            rest.is_some_and(|rest| rest == ".next" || rest.starts_with(".corrupt-"))
        };
        let names: Vec<String> = root.entries()?.into_iter().filter(is_past).collect();
        if !names.is_empty()
            && let Some(_lease) = self.try_lock(&layout::lock(&Lock::Scheduler)?)?
        {
            names.iter().try_for_each(|name| root.remove(name).map(drop))?;
        }
        Ok(())
    }

    /// Removes the temporary files of killed runs beside what was revoked, which no lock guards: the
    /// old ones.
    fn sweep_revoked(&self) -> Result<(), StoreError> {
        let names = [layout::REVOKED.to_owned()];
        if !self.has_temporaries(&names)? {
            return Ok(());
        }
        let Some(folder) = self.find(&names)? else { return Ok(()) };
        // A lock that was just taken has the time of now.
        let place = layout::lock(&Lock::Scheduler)?;
        let Some(_lease) = self.try_lock(&place)? else { return Ok(()) };
        let locks = self.find(&place.folders)?;
        let now = locks.map_or(Ok(None), |locks| locks.stat(&place.file))?;
        now.map_or(Ok(()), |now| atomic::sweep_old(&folder, &now))
    }

    fn try_lock(&self, place: &Place) -> Result<Option<KernelLock>, StoreError> {
        lock::try_take(&self.make_fleeting(&place.folders)?, &place.file)
    }
}

/// How many folders stay open: few have more namespaces, and open files are few in places.
const MAX_SHARED: usize = 32;

/// The folders of each state, in the order in which they are made.
const TOPS: [&str; 5] =
    [layout::CERTIFICATES, layout::ACCOUNTS, layout::SECRETS, layout::HTTP01, layout::LOCKS];

/// The folders that are written under a lock.
fn guarded_by(lock: &Lock) -> Result<Vec<Vec<String>>, StoreError> {
    Ok(match lock {
        Lock::Certificate(name) => folders_of(name)?.into(),
        Lock::Account(digest) => vec![layout::account(digest)?],
        // What all certificates share; the queue has one temporary file, which its next writer
        // replaces.
        Lock::Scheduler => vec![Vec::new()],
        Lock::Run(_) | Lock::Service | Lock::Order(_) => Vec::new(),
    })
}

/// The folders of a certificate.
fn folders_of(name: &NamespacedName) -> Result<[Vec<String>; 3], StoreError> {
    Ok([layout::certificate(name)?, layout::requests(name)?, layout::orders(name)?])
}

impl Store for StateDirectory {
    type Documents = Self;
    type LiveFiles = Self;
    type HostRecord = Self;
    type Cache = Self;

    fn documents(&self) -> &Self {
        self
    }

    fn live_files(&self) -> &Self {
        self
    }

    fn host_record(&self) -> &Self {
        self
    }

    fn cache(&self) -> &Self {
        self
    }

    /// By the same handle; a state that is missing is made.
    fn make_writable(&mut self) -> Result<(), StoreError> {
        if self.mode == OpenMode::ReadOnly {
            let us = rustix::process::geteuid().as_raw();
            let ours = self.root.clone().filter(|root| root.owner() == us);
            *self = match ours {
                Some(root) => Self::of(&self.path, OpenMode::ReadWrite, Some(root))?,
                None => Self::open(&self.path, OpenMode::ReadWrite)?,
            };
        }
        Ok(())
    }
}

/// Whether a document is obsolete once the machine has been restarted.
fn is_fleeting(key: &Key) -> bool {
    matches!(key, Key::Scheduler)
}
