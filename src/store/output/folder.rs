//! The path to an output's folder: opened from `/` on, one name at a time, each in the handle of
//! the previous one.
//!
//! Contract: as root, the checked folder is the one that is held open, so that the owner of a
//! folder on the path cannot replace it after the check. No link is followed, and
//! every folder belongs to root or to the output's owner, and only they can write to it (a sticky
//! folder such as /tmp is fine). For other users, the system's permissions apply.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{FOLDER, Output, OutputError};
use crate::manifest::{Trusted, check_folder};
use crate::store::acl::{self, Acl};

/// How much of the path exists.
struct Way {
    /// The last existing folder.
    handle: OwnedFd,
    path: PathBuf,
    /// The name of the output's own folder, if only that is missing.
    missing: Option<String>,
}

impl Output {
    /// Checks whether keys can be put into the folder, by owners, modes, ACLs and what is there;
    /// changes nothing.
    pub fn check(&self) -> Result<(), OutputError> {
        let Way { handle, path, missing } = self.walk()?;
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(&handle, ".", access, AtFlags::EACCESS)
            .map_err(|error| failed("write to", &path, error))?;
        if missing.is_none() {
            self.live(&handle)?;
            ["tls.crt", "tls.key"].iter().try_for_each(|name| self.check_name(&handle, name))?;
        }
        Ok(())
    }

    /// Opens the folder, and makes it when only it is missing.
    pub(super) fn open(&self) -> Result<OwnedFd, OutputError> {
        let Way { handle, path, missing } = self.walk()?;
        let Some(name) = missing else { return Ok(handle) };
        let path = path.join(&name);
        let mode = Mode::from_raw_mode(0o755);
        rustix::fs::mkdirat(&handle, &name, mode)
            .map_err(|error| failed("create", &path, error))?;
        let new = rustix::fs::openat(&handle, &name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|error| failed("open", &path, error))?;
        self.judge(&new, &path)?;
        rustix::fs::fchmod(&new, mode).map_err(|error| failed("change", &path, error))?;
        rustix::fs::fsync(&handle).map_err(|error| failed("sync", &path, error))?;
        Ok(new)
    }

    fn walk(&self) -> Result<Way, OutputError> {
        let is_root = rustix::process::geteuid().is_root();
        let follow = if is_root { OFlags::NOFOLLOW } else { OFlags::empty() };
        let mut path = PathBuf::from("/");
        let mut handle = rustix::fs::open(&path, FOLDER, Mode::empty())
            .map_err(|error| failed("open", &path, error))?;
        self.judge(&handle, &path)?;
        let parts = self
            .folder
            .components()
            .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None });
        let mut parts = parts.peekable();
        while let Some(part) = parts.next() {
            let opened = rustix::fs::openat(&handle, part, FOLDER | follow, Mode::empty());
            if let (Err(Errno::NOENT), None, Some(name)) = (&opened, parts.peek(), part.to_str()) {
                check_acl(&handle, &path)?;
                return Ok(Way { handle, path, missing: Some(name.to_owned()) });
            }
            path.push(part);
            handle = match opened {
                Err(Errno::LOOP | Errno::NOTDIR) if is_root => {
                    return Err(OutputError::Link { path });
                }
                Err(error) => return Err(failed("open", &path, error)),
                Ok(opened) => opened,
            };
            self.judge(&handle, &path)?;
        }
        check_acl(&handle, &path)?;
        Ok(Way { handle, path, missing: None })
    }
}

impl Output {
    fn judge(&self, folder: impl AsFd, path: &Path) -> Result<(), OutputError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let stat = rustix::fs::fstat(folder).map_err(|error| failed("read", path, error))?;
        let trusted = self.owner.map_or(Trusted::Root, Trusted::RootAnd);
        Ok(check_folder(path, stat.st_uid, stat.st_mode, trusted)?)
    }
}

/// New files in this folder must not inherit permissions for others.
fn check_acl(folder: &OwnedFd, path: &Path) -> Result<(), OutputError> {
    match acl::has(folder, Acl::Default) {
        Ok(false) => Ok(()),
        Ok(true) => Err(OutputError::DefaultAcl { path: path.to_owned() }),
        Err(error) => Err(failed("read the ACL of", path, error)),
    }
}

fn failed(action: &'static str, path: &Path, error: Errno) -> OutputError {
    OutputError::Io { action, path: path.to_owned(), source: error.into() }
}
