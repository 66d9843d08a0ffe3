//! Checks and creates a state directory before anything is written, and before any network traffic.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, FileType, Mode};
use rustix::io::{Errno, retry_on_intr};

use super::folder::{Folder, Guard, io_error, not_a_folder};
use super::set::guard;
use crate::store::error::StoreError;
use crate::trust::{TrustError, Trusted, Walk, owner_of};

/// What a state directory is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Nothing is written, nothing is locked.
    ReadOnly,
    /// The tree is made when it is missing.
    ReadWrite,
}

/// The free space required for a run, in bytes: a full disk must not cost an order.
const LEAST_SPACE: u64 = 1 << 20;
/// What an issuance writes, in bytes: some twenty files and folders of a block each, and both sets.
const SPACE_EACH: u64 = 128 << 10;
/// What must be left beside that.
const SPACE_LEFT: u64 = 256 << 10;

/// Opens the folder of a state; `None` when there is none and nothing is to be made.
///
/// Only root and this user may be able to change the way to it; as root and for reading, the owner
/// of the state too. The folder itself is judged by the caller.
pub(super) fn open_state(path: &Path, mode: OpenMode) -> Result<Option<Folder>, StoreError> {
    // An empty path stands for an empty state.
    if mode == OpenMode::ReadOnly && path.as_os_str().is_empty() {
        return Ok(None);
    }
    let opened = match mode {
        OpenMode::ReadWrite => Walk::trusting_us().up_to_the_end().made_folder(path, Mode::RWXU),
        OpenMode::ReadOnly => match owner_of(path) {
            Ok(owner) => {
                let us = Trusted::of_process();
                let trusted = if us.is_root_only() { us.and(owner) } else { us };
                Walk::new(Some(trusted)).up_to_the_end().folder(path)
            }
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => Err(error),
        },
    };
    let action = if mode == OpenMode::ReadWrite { "create" } else { "open" };
    match opened {
        Ok(found) => Folder::of(File::from(found.handle), path.to_owned(), None).map(Some),
        Err(TrustError::Io { path, source }) => {
            if source.kind() == io::ErrorKind::NotADirectory {
                return Err(not_a_folder(&path));
            }
            Err(io_error(&path, action, source))
        }
        Err(error) => Err(StoreError::Untrusted(error)),
    }
}

/// Whether the calling user and the file system allow writing in a folder.
pub(super) fn check_writable(folder: &Folder) -> Result<(), StoreError> {
    retry_on_intr(|| {
        rustix::fs::accessat(folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
    })
    .map_err(|error| io_error(folder.path(), "write", error))
}

/// Whether all entries of a folder and below it belong to the state's owner, can be used by it, and
/// are closed to others where they must be; changes nothing, and reads no file.
pub(super) fn check_entries(folder: &Folder) -> Result<(), StoreError> {
    check_writable(folder)?;
    for name in folder.entries()? {
        let Some(found) = folder.stat(&name)? else { continue };
        let kind = FileType::from_raw_mode(found.st_mode);
        if kind == FileType::Directory {
            folder.child(&name)?.as_ref().map_or(Ok(()), check_entries)?;
        } else if kind == FileType::RegularFile && found.st_uid != folder.owner() {
            return Err(folder.foreign(&folder.join(&name), found.st_uid));
        } else if kind == FileType::RegularFile && found.st_mode & 0o400 == 0 {
            return Err(io_error(&folder.join(&name), "open", Errno::ACCESS));
        } else if kind == FileType::RegularFile && found.st_mode & 0o077 != 0 && is_private(&name) {
            let mode = found.st_mode & 0o7777;
            return Err(folder.too_open(&folder.join(&name), mode));
        }
    }
    Ok(())
}

/// Whether a file of this name is refused when others may read it: not those of the operator.
fn is_private(name: &str) -> bool {
    let kinds = [".json", ".jsonl", ".pem", ".key", ".der", ".p12", ".jks"];
    guard(name) != Guard::Public && kinds.iter().any(|kind| name.ends_with(kind))
}

/// Checks the free space for a run.
pub(super) fn check_space(folder: &Folder) -> Result<(), StoreError> {
    check_bytes(folder, LEAST_SPACE)
}

/// Checks the free space for this many certificates that are being issued.
pub(super) fn check_space_for(folder: &Folder, certificates: usize) -> Result<(), StoreError> {
    let certificates = u64::try_from(certificates).unwrap_or(u64::MAX);
    check_bytes(folder, SPACE_EACH.saturating_mul(certificates).saturating_add(SPACE_LEFT))
}

fn check_bytes(folder: &Folder, least: u64) -> Result<(), StoreError> {
    let Ok(space) = retry_on_intr(|| rustix::fs::fstatvfs(folder)) else { return Ok(()) };
    // Blocks reserved for root are available to root.
    let is_root = rustix::process::geteuid().is_root();
    let blocks = if is_root { space.f_bfree } else { space.f_bavail };
    // A file system that counts no blocks says nothing about its space.
    if space.f_blocks > 0 && blocks.saturating_mul(space.f_frsize) < least {
        let size = match least {
            LEAST_SPACE => "1 MiB".to_owned(),
            least => format!("{} KiB", least >> 10),
        };
        let why = format!("less than {size} of space left");
        let why = io::Error::new(io::ErrorKind::StorageFull, why);
        return Err(io_error(folder.path(), "write", why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use jiff::Timestamp;

    use super::*;
    use crate::store::{Cache as _, StateDirectory, Store as _};

    fn make(path: &Path) -> Result<(), StoreError> {
        open_state(path, OpenMode::ReadWrite).map(drop)
    }

    #[test]
    fn missing_folders_are_made_from_the_top_and_private() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/b/../c/d");
        fs::create_dir_all(scratch.path().join("a/b")).unwrap();
        make(&path).unwrap();
        make(&path).unwrap();
        for folder in ["a/c", "a/c/d"] {
            let mode = fs::metadata(scratch.path().join(folder)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o700, "{folder}");
        }
    }

    #[test]
    fn a_state_that_was_opened_for_reading_is_written_by_the_same_handle() {
        let scratch = tempfile::tempdir().unwrap();
        let [path, moved] = ["state", "moved"].map(|name| scratch.path().join(name));
        let reported = BTreeMap::from([("ab".to_owned(), Timestamp::UNIX_EPOCH)]);
        make(&path).unwrap();
        let mut state = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
        fs::rename(&path, &moved).unwrap();
        state.note_reported(&reported).unwrap_err();
        for _ in 0..2 {
            state.make_writable().unwrap();
        }
        state.note_reported(&reported).unwrap();
        assert!(moved.join("reported").exists() && !path.exists());
    }

    #[test]
    fn a_state_is_made_when_it_is_to_be_written_and_stays_readable_where_that_fails() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let mut state = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
        assert!(!path.exists());
        state.make_writable().unwrap();
        let mut state = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        let refused = state.make_writable();
        assert!(matches!(refused, Err(StoreError::TooOpen { mode: 0o750, .. })), "{refused:?}");
        assert_eq!(state.reported().unwrap(), BTreeMap::new());
        let refused = state.note_reported(&BTreeMap::new()).unwrap_err();
        assert!(refused.to_string().contains("opened for reading only"), "{refused}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_with_its_path() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        File::create(root.join("file")).unwrap();
        for (path, expected) in [
            ("dangling/state", io_error(&root.join("nowhere"), "create", Errno::NOENT)),
            ("dangling", io_error(&root.join("nowhere"), "create", Errno::NOENT)),
            ("loop/state", io_error(&root.join("loop"), "create", Errno::LOOP)),
            ("file/a/state", not_a_folder(&root.join("file"))),
        ] {
            let failed = make(&root.join(path)).unwrap_err();
            assert_eq!(failed.to_string(), expected.to_string(), "{path}");
        }
    }
}
