//! The key and certificate of a certificate as output folders have them.
//!
//! Contract: read-only; what cannot be read is left out.

use std::path::PathBuf;

use super::open::Workspace;
use crate::engine::ports::StoreError;
use crate::engine::{live_files, published_pair};
use crate::pki::Chain;
use crate::resource::{LeafFacts, NamespacedName};
use crate::store::Output;

impl Workspace {
    /// The sets of files in the output folders of a certificate: all of them, or those with the
    /// leaf of this fingerprint.
    pub fn copies(&self, name: &NamespacedName, fingerprint: Option<&str>) -> Vec<PathBuf> {
        let Some(record) = self.record(name) else { return Vec::new() };
        // Others may have written to a folder to which this one never has.
        let written = record.deployments.iter().filter(|known| known.files.is_some());
        let folders = written.filter_map(|known| known.target.folder());
        let sets = folders.flat_map(|folder| Output::sets(folder.as_ref()));
        let is_meant = |certificate: Option<&[u8]>| match fingerprint {
            None => true,
            Some(wanted) => certificate.and_then(leaf_of).is_some_and(|found| found == wanted),
        };
        let meant = sets.filter(|(_, pem)| is_meant(pem.as_ref().map(|pem| pem.as_slice())));
        meant.map(|(path, _)| path).collect()
    }

    /// The live certificate, if it is this one's own.
    pub async fn live_leaf(&self, name: &NamespacedName) -> Result<Option<LeafFacts>, StoreError> {
        let Some(record) = self.record(name) else { return Ok(None) };
        let secret = NamespacedName::new(&name.namespace, &record.secret_name);
        if self.other_owner(name, &secret).is_some() {
            return Ok(None);
        }
        let live = live_files(&self.state, &secret, Some(record), None).await?;
        Ok(live.files.and_then(|files| published_pair(&files).certificate?.ok()))
    }
}

fn leaf_of(pem: &[u8]) -> Option<String> {
    let chain = Chain::from_pem(std::str::from_utf8(pem).ok()?).ok()?;
    Some(chain.leaf().fingerprint.clone())
}
