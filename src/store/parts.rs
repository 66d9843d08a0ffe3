//! A state in its parts.

use super::cache::Cache;
use super::documents::Documents;
use super::error::StoreError;
use super::host_record::HostRecord;
use super::live_files::LiveFiles;

/// A state in its parts: hosts may share the documents, and never the rest.
pub trait Store {
    type Documents: Documents;
    type LiveFiles: LiveFiles;
    type HostRecord: HostRecord;
    type Cache: Cache;

    fn documents(&self) -> &Self::Documents;

    fn live_files(&self) -> &Self::LiveFiles;

    fn host_record(&self) -> &Self::HostRecord;

    fn cache(&self) -> &Self::Cache;

    /// Makes what was opened for reading writable: what is written is where it was read. After an
    /// error, all is as before. Stores that know no such difference do nothing.
    fn make_writable(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The locks of the documents of a state.
pub type LeaseOf<S> = <<S as Store>::Documents as Documents>::Lease;
