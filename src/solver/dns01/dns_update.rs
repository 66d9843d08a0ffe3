//! The feature `more-dns-providers`: the providers of the crate `dns-update`, by their names as
//! `solverName` of a `dns01.webhook` with `groupName: certctl`.
//!
//! ```yaml
//! dns01:
//!   webhook:
//!     groupName: certctl
//!     solverName: desec
//!     config:
//!       apiTokenSecretRef: {name: desec, key: token}
//! ```
//!
//! A field that ends in `SecretRef` names a Secret and a key in it, as everywhere in cert-manager;
//! a manifest never contains a credential. The fields of each are in `table.rs`, and in
//! docs/src/reference/dns-providers.md.
//!
//! certctl omits from the crate's list the providers that it implements itself, and `ddnss`,
//! `duckdns`, `freemyip` and `hurricane`, which hold one value per name, so that a second challenge
//! for the name would overwrite the first. `joker` and `namecheap` write a zone as a whole; changes
//! that another client makes in the same second are lost.
//!
//! Requests go to the service's own address, or to the one that `config` names, and trust the
//! roots of the system; no redirect is followed. The crate makes its own HTTP clients, which take the
//! proxy of the environment for every address, and lets no caller change that. Six providers can have
//! an address in `config`; one of this machine, of this link or of a cloud's metadata service is
//! refused while a proxy would see the credentials for it: see [`proxy::check`]. All others are asked
//! at public names that the crate holds, with at most a region in them, of which it accepts letters,
//! digits and '-' only. An operation ends after [`LIMIT`], whatever the crate waits for.

mod error;
mod fields;
mod proxy;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use dns_update::{DnsRecord, DnsRecordType, DnsUpdater};
use hyper_util::client::proxy::matcher::Matcher;
use serde_json::Value;
use tokio::sync::Mutex;

use self::error::Hidden;
use self::table::ROWS;
pub(super) use self::table::Row;
use super::listed::WebhookProvider;
use super::{Context, DnsProvider, Opened, ProviderError, ProviderFuture, TxtRecord};

/// All of them, in the order of their names.
pub(super) fn all() -> impl Iterator<Item = &'static WebhookProvider> {
    ROWS.iter().map(|row| &row.of)
}

/// The provider of this name.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.of.name == name)
}

/// The provider with its credentials.
pub(super) fn open(row: &'static Row, config: Option<&Value>, context: &Context<'_>) -> Opened {
    Ok(Box::new(DnsUpdate::new(row, config, context)?))
}

/// See the module.
struct DnsUpdate {
    name: &'static str,
    client: DnsUpdater,
    hidden: Hidden,
    limit: Duration,
    /// One operation at a time: most providers read the values at a name and write them back with
    /// one more, and a name and its wildcard have their values at the same name.
    turn: Mutex<()>,
}

impl DnsUpdate {
    fn new(
        row: &'static Row,
        config: Option<&Value>,
        context: &Context<'_>,
    ) -> Result<Self, ProviderError> {
        let WebhookProvider { name, fields } = row.of;
        let values = fields::read(name, fields, config, context)?;
        // As the crate's clients read it.
        proxy::check(row, &values, &Matcher::from_system())
            .map_err(|reason| ProviderError::Settings { provider: name, reason })?;
        let hidden = Hidden::new(&values);
        // The crate panics where this fails.
        reqwest::Client::builder().build().map_err(|error| ProviderError::Settings {
            provider: name,
            reason: format!("no client for HTTPS can be made: {error}"),
        })?;
        let texts: Vec<&str> = values.all.iter().map(|value| value.as_str()).collect();
        let client = (row.make)(&texts).map_err(|error| hidden.at_start(name, &error))?;
        Ok(Self { name, client, hidden, limit: LIMIT, turn: Mutex::new(()) })
    }

    /// The crate's result within the time limit.
    async fn within<T>(
        &self,
        answer: impl Future<Output = dns_update::Result<T>>,
    ) -> Result<dns_update::Result<T>, ProviderError> {
        let _turn = self.turn.lock().await;
        let answer = tokio::time::timeout(self.limit, answer).await;
        answer.map_err(|_| ProviderError::Unreachable {
            service: self.name.to_owned(),
            reason: format!("it was not done within {} s", self.limit.as_secs_f64()),
        })
    }

    fn failed(&self, error: &dns_update::Error) -> ProviderError {
        self.hidden.at_work(self.name, error)
    }
}

impl DnsProvider for DnsUpdate {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(async move {
            let (name, zone) = (record.name.as_str(), record.zone.as_str());
            let values = vec![DnsRecord::TXT(record.value.clone())];
            let ttl = ttl(self.name);
            let adding = self.client.add_to_rrset(name, DnsRecordType::TXT, ttl, values, zone);
            self.within(adding).await?.map_err(|error| self.failed(&error))
        })
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(async move {
            let (name, zone) = (record.name.as_str(), record.zone.as_str());
            let values = vec![DnsRecord::TXT(record.value.clone())];
            let removing = self.client.remove_from_rrset(name, DnsRecordType::TXT, values, zone);
            self.within(removing).await?.map_err(|error| self.failed(&error))
        })
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> ProviderFuture<'a, String> {
        Box::pin(async move {
            let listing = self.client.list_rrset(name, DnsRecordType::TXT, zone);
            let found = self.within(listing).await?.map_err(|error| self.failed(&error))?;
            let (provider, count) = (self.name, found.len());
            Ok(format!("{provider}: zone {zone} can be read; TXT records at the name: {count}"))
        })
    }
}

/// TTL in seconds of a service's values.
fn ttl(name: &str) -> u32 {
    if RAISED.contains(&name) { SHORT_TTL } else { TTL }
}

/// No service requires more, except those for which the crate raises it.
const TTL: u32 = 600;
/// For services of which the crate knows the shortest TTL, to which it raises this one.
const SHORT_TTL: u32 = 60;
const RAISED: [&str; 3] = ["joker", "namecheap", "selectel"];
/// The time limit of one operation. The crate waits up to a minute, three times, when a service
/// limits the rate of requests.
const LIMIT: Duration = Duration::from_secs(90);
