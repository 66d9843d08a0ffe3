//! An issued Secret: the published pair, and the files a publish writes.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::{KeyFacts, LeafFacts};

/// What the secret's folder holds now, already decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedPair {
    /// tls.key: `None` when absent or empty, `Some(Err)` when it cannot be decoded.
    pub key: Option<Result<KeyFacts, String>>,
    /// The leaf of tls.crt, likewise.
    pub certificate: Option<Result<LeafFacts, String>>,
    /// The metadata kept beside the files: annotations such as
    /// `cert-manager.io/issuer-name`.
    pub annotations: BTreeMap<String, String>,
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
