//! A set of files of a Secret: its folder's name, its files, the links that point to them, and the
//! Certificate that it belongs to.

use std::collections::BTreeMap;

use super::folder::{Folder, Guard, text};
use crate::resource::{SecretFiles, SecretMetadata, annotation, envelope};
use crate::store::error::StoreError;
use crate::store::live_files::LiveSet;

/// The one link that moves.
pub(super) const DATA: &str = "..data";

/// How the folders of published sets begin.
pub(super) const REVISION_PREFIX: &str = "..revision-";

/// The files of a published set, unless its metadata cannot be read.
pub(super) fn read_set(set: &Folder) -> Result<SecretFiles, StoreError> {
    read_listed(set, set.entries()?).map(|live| live.files)
}

/// The same, of the files with these names.
pub(super) fn read_listed(set: &Folder, names: Vec<String>) -> Result<LiveSet, StoreError> {
    let files = read_named(set, names)?;
    let metadata = SecretMetadata::of(&files).transpose().map_err(|error| {
        let path = text(&set.join(SecretMetadata::FILE));
        StoreError::unreadable::<SecretMetadata>(error, path)
    })?;
    Ok(LiveSet { files, metadata })
}

/// All files of a folder of files.
pub(super) fn read_all(data: &Folder) -> Result<SecretFiles, StoreError> {
    read_named(data, data.entries()?)
}

fn read_named(data: &Folder, names: Vec<String>) -> Result<SecretFiles, StoreError> {
    let mut files = BTreeMap::new();
    for name in names {
        if !name.starts_with('.')
            && let Some(bytes) = data.read(&name, guard(&name))?
        {
            files.insert(name, bytes);
        }
    }
    Ok(SecretFiles(files))
}

/// How private a file of a Secret is.
pub(super) fn guard(name: &str) -> Guard {
    match name {
        "tls.crt" | "ca.crt" => Guard::Public,
        _ => Guard::Secret,
    }
}

/// The target of the link under a stable name.
pub(super) fn stable_target(name: &str) -> String {
    format!("{DATA}/{name}")
}

/// Makes a folder `<prefix><k>`, with the first k that is free.
pub(super) fn make_numbered(folder: &Folder, prefix: &str) -> Result<String, StoreError> {
    let mut number: u64 = 0;
    loop {
        let name = format!("{prefix}{number}");
        if folder.make_child(&name)? {
            return Ok(name);
        }
        number = number.saturating_add(1);
    }
}

/// The Certificate that a set was published for, where its metadata can be read.
pub(super) fn owner_of(folder: &Folder, set: &str) -> Option<String> {
    let set = folder.child(set).ok()??;
    let bytes = set.read(SecretMetadata::FILE, Guard::Secret).ok()??;
    named_in(&bytes)
}

/// The same of files that are to be published.
pub(super) fn owner_in(files: &SecretFiles) -> Option<String> {
    named_in(files.0.get(SecretMetadata::FILE)?)
}

pub(super) fn named_in(metadata: &[u8]) -> Option<String> {
    let metadata = envelope::open::<SecretMetadata>(metadata).ok()?;
    metadata.annotations.get(annotation::CERTIFICATE_NAME).cloned()
}
