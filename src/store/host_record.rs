//! What this host did and owes, whatever other hosts do.

use std::fs::File;
use std::path::PathBuf;

use jiff::Timestamp;

use super::error::StoreError;
use super::key::Lock;
use crate::resource::{FirstProcess, NamespacedName};

/// What a run left for the operator's hook for failures.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftAlert {
    pub(super) file: String,
    /// What [`HostRecord::leave_alert`] got.
    pub bytes: Vec<u8>,
}

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
    /// What this host did and owes of a certificate, where hosts share the documents; without them it
    /// is part of the certificate's record.
    fn section(&self, certificate: &NamespacedName) -> Result<Option<Vec<u8>>, StoreError>;

    /// Writes that, under the certificate's lock.
    fn put_section(&self, certificate: &NamespacedName, bytes: &[u8]) -> Result<(), StoreError>;

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

    /// What earlier runs left, in no order.
    fn left_alerts(&self) -> Result<Vec<LeftAlert>, StoreError>;

    /// Removes one that was heard, unless there is a newer one of its certificate.
    fn end_alert(&self, left: &LeftAlert) -> Result<(), StoreError>;

    /// Notes that a run that no person watched ends now. A state that is not there is not made, and
    /// another user's is left alone.
    fn note_run(&self, now: Timestamp) -> Result<(), StoreError>;

    /// When such a run ended last; `None` when none is known.
    fn last_run(&self) -> Option<Timestamp>;

    /// When the state was made, where that is known.
    fn made(&self) -> Option<Timestamp>;

    /// The process that holds a lock now, for messages.
    fn holder(&self, of: &Lock) -> Result<Option<String>, StoreError>;

    /// Whether a run can write here, as far as owner, mode and space show it, entry by entry: for one
    /// look at a host, not for each run.
    fn check_entries(&self) -> Result<(), StoreError>;

    /// The other files among the requests and orders of a certificate, relative to the state
    /// directory: not read, not removed, only reported. Those that begin with a dot are certctl's
    /// own temporaries.
    fn strays(&self, name: &NamespacedName) -> Result<Vec<String>, StoreError>;

    /// The folder of presented HTTP-01 tokens.
    fn http01_path(&self) -> PathBuf;
}
