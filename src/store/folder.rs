//! A folder held open: its entries are reached by a single name through its handle.
//!
//! Contract: no symbolic link is followed, nothing blocks (a FIFO is refused, not waited for), and
//! every entry that is read belongs to the owner of the state. All calls run on the calling thread.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};
use zeroize::Zeroizing;

use super::entries;
use super::removal;
use crate::store::error::StoreError;

/// The largest file that is read or written, in bytes. An order with 100 challenges has about a
/// quarter of a megabyte.
pub(super) const MAX_BYTES: u64 = 4 << 20;

/// How temporary names begin.
pub(super) const TEMP_PREFIX: &str = ".tmp-";

/// An open folder; its clones share its handle.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    handle: Arc<Handle>,
    path: Arc<Path>,
    /// The user that all entries must belong to.
    owner: u32,
    /// The path of the state.
    top: Arc<Path>,
}

/// The handle of a folder.
#[derive(Debug)]
struct Handle {
    file: File,
    /// As it was opened.
    found: Stat,
    /// Whether it was listed: then it is not at its beginning any more.
    is_listed: AtomicBool,
}

/// What is checked of a file before its content is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// Only the owner may read it, and it has one name.
    Document,
    /// Only the owner may read it; a server's chroot may hold a second name of it.
    Secret,
    /// All users may read it.
    Public,
}

impl Folder {
    /// Opens a folder by path, following links; `None` when there is none.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        match retry_on_intr(|| rustix::fs::open(path, folder_flags(), Mode::empty())) {
            Ok(handle) => Self::of(File::from(handle), path.to_owned(), None).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR) => Err(not_a_folder(path)),
            Err(error) => Err(io_error(path, "open", error)),
        }
    }

    /// Opens a folder in this one; `None` when there is none.
    pub(super) fn child(&self, name: &str) -> Result<Option<Self>, StoreError> {
        self.open_child(name, folder_flags() | OFlags::NOFOLLOW)
    }

    /// Opens a folder in this one, through a symbolic link if it is one.
    pub(super) fn linked_child(&self, name: &str) -> Result<Option<Self>, StoreError> {
        self.open_child(name, folder_flags())
    }

    fn open_child(&self, name: &str, flags: OFlags) -> Result<Option<Self>, StoreError> {
        let path = self.join(name);
        match retry_on_intr(|| rustix::fs::openat(self, name, flags, Mode::empty())) {
            Ok(handle) => Self::of(File::from(handle), path, Some(self)).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(not_a_folder(&path)),
            Err(error) => Err(io_error(&path, "open", error)),
        }
    }

    /// Makes a folder of mode 0700 in this one; `false` when there is one already.
    pub(super) fn make_child(&self, name: &str) -> Result<bool, StoreError> {
        match retry_on_intr(|| rustix::fs::mkdirat(self, name, Mode::RWXU)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(false),
            Err(error) => return Err(io_error(&self.join(name), "create", error)),
        }
        // The umask can only have removed bits; they are restored. This folder is ours, and only
        // this user can write to it, so what has the name is what was made.
        let stat = self.stat(name)?.ok_or_else(|| io_error(&self.join(name), "read", Errno::NOENT));
        if Mode::from_raw_mode(stat?.st_mode) != Mode::RWXU {
            retry_on_intr(|| rustix::fs::chmodat(self, name, Mode::RWXU, AtFlags::empty()))
                .map_err(|error| io_error(&self.join(name), "change the mode of", error))?;
        }
        Ok(true)
    }

    /// An open folder, which must have the owner of the one above it if that is given.
    pub(super) fn of(
        handle: File,
        path: PathBuf,
        above: Option<&Self>,
    ) -> Result<Self, StoreError> {
        let found = retry_on_intr(|| rustix::fs::fstat(&handle))
            .map_err(|error| io_error(&path, "read", error))?;
        if let Some(above) = above.filter(|above| above.owner != found.st_uid) {
            return Err(above.foreign(&path, found.st_uid));
        }
        let path: Arc<Path> = path.into();
        let top = above.map_or_else(|| path.clone(), |above| above.top.clone());
        let owner = found.st_uid;
        let handle = Handle { file: handle, found, is_listed: AtomicBool::new(false) };
        Ok(Self { handle: Arc::new(handle), path, owner, top })
    }

    /// The error of an entry that belongs to another user.
    pub(super) fn foreign(&self, path: &Path, owner: u32) -> StoreError {
        let state = Some(text(&self.top));
        StoreError::ForeignOwner { path: text(path), owner, us: self.owner, state }
    }

    /// The error of an entry that others may read or write.
    pub(super) fn too_open(&self, path: &Path, mode: u32) -> StoreError {
        StoreError::TooOpen { path: text(path), mode, state: Some(text(&self.top)) }
    }

    /// Reads a file; `None` when there is none.
    pub(super) fn read(
        &self,
        name: &str,
        guard: Guard,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let path = || text(&self.join(name));
        let Some((file, found)) = self.open_plain(name, OFlags::RDONLY)? else {
            return Ok(None);
        };
        if guard == Guard::Document && found.st_nlink > 1 {
            let found = "a file with a second hard link";
            return Err(StoreError::NotPlain { path: path(), found, expected: "a plain file" });
        }
        if guard != Guard::Public && found.st_mode & 0o077 != 0 {
            let failed = |error| io_error(&self.join(name), "read", error);
            let mode = file.metadata().map_err(failed)?.mode() & 0o7777;
            return Err(self.too_open(&self.join(name), mode));
        }
        // A negative size is none.
        let size = u64::try_from(found.st_size).unwrap_or_default();
        if size > MAX_BYTES {
            return Err(StoreError::TooLarge { path: path(), max: MAX_BYTES });
        }
        // Allocated at once: a vector that grows would leave copies of keys behind.
        let limit = usize::try_from(size.saturating_add(1)).unwrap_or_default();
        let mut bytes = Zeroizing::new(Vec::with_capacity(limit));
        // Documents are replaced, not written in place: what is appended later is for the next read.
        file.take(size)
            .read_to_end(&mut bytes)
            .map_err(|error| io_error(&self.join(name), "read", error))?;
        Ok(Some(bytes))
    }

    /// Opens a plain file that belongs to the owner; `None` when there is none. With
    /// `OFlags::CREATE`, it is made with mode 0600.
    pub(super) fn open_file(&self, name: &str, flags: OFlags) -> Result<Option<File>, StoreError> {
        Ok(self.open_plain(name, flags)?.map(|(file, _)| file))
    }

    /// The same, with what is known of it.
    pub(super) fn open_plain(
        &self,
        name: &str,
        flags: OFlags,
    ) -> Result<Option<(File, Stat)>, StoreError> {
        let path = || self.join(name);
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match retry_on_intr(|| {
            rustix::fs::openat(self, name, flags, Mode::RUSR | Mode::WUSR)
        }) {
            Ok(handle) => File::from(handle),
            Err(Errno::NOENT) => return Ok(None),
            Err(error @ (Errno::LOOP | Errno::NXIO | Errno::ISDIR)) => {
                let found = match error {
                    Errno::LOOP => "a symbolic link",
                    Errno::ISDIR => "a folder",
                    _ => "a special file",
                };
                let path = text(&path());
                return Err(StoreError::NotPlain { path, found, expected: "a plain file" });
            }
            Err(error) => return Err(io_error(&path(), "open", error)),
        };
        let stat = retry_on_intr(|| rustix::fs::fstat(&file))
            .map_err(|error| io_error(&path(), "read", error))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            let is_folder = kind == FileType::Directory;
            let found = if is_folder { "a folder" } else { "a special file" };
            let path = text(&path());
            return Err(StoreError::NotPlain { path, found, expected: "a plain file" });
        }
        if stat.st_uid != self.owner {
            return Err(self.foreign(&path(), stat.st_uid));
        }
        Ok(Some((file, stat)))
    }

    /// The metadata of an entry, of the link itself if it is one; `None` when there is none.
    pub(super) fn stat(&self, name: &str) -> Result<Option<Stat>, StoreError> {
        match retry_on_intr(|| rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(io_error(&self.join(name), "read", error)),
        }
    }

    /// What kind of entry it is; `None` when there is none.
    pub(super) fn kind(&self, name: &str) -> Result<Option<FileType>, StoreError> {
        Ok(self.stat(name)?.map(|stat| FileType::from_raw_mode(stat.st_mode)))
    }

    /// Where a symbolic link points; `None` when there is no link of that name.
    pub(super) fn link_target(&self, name: &str) -> Result<Option<String>, StoreError> {
        match retry_on_intr(|| rustix::fs::readlinkat(self, name, Vec::new())) {
            Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
            Err(Errno::NOENT | Errno::INVAL) => Ok(None),
            Err(error) => Err(io_error(&self.join(name), "read", error)),
        }
    }

    /// The names of the entries, sorted; names that are not UTF-8 are skipped.
    pub(super) fn entries(&self) -> Result<Vec<String>, StoreError> {
        self.entries_where(|_, _| Ok(true))
    }

    /// The names of the folders among them.
    pub(super) fn folders(&self) -> Result<Vec<String>, StoreError> {
        self.entries_where(|name, kind| {
            // Some file systems list names only.
            let kind = if kind == FileType::Unknown { self.kind(name)? } else { Some(kind) };
            Ok(kind == Some(FileType::Directory))
        })
    }

    fn entries_where(
        &self,
        is_meant: impl Fn(&str, FileType) -> Result<bool, StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        for (name, kind) in self.listed()? {
            if let Ok(name) = name.into_string()
                && is_meant(&name, kind)?
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Whether it has no entries.
    pub(super) fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.listed()?.is_empty())
    }

    /// All of its entries, through the handle that is there.
    fn listed(&self) -> Result<Vec<(CString, FileType)>, StoreError> {
        let listed = || {
            if self.handle.is_listed.swap(true, Ordering::Relaxed) {
                entries::rewind(self)?;
            }
            entries::entries(self)
        };
        listed().map_err(|error| io_error(&self.path, "list", error))
    }

    /// Removes a file or a link; `false` when there is none.
    pub(super) fn remove(&self, name: &str) -> Result<bool, StoreError> {
        match retry_on_intr(|| rustix::fs::unlinkat(self, name, AtFlags::empty())) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(io_error(&self.join(name), "remove", error)),
        }
    }

    /// Removes an entry, with all that is in it if it is a folder; one that is not there is no
    /// error.
    pub(super) fn remove_tree(&self, name: &str) -> Result<(), StoreError> {
        removal::remove_tree(self, name)
            .map_err(|error| io_error(&self.join(name), "remove", error))
    }

    /// Removes an entry of any kind.
    pub(super) fn remove_any(&self, name: &str) -> Result<(), StoreError> {
        if self.kind(name)? == Some(FileType::Directory) {
            self.remove_tree(name)
        } else {
            self.remove(name).map(drop)
        }
    }

    /// Removes the temporary files of killed runs. The caller holds the lock under which this
    /// folder is written, so no temporary of a live process can be among them.
    pub(super) fn sweep(&self) -> Result<(), StoreError> {
        for name in self.entries()? {
            if name.starts_with(TEMP_PREFIX) {
                self.remove_any(&name)?;
            }
        }
        Ok(())
    }

    /// Makes the names in this folder durable.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.handle.file.sync_all().map_err(|error| io_error(&self.path, "sync", error))
    }

    /// Whether both are the same folder on disk.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is(&other.handle.found)
    }

    /// Nothing else has its device and inode as long as it is open.
    fn is(&self, found: &Stat) -> bool {
        let Stat { st_dev, st_ino, .. } = self.handle.found;
        (st_dev, st_ino) == (found.st_dev, found.st_ino)
    }

    /// Whether the entry of this name, or what it links to, is this folder on disk.
    pub(super) fn has(&self, name: &str, child: &Self) -> Result<bool, StoreError> {
        match retry_on_intr(|| rustix::fs::statat(self, name, AtFlags::empty())) {
            Ok(there) => Ok(child.is(&there)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(io_error(&self.join(name), "read", error)),
        }
    }

    /// The user that all entries must belong to.
    pub(super) fn owner(&self) -> u32 {
        self.owner
    }

    /// The folder's permission bits.
    pub(super) fn mode(&self) -> Result<u32, StoreError> {
        let metadata = self.handle.file.metadata().map_err(|e| io_error(&self.path, "read", e))?;
        Ok(metadata.mode() & 0o7777)
    }

    /// The metadata of the folder itself.
    pub(super) fn facts(&self) -> Result<Stat, StoreError> {
        retry_on_intr(|| rustix::fs::fstat(self)).map_err(|e| io_error(&self.path, "read", e))
    }

    /// The folder's path, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of an entry, for messages.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.file.as_fd()
    }
}

/// An operating system's error with its path and the operation.
pub(super) fn io_error(
    path: &Path,
    action: &'static str,
    source: impl Into<io::Error>,
) -> StoreError {
    StoreError::Io { path: text(path), action, source: source.into() }
}

/// A path in a message.
pub(super) fn text(path: &Path) -> String {
    path.display().to_string()
}

pub(super) fn not_a_folder(path: &Path) -> StoreError {
    let path = text(path);
    StoreError::NotPlain { path, found: "a file or a symbolic link", expected: "a folder" }
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_listed_as_often_as_it_is_asked_for_and_whole() {
        let scratch = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..1000).map(|number| format!("name-{number:04}")).collect();
        for name in &names {
            fs::create_dir(scratch.path().join(name)).unwrap();
        }
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        for _ in 0..2 {
            assert_eq!(folder.entries().unwrap(), names);
            assert_eq!(folder.folders().unwrap(), names);
        }
    }

    #[test]
    fn an_entry_is_this_folder_or_another() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        for name in ["a", "b"] {
            folder.make_child(name).unwrap();
        }
        symlink("a", scratch.path().join("link")).unwrap();
        let child = folder.child("a").unwrap().unwrap();
        let found = ["a", "b", "link", "none"].map(|name| folder.has(name, &child).unwrap());
        assert_eq!(found, [true, false, true, false]);
    }

    #[test]
    fn what_stands_in_the_place_of_the_open_folder_is_not_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let place = |below: &str| scratch.path().join(below);
        fs::create_dir_all(place("victim/..revision-1-0")).unwrap();
        fs::create_dir_all(place("here/..revision-1-0")).unwrap();
        let folder = Folder::open(&place("here")).unwrap().unwrap();
        fs::rename(place("here"), place("moved")).unwrap();
        symlink(place("victim"), place("here")).unwrap();
        folder.remove_any("..revision-1-0").unwrap();
        assert!(place("victim/..revision-1-0").exists());
        assert!(!place("moved/..revision-1-0").exists());
    }
}
