//! Outputs: the live files in an operator's folder, with the same layout as in the state.
//!
//! Contract: owner, group and mode are set before there is content; what goes live does so in one
//! rename of `..data`. Nothing is followed inside the folder, and no link on the way to it;
//! what is written and removed is so through the handle of the folder that was checked
//! ([`folder`]). A file that an ACL would open to other users is not written. What certctl did not
//! write is never replaced: a stable name that is not our link, or a `..data` that points
//! elsewhere, is an error. The previous set stays until the next one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::{Errno, retry_on_intr};
use thiserror::Error;
use zeroize::Zeroizing;

use super::acl::{self, Acl};
use super::entries;
use super::removal;
use super::set::{DATA, REVISION_PREFIX, stable_target};
use crate::host::rights;
use crate::resource::{Fix, Permit, Right, SecretFiles, SecretMetadata};
use crate::trust::{Bounds, TrustError, is_fresh};

mod folder;

/// The target of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The folder: absolute. Its parent must exist.
    pub folder: PathBuf,
    /// The user that the files are to belong to; this process's when `None`.
    pub owner: Option<u32>,
    /// Their group; this process's when `None`.
    pub group: Option<u32>,
    /// The permission bits of the files; others get none of them, and none lets a file be executed.
    pub mode: u32,
    /// Where the folder may be.
    pub bounds: Bounds,
}

/// Why an output was not written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// A system call failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A file of another owner is in the way.
    #[error("{} is not certctl's ({found}); it is not replaced", path.display())]
    Foreign { path: PathBuf, found: Occupant },
    /// The path of the folder contains a link.
    #[error("{} is a symbolic link; outputs are written to real folders only", path.display())]
    Link { path: PathBuf },
    /// Another user can replace the folder, or it must not be used.
    #[error(transparent)]
    Trust(TrustError),
    /// New files inherit an ACL with other readers.
    #[error(
        "{} has a default ACL: the users and groups in it could read the private key",
        path.display()
    )]
    DefaultAcl {
        /// The folder.
        path: PathBuf,
    },
    /// A new file has other readers than its mode says.
    #[error("{} has an ACL: the users and groups in it could read the private key", path.display())]
    AccessAcl {
        /// The file, which is removed again.
        path: PathBuf,
    },
    /// The existing certificate must stay.
    #[error("{}: {reason}", path.display())]
    Newer { path: PathBuf, reason: String },
}

/// The names of files that servers do not find in the folder of an output as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostFiles {
    pub missing: Vec<String>,
    pub damaged: Vec<String>,
    /// Something else is in the place of the link.
    pub replaced: Vec<String>,
    /// Other users may read or write them, which no setting allows.
    pub open: Vec<String>,
}

/// What is in the place of a link or folder of certctl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Occupant {
    #[error("a link to something else")]
    Link,
    #[error("a file or folder")]
    Entry,
    /// Another process was quicker.
    #[error("another folder than the one just made")]
    OtherFolder,
}

impl From<TrustError> for OutputError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Io { path, source } => Self::Io { action: "open", path, source },
            TrustError::Link { path } => Self::Link { path },
            TrustError::Owner { .. }
            | TrustError::Writable { .. }
            | TrustError::Open { .. }
            | TrustError::Reserved { .. }
            | TrustError::Outside { .. } => Self::Trust(error),
        }
    }
}

impl OutputError {
    /// What to do about it.
    pub fn fix(&self) -> Option<Fix> {
        let permit = |path: &Path, right| Some(Fix::Permit(Permit::new(path, right)));
        match self {
            Self::Trust(error) => rights::trusted(error),
            Self::DefaultAcl { path } => permit(path, Right::WithoutDefaultAcl),
            Self::Io { action: "open", path, source } if source.kind() == ErrorKind::NotFound => {
                permit(path, Right::Folders)
            }
            Self::Foreign { path, found: Occupant::Link | Occupant::Entry } => {
                permit(path, Right::Away { to: free_beside(path) })
            }
            Self::Io { .. }
            | Self::Foreign { .. }
            | Self::Link { .. }
            | Self::AccessAcl { .. }
            | Self::Newer { .. } => None,
        }
    }
}

/// A name beside an entry that nothing has.
fn free_beside(path: &Path) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 0 { ".old".to_owned() } else { format!(".old-{number}") });
        PathBuf::from(name)
    };
    let mut names = (0..).map(numbered);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default()
}

impl Output {
    /// Publishes the files there. `may_replace` receives the existing `tls.crt`, and returns why
    /// it must stay, if so.
    pub fn write(
        &self,
        revision: u32,
        files: &SecretFiles,
        may_replace: &dyn Fn(&[u8]) -> Result<(), String>,
    ) -> Result<(), OutputError> {
        let folder = self.open()?;
        let names: Vec<&String> =
            files.0.keys().filter(|name| *name != SecretMetadata::FILE).collect();
        for name in &names {
            self.check_name(&folder, name)?;
        }
        let live = self.live(&folder)?;
        if let Some(live) = &live
            && let Ok(Some(there)) = Self::bytes(&folder, live, "tls.crt")
        {
            may_replace(&there).map_err(|reason| OutputError::Newer {
                path: self.folder.join("tls.crt"),
                reason,
            })?;
        }
        self.sweep(&folder)?;
        let fresh = self.make_set(&folder, revision, files, &names)?;
        for name in &names {
            self.link(&folder, &stable_target(name), name)?;
        }
        let sync =
            || retry_on_intr(|| rustix::fs::fsync(&folder)).map_err(|e| self.failed("sync", "", e));
        // The name of the set before the link to it.
        sync()?;
        self.link(&folder, &fresh, DATA)?;
        sync()?;
        // Files that others may read do not outlive the setting that allowed it.
        let before = live.filter(|before| Self::are_guarded_alike(&folder, before, &fresh));
        self.prune(&folder, &fresh, before.as_deref(), files)
    }

    /// The files that are live in the folder of an output, as far as they can be read.
    pub fn files(folder: &Path) -> Option<SecretFiles> {
        let folder = retry_on_intr(|| rustix::fs::open(folder, FOLDER, Mode::empty())).ok()?;
        let set =
            retry_on_intr(|| rustix::fs::openat(&folder, DATA, FOLDER, Mode::empty())).ok()?;
        let mut files = BTreeMap::new();
        for name in entries::names(&set).ok()? {
            let name = name.to_str().ok()?.to_owned();
            if !name.starts_with('.')
                && let Ok(Some(bytes)) = Self::bytes(&folder, DATA, &name)
            {
                files.insert(name, bytes);
            }
        }
        Some(SecretFiles(files))
    }

    /// The sets in the folder of an output, live or not, each with its `tls.crt`.
    pub fn sets(folder: &Path) -> Vec<(PathBuf, Option<Zeroizing<Vec<u8>>>)> {
        let Ok(handle) = retry_on_intr(|| rustix::fs::open(folder, FOLDER, Mode::empty())) else {
            return Vec::new();
        };
        let Ok(names) = entries::names(&handle) else { return Vec::new() };
        let mut sets = Vec::new();
        for name in names {
            if let Ok(name) = name.to_str()
                && name.starts_with(REVISION_PREFIX)
            {
                let certificate = Self::bytes(&handle, name, "tls.crt").ok().flatten();
                sets.push((folder.join(name), certificate));
            }
        }
        sets.sort_by(|(one, _), (other, _)| one.cmp(other));
        sets
    }

    /// Which of these files servers do not find in the folder of an output as they were written.
    /// What cannot be looked at is not judged.
    pub fn lost(folder: &Path, files: &SecretFiles) -> LostFiles {
        let mut lost = LostFiles::default();
        let folder = match retry_on_intr(|| rustix::fs::open(folder, FOLDER, Mode::empty())) {
            Ok(folder) => Some(folder),
            Err(Errno::NOENT) => None,
            Err(_) => return lost,
        };
        for (name, bytes) in &files.0 {
            if name == SecretMetadata::FILE {
                continue;
            }
            let is_linked = |folder: &OwnedFd| {
                retry_on_intr(|| rustix::fs::readlinkat(folder, name, Vec::new()))
                    .is_ok_and(|target| target.to_bytes() == stable_target(name).as_bytes())
            };
            let is_there = |folder: &&OwnedFd| {
                retry_on_intr(|| rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW))
                    .is_ok()
            };
            let folder = folder.as_ref().filter(is_there);
            match folder.map(|folder| (is_linked(folder), Self::bytes(folder, DATA, name))) {
                None | Some((true, Ok(None))) => lost.missing.push(name.clone()),
                Some((false, _)) => lost.replaced.push(name.clone()),
                Some((true, Ok(Some(there)))) if there != *bytes => lost.damaged.push(name.clone()),
                Some((true, Ok(Some(_)))) if folder.is_some_and(|it| Self::is_open(it, name)) => {
                    lost.open.push(name.clone());
                }
                Some((true, Ok(Some(_)) | Err(_))) => {}
            }
        }
        lost
    }

    /// Whether other users may read or write a live file.
    fn is_open(folder: &OwnedFd, name: &str) -> bool {
        let set = rustix::fs::openat(folder, DATA, FOLDER, Mode::empty());
        let found = set.and_then(|set| rustix::fs::statat(&set, name, AtFlags::SYMLINK_NOFOLLOW));
        found.is_ok_and(|found| found.st_mode & 0o007 != 0)
    }

    /// A file of a set, or of the live one through its link; `None` when there is none.
    fn bytes(folder: &OwnedFd, set: &str, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let open = || {
            let set = retry_on_intr(|| rustix::fs::openat(folder, set, FOLDER, Mode::empty()))?;
            retry_on_intr(|| rustix::fs::openat(&set, name, flags, Mode::empty()))
        };
        let file = match open() {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(error),
        };
        let size = usize::try_from(retry_on_intr(|| rustix::fs::fstat(&file))?.st_size)
            .unwrap_or_default();
        // Allocated at once: a vector that grows would leave copies of keys behind.
        let capacity = size.saturating_add(1).min(MAX_FILE);
        let mut bytes = Zeroizing::new(Vec::with_capacity(capacity));
        let limit = u64::try_from(capacity).unwrap_or_default();
        file.take(limit).read_to_end(&mut bytes).map_err(|_| Errno::IO)?;
        Ok(Some(bytes))
    }

    /// A stable name is our link, or nothing.
    fn check_name(&self, folder: &OwnedFd, name: &str) -> Result<(), OutputError> {
        match retry_on_intr(|| rustix::fs::readlinkat(folder, name, Vec::new())) {
            Ok(target) if target.to_bytes() == stable_target(name).as_bytes() => Ok(()),
            Err(Errno::NOENT) => Ok(()),
            Ok(_) => Err(self.foreign(name, Occupant::Link)),
            Err(Errno::INVAL) => Err(self.foreign(name, Occupant::Entry)),
            Err(error) => Err(self.failed("read", name, error)),
        }
    }

    /// The set that is live there.
    fn live(&self, folder: &OwnedFd) -> Result<Option<String>, OutputError> {
        match retry_on_intr(|| rustix::fs::readlinkat(folder, DATA, Vec::new())) {
            Ok(target) => {
                let target = target.to_string_lossy().into_owned();
                if target.starts_with(REVISION_PREFIX) && !target.contains('/') {
                    Ok(Some(target))
                } else {
                    Err(self.foreign(DATA, Occupant::Link))
                }
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::INVAL) => Err(self.foreign(DATA, Occupant::Entry)),
            Err(error) => Err(self.failed("read", DATA, error)),
        }
    }

    /// Whether the files of two sets have the same owner, group and mode, and no ACL.
    fn are_guarded_alike(folder: &OwnedFd, one: &str, other: &str) -> bool {
        let of = |set: &str| {
            let set = retry_on_intr(|| {
                rustix::fs::openat(folder, set, FOLDER | OFlags::NOFOLLOW, Mode::empty())
            })?;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let key = retry_on_intr(|| rustix::fs::openat(&set, "tls.key", flags, Mode::empty()))?;
            let stat = retry_on_intr(|| rustix::fs::fstat(&key))?;
            let has_acl = acl::has(&key, Acl::Access)?;
            Ok::<_, Errno>((stat.st_mode, stat.st_uid, stat.st_gid, has_acl))
        };
        of(one).is_ok_and(|one| !one.3 && of(other) == Ok(one))
    }

    /// Makes a complete set that is not live yet. What cannot be completed is removed.
    fn make_set(
        &self,
        folder: &OwnedFd,
        revision: u32,
        files: &SecretFiles,
        names: &[&String],
    ) -> Result<String, OutputError> {
        let mut number = 0_u64;
        let fresh = loop {
            let name = format!("{REVISION_PREFIX}{revision}-{number}");
            match retry_on_intr(|| rustix::fs::mkdirat(folder, &name, Mode::RWXU)) {
                Ok(()) => break name,
                Err(Errno::EXIST) => number = number.saturating_add(1),
                Err(error) => return Err(self.failed("create", &name, error)),
            }
        };
        match self.fill(folder, &fresh, files, names) {
            Ok(()) => Ok(fresh),
            Err(error) => {
                // The first error is the one to report.
                if let Err(left) = removal::remove_tree(folder, &fresh) {
                    tracing::warn!("{} is left behind: {left}", self.folder.join(&fresh).display());
                }
                Err(error)
            }
        }
    }

    fn fill(
        &self,
        folder: &OwnedFd,
        fresh: &str,
        files: &SecretFiles,
        names: &[&String],
    ) -> Result<(), OutputError> {
        let set = retry_on_intr(|| {
            rustix::fs::openat(folder, fresh, FOLDER | OFlags::NOFOLLOW, Mode::empty())
        })
        .map_err(|e| self.failed("open", fresh, e))?;
        if !is_fresh(&set).map_err(|e| self.failed("read", fresh, e))? {
            return Err(self.foreign(fresh, Occupant::OtherFolder));
        }
        for name in names {
            let Some(bytes) = files.0.get(*name) else { continue };
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let path = format!("{fresh}/{name}");
            let file = retry_on_intr(|| {
                rustix::fs::openat(&set, name.as_str(), flags, Mode::RUSR | Mode::WUSR)
            })
            .map_err(|e| self.failed("create", &path, e))?;
            if acl::has(&file, Acl::Access).map_err(|e| self.failed("read the ACL of", &path, e))? {
                return Err(OutputError::AccessAcl { path: self.folder.join(path) });
            }
            self.give(&file, self.mode & 0o660, &path)?;
            let mut file = File::from(file);
            let written = file.write_all(bytes).and_then(|()| file.sync_all());
            written.map_err(|source| OutputError::Io {
                action: "write",
                path: self.folder.join(&path),
                source,
            })?;
        }
        // Every user who may read the files must be able to reach them.
        self.give(&set, 0o755, fresh)?;
        retry_on_intr(|| rustix::fs::fsync(&set)).map_err(|e| self.failed("sync", fresh, e))
    }

    fn give(&self, entry: &OwnedFd, mode: u32, name: &str) -> Result<(), OutputError> {
        let known =
            retry_on_intr(|| rustix::fs::fstat(entry)).map_err(|e| self.failed("read", name, e))?;
        let owner = self.owner.filter(|owner| *owner != known.st_uid).map(Uid::from_raw);
        // A folder may have passed the group on, which this process is not in.
        let group = self.group.filter(|group| *group != known.st_gid).map(Gid::from_raw);
        if owner.is_some() || group.is_some() {
            retry_on_intr(|| rustix::fs::fchown(entry, owner, group))
                .map_err(|e| self.failed("give away", name, e))?;
        }
        retry_on_intr(|| rustix::fs::fchmod(entry, Mode::from_raw_mode(mode)))
            .map_err(|e| self.failed("change the mode of", name, e))
    }

    /// Makes or moves a link in one rename.
    fn link(&self, folder: &OwnedFd, target: &str, name: &str) -> Result<(), OutputError> {
        let there = retry_on_intr(|| rustix::fs::readlinkat(folder, name, Vec::new()));
        if there.is_ok_and(|there| there.to_bytes() == target.as_bytes()) {
            return Ok(());
        }
        let temporary = format!("{TEMPORARY}{}-{name}", std::process::id());
        retry_on_intr(|| rustix::fs::symlinkat(target, folder, &temporary))
            .map_err(|e| self.failed("create", &temporary, e))?;
        retry_on_intr(|| rustix::fs::renameat(folder, &temporary, folder, name))
            .map_err(|e| self.failed("replace", name, e))
    }

    /// Removes the links that killed runs left half made. What follows makes that durable.
    fn sweep(&self, folder: &OwnedFd) -> Result<(), OutputError> {
        let failed = |error| self.failed("list", "", error);
        for name in entries::names(folder).map_err(failed)? {
            if let Ok(name) = name.to_str()
                && name.starts_with(TEMPORARY)
                && retry_on_intr(|| rustix::fs::readlinkat(folder, name, Vec::new())).is_ok()
            {
                retry_on_intr(|| rustix::fs::unlinkat(folder, name, AtFlags::empty()))
                    .map_err(|e| self.failed("remove", name, e))?;
            }
        }
        Ok(())
    }

    /// Removes certctl's obsolete files: older sets and links to removed files.
    fn prune(
        &self,
        folder: &OwnedFd,
        fresh: &str,
        before: Option<&str>,
        files: &SecretFiles,
    ) -> Result<(), OutputError> {
        let failed = |error| self.failed("list", "", error);
        for name in entries::names(folder).map_err(failed)? {
            let Ok(name) = name.to_str() else { continue };
            let is_old = name.starts_with(REVISION_PREFIX) && name != fresh && Some(name) != before;
            if is_old {
                removal::remove_tree(folder, name).map_err(|source| OutputError::Io {
                    action: "remove",
                    path: self.folder.join(name),
                    source,
                })?;
            } else if !files.0.contains_key(name)
                && retry_on_intr(|| rustix::fs::readlinkat(folder, name, Vec::new()))
                    .is_ok_and(|target| target.to_bytes() == stable_target(name).as_bytes())
            {
                retry_on_intr(|| rustix::fs::unlinkat(folder, name, AtFlags::empty()))
                    .map_err(|e| self.failed("remove", name, e))?;
            }
        }
        Ok(())
    }

    fn failed(&self, action: &'static str, name: &str, error: Errno) -> OutputError {
        OutputError::Io { action, path: self.folder.join(name), source: error.into() }
    }

    fn foreign(&self, name: &str, found: Occupant) -> OutputError {
        OutputError::Foreign { path: self.folder.join(name), found }
    }
}

/// How the temporary names of links begin.
const TEMPORARY: &str = ".certctl-";
/// The largest file that is read of an output, in bytes.
const MAX_FILE: usize = 1 << 20;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests;
