//! Client: one CA for one run.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::answer::Answer;
use super::directory::{Cache, Directory};
use super::error::AcmeError;
use super::field;
use super::jws::{self, Signer};
use super::key::SigningKey;
use super::limit::Limits;
use super::nonce::{Held, NoncePool};
use super::tls::Trust;
use super::transport::RequestCounts;
use super::transport::{Expect, Transport};
use crate::resource::Pause;

/// The CA and its TLS settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The directory URL; https.
    pub directory_url: String,
    /// PEM certificates that replace the system's roots.
    pub ca_bundle: Option<String>,
    /// Whether verification of the CA's TLS certificate is disabled.
    pub skip_tls_verify: bool,
    /// The User-Agent header (RFC 8555 section 6.1 demands one).
    pub user_agent: String,
}

/// One CA for one run: its connection, its directory and its nonces, shared by all orders.
///
/// To be used on one thread, on tokio's current-thread runtime.
#[derive(Debug)]
pub struct Client {
    pub(super) directory_url: String,
    pub(super) transport: Transport,
    directory: Cache,
    nonces: NoncePool,
    /// The places of those who ask for renewal information.
    pub(super) renewal_infos: Semaphore,
    pub(super) limits: Limits,
}

/// Whether a request may be repeated when the result of the first is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It reads only.
    None,
    /// It changes something, and the CA refuses a second one.
    Once,
    /// It changes something: the caller queries the CA before it tries again.
    Some,
}

impl Client {
    /// Prepares a client. Nothing is sent, and the system's roots are not read, before the first
    /// request.
    ///
    /// # Errors
    /// `InsecureUrl` for a directory URL that is not https, `Tls` for a caBundle without
    /// certificates.
    pub fn new(endpoint: Endpoint, limits: Limits) -> Result<Arc<Self>, AcmeError> {
        let Endpoint { directory_url, ca_bundle, skip_tls_verify, user_agent } = endpoint;
        field::https(&directory_url, "directory")?;
        let trust = Trust::new(ca_bundle.as_deref(), skip_tls_verify)?;
        let transport = Transport::new(trust, user_agent, &directory_url, limits.clone());
        Ok(Arc::new(Self {
            directory_url,
            transport,
            directory: Cache::default(),
            nonces: NoncePool::new(limits.nonces),
            renewal_infos: Semaphore::new(limits.renewal_infos_at_once.max(1)),
            limits,
        }))
    }

    /// The directory: one request the first time, then none for an hour.
    pub async fn directory(&self) -> Result<Arc<Directory>, AcmeError> {
        self.directory_but(None).await
    }

    /// The directory as the CA sends it in this run: what an earlier one fetched is not enough.
    pub async fn fresh_directory(&self) -> Result<Arc<Directory>, AcmeError> {
        let directory = self.directory().await?;
        if self.directory.fetched().is_some() {
            return Ok(directory);
        }
        self.directory_but(Some(&directory)).await
    }

    /// The directory, however old it is, without a request; `None` when none was needed yet.
    pub fn known_directory(&self) -> Option<Arc<Directory>> {
        self.directory.known()
    }

    /// The body of the directory that was fetched in this run, and how long ago, for
    /// [`Client::reuse_directory`] of a later one.
    pub fn fetched_directory(&self) -> Option<(Bytes, Duration)> {
        self.directory.fetched()
    }

    /// Takes the body of a directory that an earlier run fetched `age` ago. One that cannot be read
    /// is fetched again.
    pub fn reuse_directory(&self, body: Bytes, age: Duration) {
        let answer = Answer::new(&self.directory_url, 200, &HeaderMap::new(), body);
        if let Ok(directory) = Directory::read(&answer) {
            self.transport.learn(&directory);
            self.directory.reuse(directory, age);
        }
    }

    /// How many HTTP requests were sent.
    pub fn requests(&self) -> u64 {
        self.transport.requests()
    }

    /// The same, by host, method and status.
    pub fn request_counts(&self) -> RequestCounts {
        self.transport.counts()
    }

    /// The CA's time, by its last answer (in seconds); only displayed, never used for decisions.
    pub fn server_time(&self) -> Option<Timestamp> {
        self.transport.server_time()
    }

    /// POSTs `payload` to `url`.
    pub(super) async fn post(
        &self,
        signer: Signer<'_>,
        url: &str,
        payload: &Value,
        effect: Effect,
    ) -> Result<Answer, AcmeError> {
        self.request(signer, url, Some(payload), Expect::Json, effect).await
    }

    /// POST-as-GET of any URL (RFC 8555 section 6.3).
    pub(super) async fn read(
        &self,
        signer: Signer<'_>,
        url: &str,
        expect: Expect,
    ) -> Result<Answer, AcmeError> {
        // A run may start with a read: some CAs send a nonce with the directory, which saves
        // newNonce.
        self.directory().await?;
        self.request(signer, url, None, expect, Effect::None).await
    }

    /// Sends a signed request. It is repeated while the CA rejects the nonce, while the CA limits the
    /// rate of requests, and a few times while the CA cannot be reached and cannot have processed it.
    async fn request(
        &self,
        signer: Signer<'_>,
        url: &str,
        payload: Option<&Value>,
        expect: Expect,
        effect: Effect,
    ) -> Result<Answer, AcmeError> {
        let (mut refused, mut repeated) = (0, 0);
        let mut patience = Patience::new(self.limits.patience);
        loop {
            let error = match self.request_once(signer, url, payload, expect).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.is_problem("badNonce") {
                refused += 1;
                if refused >= self.limits.bad_nonce_tries {
                    return Err(error);
                }
                continue;
            }
            // An error at another URL belongs to the nonce or the directory, which have been
            // retried already.
            let is_of_it = error.url() == Some(url);
            if is_of_it && effect != Effect::Some && self.keep_pace(&error, &mut patience).await {
                continue;
            }
            let is_harmless = match effect {
                Effect::None => true,
                Effect::Once => error.is_put_off(),
                Effect::Some => false,
            };
            let may = is_harmless && is_of_it;
            if !may || !self.wait_to_repeat(&error, repeated).await {
                return Err(about_key(error, signer.key()));
            }
            repeated += 1;
        }
    }

    /// Spends one nonce on a request, and keeps the one in the answer.
    async fn request_once(
        &self,
        signer: Signer<'_>,
        url: &str,
        payload: Option<&Value>,
        expect: Expect,
    ) -> Result<Answer, AcmeError> {
        let held = self.nonce().await?;
        let jws = jws::sign(signer, held.nonce().unwrap_or_default(), url, payload)?;
        let body = Bytes::from(jws.to_string());
        let mut answer = self.transport.exchange(Method::POST, url, Some(body), expect).await?;
        held.spent(answer.nonce.take());
        answer.success()
    }

    /// A nonce, from the pool or from newNonce.
    async fn nonce(&self) -> Result<Held, AcmeError> {
        let mut held = self.nonces.take().await?;
        if held.nonce().is_some() {
            return Ok(held);
        }
        match self.new_nonce().await {
            Ok(nonce) => {
                held.fill(nonce);
                Ok(held)
            }
            Err(error) => {
                held.failed(&error);
                Err(error)
            }
        }
    }

    /// Sends a request to a URL of the directory; when that fails and the refreshed directory has
    /// another, sends it there, unless the CA may have processed it. A directory of an earlier run is
    /// refreshed whatever the error is.
    pub(super) async fn at_directory(
        &self,
        pick: fn(&Directory) -> &String,
        request: impl AsyncFn(&str) -> Result<Answer, AcmeError>,
    ) -> Result<Answer, AcmeError> {
        let directory = self.directory().await?;
        let url = pick(&directory);
        let error = match request(url).await {
            Err(error) if self.may_have_moved(&error, url) => error,
            settled => return settled,
        };
        match self.moved(&directory, pick).await.filter(|_| !error.is_ambiguous()) {
            Some(fresh) => request(pick(&fresh)).await,
            None => Err(error),
        }
    }

    fn may_have_moved(&self, error: &AcmeError, url: &str) -> bool {
        let is_old = self.directory.fetched().is_none() && error.status() != Some(429);
        (error.is_gone() || is_old) && error.url() == Some(url)
    }

    /// The refreshed directory, if the URL that `pick` selects has changed.
    async fn moved(
        &self,
        old: &Arc<Directory>,
        pick: fn(&Directory) -> &String,
    ) -> Option<Arc<Directory>> {
        let fresh = self.directory_but(Some(old)).await.ok()?;
        (pick(&fresh) != pick(old)).then_some(fresh)
    }

    async fn directory_but(
        &self,
        stale: Option<&Arc<Directory>>,
    ) -> Result<Arc<Directory>, AcmeError> {
        let fetch = async { self.learn(self.unsigned(Method::GET, &self.directory_url).await?) };
        self.directory.get(self.limits.directory_age, stale, true, fetch).await
    }

    /// The directory for a question that can wait: when it is not cached, by one request that is not
    /// repeated, and whose failure no other request takes for its own.
    pub(super) async fn directory_once(&self) -> Result<Arc<Directory>, AcmeError> {
        let fetch = async {
            let url = &self.directory_url;
            let answer = self.transport.exchange(Method::GET, url, None, Expect::Json).await;
            self.learn(answer.and_then(Answer::success)?)
        };
        self.directory.get(self.limits.directory_age, None, false, fetch).await
    }

    /// The directory of an answer, with its body.
    fn learn(&self, mut answer: Answer) -> Result<(Directory, Bytes), AcmeError> {
        if let Some(nonce) = answer.nonce.take() {
            self.nonces.put(nonce);
        }
        let directory = Directory::read(&answer)?;
        self.transport.learn(&directory);
        Ok((directory, answer.body))
    }

    async fn new_nonce(&self) -> Result<String, AcmeError> {
        let mut directory = self.directory().await?;
        // The first request of most runs: it shows whether a directory of an earlier run still holds.
        if self.directory.fetched().is_none() {
            let url = &directory.new_nonce;
            let answer = self.transport.exchange(Method::HEAD, url, None, Expect::Json).await;
            match answer.and_then(Answer::success) {
                Ok(Answer { nonce: Some(nonce), .. }) => return Ok(nonce),
                Ok(_) | Err(_) => directory = self.fresh_directory().await?,
            }
        }
        let answer = match self.unsigned(Method::HEAD, &directory.new_nonce).await {
            Err(error) if error.is_gone() => match self.moved(&directory, new_nonce_url).await {
                Some(fresh) => self.unsigned(Method::HEAD, &fresh.new_nonce).await?,
                None => return Err(error),
            },
            settled => settled?,
        };
        match &answer.nonce {
            Some(nonce) => Ok(nonce.clone()),
            None => Err(answer.malformed("the answer has no Replay-Nonce")),
        }
    }

    /// An unsigned request: it only reads, and is repeated while the CA cannot be reached.
    async fn unsigned(&self, method: Method, url: &str) -> Result<Answer, AcmeError> {
        let mut repeated = 0;
        let mut patience = Patience::new(self.limits.patience);
        loop {
            let answer = self.transport.exchange(method.clone(), url, None, Expect::Json).await;
            let error = match answer.and_then(Answer::success) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if self.keep_pace(&error, &mut patience).await {
                continue;
            }
            if !self.wait_to_repeat(&error, repeated).await {
                return Err(error);
            }
            repeated += 1;
        }
    }

    /// Waits as long as a CA asks for that limits the rate of requests; false when that is not what
    /// has happened, or it takes too long.
    async fn keep_pace(&self, error: &AcmeError, patience: &mut Patience) -> bool {
        let Some(wish) = error.pace().filter(|wish| *wish <= self.limits.longest_wait) else {
            return false;
        };
        let Some(wait) = patience.next(wish) else { return false };
        let wait_ms = wait.as_millis();
        tracing::debug!(target: "certctl::acme", %error, wait_ms, "the CA limits requests");
        tokio::time::sleep(wait).await;
        true
    }

    /// Waits until a request that failed with `error` may be repeated; false when it must not.
    async fn wait_to_repeat(&self, error: &AcmeError, repeated: usize) -> bool {
        let Some(pause) = pause_after(error, repeated, &self.limits) else { return false };
        if repeated == 0 {
            let longest: Duration = self.limits.retry_waits.iter().sum();
            tracing::info!(
                target: "certctl::acme::retry",
                "{error}: trying again for up to {} s",
                longest.as_secs()
            );
        }
        tokio::time::sleep(pause).await;
        true
    }
}

/// How long one request still waits for a CA that limits the rate of requests.
struct Patience {
    left: Duration,
    waits: u32,
}

impl Patience {
    fn new(left: Duration) -> Self {
        Self { left, waits: 0 }
    }

    /// The next wait, at least this long, and longer each time.
    fn next(&mut self, wish: Duration) -> Option<Duration> {
        let wait = wish.max(Pause::POLL.length(self.waits).unsigned_abs());
        self.left = self.left.checked_sub(wait)?;
        self.waits = self.waits.saturating_add(1);
        Some(wait)
    }
}

/// How long to wait until a request that failed with `error` is repeated: as the CA asks, and no
/// less than the delay before this retry. `None` when it must not be repeated.
fn pause_after(error: &AcmeError, repeated: usize, limits: &Limits) -> Option<Duration> {
    let wait = *limits.retry_waits.get(repeated)?;
    let retry_after = error.retry_after().map(SignedDuration::unsigned_abs).unwrap_or_default();
    let may_repeat = error.is_worth_repeating() && retry_after <= limits.longest_wait;
    may_repeat.then(|| retry_after.max(wait))
}

/// Adds the kind of key whose signature the CA rejects.
fn about_key(error: AcmeError, key: &SigningKey) -> AcmeError {
    if !error.is_problem("badSignatureAlgorithm") {
        return error;
    }
    let AcmeError::Problem { url, problem, .. } = error else { return error };
    AcmeError::SignatureAlgorithm { url, key: key.name(), algorithm: key.alg(), problem }
}

fn new_nonce_url(directory: &Directory) -> &String {
    &directory.new_nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_repeated_after_the_delay_or_later_when_the_ca_asks_for_that() {
        let failed = |status, retry_after: Option<i64>| AcmeError::Http {
            url: "https://ca.test/dir".to_owned(),
            status,
            snippet: String::new(),
            retry_after: retry_after.map(SignedDuration::from_secs),
        };
        let limits = Limits::default();
        for (status, retry_after, repeated, expected) in [
            (503, None, 0, Some(1)),
            (503, None, 2, Some(16)),
            (503, None, 3, None),
            (503, Some(0), 0, Some(1)),
            (503, Some(3), 0, Some(3)),
            (503, Some(3), 1, Some(4)),
            (503, Some(60), 0, Some(60)),
            (503, Some(61), 0, None),
            (500, Some(3), 0, None),
        ] {
            let pause = pause_after(&failed(status, retry_after), repeated, &limits);
            let expected = expected.map(Duration::from_secs);
            assert_eq!(pause, expected, "{status} {retry_after:?} {repeated}");
        }
    }
}
