//! The operator's hooks, and who runs them.

use std::path::PathBuf;

use crate::program::Runner;

/// The operator's hooks.
#[derive(Clone, Debug, Default)]
pub struct HooksDir {
    /// `hooks.d`.
    pub folder: PathBuf,
    /// Who runs deploy hooks and reloads.
    pub run_by: Hooks,
}

impl HooksDir {
    /// Who runs a hook that this run starts.
    pub(super) fn runner(&self) -> Runner {
        match self.run_by {
            Hooks::Now | Hooks::Later => Runner::Us,
            Hooks::AsRoot => Runner::Root,
        }
    }

    /// Who runs deploy hooks and reloads, now or later.
    pub(super) fn deployer(&self) -> Runner {
        match self.run_by {
            Hooks::Now => Runner::Us,
            Hooks::Later => Runner::Other,
            Hooks::AsRoot => Runner::Root,
        }
    }
}

/// Who runs deploy hooks and reloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hooks {
    /// This run, as its own user.
    #[default]
    Now,
    /// A later run: they stay owed, which is no failure of this one.
    Later,
    /// This run, as root, which needs the capabilities to become root.
    AsRoot,
}
