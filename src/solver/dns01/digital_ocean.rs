//! DigitalOcean: API v2, with a personal access token.
//!
//! A domain of the account that lists the name is its zone: the one that the DNS shows, or else
//! what is above the name. Only a record whose value matches is deleted.

#[cfg(test)]
mod tests;

use std::fmt;
use std::rc::Rc;

use http::Method;
use http::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::txt::{candidates, unquoted};
use super::{Api, Call, Context, Deed, DnsProvider, Opened, ProviderError, Reply, TxtRecord};
use crate::resource::dns01::DigitalOcean as Settings;

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    let token = context.text(NAME, "tokenSecretRef", &settings.token_secret_ref)?;
    let api = Rc::clone(&context.api);
    Ok(Box::new(DigitalOcean { api, base: BASE.to_owned(), token }))
}

/// See the module.
struct DigitalOcean {
    api: Rc<Api>,
    base: String,
    token: Zeroizing<String>,
}

impl fmt::Debug for DigitalOcean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DigitalOcean").field("base", &self.base).finish_non_exhaustive()
    }
}

impl DnsProvider for DigitalOcean {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(async move {
            let found = self.records(&record.name, &record.zone).await?;
            if found.ids_of(&record.value).next().is_some() {
                return Ok(());
            }
            let body = json!({
                "type": "TXT",
                "name": found.relative(),
                "data": record.value,
                "ttl": TTL,
            });
            let call = Call::new(Method::POST, self.records_url(&found.zone)).json(&body);
            let reply = self.send(call).await?;
            if reply.is_success() { Ok(()) } else { Err(refusal(&reply)) }
        })
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(async move {
            let found = self.records(&record.name, &record.zone).await?;
            for id in found.ids_of(&record.value) {
                let url = format!("{}/{id}", self.records_url(&found.zone));
                let reply = self.send(Call::new(Method::DELETE, url)).await?;
                if !reply.is_success() && reply.status != 404 {
                    return Err(refusal(&reply));
                }
            }
            Ok(())
        })
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> Deed<'a, String> {
        Box::pin(async move {
            let found = self.records(name, zone).await?;
            let (zone, count) = (&found.zone, found.records.len());
            Ok(format!("digitalocean: domain {zone} can be read; TXT records at the name: {count}"))
        })
    }
}

/// The TXT records at a name, and the domain of the account that holds them.
struct Found {
    name: String,
    zone: String,
    records: Vec<Record>,
}

impl Found {
    fn ids_of(&self, value: &str) -> impl Iterator<Item = u64> {
        let fitting = self.records.iter().filter(move |record| unquoted(&record.data) == value);
        fitting.map(|record| record.id)
    }

    fn relative(&self) -> &str {
        relative(&self.name, &self.zone)
    }
}

impl DigitalOcean {
    async fn records(&self, name: &str, zone: &str) -> Result<Found, ProviderError> {
        let candidates = candidates(name, zone);
        for candidate in &candidates {
            if let Some(records) = self.pages(name, candidate).await? {
                return Ok(Found { name: name.to_owned(), zone: (*candidate).to_owned(), records });
            }
        }
        let tried = candidates.join(", ");
        Err(ProviderError::NoZone {
            service: super::api::service_of(&self.base),
            name: name.to_owned(),
            reason: format!("the account of the token has none of the domains {tried}"),
        })
    }

    /// All pages of the TXT records at the name; `None` when the account has no such domain.
    ///
    /// That there is a next page is the service's word, its address is not: a token follows none.
    async fn pages(&self, name: &str, zone: &str) -> Result<Option<Vec<Record>>, ProviderError> {
        let relative = relative(name, zone);
        let mut all = Vec::new();
        for page in 1..=MAX_PAGES {
            let page = page.to_string();
            let query = [("type", "TXT"), ("name", name), ("per_page", "200"), ("page", &page)];
            let call = Call::new(Method::GET, self.records_url(zone)).query(&query);
            let reply = self.send(call).await?;
            if reply.status == 404 && is_not_found(&reply) {
                return Ok(None);
            }
            if !reply.is_success() {
                return Err(refusal(&reply));
            }
            let list: List = reply.json()?;
            let here = |record: &Record| {
                record.kind == "TXT"
                    && (record.name.eq_ignore_ascii_case(relative)
                        || record.name.trim_end_matches('.').eq_ignore_ascii_case(name))
            };
            all.extend(list.domain_records.into_iter().filter(here));
            if list.links.pages.and_then(|pages| pages.next).is_none() {
                return Ok(Some(all));
            }
        }
        let reason = format!("a list goes on after {MAX_PAGES} pages");
        Err(ProviderError::Garbled { service: super::api::service_of(&self.base), reason })
    }

    async fn send(&self, call: Call) -> Result<Reply, ProviderError> {
        self.api.send(call.credential(AUTHORIZATION, "Bearer ", &self.token)?).await
    }

    fn records_url(&self, zone: &str) -> String {
        format!("{}/domains/{zone}/records", self.base)
    }
}

/// A name as it stands in its zone.
fn relative<'a>(name: &'a str, zone: &str) -> &'a str {
    match name.strip_suffix(zone) {
        Some("") => "@",
        Some(front) => front.strip_suffix('.').unwrap_or(name),
        None => name,
    }
}

fn is_not_found(reply: &Reply) -> bool {
    reply.json::<Fault>().is_ok_and(|fault| fault.id == "not_found")
}

fn refusal(reply: &Reply) -> ProviderError {
    let said = match reply.json::<Fault>() {
        Ok(fault) => format!("{} ({})", fault.message, fault.id),
        Err(_) => reply.text(),
    };
    match reply.refused(&said) {
        ProviderError::Unauthorized { service, reason } => ProviderError::Unauthorized {
            service,
            reason: format!(
                "{reason}; the token must not be expired and needs the scopes domain:read, \
                 domain:create and domain:delete"
            ),
        },
        other @ (ProviderError::Settings { .. }
        | ProviderError::Credential { .. }
        | ProviderError::NoZone { .. }
        | ProviderError::RateLimited { .. }
        | ProviderError::Refused { .. }
        | ProviderError::Broken { .. }
        | ProviderError::Unreachable { .. }
        | ProviderError::Garbled { .. }
        | ProviderError::Unfinished { .. }) => other,
    }
}

#[derive(Deserialize)]
struct List {
    domain_records: Vec<Record>,
    #[serde(default)]
    links: Links,
}

#[derive(Default, Deserialize)]
struct Links {
    #[serde(default)]
    pages: Option<Pages>,
}

#[derive(Deserialize)]
struct Pages {
    #[serde(default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Record {
    id: u64,
    #[serde(rename = "type")]
    kind: String,
    name: String,
    data: String,
}

#[derive(Deserialize)]
struct Fault {
    id: String,
    #[serde(default)]
    message: String,
}

const NAME: &str = "digitalocean";
const BASE: &str = "https://api.digitalocean.com/v2";
const TTL: u32 = 60;
const MAX_PAGES: u32 = 100;
