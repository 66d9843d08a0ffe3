//! One order, of a certificate that is not managed.
//!
//! The engine does it under a name of its own, `NAME.one-off.certctl.io`, in the state and so with
//! the accounts, locks, slots and presented tokens that all runs share. What is known under that
//! name is forgotten when the files are written. A run that was killed leaves it, and the same
//! command continues it; what it may have put out into the world is told by every run until then.

use super::open::Workspace;
use super::selection::Targets;
use crate::engine::ports::{Store as _, StoreError};
use crate::engine::{Force, Goal, Task};
use crate::resource::{Certificate, NamespacedName, Settings};

/// The Certificate under a name and a Secret of its own, that goes nowhere else.
pub fn one_off(name: &str, mut certificate: Certificate) -> Certificate {
    let name = format!("{name}.one-off.certctl.io");
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
    /// The work on such a Certificate; `None` when its Issuer is in no manifest.
    pub async fn one_off_task(
        &self,
        certificate: &Certificate,
        targets: &Targets,
    ) -> Result<Option<Task>, StoreError> {
        let Some(task) = self.task(certificate, &targets.loaded, &targets.secrets) else {
            return Ok(None);
        };
        let mut issuer = task.issuer;
        issuer.settings = unmanaged(&issuer.settings);
        // A failure of an earlier run is no reason to wait: this is asked for by hand.
        let is_issued = self.state.published(&certificate.secret_key()).await?.is_some();
        let force = (!is_issued).then_some(Force::default());
        // Its manifest is nothing that later runs should go by.
        let references = Vec::new();
        Ok(Some(Task { issuer, force, manifest: None, references, ..task }))
    }

    /// The same, to take back what a try has left in the world.
    pub fn one_off_clean_up(task: &Task) -> Task {
        Task { force: None, goal: Goal::CleanUp, ..task.clone() }
    }

    /// Forgets a certificate and, when it is named, its Secret.
    pub async fn forget(
        &self,
        certificate: &NamespacedName,
        secret: Option<&NamespacedName>,
    ) -> Result<(), StoreError> {
        self.state.forget(certificate, secret, self.settings.options.lock_timeout).await
    }
}

/// How names are proven, and nothing that is done with what is issued.
fn unmanaged(settings: &Settings) -> Settings {
    Settings {
        http01_listen: settings.http01_listen.clone(),
        http01_webroot: settings.http01_webroot.clone(),
        http01_check_port: settings.http01_check_port,
        ..Settings::default()
    }
}
