//! The documents that all hosts of one state share.
//!
//! The state directory implements [`Documents`] ([`super::directory`]); a database or a bucket can.

use jiff::SignedDuration;

use super::error::StoreError;
use super::key::{Collection, Key, Lock, Log};
use crate::resource::hex;

/// Which version of a document was read. Opaque; equal when the document is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(pub String);

impl Version {
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
    pub revision: Version,
}

impl Stored {
    /// A document with these bytes.
    pub(super) fn of(bytes: zeroize::Zeroizing<Vec<u8>>) -> Self {
        Self { revision: Version::of(&bytes), bytes }
    }

    /// The same, for a reader: nothing is written after it, and a digest of all that is shown would
    /// be a good part of the work.
    pub(super) fn shown(bytes: zeroize::Zeroizing<Vec<u8>>) -> Self {
        Self { revision: Version(String::new()), bytes }
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").field("revision", &self.revision).finish_non_exhaustive()
    }
}

/// One page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order of keys.
    pub keys: Vec<Key>,
    /// Whether there may be more, after the last of these.
    pub has_more: bool,
}

/// A lock that is held. It is given back when this is dropped, or when the process ends; a shared store
/// gives it to another holder once it has run out.
pub trait Lease: std::fmt::Debug {
    /// Counts the holders of the lock: a later one has a greater number. The count of a
    /// [`Lock::Order`] may begin again once nothing holds it.
    fn epoch(&self) -> u64;

    /// How long the lock is surely held, by a clock that goes on while the machine sleeps;
    /// [`SignedDuration::MAX`] where it is until the process ends.
    fn left(&self) -> SignedDuration;

    /// Holds the lock for longer. [`StoreError::Conflict`]: another one has it.
    fn renew(&mut self) -> impl Future<Output = Result<(), StoreError>>;
}

/// What all hosts of one state share. But for the removal of a certificate, which may be repeated, no
/// call spans two documents: nothing here needs a transaction.
///
/// Contract:
/// - All that is stored of a certificate is one document, a [`Frame`](super::Frame): who has slept and
///   lost its lock fails at its next write. Its parts are read and set aside by their own keys, too, and
///   not written by them; the version of a part is [`Version::of`] its bytes.
/// - A `get` or `list` after a write that returned sees it, in all processes that may write. A reader
///   sees the old or the new bytes, never a part.
/// - A write ends with a version, in [`StoreError::Conflict`] (another writer was faster, and nothing
///   was written), or in [`StoreError::Unknown`] (it may have been written, or be written some time
///   later: if it was a `create`, also after a `delete`). A shared store may repeat a write whose
///   answer is lost, and so end one that was done in `Conflict` with itself.
/// - A version may be a digest: a document that has its old bytes again may have its old version.
///   Who must notice that, or know its own write again, never writes the same bytes twice: for that a
///   certificate's has a [`WriteId`](super::WriteId), which a store need not keep whose locks last as
///   long as their holders.
/// - What is written of a certificate is seen at once, and durable after [`Documents::sync`] or
///   [`Documents::settle`], with all that was written of it before; the work under a
///   [`Lock::Certificate`] ends with the latter. All else is durable when the write returns, but for
///   [`Key::Scheduler`], which only living processes need.
/// - What belongs to a certificate is written under its lock, an account's under the account's.
pub trait Documents {
    /// Whether other hosts use these documents: then each [`Key::Pair`] is one of them, and the live
    /// files of this host follow what the record names. Else the live set is the pair.
    const SHARED: bool;

    type Lease: Lease;

    /// Reads a document.
    fn get(&self, key: &Key) -> impl Future<Output = Result<Option<Stored>, StoreError>>;

    /// Writes a document that must not exist yet.
    fn create(&self, key: &Key, bytes: &[u8]) -> impl Future<Output = Result<Version, StoreError>>;

    /// Replaces the document that was read as `seen`.
    fn put_if(
        &self,
        key: &Key,
        bytes: &[u8],
        seen: &Version,
    ) -> impl Future<Output = Result<Version, StoreError>>;

    /// Makes what was written of the document's certificate durable. Nothing to do where each write is.
    fn sync(&self, key: &Key) -> impl Future<Output = Result<(), StoreError>>;

    /// Ends the work on a certificate, whose document `key` is: all that was written of it is durable.
    /// Of the documents in `past` a power loss may take any, so long as it is whole or gone.
    fn settle(&self, key: &Key, past: &[Key]) -> impl Future<Output = Result<(), StoreError>>;

    /// Removes a document; one that is not there is no error. With that of a certificate go its events.
    fn delete(&self, key: &Key) -> impl Future<Output = Result<(), StoreError>>;

    /// Renames a damaged document, so that it is neither read again nor overwritten, and returns the
    /// new name, for messages. `seen` is what was read: a document that changed since, or is gone, is
    /// left unchanged, as a `Conflict`. A store opened for reading renames nothing. What is renamed of
    /// the queue may be lost.
    fn quarantine(
        &self,
        key: &Key,
        seen: &Version,
    ) -> impl Future<Output = Result<String, StoreError>>;

    /// Lists documents in the order of keys, after the last one of the page before, which may be gone.
    /// A page that has more after it is not empty. A certificate that is listed may have no document yet.
    fn list(
        &self,
        of: &Collection,
        last: Option<&Key>,
    ) -> impl Future<Output = Result<Page, StoreError>>;

    /// Appends lines to a log, each without a line end; all or none where nothing fails. Those of other
    /// processes may come between them.
    fn append(&self, log: &Log, lines: &[String]) -> impl Future<Output = Result<(), StoreError>>;

    /// The lines of a log, oldest first. One that was cut off may be among them.
    fn read_log(&self, log: &Log) -> impl Future<Output = Result<Vec<String>, StoreError>>;

    /// Takes a lock, waiting at most `wait` for another holder to release it; then
    /// [`StoreError::Locked`]. A wait that is not positive is one attempt. After
    /// [`StoreError::Unknown`] the lock may be taken until it runs out.
    fn lease(
        &self,
        lock: &Lock,
        wait: SignedDuration,
    ) -> impl Future<Output = Result<Self::Lease, StoreError>>;

    /// Where a document is, for messages.
    fn place(&self, key: &Key) -> String;
}
