//! The manifests and the state, for checks that also work without them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::acme::{AcmeError, Client, Limits};
use crate::engine::IssuerAccess;
use crate::resource::Issuer;
use crate::workspace::run::{RunError, USER_AGENT};
use crate::workspace::{Settings, State, Targets, Workspace};

/// Manifests, secrets and state.
pub struct Known {
    /// Over an empty state where there is none to read.
    pub workspace: Workspace,
    pub targets: Targets,
    has_state: bool,
}

impl Known {
    /// Reads the manifests, and the state where that is possible.
    pub async fn read(settings: Settings) -> Result<Self, RunError> {
        let found = Workspace::open(settings.clone()).await;
        let has_state = found.is_ok() && !settings.state_dir.as_os_str().is_empty();
        let mut workspace = if let Ok(workspace) = found {
            workspace
        } else {
            let nowhere = PathBuf::new();
            Workspace::open(Settings { state_dir: nowhere, ..settings }).await?
        };
        let targets = workspace.everything();
        Ok(Self { workspace, targets, has_state })
    }

    /// The state, when it can be read.
    pub fn state(&self) -> Option<&State> {
        self.has_state.then(|| self.workspace.state())
    }

    /// The folder of exec solvers.
    pub(super) fn solvers_dir(&self) -> PathBuf {
        self.workspace.settings().below_config("solvers.d")
    }

    /// Access to an issuer's secrets.
    pub(super) fn access<'a>(&'a self, issuer: &'a Issuer) -> IssuerAccess<'a> {
        IssuerAccess {
            issuer,
            secrets: &self.targets.secrets,
            cluster_resource_namespace: &self.workspace.settings().cluster_resource_namespace,
        }
    }

    /// A client of an issuer's CA, which tries once: the user is waiting, and can run the check
    /// again.
    pub(super) fn client(&self, issuer: &Issuer) -> Result<Arc<Client>, AcmeError> {
        let timeout = self.workspace.settings().options.timeout;
        let limits = Limits { retry_waits: Vec::new(), ..Limits::within(timeout) };
        self.access(issuer).client(USER_AGENT, limits)
    }
}
