//! A request to a provider's HTTP API and its whole answer, bounded in time, size and number.
//!
//! https only, except for this machine and where the operator wrote an http address. No redirects:
//! they would carry credentials elsewhere. No proxy stands between certctl and this machine, this
//! link or a cloud's metadata service: it would see the credentials, and reach another machine.
//! Requests answered with 429 or 503 are repeated when Retry-After is short; no others are.

use std::time::Duration;

use http::header::{HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method};
use reqwest::Url;
use rustls::ClientConfig;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::ProviderError;
use super::error::shown;
use super::redact;
use crate::resource::{Pause, Reach, causes};

/// The source of the TLS configuration; called once, for the first request.
pub type Tls = Box<dyn Fn() -> Result<ClientConfig, String>>;

/// The connections to providers.
pub struct Api {
    user_agent: String,
    tls: Tls,
    client: OnceCell<reqwest::Client>,
    /// Without a proxy.
    direct: OnceCell<reqwest::Client>,
}

/// One request.
#[derive(Clone)]
pub struct Call {
    method: Method,
    url: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    plain: bool,
    timeout: Duration,
    hidden: Vec<Zeroizing<String>>,
}

impl Call {
    /// A request without a body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: HeaderMap::new(),
            body: None,
            plain: false,
            timeout: TIMEOUT,
            hidden: Vec::new(),
        }
    }

    /// Adds parameters to the URL's query, encoded.
    #[must_use]
    pub fn query(mut self, pairs: &[(&str, &str)]) -> Self {
        if let Ok(mut url) = Url::parse(&self.url) {
            url.query_pairs_mut().extend_pairs(pairs);
            self.url = url.into();
        }
        self
    }

    /// Adds a header of `scheme` (such as `Bearer `, or nothing) and a credential. If the service
    /// repeats the credential in its answer, it is redacted there.
    pub fn credential(
        self,
        name: HeaderName,
        scheme: &str,
        credential: &str,
    ) -> Result<Self, ProviderError> {
        let value = Zeroizing::new(format!("{scheme}{credential}"));
        self.hiding([credential]).header(name, &value)
    }

    /// Credentials of the request, which are redacted where the answer repeats them.
    #[must_use]
    pub fn hiding<'a>(mut self, credentials: impl IntoIterator<Item = &'a str>) -> Self {
        let hidden = credentials.into_iter().map(|text| Zeroizing::new(text.to_owned()));
        self.hidden.extend(hidden);
        self
    }

    /// Adds a header. Its value is never shown.
    pub fn header(mut self, name: HeaderName, value: &str) -> Result<Self, ProviderError> {
        let mut value = HeaderValue::from_str(value).map_err(|_| ProviderError::Garbled {
            service: service_of(&self.url),
            reason: format!("the value for {name} cannot be sent in a header"),
        })?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// The body and its media type.
    #[must_use]
    pub fn body(mut self, media_type: &'static str, body: Vec<u8>) -> Self {
        self.headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        self.body = Some(body);
        self
    }

    /// A JSON body.
    #[must_use]
    pub fn json(self, body: &serde_json::Value) -> Self {
        self.body("application/json", body.to_string().into_bytes())
    }

    /// Permits http, because the operator wrote this address.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Limits the whole exchange; the default is 30 s.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// The whole answer, whatever its status is.
#[derive(Debug)]
pub struct Reply {
    /// Host, and port when the URL has one: for messages.
    pub service: String,
    pub status: u16,
    pub headers: HeaderMap,
    /// The body, at most 4 MiB.
    pub body: Vec<u8>,
}

impl Reply {
    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ProviderError> {
        serde_json::from_slice(&self.body).map_err(|error| self.garbled(&error))
    }

    /// The body as text, for messages: cut and escaped.
    pub fn text(&self) -> String {
        shown(&String::from_utf8_lossy(&self.body))
    }

    /// The error for an answer that violates the documentation.
    pub fn garbled(&self, why: &dyn std::fmt::Display) -> ProviderError {
        ProviderError::Garbled { service: self.service.clone(), reason: shown(&why.to_string()) }
    }

    /// The error for an unsuccessful answer. `said`: the message of the service's own error
    /// document; it is cut and escaped here.
    pub fn refused(&self, message: &str) -> ProviderError {
        let (service, reason) = (self.service.clone(), shown(message));
        match self.status {
            401 | 403 => ProviderError::Unauthorized { service, reason },
            429 => ProviderError::RateLimited { service, retry_after: self.retry_after() },
            status => ProviderError::Refused { service, status: status.to_string(), reason },
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        let value = self.headers.get(RETRY_AFTER)?.to_str().ok()?;
        value.trim().parse().ok().map(Duration::from_secs)
    }
}

impl Api {
    /// Prepares; nothing is read or sent before the first request.
    pub fn new(user_agent: String, tls: Tls) -> Self {
        Self { user_agent, tls, client: OnceCell::new(), direct: OnceCell::new() }
    }

    /// The same, with other authorities.
    #[must_use]
    pub fn with_tls(&self, tls: Tls) -> Self {
        Self::new(self.user_agent.clone(), tls)
    }

    /// Sends a request and reads its whole answer, whatever its status is. Requests answered with
    /// 429 and 503 are sent up to three times, unless Retry-After exceeds ten seconds.
    pub async fn send(&self, call: Call) -> Result<Reply, ProviderError> {
        let mut tries = 1;
        loop {
            let reply = self.once(&call).await?;
            let Some(wait) = wait_after(&reply, tries) else { return Ok(reply) };
            tries += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// Like [`Self::send`], for a request that is signed for each try, because the signature
    /// contains a time or a nonce.
    pub async fn send_signed(
        &self,
        sign: impl Fn() -> Result<Call, ProviderError>,
    ) -> Result<Reply, ProviderError> {
        let mut tries = 1;
        loop {
            let reply = self.once(&sign()?).await?;
            let Some(wait) = wait_after(&reply, tries) else { return Ok(reply) };
            tries += 1;
            tokio::time::sleep(wait).await;
        }
    }

    async fn once(&self, call: &Call) -> Result<Reply, ProviderError> {
        let service = service_of(&call.url);
        let url = Url::parse(&call.url).map_err(|error| ProviderError::Garbled {
            service: service.clone(),
            reason: format!("{} is not a URL: {error}", shown(&call.url)),
        })?;
        let host = url.host_str().unwrap_or_default();
        let is_local = Reach::of_host(host) == Some(Reach::Host);
        if url.scheme() != "https" && !call.plain && !is_local {
            let reason = "credentials are sent over https only".to_owned();
            return Err(ProviderError::Unreachable { service, reason });
        }
        let unreachable =
            |reason: String| ProviderError::Unreachable { service: service.clone(), reason };
        let is_direct = Reach::is_direct(host);
        let client = if is_direct { &self.direct } else { &self.client };
        let client = client.get_or_try_init(async || self.build(is_direct)).await;
        let client = client.map_err(&unreachable)?;
        let mut request = client.request(call.method.clone(), url).headers(call.headers.clone());
        if let Some(body) = &call.body {
            request = request.body(body.clone());
        }
        let exchange = async {
            let mut response =
                request.send().await.map_err(|error| causes(&error.without_url()))?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let mut body = Vec::new();
            while let Some(chunk) =
                response.chunk().await.map_err(|error| causes(&error.without_url()))?
            {
                if body.len() + chunk.len() > MAX_BODY {
                    return Err(format!("its answer is larger than {MAX_BODY} bytes"));
                }
                body.extend_from_slice(&chunk);
            }
            let body = without(body, &call.hidden);
            Ok(Reply { service: service.clone(), status, headers, body })
        };
        let answer = tokio::time::timeout(call.timeout, exchange).await;
        let answer = answer
            .unwrap_or_else(|_| Err(format!("no answer within {} s", call.timeout.as_secs())));
        let answer = answer.map_err(unreachable);
        // The path of an address that the operator wrote may be a secret.
        let (method, url) = (&call.method, if call.plain { &service } else { &call.url });
        match &answer {
            Ok(reply) => {
                tracing::debug!(target: "certctl::dns01", %method, url, status = reply.status);
            }
            Err(error) => tracing::debug!(target: "certctl::dns01", %method, url, %error),
        }
        answer
    }

    fn build(&self, is_direct: bool) -> Result<reqwest::Client, String> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured((self.tls)()?)
            .user_agent(&self.user_agent)
            .http1_only()
            .referer(false)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT);
        if is_direct {
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| causes(&error))
    }
}

/// How long to wait before a request is repeated; None when this answer is final.
fn wait_after(reply: &Reply, tries: u32) -> Option<Duration> {
    let busy = matches!(reply.status, 429 | 503);
    let own = |pause: Pause| pause.length(tries - 1).unsigned_abs();
    let wait = reply.retry_after().map_or_else(
        || own(Pause::SERVICE),
        // A service that says "at once" means soon.
        |wish| wish.max(own(Pause::POLL)),
    );
    (busy && tries < TRIES && wait <= LONGEST_WAIT).then_some(wait)
}

/// Host, and port when there is one.
pub(super) fn service_of(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return shown(url) };
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The answer without the credentials that came with its request.
fn without(body: Vec<u8>, hidden: &[Zeroizing<String>]) -> Vec<u8> {
    let hidden = hidden.iter().filter(|credential| credential.len() >= SHORTEST_HIDDEN);
    let hidden: Vec<&str> = hidden.map(|credential| credential.as_str()).collect();
    if hidden.is_empty() {
        return body;
    }
    redact::without(&String::from_utf8_lossy(&body), &hidden).into_bytes()
}

/// How often the state of a change is read: with [`Pause::SERVICE`] between, for two minutes.
pub(super) const MOST_POLLS: u32 = 26;
const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const TRIES: u32 = 3;
/// Shorter ones may be parts of ordinary words.
const SHORTEST_HIDDEN: usize = 6;
const MAX_BODY: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::solver::dns01::fake::{Answer, Fake, api};

    async fn send(call: Call) -> Result<Reply, ProviderError> {
        api().send(call).await
    }

    #[tokio::test]
    async fn not_now_is_waited_for_three_times_and_then_said() {
        let mut count = 0;
        let fake = Fake::start(move |received| {
            count += 1;
            match received.path() {
                "/soon" if count < 3 => Answer::new(429, "slow down").with("retry-after", "0"),
                "/never" => Answer::new(503, "").with("retry-after", "0"),
                "/late" => Answer::new(429, "").with("retry-after", "11"),
                _ => Answer::new(200, "yes"),
            }
        })
        .await;
        let get = |path: &str| send(Call::new(Method::GET, fake.url() + path));
        assert_eq!(get("/soon").await.unwrap().text(), "yes");
        assert_eq!(get("/never").await.unwrap().status, 503);
        let late = get("/late").await.unwrap().refused("");
        assert_eq!(late.retry_after(), Some(Duration::from_secs(11)));
        let service = fake.address;
        let message = format!("{service} limits the rate of requests and asks to wait 11 s");
        assert_eq!(late.to_string(), message);
        let log = fake.log();
        let times = |what: &str| log.iter().filter(|line| line.ends_with(what)).count();
        assert_eq!((times("/soon"), times("/never"), times("/late")), (3, 3, 1));
        let at_once = Reply {
            service: String::new(),
            status: 503,
            headers: [(RETRY_AFTER, HeaderValue::from_static("0"))].into_iter().collect(),
            body: Vec::new(),
        };
        let waits = [1, 2, 3].map(|tries| wait_after(&at_once, tries).map(|wait| wait.as_millis()));
        assert_eq!(waits, [Some(5), Some(10), None], "never without a pause");
    }

    #[tokio::test]
    async fn a_request_is_signed_anew_each_time() {
        let fake = Fake::start(|received| match received.header("authorization") {
            "signature 3" => Answer::new(200, "yes"),
            _ => Answer::new(429, "").with("retry-after", "0"),
        })
        .await;
        let signatures = Cell::new(0);
        let sign = || {
            signatures.set(signatures.get() + 1);
            let signature = format!("signature {}", signatures.get());
            Call::new(Method::GET, fake.url()).header(http::header::AUTHORIZATION, &signature)
        };
        assert_eq!(api().send_signed(sign).await.unwrap().text(), "yes");
        assert_eq!((signatures.get(), fake.received().len()), (3, 3));
    }

    #[tokio::test]
    async fn what_a_service_may_not_do_is_said() {
        let fake = Fake::start(|received| match received.path() {
            "/away" => Answer::new(302, "").with("location", "/elsewhere"),
            "/large" => Answer::new(200, "x".repeat(MAX_BODY + 1)),
            "/denied" => Answer::new(403, "no\nway"),
            _ => Answer::new(200, "not json"),
        })
        .await;
        let service = fake.address;
        let get = |path: &str| send(Call::new(Method::GET, fake.url() + path));
        let away = get("/away").await.unwrap();
        assert_eq!((away.status, fake.log().len()), (302, 1), "no redirect is followed");
        let large = get("/large").await.unwrap_err().to_string();
        let expected =
            format!("{service} cannot be reached: its answer is larger than {MAX_BODY} bytes");
        assert_eq!(large, expected);
        let denied = get("/denied").await.unwrap();
        let expected = format!("{service} refuses the credentials: no way");
        assert_eq!(denied.refused(&denied.text()).to_string(), expected);
        let odd = get("/odd").await.unwrap().json::<serde_json::Value>().unwrap_err();
        assert!(matches!(odd, ProviderError::Garbled { .. }), "{odd}");
    }

    #[tokio::test]
    async fn a_credential_that_is_repeated_is_not_read() {
        let fake = Fake::start(|received| {
            let message =
                format!("no: {} {}", received.header("authorization"), received.header("x-key"));
            Answer::new(500, message)
        })
        .await;
        let call = Call::new(Method::GET, fake.url())
            .query(&[("name", "a&b")])
            .credential(http::header::AUTHORIZATION, "Bearer ", "canary-1")
            .and_then(|call| call.credential(HeaderName::from_static("x-key"), "", "short"));
        let reply = send(call.unwrap()).await.unwrap();
        assert_eq!(reply.text(), "no: Bearer [redacted] short");
        assert_eq!(fake.log(), ["GET /?name=a%26b"]);
    }

    #[tokio::test]
    async fn credentials_go_over_https_or_nowhere() {
        let refused = |call| async { api().send(call).await.unwrap_err().to_string() };
        let plain = refused(Call::new(Method::GET, "http://192.0.2.1/")).await;
        assert_eq!(plain, "192.0.2.1 cannot be reached: credentials are sent over https only");
        let Err(bad) = Call::new(Method::GET, "https://api.test/")
            .header(http::header::AUTHORIZATION, "Bearer a\nb")
        else {
            panic!("a header of two lines");
        };
        assert!(!bad.to_string().contains("Bearer"), "{bad}");
    }
}
