//! The links of a Secret's folder: their state, and their repair.
//!
//! A backup that leaves symbolic links out, or follows them, keeps the sets and loses the link that
//! makes one of them live. Contract: a repair removes no file and no set. The rename of `..data`
//! comes first and makes the set live; the stable names follow, and the entry under one of them is
//! removed only when it is the same as the live file.

use rustix::fs::FileType;

use super::folder::{Folder, text};
use super::set::{self, DATA, REVISION_PREFIX, stable_target};
use super::{adoption, atomic, rollback, secret};
use crate::resource::{DataLink, SecretLinks, SecretMetadata};
use crate::store::error::StoreError;
use crate::store::live_files::LiveSet;

/// How often a reader retries when concurrent publishes remove what it reads.
const READ_TRIES: usize = 100;

/// The state of the links.
pub(super) fn links(folder: &Folder) -> Result<SecretLinks, StoreError> {
    look(folder, |_, _| ()).map(|(links, _)| links)
}

/// The same, with the files of the set, if that can be read.
pub(super) fn live(folder: &Folder) -> Result<(SecretLinks, Option<LiveSet>), StoreError> {
    let (links, set) = look(folder, |data, names| whole(folder, data, names))?;
    Ok((links, set.flatten()))
}

/// The files of a set, if all can be read and the set is live still.
fn whole(folder: &Folder, data: &Folder, names: Vec<String>) -> Option<LiveSet> {
    let set = set::read_listed(data, names).ok()?;
    // A set is pruned only after another went live, so when this one still is, it was complete.
    folder.has(DATA, data).is_ok_and(|is_live| is_live).then_some(set)
}

/// The state of the links, and what `read` makes of the live set and the names of its files.
fn look<T>(
    folder: &Folder,
    read: impl Fn(&Folder, Vec<String>) -> T,
) -> Result<(SecretLinks, Option<T>), StoreError> {
    for _ in 0..READ_TRIES {
        let live = secret::live_name(folder)?;
        let Some(data) = folder.linked_child(DATA)? else {
            return Ok((SecretLinks { data: DataLink::Missing, misplaced: Vec::new() }, None));
        };
        let Some(live) = live else {
            if folder.kind(DATA)? == Some(FileType::Directory) {
                return Ok((SecretLinks { data: DataLink::Folder, misplaced: Vec::new() }, None));
            }
            continue;
        };
        let mut misplaced = Vec::new();
        let names = data.entries()?;
        for name in &names {
            let has_link = !name.starts_with('.') && name != SecretMetadata::FILE;
            if has_link && folder.link_target(name)?.as_ref() != Some(&stable_target(name)) {
                misplaced.push(name.clone());
            }
        }
        let read = read(&data, names);
        // A concurrent publish removes the links of its predecessor.
        if secret::live_name(folder)?.as_ref() == Some(&live) {
            return Ok((SecretLinks { data: DataLink::Set(live), misplaced }, Some(read)));
        }
    }
    Err(StoreError::Conflict { path: text(folder.path()) })
}

/// Makes `..data` the link to a set, and each stable name the link through it. Without a set, the
/// folder that `..data` is becomes the set, of this revision.
pub(super) fn restore(folder: &Folder, set: Option<&str>, revision: u32) -> Result<(), StoreError> {
    folder.sweep()?;
    remove_unfinished(folder)?;
    match set {
        Some(set) => link_data(folder, set)?,
        None => adoption::keep_folder(folder, revision)?,
    }
    let Some(data) = folder.linked_child(DATA)? else {
        return Err(StoreError::Conflict { path: text(&folder.join(DATA)) });
    };
    secret::link_names(folder, &set::read_all(&data)?)?;
    folder.sync()
}

fn link_data(folder: &Folder, set: &str) -> Result<(), StoreError> {
    let missing = || StoreError::Conflict { path: text(&folder.join(set)) };
    let (revision, _) = rollback::parse(set).ok_or_else(missing)?;
    folder.child(set)?.ok_or_else(missing)?;
    match folder.kind(DATA)? {
        Some(FileType::Symlink) if secret::live_name(folder)?.as_deref() == Some(set) => Ok(()),
        Some(FileType::Symlink) | None => {
            atomic::link(folder, set, DATA)?;
            folder.sync()
        }
        Some(FileType::Directory) => adoption::replace_folder(folder, set, revision),
        Some(_) => {
            let path = text(&folder.join(DATA));
            Err(StoreError::NotPlain { path, found: "a file", expected: "a link" })
        }
    }
}

/// Removes the links that a killed run made for an exchange with `..data` and did not exchange.
fn remove_unfinished(folder: &Folder) -> Result<(), StoreError> {
    for name in folder.entries()? {
        let is_of_a_set =
            name.starts_with(REVISION_PREFIX) || name.starts_with(adoption::ADOPTED_PREFIX);
        if is_of_a_set && folder.kind(&name)? == Some(FileType::Symlink) {
            folder.remove(&name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use tempfile::TempDir;
    use zeroize::Zeroizing;

    use super::*;
    use crate::resource::{SecretFiles, envelope};

    fn files(names: &[&str], text: &str) -> SecretFiles {
        let bytes = || Zeroizing::new(text.as_bytes().to_vec());
        SecretFiles(names.iter().map(|name| ((*name).to_owned(), bytes())).collect())
    }

    fn published() -> (TempDir, Folder) {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        for (revision, text) in [(1, "1"), (2, "2")] {
            let files = files(&["metadata.json", "tls.crt", "tls.key"], text);
            secret::publish(&folder, revision, &files, secret::Spared::default()).unwrap();
        }
        (scratch, folder)
    }

    fn found(data: DataLink, misplaced: &[&str]) -> SecretLinks {
        SecretLinks { data, misplaced: misplaced.iter().map(|name| (*name).to_owned()).collect() }
    }

    fn live(set: &str) -> SecretLinks {
        found(DataLink::Set(set.to_owned()), &[])
    }

    #[test]
    fn links_that_are_missing_or_lead_elsewhere_are_found_and_put_right() {
        let (scratch, folder) = published();
        assert_eq!(links(&folder).unwrap(), live("..revision-2-0"));
        folder.remove("tls.key").unwrap();
        folder.remove("tls.crt").unwrap();
        symlink("..revision-1-0/tls.crt", scratch.path().join("tls.crt")).unwrap();
        let data = DataLink::Set("..revision-2-0".to_owned());
        assert_eq!(links(&folder).unwrap(), found(data, &["tls.crt", "tls.key"]));
        restore(&folder, Some("..revision-2-0"), 2).unwrap();
        assert_eq!(links(&folder).unwrap(), live("..revision-2-0"));
        folder.remove(DATA).unwrap();
        assert_eq!(links(&folder).unwrap(), found(DataLink::Missing, &[]));
        symlink("..revision-7-0", scratch.path().join(DATA)).unwrap();
        assert_eq!(links(&folder).unwrap(), found(DataLink::Missing, &[]));
        restore(&folder, Some("..revision-1-0"), 1).unwrap();
        assert_eq!(links(&folder).unwrap(), live("..revision-1-0"));
        for set in ["..revision-9-0", "../x", "tls.crt", DATA] {
            assert!(restore(&folder, Some(set), 1).is_err(), "{set}");
        }
        assert_eq!(links(&folder).unwrap(), live("..revision-1-0"));
    }

    #[test]
    fn links_and_files_are_read_in_one_go_or_the_links_alone() {
        let (scratch, folder) = published();
        let of = |folder: &Folder| {
            let (links, set) = super::live(folder).unwrap();
            (links, set.map(|set| set.files))
        };
        // No metadata.json of a program has this content.
        assert_eq!(of(&folder), (live("..revision-2-0"), None));
        let file = scratch.path().join("..revision-2-0/metadata.json");
        let metadata = SecretMetadata::default();
        atomic::write(&file, &envelope::seal(&metadata).unwrap(), 0o600).unwrap();
        folder.remove("tls.key").unwrap();
        let (links, set) = super::live(&folder).unwrap();
        let data = || DataLink::Set("..revision-2-0".to_owned());
        assert_eq!(links, found(data(), &["tls.key"]));
        let set = set.unwrap();
        let wanted = set::read_all(&folder.linked_child(DATA).unwrap().unwrap()).unwrap();
        assert_eq!((set.files, set.metadata), (wanted, Some(metadata)));
        // Another set went live while this one was read.
        let (_, read) = look(&folder, |set, names| {
            let read = whole(&folder, set, names);
            folder.remove(DATA).unwrap();
            symlink("..revision-1-0", scratch.path().join(DATA)).unwrap();
            let late = whole(&folder, set, vec!["tls.crt".to_owned()]);
            folder.remove(DATA).unwrap();
            symlink("..revision-2-0", scratch.path().join(DATA)).unwrap();
            (read.is_some(), late.is_some())
        })
        .unwrap();
        assert_eq!(read, Some((true, false)));
        folder.remove(DATA).unwrap();
        assert_eq!(of(&folder), (found(DataLink::Missing, &[]), None));
    }

    #[test]
    fn a_folder_in_the_place_of_the_link_stays_under_another_name() {
        let copy = |from: &Path, to: &Path| {
            fs::create_dir(to).unwrap();
            for entry in fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        };
        for (of, set, name, target) in [
            ("..revision-2-0", Some("..revision-2-0"), "..revision-2-1", "..revision-2-0"),
            ("..revision-1-0", Some("..revision-2-0"), "..adopted-0", "..revision-2-0"),
            ("..revision-2-0", None, "..revision-2-1", "..revision-2-1"),
        ] {
            let (scratch, folder) = published();
            folder.remove(DATA).unwrap();
            copy(&scratch.path().join(of), &scratch.path().join(DATA));
            // A run that was killed right before the exchange.
            symlink("..revision-2-0", scratch.path().join("..adopted-0")).unwrap();
            assert_eq!(links(&folder).unwrap(), found(DataLink::Folder, &[]));
            restore(&folder, set, 2).unwrap();
            assert_eq!(links(&folder).unwrap(), live(target));
            let mut expected =
                ["..data", "..revision-1-0", "..revision-2-0", "tls.crt", "tls.key", name];
            expected.sort_unstable();
            assert_eq!(folder.entries().unwrap(), expected);
            let moved = set::read_all(&folder.child(name).unwrap().unwrap()).unwrap();
            let wanted = set::read_all(&folder.child(of).unwrap().unwrap()).unwrap();
            assert_eq!(moved, wanted);
        }
    }

    #[test]
    fn files_under_the_stable_names_go_when_they_are_the_live_ones_and_else_are_kept() {
        let (scratch, folder) = published();
        folder.remove(DATA).unwrap();
        for (name, text) in [("tls.crt", "2"), ("tls.key", "mine")] {
            atomic::write(&scratch.path().join(name), text.as_bytes(), 0o600).unwrap();
        }
        restore(&folder, Some("..revision-2-0"), 2).unwrap();
        assert_eq!(links(&folder).unwrap(), live("..revision-2-0"));
        let aside = folder.child("..adopted-0").unwrap().unwrap();
        assert_eq!(set::read_all(&aside).unwrap(), files(&["tls.key"], "mine"));
    }

    #[test]
    fn nothing_is_pruned_without_a_live_set_and_the_last_good_one_never() {
        let pair = |text| files(&["tls.crt", "tls.key"], text);
        let sets = |folder: &Folder| -> Vec<String> {
            let names = folder.entries().unwrap().into_iter();
            names.filter(|name| name.starts_with(REVISION_PREFIX)).collect()
        };
        let spared = secret::Spared::default();
        for target in [None, Some("..revision-7-0")] {
            let (scratch, folder) = published();
            folder.remove(DATA).unwrap();
            if let Some(target) = target {
                symlink(target, scratch.path().join(DATA)).unwrap();
            }
            symlink("..data/key.der", scratch.path().join("key.der")).unwrap();
            secret::publish(&folder, 3, &pair("3"), spared).unwrap();
            assert_eq!(sets(&folder), ["..revision-1-0", "..revision-2-0", "..revision-3-0"]);
            assert!(folder.stat("key.der").unwrap().is_some());
            let last_good = Some("..revision-1-0");
            let good = secret::Spared { last_good, ..spared };
            secret::publish(&folder, 4, &pair("4"), good).unwrap();
            assert_eq!(sets(&folder), ["..revision-1-0", "..revision-3-0", "..revision-4-0"]);
            assert!(folder.stat("key.der").unwrap().is_none());
            let everything = secret::Spared { everything: true, ..spared };
            secret::publish(&folder, 5, &pair("5"), everything).unwrap();
            assert_eq!(sets(&folder).len(), 4);
            secret::publish(&folder, 6, &pair("6"), spared).unwrap();
            assert_eq!(sets(&folder), ["..revision-5-0", "..revision-6-0"]);
        }
    }
}
