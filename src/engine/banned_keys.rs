//! The keys that no certificate may use again.

use jiff::SignedDuration;

use super::ports::{Documents, Lock, Store, StoreError};
use crate::resource::BannedKey;
use crate::store::Records;

/// Adds a key, under the lock of what all certificates share; one that is banned already stays as it
/// is.
pub async fn ban<S: Store>(
    store: &S,
    key: BannedKey,
    lock_timeout: SignedDuration,
) -> Result<(), StoreError> {
    let _lease = store.documents().lease(&Lock::Scheduler, lock_timeout).await?;
    let records = Records::new(store.documents());
    let stored = records.banned_keys().await?;
    let (mut banned, revision) =
        stored.map_or_else(Default::default, |stored| (stored.value, Some(stored.revision)));
    if banned.contains(&key.public_key) {
        return Ok(());
    }
    banned.keys.push(key);
    records.put_banned_keys(&banned, revision.as_ref()).await.map(drop)
}
