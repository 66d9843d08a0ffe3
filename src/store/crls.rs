//! `crls/`: the CRLs that the issued certificates name, and when they were last looked at.
//!
//! Contract: its reader verifies a CRL. What is lost is fetched again, so nothing is synced;
//! of two runs that write the same file one wins.

use jiff::Timestamp;

use super::atomic;
use super::directory::StateDirectory;
use super::folder::Guard;
use super::layout;
use crate::store::error::StoreError;

/// When CRLs are looked at for a sample of the certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// When every CRL of the sample was last read.
    pub done: Timestamp,
    /// When the next sample is due.
    pub next: Timestamp,
}

impl StateDirectory {
    /// The cached CRL, and when it was written.
    pub fn cached_crl(&self, digest: &str) -> Result<Option<(Vec<u8>, Timestamp)>, StoreError> {
        let place = layout::crl(digest)?;
        let Some(folder) = self.find(&place.folders)? else { return Ok(None) };
        let Some(bytes) = folder.read(&place.file, Guard::Document)? else { return Ok(None) };
        let written = folder.stat(&place.file)?;
        let written = written.and_then(|stat| Timestamp::from_second(stat.st_mtime).ok());
        Ok(written.map(|at| (bytes.to_vec(), at)))
    }

    /// Caches a CRL in place of an older one.
    pub fn cache_crl(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let place = layout::crl(digest)?;
        atomic::replace_fleeting(&self.make(&place.folders)?, &place.file, bytes)
    }

    /// When CRLs were looked at; `None` before the first time, or when the file is damaged.
    pub fn looks(&self) -> Result<Option<Looks>, StoreError> {
        let Some(stored) = self.read(&layout::crl_looks())? else { return Ok(None) };
        let text = std::str::from_utf8(&stored.bytes).unwrap_or_default();
        let times = text.split_once(' ');
        Ok(times.and_then(|(done, next)| {
            Some(Looks { done: done.parse().ok()?, next: next.trim_end().parse().ok()? })
        }))
    }

    /// Notes that they were, and removes the CRLs that were written before `outdated`.
    pub fn note_looks(&self, looks: Looks, outdated: Timestamp) -> Result<(), StoreError> {
        let place = layout::crl_looks();
        let folder = self.make(&place.folders)?;
        let text = format!("{} {}\n", looks.done, looks.next);
        atomic::replace_fleeting(&folder, &place.file, text.as_bytes())?;
        for name in folder.entries()? {
            let written = folder.stat(&name)?.map(|stat| stat.st_mtime);
            if name != place.file && written.is_some_and(|at| at < outdated.as_second()) {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::store::OpenMode;

    #[test]
    fn a_crl_is_kept_until_it_is_outdated_and_damaged_times_are_none() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!((state.looks().unwrap(), state.cached_crl("1f").unwrap()), (None, None));
        state.cache_crl("1f", b"old").unwrap();
        state.cache_crl("1f", b"new").unwrap();
        let (bytes, written) = state.cached_crl("1f").unwrap().unwrap();
        assert_eq!(bytes, b"new");
        let second = SignedDuration::from_secs(1);
        let looks = Looks { done: written, next: written + second };
        state.note_looks(looks, written).unwrap();
        assert_eq!(state.looks().unwrap(), Some(looks));
        assert_eq!(state.cached_crl("1f").unwrap(), Some((bytes, written)));
        state.note_looks(looks, written + second).unwrap();
        assert_eq!((state.looks().unwrap(), state.cached_crl("1f").unwrap()), (Some(looks), None));
        for damaged in ["", "2026-01-01T00:00:00Z", "never ever\n"] {
            let folder = state.find(&layout::crl_looks().folders).unwrap().unwrap();
            atomic::replace_fleeting(&folder, "looks", damaged.as_bytes()).unwrap();
            assert_eq!(state.looks().unwrap(), None, "{damaged:?}");
        }
    }
}
