//! The files that servers open.

use std::path::PathBuf;

use super::error::StoreError;
use crate::resource::{NamespacedName, SecretFiles, SecretLinks, SecretMetadata};

/// The files that are live.
#[derive(Debug)]
pub struct LiveSet {
    pub files: SecretFiles,
    /// What is in their `metadata.json`; `None` when there is none.
    pub metadata: Option<SecretMetadata>,
}

/// One set of files of a Secret.
#[derive(Debug)]
pub struct SecretSet {
    /// Its folder's name.
    pub name: String,
    /// The revision it was published as; 0 for an adopted pair.
    pub revision: u32,
    /// Whether it is the live one.
    pub is_live: bool,
    pub files: Result<SecretFiles, StoreError>,
}

/// A Secret that may hold a pair of a Certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub secret: NamespacedName,
    /// Whether the Certificate's record names it.
    pub is_recorded: bool,
    /// Whether the record of another one does.
    pub is_contested: bool,
}

/// The part of a Secret's folder that is a Certificate's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    Nothing,
    /// The folder, with all that is in it.
    Whole,
    /// These sets: the others may be another's.
    Sets {
        names: Vec<String>,
        /// Whether the live one is among them.
        has_live: bool,
    },
}

/// The files that servers open: always of this host, laid out as DESIGN section 3 says.
pub trait LiveFiles {
    /// Puts a set of files live in one step (DESIGN section 3). Publishing what is live already
    /// does nothing. Of the older sets, the one that was live before stays, and `last_good`; those
    /// of other revisions stay when the live revision is written again. In a run that found sets and
    /// none of them live, all stay.
    fn publish(
        &self,
        secret: &NamespacedName,
        revision: u32,
        files: &SecretFiles,
        last_good: Option<&str>,
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// The state of the links by which servers reach the live files of a Secret.
    fn links(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<SecretLinks, StoreError>>;

    /// The same, with the files of the live set where both can be read in one go; without them,
    /// [`LiveFiles::published`] says what is live.
    fn live(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<(SecretLinks, Option<LiveSet>), StoreError>> {
        async move { Ok((self.links(secret).await?, None)) }
    }

    /// Repairs these links, so that they point to an existing set; without one, the folder
    /// that `..data` is becomes the set, of this revision. Nothing is lost.
    fn restore_links(
        &self,
        secret: &NamespacedName,
        set: Option<&str>,
        revision: u32,
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// The folder of an issued secret, for messages, hooks and servers.
    fn secret_path(&self, secret: &NamespacedName) -> Result<PathBuf, StoreError>;

    /// The sets of files of a Secret that are kept, by revision, then as they were made. What a
    /// killed run left half-made is among them.
    fn sets(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<Vec<SecretSet>, StoreError>>;

    /// Puts a set that was live before live again, in one step. One that is live already stays.
    fn switch_back(
        &self,
        secret: &NamespacedName,
        set: &str,
    ) -> impl Future<Output = Result<(), StoreError>>;

    /// Reads the live set of files; `None` when nothing was ever published.
    fn published(
        &self,
        secret: &NamespacedName,
    ) -> impl Future<Output = Result<Option<SecretFiles>, StoreError>>;

    /// Whether a killed run left temporary files of this certificate or its Secret.
    fn has_temporaries(
        &self,
        certificate: &NamespacedName,
        secret: &NamespacedName,
    ) -> Result<bool, StoreError>;

    /// Removes them. The caller holds the certificate's lock.
    fn remove_temporaries(
        &self,
        certificate: &NamespacedName,
        secret: &NamespacedName,
    ) -> Result<(), StoreError>;

    /// Whether this many certificates that are being issued can be stored, with their lines in the
    /// log of issuances.
    fn check_issuance(&self, certificates: usize) -> Result<(), StoreError>;

    /// The issued secrets that have a folder; the folders are not opened.
    fn secret_names(&self) -> Result<Vec<NamespacedName>, StoreError>;

    /// The issued secrets of this name that have a folder, in one namespace or in all.
    fn secrets_named(
        &self,
        name: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<NamespacedName>, StoreError>;

    /// The name of the Certificate whose pair a Secret holds, where its metadata can be read.
    fn published_for(&self, secret: &NamespacedName) -> Option<String>;

    /// The names of the Certificates that the sets of a Secret were published for.
    fn owners(&self, secret: &NamespacedName) -> Result<Vec<String>, StoreError>;

    /// The part of a Secret's folder that belongs to a Certificate of this name.
    fn share(&self, name: &str, claim: &Claim) -> Result<Share, StoreError>;

    /// Whether a Certificate has the live pair of a Secret.
    fn has_live(&self, name: &str, claim: &Claim) -> bool {
        match self.published_for(&claim.secret) {
            Some(owner) => owner == name,
            None => claim.is_recorded && !claim.is_contested,
        }
    }

    /// Removes what belongs to a Certificate of this name, with `has_secret`; else what killed runs
    /// left in a Secret of its own, where no later run would look.
    fn forget(&self, name: &str, claim: &Claim, has_secret: bool) -> Result<(), StoreError>;
}
