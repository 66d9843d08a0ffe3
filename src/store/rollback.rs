//! The older sets of a Secret's folder, and making one live again.
//!
//! Contract: a rollback is the one rename of `..data`, like publishing; nothing is written into a
//! set, and none is removed.

use super::folder::Folder;
use super::set::{self, DATA, REVISION_PREFIX};
use super::{adoption, atomic, secret};
use crate::store::error::StoreError;
use crate::store::live_files::SecretSet;

/// The existing sets, by revision and age.
pub(super) fn sets(folder: &Folder) -> Result<Vec<SecretSet>, StoreError> {
    let live = secret::live_name(folder)?;
    let mut found = Vec::new();
    for name in folder.entries()? {
        let Some((revision, number)) = parse(&name) else { continue };
        // Any other entry with such a name is not a set.
        let Ok(Some(folder_of_set)) = folder.child(&name) else { continue };
        let files = set::read_set(&folder_of_set);
        let is_live = live.as_ref() == Some(&name);
        found.push((number, SecretSet { name, revision, is_live, files }));
    }
    found.sort_by_key(|(number, set)| (set.revision, *number));
    Ok(found.into_iter().map(|(_, set)| set).collect())
}

/// Makes a set live again.
pub(super) fn switch_back(folder: &Folder, set: &str) -> Result<(), StoreError> {
    let missing = || StoreError::Conflict { path: folder.join(set).to_string_lossy().into_owned() };
    let (revision, _) = parse(set).ok_or_else(missing)?;
    let files = set::read_all(&folder.child(set)?.ok_or_else(missing)?)?;
    folder.sweep()?;
    let had_live = secret::has_live(folder)?;
    adoption::settle(folder, revision, &files)?;
    secret::link_names(folder, &files)?;
    folder.sync()?;
    if secret::live_name(folder)?.as_deref() != Some(set) {
        atomic::link(folder, set, DATA)?;
        folder.sync()?;
    }
    if had_live {
        secret::remove_stale_names(folder, &files);
    }
    Ok(())
}

/// The revision and number of a set; an adopted one is revision 0.
pub(super) fn parse(name: &str) -> Option<(u32, u64)> {
    if let Some(number) = name.strip_prefix(adoption::ADOPTED_PREFIX) {
        return Some((0, number.parse().ok()?));
    }
    let (revision, number) = name.strip_prefix(REVISION_PREFIX)?.split_once('-')?;
    Some((revision.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use zeroize::Zeroizing;

    use super::*;
    use crate::resource::SecretFiles;
    use crate::store::OpenMode;

    fn pair(text: &str, outputs: &[&str]) -> SecretFiles {
        let names = ["tls.crt", "tls.key"].iter().chain(outputs);
        let bytes = Zeroizing::new(text.as_bytes().to_vec());
        SecretFiles(names.map(|name| ((*name).to_owned(), bytes.clone())).collect())
    }

    fn publish(folder: &Folder, revision: u32, files: &SecretFiles) {
        secret::publish(folder, revision, files, secret::Spared::default()).unwrap();
    }

    fn found(folder: &Folder) -> Vec<(String, u32, bool)> {
        let sets = sets(folder).unwrap().into_iter();
        sets.map(|set| (set.name, set.revision, set.is_live)).collect()
    }

    fn set(name: &str, revision: u32, is_live: bool) -> (String, u32, bool) {
        (name.to_owned(), revision, is_live)
    }

    #[test]
    fn the_set_before_goes_live_again_with_its_names_and_nothing_is_lost() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        publish(&folder, 9, &pair("9", &["key.der"]));
        publish(&folder, 10, &pair("10", &["keystore.p12"]));
        let sets = [set("..revision-9-0", 9, false), set("..revision-10-0", 10, true)];
        assert_eq!(found(&folder), sets);
        for _ in 0..2 {
            switch_back(&folder, "..revision-9-0").unwrap();
            assert_eq!(
                secret::published(&folder, OpenMode::ReadOnly).unwrap(),
                Some(pair("9", &["key.der"]))
            );
            let names: Vec<_> = folder.entries().unwrap();
            let expected =
                ["..data", "..revision-10-0", "..revision-9-0", "key.der", "tls.crt", "tls.key"];
            assert_eq!(names, expected);
        }
        // The next publish keeps this one, and removes the one that was live before.
        publish(&folder, 11, &pair("11", &[]));
        assert_eq!(
            found(&folder),
            [set("..revision-9-0", 9, false), set("..revision-11-0", 11, true)]
        );
    }

    #[test]
    fn what_was_there_before_certctl_is_revision_0() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        for name in ["tls.crt", "tls.key"] {
            atomic::write(&scratch.path().join(name), b"mine", 0o600).unwrap();
        }
        publish(&folder, 1, &pair("1", &[]));
        fs::create_dir(scratch.path().join("..revision-x-0")).unwrap();
        let sets = [set("..adopted-0", 0, false), set("..revision-1-0", 1, true)];
        assert_eq!(found(&folder), sets);
        switch_back(&folder, "..adopted-0").unwrap();
        assert_eq!(
            secret::published(&folder, OpenMode::ReadOnly).unwrap(),
            Some(pair("mine", &[]))
        );
    }

    #[test]
    fn a_set_that_is_not_there_changes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        publish(&folder, 1, &pair("1", &[]));
        symlink("/", scratch.path().join("..revision-0-7")).unwrap();
        for name in ["..revision-0-0", "..revision-0-7", "..data", "tls.crt", "../x", ""] {
            assert!(switch_back(&folder, name).is_err(), "{name}");
        }
        assert_eq!(secret::published(&folder, OpenMode::ReadOnly).unwrap(), Some(pair("1", &[])));
    }
}
