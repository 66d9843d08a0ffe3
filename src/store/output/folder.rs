//! The path to an output's folder, walked by [`crate::trust`].
//!
//! Contract: the checked folder is the one that is held open, so that the owner of a folder on the
//! path cannot replace it after the check. No link is followed, and every folder belongs to root, to
//! the user of this process or to the output's owner, and only they can write to it (a sticky folder
//! such as /tmp is fine): a link of another user would have keys written where that user wants them.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::{FOLDER, Occupant, Output, OutputError};
use crate::store::acl::{self, Acl};
use crate::trust::{Trusted, Walk, is_fresh};

/// How much of the path exists.
struct Way {
    /// The last existing folder.
    handle: OwnedFd,
    path: PathBuf,
    /// The name of the output's own folder, if only that is missing.
    missing: Option<OsString>,
    walk: Walk,
}

impl Output {
    /// Checks whether keys can be put into the folder, by owners, modes, ACLs and what is there;
    /// changes nothing.
    pub fn check(&self) -> Result<(), OutputError> {
        let Way { handle, path, missing, .. } = self.walk()?;
        let access = Access::WRITE_OK | Access::EXEC_OK;
        retry_on_intr(|| rustix::fs::accessat(&handle, ".", access, AtFlags::EACCESS))
            .map_err(|error| failed("write to", &path, error))?;
        self.bounds.check(&handle, &path, missing.as_deref())?;
        if missing.is_none() {
            self.live(&handle)?;
            ["tls.crt", "tls.key"].iter().try_for_each(|name| self.check_name(&handle, name))?;
        }
        Ok(())
    }

    /// Opens the folder, and makes it when only it is missing.
    pub(super) fn open(&self) -> Result<OwnedFd, OutputError> {
        let Way { handle, path, missing, walk } = self.walk()?;
        self.bounds.check(&handle, &path, missing.as_deref())?;
        let Some(name) = missing else { return Ok(handle) };
        let path = path.join(&name);
        let mode = Mode::from_raw_mode(0o755);
        retry_on_intr(|| rustix::fs::mkdirat(&handle, &name, mode))
            .map_err(|error| failed("create", &path, error))?;
        let new = retry_on_intr(|| {
            rustix::fs::openat(&handle, &name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
        })
        .map_err(|error| failed("open", &path, error))?;
        walk.judge_handle(&path, &new)?;
        if !is_fresh(&new).map_err(|error| failed("read", &path, error))? {
            return Err(OutputError::Foreign { path, found: Occupant::OtherFolder });
        }
        retry_on_intr(|| rustix::fs::fchmod(&new, mode))
            .map_err(|error| failed("change", &path, error))?;
        retry_on_intr(|| rustix::fs::fsync(&handle))
            .map_err(|error| failed("sync", &path, error))?;
        Ok(new)
    }

    fn walk(&self) -> Result<Way, OutputError> {
        let trusted = Trusted::of_process();
        let trusted = self.owner.map_or(trusted, |user| trusted.and(user));
        let walk = Walk::new(Some(trusted)).without_links();
        let (found, missing) = walk.folder_or_parent(&self.folder)?;
        check_acl(&found.handle, &found.path)?;
        Ok(Way { handle: found.handle, path: found.path, missing, walk })
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
