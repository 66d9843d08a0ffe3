//! One order for a certificate that is not managed.
//!
//! The engine issues it as `NAME.one-off.certctl`, in the state and so with the accounts,
//! locks, slots and presented tokens that all runs share. Its records are removed once the
//! files are written. A killed run leaves them, and the same command continues; until then
//! every run reports the challenges it may have left behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::open::Workspace;
use super::selection::Targets;
use crate::engine::ports::{Store as _, StoreError};
use crate::engine::{Force, Goal, Task, alert_of};
use crate::resource::{
    Certificate, CertificateRecord, Issuer, NamespacedName, RevokedCertificate, SecretMetadata,
    Settings, annotation,
};
use crate::store::Records;

/// A Certificate with its own name and Secret, without deployment.
pub fn one_off(name: &str, mut certificate: Certificate) -> Certificate {
    let name = format!("{name}.one-off.certctl");
    certificate.spec.secret_name.clone_from(&name);
    certificate.metadata.name = name;
    certificate.metadata.annotations.clear();
    certificate.settings = unmanaged(&certificate.settings);
    certificate.spec.keystores = None;
    certificate.spec.secret_template = None;
    certificate.spec.additional_output_formats.clear();
    certificate
}

impl Workspace {
    /// The task of such a Certificate; `None` when no manifest has its Issuer.
    pub async fn one_off_task(
        &self,
        certificate: &Certificate,
        targets: &Targets,
    ) -> Result<Option<Task>, StoreError> {
        let Some(task) =
            self.task(&Arc::new(certificate.clone()), &targets.loaded, &targets.secrets)
        else {
            return Ok(None);
        };
        let settings = unmanaged(&task.issuer.settings);
        let issuer = Arc::new(Issuer { settings, ..Issuer::clone(&task.issuer) });
        // The user started this by hand: the backoff of an earlier run does not apply.
        let is_issued = self.state.published(&certificate.secret_key()).await?.is_some();
        let force = (!is_issued).then_some(Force::default());
        // Later runs must not read its manifest.
        let references = Vec::new();
        Ok(Some(Task { issuer, force, manifest: None, references, ..task }))
    }

    /// The same, to clean up after an attempt.
    pub fn one_off_clean_up(task: &Task) -> Task {
        Task { force: None, goal: Goal::CleanUp, ..task.clone() }
    }

    /// The certificates that the state no longer knows and whose Secret is still there, with it.
    pub async fn forgotten(&self) -> Result<BTreeMap<NamespacedName, NamespacedName>, StoreError> {
        let mut forgotten = BTreeMap::new();
        for secret in self.state.secret_names()? {
            let is_its = |(name, record): &(NamespacedName, CertificateRecord)| {
                name.namespace == secret.namespace && record.secret_name == secret.name
            };
            if self.records.iter().any(is_its) {
                continue;
            }
            // One that cannot be read may be of another program.
            let Ok(Some(files)) = self.state.published(&secret).await else { continue };
            let metadata = SecretMetadata::of(&files).and_then(Result::ok).unwrap_or_default();
            if let Some(name) = metadata.annotations.get(annotation::CERTIFICATE_NAME) {
                forgotten.insert(NamespacedName::new(&secret.namespace, name), secret);
            }
        }
        forgotten.retain(|name, _| self.record(name).is_none());
        Ok(forgotten)
    }

    /// Removes a certificate and, with `has_secret`, its Secret.
    pub async fn forget(
        &self,
        certificate: &NamespacedName,
        secret: Option<&NamespacedName>,
        has_secret: bool,
    ) -> Result<(), StoreError> {
        // What is revoked stays known: its files may come back.
        let records = Records::new(&self.state);
        let revocations = self.record(certificate).map(|record| &record.revocations);
        for revoked in revocations.into_iter().flatten().filter_map(RevokedCertificate::of) {
            records.remember_revoked(&revoked).await?;
        }
        let wait = self.settings.options.lock_timeout;
        self.state.forget(certificate, secret, has_secret, wait).await?;
        self.state.forget_alert(&alert_of(certificate))
    }
}

/// The settings for challenges, without those for deployment.
fn unmanaged(settings: &Settings) -> Settings {
    Settings {
        http01_listen: settings.http01_listen.clone(),
        http01_webroot: settings.http01_webroot.clone(),
        http01_check_port: settings.http01_check_port,
        ..Settings::default()
    }
}
