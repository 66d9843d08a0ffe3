//! The documents that all certificates of a state share: banned keys, revoked certificates, the
//! queue of challenges.

use super::{Records, Versioned};
use crate::resource::{BannedKeys, Queue, RevokedCertificate};
use crate::store::documents::{Documents, Version};
use crate::store::error::StoreError;
use crate::store::key::Key;

impl<D: Documents> Records<'_, D> {
    /// The banned keys.
    pub async fn banned_keys(&self) -> Result<Option<Versioned<BannedKeys>>, StoreError> {
        self.read(&Key::BannedKeys).await
    }

    /// Writes the banned keys, under the scheduler's lock.
    pub async fn put_banned_keys(
        &self,
        banned: &BannedKeys,
        expected: Option<&Version>,
    ) -> Result<Version, StoreError> {
        self.write(&Key::BannedKeys, banned, expected, |_, _| None).await
    }

    /// What is known of a certificate that its CA has revoked, by its fingerprint.
    pub async fn revoked(
        &self,
        fingerprint: &str,
    ) -> Result<Option<RevokedCertificate>, StoreError> {
        // A damaged one stays: its name says what matters.
        let found = self.look(&Key::Revoked(fingerprint.to_owned())).await?;
        Ok(found.map(|stored| stored.value))
    }

    /// Remembers that a CA has revoked a certificate; one that is remembered stays as it is.
    pub async fn remember_revoked(&self, revoked: &RevokedCertificate) -> Result<(), StoreError> {
        let key = Key::Revoked(revoked.fingerprint.clone());
        let bytes = self.seal(&key, revoked)?;
        match self.put(&key, &bytes, None).await {
            Ok(_) | Err(StoreError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The queue of challenges. Read under its lock: it is set aside when it is damaged.
    pub async fn queue(&self) -> Result<Option<Versioned<Queue>>, StoreError> {
        self.read(&Key::Scheduler).await
    }

    /// Writes the queue of challenges, under its lock.
    pub async fn put_queue(
        &self,
        queue: &Queue,
        expected: Option<&Version>,
    ) -> Result<Version, StoreError> {
        let bytes = self.seal(&Key::Scheduler, queue)?;
        self.put(&Key::Scheduler, &bytes, expected).await
    }
}
