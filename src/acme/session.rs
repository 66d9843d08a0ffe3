//! Session: an account at a CA. Each method is one request and uses only stored URLs.

use std::sync::Arc;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};

use super::answer::Answer;
use super::authorization::{self, AuthorizationView, ChallengeView};
use super::chain::{self, Downloaded};
use super::client::{Client, Effect};
use super::error::AcmeError;
use super::jws::Signer;
use super::key::AccountKey;
use super::order::{self, NewOrder, OrderView};
use super::transport::Expect;

/// An account at a CA, identified by its key and URL.
#[derive(Clone, Debug)]
pub struct Session {
    client: Arc<Client>,
    key: AccountKey,
    url: String,
}

impl Session {
    /// An account that is registered. No request is made.
    pub fn new(client: Arc<Client>, key: AccountKey, url: impl Into<String>) -> Self {
        Self { client, key, url: url.into() }
    }

    /// Creates an order (RFC 8555 section 7.4). Never repeated here: when the answer is lost, an
    /// order may exist.
    pub async fn new_order(&self, new: &NewOrder) -> Result<OrderView, AcmeError> {
        let payload = order::payload(new);
        let answer = self
            .client
            .at_directory(
                |directory| &directory.new_order,
                async |url| self.post(url, &payload, Effect::Some).await,
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

    /// Informs the CA that a challenge is ready for validation (RFC 8555 section 7.5.1).
    pub async fn accept(&self, challenge_url: &str) -> Result<ChallengeView, AcmeError> {
        let answer = self.post(challenge_url, &json!({}), Effect::Once).await?;
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
        order::read(&self.post(finalize_url, &payload, Effect::Once).await?, order_url)
    }

    /// Downloads the default chain and the URLs of its alternates.
    pub async fn certificate(&self, url: &str) -> Result<Downloaded, AcmeError> {
        chain::read(&self.read(url, Expect::Chain).await?)
    }

    /// Downloads one of the other chains, in PEM.
    pub async fn alternate(&self, url: &str) -> Result<String, AcmeError> {
        Ok(self.certificate(url).await?.pem)
    }

    async fn read(&self, url: &str, expect: Expect) -> Result<Answer, AcmeError> {
        self.client.read(self.signer(), url, expect).await
    }

    async fn post(&self, url: &str, payload: &Value, effect: Effect) -> Result<Answer, AcmeError> {
        self.client.post(self.signer(), url, payload, effect).await
    }

    fn signer(&self) -> Signer<'_> {
        Signer::Account(self.key.signing(), &self.url)
    }
}
