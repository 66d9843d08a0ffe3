//! Files in a secret's folder before a publish that certctl did not leave there.
//!
//! Three cases, and in each a reader sees the same bytes at every moment:
//! - plain `tls.crt`, `tls.key`, `ca.crt` and no `..data`: put there by the user. They become the
//!   live set as they are, in `..adopted-<n>`, which is never removed;
//! - a `..data` that is a folder: a backup tool followed the link. The folder and a link to it
//!   change places;
//! - anything else under a stable name: it is kept in `..adopted-<n>`, and replaced by the link.

use std::collections::BTreeMap;

use rustix::fs::{AtFlags, FileType, RenameFlags};
use rustix::io::{Errno, retry_on_intr};

use super::atomic;
use super::folder::{Folder, Guard, io_error, text};
use super::set::{self, DATA, REVISION_PREFIX, guard, make_numbered, stable_target};
use crate::resource::SecretFiles;
use crate::store::error::StoreError;

/// The files that are adopted.
const ADOPTED: [&str; 3] = ["ca.crt", "tls.crt", "tls.key"];

pub(super) const ADOPTED_PREFIX: &str = "..adopted-";

/// Reads the plain files that were put there; `None` when there are none.
pub(super) fn read(folder: &Folder) -> Result<Option<SecretFiles>, StoreError> {
    let mut files = BTreeMap::new();
    for name in ADOPTED {
        // A link without a live set is not a file.
        if folder.link_target(name)?.as_ref() == Some(&stable_target(name)) {
            continue;
        }
        if let Some(bytes) = folder.read(name, guard(name))? {
            files.insert(name.to_owned(), bytes);
        }
    }
    Ok((!files.is_empty()).then_some(SecretFiles(files)))
}

/// Gives a folder the layout of a published one, without changing what readers see. `wanted`
/// is about to be published as `revision`.
pub(super) fn settle(
    folder: &Folder,
    revision: u32,
    wanted: &SecretFiles,
) -> Result<(), StoreError> {
    match folder.kind(DATA)? {
        Some(FileType::Symlink) if folder.linked_child(DATA)?.is_some() => Ok(()),
        Some(FileType::Directory) => put_right(folder, revision, wanted),
        // A dangling link shows readers as little as no link.
        Some(FileType::Symlink) | None => adopt(folder),
        Some(_) => {
            let path = text(&folder.join(DATA));
            Err(StoreError::NotPlain { path, found: "a file", expected: "a link" })
        }
    }
}

/// Replaces the entry under a stable name by the link through `..data`. If it differs from the
/// live file, it is kept in the folder named by `aside`, which is created on demand.
pub(super) fn replace_by_link(
    folder: &Folder,
    name: &str,
    aside: &mut Option<String>,
) -> Result<(), StoreError> {
    let kind = folder.kind(name)?;
    let is_live = kind == Some(FileType::RegularFile) && is_same_as_live(folder, name)?;
    if !is_live {
        let aside = match aside {
            Some(aside) => aside,
            None => aside.insert(make_numbered(folder, ADOPTED_PREFIX)?),
        };
        let aside_path = format!("{aside}/{name}");
        if kind == Some(FileType::Directory) {
            // A folder cannot have a second name: this is the one case with a gap.
            retry_on_intr(|| rustix::fs::renameat(folder, name, folder, &aside_path))
                .map_err(|error| io_error(&folder.join(&aside_path), "rename", error))?;
        } else {
            second_name(folder, name, &aside_path)?;
        }
        sync_child(folder, aside)?;
    }
    atomic::link(folder, &stable_target(name), name)
}

/// The user's plain files become the live set.
fn adopt(folder: &Folder) -> Result<(), StoreError> {
    let mut names = Vec::new();
    for name in ADOPTED {
        if folder.kind(name)? == Some(FileType::RegularFile) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    let adopted = make_numbered(folder, ADOPTED_PREFIX)?;
    for name in &names {
        second_name(folder, name, &format!("{adopted}/{name}"))?;
    }
    sync_child(folder, &adopted)?;
    folder.sync()?;
    atomic::link(folder, &adopted, DATA)?;
    folder.sync()?;
    for name in names {
        atomic::link(folder, &stable_target(name), name)?;
    }
    folder.sync()
}

/// Makes the folder `..data` a link to that folder under the name of a revision.
fn put_right(folder: &Folder, revision: u32, wanted: &SecretFiles) -> Result<(), StoreError> {
    let Some(data) = folder.child(DATA)? else {
        return Err(StoreError::Conflict { path: text(&folder.join(DATA)) });
    };
    // A flattened set does not say its revision. Revisions count from 1, so 0 means "unknown", and
    // is published again when it does not match.
    let is_wanted = set::read_all(&data).is_ok_and(|files| files == *wanted);
    keep_folder(folder, if is_wanted { revision } else { 0 })
}

/// Makes the folder `..data` a set of this revision, and `..data` the link to it.
pub(super) fn keep_folder(folder: &Folder, revision: u32) -> Result<(), StoreError> {
    change_places(folder, &format!("{REVISION_PREFIX}{revision}-"), None)
}

/// Makes `..data`, which is a folder, the link to a set. The folder stays: as another set of the
/// same revision when it holds the same files, else as a folder that certctl did not write.
pub(super) fn replace_folder(folder: &Folder, set: &str, revision: u32) -> Result<(), StoreError> {
    let files = |name| folder.child(name)?.map(|found| set::read_all(&found)).transpose();
    let (there, wanted) = (files(DATA), files(set)?);
    if there.is_ok_and(|there| there.is_some() && there == wanted) {
        change_places(folder, &format!("{REVISION_PREFIX}{revision}-"), Some(set))
    } else {
        change_places(folder, ADOPTED_PREFIX, Some(set))
    }
}

/// The folder `..data` gets the first free name with this prefix, and in the same step a link to
/// `target`, else to that name, takes its place.
fn change_places(folder: &Folder, prefix: &str, target: Option<&str>) -> Result<(), StoreError> {
    let mut number: u64 = 0;
    loop {
        // A link that points to its own name: after the exchange that name is the folder.
        let name = format!("{prefix}{number}");
        let target = target.unwrap_or(&name);
        match retry_on_intr(|| rustix::fs::symlinkat(target, folder, &name)) {
            Ok(()) => {
                exchange(folder, &name, target)?;
                return folder.sync();
            }
            Err(Errno::EXIST) => number = number.saturating_add(1),
            Err(error) => return Err(io_error(&folder.join(&name), "create", error)),
        }
    }
}

fn exchange(folder: &Folder, name: &str, target: &str) -> Result<(), StoreError> {
    let failed = |error| io_error(&folder.join(DATA), "rename", error);
    match retry_on_intr(|| {
        rustix::fs::renameat_with(folder, name, folder, DATA, RenameFlags::EXCHANGE)
    }) {
        Ok(()) => Ok(()),
        Err(error) if atomic::is_unsupported(error) => {
            // A file system without exchange: there is a gap between the two renames.
            folder.remove(name)?;
            retry_on_intr(|| rustix::fs::renameat(folder, DATA, folder, name)).map_err(failed)?;
            atomic::link(folder, target, DATA)
        }
        Err(error) => {
            folder.remove(name)?;
            Err(failed(error))
        }
    }
}

fn is_same_as_live(folder: &Folder, name: &str) -> Result<bool, StoreError> {
    let Some(live) = folder.linked_child(DATA)? else { return Ok(false) };
    let live = live.read(name, guard(name))?;
    Ok(live.is_some() && live == folder.read(name, Guard::Public)?)
}

fn second_name(folder: &Folder, name: &str, second: &str) -> Result<(), StoreError> {
    retry_on_intr(|| rustix::fs::linkat(folder, name, folder, second, AtFlags::empty()))
        .map_err(|error| io_error(&folder.join(second), "link", error))
}

fn sync_child(folder: &Folder, name: &str) -> Result<(), StoreError> {
    folder.child(name)?.map_or(Ok(()), |child| child.sync())
}
