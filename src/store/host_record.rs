//! What this host did and owes, whatever other hosts do.

use std::fs::File;

use super::error::StoreError;
use crate::resource::{FirstProcess, NamespacedName};

/// Whether a hook may be started.
#[derive(Debug)]
pub enum HookTurn {
    /// It may, with this locked file, which it inherits; without one where nothing outlives certctl.
    Free(Option<File>),
    /// It runs already: its first process, as far as it is known.
    Runs(Option<FirstProcess>),
}

/// What this host did and owes, whatever other hosts do: durable, but for the locks of hooks.
pub trait HostRecord {
    /// Whether the operator's hook ran for what `mark` names, which its record does not say.
    fn is_alerted(&self, certificate: &NamespacedName, mark: &str) -> bool;

    /// Notes that. Needs neither the certificate's lock nor space on the disk.
    fn note_alert(&self, certificate: &NamespacedName, mark: &str) -> Result<(), StoreError>;

    /// Leaves what the operator's hook is to hear of the certificate whose key has this digest to a run
    /// that can run the hook, in place of what was left before.
    fn leave_alert(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Removes what was left for that certificate, if anything was.
    fn forget_alert(&self, digest: &str) -> Result<(), StoreError>;

    /// Takes the lock of a hook's or solver's run, named by a digest, unless that of an ended run runs:
    /// `runs` says whether its first process does.
    fn hook_turn(
        &self,
        digest: &str,
        runs: impl Fn(FirstProcess) -> bool,
    ) -> Result<HookTurn, StoreError>;

    /// Gives the lock of a hook's run up, once the hook has ended.
    fn hook_ended(&self, digest: &str) -> Result<(), StoreError>;
}
