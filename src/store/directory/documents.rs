//! The documents in the state directory.

use jiff::SignedDuration;

use super::{StateDirectory, is_fleeting};
use crate::store::documents::{Documents, Page, Stored, Version};
use crate::store::error::StoreError;
use crate::store::folder::text;
use crate::store::key::{Collection, Key, Lock, Log};
use crate::store::lock::{self, KernelLock};
use crate::store::opening::OpenMode;
use crate::store::{atomic, journal, layout};

impl Documents for StateDirectory {
    const SHARED: bool = false;

    type Lease = KernelLock;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        match key {
            Key::Certificate(of) => return self.whole(of),
            Key::Part(of, part) => return self.part(of, *part),
            Key::Pair(..) => return Ok(None),
            Key::Account(_)
            | Key::AccountKey(_)
            | Key::AccountLimits(_)
            | Key::BannedKeys
            | Key::Revoked(_)
            | Key::Scheduler => {}
        }
        let place = layout::document(key)?;
        let is_shared = matches!(key, Key::Account(_) | Key::BannedKeys);
        if let Some(opened) = self.opened().filter(|_| is_shared) {
            return opened.shared(&place, || self.read(&place));
        }
        let found = self.read(&place)?;
        // After a power loss it may be empty, which is as good as none. Its readers have its lock.
        if is_fleeting(key) && found.as_ref().is_some_and(|found| found.bytes.is_empty()) {
            if self.mode == OpenMode::ReadWrite {
                self.writable_root()?.remove(&place.file)?;
            }
            return Ok(None);
        }
        Ok(found)
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        match key.certificate().filter(|_| !matches!(key, Key::Pair(..))) {
            Some(of) => self.put_step(of, bytes, None),
            None => self.create_file(key, bytes),
        }
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        match key.certificate() {
            Some(of) => self.put_step(of, bytes, Some(seen)),
            None => self.replace_file(key, bytes, seen),
        }
    }

    async fn sync(&self, key: &Key) -> Result<(), StoreError> {
        key.certificate().map_or(Ok(()), |of| self.sync_steps(of))
    }

    async fn settle(&self, key: &Key, past: &[Key]) -> Result<(), StoreError> {
        key.certificate().map_or(Ok(()), |of| self.settle_steps(of, past))
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        if matches!(key, Key::Pair(..)) {
            return Ok(());
        }
        let Some(of) = key.certificate() else { return self.remove_file(key) };
        // The record goes last: a repeated removal ends what a killed one left.
        self.open_steps().get().remove(of);
        self.remove_folder(layout::certificate(of)?, Some(layout::STATUS_FILE))
    }

    async fn quarantine(&self, key: &Key, seen: &Version) -> Result<String, StoreError> {
        let place = layout::document(key)?;
        let Some(folder) = self.find(&place.folders)? else { return Err(self.conflict(&place)) };
        if self.mode == OpenMode::ReadOnly {
            return Ok(text(&folder.join(&place.file)));
        }
        if self.get(key).await?.is_none_or(|found| found.revision != *seen) {
            return Err(self.conflict(&place));
        }
        // Its bytes may be among the steps alone, and without its file all of them would be stale.
        if let Some(of) = key.certificate() {
            self.settle_steps(of, &[])?;
        }
        atomic::set_aside(&folder, &place.file, &place.file)
    }

    /// All of them: a folder is read whole.
    async fn list(&self, of: &Collection, last: Option<&Key>) -> Result<Page, StoreError> {
        let mut keys = self.keys(of)?;
        keys.retain(|key| last.is_none_or(|last| key > last));
        Ok(Page { keys, has_more: false })
    }

    async fn append(&self, log: &Log, lines: &[String]) -> Result<(), StoreError> {
        match log {
            Log::Events(of) => {
                journal::append_events(&self.make_unsynced(&layout::certificate(of)?)?, lines)
            }
            Log::Issuances => journal::log_issuances(self.writable_root()?, lines),
        }
    }

    async fn read_log(&self, log: &Log) -> Result<Vec<String>, StoreError> {
        let names = match log {
            Log::Events(of) => layout::certificate(of)?,
            Log::Issuances => Vec::new(),
        };
        self.find(&names)?.map_or_else(|| Ok(Vec::new()), |folder| journal::read(&folder, log))
    }

    async fn lease(&self, lock: &Lock, wait: SignedDuration) -> Result<KernelLock, StoreError> {
        let place = layout::lock(lock)?;
        let folder = self.make_fleeting(&place.folders)?;
        let lease = lock::take(&folder, &place.file, layout::lock_title(lock), wait).await?;
        self.sweep(lock)?;
        if let Lock::Certificate(name) = lock {
            self.settle_steps(name, &[])?;
        }
        // There is one for each order that ever was.
        let is_fleeting = matches!(lock, Lock::Order(_));
        Ok(if is_fleeting { lease.removing(folder, place.file) } else { lease })
    }

    fn place(&self, key: &Key) -> String {
        layout::document(key).map_or_else(
            |error| error.to_string(),
            |place| text(&self.path.join(place.relative_path())),
        )
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::resource::NamespacedName;

    #[test]
    fn the_directory_has_no_pairs_beside_the_live_sets() {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(&scratch.path().join("s"), OpenMode::ReadWrite).unwrap();
        let web = NamespacedName::new("default", "web");
        let pair = Key::Pair(web.clone(), 1, "ab".to_owned());
        assert!(state.get(&pair).now_or_never().unwrap().unwrap().is_none());
        let made = state.create(&pair, b"pair").now_or_never().unwrap();
        let message = made.unwrap_err().to_string();
        let expected = "the pair of revision 1 of default/web: cannot write";
        assert!(message.starts_with(expected), "{message}");
        let listed = state.list(&Collection::Pairs(web), None).now_or_never().unwrap();
        assert_eq!(listed.unwrap(), Page::default());
        state.delete(&pair).now_or_never().unwrap().unwrap();
    }
}
