//! What became of a write whose answer was lost.

use crate::store::documents::{Documents, Version};
use crate::store::error::StoreError;
use crate::store::key::{Key, Log};

/// How often a write or an append is tried whose outcome stays unknown.
const TRIES: u32 = 3;

/// Writes a document: a new one, or the successor of the version `seen`. Where no answer came, or a
/// refusal that a repetition on the way may have caused, the document is read: one of these bytes is
/// this write. So no two writes may be of the same bytes, unless it does not matter whose they are.
pub(super) async fn write<D: Documents>(
    documents: &D,
    key: &Key,
    bytes: &[u8],
    seen: Option<&Version>,
) -> Result<Version, StoreError> {
    let mut tries = 0_u32;
    loop {
        tries = tries.saturating_add(1);
        let written = match seen {
            Some(seen) => documents.put_if(key, bytes, seen).await,
            None => documents.create(key, bytes).await,
        };
        let error = match written {
            Err(error @ (StoreError::Unknown { .. } | StoreError::Conflict { .. })) => error,
            known => return known,
        };
        if let Some(found) = documents.get(key).await?
            && **found.bytes == *bytes
        {
            return Ok(found.revision);
        }
        if tries >= TRIES || matches!(error, StoreError::Conflict { .. }) {
            return Err(error);
        }
    }
}

/// Appends lines to a log. Where no answer came, the log is read: what is not in it is appended again.
/// So no two lines may be the same, unless one of them is enough.
pub(super) async fn append<D: Documents>(
    documents: &D,
    log: &Log,
    lines: &[String],
) -> Result<(), StoreError> {
    let mut missing = lines.to_vec();
    let mut tries = 0_u32;
    loop {
        tries = tries.saturating_add(1);
        let error = match documents.append(log, &missing).await {
            Err(error @ StoreError::Unknown { .. }) => error,
            known => return known,
        };
        let found = documents.read_log(log).await?;
        missing.retain(|line| !found.contains(line));
        if missing.is_empty() {
            return Ok(());
        }
        if tries >= TRIES {
            return Err(error);
        }
    }
}
