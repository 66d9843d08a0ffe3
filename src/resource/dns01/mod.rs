//! `dns01` of a solver: the providers, as data.
//!
//! A provider is a file here, with its settings and the table of their fields; its client is the
//! file of the same name in `solver::dns01`; and it is one line in `dns01_providers`.
//!
//! An Order stores those of cert-manager by their names, so that its version rises with a new one.
//! A provider that cert-manager lacks is stored as the manifest has it: as a webhook, with its
//! settings in `config`. A certctl that does not know it reads the Order, says that it has no such
//! provider, and leaves the Order as it is.

mod settings;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SecretKeySelector;

pub use azure_dns::ManagedIdentity;
pub use settings::{Fault, FieldKind, Rule, Settings, SettingsField, SettingsTable};

/// In an Issuer that `certctl create` prints, a value that its user knows.
pub const CHANGE_ME: &str = "CHANGE ME";
/// The values that stand for such ones.
pub const PLACEHOLDERS: [&str; 2] = [CHANGE_ME, "00000000-0000-0000-0000-000000000000"];

/// What stands before a domain in the name of its TXT record (RFC 8555 section 8.4).
pub const CHALLENGE_PREFIX: &str = "_acme-challenge.";

/// The name of a domain's TXT record.
pub fn record_name(domain: impl fmt::Display) -> String {
    format!("{CHALLENGE_PREFIX}{domain}")
}

/// `spec.acme.solvers[].dns01`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dns01 {
    /// Whether CNAMEs are followed when writing; None when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cname_strategy: Option<CnameStrategy>,
    /// Servers (`host:port`, or an `https://` DoH URL) for the propagation check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    /// The provider.
    pub provider: Dns01Provider,
}

/// `cnameStrategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CnameStrategy {
    /// Write at the name itself.
    #[default]
    None,
    /// Write at the name that the CNAMEs point to.
    Follow,
}

/// The providers, a line each: the type of its settings, its module, its name in a manifest. Those
/// in `cert_manager` are fields of `dns01`, as there. Those in `certctl` are what cert-manager lacks:
/// the `solverName` of a webhook with groupName certctl, whose `config` has their settings.
macro_rules! dns01_providers {
    ($make:ident) => {
        $make! {
            cert_manager {
                Akamai akamai "akamai"
                CloudDns cloud_dns "cloudDNS"
                Cloudflare cloudflare "cloudflare"
                Route53 route53 "route53"
                AzureDns azure_dns "azureDNS"
                DigitalOcean digital_ocean "digitalocean"
                AcmeDns acme_dns "acmeDNS"
                Rfc2136 rfc2136 "rfc2136"
                Webhook webhook "webhook"
            }
            certctl {}
        }
    };
}
pub(crate) use dns01_providers;

macro_rules! provider {
    (
        cert_manager {$($variant:ident $module:ident $name:literal)*}
        certctl {$($own:ident $own_module:ident $own_name:literal)*}
    ) => {
        $(
            mod $module;
            pub use $module::$variant;
        )*
        $(
            mod $own_module;
            pub use $own_module::$own;
        )*

        /// Exactly one provider.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum Dns01Provider {
            $(
                #[doc = concat!("`", $name, "`")]
                #[serde(rename = $name)]
                $variant($variant),
            )*
        }

        impl Dns01Provider {
            /// The table of each one's settings, by its name in a manifest, in cert-manager's
            /// order.
            pub const TABLES: &'static [(&'static str, &'static SettingsTable)] =
                &[$(($name, $variant::TABLE)),*];

            /// The same of those that only a webhook can name, because cert-manager lacks them.
            pub const OWN_TABLES: &'static [(&'static str, &'static SettingsTable)] =
                &[$(($own_name, $own::TABLE)),*];

            fn parts(&self) -> (&'static str, &dyn Settings) {
                match self {
                    $(Self::$variant(settings) => ($name, settings),)*
                }
            }
        }
    };
}
dns01_providers!(provider);

impl Dns01Provider {
    /// Its name, as in a manifest; of a webhook that names a provider, that one's.
    pub fn name(&self) -> &str {
        let named = if let Self::Webhook(webhook) = self { webhook.provider() } else { None };
        named.unwrap_or(self.own_name())
    }

    /// Its name, a webhook's too.
    pub fn own_name(&self) -> &'static str {
        self.parts().0
    }

    /// The entries of Secrets that hold its credentials.
    pub fn credentials(&self) -> Vec<SecretKeySelector> {
        let mut found = Vec::new();
        self.parts().1.references(&mut found);
        found
    }

    /// The rules between its fields that are broken.
    pub fn faults(&self) -> Vec<Fault> {
        self.parts().1.faults()
    }
}

impl Webhook {
    /// The provider that it names, by name and table: `config` is its settings.
    pub fn own_provider(&self) -> Option<(&'static str, &'static SettingsTable)> {
        let named = self.provider().filter(|name| *name != "webhook")?;
        let all = Dns01Provider::TABLES.iter().chain(Dns01Provider::OWN_TABLES);
        all.copied().find(|(own, _)| *own == named)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    macro_rules! modules {
        (
            cert_manager {$($variant:ident $module:ident $name:literal)*}
            certctl {$($own:ident $own_module:ident $own_name:literal)*}
        ) => {
            &[$(stringify!($module),)* $(stringify!($own_module)),*]
        };
    }

    #[test]
    fn every_file_of_settings_has_its_line() {
        const MODULES: &[&str] = dns01_providers!(modules);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/resource/dns01");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let stems = paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
        let files: BTreeSet<String> =
            stems.filter(|stem| !["mod", "settings"].contains(&stem.as_str())).collect();
        let listed: BTreeSet<String> = MODULES.iter().map(|&module| module.to_owned()).collect();
        assert_eq!(files, listed);
    }

    #[test]
    fn a_webhooks_references_are_found_wherever_they_stand() {
        let config = serde_json::json!({
            "url": "https://dns.example/",
            "headers": { "Authorization": { "name": "hook", "key": "token" } },
            "zones": [{ "zone": "a", "keySecretRef": { "name": "zones", "key": "a" } }],
            "name": "no reference",
            "other": { "name": "n", "key": "k", "more": 1 },
            "numbers": { "name": 1, "key": 2 },
        });
        let webhook = |config| {
            let (group_name, solver_name) = ("acme.example.com".into(), "dns".into());
            Dns01Provider::Webhook(Webhook { group_name, solver_name, config })
        };
        let reference =
            |name: &str, key: &str| SecretKeySelector { name: name.into(), key: key.into() };
        assert_eq!(
            webhook(Some(config)).credentials(),
            [reference("hook", "token"), reference("zones", "a")]
        );
        assert_eq!(webhook(None).credentials(), []);
    }
}
