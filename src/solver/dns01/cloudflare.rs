//! Cloudflare: API v4, with an API token, or an account's email and Global API Key.
//!
//! The zone is the one that the DNS shows, or else what is above the name. Records are told apart
//! by their content: two challenges at one name do not touch each other.

mod answer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::rc::Rc;

use http::Method;
use http::header::{AUTHORIZATION, HeaderName};
use serde::de::DeserializeOwned;
use serde_json::json;
use zeroize::Zeroizing;

use self::answer::{Answer, Found, Record, Zone};
use super::txt::{candidates, is_id, unquoted};
use super::{Api, Call, Context, Deed, DnsProvider, Opened, ProviderError, TxtRecord};
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

impl fmt::Debug for Cloudflare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { api: _, base, login } = self;
        f.debug_struct("Cloudflare")
            .field("base", base)
            .field("login", login)
            .finish_non_exhaustive()
    }
}

enum Login {
    Token(Zeroizing<String>),
    Key { email: String, key: Zeroizing<String> },
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token(..)",
            Self::Key { .. } => "Key { .. }",
        })
    }
}

impl DnsProvider for Cloudflare {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(async move {
            let zone = self.zone_of(&record.name, &record.zone).await?;
            if !self.find(&zone, record).await?.is_empty() {
                return Ok(());
            }
            let body = json!({
                "type": "TXT",
                "name": record.name,
                "content": format!("\"{}\"", record.value),
                "ttl": TTL,
            });
            let call = Call::new(Method::POST, self.records_url(&zone)).json(&body);
            match self.ask::<Record>(call).await? {
                Answer::Yes(_) => Ok(()),
                // Somebody else was faster, with this value or with what keeps it out.
                Answer::No(no) if no.has(&ALREADY_THERE) => {
                    match self.find(&zone, record).await?.as_slice() {
                        [] => Err(no.error(self.advice())),
                        [..] => Ok(()),
                    }
                }
                Answer::No(no) => Err(no.error(self.advice())),
            }
        })
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(async move {
            let zone = self.zone_of(&record.name, &record.zone).await?;
            for id in self.find(&zone, record).await? {
                let url = format!("{}/{id}", self.records_url(&zone));
                match self.ask::<serde_json::Value>(Call::new(Method::DELETE, url)).await? {
                    Answer::No(no) if !no.is_gone() => return Err(no.error(self.advice())),
                    Answer::No(_) | Answer::Yes(_) => {}
                }
            }
            Ok(())
        })
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> Deed<'a, String> {
        Box::pin(async move {
            let zone = self.zone_of(name, zone).await?;
            let call = Call::new(Method::GET, self.records_url(&zone));
            let records: Vec<Record> = self.pages(call, &[("type", "TXT"), ("name", name)]).await?;
            let count = records.len();
            let name = &zone.name;
            Ok(format!("cloudflare: zone {name} can be read; TXT records at the name: {count}"))
        })
    }
}

impl Cloudflare {
    /// The zone that holds the name. Accounts may hold zones of one name: the active one is meant.
    async fn zone_of(&self, name: &str, zone: &str) -> Result<Zone, ProviderError> {
        let candidates = candidates(name, zone);
        for candidate in &candidates {
            let call = Call::new(Method::GET, format!("{}/zones", self.base));
            let found: Vec<Zone> = self.pages(call, &[("name", candidate)]).await?;
            let mut fitting: Vec<Zone> =
                found.into_iter().filter(|z| z.name == **candidate).collect();
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

    /// The ids of the records that are this one.
    async fn find(&self, zone: &Zone, record: &TxtRecord) -> Result<Vec<String>, ProviderError> {
        let call = Call::new(Method::GET, self.records_url(zone));
        let query = [("type", "TXT"), ("name", record.name.as_str())];
        let records: Vec<Record> = self.pages(call, &query).await?;
        let mut ids = Vec::new();
        for found in records {
            if found.is_at(&record.name) && unquoted(&found.content) == record.value {
                self.plain(&found.id)?;
                ids.push(found.id);
            }
        }
        Ok(ids)
    }

    /// All pages of a list.
    async fn pages<T: DeserializeOwned>(
        &self,
        list: Call,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, ProviderError> {
        let url = list.query(query).query(&[("per_page", "50")]);
        let mut all = Vec::new();
        for page in 1..=MAX_PAGES {
            let call = url.clone().query(&[("page", &page.to_string())]);
            match self.ask::<Vec<T>>(call).await? {
                Answer::Yes(Found { result, pages }) => {
                    all.extend(result);
                    if page >= pages {
                        return Ok(all);
                    }
                }
                Answer::No(no) => return Err(no.error(self.advice())),
            }
        }
        let reason = format!("a list goes on after {MAX_PAGES} pages");
        Err(ProviderError::Garbled { service: self.service(), reason })
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

    fn service(&self) -> String {
        super::api::service_of(&self.base)
    }
}

const NAME: &str = "cloudflare";
const BASE: &str = "https://api.cloudflare.com/client/v4";
const TTL: u32 = 60;
const MAX_PAGES: u64 = 100;
/// "The record already exists", "An identical record already exists".
const ALREADY_THERE: [i64; 2] = [81_057, 81_058];
