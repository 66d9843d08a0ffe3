//! From stored bytes to facts: what a snapshot needs to know of keys and certificates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::pki;
use crate::resource::{KeyFacts, PublishedPair, SecretFiles};

/// The file beside the pair that keeps what a Secret's metadata would.
pub(crate) const METADATA_FILE: &str = "metadata.json";

/// The Secret's metadata.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretMetadata {
    /// Annotations.
    pub(crate) annotations: BTreeMap<String, String>,
    /// Labels.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
}

/// What a private key is, or why it cannot be read.
pub(crate) fn key_facts(pem: &[u8]) -> Result<KeyFacts, String> {
    let text = std::str::from_utf8(pem).map_err(|_| "not text".to_owned())?;
    pki::key_facts(text).map_err(|error| error.to_string())
}

/// What is live, decoded.
pub fn published_pair(files: &SecretFiles) -> PublishedPair {
    let bytes = |name: &str| files.0.get(name).filter(|bytes| !bytes.is_empty());
    let metadata = bytes(METADATA_FILE)
        .and_then(|json| serde_json::from_slice::<SecretMetadata>(json).ok())
        .unwrap_or_default();
    PublishedPair {
        key: bytes("tls.key").map(|pem| key_facts(pem)),
        certificate: bytes("tls.crt").map(|pem| {
            pki::leaf_facts(&String::from_utf8_lossy(pem)).map_err(|error| error.to_string())
        }),
        annotations: metadata.annotations,
    }
}
