//! The account at an issuer's CA, in words.

use crate::cli::render::output::escape;
use crate::workspace::check::{AccountState, AccountStatus, KeyPlace};

/// Describes the account in one line.
pub(in crate::cli) fn account_line(state: &AccountState) -> String {
    match state {
        AccountState::Registered { url, status } => {
            let status = match status {
                AccountStatus::Valid => "valid".into(),
                AccountStatus::Deactivated => "deactivated".into(),
                AccountStatus::Revoked => "revoked".into(),
                AccountStatus::Other(word) => escape(word),
            };
            format!("{}, {status} at the CA", escape(url))
        }
        AccountState::Unregistered(place) => {
            format!("the CA has no account for {}; the next issuance registers one", key_at(*place))
        }
        AccountState::NoKey => {
            "no key yet; the first issuance generates one and registers it".to_owned()
        }
        AccountState::LostKey => {
            "its key is missing from the state; restore it from a backup".to_owned()
        }
        AccountState::Forbidden => {
            "no key, and disableAccountKeyGeneration forbids generating one".to_owned()
        }
        AccountState::Unusable(place, why) => format!("{} cannot be used: {why}", key_at(*place)),
        AccountState::Unknown(why) => format!("unknown: {why}"),
    }
}

fn key_at(place: KeyPlace) -> &'static str {
    match place {
        KeyPlace::State => "the key in the state",
        KeyPlace::Secret => "the key of privateKeySecretRef",
    }
}

/// Notes that the key in the secret of `privateKeySecretRef` has no effect.
pub(in crate::cli) fn unused_key_line(secret: &str) -> String {
    format!(
        "the key in secret {secret} is not used: the state has another one, of an earlier run. To use \
         it, store it in another secret and name that in privateKeySecretRef"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::check::{AccountUnknown, UnusableKey};

    #[test]
    fn each_account_has_its_line() {
        let registered = |status| AccountState::Registered { url: "u".to_owned(), status };
        for (state, text) in [
            (registered(AccountStatus::Valid), "u, valid at the CA"),
            (registered(AccountStatus::Deactivated), "u, deactivated at the CA"),
            (registered(AccountStatus::Revoked), "u, revoked at the CA"),
            (
                AccountState::Unregistered(KeyPlace::State),
                "the CA has no account for the key in the state; the next issuance registers one",
            ),
            (AccountState::NoKey, "no key yet; the first issuance generates one and registers it"),
            (AccountState::LostKey, "its key is missing from the state; restore it from a backup"),
            (
                AccountState::Forbidden,
                "no key, and disableAccountKeyGeneration forbids generating one",
            ),
            (
                AccountState::Unusable(KeyPlace::Secret, UnusableKey::NotText),
                "the key of privateKeySecretRef cannot be used: it is not text",
            ),
            (
                AccountState::Unknown(AccountUnknown::NoState),
                "unknown: the state directory cannot be read",
            ),
        ] {
            assert_eq!(account_line(&state), text);
        }
    }
}
