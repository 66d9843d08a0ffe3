//! The documents that all certificates of a state share: banned keys, the queue of challenges.

use super::{Kept, Records};
use crate::resource::{BannedKeys, Queue};
use crate::store::port::{Etag, Key, Store, StoreError};

impl<S: Store> Records<'_, S> {
    /// The banned keys.
    pub async fn banned_keys(&self) -> Result<Option<Kept<BannedKeys>>, StoreError> {
        self.read(&Key::BannedKeys).await
    }

    /// Writes the banned keys, under the scheduler's lock.
    pub async fn put_banned_keys(
        &self,
        banned: &BannedKeys,
        expected: Option<&Etag>,
    ) -> Result<Etag, StoreError> {
        self.write(&Key::BannedKeys, banned, expected, |_, _| None).await
    }

    /// The queue of challenges. Read under its lock: it is set aside when it is damaged.
    pub async fn queue(&self) -> Result<Option<Kept<Queue>>, StoreError> {
        self.read(&Key::Scheduler).await
    }

    /// Writes the queue of challenges, under its lock.
    pub async fn put_queue(
        &self,
        queue: &Queue,
        expected: Option<&Etag>,
    ) -> Result<Etag, StoreError> {
        let bytes = self.seal(&Key::Scheduler, queue)?;
        match expected {
            Some(expected) => self.store.put_if(&Key::Scheduler, &bytes, expected).await,
            None => self.store.create(&Key::Scheduler, &bytes).await,
        }
    }
}
