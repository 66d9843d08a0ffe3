//! The providers of this build.

use super::{
    Context, DnsProvider, ProviderError, acme_dns, akamai, azure_dns, cloud_dns, cloudflare,
    digital_ocean, rfc2136, route53, webhook,
};
use crate::resource::Dns01Provider;

/// Makes a provider of its settings.
pub type Open = fn(&Dns01Provider, &Context<'_>) -> Result<Box<dyn DnsProvider>, ProviderError>;

/// One provider.
pub struct Entry {
    /// As in a manifest.
    pub name: &'static str,
    /// Whether it must know the zone, as the DNS shows it, before it writes.
    pub needs_zone: bool,
    /// Whether these settings are its own.
    pub is_for: fn(&Dns01Provider) -> bool,
    /// Checks the settings and gets the credentials; asks nobody over the network.
    pub open: Open,
}

/// Those of cert-manager, a line each.
pub const PROVIDERS: &[Entry] = &[
    acme_dns::ENTRY,
    akamai::ENTRY,
    azure_dns::ENTRY,
    cloud_dns::ENTRY,
    cloudflare::ENTRY,
    digital_ocean::ENTRY,
    rfc2136::ENTRY,
    route53::ENTRY,
    webhook::ENTRY,
];

/// All that this build has: those of cert-manager, then those that a webhook can name besides.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    PROVIDERS.iter().chain(more())
}

#[cfg(feature = "more-dns-providers")]
fn more() -> impl Iterator<Item = &'static Entry> {
    super::more::entries()
}

#[cfg(not(feature = "more-dns-providers"))]
fn more() -> impl Iterator<Item = &'static Entry> {
    std::iter::empty()
}

/// The provider that a solver's settings are for; of a webhook that names one, that one.
pub fn entry_of(provider: &Dns01Provider) -> Option<&'static Entry> {
    webhook::named(provider).or_else(|| owner_of(provider))
}

fn owner_of(provider: &Dns01Provider) -> Option<&'static Entry> {
    PROVIDERS.iter().find(|entry| (entry.is_for)(provider))
}

/// The provider with its credentials.
pub fn open(
    provider: &Dns01Provider,
    context: &Context<'_>,
) -> Result<Box<dyn DnsProvider>, ProviderError> {
    match owner_of(provider) {
        Some(entry) => (entry.open)(provider, context),
        None => Err(ProviderError::Settings {
            provider: "dns01",
            reason: "this build has no such provider".to_owned(),
        }),
    }
}
