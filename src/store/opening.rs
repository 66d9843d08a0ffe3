//! Checks and creates a state directory before anything is written, and before any network traffic.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags, Mode};
use rustix::io::Errno;

use super::folder::{Folder, io_error};
use crate::store::port::StoreError;

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

/// Makes a folder and the missing ones above it, with mode 0700, durably.
pub(super) fn make_folders(path: &Path) -> Result<(), StoreError> {
    let made = match rustix::fs::mkdir(path, Mode::RWXU) {
        Err(Errno::NOENT) if above(path) != path => {
            make_folders(above(path))?;
            // Once only: in `/proc` and below a dangling link, this is ENOENT for ever.
            rustix::fs::mkdir(path, Mode::RWXU)
        }
        made => made,
    };
    match made {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(()),
        Err(error) => return Err(io_error(path, "create", error)),
    }
    // The umask can only have removed bits; they are restored.
    let metadata = std::fs::symlink_metadata(path).map_err(|e| io_error(path, "read", e))?;
    if metadata.mode() & 0o7777 != 0o700 {
        rustix::fs::chmod(path, Mode::RWXU)
            .map_err(|error| io_error(path, "change the mode of", error))?;
    }
    Folder::open(above(path))?.map_or(Ok(()), |parent| parent.sync())
}

fn above(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// Whether the calling user and the file system allow writing in a folder.
pub(super) fn check_writable(folder: &Folder) -> Result<(), StoreError> {
    rustix::fs::accessat(folder, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|error| io_error(folder.path(), "write", error))
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
    let Ok(space) = rustix::fs::fstatvfs(folder) else { return Ok(()) };
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
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn missing_folders_are_made_from_the_top_and_private() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/b/../c/d");
        fs::create_dir_all(scratch.path().join("a/b")).unwrap();
        make_folders(&path).unwrap();
        make_folders(&path).unwrap();
        for folder in ["a/c", "a/c/d"] {
            let mode = fs::metadata(scratch.path().join(folder)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o700, "{folder}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_with_its_path() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        fs::File::create(root.join("file")).unwrap();
        for (path, place, error) in [
            ("dangling/state", "dangling/state", Errno::NOENT),
            ("dangling/a/b/state", "dangling/a", Errno::NOENT),
            ("loop/state", "loop/state", Errno::LOOP),
            ("file/a/state", "file/a/state", Errno::NOTDIR),
        ] {
            let expected = io_error(&root.join(place), "create", error);
            let failed = make_folders(&root.join(path)).unwrap_err();
            assert_eq!(failed.to_string(), expected.to_string());
        }
    }
}
