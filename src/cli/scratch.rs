//! A temporary folder, removed at the end.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;

use super::error::CliError;
use super::exit::ExitCode;
use crate::store::remove_tree;

/// See the module.
pub(crate) struct Scratch {
    path: PathBuf,
    /// The folder that it is in, held open: its name is resolved there, not by path.
    base: File,
    name: String,
}

impl Scratch {
    /// A new one, private to this user; `what` is part of its name.
    pub(crate) fn new(what: &str) -> Result<Self, CliError> {
        let failed = |error: std::io::Error| CliError::new(ExitCode::State, error);
        let folder = std::env::temp_dir();
        let base = File::open(&folder).map_err(failed)?;
        for number in 0..1_000_u32 {
            let name = format!("certctl-{what}-{}-{number}", std::process::id());
            match rustix::fs::mkdirat(&base, &name, Mode::RWXU) {
                Ok(()) => return Ok(Self { path: folder.join(&name), base, name }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        Err(CliError::new(ExitCode::State, format_args!("{}: no free name", folder.display())))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.base, &self.name) {
            tracing::warn!("cannot remove {}: {error}", self.path.display());
        }
    }
}
