//! The walk along a path: by handles, and along symbolic links by hand.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, chmodat, fchmod, fstat, fsync, mkdirat,
    openat, readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::rule::{TrustError, Trusted, mode_of};

/// How a path is walked.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    trusted: Option<Trusted>,
    follows: bool,
    judges_end: bool,
}

/// A file at the end of a walk that was looked at and not opened.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its path without links.
    pub path: PathBuf,
    pub is_file: bool,
    pub mode: u32,
}

/// An open folder at the end of a walk.
#[derive(Debug)]
pub struct Folder {
    pub handle: OwnedFd,
    /// Its path without links.
    pub path: PathBuf,
}

/// The folder that the walk has reached, and the rest of the way.
struct Way {
    at: OwnedFd,
    path: PathBuf,
    /// The last name, which is no link; `None` when the folder itself is the end.
    last: Option<(OsString, Stat)>,
}

/// What a walk ends at.
enum End {
    Way(Way),
    /// A descriptor that the process was started with.
    Inherited(OwnedFd),
}

impl Walk {
    /// Checks against these users; not at all when `None`.
    pub fn new(trusted: Option<Trusted>) -> Self {
        Self { trusted, follows: true, judges_end: true }
    }

    /// Checks against root and the user of this process.
    pub fn trusting_us() -> Self {
        Self::new(Some(Trusted::of_process()))
    }

    /// The same; a symbolic link is an error.
    #[must_use]
    pub fn without_links(self) -> Self {
        Self { follows: false, ..self }
    }

    /// The same; a folder at the end is for the caller to judge.
    #[must_use]
    pub fn up_to_the_end(self) -> Self {
        Self { judges_end: false, ..self }
    }

    /// Opens a file for reading. A FIFO is opened without waiting for a writer, unless
    /// `waits_for_fifo`. What kind of file it is is for the caller to check.
    pub fn file(&self, path: &Path, waits_for_fifo: bool) -> Result<File, TrustError> {
        let way = match self.descend(path, None)? {
            End::Way(way) => way,
            End::Inherited(handle) => return Ok(File::from(handle)),
        };
        let Some((name, stat)) = &way.last else { return Ok(File::from(way.at)) };
        let path = way.path.join(name);
        self.judge(&path, stat)?;
        let is_fifo = FileType::from_raw_mode(stat.st_mode) == FileType::Fifo;
        let wait = if is_fifo && waits_for_fifo { OFlags::empty() } else { OFlags::NONBLOCK };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | wait;
        let file =
            openat(&way.at, name, flags, Mode::empty()).map_err(|error| failed(&path, error))?;
        self.judge_handle(&path, &file)?;
        Ok(File::from(file))
    }

    /// Looks at a file, such as a program that this user may run and not read.
    pub fn look(&self, path: &Path) -> Result<Seen, TrustError> {
        let (path, stat) = self.stat(path)?;
        self.judge(&path, &stat)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        Ok(Seen { path, is_file, mode: mode_of(&stat) })
    }

    /// What is at the end of a path, and its path without links.
    fn stat(&self, path: &Path) -> Result<(PathBuf, Stat), TrustError> {
        Ok(match self.descend(path, None)? {
            End::Way(Way { at, path, last: None }) => {
                let stat = fstat(&at).map_err(|error| failed(&path, error))?;
                (path, stat)
            }
            End::Way(Way { path, last: Some((name, stat)), .. }) => (path.join(name), stat),
            End::Inherited(handle) => {
                let stat = fstat(&handle).map_err(|error| failed(path, error))?;
                (path.to_path_buf(), stat)
            }
        })
    }

    /// Opens a folder.
    pub fn folder(&self, path: &Path) -> Result<Folder, TrustError> {
        self.end(self.descend(path, None)?, path)
    }

    /// Opens a folder, and makes the missing ones on the way with this mode, durably. None is made
    /// in the place that a dangling link points to.
    pub fn made_folder(&self, path: &Path, mode: Mode) -> Result<Folder, TrustError> {
        self.end(self.descend(path, Some(mode))?, path)
    }

    /// Opens a folder, or the one above it when only the folder itself is missing.
    pub fn folder_or_parent(&self, path: &Path) -> Result<(Folder, Option<OsString>), TrustError> {
        match (self.folder(path), path.parent().zip(path.file_name())) {
            (Err(error), Some((above, name))) if error.is_missing() => match self.folder(above) {
                Ok(above) => Ok((above, Some(name.to_owned()))),
                Err(_) => Err(error),
            },
            (found, _) => found.map(|folder| (folder, None)),
        }
    }

    fn end(&self, end: End, named: &Path) -> Result<Folder, TrustError> {
        let Way { at, path, last } = match end {
            End::Way(way) => way,
            End::Inherited(_) => return Err(failed(named, Errno::NOTDIR)),
        };
        let (name, path) = match last {
            Some((name, _)) => {
                let path = path.join(&name);
                (name, path)
            }
            None => (OsString::from("."), path),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(&at, &name, flags, Mode::empty()).map_err(|e| failed(&path, e))?;
        if self.judges_end {
            self.judge_handle(&path, &handle)?;
        }
        Ok(Folder { handle, path })
    }

    /// Walks to the last name that is no link. Missing folders are made with mode `make`, the last
    /// one too.
    fn descend(&self, named: &Path, make: Option<Mode>) -> Result<End, TrustError> {
        let named = std::path::absolute(named)
            .map_err(|source| TrustError::Io { path: named.to_path_buf(), source })?;
        let mut rest = names(&named);
        // How many of the names are of the path as written, and not of a link.
        let mut written = rest.len();
        let (mut at, mut path) = self.root()?;
        let mut links = 0;
        while let Some(name) = rest.pop() {
            let is_written = rest.len() < written;
            written = written.min(rest.len());
            if name == ".." {
                path.pop();
                at = open_folder(&at, &name).map_err(|error| failed(&path, error))?;
                self.judge_handle(&path, &at)?;
                continue;
            }
            let child = path.join(&name);
            let stat = match (statat(&at, &name, AtFlags::SYMLINK_NOFOLLOW), make) {
                (Err(Errno::NOENT), Some(mode)) if is_written => {
                    make_folder(&at, &name, mode).map_err(|error| failed(&child, error))?
                }
                (found, _) => found.map_err(|error| failed(&child, error))?,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
                if !self.follows {
                    return Err(TrustError::Link { path: child });
                }
                self.judge(&child, &stat)?;
                if rest.is_empty() && is_descriptors(&path) {
                    return self.inherited(&at, &name, &child);
                }
                links += 1;
                if links > MAX_LINKS {
                    return Err(failed(&child, Errno::LOOP));
                }
                let target =
                    readlinkat(&at, &name, Vec::new()).map_err(|error| failed(&child, error))?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    (at, path) = self.root()?;
                }
                rest.extend(names(&target));
                continue;
            }
            if rest.is_empty() {
                return Ok(End::Way(Way { at, path, last: Some((name, stat)) }));
            }
            at = open_folder(&at, &name).map_err(|error| failed(&child, error))?;
            path = child;
            self.judge_handle(&path, &at)?;
        }
        Ok(End::Way(Way { at, path, last: None }))
    }

    fn root(&self) -> Result<(OwnedFd, PathBuf), TrustError> {
        let path = PathBuf::from("/");
        let at = open_folder(CWD, path.as_os_str()).map_err(|error| failed(&path, error))?;
        self.judge_handle(&path, &at)?;
        Ok((at, path))
    }

    /// What stands in `/proc/self/fd` is no link to a path: who started this process has opened it,
    /// as standard input. Of a file its own owner and mode count.
    fn inherited(&self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<End, TrustError> {
        let stat = statat(at, name, AtFlags::empty()).map_err(|error| failed(path, error))?;
        let is_fifo = FileType::from_raw_mode(stat.st_mode) == FileType::Fifo;
        let wait = if is_fifo { OFlags::empty() } else { OFlags::NONBLOCK };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | wait;
        let handle = openat(at, name, flags, Mode::empty()).map_err(|error| failed(path, error))?;
        if !is_fifo {
            self.judge_handle(path, &handle)?;
        }
        Ok(End::Inherited(handle))
    }

    /// Checks what is open.
    pub fn judge_handle(&self, path: &Path, handle: impl AsFd) -> Result<(), TrustError> {
        let stat = fstat(handle).map_err(|error| failed(path, error))?;
        self.judge(path, &stat)
    }

    fn judge(&self, path: &Path, stat: &Stat) -> Result<(), TrustError> {
        self.trusted.map_or(Ok(()), |trusted| trusted.judge(path, stat))
    }
}

impl Folder {
    /// Puts a file in place in one rename; what was there, also a link, goes.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), TrustError> {
        let path = self.path.join(name);
        let temporary = format!(".{name}.{}", std::process::id());
        match unlinkat(&self.handle, &temporary, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(&path, error)),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let file = openat(&self.handle, &temporary, flags, mode);
        // Whatever the umask leaves: others read it, and none writes it.
        let file = file.and_then(|file| fchmod(&file, mode).map(|()| file));
        let file = file.map_err(|error| failed(&path, error))?;
        let written = File::from(file)
            .write_all(bytes)
            .and_then(|()| Ok(renameat(&self.handle, &temporary, &self.handle, name)?));
        written.map_err(|source| {
            // The first error is the one to report.
            unlinkat(&self.handle, &temporary, AtFlags::empty()).ok();
            TrustError::Io { path, source }
        })
    }
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(name).collect()
}

fn open_folder(at: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(at, name, SEARCHED, Mode::empty())
}

/// The mode is given through the handle: the umask may have removed some of it, and by name it
/// could be another folder's already.
fn make_folder(at: &OwnedFd, name: &OsStr, mode: Mode) -> Result<Stat, Errno> {
    match mkdirat(at, name, mode) {
        Ok(()) => {}
        // Another process was faster; its folder is judged as any other.
        Err(Errno::EXIST) => return statat(at, name, AtFlags::SYMLINK_NOFOLLOW),
        Err(error) => return Err(error),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(at, name, flags, Mode::empty()) {
        // The umask has taken our own access. By name the mode goes to what is there; it is ours,
        // and in a folder that was checked no other user can exchange that.
        Err(Errno::ACCESS) => {
            chmodat(at, name, mode, AtFlags::empty())?;
            openat(at, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    let stat = fstat(&folder)?;
    if stat.st_uid == rustix::process::geteuid().as_raw() {
        fchmod(&folder, mode)?;
    }
    let parent =
        openat(at, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    // A folder that can be searched and not read cannot be synchronized.
    parent.map_or(Ok(()), |parent| fsync(&parent))?;
    fstat(&folder)
}

/// The owner of the folder at the end of a path, however it is reached.
pub fn owner_of(path: &Path) -> Result<u32, TrustError> {
    let (path, stat) = Walk::new(None).stat(path)?;
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if is_folder { Ok(stat.st_uid) } else { Err(failed(&path, Errno::NOTDIR)) }
}

/// Whether an open folder can be the one that this process has just made. In another user's folder
/// that user can put a folder of ours in its place, by a rename: one that holds something is never
/// given another owner or mode, nor a file.
pub fn is_fresh(folder: impl AsFd) -> Result<bool, Errno> {
    let is_ours = fstat(&folder)?.st_uid == rustix::process::geteuid().as_raw();
    for entry in Dir::read_from(folder)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(is_ours)
}

/// Whether the entries of this folder are the descriptors of this process.
fn is_descriptors(path: &Path) -> bool {
    let own = format!("/proc/{}", std::process::id());
    path.strip_prefix(own).is_ok_and(|rest| {
        let mut parts = rest.components().map(Component::as_os_str);
        match (parts.next(), parts.nth(1), parts.next()) {
            (Some(fd), None, None) => fd == "fd",
            (Some(task), Some(fd), None) => task == "task" && fd == "fd",
            _ => false,
        }
    })
}

fn failed(path: &Path, error: Errno) -> TrustError {
    TrustError::Io { path: path.to_path_buf(), source: error.into() }
}

/// As many as Linux follows.
const MAX_LINKS: u32 = 40;

/// For a folder that may be searched and not read.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
const SEARCH: OFlags = OFlags::RDONLY;
const SEARCHED: OFlags =
    SEARCH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
