//! What servers open, and what they would open if the links of the Secret's folder were intact.

use super::gather::published_pair;
use super::ports::{KeptSet, Store, StoreError};
use crate::controller::links;
use crate::resource::{CertificateRecord, DataLink, KeptPair, NamespacedName, Repair, SecretFiles};

/// The files of a Secret.
pub struct LiveFiles {
    /// The live ones, or those that repaired links would make live; `None` when there are none.
    pub files: Option<SecretFiles>,
    /// The broken links.
    pub repair: Option<Repair>,
    /// Whether sets exist and none of them is live.
    pub is_lost: bool,
}

/// Reads the live files; without `..data`, those of the set that the record names.
pub async fn live_files<S: Store>(
    store: &S,
    secret: &NamespacedName,
    record: Option<&CertificateRecord>,
) -> Result<LiveFiles, StoreError> {
    let found = store.links(secret).await?;
    let sets = match found.data {
        DataLink::Set(_) => Vec::new(),
        DataLink::Missing | DataLink::Folder => store.sets(secret).await?,
    };
    let is_lost = !sets.is_empty();
    let kept: Vec<KeptPair> = sets.iter().map(decoded).collect();
    let folder = match found.data {
        DataLink::Folder => store.published(secret).await.ok().flatten(),
        DataLink::Set(_) | DataLink::Missing => None,
    };
    let folder = folder.as_ref().map(published_pair);
    let repair = links::repair(record, &found, &kept, folder.as_ref());
    let chosen = repair.as_ref().and_then(|repair| repair.set.as_deref());
    let revision = record.and_then(|record| record.status.revision);
    for set in sets {
        match set.files {
            Ok(files) if Some(&*set.name) == chosen => {
                return Ok(LiveFiles { files: Some(files), repair, is_lost });
            }
            // The recorded set exists but cannot be read: no reason for a new order.
            Err(error) if repair.is_none() && Some(set.revision) == revision => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(LiveFiles { files: store.published(secret).await?, repair, is_lost })
}

/// A set, decoded.
pub(super) fn decoded(set: &KeptSet) -> KeptPair {
    KeptPair {
        name: set.name.clone(),
        revision: set.revision,
        is_live: set.is_live,
        pair: set.files.as_ref().map(published_pair).map_err(ToString::to_string),
    }
}
