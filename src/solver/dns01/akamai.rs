//! `akamai`: the Edge DNS API, version 2, with requests signed by EdgeGrid.
//!
//! A set of values is read and written whole, and the API has no conditional writes: after each
//! write certctl reads the set again until it matches. The changes of one run are serialized.
//! Another client that writes between our read and our write can still lose a value.

mod edgegrid;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use http::Method;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use self::edgegrid::EdgeGrid;
use super::error::shown;
use super::percent::percent;
use super::sets::{TxtSets, Written};
use super::{Api, Call, Context, Opened, ProviderError, Reply, TxtRecord};
use crate::resource::Pause;
use crate::resource::dns01::Akamai as Settings;

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    Ok(Box::new(Akamai::new(settings, context)?))
}

struct Akamai {
    api: Rc<Api>,
    now: Rc<dyn Fn() -> Timestamp>,
    /// `https://` and the host of `serviceConsumerDomain`.
    base: String,
    signer: EdgeGrid,
    /// Between two tries, when another client writes too.
    pause: Pause,
    turn: Mutex<()>,
}

/// A set of values as the API writes it; unknown fields are kept.
#[derive(Deserialize)]
struct RecordSet {
    ttl: u32,
    rdata: Vec<String>,
}

/// Problem details (RFC 7807), as far as they are shown.
#[derive(Default, Deserialize)]
struct Problem {
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
}

impl Akamai {
    fn new(settings: &Settings, context: &Context<'_>) -> Result<Self, ProviderError> {
        let host = settings.service_consumer_domain.trim();
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if host.is_empty() || !host.chars().all(is_host) {
            let shape = "akab-….luna.akamaiapis.net, without https:// and without a path";
            return Err(unusable(format!("serviceConsumerDomain must be a host name: {shape}")));
        }
        let text = |field, selector| context.text(NAME, field, selector);
        let signer = EdgeGrid {
            client_token: text("clientTokenSecretRef", &settings.client_token_secret_ref)?,
            client_secret: text("clientSecretSecretRef", &settings.client_secret_secret_ref)?,
            access_token: text("accessTokenSecretRef", &settings.access_token_secret_ref)?,
        };
        Ok(Self {
            api: Rc::clone(&context.api),
            now: Rc::clone(&context.now),
            base: format!("https://{host}"),
            signer,
            pause: Pause::SERVICE,
            turn: Mutex::new(()),
        })
    }

    async fn write(
        &self,
        method: Method,
        record: &TxtRecord,
        ttl: u32,
        rdata: &[String],
    ) -> Result<Written, ProviderError> {
        let set = json!({ "name": record.name, "type": "TXT", "ttl": ttl, "rdata": rdata });
        let body = (method != Method::DELETE).then_some(&set);
        let reply = self.send(&method, &path_of(&record.zone, &record.name), body).await?;
        match reply.status {
            404 if method == Method::POST => Err(no_zone(&reply, record)),
            // Another client created, changed or removed the set since it was read.
            404 | 409 | 412 => Ok(Written::Lost(String::new())),
            _ if reply.is_success() => Ok(Written::Unsure),
            _ => Err(refused(&reply)),
        }
    }

    async fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, ProviderError> {
        let url = format!("{}{path}", self.base);
        let body = body.map(|body| body.to_string().into_bytes());
        let sign = || {
            let signature = self.signer.authorization(
                method.as_str(),
                &url,
                body.as_deref().unwrap_or_default(),
                (self.now)(),
                &edgegrid::nonce(),
            );
            let call = Call::new(method.clone(), url.as_str()).hiding(self.signer.secrets());
            let call = call.header(AUTHORIZATION, &signature)?;
            Ok(match &body {
                Some(body) => call.body("application/json", body.clone()),
                None => call,
            })
        };
        self.api.send_signed(sign).await
    }
}

impl TxtSets for Akamai {
    /// The zone is the one found in the DNS.
    type Zone = String;
    type Set = Option<RecordSet>;

    /// One more than others: each change needs a second read.
    const TRIES: u32 = 6;

    async fn find(&self, name: &str, zone: &str) -> Result<(String, Self::Set), ProviderError> {
        let zone = zone.to_owned();
        let set = self.list(&zone, name).await?;
        Ok((zone, set))
    }

    async fn list(&self, zone: &String, name: &str) -> Result<Self::Set, ProviderError> {
        let reply = self.send(&Method::GET, &path_of(zone, name), None).await?;
        match reply.status {
            404 => Ok(None),
            _ if reply.is_success() => reply.json().map(Some),
            _ => Err(refused(&reply)),
        }
    }

    fn values(&self, set: &Self::Set) -> Result<Vec<String>, ProviderError> {
        let rdata = set.iter().flat_map(|set| &set.rdata);
        Ok(rdata.map(|value| bare(value).to_owned()).collect())
    }

    async fn add(
        &self,
        _zone: &String,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        let method = if set.is_some() { Method::PUT } else { Method::POST };
        let (ttl, mut rdata) = set.map_or((TTL, Vec::new()), |set| (set.ttl, set.rdata));
        rdata.push(format!("\"{}\"", record.value));
        self.write(method, record, ttl, &rdata).await
    }

    async fn remove(
        &self,
        _zone: &String,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        let Some(mut set) = set else { return Ok(Written::Done) };
        set.rdata.retain(|value| bare(value) != record.value);
        let method = if set.rdata.is_empty() { Method::DELETE } else { Method::PUT };
        self.write(method, record, set.ttl, &set.rdata).await
    }

    async fn read(&self, _name: &str, zone: &str) -> Result<String, ProviderError> {
        let reply = self.send(&Method::GET, &format!("{ZONES}/{}", percent(zone)), None).await?;
        if reply.status == 404 {
            return Err(ProviderError::NoZone {
                service: reply.service.clone(),
                name: zone.to_owned(),
                reason: shown(&error_in(&reply)),
            });
        }
        if !reply.is_success() {
            return Err(refused(&reply));
        }
        Ok(format!("the credentials can read zone {zone} at {}", reply.service))
    }

    fn service(&self) -> String {
        super::api::service_of(&self.base)
    }

    fn pause(&self) -> Pause {
        self.pause
    }

    fn turn(&self) -> Option<&Mutex<()>> {
        Some(&self.turn)
    }
}

fn path_of(zone: &str, name: &str) -> String {
    format!("{ZONES}/{}/names/{}/types/TXT", percent(zone), percent(name))
}

/// An entry of `rdata` without its quotes.
fn bare(rdata: &str) -> &str {
    rdata.trim().trim_matches('"')
}

fn unusable(reason: String) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason }
}

const NAME: &str = "akamai";
const ZONES: &str = "/config-dns/v2/zones";
const TTL: u32 = 300;

fn refused(reply: &Reply) -> ProviderError {
    reply.refused(&error_in(reply))
}

fn error_in(reply: &Reply) -> String {
    let body = String::from_utf8_lossy(&reply.body);
    match serde_json::from_str::<Problem>(&body) {
        Ok(Problem { title, detail }) if title.is_empty() || detail == title => detail,
        Ok(Problem { title, detail }) if detail.is_empty() => title,
        Ok(Problem { title, detail }) => format!("{title}: {detail}"),
        Err(_) => body.into_owned(),
    }
}

fn no_zone(reply: &Reply, record: &TxtRecord) -> ProviderError {
    let error = error_in(reply);
    ProviderError::NoZone {
        service: reply.service.clone(),
        name: record.name.clone(),
        reason: format!("these credentials cannot see zone {}: {}", record.zone, shown(&error)),
    }
}
