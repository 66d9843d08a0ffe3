//! Builds the snapshot's facts about keys and certificates from stored bytes.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::inputs::digest_of;
use crate::pki;
use crate::resource::{
    KeyFacts, PublishedFormats, PublishedKeystore, PublishedPair, SecretFiles, SecretMetadata,
    envelope,
};

/// The facts of a private key, or why it cannot be read.
pub(crate) fn key_facts(pem: &[u8]) -> Result<KeyFacts, String> {
    let text = std::str::from_utf8(pem).map_err(|_| "not text".to_owned())?;
    pki::key_facts(text).map_err(|error| error.to_string())
}

/// A digest that detects a changed password without storing the password.
pub(crate) fn salted_digest(salt: &str, password: &str) -> String {
    digest_of(&Zeroizing::new([salt.as_bytes(), password.as_bytes()].concat()))
}

/// Digest of all files that servers read.
pub(crate) fn files_digest(files: &SecretFiles) -> String {
    let read = files.0.iter().filter(|(name, _)| *name != SecretMetadata::FILE);
    let digests: Vec<(&String, String)> =
        read.map(|(name, bytes)| (name, digest_of(bytes))).collect();
    digest_of(format!("{digests:?}").as_bytes())
}

/// The files with their metadata, which keeps the digest of each.
pub(crate) fn with_metadata(
    mut files: SecretFiles,
    mut metadata: SecretMetadata,
) -> Result<SecretFiles, serde_json::Error> {
    files.0.remove(SecretMetadata::FILE);
    metadata.keystores.retain(|name, _| files.0.contains_key(name));
    metadata.files = files.0.iter().map(|(name, bytes)| (name.clone(), digest_of(bytes))).collect();
    let json = envelope::seal(&metadata)?;
    files.0.insert(SecretMetadata::FILE.to_owned(), Zeroizing::new(json));
    Ok(files)
}

/// The live leaf in PEM.
pub(super) fn leaf_pem(files: &SecretFiles) -> Option<String> {
    let pem = files.0.get("tls.crt")?;
    let chain = pki::Chain::from_pem(std::str::from_utf8(pem).ok()?).ok()?;
    let der = chain.certificates().first()?;
    der::pem::encode_string("CERTIFICATE", der::pem::LineEnding::LF, der).ok()
}

/// What is live, decoded.
pub fn published_pair(files: &SecretFiles) -> PublishedPair {
    // The store returns no set with unreadable metadata.
    pair_of(files, SecretMetadata::of(files).and_then(Result::ok).unwrap_or_default())
}

/// The same, with what is in their `metadata.json`.
pub(super) fn pair_of(files: &SecretFiles, metadata: SecretMetadata) -> PublishedPair {
    let bytes = |name: &str| present(files, name);
    let chain = bytes("tls.crt").map(|pem| {
        let text = String::from_utf8_lossy(pem);
        pki::leaf_and_key_facts(&text).map_err(|error| error.to_string())
    });
    let is_as_published = |name: &str| {
        let digest = metadata.files.get(name);
        bytes(name).is_some_and(|bytes| digest == Some(&digest_of(bytes)))
    };
    let key = bytes("tls.key").map(|pem| match &chain {
        // A key was compared with its certificate before both were published: to compute its
        // public half again would be most of the work on an idle certificate.
        Some(Ok((_, Some(key)))) if is_as_published("tls.key") && is_as_published("tls.crt") => {
            Ok(key.clone())
        }
        _ => key_facts(pem),
    });
    PublishedPair {
        key,
        certificate: chain.map(|chain| chain.map(|(leaf, _)| leaf)),
        annotations: metadata.annotations,
        labels: metadata.labels,
        formats: formats(files, metadata.keystores),
    }
}

pub(super) fn present<'a>(files: &'a SecretFiles, name: &str) -> Option<&'a Zeroizing<Vec<u8>>> {
    files.0.get(name).filter(|bytes| !bytes.is_empty())
}

fn formats(
    files: &SecretFiles,
    mut keystores: BTreeMap<String, PublishedKeystore>,
) -> PublishedFormats {
    let bytes = |name: &str| present(files, name);
    keystores.retain(|name, _| bytes(name).is_some());
    let key = bytes("tls.key").and_then(|pem| std::str::from_utf8(pem).ok());
    let encoding = key.map(pki::key_encoding);
    let der = bytes("key.der").map(|found| {
        let key = key.and_then(|pem| pki::PrivateKey::from_pem(pem).ok());
        key.zip(encoding).is_some_and(|(key, encoding)| key.der(encoding) == *found)
    });
    let combined_pem = bytes("tls-combined.pem").map(|found| {
        let chain = bytes("tls.crt").map(|bytes| bytes.as_slice()).unwrap_or_default();
        let parts = Zeroizing::new([key.unwrap_or_default().as_bytes(), b"\n", chain].concat());
        parts == *found
    });
    let authorities = bytes("ca.crt").map(|pem| String::from_utf8_lossy(pem).into_owned());
    PublishedFormats { encoding, der, combined_pem, authorities, keystores }
}
