//! The seam of the store: what is stored, and how it is read and written.

use std::fs::File;

use jiff::SignedDuration;
use thiserror::Error;

pub use super::wrong_entry::WrongEntry;
use crate::host::rights;
use crate::resource::envelope::{Document, Unreadable};
use crate::resource::{
    Event, FirstProcess, Fix, Issuance, NamespacedName, SecretFiles, SecretLinks, SecretMetadata,
    hex,
};
use crate::trust::TrustError;

/// The identity of a stored document. Only the store knows its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// `resource::CertificateRecord` of a certificate.
    Certificate(NamespacedName),
    /// `resource::CertificateRequest` of one revision.
    Request(NamespacedName, u32),
    /// `resource::Order` number n of one revision.
    Order(NamespacedName, u32, u32),
    /// The next private key, PKCS#8 PEM.
    NextKey(NamespacedName),
    /// `resource::Account`, by the digest of its identity.
    Account(String),
    /// The account's private key, PKCS#8 PEM.
    AccountKey(String),
    /// `resource::AccountLimits` of an account.
    AccountLimits(String),
    /// `resource::BannedKeys`, written under [`Lock::Scheduler`] only: that lock covers what all
    /// certificates share.
    BannedKeys,
    /// `resource::RevokedCertificate`, by its fingerprint. Written once, and never changed.
    Revoked(String),
    /// `resource::Queue`, written under [`Lock::Scheduler`] only. Only living processes need it, so
    /// that a write of it need not be durable.
    Scheduler,
}

/// Which documents to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// All `Key::Certificate`.
    Certificates,
    /// All `Key::Request` of one certificate, by revision.
    Requests(NamespacedName),
    /// All `Key::Order` of one certificate, by revision and number.
    Orders(NamespacedName),
    /// All `Key::Account`.
    Accounts,
}

/// Which version of a document was read. Opaque; equal when the document is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Etag(pub String);

impl Etag {
    /// SHA-256 over the bytes of a document, lower-case hexadecimal.
    pub fn of(bytes: &[u8]) -> Self {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
        Self(hex(digest.as_ref()))
    }
}

/// A document as read.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored {
    /// The bytes. For JSON documents the envelope with the format version is already removed by
    /// the typed layer, `store::Records`.
    pub bytes: zeroize::Zeroizing<Vec<u8>>,
    /// For the next `put_if`; empty from a store that was opened for reading.
    pub revision: Etag,
}

impl Stored {
    /// A document with these bytes.
    pub(super) fn of(bytes: zeroize::Zeroizing<Vec<u8>>) -> Self {
        Self { revision: Etag::of(&bytes), bytes }
    }

    /// The same, for a reader: nothing is written after it, and a digest of all that is shown would
    /// be a good part of the work.
    pub(super) fn shown(bytes: zeroize::Zeroizing<Vec<u8>>) -> Self {
        Self { revision: Etag(String::new()), bytes }
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").field("revision", &self.revision).finish_non_exhaustive()
    }
}

/// The files that are live.
#[derive(Debug)]
pub struct LiveSet {
    pub files: SecretFiles,
    /// What is in their `metadata.json`; `None` when there is none.
    pub metadata: Option<SecretMetadata>,
}

/// One set of files of a Secret.
#[derive(Debug)]
pub struct SecretSet {
    /// Its folder's name.
    pub name: String,
    /// The revision it was published as; 0 for an adopted pair.
    pub revision: u32,
    /// Whether it is the live one.
    pub is_live: bool,
    pub files: Result<SecretFiles, StoreError>,
}

/// Whether a hook may be started.
#[derive(Debug)]
pub enum HookTurn {
    /// It may, with this locked file, which it inherits; without one where nothing outlives certctl.
    Free(Option<File>),
    /// It runs already: its first process, as far as it is known.
    Runs(Option<FirstProcess>),
}

/// What can be locked. Order: certificate, then account or scheduler, then run;
/// never the reverse.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    /// One certificate's documents and secret.
    Certificate(NamespacedName),
    /// One account, by the digest of its identity.
    Account(String),
    /// The queue of challenges.
    Scheduler,
    /// The life of one run that has challenges: if another run can take it, that run has ended.
    /// The number is the smallest that no other run holds. Taken under [`Lock::Scheduler`].
    Run(u32),
    /// One order at a CA, by the digest of its URL: held while a certificate's run works on it. It
    /// is tried, and waited for only by a run that holds no other one.
    Order(String),
}

/// Where state lives; shaped for compare-and-swap, so that a shared store can come.
///
/// Contract: a write that returned is durable, but for [`Key::Scheduler`] and [`Store::append`]; a
/// reader sees the old or the new document, never a part; `create`, `put_if` and `append` fail when
/// another writer was faster.
pub trait Store {
    /// Holds a lock until it is dropped, or until the process ends.
    type Lease;

    /// Reads a document.
    fn get(&self, key: &Key) -> impl Future<Output = Result<Option<Stored>, StoreError>>;

    /// Writes a document that must not exist yet.
    fn create(&self, key: &Key, bytes: &[u8]) -> impl Future<Output = Result<Etag, StoreError>>;

    /// Replaces the document that was read as `expected`.
    fn put_if(
        &self,
        key: &Key,
        bytes: &[u8],
        expected: &Etag,
    ) -> impl Future<Output = Result<Etag, StoreError>>;

    /// Renames a damaged document, so that it is neither read again nor
    /// overwritten, and returns the new name. `seen` is what was read: a document that changed
    /// since is left unchanged, as a `Conflict`. A store opened for reading renames nothing.
    fn quarantine(
        &self,
        key: &Key,
        seen: &Etag,
    ) -> impl Future<Output = Result<String, StoreError>>;

    /// The path of a document, for messages.
    fn place(&self, key: &Key) -> String;

    /// Removes a document; one that is not there is no error.
    fn delete(&self, key: &Key) -> impl Future<Output = Result<(), StoreError>>;

    /// Writes a step of the work on a certificate: `bytes` are the next version of one of its
    /// documents, none when it is removed, and `expected` is the version before, none when there must
    /// be none. Readers see it at once; it is durable, with all before it, after [`Store::sync`] or
    /// [`Store::settle`], which the work on a certificate ends with. Under the certificate's lock.
    fn append(
        &self,
        key: &Key,
        bytes: Option<&[u8]>,
        expected: Option<&Etag>,
    ) -> impl Future<Output = Result<Etag, StoreError>>;

    /// Makes the steps of the work on a certificate durable.
    fn sync(&self, certificate: &NamespacedName) -> impl Future<Output = Result<(), StoreError>>;

    /// Ends the work on a certificate: what its steps made of its documents is durable. Of those in
    /// `past` a power loss may take the file, so long as it is whole or gone.
    fn settle(
        &self,
        certificate: &NamespacedName,
        past: &[Key],
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// Lists the documents under a prefix, in order. A certificate may have none yet.
    fn list(&self, prefix: &Prefix) -> impl Future<Output = Result<Vec<Key>, StoreError>>;

    /// Takes a lock, waiting at most `wait` for another holder to release it.
    fn lock(
        &self,
        lock: &Lock,
        wait: SignedDuration,
    ) -> impl Future<Output = Result<Self::Lease, StoreError>>;

    /// Whether the operator's hook ran for what `mark` names, which its record does not say.
    fn is_alerted(&self, certificate: &NamespacedName, mark: &str) -> bool;

    /// Notes that. Needs neither the certificate's lock nor space on the disk.
    fn note_alert(&self, certificate: &NamespacedName, mark: &str) -> Result<(), StoreError>;

    /// Leaves what the operator's hook is to hear of the certificate whose key has this digest to a run
    /// that can run the hook, in place of what was left before.
    fn leave_alert(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Removes what was left for that certificate, if anything was.
    fn forget_alert(&self, digest: &str) -> Result<(), StoreError>;

    /// What [`Store::cache_directory`] stored for a CA, by a digest.
    fn cached_directory(&self, ca: &str) -> Option<Vec<u8>>;

    /// Caches a CA's directory for the next run. Not durable, and never the truth.
    fn cache_directory(&self, ca: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Appends to a certificate's journal. For users; best effort in durability.
    fn journal(
        &self,
        certificate: &NamespacedName,
        events: &[Event],
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// Appends one line to `issuance.log`.
    fn log_issuance(&self, line: &str) -> impl Future<Output = Result<(), StoreError>>;

    /// Whether this many certificates that are being issued can be stored, with their lines in the
    /// log of issuances.
    fn check_issuance(&self, certificates: usize) -> Result<(), StoreError>;

    /// Takes the lock of a hook's or solver's run, named by a digest, unless that of an ended run runs:
    /// `runs` says whether its first process does.
    fn hook_turn(
        &self,
        digest: &str,
        runs: impl Fn(FirstProcess) -> bool,
    ) -> Result<HookTurn, StoreError>;

    /// Gives the lock of a hook's run up, once the hook has ended.
    fn hook_ended(&self, digest: &str) -> Result<(), StoreError>;

    /// Whether a killed run left temporary files of this certificate or its Secret.
    fn has_temporaries(
        &self,
        certificate: &NamespacedName,
        secret: &NamespacedName,
    ) -> Result<bool, StoreError>;

    /// Removes them. The caller holds the certificate's lock.
    fn remove_temporaries(
        &self,
        certificate: &NamespacedName,
        secret: &NamespacedName,
    ) -> Result<(), StoreError>;

    /// The lines of `issuance.log`, oldest first; those that cannot be read are left out.
    fn issuances(&self) -> impl Future<Output = Result<Vec<Issuance>, StoreError>>;

    /// Puts a set of files live in one step (DESIGN section 3). Publishing what is live already
    /// does nothing. Of the older sets, the one that was live before stays, and `last_good`; those
    /// of other revisions stay when the live revision is written again. In a run that found sets and
    /// none of them live, all stay.
    fn publish(
        &self,
        secret: &NamespacedName,
        revision: u32,
        files: &SecretFiles,
        last_good: Option<&str>,
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// The state of the links by which servers reach the live files of a Secret.
    fn links(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<SecretLinks, StoreError>>;

    /// The same, with the files of the live set where both can be read in one go; without them,
    /// [`Store::published`] says what is live.
    fn live(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<(SecretLinks, Option<LiveSet>), StoreError>> {
        async move { Ok((self.links(secret).await?, None)) }
    }

    /// Repairs these links, so that they point to an existing set; without one, the folder
    /// that `..data` is becomes the set, of this revision. Nothing is lost.
    fn restore_links(
        &self,
        secret: &NamespacedName,
        set: Option<&str>,
        revision: u32,
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// The path of the files of a Secret, for the operator's programs.
    fn secret_place(&self, secret: &NamespacedName) -> String {
        format!("secrets/{secret}")
    }

    /// The sets of files of a Secret that are kept, by revision, then as they were made. What a
    /// killed run left half-made is among them.
    fn sets(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<Vec<SecretSet>, StoreError>>;

    /// Puts a set that was live before live again, in one step. One that is live already stays.
    fn switch_back(
        &self,
        secret: &NamespacedName,
        set: &str,
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// Reads the live set of files; `None` when nothing was ever published.
    fn published(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<Option<SecretFiles>, StoreError>>;
}

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
            | Self::Immutable { .. }
            | Self::Locked { .. } => None,
        }
    }

    /// A damaged document that is still at `path`.
    pub(super) fn unreadable<T: Document>(error: Unreadable, path: String) -> Self {
        match error {
            Unreadable::Version(found) => Self::Version { path, found, known: T::VERSION },
            Unreadable::Damaged(why) => Self::Corrupt { moved_to: path.clone(), path, why },
        }
    }
}
