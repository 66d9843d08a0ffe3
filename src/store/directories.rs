//! `directories/`: the ACME directories of CAs, cached for the next run.
//!
//! Contract: its reader verifies what it reads. What is lost is fetched again, so nothing is
//! synced; of two runs that write the same file one wins.

use super::atomic;
use super::directory::StateDirectory;
use super::layout;
use crate::store::error::StoreError;

impl StateDirectory {
    /// The cached directory.
    pub(super) fn cached_directory_of(&self, ca: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let cached = self.read(&layout::directory(ca)?)?;
        Ok(cached.map(|stored| stored.bytes.to_vec()))
    }

    /// Caches a directory in place of an older one.
    pub(super) fn cache_directory_of(&self, ca: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let place = layout::directory(ca)?;
        // Only a new folder is made: making one syncs.
        let folder = match self.find(&place.folders)? {
            Some(folder) => folder,
            None => self.make(&place.folders)?,
        };
        atomic::replace_fleeting(&folder, &place.file, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenMode;

    #[test]
    fn a_directory_is_kept_for_its_ca_until_a_newer_one_is() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!(state.cached_directory_of("1f").unwrap(), None);
        for text in [b"old", b"new"] {
            state.cache_directory_of("1f", text).unwrap();
            assert_eq!(state.cached_directory_of("1f").unwrap(), Some(text.to_vec()));
        }
        assert_eq!(state.cached_directory_of("2f").unwrap(), None);
    }
}
