//! The pair of a revision as a document, where hosts share the documents.
//!
//! It is stored before the record names it, and each host publishes what the record names: the record is
//! the commit. A host whose live files are of a newer revision than the record publishes nothing.

use zeroize::Zeroizing;

use super::gather::published_pair;
use super::links::SeenFiles;
use super::ports::{Documents, LiveFiles, Store, StoreError};
use crate::pki;
use crate::resource::{
    CertificateRecord, LeafFacts, NamespacedName, PublishedPair, Remedy, Repair, SecretFiles,
};
use crate::store::Records;

/// A private key and the chain of its certificate.
#[derive(Debug)]
pub struct Pair {
    pub key: pki::PrivateKey,
    pub chain: pki::Chain,
}

impl Pair {
    /// The one whose leaf has this fingerprint.
    pub fn from_pem(pem: &[u8], fingerprint: &str) -> Option<Self> {
        let text = std::str::from_utf8(pem).ok()?;
        let (key, chain) = text.split_at(text.find("-----BEGIN CERTIFICATE-----")?);
        let key = pki::PrivateKey::from_pem(key).ok()?;
        let chain = pki::Chain::from_pem(chain).ok()?;
        let leaf = chain.leaf();
        let fits = leaf.fingerprint == fingerprint && key.facts().public_key == leaf.public_key;
        fits.then_some(Self { key, chain })
    }

    /// The key in PKCS#8, then the chain.
    pub fn to_pem(&self) -> Zeroizing<Vec<u8>> {
        let (key, chain) = (self.key.to_pkcs8_pem(), self.chain.to_pem());
        Zeroizing::new([key.as_bytes(), chain.as_bytes()].concat())
    }

    /// Stores it, unless it is there already: the chain of that one may have other intermediates.
    pub async fn store<D: Documents>(
        &self,
        documents: &D,
        of: &NamespacedName,
        revision: u32,
    ) -> Result<(), StoreError> {
        let (records, fingerprint) = (Records::new(documents), &self.chain.leaf().fingerprint);
        match records.create_pair(of, revision, fingerprint, &self.to_pem()).await {
            Err(error @ StoreError::Conflict { .. }) => {
                let found = records.pair(of, revision, fingerprint).await?;
                let is_there = found.and_then(|pem| Self::from_pem(&pem, fingerprint)).is_some();
                if is_there { Ok(()) } else { Err(error) }
            }
            done => done,
        }
    }
}

/// The revision and fingerprint of the pair that a record names.
fn named(record: &CertificateRecord) -> Option<(u32, &str)> {
    record.status.revision.zip(record.issued_fingerprint.as_deref())
}

/// This pair, if the record still names it, and the live files are behind it.
pub async fn to_publish<S: Store>(
    store: &S,
    name: &NamespacedName,
    secret: &NamespacedName,
    pair: (u32, &str),
) -> Result<Option<Pair>, StoreError> {
    let record = Records::new(store.documents()).certificate(name).await?;
    let Some(record) = record.filter(|record| named(record) == Some(pair)) else { return Ok(None) };
    let live = store.live_files().published(secret).await?.as_ref().map(published_pair);
    ahead(store, name, secret, &record, live.as_ref()).await
}

/// The pair that the record names, where the live files are behind it.
async fn ahead<S: Store>(
    store: &S,
    name: &NamespacedName,
    secret: &NamespacedName,
    record: &CertificateRecord,
    live: Option<&PublishedPair>,
) -> Result<Option<Pair>, StoreError> {
    let Some((revision, fingerprint)) = named(record).filter(|_| S::Documents::SHARED) else {
        return Ok(None);
    };
    let leaf = live.filter(|live| live.is_good()).and_then(PublishedPair::leaf);
    let is_live = leaf.is_some_and(|leaf| leaf.fingerprint == fingerprint);
    if is_live || live.is_some_and(|live| live.other_owner(&name.name).is_some()) {
        return Ok(None);
    }
    let Some(pem) = Records::new(store.documents()).pair(name, revision, fingerprint).await? else {
        return Ok(None);
    };
    let Some(pair) = Pair::from_pem(&pem, fingerprint) else {
        tracing::warn!(certificate = %name, revision, "the stored pair does not fit the record");
        return Ok(None);
    };
    let sets = store.live_files().sets(secret).await?;
    let newest = sets.iter().find(|set| set.is_live).or(sets.last()).map_or(0, |set| set.revision);
    let is_later = |leaf: &LeafFacts| leaf.not_before >= pair.chain.leaf().not_before;
    if newest > revision || newest == revision && leaf.is_some_and(is_later) {
        tracing::warn!(
            certificate = %name, revision, newest,
            "the live files are newer than the record: nothing is published"
        );
        return Ok(None);
    }
    Ok(Some(pair))
}

/// The same as the repair of live files that need no other one.
pub(super) async fn follow<S: Store>(
    store: &S,
    name: &NamespacedName,
    secret: &NamespacedName,
    record: &CertificateRecord,
    seen: &mut SeenFiles,
) -> Result<(), StoreError> {
    if !S::Documents::SHARED || seen.repair.is_some() {
        return Ok(());
    }
    let live = seen.files.as_ref().map(published_pair);
    let Some(pair) = ahead(store, name, secret, record, live.as_ref()).await? else {
        return Ok(());
    };
    let Some((revision, fingerprint)) = named(record) else { return Ok(()) };
    let file = |name: &str, bytes: &[u8]| (name.to_owned(), Zeroizing::new(bytes.to_vec()));
    let (key, chain) = (pair.key.to_pkcs8_pem(), pair.chain.to_pem());
    let files = [file("tls.key", key.as_bytes()), file("tls.crt", chain.as_bytes())];
    seen.files = Some(SecretFiles(files.into()));
    seen.metadata = None;
    let remedy = Remedy::Follow { revision, fingerprint: fingerprint.to_owned() };
    let what = format!("revision {revision} is not live on this host");
    seen.repair = Some(Repair { what, remedy });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::test_ca::{self, Ca};
    use crate::resource::KeyAlgorithm;

    fn pair(ca: &Ca, algorithm: KeyAlgorithm) -> Pair {
        let key = pki::PrivateKey::generate(algorithm, 256).unwrap();
        let leaf = ca.sign(&test_ca::leaf("", &["a.example"]), &key);
        Pair { key, chain: pki::Chain::from_pem(&(leaf + &ca.above)).unwrap() }
    }

    #[test]
    fn a_pair_is_read_as_it_was_stored_and_only_where_it_is_whole_and_the_one_that_is_named() {
        let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        for algorithm in [KeyAlgorithm::Ecdsa, KeyAlgorithm::Ed25519] {
            let (one, other) = (pair(&ca, algorithm), pair(&ca, algorithm));
            let named = one.chain.leaf().fingerprint.clone();
            let pem = one.to_pem();
            let found = Pair::from_pem(&pem, &named).unwrap();
            assert_eq!(found.chain, one.chain);
            assert_eq!(found.to_pem(), pem);
            assert!(Pair::from_pem(&pem, &other.chain.leaf().fingerprint).is_none());
            let mixed = Pair { key: other.key.clone(), chain: one.chain.clone() };
            assert!(Pair::from_pem(&mixed.to_pem(), &named).is_none());
            let key = one.key.to_pkcs8_pem().len();
            for cut in [0, 20, key, key + 100] {
                assert!(Pair::from_pem(&pem[..cut], &named).is_none(), "{cut} bytes");
            }
        }
    }
}
