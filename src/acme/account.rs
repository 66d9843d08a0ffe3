//! Accounts at a CA (RFC 8555 section 7.3): find, register, change the contacts.

use serde_json::{Value, json};

use super::answer::Answer;
use super::client::{Client, Effect};
use super::eab::Eab;
use super::error::AcmeError;
use super::field;
use super::jws::Signer;
use super::key::AccountKey;

/// An account as the CA described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountAnswer {
    pub url: String,
    /// Whether it can be used.
    pub status: AccountStatus,
    /// Its contacts, as URIs; empty also when the CA omits them.
    pub contacts: Vec<String>,
    /// Whether this request created it (status 201).
    pub created: bool,
}

/// The status of an account (RFC 8555 section 7.1.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountStatus {
    /// It can be used. The default when the CA omits the status.
    Valid,
    /// Deactivated by its owner.
    Deactivated,
    /// Revoked by the CA.
    Revoked,
    /// A status that this version does not know.
    Other(String),
}

impl AccountStatus {
    fn from_word(word: &str) -> Self {
        match word {
            "valid" | "" => Self::Valid,
            "deactivated" => Self::Deactivated,
            "revoked" => Self::Revoked,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl Client {
    /// The account of `key`, if the CA has one (`onlyReturnExisting`); never creates one.
    pub async fn find_account(&self, key: &AccountKey) -> Result<Option<AccountAnswer>, AcmeError> {
        let payload = json!({"onlyReturnExisting": true});
        let signer = Signer::Key(key.signing());
        let answer = self
            .at_directory(
                |directory| &directory.new_account,
                async |url| self.post(signer, url, &payload, Effect::None).await,
            )
            .await;
        match answer {
            Ok(answer) => read(&answer, None).map(Some),
            Err(error) if error.is_problem("accountDoesNotExist") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates an account for `key`, agreeing to the CA's terms; the CA returns the existing one,
    /// if any. `contacts` are URIs such as `mailto:ops@example.com`. The key must be stored before:
    /// when the answer is lost, [`Client::find_account`] finds the account.
    pub async fn register(
        &self,
        key: &AccountKey,
        contacts: &[String],
        eab: Option<&Eab>,
    ) -> Result<AccountAnswer, AcmeError> {
        let signer = Signer::Key(key.signing());
        let answer = self
            .at_directory(
                |directory| &directory.new_account,
                async |url| {
                    let payload = new_account(key, contacts, eab, url);
                    self.post(signer, url, &payload, Effect::Some).await
                },
            )
            .await?;
        read(&answer, None)
    }

    /// Replaces the contacts of an account (RFC 8555 section 7.3.2).
    pub async fn update_contacts(
        &self,
        key: &AccountKey,
        account_url: &str,
        contacts: &[String],
    ) -> Result<AccountAnswer, AcmeError> {
        let payload = json!({"contact": contacts});
        let signer = Signer::Account(key.signing(), account_url);
        let answer = self.post(signer, account_url, &payload, Effect::Some).await?;
        read(&answer, Some(account_url))
    }

    /// Deactivates an account permanently (RFC 8555 section 7.3.6).
    pub async fn deactivate(
        &self,
        key: &AccountKey,
        account_url: &str,
    ) -> Result<AccountAnswer, AcmeError> {
        let payload = json!({"status": "deactivated"});
        let signer = Signer::Account(key.signing(), account_url);
        let answer = self.post(signer, account_url, &payload, Effect::Some).await?;
        read(&answer, Some(account_url))
    }
}

fn new_account(key: &AccountKey, contacts: &[String], eab: Option<&Eab>, url: &str) -> Value {
    let mut payload = serde_json::Map::new();
    payload.insert("termsOfServiceAgreed".to_owned(), Value::Bool(true));
    if !contacts.is_empty() {
        payload.insert("contact".to_owned(), json!(contacts));
    }
    if let Some(eab) = eab {
        payload.insert("externalAccountBinding".to_owned(), eab.bind(key.signing(), url));
    }
    Value::Object(payload)
}

/// Reads an account object. Its URL comes with newAccount only; some CAs then send no body.
fn read(answer: &Answer, url: Option<&str>) -> Result<AccountAnswer, AcmeError> {
    let url = match (url, &answer.location) {
        (Some(url), _) => url.to_owned(),
        (None, Some(location)) => field::https_from(answer, location, "account")?,
        (None, None) => return Err(answer.malformed("the answer has no Location")),
    };
    let value = if answer.body.is_empty() { Value::Null } else { answer.json()? };
    Ok(AccountAnswer {
        url,
        status: AccountStatus::from_word(&field::word(&value, "status")),
        contacts: field::texts(&value, "contact"),
        created: answer.status == 201,
    })
}
