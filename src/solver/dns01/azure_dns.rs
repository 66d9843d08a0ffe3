//! `azureDNS`: public and private zones of Azure, through Azure Resource Manager.
//!
//! A set of values is written whole, and only as long as it is the one that was read (its ETag);
//! when somebody else was faster, it is read again.

mod cloud;
mod credentials;
#[cfg(test)]
mod tests;

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use http::Method;
use http::header::{AUTHORIZATION, IF_MATCH, IF_NONE_MATCH};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use self::credentials::Credentials;
use super::error::shown;
use super::percent::percent;
use super::{Api, Call, Context, Deed, DnsProvider, Opened, ProviderError, Reply, TxtRecord};
use crate::resource::dns01::AzureDns as Settings;

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    Ok(Box::new(AzureDns::new(settings, context)?))
}

struct AzureDns {
    api: Rc<Api>,
    now: Rc<dyn Fn() -> Timestamp>,
    base: String,
    subscription: String,
    group: String,
    /// The zone of the settings; empty: the one that the DNS shows.
    zone: String,
    kind: &'static Kind,
    credentials: Credentials,
    /// Between two tries, when somebody else writes too.
    pause: Duration,
}

/// What differs between the two APIs.
struct Kind {
    path: &'static str,
    version: &'static str,
    ttl: &'static str,
    values: &'static str,
}

/// A set of values.
#[derive(Deserialize)]
struct RecordSet {
    etag: String,
    properties: Map<String, Value>,
}

/// Both shapes of the error document: with and without an envelope.
#[derive(Default, Deserialize)]
struct Failure {
    error: Option<Details>,
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl AzureDns {
    fn new(settings: &Settings, context: &Context<'_>) -> Result<Self, ProviderError> {
        let cloud = cloud::cloud(&settings.environment).ok_or_else(|| {
            unusable(
                "environment must be AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud",
            )
        })?;
        let kind = match settings.zone_type.trim() {
            "" | "AzurePublicZone" => &PUBLIC,
            "AzurePrivateZone" => &PRIVATE,
            _ => return Err(unusable("zoneType must be AzurePublicZone or AzurePrivateZone")),
        };
        let (subscription, group) =
            (settings.subscription_id.trim(), settings.resource_group_name.trim());
        if subscription.is_empty() || group.is_empty() {
            return Err(unusable("subscriptionID and resourceGroupName must not be empty"));
        }
        let zone = settings.hosted_zone_name.trim().trim_end_matches('.').to_ascii_lowercase();
        Ok(Self {
            api: Rc::clone(&context.api),
            now: Rc::clone(&context.now),
            base: cloud.management.to_owned(),
            subscription: subscription.to_owned(),
            group: group.to_owned(),
            zone,
            kind,
            credentials: Credentials::new(settings, cloud, context)?,
            pause: Duration::from_secs(1),
        })
    }

    /// Makes the value stand at the name, or not stand there, and the others stay.
    async fn settle(&self, record: &TxtRecord, wanted: bool) -> Result<(), ProviderError> {
        let zone = self.zone_of(&record.zone);
        let url = self.url(zone, &format!("/TXT/{}", percent(relative(&record.name, zone)?)));
        let mut last = String::new();
        for tried in 0..TRIES {
            if tried > 0 {
                tokio::time::sleep(self.pause).await;
            }
            let Some(call) = self.edit(record, zone, &url, wanted).await? else {
                return Ok(());
            };
            let reply = self.send(call).await?;
            match reply.status {
                409 | 412 => last = self.said(&reply).1,
                404 if wanted => return Err(self.no_zone(&reply, &record.name, zone)),
                404 => {}
                _ if reply.is_success() => return Ok(()),
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

    /// Reads the set and says what to ask for, so that it is as wanted; None: nothing.
    async fn edit(
        &self,
        record: &TxtRecord,
        zone: &str,
        url: &str,
        wanted: bool,
    ) -> Result<Option<Call>, ProviderError> {
        let reply = self.send(Call::new(Method::GET, url)).await?;
        if reply.status == 404 {
            let (code, _) = self.said(&reply);
            if NO_ZONE.contains(&code.as_str()) {
                return Err(self.no_zone(&reply, &record.name, zone));
            }
            if !wanted {
                return Ok(None);
            }
            let set = self.set(json!(TTL), &[txt(&record.value)], None);
            let call = Call::new(Method::PUT, url).json(&set);
            return call.header(IF_NONE_MATCH, "*").map(Some);
        }
        if !reply.is_success() {
            return Err(self.refused(&reply));
        }
        let set: RecordSet = reply.json()?;
        let property = |name: &str| set.properties.get(name).filter(|value| !value.is_null());
        let mut values = match property(self.kind.values) {
            Some(Value::Array(values)) => values.clone(),
            None => Vec::new(),
            Some(_) => return Err(reply.garbled(&format!("{} is no list", self.kind.values))),
        };
        let stands = values.iter().any(|value| is_value(value, &record.value));
        if stands == wanted {
            return Ok(None);
        }
        if wanted {
            values.push(txt(&record.value));
        } else {
            values.retain(|value| !is_value(value, &record.value));
        }
        let call = if values.is_empty() {
            Call::new(Method::DELETE, url)
        } else {
            let ttl = property(self.kind.ttl).cloned().unwrap_or_else(|| json!(TTL));
            let set = self.set(ttl, &values, property("metadata"));
            Call::new(Method::PUT, url).json(&set)
        };
        call.header(IF_MATCH, &set.etag).map(Some)
    }

    /// The body of a PUT: what is not in it would be lost.
    fn set(&self, ttl: Value, values: &[Value], metadata: Option<&Value>) -> Value {
        let mut properties = Map::new();
        properties.insert(self.kind.ttl.to_owned(), ttl);
        properties.insert(self.kind.values.to_owned(), values.into());
        if let Some(metadata) = metadata {
            properties.insert("metadata".to_owned(), metadata.clone());
        }
        json!({ "properties": properties })
    }

    async fn can_read(&self, zone: &str) -> Result<String, ProviderError> {
        let zone = self.zone_of(zone);
        let reply = self.send(Call::new(Method::GET, self.url(zone, ""))).await?;
        match reply.status {
            404 => Err(self.no_zone(&reply, zone, zone)),
            _ if reply.is_success() => {
                let (group, service) = (&self.group, &reply.service);
                let what = format!("zone {zone} of resource group {group} at {service}");
                Ok(format!("the credentials can read {what}"))
            }
            _ => Err(self.refused(&reply)),
        }
    }

    fn zone_of<'a>(&'a self, zone: &'a str) -> &'a str {
        if self.zone.is_empty() { zone } else { &self.zone }
    }

    fn url(&self, zone: &str, rest: &str) -> String {
        let (subscription, group) = (percent(&self.subscription), percent(&self.group));
        let Kind { path, version, .. } = self.kind;
        format!(
            "{}/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/\
             {path}/{}{rest}?api-version={version}",
            self.base,
            percent(zone)
        )
    }

    async fn send(&self, call: Call) -> Result<Reply, ProviderError> {
        let token = self.credentials.token(&self.api, (self.now)()).await?;
        let bearer = Zeroizing::new(format!("Bearer {}", token.as_str()));
        self.api.send(call.header(AUTHORIZATION, &bearer)?).await
    }

    fn no_zone(&self, reply: &Reply, name: &str, zone: &str) -> ProviderError {
        let (code, message) = self.said(reply);
        ProviderError::NoZone {
            service: reply.service.clone(),
            name: name.to_owned(),
            reason: format!(
                "no zone {zone} in resource group {}: {}",
                self.group,
                shown(&format!("{code}: {message}"))
            ),
        }
    }

    fn refused(&self, reply: &Reply) -> ProviderError {
        match self.said(reply) {
            (code, message) if code.is_empty() => reply.refused(&message),
            (code, message) => reply.refused(&format!("{code}: {message}")),
        }
    }

    /// The code and the message of an error document; a text that is none is the message.
    fn said(&self, reply: &Reply) -> (String, String) {
        let body = self.credentials.without(&String::from_utf8_lossy(&reply.body));
        match serde_json::from_str::<Failure>(&body) {
            Ok(Failure { error: Some(details), .. }) => (details.code, details.message),
            Ok(Failure { code, message, .. }) => (code, message),
            Err(_) => (String::new(), body),
        }
    }

    fn service(&self) -> String {
        self.base.split("://").nth(1).unwrap_or_default().to_owned()
    }
}

impl DnsProvider for AzureDns {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(self.settle(record, true))
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(self.settle(record, false))
    }

    fn check<'a>(&'a self, _name: &'a str, zone: &'a str) -> Deed<'a, String> {
        Box::pin(self.can_read(zone))
    }
}

impl fmt::Debug for AzureDns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureDns")
            .field("subscription", &self.subscription)
            .field("group", &self.group)
            .field("zone", &self.zone)
            .finish_non_exhaustive()
    }
}

/// The name as the zone has it: without the zone, `@` for the zone itself.
fn relative<'a>(name: &'a str, zone: &str) -> Result<&'a str, ProviderError> {
    if name == zone {
        return Ok("@");
    }
    let rest = name.strip_suffix(zone).and_then(|rest| rest.strip_suffix('.'));
    rest.ok_or_else(|| unusable(&format!("hostedZoneName {zone} does not hold {name}")))
}

fn txt(value: &str) -> Value {
    json!({ "value": [value] })
}

/// Whether an entry of the list is this value: its strings count as one.
fn is_value(entry: &Value, value: &str) -> bool {
    let strings = entry.get("value").and_then(Value::as_array);
    strings.is_some_and(|strings| {
        strings.iter().filter_map(Value::as_str).collect::<String>() == value
    })
}

fn unusable(reason: &str) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason: reason.to_owned() }
}

const PUBLIC: Kind =
    Kind { path: "dnsZones", version: "2018-05-01", ttl: "TTL", values: "TXTRecords" };
const PRIVATE: Kind =
    Kind { path: "privateDnsZones", version: "2020-06-01", ttl: "ttl", values: "txtRecords" };
/// Codes of a 404 that is about more than the set.
const NO_ZONE: [&str; 4] =
    ["ParentResourceNotFound", "ResourceNotFound", "ResourceGroupNotFound", "SubscriptionNotFound"];
const NAME: &str = "azureDNS";
const TTL: u32 = 60;
const TRIES: usize = 5;
