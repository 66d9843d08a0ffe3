//! The results of a run: the document that `issue`, `renew`, `deploy`, `revoke`, `rollback` and
//! `forget` print with -o json or -o yaml.
//!
//! Contract: one item for each certificate of the run, changed or not, with the live certificate as
//! in the state after the run.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::CliError;
use crate::report::Report;
use crate::resource::{NamespacedName, RevocationReason};
use crate::store::{LiveFiles, Records, Store};

/// Results of a run.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Results {
    items: Vec<Report>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    revocations: Vec<Revoked>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forgotten: Vec<Forgotten>,
}

/// A certificate that is no longer managed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Forgotten {
    /// The Certificate, as `namespace/name`.
    pub(crate) certificate: String,
    /// The folder of its files, when they stay.
    pub(crate) folder: Option<String>,
    /// The output folders in which copies of its key and certificate stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) copies: Vec<String>,
}

/// A certificate that was to be revoked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Revoked {
    /// The Certificate that it belongs to, as `namespace/name`.
    pub(crate) certificate: Option<String>,
    /// Lower-case hexadecimal.
    pub(crate) serial: String,
    pub(crate) reason: RevocationReason,
    pub(crate) state: RevokedState,
    /// Reason for the failure.
    pub(crate) message: Option<String>,
    /// Where copies of it and its key stay in output folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) copies: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RevokedState {
    Revoked,
    /// Pending until the replacement is issued and deployed.
    Owed,
    /// It was pending, and is not sent any more.
    Cancelled,
    Failed,
}

impl Revoked {
    /// A revocation and its state.
    pub(crate) fn new(
        certificate: Option<&NamespacedName>,
        serial: &str,
        reason: RevocationReason,
        state: RevokedState,
    ) -> Self {
        let certificate = certificate.map(ToString::to_string);
        Self {
            certificate,
            serial: serial.to_owned(),
            reason,
            state,
            message: None,
            copies: Vec::new(),
        }
    }
}

impl Results {
    /// Adds the reports on certificates.
    pub(crate) async fn note(
        &mut self,
        state: &impl Store,
        reports: &[Report],
    ) -> Result<(), CliError> {
        for report in reports {
            let record = Records::new(state.documents()).certificate(&report.key()).await?;
            let live = record.as_ref().filter(|record| record.status.revision.is_some());
            let secret = live.map(|r| NamespacedName::new(&report.namespace, &r.secret_name));
            let files = secret.map(|secret| files(state, &secret)).unwrap_or_default();
            self.items.push(report.clone().with_state(record.as_ref(), files));
        }
        Ok(())
    }

    /// Adds a certificate that is no longer managed.
    pub(crate) fn forgotten(&mut self, forgotten: Forgotten) {
        self.forgotten.push(forgotten);
    }

    /// Adds a revocation.
    pub(crate) fn revoked(&mut self, revoked: Revoked) {
        self.revocations.push(revoked);
    }
}

/// The files of a Secret, by their stable paths.
fn files(state: &impl Store, secret: &NamespacedName) -> Vec<String> {
    let Ok(folder) = state.live_files().secret_path(secret) else { return Vec::new() };
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut paths: Vec<String> = names
        .filter(|name| !name.starts_with('.'))
        .map(|name| folder.join(name).to_string_lossy().into_owned())
        .collect();
    paths.sort();
    paths
}
