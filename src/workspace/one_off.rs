//! One order for a certificate that is not managed.
//!
//! The engine issues it as `NAME.one-off.certctl`, in the state and so with the accounts,
//! locks, slots and presented tokens that all runs share. Its records are removed once the
//! files are written. A killed run leaves them, and the same command continues; until then
//! every run reports the challenges it may have left behind.

use std::sync::Arc;

use super::open::Workspace;
use super::selection::Targets;
use crate::engine::ports::{LiveFiles, Store, StoreError};
use crate::engine::{Force, Goal, Task};
use crate::resource::{Certificate, Issuer, Issuers, Settings};

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
        let issuer = &task.issuers.first;
        let settings = unmanaged(&issuer.settings);
        let issuers = Issuers::from(Arc::new(Issuer { settings, ..Issuer::clone(issuer) }));
        // The user started this by hand: the backoff of an earlier run does not apply.
        let is_issued =
            self.state.live_files().published(&certificate.secret_key()).await?.is_some();
        let force = (!is_issued).then_some(Force::default());
        // Later runs must not read its manifest.
        let references = Vec::new();
        let unread_secret = None;
        Ok(Some(Task { issuers, force, manifest: None, references, unread_secret, ..task }))
    }

    /// The same, to clean up after an attempt.
    pub fn one_off_clean_up(task: &Task) -> Task {
        Task { force: None, goal: Goal::CleanUp, ..task.clone() }
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
