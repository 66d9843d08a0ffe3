//! An issued Secret: the published pair, and the files a publish writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{KeyEncoding, KeyFacts, LeafFacts};

/// What the secret's folder holds now, already decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedPair {
    /// tls.key: `None` when absent or empty, `Some(Err)` when it cannot be decoded.
    pub key: Option<Result<KeyFacts, String>>,
    /// The leaf of tls.crt, likewise.
    pub certificate: Option<Result<LeafFacts, String>>,
    /// The metadata kept beside the files: annotations such as
    /// `cert-manager.io/issuer-name`.
    pub annotations: BTreeMap<String, String>,
    /// Labels, likewise.
    pub labels: BTreeMap<String, String>,
    /// The forms that key and chain are in.
    pub formats: PublishedFormats,
}

impl PublishedPair {
    /// The leaf, if it exists and can be decoded.
    pub fn leaf(&self) -> Option<&LeafFacts> {
        self.certificate.as_ref()?.as_ref().ok()
    }

    /// Whether it is a temporary certificate.
    pub fn is_temporary(&self) -> bool {
        self.leaf().is_some_and(LeafFacts::is_temporary)
    }
}

/// The links of a Secret's folder: `..data`, and the stable names through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretLinks {
    /// The target of `..data`.
    pub data: DataLink,
    /// Files of the live set whose stable name is missing, or is not the link
    /// through `..data`.
    pub misplaced: Vec<String>,
}

/// The target of `..data`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataLink {
    /// This existing set.
    Set(String),
    /// There is no such link, or it is dangling.
    Missing,
    /// It is a folder: a tool followed the link and copied its target.
    Folder,
}

/// The formats of a published pair, as far as the spec decides them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedFormats {
    /// Of tls.key; `None` when that is absent.
    pub encoding: Option<KeyEncoding>,
    /// key.der: `None` when absent, `Some(false)` when it does not hold what tls.key holds.
    pub der: Option<bool>,
    /// tls-combined.pem, likewise.
    pub combined_pem: Option<bool>,
    /// ca.crt.
    pub authorities: Option<String>,
    /// Keystores and truststores that are there, by file name.
    pub keystores: BTreeMap<String, PublishedKeystore>,
}

/// The Secret's metadata: what `metadata.json` keeps beside the pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretMetadata {
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The parameters of the keystores beside it, by file name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keystores: BTreeMap<String, PublishedKeystore>,
}

impl SecretMetadata {
    /// Its file: published like any other, but without a stable name, and read by no server.
    pub const FILE: &str = "metadata.json";
}

/// The parameters of a keystore, whose bytes differ each time it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublishedKeystore {
    /// Alias of a Java keystore, profile of a PKCS#12 store.
    pub setting: String,
    /// Random, lower-case hexadecimal.
    pub salt: String,
    /// SHA-256 over the salt's text and the password, lower-case hexadecimal.
    pub password_digest: String,
}

/// The files of one revision, by name, with their contents.
///
/// Debug shows names and lengths, never contents.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretFiles(pub BTreeMap<String, Zeroizing<Vec<u8>>>);

impl std::fmt::Debug for SecretFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(name, bytes)| (name, bytes.len()))).finish()
    }
}

/// One kept set, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptPair {
    /// Its folder's name.
    pub name: String,
    /// The revision it was published as; 0 for an adopted pair.
    pub revision: u32,
    /// Whether it is the live one.
    pub is_live: bool,
    /// The contents, or why they cannot be read.
    pub pair: Result<PublishedPair, String>,
}

/// Links to repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The set that `..data` must point to; `None` when `..data` is that set itself, as a folder.
    pub set: Option<String>,
    /// The revision of the set.
    pub revision: u32,
    /// A description of what is missing or points elsewhere.
    pub what: String,
}

/// The annotations that record the origin of a published pair.
pub mod annotation {
    /// The Certificate that owns the Secret.
    pub const CERTIFICATE_NAME: &str = "cert-manager.io/certificate-name";
    /// Name of the issuer that produced tls.crt.
    pub const ISSUER_NAME: &str = "cert-manager.io/issuer-name";
    /// Its kind.
    pub const ISSUER_KIND: &str = "cert-manager.io/issuer-kind";
    /// Its group.
    pub const ISSUER_GROUP: &str = "cert-manager.io/issuer-group";
}
