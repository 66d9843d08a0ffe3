//! The lock of a hook's run, which outlives a killed certctl as the hook does.
//!
//! The processes of the hook inherit the locked file, and its first process is noted in it. Contract:
//! while that one runs, the lock is not given to another run; what the hook left running in the
//! background keeps no run waiting.

use std::fs::File;

use super::folder::{Folder, Guard};
use super::{layout, lock};
use crate::store::port::StoreError;

/// A held lock. Dropped without [`HookLock::done`], its file stays: the hook may still run.
#[derive(Debug)]
pub struct HookLock {
    folder: Folder,
    name: String,
    file: File,
}

/// Whether a hook may be started.
#[derive(Debug)]
pub enum HookTurn {
    /// It may, with this lock; without one where nothing outlives certctl.
    Free(Option<HookLock>),
    /// It runs already: the number of its first process, as far as it is known.
    Runs(Option<i32>),
}

impl HookLock {
    /// What the hook inherits.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The hook has ended.
    pub fn done(self) {
        if let Err(error) = self.folder.remove(&self.name) {
            tracing::warn!(%error, "a lock file is left");
        }
    }
}

/// Takes the lock of the hook run that is named by `digest`; `runs` says whether the first process
/// of a run is still there.
pub(super) fn take(
    folder: Folder,
    digest: &str,
    runs: impl Fn(i32) -> bool,
) -> Result<HookTurn, StoreError> {
    let name = format!("{}{digest}", layout::HOOK_LOCK);
    loop {
        let file = lock::open(&folder, &name)?;
        if lock::has_taken(&folder, &name, &file)? {
            return Ok(HookTurn::Free(Some(HookLock { folder, name, file })));
        }
        let text = folder.read(&name, Guard::Document)?.unwrap_or_default();
        let process = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
        match process {
            // It has ended, and left others in the background: those keep the old file.
            Some(process) if !runs(process) => drop(folder.remove(&name)?),
            process => return Ok(HookTurn::Runs(process)),
        }
    }
}
