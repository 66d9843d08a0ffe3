//! Finds a program and checks that it may be run: named, in one of the operator's folders, and
//! writable by no other user.

use std::fmt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::host::rights;
use crate::manifest::is_secret_key;
use crate::resource::{Fix, Obstacle, Permit, Right, escape};
use crate::trust::{TrustError, Trusted, Walk};

/// Who runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// This process.
    Us,
    /// This process, as root: no other user may be able to change the program.
    Root,
    /// Another process, whose user is not known.
    Other,
}

/// A program in one of the operator's folders.
#[derive(Debug)]
pub(crate) struct Program {
    folder: PathBuf,
    path: PathBuf,
    /// The same as it was named, for messages.
    named: PathBuf,
    shown: String,
}

impl Program {
    /// The program at `folder/part/…`, checked. Each part is one plain name; `place` is the
    /// folder's name in messages.
    pub(crate) fn find(
        folder: &Path,
        place: &str,
        parts: &[&str],
        by: Runner,
    ) -> Result<Self, Obstacle> {
        let program = Self::at(folder, place, parts)?;
        program.check(by).map(|()| program)
    }

    /// Whether there is such a file.
    pub(crate) fn is_there(folder: &Path, place: &str, parts: &[&str]) -> Result<bool, Obstacle> {
        Ok(Self::at(folder, place, parts)?.path.symlink_metadata().is_ok())
    }

    fn at(folder: &Path, place: &str, parts: &[&str]) -> Result<Self, Obstacle> {
        for part in parts {
            if !is_component(part) {
                return Err(Obstacle::new(format_args!(
                    "`{}` is not a file name of letters, digits, '-', '_' and '.'",
                    escape(part)
                )));
            }
        }
        // The program runs in another directory, so a relative path would not resolve.
        let below =
            |folder: &Path| parts.iter().fold(folder.to_owned(), |path, part| path.join(part));
        let named = below(folder);
        let folder = std::path::absolute(folder).map_err(Obstacle::new)?;
        let path = below(&folder);
        Ok(Self { shown: format!("{place}/{}", parts.join("/")), folder, path, named })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The working directory of the run.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.folder)
    }

    /// Whether it may be run: it is in the folder, also behind links, and no other user can change
    /// it, a folder or a link on the way. Checked when the settings are read and before each run.
    pub(crate) fn check(&self, by: Runner) -> Result<(), Obstacle> {
        let walk = match by {
            Runner::Us | Runner::Other => Walk::trusting_us(),
            Runner::Root => Walk::new(Some(Trusted::root())),
        };
        let (path, folder) = (self.named.display(), self.folder.display());
        let error = |error: TrustError| {
            if let TrustError::Io { source, .. } = &error {
                return Obstacle::new(format_args!("{path}: {source}"));
            }
            Obstacle::new(&error).with(rights::trusted(&error))
        };
        let inside = walk.folder(&self.folder).map_err(error)?.path;
        let program = walk.look(&self.path).map_err(error)?;
        if !program.path.starts_with(&inside) {
            let target = program.path.display();
            return Err(Obstacle::new(format_args!("{path} points outside {folder}, to {target}")));
        }
        if !program.is_file {
            return Err(Obstacle::new(format_args!("{path} is not a regular file")));
        }
        if program.mode & 0o111 == 0 {
            let obstacle = Obstacle::new(format_args!("{path} is not executable"));
            return Err(obstacle.with(Fix::Permit(Permit::new(&self.named, Right::Run))));
        }
        // Its mode, or the file system, may forbid it to this user alone.
        let may = || accessat(CWD, &self.path, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
        if by == Runner::Us && !may() {
            return Err(Obstacle::new(format_args!("this user may not execute {path}")));
        }
        Ok(())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// One path component: no `/`, no `..`, no leading `.` or `-`.
pub(crate) fn is_component(text: &str) -> bool {
    is_secret_key(text) && !text.starts_with(['.', '-'])
}
