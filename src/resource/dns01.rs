//! `dns01` of a solver: cert-manager's providers, as data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SecretKeySelector;

/// `spec.acme.solvers[].dns01`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CnameStrategy {
    /// Write at the name itself.
    #[default]
    None,
    /// Write where the CNAMEs lead.
    Follow,
}

/// The providers, a line each: the variant, its module, its name in a manifest.
macro_rules! dns01_providers {
    ($make:ident) => {
        $make! {
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
    };
}
pub(crate) use dns01_providers;

macro_rules! provider {
    ($($variant:ident $module:ident $name:literal)*) => {
        /// Exactly one provider.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is the provider whose name it carries")]
        pub enum Dns01Provider {
            $(#[serde(rename = $name)] $variant($variant),)*
        }

        impl Dns01Provider {
            /// The names of all of them, in cert-manager's order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            fn own_name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
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

    /// The entries of Secrets that hold its credentials. In the `config` of a webhook, which has a
    /// shape of its own, that is each object of just a `name` and a `key`.
    pub fn credentials(&self) -> Vec<SecretKeySelector> {
        match self {
            Self::Akamai(akamai) => vec![
                akamai.client_token_secret_ref.clone(),
                akamai.client_secret_secret_ref.clone(),
                akamai.access_token_secret_ref.clone(),
            ],
            Self::CloudDns(cloud) => cloud.service_account_secret_ref.iter().cloned().collect(),
            Self::Cloudflare(cloudflare) => {
                let key = cloudflare.api_key_secret_ref.iter();
                key.chain(&cloudflare.api_token_secret_ref).cloned().collect()
            }
            Self::Route53(route53) => {
                let id = route53.access_key_id_secret_ref.iter();
                id.chain(&route53.secret_access_key_secret_ref).cloned().collect()
            }
            Self::AzureDns(azure) => azure.client_secret_secret_ref.iter().cloned().collect(),
            Self::DigitalOcean(digital_ocean) => vec![digital_ocean.token_secret_ref.clone()],
            Self::AcmeDns(acme_dns) => vec![acme_dns.account_secret_ref.clone()],
            Self::Rfc2136(rfc2136) => rfc2136.tsig_secret_secret_ref.iter().cloned().collect(),
            Self::Webhook(webhook) => {
                let mut found = Vec::new();
                webhook.config.iter().for_each(|config| references_in(config, &mut found));
                found
            }
        }
    }
}

fn references_in(value: &Value, found: &mut Vec<SecretKeySelector>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => items.iter().for_each(|item| references_in(item, found)),
        Value::Object(fields) => match SecretKeySelector::deserialize(value) {
            Ok(reference) if fields.len() == 2 => found.push(reference),
            Ok(_) | Err(_) => fields.values().for_each(|field| references_in(field, found)),
        },
    }
}

/// `dns01.akamai`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct Akamai {
    pub service_consumer_domain: String,
    pub client_token_secret_ref: SecretKeySelector,
    pub client_secret_secret_ref: SecretKeySelector,
    pub access_token_secret_ref: SecretKeySelector,
}

/// `dns01.cloudDNS`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct CloudDns {
    pub project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_secret_ref: Option<SecretKeySelector>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hosted_zone_name: String,
}

/// `dns01.cloudflare`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct Cloudflare {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub email: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_secret_ref: Option<SecretKeySelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_token_secret_ref: Option<SecretKeySelector>,
}

/// `dns01.route53`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct Route53 {
    #[serde(default, rename = "accessKeyID", skip_serializing_if = "String::is_empty")]
    pub access_key_id: String,
    #[serde(default, rename = "accessKeyIDSecretRef", skip_serializing_if = "Option::is_none")]
    pub access_key_id_secret_ref: Option<SecretKeySelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_access_key_secret_ref: Option<SecretKeySelector>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    #[serde(default, rename = "hostedZoneID", skip_serializing_if = "String::is_empty")]
    pub hosted_zone_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// `auth.kubernetes.serviceAccountRef`: cluster plumbing, kept as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Value>,
}

/// `dns01.azureDNS`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct AzureDns {
    #[serde(rename = "subscriptionID")]
    pub subscription_id: String,
    pub resource_group_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hosted_zone_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    #[serde(default, rename = "clientID", skip_serializing_if = "String::is_empty")]
    pub client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_secret_ref: Option<SecretKeySelector>,
    #[serde(default, rename = "tenantID", skip_serializing_if = "String::is_empty")]
    pub tenant_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_identity: Option<ManagedIdentity>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub zone_type: String,
}

/// `dns01.azureDNS.managedIdentity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct ManagedIdentity {
    #[serde(default, rename = "clientID", skip_serializing_if = "String::is_empty")]
    pub client_id: String,
    #[serde(default, rename = "resourceID", skip_serializing_if = "String::is_empty")]
    pub resource_id: String,
    #[serde(default, rename = "tenantID", skip_serializing_if = "String::is_empty")]
    pub tenant_id: String,
}

/// `dns01.digitalocean`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct DigitalOcean {
    pub token_secret_ref: SecretKeySelector,
}

/// `dns01.acmeDNS`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct AcmeDns {
    pub host: String,
    pub account_secret_ref: SecretKeySelector,
}

/// `dns01.rfc2136`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct Rfc2136 {
    pub nameserver: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tsig_secret_secret_ref: Option<SecretKeySelector>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tsig_key_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tsig_algorithm: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub protocol: String,
}

/// `dns01.webhook`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "cert-manager's fields")]
pub struct Webhook {
    pub group_name: String,
    pub solver_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

impl Webhook {
    /// The provider that it names: one of cert-manager's, or one that only some builds have.
    pub fn provider(&self) -> Option<&str> {
        let is_named =
            self.group_name == OWN_GROUP && !["exec", "http"].contains(&self.solver_name.as_str());
        is_named.then_some(self.solver_name.as_str())
    }

    /// The provider of cert-manager whose settings its `config` is.
    pub fn own_provider(&self) -> Option<&'static str> {
        let name = self.provider()?;
        Dns01Provider::NAMES.iter().copied().find(|own| *own == name && *own != "webhook")
    }
}

/// The `groupName` of the solvers that certctl has itself.
pub const OWN_GROUP: &str = "certctl.io";

#[cfg(test)]
mod tests {
    use super::*;

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
