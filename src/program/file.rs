//! Finds a program and checks that it may be run: named, in one of the operator's folders, and
//! writable by no other user.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::manifest::{check_trust, is_secret_key};
use crate::resource::escape;

/// A program in one of the operator's folders.
#[derive(Debug)]
pub(crate) struct Program {
    folder: PathBuf,
    path: PathBuf,
    shown: String,
}

impl Program {
    /// The program at `folder/part/…`, checked. Each part is one plain name; `place` is the
    /// folder's name in messages.
    pub(crate) fn find(folder: &Path, place: &str, parts: &[&str]) -> Result<Self, String> {
        let program = Self::at(folder, place, parts)?;
        program.check().map(|()| program)
    }

    /// Whether there is such a file.
    pub(crate) fn is_there(folder: &Path, place: &str, parts: &[&str]) -> Result<bool, String> {
        Ok(Self::at(folder, place, parts)?.path.symlink_metadata().is_ok())
    }

    fn at(folder: &Path, place: &str, parts: &[&str]) -> Result<Self, String> {
        for part in parts {
            if !is_component(part) {
                return Err(format!(
                    "`{}` is no name of a file, made of letters, digits, '-', '_' and '.'",
                    escape(part)
                ));
            }
        }
        // The program runs in another directory, so a relative path would not resolve.
        let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
        let path = parts.iter().fold(folder.clone(), |path, part| path.join(part));
        Ok(Self { shown: format!("{place}/{}", parts.join("/")), folder, path })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The working directory of the run.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.folder)
    }

    /// Whether it may be run. Checked when the settings are read and before each run.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (path, folder) = (self.path.display(), self.folder.display());
        let real = self.path.canonicalize().map_err(|error| format!("{path}: {error}"))?;
        let inside = self.folder.canonicalize().map_err(|error| format!("{folder}: {error}"))?;
        if !real.starts_with(&inside) {
            return Err(format!("{path} points outside {folder}, to {}", real.display()));
        }
        let metadata = real.metadata().map_err(|error| format!("{path}: {error}"))?;
        if !metadata.is_file() {
            return Err(format!("{path} is not a regular file"));
        }
        if metadata.mode() & 0o111 == 0 {
            return Err(format!("{path} is not executable: chmod u+x {path}"));
        }
        for (walk, top) in [(&self.path, &self.folder), (&real, &inside)] {
            let steps = walk.ancestors().take_while(|step| step.starts_with(top));
            for step in steps {
                let metadata = step.symlink_metadata();
                let metadata = metadata.map_err(|error| format!("{}: {error}", step.display()))?;
                if is_open(&metadata) {
                    let (step, mode) = (step.display(), metadata.mode() & 0o7777);
                    let why = "can be written by others";
                    return Err(format!("{step} {why} (mode {mode:04o}): chmod o-w {step}"));
                }
            }
        }
        let is_root = rustix::process::geteuid().is_root();
        check_trust(&self.path, is_root).map_err(|error| match error.command() {
            Some(command) => format!("{error}: {command}"),
            None => error.to_string(),
        })
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Whether other users could replace the content. In a sticky folder they cannot replace files of
/// others.
fn is_open(metadata: &Metadata) -> bool {
    let sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
    !metadata.is_symlink() && metadata.mode() & 0o002 != 0 && !sticky
}

/// One path component: no `/`, no `..`, no leading `.` or `-`.
pub(crate) fn is_component(text: &str) -> bool {
    is_secret_key(text) && !text.starts_with(['.', '-'])
}
