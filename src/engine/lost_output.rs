//! What is missing where a certificate was deployed.

use super::gather::files_digest;
use crate::controller::{deploy, links};
use crate::resource::{CertificateRecord, DeployStep, DeployTarget, SecretFiles, Settings};
use crate::store::Output;

/// What servers do not find in the output folder any more as it was last written there.
pub(super) fn lost_output(
    settings: &Settings,
    record: &CertificateRecord,
    files: &SecretFiles,
) -> Option<String> {
    let target = deploy::target(settings, DeployStep::Output)?;
    let written = record.deployments.iter().find(|known| known.target == target)?.files.as_ref()?;
    let DeployTarget::Output { folder, .. } = &target else { return None };
    if *written != files_digest(files) {
        return None;
    }
    let (missing, damaged) = Output::lost(folder.as_ref(), files);
    Some(links::damage(&missing, &damaged)).filter(|what| !what.is_empty())
}
