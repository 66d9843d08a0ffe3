//! Durable writes: a file is the old one or the new one, never a part, and stays once written.
//!
//! The recipe: an exclusive temporary in the same folder with its final mode, write, fsync,
//! rename, fsync of the folder. A temporary is removed on any error; one that a killed run left is
//! swept by the next holder of the lock. All calls run on the calling thread.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::folder::{Folder, MAX_BYTES, TEMP_PREFIX, io_error, text};
use crate::store::error::StoreError;

/// Mode of private files.
const PRIVATE: u32 = 0o600;

/// Writes a file anywhere, durably and in one step, with the permission bits `mode` whatever the
/// umask. The folder must exist; a symbolic link at `path` is replaced, not followed, and nothing
/// else but a plain file is: not `/dev/null`.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
    let (folder, name) = open_parent(path)?;
    let found = match folder.kind(name)? {
        None | Some(FileType::RegularFile | FileType::Symlink) => None,
        Some(FileType::Directory) => Some("a folder"),
        Some(_) => Some("a special file"),
    };
    if let Some(found) = found {
        return Err(StoreError::NotPlain { path: text(path), found, expected: "a plain file" });
    }
    let temp = Temp::write(&folder, name, bytes, mode)?;
    sweep_beside(&folder, &temp);
    temp.rename(name)?;
    folder.sync()
}

/// The same for a file that must not be there yet; `false` when it is.
pub fn write_once(path: &Path, bytes: &[u8], mode: u32) -> Result<bool, StoreError> {
    let (folder, name) = open_parent(path)?;
    let mut temp = Temp::write(&folder, name, bytes, mode)?;
    sweep_beside(&folder, &temp);
    if !move_to_free_name(&folder, &temp.name, name)? {
        return Ok(false);
    }
    temp.gone = true;
    folder.sync()?;
    Ok(true)
}

/// Removes what killed processes left in a folder that is not ours alone, as far as possible.
fn sweep_beside(folder: &Folder, fresh: &Temp<'_>) {
    let swept = match folder.stat(&fresh.name) {
        Ok(Some(now)) => sweep_old(folder, &now),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = swept {
        tracing::debug!(%error, "cannot remove the files of a killed process");
    }
}

/// Removes our temporary files that are older than any process takes to write one, as of a file that
/// was just written.
pub(super) fn sweep_old(folder: &Folder, now: &Stat) -> Result<(), StoreError> {
    for name in folder.entries()?.iter().filter(|name| is_temp_name(name)) {
        let Some(found) = folder.stat(name)? else { continue };
        let age = now.st_mtime.saturating_sub(found.st_mtime);
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if is_file && found.st_uid == now.st_uid && age > OLD {
            folder.remove(name)?;
        }
    }
    Ok(())
}

/// In seconds.
const OLD: i64 = 60;

/// See [`temp_name`].
fn is_temp_name(name: &str) -> bool {
    let mut parts = name.strip_prefix(TEMP_PREFIX).unwrap_or_default().splitn(3, '-');
    let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u64>().is_ok());
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some()
}

fn open_parent(path: &Path) -> Result<(Folder, &str), StoreError> {
    let invalid = || StoreError::Name { name: text(path) };
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(invalid)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let folder = Folder::open(parent)?.ok_or_else(|| io_error(parent, "open", Errno::NOENT))?;
    Ok((folder, name))
}

/// Replaces a private file.
pub(super) fn replace(folder: &Folder, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    replace_unsynced(folder, name, bytes)?;
    folder.sync()
}

/// The same, without the fsync of the folder: it is the old file or the new one, and which of them
/// is durable only with the folder.
pub(super) fn replace_unsynced(
    folder: &Folder,
    name: &str,
    bytes: &[u8],
) -> Result<(), StoreError> {
    check_size(folder, name, bytes)?;
    Temp::write(folder, name, bytes, PRIVATE)?.rename(name)
}

/// Creates a private file; `false` when there is one already. Of two creators one wins.
pub(super) fn create(folder: &Folder, name: &str, bytes: &[u8]) -> Result<bool, StoreError> {
    check_size(folder, name, bytes)?;
    let mut temp = Temp::write(folder, name, bytes, PRIVATE)?;
    if !move_to_free_name(folder, &temp.name, name)? {
        return Ok(false);
    }
    temp.gone = true;
    folder.sync()?;
    Ok(true)
}

/// Replaces a private file that only living processes need, in one step, without any
/// fsync: after a power loss it may be the old one, empty or gone, and everything in it concerns
/// processes that are gone, too. The caller holds the lock of the file. The temporary has one name,
/// so that one which a killed run left is replaced and needs no sweeping.
pub(super) fn replace_fleeting(
    folder: &Folder,
    name: &str,
    bytes: &[u8],
) -> Result<(), StoreError> {
    check_size(folder, name, bytes)?;
    let temp = format!("{name}.next");
    let file = loop {
        if let Some(file) = open_exclusively(folder, &temp)? {
            break file;
        }
        folder.remove(&temp)?;
    };
    let temp = Temp { folder, name: temp, gone: false };
    fill_fleeting(folder, &temp.name, &file, bytes, PRIVATE)?;
    temp.rename(name)
}

/// The same for a file that is not there yet; `false` when there is one.
pub(super) fn create_fleeting(
    folder: &Folder,
    name: &str,
    bytes: &[u8],
) -> Result<bool, StoreError> {
    if folder.stat(name)?.is_some() {
        return Ok(false);
    }
    replace_fleeting(folder, name, bytes)?;
    Ok(true)
}

/// Writes a private file that no process reads before its folder goes live: exclusively, under its
/// own name, content durable. The folder is synced by the caller.
pub(super) fn write_new(folder: &Folder, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    check_size(folder, name, bytes)?;
    let Some(file) = open_exclusively(folder, name)? else {
        return Err(io_error(&folder.join(name), "create", Errno::EXIST));
    };
    fill(folder, name, &file, bytes, PRIVATE)
}

/// Replaces a file or link by a symbolic link, in one step. The
/// folder is synced by the caller.
pub(super) fn link(folder: &Folder, target: &str, name: &str) -> Result<(), StoreError> {
    loop {
        let temp = Temp { folder, name: temp_name(name), gone: false };
        match retry_on_intr(|| rustix::fs::symlinkat(target, folder, temp.name.as_str())) {
            Ok(()) => return temp.rename(name),
            Err(Errno::EXIST) => temp.forget(),
            Err(error) => return Err(io_error(&folder.join(&temp.name), "create", error)),
        }
    }
}

/// Renames a damaged document to `<aside>.corrupt-<n>`, and returns the new name.
pub(super) fn set_aside(folder: &Folder, file: &str, aside: &str) -> Result<String, StoreError> {
    let mut number: u64 = 1;
    loop {
        let new_name = format!("{aside}.corrupt-{number}");
        if move_to_free_name(folder, file, &new_name)? {
            folder.sync()?;
            return Ok(text(&folder.join(&new_name)));
        }
        number = number.saturating_add(1);
    }
}

/// Renames within a folder; `false` when the new name is taken. Nothing is ever overwritten.
pub(super) fn move_to_free_name(folder: &Folder, from: &str, to: &str) -> Result<bool, StoreError> {
    match retry_on_intr(|| {
        rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE)
    }) {
        Ok(()) => return Ok(true),
        Err(Errno::EXIST) => return Ok(false),
        Err(error) if is_unsupported(error) => {}
        Err(error) => return Err(io_error(&folder.join(to), "rename", error)),
    }
    match retry_on_intr(|| rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())) {
        Ok(()) => folder.remove(from),
        Err(Errno::EXIST) => Ok(false),
        Err(error) => Err(io_error(&folder.join(to), "link", error)),
    }
}

/// Whether the file system does not know a flag of rename.
pub(super) fn is_unsupported(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&error)
}

/// A name that is unique in this process; against other processes, open it exclusively.
fn temp_name(name: &str) -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name: String = name.chars().take(100).collect();
    format!("{TEMP_PREFIX}{}-{number}-{name}", std::process::id())
}

/// A temporary file, removed on drop unless it was renamed.
struct Temp<'a> {
    folder: &'a Folder,
    name: String,
    gone: bool,
}

impl<'a> Temp<'a> {
    fn write(folder: &'a Folder, name: &str, bytes: &[u8], mode: u32) -> Result<Self, StoreError> {
        loop {
            let temp_name = temp_name(name);
            let Some(file) = open_exclusively(folder, &temp_name)? else { continue };
            let temp = Self { folder, name: temp_name, gone: false };
            fill(folder, &temp.name, &file, bytes, mode)?;
            return Ok(temp);
        }
    }

    fn rename(mut self, name: &str) -> Result<(), StoreError> {
        retry_on_intr(|| rustix::fs::renameat(self.folder, self.name.as_str(), self.folder, name))
            .map_err(|error| io_error(&self.folder.join(name), "rename", error))?;
        self.gone = true;
        Ok(())
    }

    /// The name is in use.
    fn forget(mut self) {
        self.gone = true;
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        // The next run removes one that stays; the first error is reported already.
        if !self.gone && self.folder.remove(&self.name).is_err() {
            tracing::debug!(name = self.name, "temporary file not removed");
        }
    }
}

/// Makes a file that only the owner may read from its first moment; `None` when there is one.
fn open_exclusively(folder: &Folder, name: &str) -> Result<Option<File>, StoreError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match retry_on_intr(|| rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)) {
        Ok(handle) => Ok(Some(File::from(handle))),
        Err(Errno::EXIST) => Ok(None),
        Err(error) => Err(io_error(&folder.join(name), "create", error)),
    }
}

fn fill(
    folder: &Folder,
    name: &str,
    file: &File,
    bytes: &[u8],
    mode: u32,
) -> Result<(), StoreError> {
    fill_fleeting(folder, name, file, bytes, mode)?;
    file.sync_all().map_err(|error| io_error(&folder.join(name), "sync", error))
}

fn fill_fleeting(
    folder: &Folder,
    name: &str,
    mut file: &File,
    bytes: &[u8],
    mode: u32,
) -> Result<(), StoreError> {
    let path = folder.join(name);
    file.write_all(bytes).map_err(|error| io_error(&path, "write", error))?;
    give_mode(file, mode).map_err(|error| io_error(&path, "change the mode of", error))
}

/// Gives a new file its mode. A private file has it already, unless the umask took more.
pub(super) fn give_mode(file: &File, mode: u32) -> Result<(), std::io::Error> {
    if file.metadata()?.mode() & 0o7777 != mode & 0o7777 {
        file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
    }
    Ok(())
}

/// Checks the size limit of readers before a write.
fn check_size(folder: &Folder, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES) {
        Ok(())
    } else {
        Err(StoreError::TooLarge { path: text(&folder.join(name)), max: MAX_BYTES })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_beside_goes_once_it_is_old() {
        let scratch = tempfile::tempdir().unwrap();
        let make = |name: &str, is_old: bool| {
            let file = File::create(scratch.path().join(name)).unwrap();
            if is_old {
                file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            }
        };
        make(".tmp-812-0-web.yaml", true);
        make(".tmp-812-1-web.yaml", false);
        make(".tmp-notes", true);
        let left = || {
            let entries = std::fs::read_dir(scratch.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect::<std::collections::BTreeSet<_>>()
        };
        assert!(write_once(&scratch.path().join("mail.yaml"), b"", 0o644).unwrap());
        let expected = [".tmp-812-1-web.yaml", ".tmp-notes", "mail.yaml"];
        assert_eq!(left(), expected.map(str::to_owned).into());
        make(".tmp-812-1-web.yaml", true);
        write(&scratch.path().join("mail.yaml"), b"new", 0o644).unwrap();
        assert_eq!(left(), [".tmp-notes", "mail.yaml"].map(str::to_owned).into());
    }

    #[test]
    fn what_is_no_plain_file_is_not_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let (pipe, folder, link) = (
            scratch.path().join("pipe"),
            scratch.path().join("folder"),
            scratch.path().join("link"),
        );
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RWXU).unwrap();
        std::fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        for (path, kind) in [(&pipe, "a special file"), (&folder, "a folder")] {
            let error = write(path, b"x", 0o644).unwrap_err();
            assert!(
                matches!(&error, StoreError::NotPlain { found, .. } if *found == kind),
                "{error}"
            );
        }
        write(&link, b"x", 0o644).unwrap();
        assert!(link.symlink_metadata().unwrap().is_file());
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 3, "no temporary stays");
    }

    #[test]
    fn a_file_elsewhere_is_written_with_the_requested_mode() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("tls.crt");
        for (text, mode) in [("one", 0o644), ("two", 0o600), ("three", 0o440)] {
            write(&path, text.as_bytes(), mode).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        }
        let missing = write(&scratch.path().join("no/file"), b"", 0o600).unwrap_err();
        assert!(matches!(missing, StoreError::Io { action: "open", .. }), "{missing}");
        // A folder in the way is an error, and the temporary does not stay.
        std::fs::create_dir(scratch.path().join("folder")).unwrap();
        let taken = write(&scratch.path().join("folder"), b"", 0o600).unwrap_err();
        assert!(matches!(taken, StoreError::NotPlain { .. }), "{taken}");
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        assert_eq!(folder.entries().unwrap(), ["folder", "tls.crt"]);
    }
}
