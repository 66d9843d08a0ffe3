//! The directory (RFC 8555 section 7.1.1): the CA's URLs and metadata.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::answer::Answer;
use super::error::AcmeError;
use super::field;

/// The content of the directory. All URLs of the protocol are https; those for humans are verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Directory {
    /// Where nonces come from.
    pub new_nonce: String,
    /// Where accounts are made and found.
    pub new_account: String,
    /// Where orders are made.
    pub new_order: String,
    /// Where certificates are revoked.
    pub revoke_cert: Option<String>,
    /// Where account keys are changed.
    pub key_change: Option<String>,
    /// Renewal information (RFC 9773).
    pub renewal_info: Option<String>,
    /// The terms of service, for people.
    pub terms_of_service: Option<String>,
    /// The CA's site, for people.
    pub website: Option<String>,
    /// The CAA issuer names that this CA takes for itself.
    pub caa_identities: Vec<String>,
    /// Whether newAccount needs an external account binding.
    pub external_account_required: bool,
    /// Profile names and their descriptions; `None` when the CA has no profiles at all.
    pub profiles: Option<BTreeMap<String, String>>,
}

impl Directory {
    /// Reads a directory.
    pub(super) fn read(answer: &Answer) -> Result<Self, AcmeError> {
        let value = answer.json()?;
        let meta = value.get("meta").unwrap_or(&Value::Null);
        let word =
            |name| Some(field::text(meta, name)).filter(|t| !t.is_empty()).map(str::to_owned);
        let profiles = meta.get("profiles").and_then(Value::as_object).map(|all| {
            let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
            all.iter().map(|(name, about)| (name.clone(), text(about))).collect()
        });
        Ok(Self {
            new_nonce: field::url(answer, &value, "newNonce")?,
            new_account: field::url(answer, &value, "newAccount")?,
            new_order: field::url(answer, &value, "newOrder")?,
            revoke_cert: field::optional_url(&value, "revokeCert")?,
            key_change: field::optional_url(&value, "keyChange")?,
            renewal_info: field::optional_url(&value, "renewalInfo")?,
            terms_of_service: word("termsOfService"),
            website: word("website"),
            caa_identities: field::texts(meta, "caaIdentities"),
            external_account_required: meta
                .get("externalAccountRequired")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            profiles,
        })
    }
}

/// The cached directory: fetched once, also for concurrent requests.
#[derive(Debug, Default)]
pub(super) struct Cache {
    cache: Mutex<Entry>,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Entry {
    found: Option<Found>,
    failure: Option<AcmeError>,
}

#[derive(Debug)]
struct Found {
    directory: Arc<Directory>,
    since: Instant,
    /// What the CA sent; `None` when an earlier run fetched it.
    body: Option<Bytes>,
}

impl Cache {
    /// The cached directory, when it is younger than `age` and not the one called `stale`; else the
    /// one that `fetch` returns, with its body. If `shares_failure`, those who waited for a failed
    /// fetch get its error, and do not try again one after the other.
    pub(super) async fn get<F>(
        &self,
        age: Duration,
        stale: Option<&Arc<Directory>>,
        shares_failure: bool,
        fetch: F,
    ) -> Result<Arc<Directory>, AcmeError>
    where
        F: Future<Output = Result<(Directory, Bytes), AcmeError>>,
    {
        let seen = self.failures.load(Ordering::Relaxed);
        let mut cache = self.cache.lock().await;
        if let Some(Found { directory, since, .. }) = &cache.found
            && since.elapsed() < age
            && !stale.is_some_and(|stale| Arc::ptr_eq(stale, directory))
        {
            return Ok(Arc::clone(directory));
        }
        if let Some(failure) = &cache.failure
            && self.failures.load(Ordering::Relaxed) != seen
        {
            return Err(failure.clone());
        }
        match fetch.await {
            Ok((directory, body)) => {
                let directory = Arc::new(directory);
                let (since, body) = (Instant::now(), Some(body));
                cache.found = Some(Found { directory: Arc::clone(&directory), since, body });
                Ok(directory)
            }
            Err(error) => {
                if shares_failure {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    cache.failure = Some(error.clone());
                }
                Err(error)
            }
        }
    }

    /// Takes a directory that an earlier run fetched `age` ago.
    pub(super) fn reuse(&self, directory: Directory, age: Duration) {
        if let (Ok(mut cache), Some(since)) =
            (self.cache.try_lock(), Instant::now().checked_sub(age))
        {
            cache.found = Some(Found { directory: Arc::new(directory), since, body: None });
        }
    }

    /// The directory, however old it is; `None` before the first, and while it is fetched.
    pub(super) fn known(&self) -> Option<Arc<Directory>> {
        let cache = self.cache.try_lock().ok()?;
        cache.found.as_ref().map(|found| Arc::clone(&found.directory))
    }

    /// What the CA sent in this run, and how long ago.
    pub(super) fn fetched(&self) -> Option<(Bytes, Duration)> {
        let cache = self.cache.try_lock().ok()?;
        let Found { since, body, .. } = cache.found.as_ref()?;
        body.clone().map(|body| (body, since.elapsed()))
    }
}
