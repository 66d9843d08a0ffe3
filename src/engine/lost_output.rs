//! What is missing where a certificate was deployed.

use crate::controller::{deploy, links};
use crate::resource::{CertificateRecord, DeployStep, DeployTarget, SecretFiles, Settings};
use crate::store::{LostFiles, Output};

/// What servers do not find in the output folder any more as it was last written there; these are
/// the live files, with their digest.
pub(super) fn lost_output(
    settings: &Settings,
    record: &CertificateRecord,
    files: &SecretFiles,
    files_digest: &str,
) -> Option<String> {
    let target = deploy::target(settings, DeployStep::Output)?;
    let written = record.deployments.iter().find(|known| known.target == target)?.files.as_ref()?;
    let DeployTarget::Output { folder, .. } = &target else { return None };
    if written != files_digest {
        return None;
    }
    let LostFiles { missing, damaged, replaced, open } = Output::lost(folder.as_ref(), files);
    let damage = links::damage(&missing, &damaged, &replaced);
    let open = (!open.is_empty()).then(|| format!("{}: open to other users", open.join(", ")));
    let parts: Vec<String> =
        Some(damage).filter(|damage| !damage.is_empty()).into_iter().chain(open).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
