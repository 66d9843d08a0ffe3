//! Which file is run, and whether it may be: named, in `solvers.d`, and nobody else's.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::manifest::{check_trust, is_secret_key};
use crate::solver::dns01::error::shown;

/// A program in `solvers.d`.
#[derive(Debug)]
pub(super) struct Program {
    solvers: PathBuf,
    path: PathBuf,
    shown: String,
}

impl Program {
    /// `solvers.d/certctl.io/<command>`, or `solvers.d/<command>`.
    pub(super) fn command(solvers: &Path, command: &str) -> Result<Self, String> {
        let name = component("config.command", command)?;
        let own = Self::at(solvers, &["certctl.io", name])?;
        if own.path.symlink_metadata().is_err() {
            let shared = Self::at(solvers, &[name])?;
            if shared.path.symlink_metadata().is_err() {
                let (first, second) = (own.path.display(), shared.path.display());
                return Err(format!("there is neither {first} nor {second}"));
            }
            return shared.check().map(|()| shared);
        }
        own.check().map(|()| own)
    }

    /// `solvers.d/<group>/<solver>`.
    pub(super) fn solver(solvers: &Path, group: &str, solver: &str) -> Result<Self, String> {
        let parts = [component("groupName", group)?, component("solverName", solver)?];
        let program = Self::at(solvers, &parts)?;
        program.check().map(|()| program)
    }

    fn at(solvers: &Path, parts: &[&str]) -> Result<Self, String> {
        // The program is not run from here, so that a relative path would lead elsewhere.
        let solvers = std::path::absolute(solvers).map_err(|error| error.to_string())?;
        let path = parts.iter().fold(solvers.clone(), |path, part| path.join(part));
        Ok(Self { solvers, path, shown: format!("solvers.d/{}", parts.join("/")) })
    }

    /// For messages: from `solvers.d` on.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that it is run in.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.solvers)
    }

    /// Whether it may be run. Asked when the settings are read and again before each run.
    pub(super) fn check(&self) -> Result<(), String> {
        let (path, solvers) = (self.path.display(), self.solvers.display());
        let real = self.path.canonicalize().map_err(|error| format!("{path}: {error}"))?;
        let inside = self.solvers.canonicalize().map_err(|error| format!("{solvers}: {error}"))?;
        if !real.starts_with(&inside) {
            return Err(format!("{path} leads out of {solvers}, to {}", real.display()));
        }
        let metadata = real.metadata().map_err(|error| format!("{path}: {error}"))?;
        if !metadata.is_file() {
            return Err(format!("{path} is not a regular file"));
        }
        if metadata.mode() & 0o111 == 0 {
            return Err(format!("{path} is not executable: chmod u+x {path}"));
        }
        for (walk, top) in [(&self.path, &self.solvers), (&real, &inside)] {
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

/// Whether anybody could put other words there. In a sticky folder nobody replaces others' files.
fn is_open(metadata: &Metadata) -> bool {
    let sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
    !metadata.is_symlink() && metadata.mode() & 0o002 != 0 && !sticky
}

/// One step of a path: no `/`, no `..`, nothing hidden, nothing that looks like an option.
fn component<'a>(field: &str, text: &'a str) -> Result<&'a str, String> {
    let fine = is_secret_key(text) && !text.starts_with(['.', '-']);
    fine.then_some(text).ok_or_else(|| {
        let text = if text.is_empty() { String::new() } else { shown(text) };
        format!(
            "{field}: `{text}` is no name of a file in solvers.d, made of letters, digits, '-', \
             '_' and '.'"
        )
    })
}
