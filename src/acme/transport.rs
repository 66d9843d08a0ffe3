//! One request and its whole answer: HTTPS over HTTP/1.1, bounded in time, size and number.
//!
//! No redirects, no decompression, https only, proxies from the environment except for a CA on
//! this machine (as Go, and so cert-manager, does it).

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, header};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{Instant, timeout};

use super::answer::Answer;
use super::directory::Directory;
use super::error::{AcmeError, Distrust};
use super::host::Hosts;
use super::limit::Limits;
use super::pace::Pace;
use super::tls::Trust;
use super::{field, retry_after};
use crate::resource::{Reach, causes};

/// The connection to one CA.
#[derive(Debug)]
pub(super) struct Transport {
    trust: Trust,
    user_agent: String,
    is_local: bool,
    hosts: Hosts,
    limits: Limits,
    client: OnceCell<reqwest::Client>,
    slots: Semaphore,
    requests: AtomicU64,
    counts: Mutex<RequestCounts>,
    /// The `Date` of the last answer that had one, and when it came.
    date: Mutex<Option<(Timestamp, Instant)>>,
    /// How many requests the CA takes.
    pace: Mutex<Pace>,
}

/// How many requests were sent of each kind.
pub type RequestCounts = BTreeMap<RequestKind, u64>;

/// What the requests are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKind {
    /// Of the URL, without the port.
    pub host: String,
    pub method: String,
    /// Whether it was a question about renewal (RFC 9773), not part of an issuance.
    pub is_renewal_info: bool,
    /// The HTTP status; 999, as cert-manager has it, when there was no answer.
    pub status: u16,
}

const UNANSWERED: u16 = 999;
const TOO_MANY_REQUESTS: u16 = 429;

/// The expected content: it determines the size limit and the Accept header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    /// A JSON object.
    Json,
    /// A PEM chain.
    Chain,
    /// The JSON object of RFC 9773. Its requests take no slot of the others: the client limits
    /// their number and their time.
    RenewalInfo,
}

impl Transport {
    /// Prepares; nothing is read or sent before the first request.
    pub(super) fn new(
        trust: Trust,
        user_agent: String,
        directory_url: &str,
        limits: Limits,
    ) -> Self {
        Self {
            trust,
            user_agent,
            is_local: is_local(directory_url),
            hosts: Hosts::new(directory_url),
            client: OnceCell::new(),
            // Tokio's semaphore serves first come, first served.
            slots: Semaphore::new(limits.requests_at_once.max(1)),
            limits,
            requests: AtomicU64::new(0),
            counts: Mutex::default(),
            date: Mutex::default(),
            pace: Mutex::default(),
        }
    }

    /// How many requests were sent.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The same, by host, method and status.
    pub(super) fn counts(&self) -> RequestCounts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the hosts that a directory document names.
    pub(super) fn learn(&self, directory: &Directory) {
        self.hosts.learn(directory);
    }

    /// The CA's time, by the `Date` of the last answer that had one.
    pub(super) fn server_time(&self) -> Option<Timestamp> {
        let (date, came) = (*self.date.lock().unwrap_or_else(PoisonError::into_inner))?;
        date.checked_add(came.elapsed()).ok()
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the CA takes one more request, and notes that it is sent now.
    async fn turn(&self) -> Instant {
        loop {
            let now = Instant::now();
            let turn = self.pace().turn(now);
            match turn {
                Ok(()) => return now,
                Err(until) => tokio::time::sleep_until(until).await,
            }
        }
    }

    /// Sends one request, a JWS when there is a body, and reads its whole answer, whatever its
    /// status is.
    pub(super) async fn exchange(
        &self,
        method: Method,
        url: &str,
        body: Option<Bytes>,
        expect: Expect,
    ) -> Result<Answer, AcmeError> {
        field::https(url, "request")?;
        self.hosts.check(url)?;
        let client = self.client.get_or_try_init(async || self.build()).await?;
        let accept = match expect {
            Expect::Json | Expect::RenewalInfo => "application/json, application/problem+json",
            Expect::Chain => "application/pem-certificate-chain, application/problem+json",
        };
        let mut request = client.request(method.clone(), url).header(header::ACCEPT, accept);
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/jose+json").body(body);
        }
        let slot = match expect {
            Expect::Json | Expect::Chain => {
                Some(self.slots.acquire().await.map_err(|_| transport(url, "closed"))?)
            }
            Expect::RenewalInfo => None,
        };
        let paced = if slot.is_some() { Some(self.turn().await) } else { None };
        let mut sent = Sent::new(self, &method, url, expect, paced);
        let started = Instant::now();
        let exchange = self.send(request, url, expect);
        let answer = timeout(self.limits.request_timeout, exchange).await.unwrap_or_else(|_| {
            let limit = self.limits.request_timeout;
            Err(AcmeError::Timeout { url: url.to_owned(), limit })
        });
        drop(slot);
        if let Ok(answer) = &answer {
            sent.kind.status = answer.status;
            sent.retry_after = answer.retry_after;
        }
        let ms = started.elapsed().as_millis();
        match &answer {
            Ok(answer) => {
                tracing::debug!(target: "certctl::acme", %method, url, status = answer.status, ms);
            }
            Err(error) => tracing::debug!(target: "certctl::acme", %method, url, %error, ms),
        }
        answer
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        url: &str,
        expect: Expect,
    ) -> Result<Answer, AcmeError> {
        let mut response = request.send().await.map_err(|error| self.failure(url, error))?;
        self.hosts.answered(url, response.remote_addr())?;
        let limit = match expect {
            Expect::Json | Expect::RenewalInfo => self.limits.json_bytes,
            Expect::Chain => self.limits.chain_bytes,
        };
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(url, error))? {
            if body.len() + chunk.len() > limit {
                return Err(AcmeError::TooLarge { url: url.to_owned(), limit });
            }
            body.extend_from_slice(&chunk);
        }
        let date = response.headers().get(header::DATE).and_then(|value| value.to_str().ok());
        if let Some(date) = date.and_then(retry_after::timestamp) {
            *self.date.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((date, Instant::now()));
        }
        let status = response.status().as_u16();
        Ok(Answer::new(url, status, response.headers(), Bytes::from(body)))
    }

    fn failure(&self, url: &str, error: reqwest::Error) -> AcmeError {
        // The client has one timeout of its own.
        if error.is_timeout() {
            let limit = self.limits.connect_timeout;
            return AcmeError::Timeout { url: url.to_owned(), limit };
        }
        let error = error.without_url();
        match distrust(&error) {
            Some(why) => AcmeError::Untrusted { url: url.to_owned(), why },
            // The outermost message is generic.
            None => transport(url, error.source().map_or_else(|| error.to_string(), causes)),
        }
    }

    fn build(&self) -> Result<reqwest::Client, AcmeError> {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(self.trust.config()?)
            .user_agent(&self.user_agent)
            .https_only(true)
            .http1_only()
            .referer(false)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(self.limits.connect_timeout);
        if self.is_local {
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| AcmeError::Tls { why: causes(&error) })
    }
}

/// A request under way; dropping it counts it, also without an answer.
struct Sent<'a> {
    transport: &'a Transport,
    kind: RequestKind,
    /// When it was sent, if the pace of the CA is kept.
    paced: Option<Instant>,
    retry_after: Option<SignedDuration>,
}

impl<'a> Sent<'a> {
    fn new(
        transport: &'a Transport,
        method: &Method,
        url: &str,
        expect: Expect,
        paced: Option<Instant>,
    ) -> Self {
        transport.requests.fetch_add(1, Ordering::Relaxed);
        let host = reqwest::Url::parse(url).ok();
        let host = host.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
        let kind = RequestKind {
            host: host.to_owned(),
            method: method.to_string(),
            is_renewal_info: expect == Expect::RenewalInfo,
            status: UNANSWERED,
        };
        Self { transport, kind, paced, retry_after: None }
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        let mut counts = self.transport.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(self.kind.clone()).or_default();
        *count = count.saturating_add(1);
        if let Some(at) = self.paced {
            let is_refusal = self.kind.status == TOO_MANY_REQUESTS;
            let wish = self.retry_after.filter(|_| is_refusal).map(SignedDuration::unsigned_abs);
            self.transport.pace().settled(at, wish, Instant::now());
        }
    }
}

fn is_local(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    Reach::is_direct(url.host_str().unwrap_or_default())
}

/// rustls's error about the server's certificate, if that was the cause.
fn distrust(error: &reqwest::Error) -> Option<Distrust> {
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(rustls::Error::InvalidCertificate(why)) = cause.downcast_ref() {
            return Some(why.into());
        }
        // The source of an io::Error is the source of what it wraps: check the wrapped error first.
        let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => cause.source(),
        };
    }
    None
}

fn transport(url: &str, message: impl Into<String>) -> AcmeError {
    AcmeError::Transport { url: url.to_owned(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_on_this_machine_is_never_asked_through_a_proxy() {
        for local in ["https://localhost:14000/dir", "https://127.0.0.7/", "https://[::1]:1/"] {
            assert!(is_local(local), "{local}");
        }
        for far in ["https://ca.test/dir", "https://10.0.0.1/", "https://localhost.ca.test/", "x"] {
            assert!(!is_local(far), "{far}");
        }
    }
}
