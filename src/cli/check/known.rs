//! What the manifests say, for checks that need none of it.

use std::path::PathBuf;

use crate::cli::error::CliError;
use crate::cli::shell::Shell;
use crate::cli::targets::show;
use crate::engine::IssuerAccess;
use crate::manifest::{Loaded, SecretSource};
use crate::resource::Issuer;
use crate::store::StateDirectory;
pub(super) use crate::workspace::run::USER_AGENT;
use crate::workspace::{Settings, Targets, Workspace};

/// Everything that is known here.
pub(super) struct Known {
    pub(super) workspace: Workspace,
    /// What was read.
    pub(super) loaded: Loaded,
    /// Where secrets come from.
    pub(super) secrets: SecretSource,
    has_state: bool,
}

impl Known {
    /// Reads the manifests; what is wrong with them is told only when `tells`.
    pub(super) async fn read(shell: &mut Shell, tells: bool) -> Result<Self, CliError> {
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
        let Targets { loaded, secrets, .. } = workspace.everything();
        if tells {
            show(shell, &loaded);
        }
        Ok(Self { workspace, loaded, secrets, has_state })
    }

    /// The state, when it can be read.
    pub(super) fn state(&self) -> Option<&StateDirectory> {
        self.has_state.then(|| self.workspace.state())
    }

    /// The operator's programs.
    pub(super) fn solvers_dir(&self) -> PathBuf {
        self.workspace.settings().below_config("solvers.d")
    }

    /// The way to what an issuer refers to.
    pub(super) fn access<'a>(&'a self, issuer: &'a Issuer) -> IssuerAccess<'a> {
        IssuerAccess {
            issuer,
            secrets: &self.secrets,
            cluster_resource_namespace: &self.workspace.settings().cluster_resource_namespace,
        }
    }
}
