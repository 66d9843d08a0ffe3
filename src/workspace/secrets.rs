//! The Secrets of a certificate: the one that its record names, and those that it had under an earlier
//! secretName.
//!
//! Contract: a certificate's is what was published for it ([`Share`]). After a rename, a folder may
//! hold pairs of two certificates, and the record of the one whose manifest is gone may name a Secret
//! that another one publishes to.

use std::collections::BTreeSet;

use super::open::Workspace;
use crate::engine::alert_of;
use crate::engine::ports::{Documents, HostRecord, Key, LiveFiles, Lock, Store, StoreError};
use crate::resource::{NamespacedName, RevokedCertificate};
use crate::store::{Claim, Records, Share};

impl Workspace {
    /// The certificates that the state no longer knows, and of which files are still there.
    pub fn forgotten(&self) -> Result<Vec<NamespacedName>, StoreError> {
        let mut forgotten = BTreeSet::new();
        for secret in self.state.live_files().secret_names()? {
            // One that cannot be read may be of another program.
            let owners = self.state.live_files().owners(&secret).unwrap_or_default().into_iter();
            forgotten.extend(owners.map(|owner| NamespacedName::new(&secret.namespace, &owner)));
        }
        forgotten.retain(|name| self.record(name).is_none());
        Ok(forgotten.into_iter().collect())
    }

    /// The Secret that a certificate's record names, with what of it is the certificate's own.
    pub fn recorded_secret(
        &self,
        name: &NamespacedName,
    ) -> Result<Option<(NamespacedName, Share)>, StoreError> {
        let Some(record) = self.record(name) else { return Ok(None) };
        let secret = NamespacedName::new(&name.namespace, &record.secret_name);
        let share = self.state.live_files().share(&name.name, &self.claim(name, &secret))?;
        Ok(Some((secret, share)))
    }

    /// All Secrets that have something of a certificate, with what that is.
    pub fn secrets_of(
        &self,
        name: &NamespacedName,
    ) -> Result<Vec<(NamespacedName, Share)>, StoreError> {
        let mut found = Vec::new();
        let all = self.state.live_files().secret_names()?;
        for secret in all.into_iter().filter(|secret| secret.namespace == name.namespace) {
            let share = self.state.live_files().share(&name.name, &self.claim(name, &secret))?;
            if share != Share::Nothing {
                found.push((secret, share));
            }
        }
        Ok(found)
    }

    /// The certificate whose pair is live in a Secret, if that is not this one.
    pub fn other_owner(
        &self,
        name: &NamespacedName,
        secret: &NamespacedName,
    ) -> Option<NamespacedName> {
        let owner =
            self.state.live_files().published_for(secret).filter(|owner| *owner != name.name)?;
        Some(NamespacedName::new(&secret.namespace, owner))
    }

    /// Whether the live pair of a Secret is this certificate's.
    pub fn has_live(&self, name: &NamespacedName, secret: &NamespacedName) -> bool {
        self.state.live_files().has_live(&name.name, &self.claim(name, secret))
    }

    /// The claims of the records to a Secret.
    fn claim(&self, name: &NamespacedName, secret: &NamespacedName) -> Claim {
        let names = |of: &NamespacedName, secret_name: &str| {
            of.namespace == secret.namespace && secret_name == secret.name
        };
        let mut others = self.records().iter().filter(|(other, _)| other != name);
        Claim {
            secret: secret.clone(),
            is_recorded: self.record(name).is_some_and(|record| names(name, &record.secret_name)),
            is_contested: others.any(|(other, record)| names(other, &record.secret_name)),
        }
    }

    /// Removes a certificate and, with `has_secret`, what is its own of these Secrets.
    pub async fn forget(
        &self,
        certificate: &NamespacedName,
        secrets: &[NamespacedName],
        has_secret: bool,
    ) -> Result<(), StoreError> {
        // What is revoked stays known: its files may come back.
        let records = Records::new(self.state.documents());
        let revocations = self.record(certificate).map(|record| &record.revocations);
        for revoked in revocations.into_iter().flatten().filter_map(RevokedCertificate::of) {
            records.remember_revoked(&revoked).await?;
        }
        let wait = self.settings.options.lock_timeout;
        let claims: Vec<Claim> =
            secrets.iter().map(|secret| self.claim(certificate, secret)).collect();
        let key = Key::Certificate(certificate.clone());
        let lock = Lock::Certificate(certificate.clone());
        let _lease = self.state.documents().lease(&lock, wait).await?;
        for claim in &claims {
            self.state.live_files().forget(&certificate.name, claim, has_secret)?;
        }
        self.state.documents().delete(&key).await?;
        self.state.host_record().forget_alert(&alert_of(certificate))
    }
}
