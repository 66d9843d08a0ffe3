//! The account at an issuer's CA: the stored key and the CA's answer. Read-only: registers nothing.

use std::fmt;

use crate::acme::{AccountKey, AccountStatus, Client};
use crate::engine::IssuerAccess;
use crate::engine::inputs::account_id;
use crate::manifest::SecretError;
use crate::resource::{AccountIdentity, Issuer, SecretKeySelector, escape};
use crate::store::{Records, StateDirectory};

use super::known::Known;

/// What is known of it.
#[derive(Clone, Debug)]
pub(in crate::cli) enum AccountState {
    /// The CA has it.
    Registered { url: String, status: AccountStatus },
    /// There is a key, and the CA has no account for it; where the key is.
    Unregistered(&'static str),
    /// There is no key yet.
    NoKey,
    /// There is no key, and none may be made.
    Forbidden,
    /// The key, and why it cannot be used.
    Unusable(String),
    /// Neither is known, and why.
    Unknown(String),
}

impl AccountState {
    /// Whether an issuance would go on from here.
    pub(in crate::cli) fn is_well(&self) -> bool {
        match self {
            Self::Registered { status, .. } => *status == AccountStatus::Valid,
            Self::Unregistered(_) | Self::NoKey => true,
            Self::Forbidden | Self::Unusable(_) | Self::Unknown(_) => false,
        }
    }
}

impl fmt::Display for AccountState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered { url, status } => {
                let status = match status {
                    AccountStatus::Valid => "valid".into(),
                    AccountStatus::Deactivated => "deactivated".into(),
                    AccountStatus::Revoked => "revoked".into(),
                    AccountStatus::Other(word) => escape(word),
                };
                write!(f, "{}, {status} at the CA", escape(url))
            }
            Self::Unregistered(place) => {
                write!(f, "the CA has no account for {place}; the next issuance registers one")
            }
            Self::NoKey => {
                f.write_str("no key yet; the first issuance generates one and registers it")
            }
            Self::Forbidden => {
                f.write_str("no key, and disableAccountKeyGeneration forbids generating one")
            }
            Self::Unusable(why) => f.write_str(why),
            Self::Unknown(why) => write!(f, "unknown: {why}"),
        }
    }
}

/// The account of an issuer.
pub(super) async fn account(known: &Known, issuer: &Issuer, client: &Client) -> AccountState {
    let identity = AccountIdentity::of(issuer);
    let (pem, place) = match stored_key(known, &account_id(&identity)).await {
        Ok(Some(pem)) => (pem, "the key in the state"),
        Err(error) => return AccountState::Unknown(error),
        Ok(None) => match referenced_key(known.access(issuer)) {
            Ok(pem) => (pem, "the key of privateKeySecretRef"),
            Err(SecretError::Missing { .. }) if issuer.acme.disable_account_key_generation => {
                return AccountState::Forbidden;
            }
            Err(SecretError::Missing { .. }) => return AccountState::NoKey,
            Err(error) => return AccountState::Unknown(error.to_string()),
        },
    };
    let key = std::str::from_utf8(&pem).ok().map(AccountKey::from_pem);
    let key = match key {
        Some(Ok(key)) => key,
        Some(Err(error)) => {
            return AccountState::Unusable(format!("{place} cannot be used: {error}"));
        }
        None => return AccountState::Unusable(format!("{place} is not text")),
    };
    match client.find_account(&key).await {
        Ok(Some(found)) => AccountState::Registered { url: found.url, status: found.status },
        Ok(None) => AccountState::Unregistered(place),
        Err(error) => AccountState::Unknown(error.to_string()),
    }
}

/// Why the key of `privateKeySecretRef` is of no effect; `None` where it is used, or there is none.
pub(in crate::cli) async fn unused_key(
    state: &StateDirectory,
    access: IssuerAccess<'_>,
) -> Option<String> {
    let id = account_id(&AccountIdentity::of(access.issuer));
    let stored = Records::new(state).account_key(&id).await.ok()??;
    let given = referenced_key(access).ok()?;
    let [stored, given] =
        [&stored, &given].map(|pem| AccountKey::from_pem(std::str::from_utf8(pem).ok()?).ok());
    let is_other = stored?.thumbprint() != given?.thumbprint();
    let secret = &access.issuer.acme.private_key_secret_ref.name;
    is_other.then(|| {
        format!(
            "the key in secret {secret} is not used: the state has another one, of an earlier run. \
             To use it, store it in another secret and name that in privateKeySecretRef"
        )
    })
}

type Pem = zeroize::Zeroizing<Vec<u8>>;

async fn stored_key(known: &Known, id: &str) -> Result<Option<Pem>, String> {
    let Some(state) = known.state() else {
        return Err("the state directory cannot be read".to_owned());
    };
    Records::new(state).account_key(id).await.map_err(|error| error.to_string())
}

fn referenced_key(access: IssuerAccess<'_>) -> Result<Pem, SecretError> {
    let mut reference: SecretKeySelector = access.issuer.acme.private_key_secret_ref.clone();
    if reference.key.is_empty() {
        "tls.key".clone_into(&mut reference.key);
    }
    access.secret(&reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_well_unless_an_issuance_would_stop_at_it() {
        let registered = |status| AccountState::Registered { url: "u".to_owned(), status };
        let why = || "why".to_owned();
        for (state, is_well, text) in [
            (registered(AccountStatus::Valid), true, "u, valid at the CA"),
            (registered(AccountStatus::Deactivated), false, "u, deactivated at the CA"),
            (registered(AccountStatus::Revoked), false, "u, revoked at the CA"),
            (
                AccountState::Unregistered("the key in the state"),
                true,
                "the CA has no account for the key in the state; the next issuance registers one",
            ),
            (
                AccountState::NoKey,
                true,
                "no key yet; the first issuance generates one and registers it",
            ),
            (
                AccountState::Forbidden,
                false,
                "no key, and disableAccountKeyGeneration forbids generating one",
            ),
            (AccountState::Unusable(why()), false, "why"),
            (AccountState::Unknown(why()), false, "unknown: why"),
        ] {
            assert_eq!((state.is_well(), state.to_string().as_str()), (is_well, text));
        }
    }
}
