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

use serde_json::{Map, Value};

use crate::resource::{Dns01Provider, dns01_providers};

pub use api::{Api, Call, Reply, Tls};
pub use context::{Context, Lookup, ReadSecret};
pub use error::ProviderError;
pub use listed::{ConfigField, ConfigKind, WebhookProvider};
pub use provider::{Action, DnsProvider, Opened, ProviderFuture, SolverProgram, TxtRecord};

/// The clients: each provider's module, and the one match over all.
macro_rules! clients {
    ($($variant:ident $module:ident $name:literal)*) => {
        $(mod $module;)*

        fn client(provider: &Dns01Provider, context: &Context<'_>) -> Opened {
            match provider {
                $(Dns01Provider::$variant(settings) => $module::open(settings, context),)*
            }
        }
    };
}

dns01_providers!(clients);

/// The provider with its credentials. Validates the settings and sends nothing over the network.
pub fn open(provider: &Dns01Provider, context: &Context<'_>) -> Opened {
    let named = named(provider)?;
    let provider = named.as_ref().unwrap_or(provider);
    if let Some(fault) = provider.faults().into_iter().next() {
        let (provider, reason) = (provider.own_name(), fault.to_string());
        return Err(ProviderError::Settings { provider, reason });
    }
    client(provider, context)
}

/// The provider whose settings are the `config` of a webhook that names it.
fn named(provider: &Dns01Provider) -> Result<Option<Dns01Provider>, ProviderError> {
    let Dns01Provider::Webhook(webhook) = provider else { return Ok(None) };
    let Some((name, _)) = webhook.own_provider() else { return Ok(None) };
    let config = webhook.config.clone().unwrap_or_else(|| Value::Object(Map::new()));
    let tagged = Value::Object(Map::from_iter([(name.to_owned(), config)]));
    config::decoded(name, &tagged).map(Some)
}

/// The names of all providers of this build, as in manifests: alphabetically, cert-manager's first.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Dns01Provider::TABLES.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.extend(webhook_providers().iter().map(|provider| provider.name));
    names
}

/// The providers of this build that a `webhook` with groupName certctl.io can name, beyond
/// cert-manager's, in the order of their names.
pub fn webhook_providers() -> Vec<&'static WebhookProvider> {
    #[cfg(feature = "more-dns-providers")]
    return dns_update::all().collect();
    #[cfg(not(feature = "more-dns-providers"))]
    Vec::new()
}
