//! What can be wrong with the state.

use thiserror::Error;

use super::wrong_entry::WrongEntry;
use crate::host::rights;
use crate::resource::Fix;
use crate::resource::envelope::{Document, Unreadable};
use crate::trust::TrustError;

/// The errors of the state; every variant names the path.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A system call failed.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// What was tried, as a verb: `write`, `create`, `rename`, ….
        action: &'static str,
        /// The error.
        source: std::io::Error,
    },
    /// A damaged file; it was renamed, not overwritten.
    #[error("{path}: cannot be read ({why}){}", set_aside(path, moved_to))]
    Corrupt {
        /// The original path.
        path: String,
        /// The error.
        why: String,
        /// The new path; the original one when nothing may be written.
        moved_to: String,
    },
    #[error(
        "{path}: was written by a newer certctl: its format is version {found}, this certctl \
         knows versions up to {known}; the file is unchanged"
    )]
    Version {
        path: String,
        /// Its version.
        found: u64,
        /// The newest version known here.
        known: u64,
    },
    /// A name that cannot be the name of a file.
    #[error("{name:?} cannot be used as the name of a file")]
    Name { name: String },
    /// An entry of another type is where a plain file or folder belongs.
    #[error("{path}: is {found}, not {expected}")]
    NotPlain {
        path: String,
        /// What it is, with its article: `a symbolic link`, ….
        found: &'static str,
        /// What belongs there, likewise: `a plain file`, `a folder`.
        expected: &'static str,
    },
    /// A file over the limit; it was not read, or not written.
    #[error("{path}: larger than {max} bytes")]
    TooLarge { path: String, max: u64 },
    /// Other users may read or write what only the owner should.
    #[error("{path}: mode {mode:04o} is too open for a private file")]
    TooOpen {
        path: String,
        mode: u32,
        /// The state, of an entry of it; `None` for the state itself.
        state: Option<String>,
    },
    /// The state belongs to another user.
    #[error("{path}: belongs to user {owner}, not to user {us}")]
    ForeignOwner {
        path: String,
        owner: u32,
        /// This process's uid; of an entry of the state, that of the state's owner.
        us: u32,
        /// The state, of an entry of it; `None` for the state itself.
        state: Option<String>,
    },
    /// Another user could exchange the state: a folder or link on the way to it is not ours.
    #[error("{0}")]
    Untrusted(TrustError),
    /// Another process wrote first.
    #[error("{path}: changed by another process meanwhile")]
    Conflict { path: String },
    /// The lock of a certificate ran out, and another host may have it: what this one knows is old.
    #[error("{what} was taken over by another host")]
    Lost {
        /// The lock, for messages.
        what: String,
    },
    /// No answer came to a write: it may have been done. Only a shared store ends so.
    #[error("{path}: whether it was written is not known ({why})")]
    Unknown { path: String, why: String },
    /// A write would change an immutable field.
    #[error("{path}: {field} cannot change once set")]
    Immutable {
        path: String,
        /// The field, by its JSON name.
        field: String,
    },
    /// A lock was not released in time.
    #[error("{what} is locked by {holder}")]
    Locked {
        /// The lock, for messages.
        what: String,
        /// The holder: `process 1234`, or `another process`.
        holder: String,
    },
}

/// What a run that writes does with a part of the state that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageCourse {
    /// A damaged document is renamed, and the certificate goes on without it.
    SetAside,
    /// A document of a newer certctl is left alone.
    LeftToNewer,
    /// The file or folder itself is not usable: permissions, or an entry of another type.
    Unusable,
}

/// Where a damaged file is now, if it was renamed.
fn set_aside(path: &str, moved_to: &str) -> String {
    if path == moved_to { String::new() } else { format!("; kept as {moved_to}") }
}

impl StoreError {
    /// Whether the system denied this user the permission.
    pub fn is_denied(&self) -> bool {
        let (Self::Io { source, .. } | Self::Untrusted(TrustError::Io { source, .. })) = self
        else {
            return false;
        };
        source.kind() == std::io::ErrorKind::PermissionDenied
    }

    /// What a run that writes does with what cannot be used.
    pub fn course(&self) -> DamageCourse {
        match self {
            Self::Corrupt { .. } => DamageCourse::SetAside,
            Self::Version { .. } => DamageCourse::LeftToNewer,
            Self::Io { .. }
            | Self::Name { .. }
            | Self::NotPlain { .. }
            | Self::TooLarge { .. }
            | Self::TooOpen { .. }
            | Self::ForeignOwner { .. }
            | Self::Untrusted(_)
            | Self::Conflict { .. }
            | Self::Unknown { .. }
            | Self::Lost { .. }
            | Self::Immutable { .. }
            | Self::Locked { .. } => DamageCourse::Unusable,
        }
    }

    /// The entry whose owner or mode is the reason.
    pub fn wrong_entry(&self) -> Option<WrongEntry> {
        match self {
            Self::ForeignOwner { path, owner, us, state: Some(state) } => Some(WrongEntry::Owner {
                path: path.clone(),
                owner: *owner,
                us: *us,
                state: state.clone(),
            }),
            Self::TooOpen { path, state, .. } => {
                Some(WrongEntry::Mode { path: path.clone(), state: state.clone() })
            }
            Self::Io { path, .. } if self.is_denied() => {
                Some(WrongEntry::Denied { path: path.clone() })
            }
            Self::Io { .. }
            | Self::ForeignOwner { state: None, .. }
            | Self::Corrupt { .. }
            | Self::Version { .. }
            | Self::Name { .. }
            | Self::NotPlain { .. }
            | Self::TooLarge { .. }
            | Self::Untrusted(_)
            | Self::Conflict { .. }
            | Self::Unknown { .. }
            | Self::Lost { .. }
            | Self::Immutable { .. }
            | Self::Locked { .. } => None,
        }
    }

    /// What to do about it, where that is known.
    pub fn fix(&self) -> Option<Fix> {
        if let Some(permit) = self.wrong_entry().as_ref().and_then(WrongEntry::permit) {
            return Some(Fix::Permit(permit));
        }
        match self {
            // Root acts as the owner, where it can.
            Self::ForeignOwner { owner, us, .. } => Some(Fix::Again((*us == 0).then_some(*owner))),
            // A process of root has all the permissions there are.
            _ if self.is_denied() => (!rights::is_of_root()).then_some(Fix::Again(None)),
            Self::Untrusted(error) => rights::trusted(error),
            Self::Io { .. }
            | Self::TooOpen { .. }
            | Self::Corrupt { .. }
            | Self::Version { .. }
            | Self::Name { .. }
            | Self::NotPlain { .. }
            | Self::TooLarge { .. }
            | Self::Conflict { .. }
            | Self::Unknown { .. }
            | Self::Lost { .. }
            | Self::Immutable { .. }
            | Self::Locked { .. } => None,
        }
    }

    /// A damaged document that is still at `path`.
    pub(crate) fn unreadable<T: Document>(error: Unreadable, path: String) -> Self {
        match error {
            Unreadable::Version(found) => Self::Version { path, found, known: T::VERSION },
            Unreadable::Damaged(why) => Self::Corrupt { moved_to: path.clone(), path, why },
        }
    }
}
