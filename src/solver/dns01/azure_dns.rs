//! `azureDNS`: public and private zones of Azure, through Azure Resource Manager.
//!
//! A set of values is written whole, with its ETag as the condition; when another client changed it
//! first, certctl reads it again.

mod cloud;
mod credentials;
#[cfg(test)]
mod tests;

use http::Method;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::credentials::{Credentials, unusable};
use super::error::shown;
use super::oauth::Bearer;
use super::percent::percent;
use super::sets::{TxtSets, Written};
use super::{Call, Context, Opened, ProviderError, Reply, TxtRecord};
use crate::resource::Pause;
use crate::resource::dns01::AzureDns as Settings;

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    Ok(Box::new(AzureDns::new(settings, context)?))
}

struct AzureDns {
    base: String,
    subscription: String,
    group: String,
    /// The zone of the settings; empty: the one found in the DNS.
    zone: String,
    kind: &'static Kind,
    credentials: Bearer<Credentials>,
    /// Between two tries, when another client writes too.
    pause: Pause,
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
            base: cloud.management.to_owned(),
            subscription: subscription.to_owned(),
            group: group.to_owned(),
            zone,
            kind,
            credentials: Bearer::new(Credentials::new(settings, cloud, context)?, context),
            pause: Pause::SERVICE,
        })
    }

    /// Sends a change of a set. When a value is added, 404 means that the zone is missing.
    async fn write(
        &self,
        call: Call,
        zone: &str,
        name: &str,
        is_added: bool,
    ) -> Result<Written, ProviderError> {
        let reply = self.credentials.send(call).await?;
        match reply.status {
            409 | 412 => Ok(Written::Lost(error_in(&reply).1)),
            404 if is_added => Err(self.no_zone(&reply, name, zone)),
            404 => Ok(Written::Lost(String::new())),
            _ if reply.is_success() => Ok(Written::Done),
            _ => Err(refused(&reply)),
        }
    }

    fn url_of(&self, zone: &str, name: &str) -> Result<String, ProviderError> {
        Ok(self.url(zone, &format!("/TXT/{}", percent(relative(name, zone)?))))
    }

    /// The entries of a set's list.
    fn entries(&self, set: Option<&RecordSet>) -> Vec<Value> {
        let values = set.and_then(|set| set.property(self.kind.values));
        values.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// The set with these values.
    fn with(&self, set: &RecordSet, values: &[Value]) -> Value {
        let ttl = set.property(self.kind.ttl).cloned().unwrap_or_else(|| json!(TTL));
        self.set(ttl, values, set.property("metadata"))
    }

    /// The body of a PUT: it replaces the set, so everything to be kept must be in it.
    fn set(&self, ttl: Value, values: &[Value], metadata: Option<&Value>) -> Value {
        let mut properties = Map::new();
        properties.insert(self.kind.ttl.to_owned(), ttl);
        properties.insert(self.kind.values.to_owned(), values.into());
        if let Some(metadata) = metadata {
            properties.insert("metadata".to_owned(), metadata.clone());
        }
        json!({ "properties": properties })
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

    fn no_zone(&self, reply: &Reply, name: &str, zone: &str) -> ProviderError {
        let (code, message) = error_in(reply);
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
}

impl TxtSets for AzureDns {
    type Zone = String;
    type Set = Option<RecordSet>;

    async fn find(&self, name: &str, zone: &str) -> Result<(String, Self::Set), ProviderError> {
        let zone = self.zone_of(zone).to_owned();
        let set = self.list(&zone, name).await?;
        Ok((zone, set))
    }

    async fn list(&self, zone: &String, name: &str) -> Result<Self::Set, ProviderError> {
        let reply = self.credentials.send(Call::new(Method::GET, self.url_of(zone, name)?)).await?;
        if reply.status == 404 {
            let (code, _) = error_in(&reply);
            if NO_ZONE.contains(&code.as_str()) {
                return Err(self.no_zone(&reply, name, zone));
            }
            return Ok(None);
        }
        if !reply.is_success() {
            return Err(refused(&reply));
        }
        let set: RecordSet = reply.json()?;
        match set.property(self.kind.values) {
            Some(Value::Array(_)) | None => Ok(Some(set)),
            Some(_) => Err(reply.garbled(&format!("{} is not a list", self.kind.values))),
        }
    }

    fn values(&self, set: &Self::Set) -> Result<Vec<String>, ProviderError> {
        Ok(self.entries(set.as_ref()).iter().map(text_of).collect())
    }

    async fn add(
        &self,
        zone: &String,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        let mut values = self.entries(set.as_ref());
        values.push(json!({ "value": [record.value] }));
        let call = Call::new(Method::PUT, self.url_of(zone, &record.name)?);
        let call = match &set {
            None => call.json(&self.set(json!(TTL), &values, None)).header(IF_NONE_MATCH, "*")?,
            Some(set) => call.json(&self.with(set, &values)).header(IF_MATCH, &set.etag)?,
        };
        self.write(call, zone, &record.name, true).await
    }

    async fn remove(
        &self,
        zone: &String,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError> {
        let mut values = self.entries(set.as_ref());
        values.retain(|value| text_of(value) != record.value);
        let Some(set) = set else { return Ok(Written::Done) };
        let url = self.url_of(zone, &record.name)?;
        let call = if values.is_empty() {
            Call::new(Method::DELETE, url)
        } else {
            Call::new(Method::PUT, url).json(&self.with(&set, &values))
        };
        self.write(call.header(IF_MATCH, &set.etag)?, zone, &record.name, false).await
    }

    async fn read(&self, _name: &str, zone: &str) -> Result<String, ProviderError> {
        let zone = self.zone_of(zone);
        let reply = self.credentials.send(Call::new(Method::GET, self.url(zone, ""))).await?;
        match reply.status {
            404 => Err(self.no_zone(&reply, zone, zone)),
            _ if reply.is_success() => {
                let (group, service) = (&self.group, &reply.service);
                let what = format!("zone {zone} of resource group {group} at {service}");
                Ok(format!("the credentials can read {what}"))
            }
            _ => Err(refused(&reply)),
        }
    }

    fn service(&self) -> String {
        super::api::service_of(&self.base)
    }

    fn pause(&self) -> Pause {
        self.pause
    }
}

impl RecordSet {
    fn property(&self, name: &str) -> Option<&Value> {
        self.properties.get(name).filter(|value| !value.is_null())
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

/// The value of an entry: its strings joined.
fn text_of(entry: &Value) -> String {
    let strings = entry.get("value").and_then(Value::as_array);
    strings.into_iter().flatten().filter_map(Value::as_str).collect()
}

const PUBLIC: Kind =
    Kind { path: "dnsZones", version: "2018-05-01", ttl: "TTL", values: "TXTRecords" };
const PRIVATE: Kind =
    Kind { path: "privateDnsZones", version: "2020-06-01", ttl: "ttl", values: "txtRecords" };
/// Codes of a 404 about the zone or its resource group, not the set.
const NO_ZONE: [&str; 4] =
    ["ParentResourceNotFound", "ResourceNotFound", "ResourceGroupNotFound", "SubscriptionNotFound"];
const TTL: u32 = 60;

fn refused(reply: &Reply) -> ProviderError {
    match error_in(reply) {
        (code, message) if code.is_empty() => reply.refused(&message),
        (code, message) => reply.refused(&format!("{code}: {message}")),
    }
}

/// The code and the message of an error document; any other text is the message.
fn error_in(reply: &Reply) -> (String, String) {
    let body = String::from_utf8_lossy(&reply.body);
    match serde_json::from_str::<Failure>(&body) {
        Ok(Failure { error: Some(details), .. }) => (details.code, details.message),
        Ok(Failure { code, message, .. }) => (code, message),
        Err(_) => (String::new(), body.into_owned()),
    }
}
