//! `in-flight`: the steps of a certificate that is being worked on, appended to one file.
//!
//! A run that writes each step of an issuance into the file of its document pays for each with two
//! syncs, of the file and of its folder. Appended here, the steps of a run have one name, and one
//! sync makes all of them durable, in their order. At the end of the run the documents are written
//! to their own files, and this file goes.
//!
//! Contract:
//! - Written under the certificate's lock only. The next holder of the lock writes to the documents
//!   what a killed run left, and removes the file, before it reads anything.
//! - A record is one change of one document: a line of JSON (`Head`), the bytes of the document,
//!   and a line with the SHA-256 of both. Appending is one write. A record that is not whole ends
//!   the reading: it and all after it count as not written. What a power loss leaves is so always
//!   what a kill after one of the steps would have left.
//! - A head names the document, its digest before (`base`, [`Version::of`]; none for a document that
//!   did not exist) and the digest of the `status.json` on disk when the file was begun (`after`). A
//!   record holds only if `status.json` still is that one, and the document, with the records before
//!   it, is its base. Any other is stale, and ignored: the file came back after a power loss, or the
//!   documents were written since.
//! - `status.json` is therefore written after the requests and orders, and from then on the file says
//!   nothing: that it is removed needs no sync. In a run that leaves `status.json` as it was, the
//!   removal is synced.
//! - A write of several documents is as many records, appended together: none of them holds without
//!   the last.
//! - Each head carries the version of this format. A newer one is refused, and the file left alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use super::folder::MAX_BYTES;
use crate::resource::{NamespacedName, hex};
use crate::store::documents::{Stored, Version};
use crate::store::error::StoreError;
use crate::store::frame::discard;
use crate::store::key::Part;

/// The name of the file, in the certificate's folder.
pub(super) const FILE: &str = "in-flight";

/// The version of the records.
const VERSION: u64 = 1;

/// The size at which the documents are written to their files, and the next record begins another
/// file, in bytes. Some twelve steps of an order with 100 names; a record's head and digest fit in too.
pub(super) const FULL: u64 = MAX_BYTES / 4 * 3;

/// The first line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Head {
    version: u64,
    document: Part,
    /// The digest of the `status.json` on disk.
    #[serde(rename = "after")]
    status: Option<String>,
    base: Option<String>,
    /// Of the document, in bytes; none when it is removed.
    length: Option<usize>,
    /// Whether the next record is of the same write, and neither holds without the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    continues: bool,
}

/// What the steps made of a document.
#[derive(Clone, Debug)]
pub(super) enum Made {
    Written(Stored),
    Removed,
}

impl Made {
    fn of(stored: Option<Stored>) -> Self {
        stored.map_or(Self::Removed, Self::Written)
    }

    /// The document, if there is one.
    pub(super) fn stored(&self) -> Option<&Stored> {
        match self {
            Self::Written(stored) => Some(stored),
            Self::Removed => None,
        }
    }
}

/// What the records of a file say.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// The `status.json` on disk that they follow.
    status: Option<Version>,
    /// The versions of the documents on disk, where these steps were begun here.
    on_disk: Option<Arc<Versions>>,
    /// The documents that they change, as they are now.
    documents: BTreeMap<Part, Made>,
    /// Up to where the file is whole, in bytes.
    length: u64,
}

impl Steps {
    /// No steps yet, after these documents.
    pub(super) fn following(on_disk: Arc<Versions>) -> Self {
        let status = on_disk.get(&Part::Record).cloned();
        Self { status, on_disk: Some(on_disk), ..Self::default() }
    }

    /// Reads a file. `on_disk` returns the digest of a document's own file; `place` is for messages.
    pub(super) fn read(
        bytes: &[u8],
        place: &str,
        on_disk: impl Fn(Part) -> Result<Option<Version>, StoreError>,
    ) -> Result<Self, StoreError> {
        let mut steps = Self { status: on_disk(Part::Record)?, ..Self::default() };
        let (mut rest, mut whole) = (bytes, 0_usize);
        // Those of a write that is not whole yet.
        let mut begun = Vec::new();
        while let Some((head, document, length)) = record(rest, place)? {
            rest = rest.get(length..).unwrap_or_default();
            let is_last = !head.continues;
            begun.push((head, document));
            if !is_last {
                continue;
            }
            whole = bytes.len().saturating_sub(rest.len());
            for (head, document) in begun.drain(..) {
                let now = match steps.documents.get(&head.document) {
                    Some(made) => made.stored().map(|stored| stored.revision.clone()),
                    None => on_disk(head.document)?,
                };
                if head.status.map(Version) == steps.status && head.base.map(Version) == now {
                    steps.keep(head.document, Made::of(document.map(Stored::of)));
                }
            }
        }
        steps.length = u64::try_from(whole).unwrap_or(u64::MAX);
        Ok(steps)
    }

    /// The record of a change. `continues`: the next record is of the same write.
    pub(super) fn record(&self, change: &Change<'_>, continues: bool) -> Record {
        let head = Head {
            version: VERSION,
            document: change.part,
            status: self.status.as_ref().map(|version| version.0.clone()),
            base: change.base.as_ref().map(|version| version.0.clone()),
            length: change.bytes.map(<[u8]>::len),
            continues,
        };
        let mut line = serde_json::to_vec(&head).unwrap_or_default();
        line.push(b'\n');
        let document = change.bytes.unwrap_or_default();
        let digest = digest(&line, document);
        // Allocated at once: a vector that grows would leave copies of keys behind.
        let mut record = Zeroizing::new(Vec::with_capacity(line.len() + document.len() + 66));
        record.extend_from_slice(&line);
        record.extend_from_slice(document);
        record.push(b'\n');
        record.extend_from_slice(digest.as_bytes());
        record.push(b'\n');
        record
    }

    /// Notes a change whose record was appended.
    pub(super) fn add(&mut self, change: Change<'_>, record: Record) {
        self.length = self.length.saturating_add(u64::try_from(record.len()).unwrap_or(u64::MAX));
        discard(change.part, record);
        let stored = change
            .bytes
            .zip(change.version)
            .map(|(bytes, revision)| Stored { bytes: Zeroizing::new(bytes.to_vec()), revision });
        self.keep(change.part, Made::of(stored));
    }

    fn keep(&mut self, part: Part, made: Made) {
        if let Some(Made::Written(old)) = self.documents.insert(part, made) {
            discard(part, old.bytes);
        }
    }

    /// What the steps made of a document; `None` when they have not changed it.
    pub(super) fn document(&self, part: Part) -> Option<&Made> {
        self.documents.get(&part)
    }

    /// All of them.
    pub(super) fn documents(&self) -> impl Iterator<Item = (Part, Option<&Stored>)> {
        self.documents.iter().map(|(part, made)| (*part, made.stored()))
    }

    /// The versions of the documents on disk, if these steps were begun here.
    pub(super) fn on_disk(&self) -> Option<&Arc<Versions>> {
        self.on_disk.as_ref()
    }

    /// Up to where the file is whole, in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

/// A change of a document of the certificate.
#[derive(Clone, Debug)]
pub(super) struct Change<'a> {
    pub(super) part: Part,
    /// The version before; none when there was none.
    pub(super) base: Option<Version>,
    /// None when it is removed.
    pub(super) bytes: Option<&'a [u8]>,
    /// That of the bytes.
    pub(super) version: Option<Version>,
}

/// The versions of the documents of a certificate.
pub(super) type Versions = BTreeMap<Part, Version>;

/// The files that were read or written last, by certificate.
#[derive(Debug, Default)]
pub(super) struct Open {
    files: Mutex<HashMap<NamespacedName, File>>,
    /// Those of the documents' own files, as they were read where there was no such file.
    on_disk: Mutex<HashMap<NamespacedName, (Facts, Arc<Versions>)>>,
}

/// What tells that none of the documents' own files was written since: the work on a certificate ends
/// by removing its file of steps from the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) folder: (u64, i64, u64),
    pub(super) record: Option<(u64, i64, u64)>,
}

/// A file as it was left.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) seen: Stat,
    pub(super) steps: Arc<Steps>,
    /// Whether the file's name, and the way to it, are durable.
    pub(super) is_named: bool,
    /// Whether its bytes are.
    pub(super) is_synced: bool,
}

impl Open {
    /// All of them.
    pub(super) fn get(&self) -> MutexGuard<'_, HashMap<NamespacedName, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The versions that were read where there was no file.
    pub(super) fn on_disk(
        &self,
    ) -> MutexGuard<'_, HashMap<NamespacedName, (Facts, Arc<Versions>)>> {
        self.on_disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File {
    /// Whether the file was not written since.
    pub(super) fn is_same(&self, now: &Stat) -> bool {
        let before = &self.seen;
        (before.st_dev, before.st_ino, before.st_size) == (now.st_dev, now.st_ino, now.st_size)
            && (before.st_ctime, before.st_ctime_nsec) == (now.st_ctime, now.st_ctime_nsec)
    }
}

/// The bytes of a record.
pub(super) type Record = Zeroizing<Vec<u8>>;

/// The head of a record, its document, and its length.
type Parsed = (Head, Option<Zeroizing<Vec<u8>>>, usize);

/// The first record; `None` at the end, and where what follows is not whole.
fn record(bytes: &[u8], place: &str) -> Result<Option<Parsed>, StoreError> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let (line, rest) = bytes.split_at(end.saturating_add(1));
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return Ok(None) };
    if let Some(found) = value.get("version").and_then(Value::as_u64)
        && found > VERSION
    {
        return Err(StoreError::Version { path: place.to_owned(), found, known: VERSION });
    }
    let Ok(head) = serde_json::from_value::<Head>(value) else { return Ok(None) };
    let length = head.length.unwrap_or_default();
    let Some((document, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    let sum = format!("\n{}\n", digest(line, document));
    if !rest.starts_with(sum.as_bytes()) {
        return Ok(None);
    }
    let whole = line.len().saturating_add(length).saturating_add(sum.len());
    let document = head.length.map(|_| Zeroizing::new(document.to_vec()));
    Ok(Some((head, document, whole)))
}

fn digest(head: &[u8], document: &[u8]) -> String {
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    context.update(head);
    context.update(document);
    hex(context.finish().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_a_head_are_those_of_version_1() {
        let on_disk = [(Part::Record, Version("aa".to_owned()))];
        let steps = Steps::following(Arc::new(on_disk.into_iter().collect()));
        let change = Change {
            part: Part::Order(7, 1),
            base: Some(Version("bb".to_owned())),
            bytes: Some(b"{}"),
            version: None,
        };
        let head = |continues| {
            let record = steps.record(&change, continues);
            std::str::from_utf8(&record).unwrap().lines().next().unwrap().to_owned()
        };
        let expected =
            r#"{"version":1,"document":{"order":[7,1]},"after":"aa","base":"bb","length":2}"#;
        assert_eq!(head(false), expected);
        assert_eq!(head(true), expected.replace("2}", "2,\"continues\":true}"));
    }
}
