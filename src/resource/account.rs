//! Account: certctl's registration at one CA (RFC 8555 section 7.1.2).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Issuer, IssuerKind, PublicKeyDigest};

/// The identity of an account: one per directory URL and referenced key.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountIdentity {
    /// The CA's directory.
    #[serde(rename = "directoryURL")]
    pub directory_url: String,
    /// Kind of the issuer.
    pub kind: IssuerKind,
    /// Its namespace; empty for a ClusterIssuer.
    pub namespace: String,
    /// `privateKeySecretRef.name`.
    pub secret_name: String,
}

impl AccountIdentity {
    /// The identity of an issuer's account.
    pub fn of(issuer: &Issuer) -> Self {
        Self {
            directory_url: issuer.acme.server.clone(),
            kind: issuer.kind,
            namespace: issuer.metadata.namespace.clone(),
            secret_name: issuer.acme.private_key_secret_ref.name.clone(),
        }
    }
}

/// The record of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Account {
    /// The issuer, CA and key it belongs to.
    pub identity: AccountIdentity,
    /// The effect that comes next.
    pub next_step: AccountStep,
    /// Digest of the account key's public half.
    pub public_key: PublicKeyDigest,
    /// The account's URL at the CA, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// When this host registered it, if it did and the time is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::resource::DateTime>")]
    pub registered_at: Option<Timestamp>,
    /// The contacts last sent to the CA.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contacts: Vec<String>,
    /// The terms of service accepted by registering, as the CA named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms_of_service: Option<String>,
}

/// The effect that comes next for an account. It is on disk before the effect is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AccountStep {
    /// POST newAccount; the key is stored, and no request has been sent with it yet.
    Register,
    /// Look up the account by its key, then register: an earlier newAccount may have arrived.
    Find,
    /// POST the contacts to the CA.
    UpdateContacts,
    /// Nothing: registered.
    Nothing,
    /// Deactivate it for good.
    Deactivate,
    /// Nothing: deactivated. A new account replaces it.
    Deactivated,
}
