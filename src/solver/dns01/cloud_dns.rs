//! `cloudDNS`: Google Cloud DNS, version 1 of its API.
//!
//! A change names the set of values as it was read and as it shall be; the service makes it only
//! while the first is still true. When somebody else was faster, the set is read again.

mod credentials;
#[cfg(test)]
mod tests;
mod zone;

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use http::Method;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use self::credentials::Credentials;
use super::error::shown;
use super::percent::{pairs, percent};
use super::{Api, Call, Context, Deed, DnsProvider, Opened, ProviderError, Reply, TxtRecord};
use crate::resource::dns01::CloudDns as Settings;

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    Ok(Box::new(CloudDns::new(settings, context)?))
}

struct CloudDns {
    api: Rc<Api>,
    now: Rc<dyn Fn() -> Timestamp>,
    base: String,
    project: String,
    /// The managed zone's name, from the settings; empty: it is looked for.
    zone: String,
    credentials: Credentials,
    /// Between two questions whether a change is done, and after a conflict.
    pause: Duration,
}

/// Of a change: sets as they are, and as they shall be.
#[derive(Serialize)]
struct Edit {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    additions: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deletions: Vec<Value>,
}

/// What a change is named, and whether it is done.
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
        Ok(Self {
            api: Rc::clone(&context.api),
            now: Rc::clone(&context.now),
            base: "https://dns.googleapis.com".to_owned(),
            project: settings.project.trim().to_owned(),
            zone: settings.hosted_zone_name.trim().to_owned(),
            credentials: Credentials::new(settings.service_account_secret_ref.as_ref(), context)?,
            pause: Duration::from_secs(1),
        })
    }

    /// Makes the value stand at the name, or not stand there, and the others stay.
    async fn settle(&self, record: &TxtRecord, wanted: bool) -> Result<(), ProviderError> {
        let zone = self.zone_of(&record.name, &record.zone).await?;
        let mut last = String::new();
        for tried in 0..TRIES {
            if tried > 0 {
                tokio::time::sleep(self.pause).await;
            }
            let old = self.read(&zone, &record.name).await?;
            let Some(edit) = edit_of(old, record, wanted).map_err(|why| self.odd(why))? else {
                return Ok(());
            };
            let url = self.url(&format!("/managedZones/{}/changes", percent(&zone)));
            let reply = self.send(&Method::POST, &url, Some(&json!(edit))).await?;
            match reply.status {
                // 404 is about what shall be deleted: the zone itself was read just now.
                404 | 409 | 412 => last = self.said(&reply),
                _ if reply.is_success() => {
                    let done = self.done(&zone, reply.json()?, wanted).await;
                    return done.map_err(ProviderError::after_the_write);
                }
                _ => return Err(self.refused(&reply)),
            }
        }
        Err(ProviderError::Unfinished {
            service: self.service(),
            reason: format!(
                "the TXT set at {} is changed by others, after {TRIES} tries: {}",
                record.name,
                shown(&last)
            ),
        })
    }

    /// The set at the name, with all that it has.
    async fn read(
        &self,
        zone: &str,
        name: &str,
    ) -> Result<Option<Map<String, Value>>, ProviderError> {
        let (fqdn, mut page) = (format!("{name}."), String::new());
        let path = format!("/managedZones/{}/rrsets", percent(zone));
        for _ in 0..MOST_PAGES {
            let query = [("name", fqdn.as_str()), ("type", "TXT"), ("pageToken", page.as_str())];
            let used = if page.is_empty() { query.get(..2) } else { query.get(..) };
            let url = self.url(&format!("{path}?{}", pairs(used.unwrap_or_default())));
            let reply = self.send(&Method::GET, &url, None).await?;
            if reply.status == 404 {
                return Err(self.no_zone(&reply, name, zone));
            }
            if !reply.is_success() {
                return Err(self.refused(&reply));
            }
            let sets: RecordSets = reply.json()?;
            let is_it = |set: &Map<String, Value>| {
                let named = set.get("name").and_then(Value::as_str).unwrap_or_default();
                let kind = set.get("type").and_then(Value::as_str);
                named.eq_ignore_ascii_case(&fqdn) && kind == Some("TXT")
            };
            if let Some(set) = sets.rrsets.into_iter().find(is_it) {
                return Ok(Some(set));
            }
            page = sets.next_page_token;
            if page.is_empty() {
                return Ok(None);
            }
        }
        Err(self.odd("its list of record sets does not end"))
    }

    /// Waits until a new value is on all of the zone's name servers.
    async fn done(
        &self,
        zone: &str,
        mut change: Change,
        wanted: bool,
    ) -> Result<(), ProviderError> {
        for _ in 0..MOST_POLLS {
            if change.status == "done" || !wanted {
                return Ok(());
            }
            tokio::time::sleep(self.pause).await;
            let (zone, id) = (percent(zone), percent(&change.id));
            let url = self.url(&format!("/managedZones/{zone}/changes/{id}"));
            let reply = self.send(&Method::GET, &url, None).await?;
            if !reply.is_success() {
                return Err(self.refused(&reply));
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
        let token = self.credentials.token(&self.api, (self.now)()).await?;
        let bearer = Zeroizing::new(format!("Bearer {}", token.as_str()));
        let call = Call::new(method.clone(), url).header(AUTHORIZATION, &bearer)?;
        let call = match body {
            Some(body) => call.json(body),
            None => call,
        };
        self.api.send(call).await
    }

    async fn can_read(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        let zone = self.zone_of(name, zone).await?;
        self.read(&zone, name).await?;
        let (project, service) = (&self.project, self.service());
        Ok(format!("the credentials can read zone {zone} of project {project} at {service}"))
    }

    fn refused(&self, reply: &Reply) -> ProviderError {
        let limits = ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"];
        let failure = reply.json::<Failure>().ok();
        let mut causes = failure.iter().flat_map(|failure| &failure.error.errors);
        if reply.status == 403 && causes.any(|cause| limits.contains(&cause.reason.as_str())) {
            let service = reply.service.clone();
            return ProviderError::RateLimited { service, retry_after: None };
        }
        reply.refused(&self.said(reply))
    }

    fn no_zone(&self, reply: &Reply, name: &str, zone: &str) -> ProviderError {
        let said = self.said(reply);
        ProviderError::NoZone {
            service: reply.service.clone(),
            name: name.to_owned(),
            reason: format!("no zone {zone} in project {}: {}", self.project, shown(&said)),
        }
    }

    fn said(&self, reply: &Reply) -> String {
        let body = self.credentials.without(&String::from_utf8_lossy(&reply.body));
        match serde_json::from_str::<Failure>(&body) {
            Ok(failure) => failure.error.message,
            Err(_) => body,
        }
    }

    fn odd(&self, why: &str) -> ProviderError {
        ProviderError::Garbled { service: self.service(), reason: why.to_owned() }
    }

    fn service(&self) -> String {
        self.base.split("://").nth(1).unwrap_or_default().to_owned()
    }
}

impl DnsProvider for CloudDns {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(self.settle(record, true))
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(self.settle(record, false))
    }

    fn needs_zone(&self) -> bool {
        false
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> Deed<'a, String> {
        Box::pin(self.can_read(name, zone))
    }
}

impl fmt::Debug for CloudDns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudDns")
            .field("project", &self.project)
            .field("zone", &self.zone)
            .finish_non_exhaustive()
    }
}

/// What to change so that the value is among those of the set, or is not; None: nothing.
fn edit_of(
    old: Option<Map<String, Value>>,
    record: &TxtRecord,
    wanted: bool,
) -> Result<Option<Edit>, &'static str> {
    let Some(old) = old else {
        let new = json!({
            "name": format!("{}.", record.name),
            "type": "TXT",
            "ttl": TTL,
            "rrdatas": [format!("\"{}\"", record.value)],
        });
        let additions = vec![new];
        return Ok(wanted.then_some(Edit { additions, deletions: Vec::new() }));
    };
    let Some(Value::Array(values)) = old.get("rrdatas") else {
        return Err("the TXT set has no rrdatas, as with a routing policy: it cannot be added to");
    };
    let is_ours = |value: &Value| {
        value.as_str().is_some_and(|text| text.trim().trim_matches('"') == record.value)
    };
    if values.iter().any(is_ours) == wanted {
        return Ok(None);
    }
    let mut values = values.clone();
    if wanted {
        values.push(format!("\"{}\"", record.value).into());
    } else {
        values.retain(|value| !is_ours(value));
    }
    let mut additions = Vec::new();
    if !values.is_empty() {
        let mut new = old.clone();
        // What the service itself makes of the values.
        new.remove("signatureRrdatas");
        new.insert("rrdatas".to_owned(), values.into());
        additions.push(new.into());
    }
    Ok(Some(Edit { additions, deletions: vec![old.into()] }))
}

fn unusable(reason: &str) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason: reason.to_owned() }
}

const NAME: &str = "cloudDNS";
const TTL: u32 = 60;
const TRIES: usize = 5;
const MOST_PAGES: usize = 100;
const MOST_POLLS: usize = 120;
