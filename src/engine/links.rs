//! What servers open, and what they would open if the links and files of the Secret's folder were
//! intact.

use zeroize::Zeroizing;

use super::gather::{present, published_pair, with_metadata};
use super::inputs::digest_of;
use super::ports::{LiveFiles, LiveSet, SecretSet, Store, StoreError};
use crate::controller::links;
use crate::pki;
use crate::resource::{
    CertificateRecord, CertificateRequest, DataLink, DeployTarget, NamespacedName, Remedy, Repair,
    SecretFiles, SecretMetadata, StoredPair,
};
use crate::store::Output;

/// The files of a Secret.
pub struct SeenFiles {
    /// The live ones, or those that a repair would make live; `None` when there are none.
    pub files: Option<SecretFiles>,
    /// What is in their `metadata.json`.
    pub metadata: Option<SecretMetadata>,
    /// What servers do not find as it was published.
    pub repair: Option<Repair>,
    /// Whether sets exist and none of them is live.
    pub is_lost: bool,
}

/// Reads the live files; without `..data`, those of the set that the record names; and where they
/// are missing or damaged, what is left of them with copies of key and chain. `request` is the one
/// of the recorded revision.
pub async fn live_files<S: Store>(
    store: &S,
    secret: &NamespacedName,
    record: Option<&CertificateRecord>,
    request: Option<&CertificateRequest>,
) -> Result<SeenFiles, StoreError> {
    let (found, live) = store.live_files().live(secret).await?;
    let has_live = matches!(found.data, DataLink::Set(_));
    let mut sets = if has_live { Vec::new() } else { store.live_files().sets(secret).await? };
    let is_lost = !sets.is_empty();
    let stored: Vec<StoredPair> = sets.iter().map(decoded).collect();
    let folder = match found.data {
        DataLink::Folder => store.live_files().published(secret).await.ok().flatten(),
        DataLink::Set(_) | DataLink::Missing => None,
    };
    let folder = folder.as_ref().map(published_pair);
    let mut repair = links::repair(record, &found, &stored, folder.as_ref());
    let chosen = match repair.as_ref().map(|repair| &repair.remedy) {
        Some(Remedy::Link { set, .. }) => set.as_deref(),
        Some(Remedy::Publish { .. } | Remedy::Follow { .. }) | None => None,
    };
    let revision = record.and_then(|record| record.status.revision);
    if let Some(at) = sets.iter().position(|set| Some(&*set.name) == chosen && set.files.is_ok()) {
        let files = sets.swap_remove(at).files.ok();
        let metadata = files.as_ref().and_then(SecretMetadata::of).and_then(Result::ok);
        return Ok(SeenFiles { files, metadata, repair, is_lost });
    }
    let is_unreadable = |set: &SecretSet| Some(set.revision) == revision && set.files.is_err();
    if repair.is_none()
        && let Some(at) = sets.iter().position(is_unreadable)
        && let Err(error) = sets.swap_remove(at).files
    {
        // The recorded set exists but cannot be read: no reason for a new order.
        return Err(error);
    }
    let live = live.filter(|_| has_live);
    let (mut files, mut metadata) = if let Some(LiveSet { files, metadata }) = live {
        (Some(files), metadata)
    } else {
        let files = store.live_files().published(secret).await?;
        // The store returns no set with unreadable metadata.
        let metadata = files.as_ref().and_then(SecretMetadata::of).and_then(Result::ok);
        (files, metadata)
    };
    if let Some(record) = record.filter(|_| has_live || is_lost)
        && let Some(published) = Published::of(record, request, metadata.as_ref())
        && let Some(what) = published.damage(files.as_ref())
    {
        if has_live {
            sets = store.live_files().sets(secret).await?;
        }
        let copies = sets.into_iter().filter_map(|set| set.files.ok());
        let copies: Vec<SecretFiles> = copies.chain(outputs(record)).collect();
        match published.recovered(files.as_ref(), &copies) {
            Some(whole) => {
                let remedy = Remedy::Publish { revision: published.revision };
                repair = Some(Repair { what, remedy });
                metadata = SecretMetadata::of(&whole).and_then(Result::ok);
                files = Some(whole);
            }
            None => published.hide_damaged_chain(&mut files),
        }
    }
    Ok(SeenFiles { files, metadata, repair, is_lost })
}

/// A set, decoded.
pub(super) fn decoded(set: &SecretSet) -> StoredPair {
    StoredPair {
        name: set.name.clone(),
        revision: set.revision,
        is_live: set.is_live,
        pair: set.files.as_ref().map(published_pair).map_err(ToString::to_string),
    }
}

/// What is in the folders that the pair was deployed to.
fn outputs(record: &CertificateRecord) -> impl Iterator<Item = SecretFiles> {
    record.deployments.iter().filter_map(|deployment| match &deployment.target {
        DeployTarget::Output { folder, .. } => Output::files(folder.as_ref()),
        DeployTarget::Hook { .. } | DeployTarget::Reload { .. } => None,
    })
}

/// What the state knows of the published files, beside the files.
struct Published<'a> {
    record: &'a CertificateRecord,
    request: Option<&'a CertificateRequest>,
    revision: u32,
    fingerprint: &'a str,
    /// `None` when it is missing.
    metadata: Option<&'a SecretMetadata>,
}

impl<'a> Published<'a> {
    /// `None` for a pair that certctl did not issue.
    fn of(
        record: &'a CertificateRecord,
        request: Option<&'a CertificateRequest>,
        metadata: Option<&'a SecretMetadata>,
    ) -> Option<Self> {
        Some(Self {
            record,
            request,
            revision: record.status.revision?,
            fingerprint: record.issued_fingerprint.as_deref()?,
            metadata,
        })
    }

    /// Which files are missing or damaged.
    fn damage(&self, files: Option<&SecretFiles>) -> Option<String> {
        let file = |name: &str| files.and_then(|files| files.0.get(name));
        let (mut missing, mut damaged) = (Vec::new(), Vec::new());
        if let Some(metadata) = self.metadata {
            for (name, digest) in &metadata.files {
                match file(name) {
                    None => missing.push(name.clone()),
                    Some(bytes) if digest_of(bytes) != *digest => damaged.push(name.clone()),
                    Some(_) => {}
                }
            }
        } else {
            // Without digests, key and chain are compared with the records, unless they belong
            // together: a killed run may have published them before it wrote its record.
            let is_good = files.is_some_and(|files| published_pair(files).is_good());
            for name in ["tls.crt", "tls.key"].into_iter().filter(|_| !is_good) {
                match file(name) {
                    None => missing.push(name.to_owned()),
                    Some(_) if !self.is_of_the_pair(name, files) => {
                        damaged.push(name.to_owned());
                    }
                    Some(_) => {}
                }
            }
            missing.push(SecretMetadata::FILE.to_owned());
        }
        Some(links::damage(&missing, &damaged, &[])).filter(|what| !what.is_empty())
    }

    fn is_of_the_pair(&self, name: &str, files: Option<&SecretFiles>) -> bool {
        let Some(pair) = files.map(published_pair) else { return false };
        match (name, &pair.key) {
            ("tls.key", Some(Ok(key))) => {
                let request = self.request.map(|request| &request.spec.public_key);
                let leaf = || pair.leaf().map(|leaf| &leaf.public_key);
                request.or_else(leaf) == Some(&key.public_key)
            }
            ("tls.key", Some(Err(_)) | None) => false,
            _ => links::is_recorded(self.record, &pair),
        }
    }

    fn is_undamaged(&self, name: &str, bytes: &[u8]) -> bool {
        let digest = self.metadata.and_then(|metadata| metadata.files.get(name));
        digest.is_none_or(|digest| digest_of(bytes) == *digest)
    }

    /// The undamaged files, with key and chain from wherever they can be found.
    fn recovered(
        &self,
        files: Option<&SecretFiles>,
        copies: &[SecretFiles],
    ) -> Option<SecretFiles> {
        let sources = || files.into_iter().chain(copies);
        let chain = sources().flat_map(chain_texts).find_map(|text| self.chain(text));
        let chain = chain.or_else(|| self.chain(self.request?.certificate.as_deref()?))?;
        let public_key = &chain.leaf().public_key;
        let key = sources().flat_map(key_texts).find_map(|text| {
            let key = pki::PrivateKey::from_pem(&text).ok()?;
            (key.facts().public_key == *public_key).then(|| key.to_pem(pki::key_encoding(&text)))
        })?;
        let mut whole = files.cloned().unwrap_or_default();
        whole.0.retain(|name, bytes| self.is_undamaged(name, bytes));
        let chain = Zeroizing::new(chain.to_pem().into_bytes());
        whole.0.insert("tls.crt".to_owned(), chain);
        whole.0.insert("tls.key".to_owned(), Zeroizing::new(key.as_bytes().to_vec()));
        with_metadata(whole, self.metadata.cloned().unwrap_or_default()).ok()
    }

    fn chain(&self, text: &str) -> Option<pki::Chain> {
        let chain = pki::Chain::from_pem(text).ok()?;
        // The request has it, too: the digest may be what is damaged.
        let requested = self.request.and_then(|request| request.certificate.as_deref());
        let requested = requested.and_then(|text| pki::Chain::from_pem(text).ok());
        let is_whole = self.is_undamaged("tls.crt", chain.to_pem().as_bytes())
            || requested.is_some_and(|requested| requested == chain);
        (is_whole && chain.leaf().fingerprint == self.fingerprint).then_some(chain)
    }

    /// A chain that is damaged behind its leaf, without a copy, counts as missing: no other check
    /// looks at it.
    fn hide_damaged_chain(&self, files: &mut Option<SecretFiles>) {
        let Some(files) = files else { return };
        if files.0.get("tls.crt").is_some_and(|bytes| !self.is_undamaged("tls.crt", bytes))
            && links::is_recorded(self.record, &published_pair(files))
        {
            files.0.remove("tls.crt");
        }
    }
}

/// The chains in a set: its own file, and the one behind the key.
fn chain_texts(files: &SecretFiles) -> impl Iterator<Item = &str> {
    ["tls.crt", "tls-combined.pem"].into_iter().filter_map(|name| {
        let text = std::str::from_utf8(present(files, name)?).ok()?;
        text.get(text.find("-----BEGIN CERTIFICATE-----")?..)
    })
}

/// The forms of the key in a set, as PEM.
fn key_texts(files: &SecretFiles) -> Vec<Zeroizing<String>> {
    let mut texts = Vec::new();
    for name in ["tls.key", "tls-combined.pem"] {
        let text = present(files, name).and_then(|bytes| std::str::from_utf8(bytes).ok());
        texts.extend(text.map(|text| Zeroizing::new(text.to_owned())));
    }
    if let Some(bytes) = present(files, "key.der") {
        let labels = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];
        texts.extend(labels.into_iter().filter_map(|label| {
            let pem = der::pem::encode_string(label, der::pem::LineEnding::LF, bytes);
            pem.ok().map(Zeroizing::new)
        }));
    }
    texts
}
