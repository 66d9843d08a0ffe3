//! Client: one CA for one run.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::answer::Answer;
use super::directory::Cache;
use super::jws::{self, Signer};
use super::limit::Limits;
use super::nonce::{Held, NoncePool};
use super::session::Session;
use super::shim::Restored;
use super::tls::Trust;
use super::transport::{Expect, Transport};
use super::{AccountKey, AcmeError, Directory, field};

/// Which CA, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The directory URL; https.
    pub directory_url: String,
    /// PEM certificates that replace the system's roots.
    pub ca_bundle: Option<String>,
    /// Whether the CA's TLS certificate is not verified at all.
    pub skip_tls_verify: bool,
    /// The User-Agent header (RFC 8555 section 6.1 demands one).
    pub user_agent: String,
}

/// One CA for one run: its connection, its directory and its nonces, shared by all orders.
///
/// To be used on one thread, on tokio's current-thread runtime.
#[derive(Debug)]
pub struct Client {
    directory_url: String,
    transport: Transport,
    directory: Cache,
    nonces: NoncePool,
    restored: Restored,
    limits: Limits,
}

/// Whether the same request may be sent again when nobody knows what became of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It reads only.
    None,
    /// It changes something: the caller looks at the server before it tries again.
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
            restored: Restored::default(),
            limits,
        }))
    }

    /// The directory: one request the first time, then none for an hour.
    pub async fn directory(&self) -> Result<Arc<Directory>, AcmeError> {
        self.directory_but(None).await
    }

    /// Uses a directory that another process fetched `age` ago, so that this one need not.
    pub async fn reuse_directory(&self, directory: Directory, age: SignedDuration) {
        // A negative age means that a clock was turned back: then it is not used.
        if let Ok(age) = Duration::try_from(age) {
            self.directory.put(directory, age).await;
        }
    }

    /// An account known by its URL. No request is made.
    pub fn account(self: &Arc<Self>, key: &AccountKey, account_url: &str) -> Session {
        Session::new(Arc::clone(self), key.clone(), account_url.to_owned())
    }

    /// The accounts in the form of the crate.
    pub(super) fn restored(&self) -> &Restored {
        &self.restored
    }

    /// How many HTTP requests were sent so far.
    pub fn requests(&self) -> u64 {
        self.transport.requests()
    }

    /// The CA's time, as its last answer told it (to the second); shown, and never decided by.
    pub fn server_time(&self) -> Option<Timestamp> {
        self.transport.date()
    }

    /// A nonce, from the pool or from newNonce.
    pub(super) async fn nonce(&self) -> Result<Held, AcmeError> {
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

    /// Sends one JWS made with the nonce `held`, and keeps the nonce that comes back.
    pub(super) async fn spend(
        &self,
        held: Held,
        url: &str,
        jws: Bytes,
        expect: Expect,
    ) -> Result<Answer, AcmeError> {
        let mut answer = self.transport.exchange(Method::POST, url, Some(jws), expect).await?;
        held.spent(answer.nonce.take());
        Ok(answer)
    }

    /// POSTs `payload` to `url`, signed here.
    pub(super) async fn post(
        &self,
        key: &AccountKey,
        signer: Signer<'_>,
        url: &str,
        payload: &Value,
        effect: Effect,
    ) -> Result<Answer, AcmeError> {
        self.persist(url, effect, self.limits.bad_nonce_tries, async || {
            let held = self.nonce().await?;
            let nonce = held.nonce().unwrap_or_default();
            let jws = jws::sign(key, signer, nonce, url, payload)?;
            let body = Bytes::from(jws.to_string());
            self.spend(held, url, body, Expect::Json).await?.success()
        })
        .await
    }

    /// Repeats `attempt` at most `tries` times while the CA refuses the nonce, and a few times
    /// more while the CA cannot be reached and nothing can have happened.
    pub(super) async fn persist(
        &self,
        url: &str,
        effect: Effect,
        tries: u32,
        attempt: impl AsyncFn() -> Result<Answer, AcmeError>,
    ) -> Result<Answer, AcmeError> {
        let (mut refused, mut repeated) = (0, 0);
        loop {
            let error = match attempt().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.is_problem("badNonce") {
                refused += 1;
                if refused >= tries {
                    return Err(error);
                }
                continue;
            }
            // An error at another URL is of the nonce or the directory: repeated there already.
            let may = effect == Effect::None && error.url() == Some(url);
            if !may || !self.wait_to_repeat(&error, repeated).await {
                return Err(error);
            }
            repeated += 1;
        }
    }

    /// Tries of a request through the crate, which tries three times itself.
    pub(super) fn crate_tries(&self) -> u32 {
        self.limits.bad_nonce_tries.div_ceil(3)
    }

    /// Makes a request at a URL of the directory; when the URL is gone and the directory has
    /// another one by now, makes it there.
    pub(super) async fn at_directory(
        &self,
        pick: fn(&Directory) -> &String,
        request: impl AsyncFn(&Directory, &str) -> Result<Answer, AcmeError>,
    ) -> Result<Answer, AcmeError> {
        let directory = self.directory().await?;
        let url = pick(&directory);
        let error = match request(&directory, url).await {
            Err(error) if error.is_gone() && error.url() == Some(url) => error,
            settled => return settled,
        };
        match self.moved(&directory, pick).await {
            Some(fresh) => request(&fresh, pick(&fresh)).await,
            None => Err(error),
        }
    }

    /// The directory as it is now, when it has moved what `pick` picks.
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
        let fetch = async {
            let mut answer = self.unsigned(Method::GET, &self.directory_url).await?;
            if let Some(nonce) = answer.nonce.take() {
                self.nonces.put(nonce);
            }
            Directory::read(&answer)
        };
        self.directory.get(self.limits.directory_age, stale, fetch).await
    }

    async fn new_nonce(&self) -> Result<String, AcmeError> {
        let directory = self.directory().await?;
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

    /// A request without a signature: it reads only, and is repeated while the CA cannot be
    /// reached.
    async fn unsigned(&self, method: Method, url: &str) -> Result<Answer, AcmeError> {
        let mut repeated = 0;
        loop {
            let answer = self.transport.exchange(method.clone(), url, None, Expect::Json).await;
            let error = match answer.and_then(Answer::success) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if !self.wait_to_repeat(&error, repeated).await {
                return Err(error);
            }
            repeated += 1;
        }
    }

    /// Waits until a request that failed with `error` may be repeated; false when it may not.
    async fn wait_to_repeat(&self, error: &AcmeError, repeated: usize) -> bool {
        let Some(wait) = self.limits.retry_waits.get(repeated) else { return false };
        let asked = error.retry_after().map(SignedDuration::unsigned_abs).unwrap_or_default();
        if !error.is_worth_repeating() || asked > self.limits.longest_wait {
            return false;
        }
        tokio::time::sleep(asked.max(*wait)).await;
        true
    }
}

fn new_nonce_url(directory: &Directory) -> &String {
    &directory.new_nonce
}
