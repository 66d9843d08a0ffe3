//! The manifests and the state, for checks that also work without them.

use std::path::PathBuf;

use crate::cli::error::CliError;
use crate::cli::shell::Shell;
use crate::cli::targets::show;
use crate::engine::IssuerAccess;
use crate::resource::Issuer;
use crate::store::StateDirectory;
pub(super) use crate::workspace::run::USER_AGENT;
use crate::workspace::{Settings, Targets, Workspace};

/// Manifests, secrets and state.
pub(in crate::cli) struct Known {
    pub(in crate::cli) workspace: Workspace,
    pub(in crate::cli) targets: Targets,
    has_state: bool,
}

impl Known {
    /// Reads the manifests; reports their errors only when `reports`.
    pub(in crate::cli) async fn read(shell: &mut Shell, reports: bool) -> Result<Self, CliError> {
        let path = shell.environment.state_dir(shell.global.state_dir.as_deref());
        let path = path.map(|found| found.path).unwrap_or_default();
        let settings = shell.settings_at(path)?;
        let found = Workspace::open(settings.clone()).await;
        let has_state = found.is_ok() && !settings.state_dir.as_os_str().is_empty();
        let mut workspace = if let Ok(workspace) = found {
            workspace
        } else {
            let nowhere = PathBuf::new();
            Workspace::open(Settings { state_dir: nowhere, ..settings }).await?
        };
        let targets = workspace.everything();
        if reports {
            show(shell, &targets.loaded);
        }
        Ok(Self { workspace, targets, has_state })
    }

    /// The state, when it can be read.
    pub(in crate::cli) fn state(&self) -> Option<&StateDirectory> {
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
}
