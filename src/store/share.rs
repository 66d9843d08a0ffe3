//! The part of a Secret's folder that belongs to a Certificate.
//!
//! A Secret belongs to the Certificate whose pair was published last, and each older set to the one
//! that it was published for: `metadata.json` in the set names it. Certificates that are renamed, or
//! exchange their secretName, leave sets in a folder that another one owns then.
//!
//! Contract: nothing of another Certificate is removed. A pair that names no Certificate, since it
//! was adopted or its metadata is damaged, belongs to the Certificate whose record names the Secret,
//! if no other record does and no set there is another's.

use rustix::fs::FileType;

use super::folder::Folder;
use super::set::{DATA, owner_of};
use super::{rollback, secret};
use crate::store::error::StoreError;

/// The name of the live set, which is `..data` itself where a tool made a folder of it.
pub(super) fn live_set(folder: &Folder) -> Result<Option<String>, StoreError> {
    if folder.kind(DATA)? == Some(FileType::Directory) {
        return Ok(Some(DATA.to_owned()));
    }
    secret::live_name(folder)
}

/// Each set of a folder, with the Certificate that it was published for.
pub(super) fn owners(folder: &Folder) -> Result<Vec<(String, Option<String>)>, StoreError> {
    let is_set = |name: &String| name == DATA || rollback::parse(name).is_some();
    let sets = folder.entries()?.into_iter().filter(is_set);
    let mut found = Vec::new();
    for name in sets {
        if folder.kind(&name)? == Some(FileType::Directory) {
            let owner = owner_of(folder, &name);
            found.push((name, owner));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, DirBuilder, Permissions};
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};

    use crate::resource::NamespacedName;
    use crate::store::StateDirectory;
    use crate::store::live_files::LiveFiles as _;
    use crate::store::live_files::{Claim, Share};
    use crate::store::opening::OpenMode;

    /// A Secret with a set for each of these, published for that Certificate, or for none.
    #[expect(clippy::disallowed_methods, reason = "the test's own files need not survive a crash")]
    fn secret(sets: &[Option<&str>]) -> (tempfile::TempDir, StateDirectory) {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state");
        let state = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap();
        for (number, owner) in sets.iter().enumerate() {
            let set = path.join(format!("secrets/default/web-tls/..revision-{number}-0"));
            DirBuilder::new().recursive(true).mode(0o700).create(&set).unwrap();
            let annotation =
                owner.map(|name| format!("\"cert-manager.io/certificate-name\":\"{name}\""));
            let metadata = format!(
                "{{\"version\":1,\"kind\":\"SecretMetadata\",\"document\":{{\"annotations\":{{{}}},\
                 \"labels\":{{}},\"files\":{{}}}}}}",
                annotation.unwrap_or_default()
            );
            fs::write(set.join("metadata.json"), metadata).unwrap();
            fs::set_permissions(set.join("metadata.json"), Permissions::from_mode(0o600)).unwrap();
        }
        (scratch, state)
    }

    fn claim(is_recorded: bool, is_contested: bool) -> Claim {
        Claim { secret: NamespacedName::new("default", "web-tls"), is_recorded, is_contested }
    }

    #[test]
    fn a_pair_that_names_no_certificate_is_of_the_only_one_that_records_its_secret() {
        let share = |sets: &[Option<&str>], is_recorded, is_contested| {
            let (_scratch, state) = secret(sets);
            let claim = claim(is_recorded, is_contested);
            let share = state.share("web", &claim).unwrap();
            state.remove_share("web", &claim).unwrap();
            let left = state.owners(&claim.secret).unwrap();
            let is_left = !left.is_empty() || state.secret_names().unwrap() == [claim.secret];
            (share, is_left)
        };
        let sets = |names: &[&str]| Share::Sets {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            has_live: false,
        };
        let own = sets(&["..revision-0-0"]);
        for (owners, is_recorded, is_contested, expected) in [
            (&[None][..], true, false, (Share::Whole, false)),
            (&[None], true, true, (Share::Nothing, true)),
            (&[None], false, false, (Share::Nothing, true)),
            (&[None, Some("mail")], true, false, (Share::Nothing, true)),
            (&[Some("web")], false, false, (Share::Whole, false)),
            (&[Some("web"), None], false, true, (own.clone(), true)),
            (&[Some("web"), Some("mail")], true, false, (own, true)),
        ] {
            let found = share(owners, is_recorded, is_contested);
            assert_eq!(found, expected, "{owners:?} {is_recorded} {is_contested}");
        }
    }

    #[test]
    fn whose_pair_is_live_is_not_known_while_two_records_name_its_secret() {
        let (_scratch, state) = secret(&[None]);
        let has_live =
            [(true, false), (true, true), (false, false)].map(|(is_recorded, is_contested)| {
                state.has_live("web", &claim(is_recorded, is_contested))
            });
        assert_eq!(has_live, [true, false, false]);
    }
}
