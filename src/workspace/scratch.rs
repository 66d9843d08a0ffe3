//! A temporary folder, removed at the end.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::store::remove_tree;

/// See the module.
pub struct Scratch {
    path: PathBuf,
    /// The folder that it is in, held open: its name is resolved there, not by path.
    base: File,
    name: String,
}

impl Scratch {
    /// A new one, private to this user; `what` is part of its name.
    pub fn new(what: &str) -> io::Result<Self> {
        let folder = std::env::temp_dir();
        let base = File::open(&folder)?;
        for number in 0..1_000_u32 {
            let name = format!("certctl-{what}-{}-{number}", std::process::id());
            match rustix::fs::mkdirat(&base, &name, Mode::RWXU) {
                Ok(()) => return Ok(Self { path: folder.join(&name), base, name }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other(format!("{}: no free name", folder.display())))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
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
