//! Issued secrets: a set of files that goes live in one rename, laid out as the kubelet does.
//!
//! Contract: a process that opens `..data` once as a folder and reads through that handle sees one
//! complete set. The rename of `..data`, made durable, is the commit point: before it the old set
//! is live, after it the new one. The set that was live before stays until the next publish, and a
//! set of another revision until the next revision: writing the live one again, in other formats,
//! leaves what a rollback needs. A set that was published for another Certificate, before one of the
//! two was renamed, stays until that one is forgotten with its Secret. What a killed run left
//! half-made is never live, and goes with the next revision at the latest.

use rustix::fs::FileType;

use super::folder::{Folder, text};
use super::opening::OpenMode;
use super::set::{
    DATA, REVISION_PREFIX, make_numbered, owner_in, owner_of, read_all, read_set, stable_target,
};
use super::{adoption, atomic, layout};
use crate::resource::{SecretFiles, SecretMetadata};
use crate::store::error::StoreError;

/// How often a reader retries when concurrent publishes remove what it reads.
const READ_TRIES: usize = 100;

/// What a publish does not remove, beside the set that was live before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spared<'a> {
    /// Nothing is removed.
    pub(super) everything: bool,
    /// A set that stays.
    pub(super) last_good: Option<&'a str>,
}

/// Puts a set of files live. Where no set was live before, nothing is removed.
pub(super) fn publish(
    folder: &Folder,
    revision: u32,
    files: &SecretFiles,
    spared: Spared<'_>,
) -> Result<(), StoreError> {
    for name in files.0.keys() {
        layout::check_secret_file(name)?;
    }
    folder.sweep()?;
    let removes = !spared.everything && has_live(folder)?;
    let is_first = begins(folder)?;
    adoption::settle(folder, revision, files)?;
    let live = live_name(folder)?;
    let prefix = format!("{REVISION_PREFIX}{revision}-");
    let is_of_revision = |set: &str| set.starts_with(&prefix);
    if live.as_deref().is_some_and(is_of_revision) && is_live(folder, files) {
        // The run that made it live may have been killed before it synced, or removed old sets.
        link_names(folder, files)?;
        folder.sync()?;
        if removes {
            remove_stale_names(folder, files);
        }
        return Ok(());
    }
    let fresh = make_revision(folder, &prefix, files)?;
    // Before the first set nothing is live that a power loss could take: all names are synced at
    // once.
    let switched = link_names(folder, files)
        .and_then(|()| if is_first { Ok(()) } else { folder.sync() })
        .and_then(|()| atomic::link(folder, &fresh, DATA));
    if let Err(error) = switched {
        // A rename that reports an error may have been done all the same.
        if live_name(folder).is_ok_and(|now| now == live) {
            discard(folder, &fresh);
        }
        return Err(error);
    }
    folder.sync()?;
    if removes {
        remove_stale_names(folder, files);
        let is_rewritten = live.as_deref().is_some_and(is_of_revision);
        let owner = owner_in(files);
        let is_anothers = |set: &str| {
            let of_set = owner_of(folder, set);
            owner.is_some() && of_set.is_some() && of_set != owner
        };
        prune(folder, |set| {
            set == fresh
                || Some(set) == live.as_deref()
                || Some(set) == spared.last_good
                || (is_rewritten && !is_of_revision(set))
                || is_anothers(set)
        });
    }
    Ok(())
}

/// Whether a folder is empty. What a power loss left of a first publish goes: a link to a set whose
/// name was lost would make the next set of that name live before it is whole.
fn begins(folder: &Folder) -> Result<bool, StoreError> {
    if folder.kind(DATA)? == Some(FileType::Symlink)
        && live_name(folder)?.is_some_and(|set| set.starts_with(REVISION_PREFIX))
        && folder.linked_child(DATA)?.is_none()
    {
        folder.remove(DATA)?;
        folder.sync()?;
    }
    folder.is_empty()
}

/// Reads the live set, or the user's own files; `None` when there is neither. Damaged metadata is
/// set aside where the mode allows it, and so counts as missing: the run writes it again.
pub(super) fn published(
    folder: &Folder,
    mode: OpenMode,
) -> Result<Option<SecretFiles>, StoreError> {
    for _ in 0..READ_TRIES {
        live_name(folder)?;
        let Some(data) = folder.linked_child(DATA)? else {
            let files = adoption::read(folder);
            // Another process may have published while the files were being read.
            if folder.linked_child(DATA)?.is_none() {
                return files;
            }
            continue;
        };
        // A set is pruned only after another went live, so when this one still is, it was
        // complete; its inode is not used again as long as the handle is open.
        let files = read_set(&data);
        if let Some(now) = folder.linked_child(DATA)?
            && now.is_same(&data)
        {
            match files {
                Err(StoreError::Corrupt { path, why, .. }) if mode == OpenMode::ReadWrite => {
                    // A name that begins with a dot belongs to no set.
                    let aside = format!(".{}", SecretMetadata::FILE);
                    let moved_to = atomic::set_aside(&data, SecretMetadata::FILE, &aside)?;
                    tracing::warn!("{}", StoreError::Corrupt { path, why, moved_to });
                }
                files => return files.map(Some),
            }
        }
    }
    Err(StoreError::Conflict { path: text(folder.path()) })
}

/// The name of the folder that is live; `None` when there is none, or it is not a link yet.
pub(super) fn live_name(folder: &Folder) -> Result<Option<String>, StoreError> {
    let Some(target) = folder.link_target(DATA)? else { return Ok(None) };
    if !target.starts_with("..") || target == ".." || target.contains('/') {
        let found = "a link that leads out of its folder";
        let path = text(&folder.join(DATA));
        return Err(StoreError::NotPlain { path, found, expected: "a link to a published set" });
    }
    Ok(Some(target))
}

/// Whether `..data` is a link to a set that is there.
pub(super) fn has_live(folder: &Folder) -> Result<bool, StoreError> {
    let is_link = folder.kind(DATA)? == Some(FileType::Symlink);
    Ok(is_link && folder.linked_child(DATA)?.is_some())
}

/// Whether sets are there and none of them is live.
pub(super) fn has_lost_live(folder: &Folder) -> Result<bool, StoreError> {
    let is_set = |name: &String| name.starts_with(REVISION_PREFIX);
    Ok(!has_live(folder)? && folder.entries()?.iter().any(is_set))
}

/// Whether these are the live files. Files that cannot be read are not.
fn is_live(folder: &Folder, files: &SecretFiles) -> bool {
    let Ok(Some(data)) = folder.linked_child(DATA) else { return false };
    read_all(&data).is_ok_and(|live| live == *files)
}

/// Writes a complete and durable set that is not live yet, and returns its folder's name.
fn make_revision(folder: &Folder, prefix: &str, files: &SecretFiles) -> Result<String, StoreError> {
    let name = make_numbered(folder, prefix)?;
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

/// Makes each stable name a link through `..data`. Whatever else has the name is kept aside.
pub(super) fn link_names(folder: &Folder, files: &SecretFiles) -> Result<(), StoreError> {
    let names = files.0.keys().filter(|name| *name != SecretMetadata::FILE);
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
pub(super) fn remove_stale_names(folder: &Folder, files: &SecretFiles) {
    let remove = || -> Result<(), StoreError> {
        for name in folder.entries()? {
            let is_live = files.0.contains_key(&name) && name != SecretMetadata::FILE;
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

/// Removes all sets but those that are spared.
fn prune(folder: &Folder, is_spared: impl Fn(&str) -> bool) {
    let prune = || -> Result<(), StoreError> {
        for name in folder.entries()? {
            if name.starts_with(REVISION_PREFIX) && !is_spared(&name) {
                folder.remove_any(&name)?;
            }
        }
        Ok(())
    };
    if let Err(error) = prune() {
        tracing::warn!(%error, "old revision not removed");
    }
}

/// Removes a set that did not go live. The first error is the one to report.
fn discard(folder: &Folder, name: &str) {
    if let Err(error) = folder.remove_tree(name) {
        tracing::warn!(%error, "unfinished revision not removed");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use tempfile::TempDir;
    use zeroize::Zeroizing;

    use super::*;

    fn folder(scratch: &TempDir) -> Folder {
        Folder::open(scratch.path()).unwrap().unwrap()
    }

    fn files(list: &[(&str, &str)]) -> SecretFiles {
        let bytes = |text: &str| Zeroizing::new(text.as_bytes().to_vec());
        SecretFiles(list.iter().map(|(name, text)| ((*name).to_owned(), bytes(text))).collect())
    }

    fn pair(text: &str) -> SecretFiles {
        files(&[("tls.crt", text), ("tls.key", text)])
    }

    fn publish(folder: &Folder, revision: u32, files: &SecretFiles) -> Result<(), StoreError> {
        super::publish(folder, revision, files, Spared::default())
    }

    fn published(folder: &Folder) -> Result<Option<SecretFiles>, StoreError> {
        super::published(folder, OpenMode::ReadOnly)
    }

    fn put(path: &Path, name: &str, text: &str) {
        atomic::write(&path.join(name), text.as_bytes(), 0o600).unwrap();
    }

    /// The tree, links with their targets, files with their contents.
    fn tree(path: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for name in Folder::open(path).unwrap().unwrap().entries().unwrap() {
            let path = path.join(&name);
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            if kind.is_symlink() {
                lines.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
            } else if kind.is_dir() {
                lines.extend(tree(&path).into_iter().map(|line| format!("{name}/{line}")));
                if fs::read_dir(&path).unwrap().next().is_none() {
                    lines.push(format!("{name}/"));
                }
            } else {
                lines.push(format!("{name}: {}", fs::read_to_string(&path).unwrap()));
            }
        }
        lines
    }

    const METADATA: &str = r#"{"version":1,"kind":"SecretMetadata","document":{"annotations":{},"labels":{},"files":{}}}"#;

    const LINKS: [&str; 2] = ["tls.crt -> ..data/tls.crt", "tls.key -> ..data/tls.key"];

    #[test]
    fn the_live_set_and_the_one_before_remain() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        assert_eq!(published(&folder).unwrap(), None);
        for revision in 1..=3 {
            publish(&folder, revision, &pair(&revision.to_string())).unwrap();
        }
        let mut expected = vec![
            "..data -> ..revision-3-0",
            "..revision-2-0/tls.crt: 2",
            "..revision-2-0/tls.key: 2",
            "..revision-3-0/tls.crt: 3",
            "..revision-3-0/tls.key: 3",
        ];
        expected.extend(LINKS);
        assert_eq!(tree(scratch.path()), expected);
        assert_eq!(published(&folder).unwrap(), Some(pair("3")));
    }

    #[test]
    fn publishing_what_is_live_changes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        publish(&folder, 1, &pair("1")).unwrap();
        publish(&folder, 2, &pair("2")).unwrap();
        let before = tree(scratch.path());
        publish(&folder, 2, &pair("2")).unwrap();
        assert_eq!(tree(scratch.path()), before);
        // The same bytes as another revision, or other bytes as the same, are another set.
        publish(&folder, 2, &pair("two")).unwrap();
        assert_eq!(folder.link_target(DATA).unwrap().as_deref(), Some("..revision-2-1"));
        publish(&folder, 3, &pair("two")).unwrap();
        assert_eq!(folder.link_target(DATA).unwrap().as_deref(), Some("..revision-3-0"));
    }

    #[test]
    fn a_set_of_another_revision_stays_however_often_the_live_one_is_written_again() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let sets = || -> Vec<String> {
            let names = folder.entries().unwrap().into_iter();
            names.filter(|name| name.starts_with(REVISION_PREFIX)).collect()
        };
        publish(&folder, 1, &pair("1")).unwrap();
        publish(&folder, 2, &pair("2")).unwrap();
        for text in ["other formats", "another password", "and another"] {
            publish(&folder, 2, &pair(text)).unwrap();
        }
        assert_eq!(sets(), ["..revision-1-0", "..revision-2-0", "..revision-2-2"]);
        publish(&folder, 3, &pair("3")).unwrap();
        assert_eq!(sets(), ["..revision-2-0", "..revision-3-0"]);
    }

    #[test]
    fn stable_names_follow_the_files() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let first = [("key.der", "d"), ("metadata.json", "{}"), ("tls.crt", "c"), ("tls.key", "k")];
        publish(&folder, 1, &files(&first)).unwrap();
        let links = |path: &Path| -> Vec<_> {
            tree(path).into_iter().filter(|line| line.contains("-> ..data/")).collect()
        };
        let expected = ["key.der -> ..data/key.der", LINKS[0], LINKS[1]];
        assert_eq!(links(scratch.path()), expected);
        publish(&folder, 2, &pair("2")).unwrap();
        assert_eq!(links(scratch.path()), LINKS);
        // A link that went missing comes back, also when the set is live already.
        folder.remove("tls.key").unwrap();
        publish(&folder, 2, &pair("2")).unwrap();
        assert_eq!(links(scratch.path()), LINKS);
    }

    #[test]
    fn newer_metadata_is_left_alone_and_damaged_metadata_is_set_aside_by_a_run_that_writes() {
        for (metadata, expected, is_set_aside) in [
            (METADATA, "read", false),
            (r#"{"version":2,"new":1}"#, "version 2", false),
            ("{\"annot", "cannot be read", true),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let folder = folder(&scratch);
            let set = files(&[("metadata.json", metadata), ("tls.crt", "c"), ("tls.key", "k")]);
            publish(&folder, 1, &set).unwrap();
            let before = tree(scratch.path());
            for mode in [OpenMode::ReadOnly, OpenMode::ReadWrite] {
                assert_eq!(tree(scratch.path()), before);
                match super::published(&folder, mode) {
                    Ok(found) if is_set_aside => {
                        let rest = files(&[("tls.crt", "c"), ("tls.key", "k")]);
                        assert_eq!((found, mode), (Some(rest), OpenMode::ReadWrite));
                    }
                    Ok(found) => assert_eq!((found, expected), (Some(set.clone()), "read")),
                    Err(error) => assert!(error.to_string().contains(expected), "{error}"),
                }
            }
            let aside = format!("..revision-1-0/.metadata.json.corrupt-1: {metadata}");
            assert_eq!(tree(scratch.path()).contains(&aside), is_set_aside, "{metadata}");
            assert_eq!(tree(scratch.path()) == before, !is_set_aside, "{metadata}");
            if is_set_aside {
                assert_eq!(
                    published(&folder).unwrap(),
                    Some(files(&[("tls.crt", "c"), ("tls.key", "k")]))
                );
            }
        }
    }

    #[test]
    fn what_killed_runs_left_is_never_live_and_goes() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        publish(&folder, 1, &pair("1")).unwrap();
        fs::create_dir(scratch.path().join("..revision-2-0")).unwrap();
        put(&scratch.path().join("..revision-2-0"), "tls.crt", "half");
        symlink("..revision-2-0", scratch.path().join(".tmp-1-1-..data")).unwrap();
        assert_eq!(published(&folder).unwrap(), Some(pair("1")));
        publish(&folder, 2, &pair("2")).unwrap();
        assert_eq!(published(&folder).unwrap(), Some(pair("2")));
        let names = folder.entries().unwrap();
        let expected = ["..data", "..revision-1-0", "..revision-2-1", "tls.crt", "tls.key"];
        assert_eq!(names, expected);
    }

    #[test]
    fn files_put_there_by_hand_are_read_and_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        atomic::write(&scratch.path().join("tls.crt"), b"mine", 0o644).unwrap();
        put(scratch.path(), "tls.key", "mine");
        put(scratch.path(), "notes.txt", "untouched");
        assert_eq!(published(&folder).unwrap(), Some(pair("mine")));
        for revision in 1..=3 {
            publish(&folder, revision, &pair(&revision.to_string())).unwrap();
        }
        assert_eq!(published(&folder).unwrap(), Some(pair("3")));
        let adopted = ["..adopted-0/tls.crt: mine", "..adopted-0/tls.key: mine"];
        let lines = tree(scratch.path());
        assert_eq!(lines[..2], adopted);
        assert!(lines.contains(&"notes.txt: untouched".to_owned()));
        // Later by-hand files are set aside too; servers get the published ones.
        folder.remove("tls.key").unwrap();
        put(scratch.path(), "tls.key", "again");
        publish(&folder, 4, &pair("4")).unwrap();
        let lines = tree(scratch.path());
        assert_eq!(lines[2], "..adopted-1/tls.key: again");
        assert_eq!(lines[lines.len() - 2..], LINKS);
    }

    #[test]
    fn a_key_put_there_for_all_to_read_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        atomic::write(&scratch.path().join("tls.key"), b"mine", 0o640).unwrap();
        let error = published(&folder(&scratch)).unwrap_err();
        assert!(matches!(error, StoreError::TooOpen { mode: 0o640, .. }), "{error}");
    }

    #[test]
    fn a_flattened_backup_is_read_and_put_right() {
        for (revision, wanted, expected) in [
            // The wanted files are live already: nothing is published.
            (7, pair("7"), &["..revision-7-0", "..revision-7-1"][..]),
            // There was no live set, so everything stays.
            (8, pair("8"), &["..revision-0-0", "..revision-7-0", "..revision-8-0"]),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let folder = folder(&scratch);
            for name in ["", "..data", "..revision-7-0"] {
                let path = scratch.path().join(name);
                fs::create_dir_all(&path).unwrap();
                put(&path, "tls.crt", "7");
                put(&path, "tls.key", "7");
            }
            assert_eq!(published(&folder).unwrap(), Some(pair("7")));
            publish(&folder, revision, &wanted).unwrap();
            assert_eq!(published(&folder).unwrap(), Some(wanted));
            assert_eq!(folder.link_target(DATA).unwrap().as_deref(), expected.last().copied());
            assert_eq!(&folder.entries().unwrap()[1..=expected.len()], expected);
            let lines = tree(scratch.path());
            assert_eq!(lines[lines.len() - 2..], LINKS, "nothing to set aside: {lines:?}");
            assert!(!lines.iter().any(|line| line.starts_with("..adopted")), "{lines:?}");
        }
    }

    #[test]
    fn a_data_link_that_points_out_is_not_followed() {
        for target in ["/etc", "../other", "..", "visible"] {
            let scratch = tempfile::tempdir().unwrap();
            symlink(target, scratch.path().join(DATA)).unwrap();
            let folder = folder(&scratch);
            assert!(matches!(published(&folder), Err(StoreError::NotPlain { .. })), "{target}");
            let found = publish(&folder, 1, &pair("1"));
            assert!(matches!(found, Err(StoreError::NotPlain { .. })), "{target}");
        }
    }

    #[test]
    fn no_file_is_published_under_a_name_of_the_layout() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["..data", "../tls.key", ".tmp-x", ""] {
            let found = publish(&folder(&scratch), 1, &files(&[(name, "x")]));
            assert!(matches!(found, Err(StoreError::Name { .. })), "{name}");
        }
        assert_eq!(tree(scratch.path()), Vec::<String>::new());
    }
}
