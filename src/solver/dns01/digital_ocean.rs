//! DigitalOcean: API v2, with a personal access token.
//!
//! A domain of the account that lists the name is its zone: the one found in the DNS, or else a
//! parent of the name. Only a record whose value matches is deleted.

#[cfg(test)]
mod tests;

use std::rc::Rc;

use http::Method;
use http::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::sets::{TxtSets, Written};
use super::txt::unquoted;
use super::zones::{all_pages, candidates};
use super::{Api, Call, Context, Opened, ProviderError, Reply, TxtRecord};
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

impl TxtSets for DigitalOcean {
    /// The domain's name.
    type Zone = String;
    type Set = Vec<Record>;

    async fn find(&self, name: &str, zone: &str) -> Result<(String, Vec<Record>), ProviderError> {
        let candidates = candidates(name, zone);
        for candidate in &candidates {
            if let Some(records) = self.records(name, candidate).await? {
                return Ok(((*candidate).to_owned(), records));
            }
        }
        Err(self.no_domain(name, &candidates.join(", ")))
    }

    async fn list(&self, zone: &String, name: &str) -> Result<Vec<Record>, ProviderError> {
        let records = self.records(name, zone).await?;
        records.ok_or_else(|| self.no_domain(name, zone))
    }

    fn values(&self, set: &Vec<Record>) -> Result<Vec<String>, ProviderError> {
        Ok(set.iter().map(|record| unquoted(&record.data).to_owned()).collect())
    }

    async fn add(
        &self,
        zone: &String,
        _set: Vec<Record>,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        let body = json!({
            "type": "TXT",
            "name": relative(&record.name, zone),
            "data": record.value,
            "ttl": TTL,
        });
        let call = Call::new(Method::POST, self.records_url(zone)).json(&body);
        let reply = self.send(call).await?;
        if reply.is_success() { Ok(Written::Done) } else { Err(refusal(&reply)) }
    }

    async fn remove(
        &self,
        zone: &String,
        set: Vec<Record>,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        for found in set.iter().filter(|found| unquoted(&found.data) == record.value) {
            let url = format!("{}/{}", self.records_url(zone), found.id);
            let reply = self.send(Call::new(Method::DELETE, url)).await?;
            if !reply.is_success() && reply.status != 404 {
                return Err(refusal(&reply));
            }
        }
        Ok(Written::Done)
    }

    async fn read(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        let (zone, records) = self.find(name, zone).await?;
        let count = records.len();
        Ok(format!("digitalocean: domain {zone} can be read; TXT records at the name: {count}"))
    }

    fn service(&self) -> String {
        super::api::service_of(&self.base)
    }
}

impl DigitalOcean {
    /// The TXT records at the name; `None` when the account has no such domain.
    ///
    /// The service reports that there is a next page; certctl builds the page's URL itself, so the
    /// token never follows a foreign link.
    async fn records(&self, name: &str, zone: &str) -> Result<Option<Vec<Record>>, ProviderError> {
        let relative = relative(name, zone);
        let mut is_missing = false;
        let records = all_pages(self.service(), 1, async |page: u64| {
            let number = page.to_string();
            let query = [("type", "TXT"), ("name", name), ("per_page", "200"), ("page", &number)];
            let call = Call::new(Method::GET, self.records_url(zone)).query(&query);
            let reply = self.send(call).await?;
            if reply.status == 404 && is_not_found(&reply) {
                is_missing = true;
                return Ok((Vec::new(), None));
            }
            if !reply.is_success() {
                return Err(refusal(&reply));
            }
            let mut list: List = reply.json()?;
            list.domain_records.retain(|record| {
                record.kind == "TXT"
                    && (record.name.eq_ignore_ascii_case(relative)
                        || record.name.trim_end_matches('.').eq_ignore_ascii_case(name))
            });
            let has_more = list.links.pages.is_some_and(|pages| pages.next.is_some());
            Ok((list.domain_records, has_more.then_some(page + 1)))
        });
        let records = records.await?;
        Ok((!is_missing).then_some(records))
    }

    async fn send(&self, call: Call) -> Result<Reply, ProviderError> {
        self.api.send(call.credential(AUTHORIZATION, "Bearer ", &self.token)?).await
    }

    fn records_url(&self, zone: &str) -> String {
        format!("{}/domains/{zone}/records", self.base)
    }

    fn no_domain(&self, name: &str, tried: &str) -> ProviderError {
        ProviderError::NoZone {
            service: self.service(),
            name: name.to_owned(),
            reason: format!("the account of the token has none of the domains {tried}"),
        }
    }
}

/// A name relative to its zone.
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
    let message = match reply.json::<Fault>() {
        Ok(fault) => format!("{} ({})", fault.message, fault.id),
        Err(_) => reply.text(),
    };
    let mut refused = reply.refused(&message);
    if let ProviderError::Unauthorized { reason, .. } = &mut refused {
        reason.push_str(
            "; the token must not be expired and needs the scopes domain:read, domain:create and \
             domain:delete",
        );
    }
    refused
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
