//! What became of a write whose answer was lost.

use crate::store::documents::{Documents, Version};
use crate::store::error::StoreError;
use crate::store::key::Key;

/// How often a write is tried whose outcome stays unknown.
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
