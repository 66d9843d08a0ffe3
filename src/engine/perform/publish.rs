//! Writes a Secret: the pair, its additional formats, keystores, and metadata.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::error;
use super::password::password;
use super::world::World;
use crate::controller::{EffectError, Outcome, SecretContents};
use crate::engine::gather::{published_pair, salted_digest, with_metadata};
use crate::engine::inputs::{digest_of, names_of};
use crate::engine::links::{SeenFiles, decoded, live_files};
use crate::engine::pair::{Pair, to_publish};
use crate::engine::ports::{Clock, Documents, LiveFiles, Store};
use crate::engine::task::Task;
use crate::pki::{self, KeystoreContents};
use crate::resource::{
    BannedKeys, CertificateRecord, Issuance, Issuer, LeafFacts, NamespacedName, PublishedKeystore,
    Remedy, SecretFiles, SecretMetadata, StoredPair, annotation, annotations_of, csv, keystore,
};
use crate::store::Records;

/// What `issuance.log` says of a new certificate.
#[derive(Clone, Copy)]
pub(super) struct Issued<'a> {
    pub(super) revision: u32,
    pub(super) account: &'a str,
    pub(super) renewal: bool,
    pub(super) exempt: bool,
}

/// Whether a certificate cannot be live again, as the record and the banned keys say.
fn spent<'a>(
    record: Option<&'a CertificateRecord>,
    banned: &'a BannedKeys,
) -> impl Fn(&LeafFacts) -> bool + 'a {
    move |leaf| record.is_some_and(|record| record.has_given_up(leaf, banned))
}

impl<C: Clock, S: Store> World<'_, C, S> {
    /// Publishes key, chain and metadata in one step; where hosts share the documents, stores the pair,
    /// which is live on no host before the record names it.
    pub(super) async fn publish(
        &self,
        task: &Task,
        issuer: &Issuer,
        certificate: &str,
        contents: &SecretContents,
        entry: Issued<'_>,
    ) -> Result<Outcome, EffectError> {
        let key = self.next_key(task).await?;
        let chain = pki::Chain::from_pem(certificate).map_err(error::local)?;
        let pair = Pair { key, chain };
        let files = self.secret_files(task, issuer, contents, &pair)?;
        let leaf = pair.chain.leaf().clone();
        if S::Documents::SHARED {
            let name = task.certificate.metadata.key();
            let stored = pair.store(self.store.documents(), &name, entry.revision).await;
            stored.map_err(|e| error::state(&e))?;
        } else {
            self.put_live(task, &leaf, entry.revision, &files).await?;
        }
        let line = self.issuance(task, &leaf, entry);
        Records::new(self.store.documents())
            .log_issuance(line)
            .await
            .map_err(|e| error::state(&e))?;
        self.issuing.borrow_mut().remove(&task.certificate.metadata.key());
        self.end_alert(&task.certificate.metadata.key());
        Ok(Outcome::Published(Box::new(leaf)))
    }

    /// Makes a kept set live again.
    pub(super) async fn switch_back(&self, task: &Task, set: &str) -> Result<Outcome, EffectError> {
        let done = self.store.live_files().switch_back(&task.certificate.secret_key(), set).await;
        done.map(|()| Outcome::Done).map_err(|error| error::state(&error))
    }

    /// Repairs the links to the live files.
    pub(super) async fn restore_links(
        &self,
        task: &Task,
        set: Option<&str>,
        revision: u32,
    ) -> Result<Outcome, EffectError> {
        let done = self
            .store
            .live_files()
            .restore_links(&task.certificate.secret_key(), set, revision)
            .await;
        done.map(|()| Outcome::Done).map_err(|error| error::state(&error))
    }

    /// Publishes the next key with a temporary certificate. The revision stays as it is, and
    /// `issuance.log` gets no line: no CA has issued anything.
    pub(super) async fn publish_temporary(
        &self,
        task: &Task,
        issuer: &Issuer,
        revision: u32,
        contents: &SecretContents,
    ) -> Result<Outcome, EffectError> {
        let key = self.next_key(task).await?;
        let pem = pki::temporary_certificate(&task.certificate.spec, &key, self.clock.now());
        let chain = pki::Chain::from_pem(&pem.map_err(error::local)?).map_err(error::local)?;
        let pair = Pair { key, chain };
        let files = self.secret_files(task, issuer, contents, &pair)?;
        let leaf = pair.chain.leaf().clone();
        self.put_live(task, &leaf, revision, &files).await?;
        Ok(Outcome::PublishedTemporary(Box::new(leaf)))
    }

    /// Publishes the live key and chain again, in the formats of the spec.
    pub(super) async fn rewrite(
        &self,
        task: &Task,
        issuer: &Issuer,
        revision: u32,
        contents: &SecretContents,
    ) -> Result<Outcome, EffectError> {
        let secret = task.certificate.secret_key();
        let live =
            self.store.live_files().published(&secret).await.map_err(|e| error::state(&e))?;
        let live = live.unwrap_or_default();
        let text = |name: &str| {
            let bytes = live.0.get(name).map(|bytes| String::from_utf8(bytes.to_vec()));
            let text = bytes.and_then(Result::ok).map(Zeroizing::new);
            text.ok_or_else(|| error::precondition(format!("there is no live {name}")))
        };
        let key = pki::PrivateKey::from_pem(&text("tls.key")?).map_err(error::precondition)?;
        let chain = pki::Chain::from_pem(&text("tls.crt")?).map_err(error::precondition)?;
        let files = self.secret_files(task, issuer, contents, &Pair { key, chain })?;
        self.store
            .live_files()
            .publish(&secret, revision, &files, None)
            .await
            .map_err(|e| error::state(&e))?;
        Ok(Outcome::Rewritten)
    }

    /// Publishes what is left of the live files, with copies of the pair, again. Nothing is done
    /// when they are whole by now.
    pub(super) async fn restore_files(
        &self,
        task: &Task,
        revision: u32,
    ) -> Result<Outcome, EffectError> {
        let (name, secret) = (task.certificate.metadata.key(), task.certificate.secret_key());
        let records = Records::new(self.store.documents());
        let record = self.record(&name).await?;
        // One that is damaged is as good as none.
        let request = records.request(&name, revision).await.ok().flatten();
        let live = live_files(self.store, &secret, record.as_ref(), request.as_ref()).await;
        let SeenFiles { files, repair, .. } = live.map_err(|e| error::state(&e))?;
        let remedy = repair.map(|repair| repair.remedy);
        if let (Some(files), Some(Remedy::Publish { .. })) = (files, remedy) {
            let sets = self.sets(&secret).await?;
            let live = published_pair(&files);
            let fingerprint = live.leaf().map_or("", |leaf| leaf.fingerprint.as_str());
            let banned = self.banned_keys().await?;
            let is_spent = spent(record.as_ref(), &banned);
            let retained = StoredPair::newest_of_another(&sets, fingerprint, is_spent);
            let done = self.store.live_files().publish(&secret, revision, &files, retained).await;
            done.map_err(|e| error::state(&e))?;
        }
        Ok(Outcome::Done)
    }

    /// Publishes the stored pair that the record names. Nothing is done when it names another one by
    /// now, or the live files are not behind it any more.
    pub(super) async fn follow(
        &self,
        task: &Task,
        issuer: &Issuer,
        (revision, fingerprint): (u32, &str),
        contents: &SecretContents,
    ) -> Result<Outcome, EffectError> {
        let (name, secret) = (task.certificate.metadata.key(), task.certificate.secret_key());
        let pair = to_publish(self.store, &name, &secret, (revision, fingerprint)).await;
        if let Some(pair) = pair.map_err(|e| error::state(&e))? {
            let files = self.secret_files(task, issuer, contents, &pair)?;
            self.put_live(task, pair.chain.leaf(), revision, &files).await?;
        }
        Ok(Outcome::Done)
    }

    /// Publishes the files of this leaf, and keeps the last good set when the live one is damaged, or
    /// cannot be live again.
    async fn put_live(
        &self,
        task: &Task,
        leaf: &LeafFacts,
        revision: u32,
        files: &SecretFiles,
    ) -> Result<(), EffectError> {
        let secret = task.certificate.secret_key();
        let sets = self.sets(&secret).await?;
        let record = self.record(&task.certificate.metadata.key()).await?;
        let banned = self.banned_keys().await?;
        let is_spent = spent(record.as_ref(), &banned);
        let last_good = StoredPair::last_good(&sets, &leaf.fingerprint, is_spent);
        let done = self.store.live_files().publish(&secret, revision, files, last_good).await;
        done.map_err(|e| error::state(&e))
    }

    /// The pairs that are there of a Secret.
    pub(super) async fn sets(
        &self,
        secret: &NamespacedName,
    ) -> Result<Vec<StoredPair>, EffectError> {
        let sets = self.store.live_files().sets(secret).await.map_err(|e| error::state(&e))?;
        Ok(sets.iter().map(decoded).collect())
    }

    async fn record(
        &self,
        name: &NamespacedName,
    ) -> Result<Option<CertificateRecord>, EffectError> {
        let record = Records::new(self.store.documents()).certificate(name).await;
        record.map_err(|e| error::state(&e))
    }

    async fn banned_keys(&self) -> Result<BannedKeys, EffectError> {
        let banned = Records::new(self.store.documents()).banned_keys().await;
        Ok(banned.map_err(|e| error::state(&e))?.map(|stored| stored.value).unwrap_or_default())
    }

    /// Checks the inputs of the formats before the first request to a CA.
    pub(super) fn formats_can_be_made(
        &self,
        task: &Task,
        issuer: &Issuer,
        contents: &SecretContents,
    ) -> Result<(), EffectError> {
        authorities(task, issuer, contents)?;
        for name in contents.keystores.keys() {
            password(&self.secrets, &task.certificate, name).map_err(error::precondition)?;
        }
        Ok(())
    }

    fn secret_files(
        &self,
        task: &Task,
        issuer: &Issuer,
        of: &SecretContents,
        Pair { key, chain }: &Pair,
    ) -> Result<SecretFiles, EffectError> {
        let mut files = pki::secret_files(&task.certificate.spec, key, chain);
        let authorities = authorities(task, issuer, of)?;
        if let Some(authorities) = &authorities {
            let pem = authorities.to_pem().into_bytes();
            files.0.insert("ca.crt".to_owned(), Zeroizing::new(pem));
        }
        let contents = KeystoreContents { key, chain, authorities: authorities.as_ref() };
        let mut keystores = BTreeMap::new();
        for (name, setting) in &of.keystores {
            let password =
                password(&self.secrets, &task.certificate, name).map_err(error::precondition)?;
            let store = keystore(task, &contents, name, setting, &password)?;
            files.0.insert((*name).to_owned(), store);
            let salt = fresh_salt()?;
            let password_digest = salted_digest(&salt, &password);
            let setting = setting.clone();
            let published = PublishedKeystore { setting, salt, password_digest };
            keystores.insert((*name).to_owned(), published);
        }
        let mut annotations = of.annotations.clone();
        annotations.extend(annotations_of(chain.leaf()));
        for (name, values) in pki::subject_attributes(chain) {
            annotations.insert(format!("{}{name}", annotation::SUBJECT_PREFIX), csv(&values));
        }
        let labels = of.labels.clone();
        let metadata = SecretMetadata { annotations, labels, keystores, files: BTreeMap::new() };
        with_metadata(files, metadata).map_err(error::local)
    }

    /// One line of `issuance.log`.
    fn issuance(&self, task: &Task, leaf: &LeafFacts, entry: Issued<'_>) -> String {
        let Issued { revision, account, renewal, exempt } = entry;
        let line = Issuance {
            time: self.clock.now(),
            certificate: task.certificate.metadata.key().to_string(),
            revision,
            serial: leaf.serial.clone(),
            sha256: leaf.fingerprint.clone(),
            renewal,
            exempt,
            names: names_of(&task.certificate).iter().map(ToString::to_string).collect(),
            account: account.to_owned(),
            uid: rustix::process::getuid().as_raw(),
            verb: self.options.verb.to_owned(),
        };
        serde_json::to_string(&line).unwrap_or_default()
    }
}

fn keystore(
    task: &Task,
    contents: &KeystoreContents<'_>,
    name: &str,
    setting: &str,
    password: &str,
) -> Result<Zeroizing<Vec<u8>>, EffectError> {
    let keystores = task.certificate.spec.keystores.as_ref();
    let pkcs12 = keystores.and_then(|keystores| keystores.pkcs12.as_ref());
    let profile = pkcs12.and_then(|pkcs12| pkcs12.profile).unwrap_or_default();
    let store = match name {
        keystore::KEYSTORE_JKS => contents.jks(setting, password),
        keystore::TRUSTSTORE_JKS => contents.jks_truststore(password),
        keystore::TRUSTSTORE_P12 => contents.pkcs12_truststore(profile, password),
        _ => contents.pkcs12(profile, password),
    };
    store.map_err(|error| error::precondition(format!("{name}: {error}")))
}

/// The certificates of ca.crt, when the spec requests one.
fn authorities(
    task: &Task,
    issuer: &Issuer,
    contents: &SecretContents,
) -> Result<Option<pki::Chain>, EffectError> {
    match &contents.authorities {
        Some(pem) => {
            let chain = pki::Chain::from_pem(pem);
            chain.map(Some).map_err(|error| error::precondition(format!("caBundle: {error}")))
        }
        None if task.settings().ca_crt_from_bundle => Err(error::precondition(format!(
            "certctl/ca-crt: from-ca-bundle: issuer \"{}\" has no caBundle",
            issuer.metadata.name
        ))),
        None => Ok(None),
    }
}

fn fresh_salt() -> Result<String, EffectError> {
    let mut bytes = [0; 32];
    let drawn = aws_lc_rs::rand::fill(&mut bytes);
    drawn.map_err(|_| error::precondition("the system has no random bytes"))?;
    // Half of a digest over random bytes is as random, and already hexadecimal.
    Ok(digest_of(&bytes).chars().take(32).collect())
}
