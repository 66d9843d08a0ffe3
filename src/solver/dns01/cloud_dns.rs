//! `cloudDNS`: Google Cloud DNS, version 1 of its API.
//!
//! A change names the old and the new set of values; the service applies it only while the old set
//! is current. When another client changed it first, certctl reads the set again.

mod credentials;
#[cfg(test)]
mod tests;
mod zone;

use http::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::credentials::{NAME, Source};
use super::api::MOST_POLLS;
use super::error::shown;
use super::oauth::Bearer;
use super::percent::{pairs, percent};
use super::sets::{TxtSets, Written};
use super::zones::all_pages;
use super::{Call, Context, Opened, ProviderError, Reply, TxtRecord};
use crate::resource::Pause;
use crate::resource::dns01::CloudDns as Settings;

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    Ok(Box::new(CloudDns::new(settings, context)?))
}

struct CloudDns {
    base: String,
    project: String,
    /// The managed zone's name, from the settings; empty: certctl searches for it.
    zone: String,
    credentials: Bearer<Source>,
    /// Between two polls of a change, and after a conflict.
    pause: Pause,
}

/// A change: the sets to delete and to add.
#[derive(Serialize)]
struct Edit {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    additions: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deletions: Vec<Value>,
}

/// The id and the status of a change.
#[derive(Deserialize)]
struct Change {
    id: String,
    status: String,
}

/// A page of sets.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordSets {
    #[serde(default)]
    rrsets: Vec<Map<String, Value>>,
    #[serde(default)]
    next_page_token: String,
}

/// The error document of Google's APIs.
#[derive(Deserialize)]
struct Failure {
    error: FailureDetails,
}

#[derive(Deserialize)]
struct FailureDetails {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<Cause>,
}

#[derive(Deserialize)]
struct Cause {
    #[serde(default)]
    reason: String,
}

impl CloudDns {
    fn new(settings: &Settings, context: &Context<'_>) -> Result<Self, ProviderError> {
        if settings.project.trim().is_empty() {
            return Err(unusable("project must not be empty"));
        }
        let source = Source::new(settings.service_account_secret_ref.as_ref(), context)?;
        Ok(Self {
            base: "https://dns.googleapis.com".to_owned(),
            project: settings.project.trim().to_owned(),
            zone: settings.hosted_zone_name.trim().to_owned(),
            credentials: Bearer::new(source, context),
            pause: Pause::SERVICE,
        })
    }

    /// Sends a change, and waits for it when `is_awaited`.
    async fn write(
        &self,
        zone: &str,
        edit: &Edit,
        is_awaited: bool,
    ) -> Result<Written, ProviderError> {
        let url = self.url(&format!("/managedZones/{}/changes", percent(zone)));
        let reply = self.send(&Method::POST, &url, Some(&json!(edit))).await?;
        match reply.status {
            // 404 is about the set to delete: the zone itself was read just now.
            404 | 409 | 412 => Ok(Written::Lost(error_in(&reply))),
            _ if reply.is_success() => {
                let done = self.done(zone, reply.json()?, is_awaited).await;
                done.map_err(ProviderError::after_the_write).map(|()| Written::Done)
            }
            _ => Err(refused(&reply)),
        }
    }

    /// Waits until a new value is on all of the zone's name servers.
    async fn done(
        &self,
        zone: &str,
        mut change: Change,
        wanted: bool,
    ) -> Result<(), ProviderError> {
        for earlier in 0..MOST_POLLS {
            if change.status == "done" || !wanted {
                return Ok(());
            }
            tokio::time::sleep(self.pause.length(earlier).unsigned_abs()).await;
            let (zone, id) = (percent(zone), percent(&change.id));
            let url = self.url(&format!("/managedZones/{zone}/changes/{id}"));
            let reply = self.send(&Method::GET, &url, None).await?;
            if !reply.is_success() {
                return Err(refused(&reply));
            }
            change = reply.json()?;
        }
        let reason =
            shown(&format!("change {} is still {} after 2 minutes", change.id, change.status));
        Err(ProviderError::Unfinished { service: self.service(), reason })
    }

    fn url(&self, path: &str) -> String {
        format!("{}/dns/v1/projects/{}{path}", self.base, percent(&self.project))
    }

    async fn send(
        &self,
        method: &Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Reply, ProviderError> {
        let call = Call::new(method.clone(), url);
        let call = match body {
            Some(body) => call.json(body),
            None => call,
        };
        self.credentials.send(call).await
    }

    /// All pages of a list; `read` decodes one and returns the token of the next.
    async fn pages<T>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        read: impl Fn(&Reply) -> Result<(Vec<T>, String), ProviderError>,
    ) -> Result<Vec<T>, ProviderError> {
        all_pages(self.service(), String::new(), async |token: String| {
            let mut query = pairs(query);
            if !token.is_empty() {
                query = format!("{query}&{}", pairs(&[("pageToken", &token)]));
            }
            let reply =
                self.send(&Method::GET, &self.url(&format!("{path}?{query}")), None).await?;
            let (found, next) = read(&reply)?;
            Ok((found, Some(next).filter(|next| !next.is_empty())))
        })
        .await
    }

    fn no_zone(&self, reply: &Reply, name: &str, zone: &str) -> ProviderError {
        let error = error_in(reply);
        ProviderError::NoZone {
            service: reply.service.clone(),
            name: name.to_owned(),
            reason: format!("no zone {zone} in project {}: {}", self.project, shown(&error)),
        }
    }
}

impl TxtSets for CloudDns {
    /// The managed zone's name.
    type Zone = String;
    /// The set with all its fields.
    type Set = Option<Map<String, Value>>;

    const NEEDS_ZONE: bool = false;

    async fn find(&self, name: &str, zone: &str) -> Result<(String, Self::Set), ProviderError> {
        let zone = self.zone_of(name, zone).await?;
        let set = self.list(&zone, name).await?;
        Ok((zone, set))
    }

    async fn list(&self, zone: &String, name: &str) -> Result<Self::Set, ProviderError> {
        let fqdn = format!("{name}.");
        let path = format!("/managedZones/{}/rrsets", percent(zone));
        let query = [("name", fqdn.as_str()), ("type", "TXT")];
        let sets = self.pages(&path, &query, |reply| {
            if reply.status == 404 {
                return Err(self.no_zone(reply, name, zone));
            }
            let RecordSets { rrsets, next_page_token } = document(reply)?;
            Ok((rrsets, next_page_token))
        });
        let is_it = |set: &Map<String, Value>| {
            let named = set.get("name").and_then(Value::as_str).unwrap_or_default();
            let kind = set.get("type").and_then(Value::as_str);
            named.eq_ignore_ascii_case(&fqdn) && kind == Some("TXT")
        };
        Ok(sets.await?.into_iter().find(is_it))
    }

    fn values(&self, set: &Self::Set) -> Result<Vec<String>, ProviderError> {
        let Some(set) = set else { return Ok(Vec::new()) };
        let Some(values) = set.get("rrdatas").and_then(Value::as_array) else {
            let reason =
                "the TXT set has no rrdatas, as with a routing policy: it cannot be added to";
            let (service, reason) = (self.service(), reason.to_owned());
            return Err(ProviderError::Garbled { service, reason });
        };
        Ok(values.iter().filter_map(Value::as_str).map(|text| bare(text).to_owned()).collect())
    }

    async fn add(
        &self,
        zone: &String,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        let value = Value::from(format!("\"{}\"", record.value));
        let edit = match set {
            None => {
                let name = format!("{}.", record.name);
                let new = json!({ "name": name, "type": "TXT", "ttl": TTL, "rrdatas": [value] });
                Edit { additions: vec![new], deletions: Vec::new() }
            }
            Some(set) => Edit::of(set, |values| values.push(value)),
        };
        self.write(zone, &edit, true).await
    }

    async fn remove(
        &self,
        zone: &String,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        let Some(set) = set else { return Ok(Written::Done) };
        let is_other = |value: &Value| value.as_str().is_none_or(|text| bare(text) != record.value);
        self.write(zone, &Edit::of(set, |values| values.retain(is_other)), false).await
    }

    async fn read(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        let (zone, _) = self.find(name, zone).await?;
        let (project, service) = (&self.project, self.service());
        Ok(format!("the credentials can read zone {zone} of project {project} at {service}"))
    }

    fn service(&self) -> String {
        super::api::service_of(&self.base)
    }

    fn pause(&self) -> Pause {
        self.pause
    }
}

impl Edit {
    /// The set with other values; without any it is removed.
    fn of(old: Map<String, Value>, change: impl FnOnce(&mut Vec<Value>)) -> Self {
        let mut new = old.clone();
        // The service derives these from the values.
        new.remove("signatureRrdatas");
        let mut is_empty = true;
        if let Some(Value::Array(values)) = new.get_mut("rrdatas") {
            change(values);
            is_empty = values.is_empty();
        }
        let additions = if is_empty { Vec::new() } else { vec![new.into()] };
        Self { additions, deletions: vec![old.into()] }
    }
}

/// A value without its quotes.
fn bare(text: &str) -> &str {
    text.trim().trim_matches('"')
}

fn unusable(reason: &str) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason: reason.to_owned() }
}

const TTL: u32 = 60;

fn refused(reply: &Reply) -> ProviderError {
    let limits = ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"];
    let failure = reply.json::<Failure>().ok();
    let mut causes = failure.iter().flat_map(|failure| &failure.error.errors);
    if reply.status == 403 && causes.any(|cause| limits.contains(&cause.reason.as_str())) {
        let service = reply.service.clone();
        return ProviderError::RateLimited { service, retry_after: None };
    }
    reply.refused(&error_in(reply))
}

fn error_in(reply: &Reply) -> String {
    let body = String::from_utf8_lossy(&reply.body);
    match serde_json::from_str::<Failure>(&body) {
        Ok(failure) => failure.error.message,
        Err(_) => body.into_owned(),
    }
}

/// The document of a success.
fn document<T: DeserializeOwned>(reply: &Reply) -> Result<T, ProviderError> {
    if reply.is_success() { reply.json() } else { Err(refused(reply)) }
}
