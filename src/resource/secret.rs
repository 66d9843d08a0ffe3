//! An issued Secret: the published pair, and the files a publish writes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
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

    /// The Certificate that it was published for, if that is not the one of this name.
    pub fn other_owner(&self, name: &str) -> Option<&str> {
        let owner = self.annotations.get(annotation::CERTIFICATE_NAME)?;
        (owner != name).then_some(owner)
    }

    /// Whether it is a temporary certificate.
    pub fn is_temporary(&self) -> bool {
        self.leaf().is_some_and(LeafFacts::is_temporary)
    }

    /// Whether it is a key and its certificate, and not a temporary one.
    pub fn is_good(&self) -> bool {
        match (&self.key, &self.certificate) {
            (Some(Ok(key)), Some(Ok(leaf))) => {
                key.public_key == leaf.public_key && !leaf.is_temporary()
            }
            (Some(_) | None, Some(_) | None) => false,
        }
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretMetadata {
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// The parameters of the keystores beside it, by file name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keystores: BTreeMap<String, PublishedKeystore>,
    /// The SHA-256 of each file beside it as it was published, lower-case hexadecimal.
    pub files: BTreeMap<String, String>,
}

impl SecretMetadata {
    /// Its file: published like any other, but without a stable name, and read by no server.
    pub const FILE: &str = "metadata.json";
}

/// The parameters of a keystore, whose bytes differ each time it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

impl SecretFiles {
    /// Frees the files, and overwrites before that what may be secret: chains are not, and are most
    /// of the bytes.
    pub fn free(mut self) {
        for name in ["tls.crt", "ca.crt"] {
            if let Some(chain) = self.0.get_mut(name) {
                drop(std::mem::take(&mut **chain));
            }
        }
    }
}

impl std::fmt::Debug for SecretFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(name, bytes)| (name, bytes.len()))).finish()
    }
}

/// One kept set, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPair {
    /// Its folder's name.
    pub name: String,
    /// The revision it was published as; 0 for an adopted pair.
    pub revision: u32,
    /// Whether it is the live one.
    pub is_live: bool,
    /// The contents, or why they cannot be read.
    pub pair: Result<PublishedPair, String>,
}

impl StoredPair {
    /// The set that must stay beside the live one when another pair is published: none when the
    /// live one is good, else the newest good one that is not of the certificate to be published. One
    /// whose leaf is spent is not good: it is revoked, or its key is banned.
    pub fn last_good<'a>(
        sets: &'a [Self],
        fingerprint: &str,
        is_spent: impl Fn(&LeafFacts) -> bool,
    ) -> Option<&'a str> {
        let live_is_good = sets.iter().any(|set| set.is_live && set.is_good(&is_spent));
        // An interrupted publish left a set of that certificate: it was never live.
        if live_is_good { None } else { Self::newest_of_another(sets, fingerprint, is_spent) }
    }

    /// The newest good set that is of another certificate.
    pub fn newest_of_another<'a>(
        sets: &'a [Self],
        fingerprint: &str,
        is_spent: impl Fn(&LeafFacts) -> bool,
    ) -> Option<&'a str> {
        let is_same = |set: &Self| {
            let leaf = set.pair.as_ref().ok().and_then(PublishedPair::leaf);
            leaf.is_some_and(|leaf| leaf.fingerprint == fingerprint)
        };
        let found = sets.iter().rfind(|set| set.is_good(&is_spent) && !is_same(set));
        found.map(|set| set.name.as_str())
    }

    fn is_good(&self, is_spent: impl Fn(&LeafFacts) -> bool) -> bool {
        self.pair.as_ref().is_ok_and(|pair| pair.is_good() && !pair.leaf().is_some_and(is_spent))
    }
}

/// What servers do not find as it was published, and how it is repaired without an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// A description of what is missing, damaged, or points elsewhere.
    pub what: String,
    pub remedy: Remedy,
}

/// How a Secret's folder is repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The links are restored.
    Link {
        /// The set that `..data` must point to; `None` when `..data` is that set itself, as a
        /// folder.
        set: Option<String>,
        /// The revision of the set.
        revision: u32,
    },
    /// Files of the live set are missing or damaged: what is left of it, and the copies of key and
    /// chain that exist, are published as this revision again.
    Publish { revision: u32 },
    /// The pair of this revision, which the record names, is published here: the live files are older.
    Follow { revision: u32, fingerprint: String },
}

/// The files of keystores.
pub mod keystore {
    /// A Java keystore.
    pub const KEYSTORE_JKS: &str = "keystore.jks";
    /// A Java truststore.
    pub const TRUSTSTORE_JKS: &str = "truststore.jks";
    /// A PKCS#12 keystore.
    pub const KEYSTORE_P12: &str = "keystore.p12";
    /// A PKCS#12 truststore.
    pub const TRUSTSTORE_P12: &str = "truststore.p12";
}

/// The annotations derived from a leaf, without those of its subject's other attributes.
pub fn annotations_of(leaf: &LeafFacts) -> BTreeMap<String, String> {
    let addresses: Vec<String> = leaf.ip_addresses.iter().map(ToString::to_string).collect();
    let all = [
        (annotation::COMMON_NAME, leaf.common_name.clone()),
        (annotation::ALT_NAMES, csv(&leaf.dns_names)),
        (annotation::IP_SANS, csv(&addresses)),
        (annotation::URI_SANS, csv(&leaf.uris)),
    ];
    let email = (annotation::EMAIL_SANS, csv(&leaf.email_addresses));
    let email = (!leaf.email_addresses.is_empty()).then_some(email);
    all.into_iter().chain(email).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Values as one line of CSV, quoted where Go's writer quotes (RFC 4180).
pub fn csv(values: &[String]) -> String {
    let quoted = values.iter().map(|value| {
        let needs_quotes = value == "\\."
            || value.starts_with(char::is_whitespace)
            || value.contains([',', '"', '\r', '\n']);
        if needs_quotes { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.clone() }
    });
    quoted.collect::<Vec<_>>().join(",")
}

/// The annotations that record the origin of a published pair, and those derived from its leaf.
pub mod annotation {
    /// Subject CN.
    pub const COMMON_NAME: &str = "cert-manager.io/common-name";
    /// SANs of type dNSName.
    pub const ALT_NAMES: &str = "cert-manager.io/alt-names";
    /// SANs of type iPAddress.
    pub const IP_SANS: &str = "cert-manager.io/ip-sans";
    /// SANs of type URI.
    pub const URI_SANS: &str = "cert-manager.io/uri-sans";
    /// SANs of type rfc822Name.
    pub const EMAIL_SANS: &str = "cert-manager.io/email-sans";
    /// The prefix of those derived from the other attributes of the subject.
    pub const SUBJECT_PREFIX: &str = "cert-manager.io/subject-";
    /// The Certificate that owns the Secret.
    pub const CERTIFICATE_NAME: &str = "cert-manager.io/certificate-name";
    /// Name of the issuer that produced tls.crt.
    pub const ISSUER_NAME: &str = "cert-manager.io/issuer-name";
    /// Its kind.
    pub const ISSUER_KIND: &str = "cert-manager.io/issuer-kind";
    /// Its group.
    pub const ISSUER_GROUP: &str = "cert-manager.io/issuer-group";
}
