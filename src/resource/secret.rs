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
    /// The leaf, when it is there and can be decoded.
    pub fn leaf(&self) -> Option<&LeafFacts> {
        self.certificate.as_ref()?.as_ref().ok()
    }

    /// Whether it only stands in until the real one is there.
    pub fn is_temporary(&self) -> bool {
        self.leaf().is_some_and(LeafFacts::is_temporary)
    }
}

/// How the links of a Secret's folder are: `..data`, and the stable names through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretLinks {
    /// Where `..data` leads.
    pub data: DataLink,
    /// Files of the live set whose stable name is missing, or is something else than the link
    /// through `..data`.
    pub misplaced: Vec<String>,
}

/// Where `..data` leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataLink {
    /// To this set, which is there.
    Set(String),
    /// There is no such link, or it points to nothing.
    Missing,
    /// It is a folder itself: something followed the link and copied what it found.
    Folder,
}

/// The forms that a published pair is in, as far as the spec decides them.
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
    /// What the keystores beside it were made with, by file name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keystores: BTreeMap<String, PublishedKeystore>,
}

impl SecretMetadata {
    /// Its file: published like any other, but under no stable name, and read by no server.
    pub const FILE: &str = "metadata.json";
}

/// What is remembered of a keystore, which is another sequence of bytes each time it is written.
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
    /// The revision it was published as; 0 when it was there before certctl.
    pub revision: u32,
    /// Whether it is the live one.
    pub is_live: bool,
    /// What is in it, or why that cannot be read.
    pub pair: Result<PublishedPair, String>,
}

/// Links that are to be put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The set that `..data` is to lead to; `None` when `..data` is that set itself, as a folder.
    pub set: Option<String>,
    /// The revision of the set.
    pub revision: u32,
    /// What is missing or leads elsewhere, in words.
    pub what: String,
}

/// The annotations under which a published pair remembers where it came from.
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
