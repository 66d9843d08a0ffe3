//! The account at an issuer's CA: the stored key and the CA's answer. Read-only: registers nothing.

use thiserror::Error;

use super::known::Known;
use crate::acme::{AccountKey, AccountStatus, AcmeError, Client};
use crate::engine::IssuerAccess;
use crate::engine::inputs::account_id;
use crate::engine::ports::{Store, StoreError};
use crate::manifest::SecretError;
use crate::resource::{Account, AccountIdentity, AccountStep, Issuer, SecretKeySelector};
use crate::store::Records;
use crate::workspace::State;

/// What is known of it.
#[derive(Debug)]
pub enum AccountState {
    /// The CA has it.
    Registered {
        url: String,
        status: AccountStatus,
    },
    /// There is a key, and the CA has no account for it.
    Unregistered(KeyPlace),
    /// There is no key yet.
    NoKey,
    /// There is an account, and its key is gone from the state.
    LostKey,
    /// There is no key, and none may be made (`disableAccountKeyGeneration`).
    Forbidden,
    /// There is a key that cannot be used.
    Unusable(KeyPlace, UnusableKey),
    Unknown(AccountUnknown),
}

/// Where an account's key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    State,
    /// The secret of `privateKeySecretRef`.
    Secret,
}

/// Why a key cannot be used.
#[derive(Debug, Error)]
pub enum UnusableKey {
    #[error("it is not text")]
    NotText,
    #[error(transparent)]
    Refused(#[from] AcmeError),
}

/// Why nothing is known of an account.
#[derive(Debug, Error)]
pub enum AccountUnknown {
    #[error("the state directory cannot be read")]
    NoState,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Acme(#[from] AcmeError),
}

impl AccountState {
    /// Whether an issuance would go on from here.
    pub fn is_well(&self) -> bool {
        match self {
            Self::Registered { status, .. } => *status == AccountStatus::Valid,
            Self::Unregistered(_) | Self::NoKey => true,
            Self::LostKey | Self::Forbidden | Self::Unusable(..) | Self::Unknown(_) => false,
        }
    }

    /// Whether there is no key that an issuance could use, and none may be made.
    pub(super) fn lacks_key(&self) -> bool {
        match self {
            Self::LostKey | Self::Forbidden | Self::Unusable(..) => true,
            Self::Registered { .. } | Self::Unregistered(_) | Self::NoKey | Self::Unknown(_) => {
                false
            }
        }
    }

    /// That of an issuer.
    pub(super) async fn of(known: &Known, issuer: &Issuer, client: &Client) -> Self {
        Self::found(known, issuer, client).await.unwrap_or_else(Self::Unknown)
    }

    async fn found(
        known: &Known,
        issuer: &Issuer,
        client: &Client,
    ) -> Result<Self, AccountUnknown> {
        let state = known.state().ok_or(AccountUnknown::NoState)?;
        let id = account_id(&AccountIdentity::of(issuer));
        let records = Records::new(state.documents());
        let is_over = |account: &Account| account.next_step == AccountStep::Deactivated;
        let account = records.account(&id).await?.map(|known| known.value);
        let (pem, place) = match records.account_key(&id).await? {
            Some(pem) => (pem, KeyPlace::State),
            None if account.is_some_and(|account| !is_over(&account)) => return Ok(Self::LostKey),
            None => match referenced_key(known.access(issuer)) {
                Ok(pem) => (pem, KeyPlace::Secret),
                Err(SecretError::Missing { .. }) if issuer.acme.disable_account_key_generation => {
                    return Ok(Self::Forbidden);
                }
                Err(SecretError::Missing { .. }) => return Ok(Self::NoKey),
                Err(error) => return Err(error.into()),
            },
        };
        let Ok(text) = std::str::from_utf8(&pem) else {
            return Ok(Self::Unusable(place, UnusableKey::NotText));
        };
        let key = match AccountKey::from_pem(text) {
            Ok(key) => key,
            Err(error) => return Ok(Self::Unusable(place, error.into())),
        };
        Ok(match client.find_account(&key).await? {
            Some(found) => Self::Registered { url: found.url, status: found.status },
            None => Self::Unregistered(place),
        })
    }
}

/// Whether the key of `privateKeySecretRef` is of no effect, because the state has another one.
pub async fn has_unused_key(state: &State, access: IssuerAccess<'_>) -> bool {
    let id = account_id(&AccountIdentity::of(access.issuer));
    let Ok(Some(stored)) = Records::new(state.documents()).account_key(&id).await else {
        return false;
    };
    let Ok(given) = referenced_key(access) else { return false };
    let key = |pem: &[u8]| AccountKey::from_pem(std::str::from_utf8(pem).ok()?).ok();
    let thumbprint = |pem: &[u8]| key(pem).map(|key| key.thumbprint().to_owned());
    thumbprint(&stored).zip(thumbprint(&given)).is_some_and(|(stored, given)| stored != given)
}

fn referenced_key(access: IssuerAccess<'_>) -> Result<zeroize::Zeroizing<Vec<u8>>, SecretError> {
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
        for (state, is_well) in [
            (registered(AccountStatus::Valid), true),
            (registered(AccountStatus::Deactivated), false),
            (registered(AccountStatus::Revoked), false),
            (AccountState::Unregistered(KeyPlace::State), true),
            (AccountState::NoKey, true),
            (AccountState::LostKey, false),
            (AccountState::Forbidden, false),
            (AccountState::Unusable(KeyPlace::State, UnusableKey::NotText), false),
            (AccountState::Unknown(AccountUnknown::NoState), false),
        ] {
            assert_eq!(state.is_well(), is_well, "{state:?}");
        }
    }
}
