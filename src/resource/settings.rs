//! Local settings: the `certctl/` annotations of Certificates and Issuers.

use serde::{Deserialize, Serialize};

use super::DeployTarget;

/// The `certctl/` annotations, one field each. On an Issuer they are the defaults of its
/// Certificates; an empty list or `None` means "not set".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// `certctl/solver`: the challenge type of `http01` solvers, one that a server answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<String>,
    /// `certctl/http01: stateless`: a server outside answers any token, by the account's
    /// thumbprint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub http01_stateless: bool,
    /// `certctl/http01-listen`: comma-separated socket addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http01_listen: Vec<String>,
    /// `certctl/http01-webroot`: absolute path of a document root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http01_webroot: Option<String>,
    /// `certctl/http01-check-port`: port that the self-check connects to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http01_check_port: Option<u16>,
    /// `certctl/output-dir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_dir: Option<String>,
    /// `certctl/output-owner`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_owner: Option<String>,
    /// `certctl/output-group`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_group: Option<String>,
    /// `certctl/output-mode`: octal file mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_mode: Option<u32>,
    /// `certctl/deploy-hook`: name of a file in `hooks.d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy_hook: Option<String>,
    /// `certctl/reload`: name of a file in `hooks.d`, run once per run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reload: Option<String>,
    /// `certctl/ca-crt: from-ca-bundle`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ca_crt_from_bundle: bool,
    /// `certctl/allow-untrusted: "true"`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_untrusted: bool,
}

impl Settings {
    /// Whether HTTP-01 challenges are answered by the listener at its usual address.
    pub fn uses_usual_port(&self) -> bool {
        !self.is_answered_by_server() && self.http01_listen.is_empty()
    }

    /// Whether a server of the operator answers HTTP-01 challenges, from a webroot or by itself.
    pub fn is_answered_by_server(&self) -> bool {
        self.http01_stateless || self.http01_webroot.is_some()
    }

    /// The port at which an HTTP-01 challenge is looked up, where `usual` is that of the run.
    pub fn check_port(&self, usual: u16) -> u16 {
        self.http01_check_port.unwrap_or(usual)
    }

    /// Where each certificate is deployed, in order.
    pub fn deploy_targets(&self) -> Vec<DeployTarget> {
        let output = self.output_dir.clone().map(|folder| DeployTarget::Output {
            folder,
            owner: self.output_owner.clone(),
            group: self.output_group.clone(),
            mode: self.output_mode,
        });
        let hook = self.deploy_hook.clone().map(|name| DeployTarget::Hook { name });
        let reload = self.reload.clone().map(|name| DeployTarget::Reload { name });
        [output, hook, reload].into_iter().flatten().collect()
    }

    /// These settings, with `defaults` where nothing is set here.
    #[must_use]
    pub fn or(&self, defaults: &Self) -> Self {
        let own = self.clone();
        Self {
            solver: own.solver.or_else(|| defaults.solver.clone()),
            http01_stateless: own.http01_stateless || defaults.http01_stateless,
            http01_listen: if own.http01_listen.is_empty() {
                defaults.http01_listen.clone()
            } else {
                own.http01_listen
            },
            http01_webroot: own.http01_webroot.or_else(|| defaults.http01_webroot.clone()),
            http01_check_port: own.http01_check_port.or(defaults.http01_check_port),
            output_dir: own.output_dir.or_else(|| defaults.output_dir.clone()),
            output_owner: own.output_owner.or_else(|| defaults.output_owner.clone()),
            output_group: own.output_group.or_else(|| defaults.output_group.clone()),
            output_mode: own.output_mode.or(defaults.output_mode),
            deploy_hook: own.deploy_hook.or_else(|| defaults.deploy_hook.clone()),
            reload: own.reload.or_else(|| defaults.reload.clone()),
            ca_crt_from_bundle: own.ca_crt_from_bundle || defaults.ca_crt_from_bundle,
            allow_untrusted: own.allow_untrusted || defaults.allow_untrusted,
        }
    }
}
