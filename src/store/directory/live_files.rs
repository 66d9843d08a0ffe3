//! The files that servers open, in the state directory.

use std::path::PathBuf;

use super::{StateDirectory, folders_of};
use crate::resource::{DataLink, NamespacedName, SecretFiles, SecretLinks, SecretMetadata};
use crate::store::error::StoreError;
use crate::store::folder::Guard;
use crate::store::key::Lock;
use crate::store::live_files::{Claim, LiveFiles, LiveSet, SecretSet, Share};
use crate::store::opening::{self, OpenMode};
use crate::store::set::{self, DATA, stable_target};
use crate::store::share::{live_set, owners};
use crate::store::{journal, layout, links, rollback, secret};

impl LiveFiles for StateDirectory {
    async fn publish(
        &self,
        secret: &NamespacedName,
        revision: u32,
        files: &SecretFiles,
        last_good: Option<&str>,
    ) -> Result<(), StoreError> {
        let folder = self.make(&layout::secret(secret)?)?;
        let everything = self.has_lost(secret, &folder)?;
        secret::publish(&folder, revision, files, secret::Spared { everything, last_good })
    }

    async fn links(&self, secret: &NamespacedName) -> Result<SecretLinks, StoreError> {
        match self.find(&layout::secret(secret)?)? {
            Some(folder) => links::links(&folder),
            None => Ok(SecretLinks { data: DataLink::Missing, misplaced: Vec::new() }),
        }
    }

    async fn live(
        &self,
        secret: &NamespacedName,
    ) -> Result<(SecretLinks, Option<LiveSet>), StoreError> {
        match self.find(&layout::secret(secret)?)? {
            Some(folder) => links::live(&folder),
            None => Ok((SecretLinks { data: DataLink::Missing, misplaced: Vec::new() }, None)),
        }
    }

    async fn restore_links(
        &self,
        secret: &NamespacedName,
        set: Option<&str>,
        revision: u32,
    ) -> Result<(), StoreError> {
        let folder = self.make(&layout::secret(secret)?)?;
        self.has_lost(secret, &folder)?;
        links::restore(&folder, set, revision)
    }

    async fn sets(&self, secret: &NamespacedName) -> Result<Vec<SecretSet>, StoreError> {
        let folder = self.find(&layout::secret(secret)?)?;
        folder.map_or_else(|| Ok(Vec::new()), |folder| rollback::sets(&folder))
    }

    async fn switch_back(&self, secret: &NamespacedName, set: &str) -> Result<(), StoreError> {
        rollback::switch_back(&self.make(&layout::secret(secret)?)?, set)
    }

    async fn published(&self, secret: &NamespacedName) -> Result<Option<SecretFiles>, StoreError> {
        match self.find(&layout::secret(secret)?)? {
            Some(folder) => secret::published(&folder, self.mode),
            None => Ok(None),
        }
    }

    fn has_temporaries(
        &self,
        certificate: &NamespacedName,
        secret: &NamespacedName,
    ) -> Result<bool, StoreError> {
        if self.mode == OpenMode::ReadOnly {
            return Ok(false);
        }
        let mut folders = folders_of(certificate)?.into_iter().chain([layout::secret(secret)?]);
        let has_steps = self.has_steps(certificate)?;
        folders.try_fold(has_steps, |found, names| Ok(found || self.has_temporaries(&names)?))
    }

    fn remove_temporaries(
        &self,
        certificate: &NamespacedName,
        secret: &NamespacedName,
    ) -> Result<(), StoreError> {
        self.sweep(&Lock::Certificate(certificate.clone()))?;
        self.sweep_folder(&layout::secret(secret)?)
    }

    fn check_issuance(&self, certificates: usize) -> Result<(), StoreError> {
        let root = self.writable_root()?;
        opening::check_space_for(root, certificates)?;
        journal::check_log(root)
    }

    fn secret_path(&self, secret: &NamespacedName) -> Result<PathBuf, StoreError> {
        Ok(self.path.join(layout::secret(secret)?.iter().collect::<PathBuf>()))
    }

    fn secret_names(&self) -> Result<Vec<NamespacedName>, StoreError> {
        self.names(layout::SECRETS)
    }

    fn secrets_named(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<NamespacedName>, StoreError> {
        let mut found = self.named(layout::SECRETS, name, namespace)?;
        found.retain(|key| {
            layout::secret(key).is_ok_and(|names| !matches!(self.find(&names), Ok(None)))
        });
        Ok(found)
    }

    fn published_for(&self, secret: &NamespacedName) -> Option<String> {
        let folder = self.find(&layout::secret(secret).ok()?).ok()??;
        let set = folder.linked_child(DATA).ok()??;
        let bytes = set.read(SecretMetadata::FILE, Guard::Secret).ok()??;
        set::named_in(&bytes)
    }

    fn share(&self, name: &str, claim: &Claim) -> Result<Share, StoreError> {
        let Some(folder) = self.find(&layout::secret(&claim.secret)?)? else {
            return Ok(Share::Nothing);
        };
        let owners = owners(&folder)?;
        let is_its = |owner: &Option<String>| owner.as_deref() == Some(name);
        let is_anothers = |owner: &Option<String>| owner.as_deref().is_some_and(|one| one != name);
        let is_shared = claim.is_contested || owners.iter().any(|(_, owner)| is_anothers(owner));
        let own = owners.into_iter().filter(|(_, owner)| is_its(owner));
        let names: Vec<String> = own.map(|(set, _)| set).collect();
        if !is_shared && (claim.is_recorded || !names.is_empty()) {
            return Ok(Share::Whole);
        }
        if names.is_empty() {
            return Ok(Share::Nothing);
        }
        let live = live_set(&folder)?;
        let has_live = live.is_some_and(|live| names.contains(&live));
        Ok(Share::Sets { names, has_live })
    }

    fn owners(&self, secret: &NamespacedName) -> Result<Vec<String>, StoreError> {
        let Some(folder) = self.find(&layout::secret(secret)?)? else { return Ok(Vec::new()) };
        let mut names: Vec<String> =
            owners(&folder)?.into_iter().filter_map(|(_, owner)| owner).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn forget(&self, name: &str, claim: &Claim, has_secret: bool) -> Result<(), StoreError> {
        if has_secret {
            self.remove_share(name, claim)
        } else if self.share(name, claim)? == Share::Whole {
            self.sweep_folder(&layout::secret(&claim.secret)?)
        } else {
            Ok(())
        }
    }
}

impl StateDirectory {
    /// Removes what belongs to a Certificate of this name.
    pub(in crate::store) fn remove_share(
        &self,
        name: &str,
        claim: &Claim,
    ) -> Result<(), StoreError> {
        let names = match self.share(name, claim)? {
            Share::Nothing => return Ok(()),
            Share::Whole => return self.remove_folder(layout::secret(&claim.secret)?, None),
            Share::Sets { names, .. } => names,
        };
        let Some(folder) = self.find(&layout::secret(&claim.secret)?)? else { return Ok(()) };
        if live_set(&folder)?.is_some_and(|live| names.contains(&live)) {
            // No reader sees a set with a part of its files.
            folder.remove_any(DATA)?;
            for entry in folder.entries()? {
                if folder.link_target(&entry)?.as_ref() == Some(&stable_target(&entry)) {
                    folder.remove(&entry)?;
                }
            }
            folder.sync()?;
        }
        for set in names {
            folder.remove_tree(&set)?;
        }
        folder.sync()
    }
}
