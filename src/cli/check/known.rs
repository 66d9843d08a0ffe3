//! What the manifests say, for checks that are of use without any.

use std::path::PathBuf;

use crate::cli::error::CliError;
use crate::cli::run::open_state;
use crate::cli::shell::Shell;
use crate::cli::work::{Wanted, gather, known};
use crate::engine::IssuerAccess;
use crate::manifest::{Loaded, SecretSource};
use crate::resource::Issuer;
use crate::store::{OpenMode, StateDirectory};

/// Sent to CAs and providers.
pub(super) const USER_AGENT: &str = concat!("certctl/", env!("CARGO_PKG_VERSION"));

/// Everything that is known here.
pub(super) struct Known {
    /// What was read.
    pub(super) loaded: Loaded,
    /// Where secrets come from.
    pub(super) secrets: SecretSource,
    /// The state, when it can be read.
    pub(super) state: Option<StateDirectory>,
    /// The operator's programs.
    pub(super) solvers_dir: PathBuf,
    cluster_resource_namespace: String,
}

impl Known {
    /// Reads the manifests; what is wrong with them is told only when `tells`.
    pub(super) async fn read(shell: &mut Shell, tells: bool) -> Result<Self, CliError> {
        let path = shell.environment.state_dir(shell.global.state_dir.as_deref()).ok();
        let state = path.and_then(|path| open_state(&path.path, OpenMode::ReadOnly).ok());
        let records = match &state {
            Some(state) => known(state).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let work = gather(shell, &Wanted { is_said: !tells, ..Wanted::default() }, &records)?;
        let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
        Ok(Self {
            loaded: work.loaded,
            secrets: work.secrets,
            state,
            solvers_dir: config.map(|config| config.path).unwrap_or_default().join("solvers.d"),
            cluster_resource_namespace: shell.global.cluster_resource_namespace.clone(),
        })
    }

    /// The way to what an issuer refers to.
    pub(super) fn access<'a>(&'a self, issuer: &'a Issuer) -> IssuerAccess<'a> {
        IssuerAccess {
            issuer,
            secrets: &self.secrets,
            cluster_resource_namespace: &self.cluster_resource_namespace,
        }
    }
}
