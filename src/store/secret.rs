//! Issued secrets: a set of files that goes live in one rename, laid out as the kubelet does.
//!
//! Contract: whoever opens `..data` once as a folder and reads through that handle sees one
//! complete set. The rename of `..data`, made durable, is the commit point: before it the old set
//! is live, after it the new one. The set that was live before stays until the next publish. What
//! a killed run left half-made is never live, and goes with the next publish.

use std::collections::BTreeMap;

use rustix::fs::FileType;

use super::folder::{Folder, Guard, text};
use super::{adoption, atomic, layout};
use crate::engine::ports::StoreError;
use crate::resource::SecretFiles;

/// The one link that moves.
pub(super) const DATA: &str = "..data";

/// How the folders of published sets begin.
pub(super) const REVISION_PREFIX: &str = "..revision-";

/// Metadata of the Secret: published like any file, but under no stable name.
const METADATA_FILE: &str = "metadata.json";

/// How often a reader looks again when publishes overtake it.
const READ_TRIES: usize = 100;

/// Puts a set of files live.
pub(super) fn publish(
    folder: &Folder,
    revision: u32,
    files: &SecretFiles,
) -> Result<(), StoreError> {
    for name in files.0.keys() {
        layout::check_secret_file(name)?;
    }
    folder.sweep()?;
    adoption::settle(folder, revision, files)?;
    let live = live_name(folder)?;
    if let Some(live) = &live
        && live.starts_with(&format!("{REVISION_PREFIX}{revision}-"))
        && is_live(folder, files)
    {
        // The run that made it live may have been killed before it was durable, or tidy.
        link_names(folder, files)?;
        folder.sync()?;
        remove_stale_names(folder, files);
        return Ok(());
    }
    let fresh = make_revision(folder, revision, files)?;
    let switched = link_names(folder, files)
        .and_then(|()| folder.sync())
        .and_then(|()| atomic::link(folder, &fresh, DATA));
    if let Err(error) = switched {
        // A rename that reports an error may have been done all the same.
        if live_name(folder).is_ok_and(|now| now == live) {
            discard(folder, &fresh);
        }
        return Err(error);
    }
    folder.sync()?;
    remove_stale_names(folder, files);
    prune(folder, &fresh, live.as_deref());
    Ok(())
}

/// Reads the live set, or the files that are here without certctl; `None` when there is neither.
pub(super) fn published(folder: &Folder) -> Result<Option<SecretFiles>, StoreError> {
    for _ in 0..READ_TRIES {
        live_name(folder)?;
        let Some(data) = folder.linked_child(DATA)? else {
            let files = adoption::read(folder);
            // Somebody may have published while the files were being read.
            if folder.linked_child(DATA)?.is_none() {
                return files;
            }
            continue;
        };
        // A set is pruned only after another went live, so when this one still is, it was
        // complete; its inode is not used again as long as the handle is open.
        let files = read_all(&data);
        if let Some(now) = folder.linked_child(DATA)?
            && now.is_same(&data)?
        {
            return files.map(Some);
        }
    }
    Err(StoreError::Conflict { path: text(folder.path()) })
}

/// All files of a folder of files.
pub(super) fn read_all(data: &Folder) -> Result<SecretFiles, StoreError> {
    let mut files = BTreeMap::new();
    for name in data.entries()? {
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

/// Where the link under a stable name leads.
pub(super) fn stable_target(name: &str) -> String {
    format!("{DATA}/{name}")
}

/// The name of the folder that is live; `None` when there is none, or it is not a link yet.
fn live_name(folder: &Folder) -> Result<Option<String>, StoreError> {
    let Some(target) = folder.link_target(DATA)? else { return Ok(None) };
    if !target.starts_with("..") || target == ".." || target.contains('/') {
        let found = "a link that leads out of its folder";
        let path = text(&folder.join(DATA));
        return Err(StoreError::NotPlain { path, found, expected: "a link to a published set" });
    }
    Ok(Some(target))
}

/// Whether these are the live files. Files that cannot be read are not.
fn is_live(folder: &Folder, files: &SecretFiles) -> bool {
    let Ok(Some(data)) = folder.linked_child(DATA) else { return false };
    read_all(&data).is_ok_and(|live| live == *files)
}

/// Writes a complete and durable set that is not live yet, and returns its folder's name.
fn make_revision(
    folder: &Folder,
    revision: u32,
    files: &SecretFiles,
) -> Result<String, StoreError> {
    let name = make_numbered(folder, &format!("{REVISION_PREFIX}{revision}-"))?;
    let fill = || {
        let Some(fresh) = folder.child(&name)? else {
            return Err(StoreError::Conflict { path: text(&folder.join(&name)) });
        };
        for (file, bytes) in &files.0 {
            atomic::write_new(&fresh, file, bytes)?;
        }
        fresh.sync()
    };
    match fill() {
        Ok(()) => Ok(name),
        Err(error) => {
            discard(folder, &name);
            Err(error)
        }
    }
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

/// Makes each stable name a link through `..data`. Whatever else has the name is kept aside.
fn link_names(folder: &Folder, files: &SecretFiles) -> Result<(), StoreError> {
    let names = files.0.keys().filter(|name| *name != METADATA_FILE);
    let mut aside = None;
    for name in names {
        let target = stable_target(name);
        match folder.kind(name)? {
            Some(FileType::Symlink) if folder.link_target(name)?.as_ref() == Some(&target) => {}
            Some(_) => adoption::replace_by_link(folder, name, &mut aside)?,
            None => atomic::link(folder, &target, name)?,
        }
    }
    Ok(())
}

/// Removes the links to files that the live set does not have. The set is live already: what
/// cannot be removed is left to the next publish.
fn remove_stale_names(folder: &Folder, files: &SecretFiles) {
    let remove = || -> Result<(), StoreError> {
        for name in folder.entries()? {
            let is_live = files.0.contains_key(&name) && name != METADATA_FILE;
            if !is_live && folder.link_target(&name)?.as_ref() == Some(&stable_target(&name)) {
                folder.remove(&name)?;
            }
        }
        Ok(())
    };
    if let Err(error) = remove() {
        tracing::warn!(%error, "link to a file that is no longer published not removed");
    }
}

/// Removes all sets but the live one and the one before.
fn prune(folder: &Folder, live: &str, previous: Option<&str>) {
    let prune = || -> Result<(), StoreError> {
        for name in folder.entries()? {
            if name.starts_with(REVISION_PREFIX) && name != live && Some(&*name) != previous {
                folder.remove_any(&name)?;
            }
        }
        Ok(())
    };
    if let Err(error) = prune() {
        tracing::warn!(%error, "old revision not removed");
    }
}

/// Removes a set that did not go live. The error that led here is the one to report.
fn discard(folder: &Folder, name: &str) {
    if let Err(error) = folder.remove_tree(name) {
        tracing::warn!(%error, "unfinished revision not removed");
    }
}
