//! acme-dns: one update of a subdomain that `_acme-challenge` of the domain is a CNAME of.
//!
//! The Secret's entry is a JSON map from domain to account, as registration returns it. The server
//! keeps the two newest values, so certctl removes nothing; a value that is sent twice takes both
//! places, and the API cannot list the values.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;

use http::Method;
use http::header::HeaderName;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use zeroize::Zeroizing;

use super::{
    Api, Call, Context, DnsProvider, Opened, ProviderError, ProviderFuture, Reply, TxtRecord,
};
use crate::resource::dns01::{AcmeDns as Settings, CHALLENGE_PREFIX};

pub(super) fn open(settings: &Settings, context: &Context<'_>) -> Opened {
    let fault = |reason: String| ProviderError::Settings { provider: NAME, reason };
    let host = settings.host.trim();
    let base = if host.contains("://") { host.to_owned() } else { format!("https://{host}") };
    let url = reqwest::Url::parse(&base).map_err(|error| fault(format!("host: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(fault("host: this is not an http:// or https:// address".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("host: put credentials into the secret, not here".to_owned()));
    }
    let base = base.trim_end_matches('/').to_owned();
    let selector = &settings.account_secret_ref;
    let bytes = context.bytes(NAME, FIELD, selector)?;
    let accounts = read_accounts(&bytes).map_err(|reason| ProviderError::Credential {
        provider: NAME,
        field: FIELD,
        reason: format!("secret {}, key {}: {reason}", selector.name, selector.key),
    })?;
    Ok(Box::new(AcmeDns { api: Rc::clone(&context.api), base, accounts }))
}

/// The accounts; the error contains nothing of the text.
fn read_accounts(bytes: &[u8]) -> Result<BTreeMap<String, Account>, String> {
    let accounts: BTreeMap<String, Account> = serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "line {}, column {}: this is not a JSON map from domain to {{\"username\", \
             \"password\", \"fulldomain\", \"subdomain\"}}",
            error.line(),
            error.column()
        )
    })?;
    let plain = |domain: String| domain.trim_end_matches('.').to_ascii_lowercase();
    Ok(accounts.into_iter().map(|(domain, account)| (plain(domain), account)).collect())
}

/// See the module.
struct AcmeDns {
    api: Rc<Api>,
    base: String,
    accounts: BTreeMap<String, Account>,
}

/// An account as registration returns it; other fields (`allowfrom`) are for the server.
#[derive(Deserialize)]
struct Account {
    #[serde(deserialize_with = "zeroizing")]
    username: Zeroizing<String>,
    #[serde(deserialize_with = "zeroizing")]
    password: Zeroizing<String>,
    #[serde(default)]
    fulldomain: String,
    subdomain: String,
}

fn zeroizing<'de, D: Deserializer<'de>>(from: D) -> Result<Zeroizing<String>, D::Error> {
    String::deserialize(from).map(Zeroizing::new)
}

impl DnsProvider for AcmeDns {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(async move {
            let account = self.account(&record.domain)?;
            let body = json!({"subdomain": account.subdomain, "txt": record.value});
            let call = Call::new(Method::POST, format!("{}/update", self.base))
                .plain()
                .json(&body)
                .credential(HeaderName::from_static("x-api-user"), "", &account.username)?
                .credential(HeaderName::from_static("x-api-key"), "", &account.password)?;
            let reply = self.api.send(call).await?;
            if !reply.is_success() {
                return Err(refusal(&reply, &record.domain));
            }
            let updated: Updated = reply.json()?;
            if updated.txt == record.value {
                Ok(())
            } else {
                Err(reply.garbled(&"`txt` is not the value that was sent"))
            }
        })
    }

    /// The server drops a value when newer ones come.
    fn clean_up<'a>(&'a self, _record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn needs_zone(&self) -> bool {
        false
    }

    fn check<'a>(&'a self, name: &'a str, _zone: &'a str) -> ProviderFuture<'a, String> {
        Box::pin(async move {
            let domain = name.strip_prefix(CHALLENGE_PREFIX).unwrap_or(name);
            let target = |account: &Account| account.fulldomain.trim_end_matches('.').to_owned();
            let message = match self.accounts.get(domain) {
                Some(account) => format!("{name} must be a CNAME of {}", target(account)),
                // The name is the target of the CNAMEs already.
                None => match self.accounts.iter().find(|(_, account)| target(account) == name) {
                    Some((domain, _)) => format!("the account of {domain} writes to {name}"),
                    None => return Err(missing(domain)),
                },
            };
            // Only an update shows whether the account is valid; any answer shows that the server
            // is up.
            let call = Call::new(Method::GET, format!("{}/health", self.base)).plain();
            let reply = self.api.send(call).await?;
            Ok(format!("acmeDNS: {} answers; {message}", reply.service))
        })
    }
}

impl AcmeDns {
    fn account(&self, domain: &str) -> Result<&Account, ProviderError> {
        self.accounts.get(domain).ok_or_else(|| missing(domain))
    }
}

/// cert-manager's message.
fn missing(domain: &str) -> ProviderError {
    ProviderError::Credential {
        provider: NAME,
        field: FIELD,
        reason: format!("account credentials not found for domain {domain}"),
    }
}

fn refusal(reply: &Reply, domain: &str) -> ProviderError {
    let message = reply.json::<Fault>().map_or_else(|_| reply.text(), |fault| fault.error);
    if matches!(reply.status, 401 | 403) {
        let reason = format!(
            "{}; username and password must be those of the account for {domain}, and its \
             allowfrom must hold this machine",
            super::error::shown(&message)
        );
        return ProviderError::Unauthorized { service: reply.service.clone(), reason };
    }
    reply.refused(&message)
}

#[derive(Deserialize)]
struct Updated {
    txt: String,
}

#[derive(Deserialize)]
struct Fault {
    error: String,
}

const NAME: &str = "acmeDNS";
const FIELD: &str = "accountSecretRef";
