//! `rfc2136`: dynamic updates (RFC 2136), signed with a shared key (TSIG, RFC 8945) if there is one.
//!
//! One message adds or removes one value, atomically. The other values at the name keep their TTL:
//! certctl queries it first and uses it for the new value. The zone is the one whose SOA was found.
//! There is no wait: a server that answers NOERROR serves the new content.

mod exchange;
mod message;
#[cfg(test)]
mod responder;
mod server;
#[cfg(test)]
mod tests;
mod tsig;
mod verdict;

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use hickory_proto::rr::{Name, RecordType};
use jiff::Timestamp;
use zeroize::Zeroizing;

use self::exchange::{Limits, Silence, exchange};
use self::message::{Answer, Change, Request};
use self::server::{Host, Server};
use self::tsig::{Algorithm, Key};
use self::verdict::Place;
use super::{Context, DnsProvider, Lookup, Opened, ProviderError, ProviderFuture, TxtRecord};
use crate::resource::dns01::Rfc2136;

pub(super) fn open(settings: &Rfc2136, context: &Context<'_>) -> Opened {
    Ok(Box::new(Updates::open(settings, context)?))
}

/// A server that receives updates.
struct Updates {
    server: Server,
    key: Option<Key>,
    /// Whether UDP is skipped.
    tcp: bool,
    limits: Limits,
    lookup: Lookup,
    now: Rc<dyn Fn() -> Timestamp>,
}

impl Updates {
    fn open(rfc2136: &Rfc2136, context: &Context<'_>) -> Result<Self, ProviderError> {
        let server = Server::parse(&rfc2136.nameserver).ok_or_else(|| {
            settings(format!("nameserver: `{}` is not host:port", rfc2136.nameserver))
        })?;
        let tcp = match rfc2136.protocol.as_str() {
            "" | "UDP" => false,
            "TCP" => true,
            other => return Err(settings(format!("protocol: `{other}` is neither UDP nor TCP"))),
        };
        Ok(Self {
            server,
            key: key(rfc2136, context)?,
            tcp,
            limits: Limits::default(),
            lookup: Rc::clone(&context.lookup),
            now: Rc::clone(&context.now),
        })
    }

    async fn add(&self, record: &TxtRecord) -> Result<(), ProviderError> {
        let ttl = self.ttl(name(&record.name)?).await?;
        self.change(Change::Add { ttl }, record).await
    }

    /// The TTL of the values at a name. All have the same (RFC 2181 section 5.2), so a different
    /// TTL of the new value would change that of the others for good.
    async fn ttl(&self, name: Name) -> Result<u32, ProviderError> {
        let request = Request::question(name.clone(), RecordType::TXT);
        let answer = match self.ask(&request).await {
            Ok((_, answer)) => answer,
            Err(error @ ProviderError::Unreachable { .. }) => return Err(error),
            // Without the TTL, the update is tried anyway; the server's error is the better one.
            Err(_) => return Ok(TTL),
        };
        let mut texts = answer.message.answers.iter();
        let text = texts.find(|it| it.record_type() == RecordType::TXT && it.name == name);
        Ok(text.map_or(TTL, |text| text.ttl))
    }

    async fn change(&self, change: Change, record: &TxtRecord) -> Result<(), ProviderError> {
        let (zone, name) = (name(&record.zone)?, name(&record.name)?);
        let request = Request::change(change, zone, name, &record.value);
        let (service, answer) = self.ask(&request).await?;
        self.place(&service, &record.zone, &record.name).changed(&answer)
    }

    async fn check(&self, name_of_record: &str, zone: &str) -> Result<String, ProviderError> {
        let request = Request::question(name(zone)?, RecordType::SOA);
        let (service, answer) = self.ask(&request).await?;
        self.place(&service, zone, name_of_record).found(&answer)
    }

    fn place<'a>(&'a self, service: &'a str, zone: &'a str, name: &'a str) -> Place<'a> {
        Place { service, key: self.key.as_ref(), zone, name }
    }

    /// The first answer from any of the server's addresses, and that address.
    async fn ask(&self, request: &Request) -> Result<(String, Answer), ProviderError> {
        let addresses = self.addresses().await?;
        let mut silent = Vec::new();
        for ip in addresses {
            let address = SocketAddr::new(ip, self.server.port);
            let service = self.server.at(address);
            let time = u64::try_from((self.now)().as_second()).unwrap_or_default();
            let key = self.key.as_ref();
            let signed = request.sign(key, time).map_err(|error| settings(error.to_string()))?;
            let hear = |bytes: &[u8]| request.hear(key, &signed, bytes);
            match exchange(address, &signed.bytes, self.tcp, self.limits, hear).await {
                Ok(answer) => return Ok((service, answer)),
                Err(Silence::Garbled(reason)) => {
                    return Err(ProviderError::Garbled { service, reason });
                }
                Err(Silence::Unreachable(reason)) => silent.push((service, reason)),
            }
        }
        Err(self.unreachable(silent))
    }

    fn unreachable(&self, mut silent: Vec<(String, String)>) -> ProviderError {
        if silent.len() == 1
            && let Some((service, reason)) = silent.pop()
        {
            return ProviderError::Unreachable { service, reason };
        }
        let each = silent.iter().map(|(service, reason)| format!("{service}: {reason}"));
        let reason = each.collect::<Vec<_>>().join("; ");
        ProviderError::Unreachable { service: self.server.to_string(), reason }
    }

    async fn addresses(&self) -> Result<Vec<IpAddr>, ProviderError> {
        let host = match &self.server.host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(host) => host.clone(),
        };
        let unreachable =
            |reason| ProviderError::Unreachable { service: self.server.to_string(), reason };
        let addresses = (self.lookup)(host).await.map_err(unreachable)?;
        if addresses.is_empty() {
            return Err(unreachable("it has no address".to_owned()));
        }
        Ok(addresses)
    }
}

impl DnsProvider for Updates {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        self.add(record).boxed_local()
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        self.change(Change::Remove, record).boxed_local()
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> ProviderFuture<'a, String> {
        self.check(name, zone).boxed_local()
    }
}

fn key(rfc2136: &Rfc2136, context: &Context<'_>) -> Result<Option<Key>, ProviderError> {
    let key_name = rfc2136.tsig_key_name.as_str();
    let Some(selector) = &rfc2136.tsig_secret_secret_ref else {
        if key_name.is_empty() {
            return Ok(None);
        }
        return Err(settings("tsigKeyName without tsigSecretSecretRef"));
    };
    if key_name.is_empty() {
        return Err(settings("tsigSecretSecretRef without tsigKeyName"));
    }
    let algorithm = Algorithm::from_word(&rfc2136.tsig_algorithm).ok_or_else(|| {
        settings(format!("tsigAlgorithm: `{}` is not known", rfc2136.tsig_algorithm))
    })?;
    let text = context.text(PROVIDER, SECRET, selector)?;
    // The decoder's message would contain a byte of the secret.
    let secret = STANDARD.decode(text.as_bytes()).map_err(|_| ProviderError::Credential {
        provider: PROVIDER,
        field: SECRET,
        reason: format!("secret {}, key {}: this is not base64", selector.name, selector.key),
    })?;
    Ok(Some(Key::new(&name(key_name)?, algorithm, Zeroizing::new(secret))))
}

/// A name with all its labels.
fn name(text: &str) -> Result<Name, ProviderError> {
    let bare = text.strip_suffix('.').unwrap_or(text);
    Name::from_ascii(format!("{bare}."))
        .map_err(|_| settings(format!("`{bare}` is not a name in the DNS")))
}

fn settings(reason: impl Into<String>) -> ProviderError {
    ProviderError::Settings { provider: PROVIDER, reason: reason.into() }
}

/// TTL in seconds of a value that is alone at its name; cert-manager's default.
const TTL: u32 = 60;
const PROVIDER: &str = "rfc2136";
const SECRET: &str = "tsigSecretSecretRef";
