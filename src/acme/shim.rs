//! The HTTP client that `instant-acme` is given: it turns the crate into a signer.
//!
//! The crate asks for a nonce before every POST, because it never sees a Replay-Nonce; it gets
//! one from the pool. Its POST goes over our transport, and the answer is kept here as it came,
//! for us to read: what the crate makes of it is of no interest.
//!
//! The crate's form of an account is kept, because each restoring of it checks its key anew. So
//! its HTTP client cannot know which call it is used by; the task says so ([`CALL`]).

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use instant_acme::{
    Account, AccountCredentials, BodyWrapper, BytesResponse, Error as CrateError, HttpClient,
};
use serde::Serialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::answer::Answer;
use super::client::Client;
use super::error::escape;
use super::nonce::Held;
use super::transport::Expect;
use super::{AccountKey, AcmeError, Directory};

/// One call of the crate: runs `deed`, which POSTs to `url`, on an account restored without any
/// request, and returns the answer to its last POST when that is a success.
pub(super) async fn call<T>(
    client: &Arc<Client>,
    directory: &Directory,
    key: &AccountKey,
    account_url: &str,
    (url, expect): (&str, Expect),
    deed: impl AsyncFnOnce(&Account) -> Result<T, CrateError>,
) -> Result<Answer, AcmeError> {
    let call = Arc::new(Call {
        client: Arc::clone(client),
        url: url.to_owned(),
        expect,
        progress: Mutex::default(),
    });
    let account = client.restored().account(directory, key, account_url).await?;
    let result = CALL.scope(Arc::clone(&call), deed(&account)).await;
    let outcome = call.progress().outcome.take();
    match (outcome, result) {
        (Some(outcome), _) => outcome?.success(),
        (None, Err(error)) => Err(refused(&error)),
        (None, Ok(_)) => Err(AcmeError::Unsupported { what: "a call without a request".into() }),
    }
}

tokio::task_local! {
    /// The call that the crate is in.
    static CALL: Arc<Call>;
}

/// The accounts that were restored already.
#[derive(Default)]
pub(super) struct Restored {
    /// By thumbprint of the key and URL of the account; with the directory that it was restored
    /// with, which may change.
    accounts: Mutex<HashMap<(String, String), (Directory, Account)>>,
}

impl Restored {
    async fn account(
        &self,
        directory: &Directory,
        key: &AccountKey,
        url: &str,
    ) -> Result<Account, AcmeError> {
        let identity = (key.thumbprint(), url.to_owned());
        let known = self.accounts().get(&identity).filter(|(with, _)| with == directory).cloned();
        if let Some((_, account)) = known {
            return Ok(account);
        }
        let account = Account::builder_with_http(Box::new(Shim))
            .from_credentials(credentials(directory, key, url)?)
            .await
            .map_err(|error| refused(&error))?;
        self.accounts().insert(identity, (directory.clone(), account.clone()));
        Ok(account)
    }

    fn accounts(&self) -> MutexGuard<'_, HashMap<(String, String), (Directory, Account)>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restored").finish_non_exhaustive()
    }
}

/// The crate's own form of an account, which it restores without any request when the URLs of
/// the directory are in it.
fn credentials(
    directory: &Directory,
    key: &AccountKey,
    account_url: &str,
) -> Result<AccountCredentials, AcmeError> {
    #[derive(Serialize)]
    struct Stored<'a> {
        id: &'a str,
        key_pkcs8: &'a str,
        urls: Value,
    }
    let urls = json!({
        "newNonce": directory.new_nonce,
        "newAccount": directory.new_account,
        "newOrder": directory.new_order,
    });
    let pkcs8 = key.pkcs8_base64();
    let stored = Stored { id: account_url, key_pkcs8: &pkcs8, urls };
    let json = serde_json::to_string(&stored).map(Zeroizing::new);
    json.and_then(|json| serde_json::from_str(&json))
        .map_err(|error| AcmeError::AccountKey { why: error.to_string() })
}

fn refused(error: &CrateError) -> AcmeError {
    AcmeError::Unsupported { what: escape(&error.to_string()) }
}

struct Shim;

struct Call {
    client: Arc<Client>,
    url: String,
    expect: Expect,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// The nonce that the crate was given for its next POST.
    held: Option<Held>,
    outcome: Option<Result<Answer, AcmeError>>,
}

impl Call {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn nonce(&self) -> Result<Response<Full<Bytes>>, AcmeError> {
        let held = self.client.nonce().await?;
        let response = Response::builder()
            .header("Replay-Nonce", held.nonce().unwrap_or_default())
            .body(Full::default());
        self.progress().held = Some(held);
        response.map_err(|error| AcmeError::Unsupported { what: error.to_string() })
    }

    async fn post(&self, jws: Bytes) -> Result<Response<Full<Bytes>>, AcmeError> {
        let Some(held) = self.progress().held.take() else {
            return Err(AcmeError::Unsupported { what: "a POST without a nonce".into() });
        };
        let answer = self.client.spend(held, &self.url, jws, self.expect).await?;
        let response = Response::builder()
            .status(answer.status)
            .header(http::header::LOCATION, answer.location.as_deref().unwrap_or_default())
            .body(Full::new(answer.body.clone()));
        self.progress().outcome = Some(Ok(answer));
        response.map_err(|error| AcmeError::Unsupported { what: error.to_string() })
    }
}

impl HttpClient for Shim {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, CrateError>> + Send>> {
        let call = CALL.try_with(Arc::clone);
        Box::pin(async move {
            let call = call.map_err(|_| CrateError::Str("a request outside of any call"))?;
            let (parts, body) = request.into_parts();
            let answered = if parts.method == Method::HEAD {
                call.nonce().await
            } else {
                match body.collect().await {
                    Ok(body) => call.post(body.to_bytes()).await,
                    Err(never) => match never {},
                }
            };
            answered.map(BytesResponse::from).map_err(|error| {
                call.progress().outcome = Some(Err(error));
                CrateError::Str("the request failed")
            })
        })
    }
}
