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
    let LostFiles { missing, damaged, replaced } = Output::lost(folder.as_ref(), files);
    let damage = Some(links::damage(&missing, &damaged)).filter(|what| !what.is_empty());
    let replaced = (!replaced.is_empty()).then(|| {
        let verb =
            if replaced.len() == 1 { "is not certctl's link" } else { "are not certctl's links" };
        format!("{} {verb}", replaced.join(", "))
    });
    let parts: Vec<String> = damage.into_iter().chain(replaced).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
