//! The seam of the store: what can be kept, and how it is read and written.

use jiff::SignedDuration;
use thiserror::Error;

use crate::resource::envelope::{Document, Unreadable};
use crate::resource::{Event, NamespacedName, SecretFiles, SecretLinks};

/// What a stored document is about. The store alone knows which file that is.
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
    /// `resource::BannedKeys`, written under [`Lock::Scheduler`] only: that lock is for what all
    /// certificates share.
    BannedKeys,
    /// `resource::Queue`, written under [`Lock::Scheduler`] only. It is of use to processes that
    /// live, so that a write of it need not be durable.
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

/// A document as read.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored {
    /// The bytes. For JSON documents the envelope with the format version is already removed by
    /// the typed layer, `store::Records`.
    pub bytes: zeroize::Zeroizing<Vec<u8>>,
    /// For the next `put_if`.
    pub revision: Etag,
}

/// One set of files of a Secret.
#[derive(Debug)]
pub struct KeptSet {
    /// Its folder's name.
    pub name: String,
    /// The revision it was published as; 0 when it was there before certctl.
    pub revision: u32,
    /// Whether it is the live one.
    pub is_live: bool,
    /// What is in it.
    pub files: Result<SecretFiles, StoreError>,
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
    /// The life of one run that has challenges: whoever can take it has found a run that is gone.
    /// The number is the smallest that no other run holds. Taken under [`Lock::Scheduler`].
    Run(u32),
}

/// Where state lives; shaped for compare-and-swap, so that a shared store can come.
///
/// Contract: a write that returned is durable, but for [`Key::Scheduler`]; a reader sees the old or the new document, never a
/// part; `create` and `put_if` fail when somebody else was faster.
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

    /// Renames a document that cannot be understood aside, so that it is neither read again nor
    /// overwritten, and says where it is now. `seen` is what was read: a document that changed
    /// since is left alone, as a `Conflict`. A store opened for reading renames nothing.
    fn quarantine(
        &self,
        key: &Key,
        seen: &Etag,
    ) -> impl Future<Output = Result<String, StoreError>>;

    /// Where a document is, for messages.
    fn place(&self, key: &Key) -> String;

    /// Removes a document; one that is not there is no error.
    fn delete(&self, key: &Key) -> impl Future<Output = Result<(), StoreError>>;

    /// Lists the documents under a prefix, in order.
    fn list(&self, prefix: &Prefix) -> impl Future<Output = Result<Vec<Key>, StoreError>>;

    /// Takes a lock, waiting at most `wait` for somebody else to give it back.
    fn lock(
        &self,
        lock: &Lock,
        wait: SignedDuration,
    ) -> impl Future<Output = Result<Self::Lease, StoreError>>;

    /// Appends to a certificate's journal. For people; best effort in durability.
    fn journal(
        &self,
        certificate: &NamespacedName,
        events: &[Event],
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// Appends one line to `issuance.log`.
    fn log_issuance(&self, line: &str) -> impl Future<Output = Result<(), StoreError>>;

    /// Puts a set of files live in one step (DESIGN section 3). Publishing what is live already
    /// does nothing. Of the older sets, the one that was live before stays, and `last_good`. In a
    /// run that found sets and none of them live, all stay.
    fn publish(
        &self,
        secret: &NamespacedName,
        revision: u32,
        files: &SecretFiles,
        last_good: Option<&str>,
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// How the links are by which servers reach the live files of a Secret.
    fn links(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<SecretLinks, StoreError>>;

    /// Puts these links right, so that they lead to a set that is there; without one, the folder
    /// that `..data` is becomes the set, of this revision. Nothing is lost.
    fn restore_links(
        &self,
        secret: &NamespacedName,
        set: Option<&str>,
        revision: u32,
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// Where the files of a Secret are, for the operator's programs.
    fn secret_place(&self, secret: &NamespacedName) -> String {
        format!("secrets/{secret}")
    }

    /// The sets of files of a Secret that are kept, by revision, then as they were made. What a
    /// killed run left half-made is among them.
    fn sets(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<Vec<KeptSet>, StoreError>>;

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

/// What can go wrong with the state; every variant names the place.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The operating system said no.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// What was tried, as a verb: `write`, `create`, `rename`, ….
        action: &'static str,
        /// The error.
        source: std::io::Error,
    },
    /// A file cannot be understood; it was renamed aside, not overwritten.
    #[error("{path}: cannot be read ({why}); kept as {kept_as}")]
    Corrupt {
        /// Where it was.
        path: String,
        /// What is wrong with it.
        why: String,
        /// Where it is now.
        kept_as: String,
    },
    /// A file of a newer certctl.
    #[error(
        "{path}: was written by a newer certctl: its format is version {found}, this certctl knows versions up to {known}; it is left as it is"
    )]
    Version {
        /// The file.
        path: String,
        /// Its version.
        found: u64,
        /// The newest version known here.
        known: u64,
    },
    /// A name that cannot be the name of a file.
    #[error("{name:?} cannot be used as the name of a file")]
    Name {
        /// The name.
        name: String,
    },
    /// Something else is where a plain file or folder belongs.
    #[error("{path}: is {found}, not {expected}")]
    NotPlain {
        /// Where.
        path: String,
        /// What it is, with its article: `a symbolic link`, ….
        found: &'static str,
        /// What belongs there, likewise: `a plain file`, `a folder`.
        expected: &'static str,
    },
    /// A file over the limit; it was not read, or not written.
    #[error("{path}: larger than {max} bytes")]
    TooLarge {
        /// The file.
        path: String,
        /// The limit, in bytes.
        max: u64,
    },
    /// Others may read or write what only the owner should.
    #[error("{path}: mode {mode:04o} is too open for a private file")]
    TooOpen {
        /// The file or folder.
        path: String,
        /// Its permission bits.
        mode: u32,
    },
    /// The state belongs to another user.
    #[error("{path}: belongs to user {owner}, not to user {us}")]
    ForeignOwner {
        /// The folder.
        path: String,
        /// Its owner's uid.
        owner: u32,
        /// Our uid.
        us: u32,
    },
    /// Somebody else wrote first.
    #[error("{path}: changed by somebody else meanwhile")]
    Conflict {
        /// The document.
        path: String,
    },
    /// A field that never changes was to be changed.
    #[error("{path}: {field} cannot change once set")]
    Immutable {
        /// The document.
        path: String,
        /// The field, by its JSON name.
        field: String,
    },
    /// A lock was not given back in time.
    #[error("{what} is locked by {holder}")]
    Locked {
        /// What is locked, for people.
        what: String,
        /// Who holds it: `process 1234`, or `another process`.
        holder: String,
    },
}

impl StoreError {
    /// A document at `path` that cannot be used, and is there still.
    pub(super) fn unreadable<T: Document>(error: Unreadable, path: String) -> Self {
        match error {
            Unreadable::Version(found) => Self::Version { path, found, known: T::VERSION },
            Unreadable::Damaged(why) => Self::Corrupt { kept_as: path.clone(), path, why },
        }
    }
}
