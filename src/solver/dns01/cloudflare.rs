//! Cloudflare: API v4, with an API token, or an account's email and Global API Key.
//!
//! The zone is the one found in the DNS, or else a parent of the name. Records are identified by
//! their content, so two challenges at one name do not affect each other.

mod answer;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use http::Method;
use http::header::{AUTHORIZATION, HeaderName};
use serde::de::DeserializeOwned;
use serde_json::json;
use zeroize::Zeroizing;

use self::answer::{Answer, Found, Record, Zone};
use super::sets::{TxtSets, Written};
use super::txt::{is_id, unquoted};
use super::zones::{all_pages, candidates};
use super::{Api, Call, Context, Opened, ProviderError, TxtRecord};
use crate::resource::dns01::Cloudflare as Settings;

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    let login = match (&settings.api_token_secret_ref, &settings.api_key_secret_ref) {
        (Some(token), _) => Login::Token(context.text(NAME, "apiTokenSecretRef", token)?),
        (None, Some(key)) => Login::Key {
            email: settings.email.clone(),
            key: context.text(NAME, "apiKeySecretRef", key)?,
        },
        (None, None) => {
            let reason = "apiKeySecretRef or apiTokenSecretRef is required".to_owned();
            return Err(ProviderError::Settings { provider: NAME, reason });
        }
    };
    Ok(Box::new(Cloudflare { api: Rc::clone(&context.api), base: BASE.to_owned(), login }))
}

/// See the module.
struct Cloudflare {
    api: Rc<Api>,
    base: String,
    login: Login,
}

enum Login {
    Token(Zeroizing<String>),
    Key { email: String, key: Zeroizing<String> },
}

impl TxtSets for Cloudflare {
    type Zone = Zone;
    type Set = Vec<Record>;

    async fn find(&self, name: &str, zone: &str) -> Result<(Zone, Vec<Record>), ProviderError> {
        let zone = self.zone_of(name, zone).await?;
        let records = self.list(&zone, name).await?;
        Ok((zone, records))
    }

    async fn list(&self, zone: &Zone, name: &str) -> Result<Vec<Record>, ProviderError> {
        let query = [("type", "TXT"), ("name", name)];
        let mut records: Vec<Record> = self.pages(self.records_url(zone), &query).await?;
        records.retain(|record| record.is_at(name));
        Ok(records)
    }

    fn values(&self, set: &Vec<Record>) -> Result<Vec<String>, ProviderError> {
        Ok(set.iter().map(|record| unquoted(&record.content).to_owned()).collect())
    }

    async fn add(
        &self,
        zone: &Zone,
        _set: Vec<Record>,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        let body = json!({
            "type": "TXT",
            "name": record.name,
            "content": format!("\"{}\"", record.value),
            "ttl": TTL,
        });
        let call = Call::new(Method::POST, self.records_url(zone)).json(&body);
        let no = match self.ask::<serde_json::Value>(call).await? {
            Answer::Yes(_) => return Ok(Written::Done),
            Answer::No(no) => no,
        };
        // Another client created it first, with this value or with a conflicting one.
        if no.has(&ALREADY_THERE) {
            let set = self.list(zone, &record.name).await?;
            if self.values(&set)?.contains(&record.value) {
                return Ok(Written::Done);
            }
        }
        Err(no.error(self.advice()))
    }

    async fn remove(
        &self,
        zone: &Zone,
        set: Vec<Record>,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        for found in set.iter().filter(|found| unquoted(&found.content) == record.value) {
            self.plain(&found.id)?;
            let url = format!("{}/{}", self.records_url(zone), found.id);
            match self.ask::<serde_json::Value>(Call::new(Method::DELETE, url)).await? {
                Answer::No(no) if !no.is_gone() => return Err(no.error(self.advice())),
                Answer::No(_) | Answer::Yes(_) => {}
            }
        }
        Ok(Written::Done)
    }

    async fn read(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        let (zone, records) = self.find(name, zone).await?;
        let (zone, count) = (&zone.name, records.len());
        Ok(format!("cloudflare: zone {zone} can be read; TXT records at the name: {count}"))
    }

    fn service(&self) -> String {
        super::api::service_of(&self.base)
    }
}

impl Cloudflare {
    /// The zone that holds the name. An account may have several zones of one name: the active one
    /// counts.
    async fn zone_of(&self, name: &str, zone: &str) -> Result<Zone, ProviderError> {
        let candidates = candidates(name, zone);
        for candidate in &candidates {
            let list = format!("{}/zones", self.base);
            let mut fitting: Vec<Zone> = self.pages(list, &[("name", candidate)]).await?;
            fitting.retain(|zone| zone.name == **candidate);
            fitting.sort_by_key(|zone| zone.status != "active");
            if let Some(zone) = fitting.into_iter().next() {
                return self.plain(&zone.id).map(|()| zone);
            }
        }
        let reason = format!(
            "the credentials see none of the zones {}; a token needs Zone Read on the zone",
            candidates.join(", ")
        );
        Err(ProviderError::NoZone { service: self.service(), name: name.to_owned(), reason })
    }

    /// All pages of a list.
    async fn pages<T: DeserializeOwned>(
        &self,
        list: String,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, ProviderError> {
        let list = Call::new(Method::GET, list).query(query).query(&[("per_page", "50")]);
        all_pages(self.service(), 1, async |page: u64| {
            let call = list.clone().query(&[("page", &page.to_string())]);
            match self.ask::<Vec<T>>(call).await? {
                Answer::Yes(Found { result, pages }) => {
                    Ok((result, (page < pages).then_some(page + 1)))
                }
                Answer::No(no) => Err(no.error(self.advice())),
            }
        })
        .await
    }

    async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<Answer<T>, ProviderError> {
        let call = match &self.login {
            Login::Token(token) => call.credential(AUTHORIZATION, "Bearer ", token)?,
            Login::Key { email, key } => call
                .header(HeaderName::from_static("x-auth-email"), email)?
                .credential(HeaderName::from_static("x-auth-key"), "", key)?,
        };
        Answer::read(self.api.send(call).await?)
    }

    fn advice(&self) -> &'static str {
        match self.login {
            Login::Token(_) => {
                "the API token must be active and have Zone Read and DNS Edit on the zone"
            }
            Login::Key { .. } => {
                "apiKeySecretRef is for a Global API Key, which belongs with the account's email"
            }
        }
    }

    fn records_url(&self, zone: &Zone) -> String {
        format!("{}/zones/{}/dns_records", self.base, zone.id)
    }

    fn plain(&self, id: &str) -> Result<(), ProviderError> {
        if is_id(id) {
            return Ok(());
        }
        let reason = format!("an id is `{}`", super::error::shown(id));
        Err(ProviderError::Garbled { service: self.service(), reason })
    }
}

const NAME: &str = "cloudflare";
const BASE: &str = "https://api.cloudflare.com/client/v4";
const TTL: u32 = 60;
/// "The record already exists", "An identical record already exists".
const ALREADY_THERE: [i64; 2] = [81_057, 81_058];
