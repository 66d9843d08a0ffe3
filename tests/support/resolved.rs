//! A store without unknown ends: what became of a write is found out by reading.
//!
//! Contract: no two writes are of the same bytes, and no two lines are the same, so that a caller knows
//! its own again. A `Conflict` can come of a write that was repeated on its way, and is looked into too.

use std::collections::BTreeSet;

use certctl::engine::ports::{
    Collection, Documents, Key, Lease, Lock, Log, Page, StoreError, Stored, Version,
};
use jiff::SignedDuration;

/// See the module.
#[derive(Debug)]
pub(crate) struct Resolved<D>(pub(crate) D);

/// How often in a row no answer comes. A lock that was taken without one is waited for through many.
const MOST_UNKNOWN: usize = 1000;

fn never_known<T>() -> T {
    panic!("no answer comes at all");
}

impl<D: Documents> Resolved<D> {
    /// The version of the document if it has these bytes.
    async fn own(&self, key: &Key, bytes: &[u8]) -> Result<Option<Version>, StoreError> {
        let found = self.0.get(key).await?;
        Ok(found.filter(|found| **found.bytes == *bytes).map(|found| found.revision))
    }

    async fn write(
        &self,
        key: &Key,
        bytes: &[u8],
        write: impl AsyncFn() -> Result<Version, StoreError>,
    ) -> Result<Version, StoreError> {
        for _ in 0..MOST_UNKNOWN {
            let error = match write().await {
                Err(error @ (StoreError::Unknown { .. } | StoreError::Conflict { .. })) => error,
                known => return known,
            };
            if let Some(version) = self.own(key, bytes).await? {
                return Ok(version);
            }
            if let StoreError::Conflict { .. } = error {
                return Err(error);
            }
        }
        never_known()
    }
}

async fn repeated<T>(mut ask: impl AsyncFnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    for _ in 0..MOST_UNKNOWN {
        let found = ask().await;
        if !matches!(found, Err(StoreError::Unknown { .. })) {
            return found;
        }
    }
    never_known()
}

impl<L: Lease> Lease for Resolved<L> {
    fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    fn left(&self) -> SignedDuration {
        self.0.left()
    }

    async fn renew(&mut self) -> Result<(), StoreError> {
        repeated(async || self.0.renew().await).await
    }
}

impl<D: Documents> Documents for Resolved<D> {
    const SHARED: bool = D::SHARED;

    type Lease = Resolved<D::Lease>;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        self.0.get(key).await
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        self.write(key, bytes, async || self.0.create(key, bytes).await).await
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        self.write(key, bytes, async || self.0.put_if(key, bytes, seen).await).await
    }

    async fn sync(&self, key: &Key) -> Result<(), StoreError> {
        repeated(async || self.0.sync(key).await).await
    }

    async fn settle(&self, key: &Key, past: &[Key]) -> Result<(), StoreError> {
        repeated(async || self.0.settle(key, past).await).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        repeated(async || self.0.delete(key).await).await
    }

    /// One that was there and is gone was set aside; its new name is lost with the answer.
    async fn quarantine(&self, key: &Key, seen: &Version) -> Result<String, StoreError> {
        let was_there = self.0.get(key).await?.is_some();
        repeated(async || match self.0.quarantine(key, seen).await {
            Err(StoreError::Unknown { .. }) if was_there && self.0.get(key).await?.is_none() => {
                Ok(format!("another name than {}", self.place(key)))
            }
            found => found,
        })
        .await
    }

    async fn list(&self, of: &Collection, after: Option<&Key>) -> Result<Page, StoreError> {
        self.0.list(of, after).await
    }

    async fn append(&self, log: &Log, lines: &[String]) -> Result<(), StoreError> {
        let mut missing = lines.to_vec();
        repeated(async || {
            let found = self.0.append(log, &missing).await;
            if let Err(StoreError::Unknown { .. }) = found {
                let there: BTreeSet<String> = self.0.read_log(log).await?.into_iter().collect();
                missing.retain(|line| !there.contains(line));
                return if missing.is_empty() { Ok(()) } else { found };
            }
            found
        })
        .await
    }

    async fn read_log(&self, log: &Log) -> Result<Vec<String>, StoreError> {
        self.0.read_log(log).await
    }

    /// A lock that was taken without an answer is waited for as another holder's.
    async fn lease(&self, lock: &Lock, wait: SignedDuration) -> Result<Self::Lease, StoreError> {
        repeated(async || self.0.lease(lock, wait).await).await.map(Resolved)
    }

    fn place(&self, key: &Key) -> String {
        self.0.place(key)
    }
}
