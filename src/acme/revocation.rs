//! Revocation (RFC 8555 section 7.6), by the ordering account or by the certificate's own key.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};

use super::client::{Client, Effect};
use super::error::AcmeError;
use super::jws::Signer;
use super::key::{AccountKey, SigningKey};
use crate::pki::PrivateKey;
use crate::resource::RevocationAnswer;

impl Client {
    /// Revokes a certificate for the account that ordered it, or that may issue for its names.
    /// `reason` is a CRLReason code.
    pub async fn revoke(
        &self,
        key: &AccountKey,
        account_url: &str,
        der: &[u8],
        reason: u8,
    ) -> Result<RevocationAnswer, AcmeError> {
        self.revoke_as(Signer::Account(key.signing(), account_url), der, reason).await
    }

    /// Revokes a certificate with its private key. The CA needs no account.
    pub async fn revoke_by_key(
        &self,
        key: &PrivateKey,
        der: &[u8],
        reason: u8,
    ) -> Result<RevocationAnswer, AcmeError> {
        self.revoke_as(Signer::Key(&SigningKey::new(key.clone())?), der, reason).await
    }

    async fn revoke_as(
        &self,
        signer: Signer<'_>,
        der: &[u8],
        reason: u8,
    ) -> Result<RevocationAnswer, AcmeError> {
        let url = self.revoke_url().await?;
        match self.post(signer, &url, &payload(der, reason), Effect::Some).await {
            Err(error) if error.is_problem("alreadyRevoked") => {
                Ok(RevocationAnswer::AlreadyRevoked)
            }
            answer => answer.map(|_| RevocationAnswer::Revoked),
        }
    }

    async fn revoke_url(&self) -> Result<String, AcmeError> {
        let directory = self.fresh_directory().await?;
        directory.revoke_cert.clone().ok_or_else(|| AcmeError::Unsupported {
            what: "revocation: the CA's directory has no revokeCert".to_owned(),
        })
    }
}

fn payload(der: &[u8], reason: u8) -> Value {
    let certificate = BASE64_URL_SAFE_NO_PAD.encode(der);
    // Without a reason, no reasonCode extension goes into the CRL, as RFC 5280 recommends for 0.
    if reason == 0 {
        json!({"certificate": certificate})
    } else {
        json!({"certificate": certificate, "reason": reason})
    }
}
