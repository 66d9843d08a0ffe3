//! Writes a Secret: the pair, its additional formats, keystores, and metadata.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::error;
use super::password::password;
use super::world::World;
use crate::controller::{EffectError, Outcome, Snapshot, formats, limit, links};
use crate::engine::gather::salted_digest;
use crate::engine::inputs::{digest_of, names_of};
use crate::engine::links::decoded;
use crate::engine::ports::{Clock, Store};
use crate::pki::{self, KeystoreContents};
use crate::resource::{
    Issuance, KeptPair, LeafFacts, NamespacedName, PublishedKeystore, SecretFiles, SecretMetadata,
    envelope,
};

impl<C: Clock, S: Store> World<'_, C, S> {
    /// Publishes key, chain and metadata in one step.
    pub(super) async fn publish(&self, snapshot: &Snapshot) -> Result<Outcome, EffectError> {
        let order = snapshot.current_order();
        let pem = order.and_then(|order| order.certificate());
        let pem = pem.ok_or_else(|| error::local("there is no certificate to publish"))?;
        let chain = pki::Chain::from_pem(pem).map_err(error::local)?;
        let key = self.next_key(snapshot).await?;
        let files = self.secret_files(snapshot, &key, &chain)?;
        let revision = snapshot.next_revision();
        let secret = snapshot.certificate.secret_key();
        self.put_live(&secret, revision, &files, chain.leaf()).await?;
        let line = self.issuance(snapshot, chain.leaf());
        self.store.log_issuance(&line).await.map_err(|e| error::state(&e))?;
        Ok(Outcome::Published(Box::new(chain.leaf().clone())))
    }

    /// Publishes the next key with a temporary certificate. The revision stays as it is, and
    /// `issuance.log` gets no line: no CA has issued anything.
    pub(super) async fn publish_temporary(
        &self,
        snapshot: &Snapshot,
    ) -> Result<Outcome, EffectError> {
        let key = self.next_key(snapshot).await?;
        let spec = &snapshot.certificate.spec;
        let pem = pki::temporary_certificate(spec, &key, self.clock.now());
        let chain = pki::Chain::from_pem(&pem.map_err(error::local)?).map_err(error::local)?;
        let files = self.secret_files(snapshot, &key, &chain)?;
        let revision = snapshot.record.status.revision.unwrap_or(0);
        let secret = snapshot.certificate.secret_key();
        self.put_live(&secret, revision, &files, chain.leaf()).await?;
        Ok(Outcome::PublishedTemporary(Box::new(chain.leaf().clone())))
    }

    /// Publishes the live key and chain again, in the formats of the spec.
    pub(super) async fn rewrite(&self, snapshot: &Snapshot) -> Result<Outcome, EffectError> {
        let secret = snapshot.certificate.secret_key();
        let live = self.store.published(&secret).await.map_err(|e| error::state(&e))?;
        let live = live.unwrap_or_default();
        let text = |name: &str| {
            let bytes = live.0.get(name).map(|bytes| String::from_utf8(bytes.to_vec()));
            let text = bytes.and_then(Result::ok).map(Zeroizing::new);
            text.ok_or_else(|| error::precondition(format!("there is no live {name}")))
        };
        let key = pki::PrivateKey::from_pem(&text("tls.key")?).map_err(error::precondition)?;
        let chain = pki::Chain::from_pem(&text("tls.crt")?).map_err(error::precondition)?;
        let files = self.secret_files(snapshot, &key, &chain)?;
        let revision = snapshot.record.status.revision.unwrap_or(0);
        self.store.publish(&secret, revision, &files, None).await.map_err(|e| error::state(&e))?;
        Ok(Outcome::Rewritten)
    }

    /// Publishes, and keeps the last good set when the live one is damaged.
    async fn put_live(
        &self,
        secret: &NamespacedName,
        revision: u32,
        files: &SecretFiles,
        leaf: &LeafFacts,
    ) -> Result<(), EffectError> {
        let sets = self.store.sets(secret).await.map_err(|e| error::state(&e))?;
        let sets: Vec<KeptPair> = sets.iter().map(decoded).collect();
        let last_good = links::last_good(&sets, &leaf.fingerprint);
        let done = self.store.publish(secret, revision, files, last_good).await;
        done.map_err(|e| error::state(&e))
    }

    /// Checks the inputs of the formats before the first request to a CA.
    pub(super) fn formats_can_be_made(&self, snapshot: &Snapshot) -> Result<(), EffectError> {
        authorities(snapshot)?;
        for name in formats::wanted_keystores(snapshot).keys() {
            password(&self.secrets, snapshot, name)?;
        }
        Ok(())
    }

    fn secret_files(
        &self,
        snapshot: &Snapshot,
        key: &pki::PrivateKey,
        chain: &pki::Chain,
    ) -> Result<SecretFiles, EffectError> {
        let mut files = pki::secret_files(&snapshot.certificate.spec, key, chain);
        let authorities = authorities(snapshot)?;
        if let Some(text) = formats::wanted_authorities(snapshot) {
            files.0.insert("ca.crt".to_owned(), Zeroizing::new(text.as_bytes().to_vec()));
        }
        let contents = KeystoreContents { key, chain, authorities: authorities.as_ref() };
        let mut keystores = BTreeMap::new();
        for (name, setting) in formats::wanted_keystores(snapshot) {
            let password = password(&self.secrets, snapshot, name)?;
            let store = keystore(snapshot, &contents, name, &setting, &password)?;
            files.0.insert(name.to_owned(), store);
            let salt = fresh_salt()?;
            let password_digest = salted_digest(&salt, &password);
            keystores.insert(name.to_owned(), PublishedKeystore { setting, salt, password_digest });
        }
        let mut annotations = formats::annotations(snapshot, chain.leaf());
        for (name, values) in pki::subject_attributes(chain) {
            let key = format!("{}{name}", formats::detail::SUBJECT_PREFIX);
            annotations.insert(key, formats::csv(&values));
        }
        let metadata = SecretMetadata { annotations, labels: formats::labels(snapshot), keystores };
        let json = envelope::seal(&metadata).map_err(error::local)?;
        files.0.insert(SecretMetadata::FILE.to_owned(), Zeroizing::new(json));
        Ok(files)
    }

    /// One line of `issuance.log`.
    fn issuance(&self, snapshot: &Snapshot, leaf: &LeafFacts) -> String {
        let account = snapshot.current_order().map(|order| order.spec.account_url.as_str());
        let line = Issuance {
            time: self.clock.now(),
            certificate: snapshot.certificate.metadata.key().to_string(),
            revision: snapshot.next_revision(),
            serial: leaf.serial.clone(),
            sha256: leaf.fingerprint.clone(),
            renewal: limit::renews(snapshot, &limit::names(snapshot)),
            names: names_of(&snapshot.certificate).iter().map(ToString::to_string).collect(),
            account: account.unwrap_or_default().to_owned(),
            uid: rustix::process::getuid().as_raw(),
            verb: self.options.verb.to_owned(),
        };
        serde_json::to_string(&line).unwrap_or_default()
    }
}

fn keystore(
    snapshot: &Snapshot,
    contents: &KeystoreContents<'_>,
    name: &str,
    setting: &str,
    password: &str,
) -> Result<Zeroizing<Vec<u8>>, EffectError> {
    let keystores = snapshot.certificate.spec.keystores.as_ref();
    let pkcs12 = keystores.and_then(|keystores| keystores.pkcs12.as_ref());
    let profile = pkcs12.and_then(|pkcs12| pkcs12.profile).unwrap_or_default();
    let store = match name {
        formats::KEYSTORE_JKS => contents.jks(setting, password),
        formats::TRUSTSTORE_JKS => contents.jks_truststore(password),
        formats::TRUSTSTORE_P12 => contents.pkcs12_truststore(profile, password),
        _ => contents.pkcs12(profile, password),
    };
    store.map_err(|error| error::precondition(format!("{name}: {error}")))
}

/// The certificates of ca.crt, when the spec requests one.
fn authorities(snapshot: &Snapshot) -> Result<Option<pki::Chain>, EffectError> {
    let asked = snapshot.settings.ca_crt_from_bundle;
    match formats::wanted_authorities(snapshot) {
        Some(pem) => {
            let chain = pki::Chain::from_pem(pem);
            chain.map(Some).map_err(|error| error::precondition(format!("caBundle: {error}")))
        }
        None if asked => Err(error::precondition(format!(
            "certctl.io/ca-crt: from-ca-bundle: issuer \"{}\" has no caBundle",
            snapshot.issuer.metadata.name
        ))),
        None => Ok(None),
    }
}

fn fresh_salt() -> Result<String, EffectError> {
    let mut bytes = [0; 32];
    let drawn = aws_lc_rs::rand::fill(&mut bytes);
    drawn.map_err(|_| error::precondition("the system provides no random bytes"))?;
    // Half of a digest over random bytes is as random, and already hexadecimal.
    Ok(digest_of(&bytes).chars().take(32).collect())
}
