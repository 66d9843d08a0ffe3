//! A folder for what must not stay, removed at the end.

use std::path::{Path, PathBuf};

use super::error::CliError;
use super::exit::ExitCode;

/// See the module.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new one, private to this user; `what` is part of its name.
    pub(crate) fn new(what: &str) -> Result<Self, CliError> {
        let failed = |error: std::io::Error| CliError::new(ExitCode::State, error);
        let base = std::env::temp_dir();
        for number in 0..1_000_u32 {
            let name = format!("certctl-{what}-{}-{number}", std::process::id());
            let path = base.join(name);
            let mut builder = std::fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(CliError::new(ExitCode::State, format_args!("{}: no free name", base.display())))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!("{} is left behind: {error}", self.0.display());
        }
    }
}
