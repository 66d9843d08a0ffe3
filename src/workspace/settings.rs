//! Where things are and how they are done, whoever said so.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::selector::LabelSelector;
use crate::engine::Options;
use crate::manifest::Source;

/// The value of a variable of the environment.
pub type Variables = Rc<dyn Fn(&str) -> Option<String>>;

/// See the module.
#[derive(Clone)]
pub struct Settings {
    /// Manifests beside those of the config directory.
    pub files: Vec<Source>,
    /// Manifests, secrets, hooks and solvers.
    pub config_dir: Option<PathBuf>,
    /// systemd's credentials.
    pub credentials_dir: Option<PathBuf>,
    /// The state; an empty path for none, of which nothing is known.
    pub state_dir: PathBuf,
    /// The one namespace that is asked for.
    pub namespace: Option<String>,
    /// The labels that are asked for.
    pub selector: Option<LabelSelector>,
    /// The namespace of the secrets that ClusterIssuers refer to.
    pub cluster_resource_namespace: String,
    /// This process is root's: then nobody else may be able to change what it reads.
    pub is_root: bool,
    /// How long and how much at once.
    pub options: Options,
    /// How long a hook may take.
    pub hook_timeout: Duration,
    /// The addresses of the HTTP-01 listener; none for the usual ones.
    pub http01_listen: Vec<SocketAddr>,
    /// Sockets that were handed over for it.
    pub http01_inherited: Rc<Vec<TcpListener>>,
    /// The port that the HTTP-01 self-check asks.
    pub http01_check_port: u16,
    /// DNS servers, by host and port; none for those of the system.
    pub resolvers: Vec<(String, u16)>,
    /// The port of authoritative servers.
    pub dns01_authoritative_port: u16,
    /// Whether the DNS-01 self-check asks those servers only.
    pub dns01_recursive_nameservers_only: bool,
    /// The variables of the environment.
    pub environment: Variables,
}

impl Settings {
    /// A place below the config directory.
    pub fn below_config(&self, name: &str) -> PathBuf {
        self.config_dir.clone().unwrap_or_default().join(name)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Variables of the environment may hold credentials.
        f.debug_struct("Settings")
            .field("config_dir", &self.config_dir)
            .field("state_dir", &self.state_dir)
            .finish_non_exhaustive()
    }
}
