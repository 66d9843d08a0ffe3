//! `route53`: Amazon Route 53, version 2013-04-01 of its API.
//!
//! Each value is a record set of its own, identified by the value itself (multivalue answers, as
//! cert-manager writes them): values do not affect each other, and certctl reads nothing before a
//! write.

mod zone;

#[cfg(test)]
mod tests;

use std::rc::Rc;

use http::Method;
use jiff::Timestamp;

use super::api::MOST_POLLS;
use super::aws::{Credentials, Element, Failure, Keys, Region, Signer, escaped};
use super::error::shown;
use super::{Api, Context, DnsProvider, Opened, ProviderError, ProviderFuture, Reply, TxtRecord};
use crate::resource::Pause;
use crate::resource::dns01::Route53 as Settings;

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    Ok(Box::new(Route53::new(settings, context)?))
}

struct Route53 {
    api: Rc<Api>,
    now: Rc<dyn Fn() -> Timestamp>,
    base: String,
    /// The region that requests are signed for.
    region: &'static str,
    /// The hosted zone of the settings; empty: certctl searches for it.
    zone_id: String,
    credentials: Credentials,
    /// Between two requests that wait for the same thing.
    pause: Pause,
}

impl Route53 {
    fn new(settings: &Settings, context: &Context<'_>) -> Result<Self, ProviderError> {
        let variable = |name: &str| (context.environment)(name).filter(|text| !text.is_empty());
        let region = match settings.region.trim() {
            "" => variable("AWS_REGION").unwrap_or_else(|| "us-east-1".to_owned()),
            region => region.to_owned(),
        };
        let region = Region::new(region.trim())
            .ok_or_else(|| unusable("region must be the name of a region, such as us-east-1"))?;
        let zone_id = settings.hosted_zone_id.trim().trim_start_matches("/hostedzone/").to_owned();
        if !zone_id.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(unusable("hostedZoneID must be letters and digits, such as Z0123456789"));
        }
        let (base, signed_for) = region.route53();
        Ok(Self {
            api: Rc::clone(&context.api),
            now: Rc::clone(&context.now),
            base: base.to_owned(),
            region: signed_for,
            zone_id,
            credentials: credentials(settings, region, context)?,
            pause: Pause::SERVICE,
        })
    }

    async fn add(&self, record: &TxtRecord) -> Result<(), ProviderError> {
        let zone = self.zone_of(&record.name, &record.zone).await?;
        let reply = self.change(&zone, "UPSERT", record).await?;
        if !reply.is_success() {
            return Err(refused(&reply, record, &zone));
        }
        self.wait(&reply).await.map_err(ProviderError::after_the_write)
    }

    async fn remove(&self, record: &TxtRecord) -> Result<(), ProviderError> {
        let zone = self.zone_of(&record.name, &record.zone).await?;
        let reply = self.change(&zone, "DELETE", record).await?;
        if reply.is_success() {
            return Ok(());
        }
        let failure = Failure::read(&reply);
        if failure.code == "InvalidChangeBatch" && failure.message.contains("not found") {
            return Ok(());
        }
        Err(refused(&reply, record, &zone))
    }

    /// Whether names of this zone can be read; a permission that cert-manager's policy has.
    async fn can_read(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        let zone = self.zone_of(name, zone).await?;
        let path = format!("/hostedzone/{zone}/rrset?maxitems=1");
        let reply = self.ask(&Method::GET, &path, None).await?;
        if !reply.is_success() {
            return Err(Failure::read(&reply).error(&reply));
        }
        Element::read(&reply.body).map_err(|why| reply.garbled(&why))?;
        Ok(format!("the credentials can read hosted zone {zone} at {}", reply.service))
    }

    async fn change(
        &self,
        zone: &str,
        action: &str,
        record: &TxtRecord,
    ) -> Result<Reply, ProviderError> {
        let (name, value) = (escaped(&record.name), escaped(&format!("\"{}\"", record.value)));
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <ChangeResourceRecordSetsRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\">\
             <ChangeBatch><Changes><Change><Action>{action}</Action><ResourceRecordSet>\
             <Name>{name}.</Name><Type>TXT</Type><SetIdentifier>{value}</SetIdentifier>\
             <MultiValueAnswer>true</MultiValueAnswer><TTL>{TTL}</TTL><ResourceRecords>\
             <ResourceRecord><Value>{value}</Value></ResourceRecord></ResourceRecords>\
             </ResourceRecordSet></Change></Changes></ChangeBatch>\
             </ChangeResourceRecordSetsRequest>"
        );
        let path = format!("/hostedzone/{zone}/rrset/");
        self.ask(&Method::POST, &path, Some(body.as_bytes())).await
    }

    /// Waits until all name servers have the change of this answer.
    async fn wait(&self, reply: &Reply) -> Result<(), ProviderError> {
        let (mut id, mut status) = change_of(reply)?;
        for earlier in 0..MOST_POLLS {
            if status == "INSYNC" {
                return Ok(());
            }
            tokio::time::sleep(self.pause.length(earlier).unsigned_abs()).await;
            let reply = self.ask(&Method::GET, &format!("/change/{id}"), None).await?;
            if !reply.is_success() {
                return Err(Failure::read(&reply).error(&reply));
            }
            (id, status) = change_of(&reply)?;
        }
        let reason = shown(&format!("change {id} is still {status} after 2 minutes"));
        Err(ProviderError::Unfinished { service: reply.service.clone(), reason })
    }

    /// The answer to a signed request. A request that came too early is repeated a few times.
    async fn ask(
        &self,
        method: &Method,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<Reply, ProviderError> {
        let url = format!("{}/2013-04-01{path}", self.base);
        let keys = self.keys().await?;
        let sign = || {
            let now = (self.now)();
            let signer = Signer { keys: &keys, service: NAME, region: self.region, now };
            signer.call(method, &url, body.map(|body| ("application/xml", body)))
        };
        let mut repeats = 0;
        loop {
            let reply = self.api.send_signed(sign).await?;
            let is_busy = !reply.is_success() && Failure::read(&reply).is_busy();
            if !is_busy || repeats >= MOST_REPEATS {
                return Ok(reply);
            }
            tokio::time::sleep(self.pause.length(repeats).unsigned_abs()).await;
            repeats += 1;
        }
    }

    async fn keys(&self) -> Result<Rc<Keys>, ProviderError> {
        self.credentials.keys(&self.api, (self.now)()).await
    }

    fn service(&self) -> String {
        super::api::service_of(&self.base)
    }
}

impl DnsProvider for Route53 {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(self.add(record))
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(self.remove(record))
    }

    fn needs_zone(&self) -> bool {
        false
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> ProviderFuture<'a, String> {
        Box::pin(self.can_read(name, zone))
    }
}

/// The keys of the settings, else those of the machine, where that is allowed.
fn credentials(
    settings: &Settings,
    region: Region,
    context: &Context<'_>,
) -> Result<Credentials, ProviderError> {
    let id = match (settings.access_key_id.trim(), &settings.access_key_id_secret_ref) {
        ("", None) => None,
        ("", Some(selector)) => Some(context.text(NAME, "accessKeyIDSecretRef", selector)?),
        (id, None) => Some(id.to_owned().into()),
        (_, Some(_)) => {
            return Err(unusable("accessKeyID and accessKeyIDSecretRef exclude each other"));
        }
    };
    let role = settings.role.trim();
    match (id, &settings.secret_access_key_secret_ref) {
        (Some(id), Some(selector)) => {
            let secret = context.text(NAME, "secretAccessKeySecretRef", selector)?;
            Ok(Credentials::of_keys(Keys { id, secret, token: None }, role, region))
        }
        (Some(_), None) => Err(unusable("accessKeyID needs secretAccessKeySecretRef")),
        (None, Some(_)) => Err(unusable("secretAccessKeySecretRef needs accessKeyID")),
        (None, None) if context.allow_ambient => {
            Credentials::ambient(context.environment, role, region)
        }
        (None, None) if settings.auth.is_some() => Err(unusable(
            "auth.kubernetes needs a cluster; give accessKeyID and secretAccessKeySecretRef: \
             credentials of the machine are for ClusterIssuers only",
        )),
        (None, None) => Err(unusable(
            "give accessKeyID and secretAccessKeySecretRef: credentials of the machine are for \
             ClusterIssuers only",
        )),
    }
}

/// ID and status of a change.
fn change_of(reply: &Reply) -> Result<(String, String), ProviderError> {
    let root = Element::read(&reply.body).map_err(|why| reply.garbled(&why))?;
    let id = root.text_at(&["ChangeInfo", "Id"]).trim_start_matches("/change/");
    let status = root.text_at(&["ChangeInfo", "Status"]);
    let is_id = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_id || status.is_empty() {
        return Err(reply.garbled(&"there is no change with an ID and a status in it"));
    }
    Ok((id.to_owned(), status.to_owned()))
}

fn unusable(reason: &str) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason: reason.to_owned() }
}

const NAME: &str = "route53";
const TTL: u32 = 10;
const MOST_REPEATS: u32 = 4;

fn refused(reply: &Reply, record: &TxtRecord, zone: &str) -> ProviderError {
    let failure = Failure::read(reply);
    if failure.code == "NoSuchHostedZone" {
        return ProviderError::NoZone {
            service: reply.service.clone(),
            name: record.name.clone(),
            reason: format!("hosted zone {zone}: {}", shown(&failure.message)),
        };
    }
    failure.error(reply)
}
