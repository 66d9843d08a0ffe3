//! DNS-01 (RFC 8555 section 8.4): a TXT value at a name, written through the zone's provider.
//!
//! A provider is its settings (`resource/dns01/NAME.rs`), its client here and one line in the list
//! of [`Dns01Provider`]. Before a provider writes, the engine has found where the value belongs and
//! stored the record as pending clean-up. A provider changes only the one value it is given; other
//! values at the name stay.

mod api;
mod aws;
mod config;
mod context;
#[cfg(feature = "more-dns-providers")]
mod dns_update;
mod error;
mod exec;
#[cfg(test)]
mod fake;
mod listed;
mod oauth;
mod payload;
mod percent;
mod provider;
mod redact;
mod sets;
mod token_cache;
mod token_file;
mod txt;
mod zones;

use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::resource::dns01::{Fault, Settings};
use crate::resource::{Dns01Provider, dns01_providers};

pub use api::{Api, Call, Reply, Tls};
pub use context::{Context, Lookup, ReadSecret};
pub use error::ProviderError;
pub use listed::{ConfigField, ConfigKind, WebhookProvider};
pub use provider::{Action, DnsProvider, Opened, ProviderFuture, SolverProgram, TxtRecord};
pub use txt::txt_value;

/// The clients: each provider's module, and the places where all are named.
macro_rules! clients {
    (
        cert_manager {$($variant:ident $module:ident $name:literal)*}
        certctl {$($own:ident $own_module:ident $own_name:literal)*}
    ) => {
        $(mod $module;)*
        $(mod $own_module;)*

        fn client(provider: &Dns01Provider, context: &Context<'_>) -> Opened {
            match provider {
                $(Dns01Provider::$variant(settings) => $module::open(settings, context),)*
            }
        }

        /// Each client by the name of its provider, with the `config` of a webhook as its settings.
        const NAMED: &[(&str, OpenNamed)] = &[
            $(($name, |config, context| $module::open(&settings($name, config)?, context)),)*
            $((
                $own_name,
                |config, context| $own_module::open(&settings($own_name, config)?, context),
            ),)*
        ];
    };
}

dns01_providers!(clients);

/// The provider with its credentials. Validates the settings and sends nothing over the network.
pub fn open(provider: &Dns01Provider, context: &Context<'_>) -> Opened {
    if let Dns01Provider::Webhook(webhook) = provider
        && let Some((name, _)) = webhook.own_provider()
        && let Some((_, open)) = NAMED.iter().find(|(named, _)| *named == name)
    {
        let none = Value::Object(Map::new());
        return open(webhook.config.as_ref().unwrap_or(&none), context);
    }
    without_faults(provider.own_name(), provider.faults())?;
    client(provider, context)
}

/// A client whose settings are the `config` of a webhook.
type OpenNamed = fn(&Value, &Context<'_>) -> Opened;

/// The settings in the `config` of a webhook that names the provider.
fn settings<T: DeserializeOwned + Settings>(
    provider: &'static str,
    config: &Value,
) -> Result<T, ProviderError> {
    let settings: T = config::decoded(provider, config)?;
    without_faults(provider, settings.faults())?;
    Ok(settings)
}

fn without_faults(provider: &'static str, faults: Vec<Fault>) -> Result<(), ProviderError> {
    match faults.into_iter().next() {
        Some(fault) => Err(ProviderError::Settings { provider, reason: fault.to_string() }),
        None => Ok(()),
    }
}

/// The names of all providers of this build, as in manifests: alphabetically, cert-manager's first.
/// A webhook is none by itself.
pub fn names() -> Vec<&'static str> {
    let in_manifests = Dns01Provider::TABLES.iter().map(|(name, _)| *name);
    let mut names: Vec<&str> = in_manifests.filter(|name| *name != webhook::http::NAME).collect();
    names.sort_unstable();
    names.extend(webhook_providers().iter().map(|provider| provider.name));
    names
}

/// The providers of this build that a `webhook` with groupName certctl can name, beyond
/// cert-manager's, in the order of their names.
pub fn webhook_providers() -> Vec<&'static WebhookProvider> {
    static OWN: LazyLock<Vec<WebhookProvider>> = LazyLock::new(|| {
        let tables = Dns01Provider::OWN_TABLES.iter();
        tables.map(|(name, table)| WebhookProvider::of(name, table)).collect()
    });
    let mut all: Vec<&WebhookProvider> = OWN.iter().collect();
    #[cfg(feature = "more-dns-providers")]
    all.extend(dns_update::all());
    all.sort_unstable_by_key(|provider| provider.name);
    all
}
