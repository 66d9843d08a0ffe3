//! What was deployed in this run, and what may be.

use std::collections::BTreeSet;

use crate::resource::DeployStep;

/// What this run may deploy, and what it has deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentRun {
    /// Deploy, ignoring the wait after earlier failures (`deploy`, and `issue NAME`).
    pub at_once: bool,
    /// Deploy what is deployed already, too (`deploy --again`).
    pub again: bool,
    /// Leave hooks and reloads to a later run (`--hooks later`).
    pub leaves_hooks: bool,
    /// What was deployed in this run.
    pub done: BTreeSet<DeployStep>,
    /// The same as text, with deployments of a pair that another one replaced.
    pub texts: Vec<String>,
    /// What failed to deploy in this run.
    pub failed: BTreeSet<DeployStep>,
}

impl DeploymentRun {
    /// Other files are live: they have to be deployed again.
    pub(in crate::controller) fn note_other_files(&mut self) {
        self.done.clear();
        self.failed.clear();
    }
}
