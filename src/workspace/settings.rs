//! The effective settings, from flags, environment and config file.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::selector::LabelSelector;
use crate::engine::{Hooks, HooksDir, Options};
use crate::manifest::{self, Source};
use crate::solver::listener::Inherited;
use crate::trust::Bounds;

/// Reads an environment variable.
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
    /// The state; an empty path stands for an empty state.
    pub state_dir: PathBuf,
    /// The namespace of `-n`.
    pub namespace: Option<String>,
    /// The selector of `-l`.
    pub selector: Option<LabelSelector>,
    /// The namespace of ClusterIssuers' secrets.
    pub cluster_resource_namespace: String,
    /// This process runs as root: no other user may be able to change what it reads.
    pub is_root: bool,
    /// Timeouts and limits.
    pub options: Options,
    /// The timeout of a hook.
    pub hook_timeout: Duration,
    /// The addresses of the HTTP-01 listener; empty for the default ones.
    pub http01_listen: Vec<SocketAddr>,
    /// Inherited sockets of both listeners.
    pub inherited: Rc<Inherited>,
    /// The port that the HTTP-01 self-check connects to.
    pub http01_check_port: u16,
    /// The addresses of the TLS-ALPN-01 listener; empty for the default ones.
    pub tlsalpn01_listen: Vec<SocketAddr>,
    /// The port that the TLS-ALPN-01 self-check connects to.
    pub tlsalpn01_check_port: u16,
    /// DNS servers, by host and port; empty for those of the system.
    pub resolvers: Vec<(String, u16)>,
    /// The port of authoritative servers.
    pub dns01_authoritative_port: u16,
    /// Whether the DNS-01 self-check queries only those servers.
    pub dns01_recursive_nameservers_only: bool,
    /// The folders below which outputs and webroots must lie; anywhere when empty.
    pub output_roots: Vec<PathBuf>,
    /// The environment variables.
    pub environment: Variables,
}

impl Settings {
    /// A path below the config directory.
    pub fn below_config(&self, name: &str) -> PathBuf {
        self.config_dir.clone().unwrap_or_default().join(name)
    }

    /// The operator's hooks.
    pub fn hooks(&self) -> HooksDir {
        HooksDir { folder: self.below_config("hooks.d"), run_by: self.options.hooks }
    }

    /// How manifests are read: where hooks run as root, they do so for root's manifests alone.
    pub(super) fn manifests(&self) -> manifest::Options {
        let lists_others = self.options.hooks == Hooks::AsRoot;
        manifest::Options { lists_others, ..manifest::Options::default() }
    }

    /// Where outputs and webroots may be. The folders of programs may be links that lead elsewhere.
    pub fn bounds(&self) -> Bounds {
        let config = self.config_dir.iter();
        let own =
            config.flat_map(|path| [path.clone(), path.join("hooks.d"), path.join("solvers.d")]);
        let state = Some(&self.state_dir).filter(|path| !path.as_os_str().is_empty());
        let reserved = own.chain(state.cloned()).collect();
        Bounds { reserved, roots: self.output_roots.clone() }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Environment variables may hold credentials.
        f.debug_struct("Settings")
            .field("config_dir", &self.config_dir)
            .field("state_dir", &self.state_dir)
            .finish_non_exhaustive()
    }
}
