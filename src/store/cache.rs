//! What may be lost: it is read or asked for again.

use super::error::StoreError;

/// What may be lost without harm: its readers verify it, and read or ask again.
pub trait Cache {
    /// What [`Cache::cache_directory`] stored for a CA, by a digest.
    fn cached_directory(&self, ca: &str) -> Option<Vec<u8>>;

    /// Caches a CA's directory for the next run. Not durable, and never the truth.
    fn cache_directory(&self, ca: &str, bytes: &[u8]) -> Result<(), StoreError>;
}
