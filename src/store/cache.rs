//! What may be lost: it is read or asked for again.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jiff::Timestamp;

use super::error::StoreError;
use super::index::{Index, Witness, Writer};
use crate::resource::NamespacedName;

/// When CRLs are looked at for a sample of the certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// When every CRL of the sample was last read.
    pub done: Timestamp,
    /// When the next sample is due.
    pub next: Timestamp,
}

/// What may be lost without harm: its readers verify it, and read or ask again. What a store does not
/// implement is lost.
pub trait Cache {
    /// What [`Cache::cache_directory`] stored for a CA, by a digest.
    fn cached_directory(&self, ca: &str) -> Option<Vec<u8>>;

    /// Caches a CA's directory for the next run. Not durable, and never the truth.
    fn cache_directory(&self, ca: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// The cached CRL, and when it was written.
    fn cached_crl(&self, _digest: &str) -> Result<Option<(Vec<u8>, Timestamp)>, StoreError> {
        Ok(None)
    }

    /// Caches a CRL in place of an older one.
    fn cache_crl(&self, _digest: &str, _bytes: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }

    /// When CRLs were looked at; `None` before the first time, or when the file is damaged.
    fn looks(&self) -> Result<Option<Looks>, StoreError> {
        Ok(None)
    }

    /// Notes that they were, and removes the CRLs that were written before `outdated`.
    fn note_looks(&self, _looks: Looks, _outdated: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    /// When each message was last reported, by its digest; a damaged line is none.
    fn reported(&self) -> Result<BTreeMap<String, Timestamp>, StoreError> {
        Ok(BTreeMap::new())
    }

    /// Replaces all of it.
    fn note_reported(&self, _reported: &BTreeMap<String, Timestamp>) -> Result<(), StoreError> {
        Ok(())
    }

    /// The index of all certificates, or of the files with this digest, if there is one that only
    /// this user can have written.
    fn index(&self, _of: Option<&str>) -> Option<Index> {
        None
    }

    /// When the index of all certificates was last written; `None` without one.
    fn index_written(&self) -> Option<Timestamp> {
        None
    }

    /// Replaces the index by the lines that `add_all` adds. A run that is killed leaves a temporary,
    /// which the next one sweeps.
    fn write_index(
        &self,
        _of: Option<&str>,
        _add_all: impl FnOnce(&mut Writer<'_>) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    /// The facts of a path; `None` when they cannot be had.
    fn witness(&self, _path: &Path) -> Option<Witness> {
        None
    }

    /// What is shared by all certificates: the folders of their names, and the banned keys.
    fn shared_witnesses(&self) -> Option<Vec<Witness>> {
        None
    }

    /// The files that change when a run works on a certificate: its record, and the steps in flight.
    fn record_witnesses(&self, _certificate: &NamespacedName) -> Option<Vec<Witness>> {
        None
    }

    /// What a certificate is decided from in the state: its record, the request of this revision,
    /// the steps in flight, and what servers open. `None` when no set is live.
    fn witnesses(
        &self,
        _certificate: &NamespacedName,
        _revision: Option<u32>,
        _of: &NamespacedName,
    ) -> Option<Vec<Witness>> {
        None
    }

    /// Whether the facts of a path are the same as before.
    fn holds(&self, before: &Witness) -> bool {
        self.witness(Path::new(&before.0)).is_some_and(|now| now == *before)
    }
}
