//! A webhook over HTTP: cert-manager's ChallengePayload, posted to a URL.
//!
//! `config`: `url`; `caBundle` (base64 of PEM); `headers`, from a header's name to the `name` and
//! `key` of a Secret's entry that is its value; `timeout` (default 30s); `config`, which goes
//! with every request. The answer is a ChallengePayload with a `response`; a success without a body
//! is one too.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use http::header::HeaderName;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::authorities;
use crate::resource::{GoDuration, SecretKeySelector};
use crate::solver::dns01::config::decoded;
use crate::solver::dns01::payload::Payload;
use crate::solver::dns01::{
    Action, Api, Call, Context, DnsProvider, Opened, ProviderError, ProviderFuture, Reply,
    TxtRecord,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    url: String,
    #[serde(default)]
    ca_bundle: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, SecretKeySelector>,
    #[serde(default)]
    timeout: Option<GoDuration>,
    #[serde(default)]
    config: Option<Value>,
}

pub(super) fn open(config: Option<&Value>, context: &Context<'_>) -> Opened {
    let none = Value::Object(Map::new());
    let settings: Settings = decoded(NAME, config.unwrap_or(&none))?;
    let url = reqwest::Url::parse(&settings.url)
        .map_err(|error| fault(format!("config.url: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(fault("config.url: this is not an http:// or https:// address"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("config.url: put credentials into config.headers, not here"));
    }
    let timeout = match settings.timeout {
        None => DEFAULT_TIMEOUT,
        Some(GoDuration(received)) => Duration::try_from(received)
            .ok()
            .filter(|received| (SHORTEST_TIMEOUT..=LONGEST_TIMEOUT).contains(received))
            .ok_or_else(|| fault("config.timeout: use 1s to 5m"))?,
    };
    let mut headers = Vec::new();
    for (name, selector) in &settings.headers {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| fault(format!("config.headers: `{name}` is not the name of a header")))?;
        headers.push((name, context.text(NAME, "config.headers", selector)?));
    }
    let api = match settings.ca_bundle {
        None => Rc::clone(&context.api),
        Some(bundle) => {
            let tls = authorities::trusting(&bundle)
                .map_err(|reason| fault(format!("config.caBundle: {reason}")))?;
            Rc::new(context.api.with_tls(Box::new(move || Ok(tls.clone()))))
        }
    };
    let payload = Payload::new(context, settings.config.as_ref());
    Ok(Box::new(Http { api, url: url.into(), headers, timeout, payload }))
}

/// See the module.
struct Http {
    api: Rc<Api>,
    url: String,
    headers: Vec<(HeaderName, Zeroizing<String>)>,
    timeout: Duration,
    payload: Payload,
}

impl DnsProvider for Http {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(self.ask(Action::Present, record))
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(self.ask(Action::CleanUp, record))
    }

    /// The protocol has no read-only operation; the check only shows that a server answers.
    fn check<'a>(&'a self, _name: &'a str, _zone: &'a str) -> ProviderFuture<'a, String> {
        Box::pin(async move {
            let reply = self.send(Call::new(Method::GET, self.url.clone())).await?;
            match reply.status {
                401 | 403 => Err(reply.refused(&error_in(&reply))),
                _ => Ok(format!(
                    "webhook: {} answers; its permissions at the DNS provider are unknown",
                    reply.service
                )),
            }
        })
    }
}

impl Http {
    async fn ask(&self, action: Action, record: &TxtRecord) -> Result<(), ProviderError> {
        let (document, uid) = self.payload.of(action, record);
        let reply = self.send(Call::new(Method::POST, self.url.clone()).json(&document)).await?;
        verdict(&reply, &uid)
    }

    async fn send(&self, call: Call) -> Result<Reply, ProviderError> {
        let mut call = call.plain().within(self.timeout);
        for (name, value) in &self.headers {
            call = call.credential(name.clone(), "", value)?;
        }
        self.api.send(call).await
    }
}

fn verdict(reply: &Reply, uid: &str) -> Result<(), ProviderError> {
    if !reply.is_success() {
        return Err(reply.refused(&error_in(reply)));
    }
    if reply.body.trim_ascii().is_empty() {
        return Ok(());
    }
    let Some(response) = reply.json::<Document>()?.response else {
        return Err(reply.garbled(&"there is no `response` in it"));
    };
    if !response.uid.is_empty() && response.uid != uid {
        return Err(reply.garbled(&"`response.uid` is not that of the request"));
    }
    if response.success {
        return Ok(());
    }
    let status = response.status.unwrap_or_default();
    // A Kubernetes Status carries the HTTP code that the webhook received.
    if StatusCode::from_u16(status.code).is_ok_and(|code| !code.is_success()) {
        let reply = Reply {
            service: reply.service.clone(),
            status: status.code,
            headers: reply.headers.clone(),
            body: Vec::new(),
        };
        return Err(reply.refused(&status.text()));
    }
    Err(ProviderError::Refused {
        service: reply.service.clone(),
        status: "`success: false`".to_owned(),
        reason: crate::solver::dns01::error::shown(&status.text()),
    })
}

/// The message of a failed request: a `response`, a Kubernetes Status, or plain text.
fn error_in(reply: &Reply) -> String {
    let Ok(document) = reply.json::<Document>() else { return reply.text() };
    let inner = document.response.and_then(|response| response.status).map(|s| s.text());
    let outer = Status { message: document.message, reason: document.reason, code: 0 }.text();
    inner.into_iter().chain([outer]).find(|text| !text.is_empty()).unwrap_or_else(|| reply.text())
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    response: Option<Response>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    uid: String,
    success: bool,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    code: u16,
}

impl Status {
    fn text(&self) -> String {
        match (self.message.as_str(), self.reason.as_str()) {
            (message, "") => message.to_owned(),
            ("", reason) => reason.to_owned(),
            (message, reason) => format!("{message} ({reason})"),
        }
    }
}

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);
const LONGEST_TIMEOUT: Duration = Duration::from_mins(5);

pub(super) fn fault(reason: impl Into<String>) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason: reason.into() }
}

pub(in crate::solver::dns01) const NAME: &str = "webhook";
