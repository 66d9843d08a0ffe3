//! Session: an account at a CA. Each method is one request and works from URLs alone.

use std::sync::Arc;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use instant_acme::{Identifier as CrateIdentifier, NewOrder as CrateNewOrder};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::client::{Client, Effect};
use super::jws::Signer;
use super::transport::Expect;
use super::{
    AccountKey, AcmeError, AuthorizationView, ChallengeView, Directory, Downloaded, NewOrder,
    OrderView, authorization, chain, order, shim,
};
use crate::resource::Identifier;

/// An account at a CA, known by its key and URL.
#[derive(Clone, Debug)]
pub struct Session {
    client: Arc<Client>,
    key: AccountKey,
    url: String,
}

impl Session {
    pub(super) fn new(client: Arc<Client>, key: AccountKey, url: String) -> Self {
        Self { client, key, url }
    }

    /// The account's URL.
    pub fn account_url(&self) -> &str {
        &self.url
    }

    /// Makes an order (RFC 8555 section 7.4). Never repeated here: when the answer is lost, an
    /// order may exist.
    pub async fn new_order(&self, new: &NewOrder) -> Result<OrderView, AcmeError> {
        let answer = self
            .client
            .at_directory(
                |directory| &directory.new_order,
                async |directory, url| match new.not_after {
                    None => self.new_order_by_crate(directory, url, new).await,
                    Some(_) => self.post(url, &payload(new)).await,
                },
            )
            .await?;
        order::read_new(&answer, &new.identifiers)
    }

    /// Reads an order.
    pub async fn order(&self, url: &str) -> Result<OrderView, AcmeError> {
        order::read(&self.read(url, Expect::Json).await?, url)
    }

    /// Reads an authorization.
    pub async fn authorization(&self, url: &str) -> Result<AuthorizationView, AcmeError> {
        authorization::read(&self.read(url, Expect::Json).await?)
    }

    /// Tells the CA that a challenge is ready to be looked at (RFC 8555 section 7.5.1).
    pub async fn accept(&self, challenge_url: &str) -> Result<ChallengeView, AcmeError> {
        let answer = self.post(challenge_url, &json!({})).await?;
        authorization::read_challenge(&answer, &answer.json()?)
    }

    /// Sends the CSR of an order that is ready (RFC 8555 section 7.4).
    pub async fn finalize(
        &self,
        order_url: &str,
        finalize_url: &str,
        csr_der: &[u8],
    ) -> Result<OrderView, AcmeError> {
        let payload = json!({"csr": BASE64_URL_SAFE_NO_PAD.encode(csr_der)});
        order::read(&self.post(finalize_url, &payload).await?, order_url)
    }

    /// Downloads the default chain, and learns where the others are.
    pub async fn certificate(&self, url: &str) -> Result<Downloaded, AcmeError> {
        chain::read(&self.read(url, Expect::Chain).await?)
    }

    /// Downloads one of the other chains, in PEM.
    pub async fn alternate(&self, url: &str) -> Result<String, AcmeError> {
        Ok(self.certificate(url).await?.pem)
    }

    /// POST-as-GET (RFC 8555 section 6.3) of any URL. The crate's name for it is `order`.
    async fn read(&self, url: &str, expect: Expect) -> Result<Answer, AcmeError> {
        let directory = self.client.directory().await?;
        self.client
            .persist(url, Effect::None, self.client.crate_tries(), async || {
                let deed =
                    async |account: &instant_acme::Account| account.order(url.to_owned()).await;
                shim::call(&self.client, &directory, &self.key, &self.url, (url, expect), deed)
                    .await
            })
            .await
    }

    async fn new_order_by_crate(
        &self,
        directory: &Directory,
        url: &str,
        new: &NewOrder,
    ) -> Result<Answer, AcmeError> {
        let identifiers: Vec<_> = new.identifiers.iter().map(for_crate).collect();
        let request = CrateNewOrder::new(&identifiers);
        let request = match &new.profile {
            Some(profile) => request.profile(profile),
            None => request,
        };
        self.client
            .persist(url, Effect::Some, self.client.crate_tries(), async || {
                let deed =
                    async |account: &instant_acme::Account| account.new_order(&request).await;
                shim::call(&self.client, directory, &self.key, &self.url, (url, Expect::Json), deed)
                    .await
            })
            .await
    }

    async fn post(&self, url: &str, payload: &Value) -> Result<Answer, AcmeError> {
        let signer = Signer::Account(&self.url);
        self.client.post(&self.key, signer, url, payload, Effect::Some).await
    }
}

fn for_crate(identifier: &Identifier) -> CrateIdentifier {
    match identifier {
        Identifier::Dns(name) => CrateIdentifier::Dns(name.to_string()),
        Identifier::Ip(address) => CrateIdentifier::Ip(*address),
    }
}

fn payload(new: &NewOrder) -> Value {
    let identifiers = new.identifiers.iter().map(|identifier| {
        let (kind, value) = order::words(identifier);
        json!({"type": kind, "value": value})
    });
    let mut payload = Map::new();
    payload.insert("identifiers".to_owned(), Value::Array(identifiers.collect()));
    if let Some(profile) = &new.profile {
        payload.insert("profile".to_owned(), json!(profile));
    }
    if let Some(not_after) = new.not_after {
        payload.insert("notAfter".to_owned(), json!(not_after.to_string()));
    }
    Value::Object(payload)
}
