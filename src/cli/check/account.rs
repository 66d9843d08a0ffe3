//! The account at an issuer's CA: the stored key and the CA's answer. Read-only: registers nothing.

use crate::acme::{AccountKey, AccountStatus, Client};
use crate::engine::inputs::account_id;
use crate::manifest::SecretError;
use crate::resource::{AccountIdentity, Issuer, SecretKeySelector, escape};
use crate::store::Records;

use super::known::Known;

/// A one-line summary.
pub(super) async fn account(known: &Known, issuer: &Issuer, client: &Client) -> String {
    let identity = AccountIdentity {
        directory_url: issuer.acme.server.clone(),
        kind: issuer.kind,
        namespace: issuer.metadata.namespace.clone(),
        secret_name: issuer.acme.private_key_secret_ref.name.clone(),
    };
    let (pem, place) = match stored_key(known, &account_id(&identity)).await {
        Ok(Some(pem)) => (pem, "the key in the state"),
        Err(error) => return format!("unknown: {error}"),
        Ok(None) => match referenced_key(known, issuer) {
            Ok(pem) => (pem, "the key of privateKeySecretRef"),
            Err(SecretError::Missing { .. }) if issuer.acme.disable_account_key_generation => {
                return "no key, and disableAccountKeyGeneration forbids generating one".to_owned();
            }
            Err(SecretError::Missing { .. }) => {
                return "no key yet; the first issuance makes one and registers it".to_owned();
            }
            Err(error) => return format!("unknown: {error}"),
        },
    };
    let key = std::str::from_utf8(&pem).ok().map(AccountKey::from_pem);
    let key = match key {
        Some(Ok(key)) => key,
        Some(Err(error)) => return format!("{place} cannot be used: {error}"),
        None => return format!("{place} is not text"),
    };
    match client.find_account(&key).await {
        Ok(Some(found)) => {
            let status = match &found.status {
                AccountStatus::Valid => "valid".to_owned(),
                AccountStatus::Deactivated => "deactivated".to_owned(),
                AccountStatus::Revoked => "revoked".to_owned(),
                AccountStatus::Other(word) => escape(word).into_owned(),
            };
            format!("{}, {status} at the CA", escape(&found.url))
        }
        Ok(None) => format!("the CA has none for {place}; the next issuance registers it"),
        Err(error) => format!("unknown: {error}"),
    }
}

type Pem = zeroize::Zeroizing<Vec<u8>>;

async fn stored_key(known: &Known, id: &str) -> Result<Option<Pem>, String> {
    let Some(state) = known.state() else {
        return Err("the state directory cannot be read".to_owned());
    };
    Records::new(state).account_key(id).await.map_err(|error| error.to_string())
}

fn referenced_key(known: &Known, issuer: &Issuer) -> Result<Pem, SecretError> {
    let mut reference: SecretKeySelector = issuer.acme.private_key_secret_ref.clone();
    if reference.key.is_empty() {
        "tls.key".clone_into(&mut reference.key);
    }
    known.access(issuer).secret(&reference)
}
