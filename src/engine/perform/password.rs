//! The passwords of keystores: their sources, and whether the live keystores use them.

use std::collections::BTreeSet;

use zeroize::Zeroizing;

use crate::engine::gather::salted_digest;
use crate::manifest::{SecretError, SecretSource};
use crate::resource::{
    Certificate, NamespacedName, Obstacle, PublishedPair, SecretKeySelector, keystore,
};

/// A password.
type Password = Zeroizing<String>;

/// Live keystores, by file name, with a password other than the one the spec names. A keystore is
/// left out when its new password is unavailable.
pub(in crate::engine) fn changed_passwords(
    secrets: &SecretSource,
    certificate: &Certificate,
    live: &PublishedPair,
) -> BTreeSet<String> {
    let stores = live.formats.keystores.iter();
    let changed = stores.filter(|(name, store)| {
        password(secrets, certificate, name)
            .is_ok_and(|password| salted_digest(&store.salt, &password) != store.password_digest)
    });
    changed.map(|(name, _)| name.clone()).collect()
}

/// Why a keystore has no password.
#[derive(Debug, thiserror::Error)]
pub(in crate::engine) enum PasswordError {
    /// The spec has none.
    #[error("{field} has no password")]
    Absent { field: &'static str },
    /// Its Secret cannot be used.
    #[error("{field}.passwordSecretRef: {why}")]
    Secret { field: &'static str, why: SecretError },
    /// What is in the Secret is no password.
    #[error("{field}.passwordSecretRef: {why}")]
    Content { field: &'static str, why: String },
}

impl PasswordError {
    /// What is in the way, without the field.
    pub(in crate::engine) fn obstacle(&self) -> Obstacle {
        match self {
            Self::Absent { .. } => Obstacle::new(self),
            Self::Secret { why, .. } => Obstacle { fix: why.obstacle().fix, ..Obstacle::new(why) },
            Self::Content { why, .. } => Obstacle::new(why),
        }
    }
}

/// The password of a keystore, by its file name.
pub(in crate::engine) fn password(
    secrets: &SecretSource,
    certificate: &Certificate,
    name: &str,
) -> Result<Password, PasswordError> {
    let keystores = certificate.spec.keystores.clone().unwrap_or_default();
    let (field, literal, reference) = match name {
        keystore::KEYSTORE_JKS | keystore::TRUSTSTORE_JKS => {
            let store = keystores.jks.map(|jks| (jks.password, jks.password_secret_ref));
            let (literal, reference) = store.unwrap_or_default();
            ("spec.keystores.jks", literal, reference)
        }
        _ => {
            let store = keystores.pkcs12.map(|p12| (p12.password, p12.password_secret_ref));
            let (literal, reference) = store.unwrap_or_default();
            ("spec.keystores.pkcs12", literal, reference)
        }
    };
    match (literal, reference) {
        (Some(literal), _) => Ok(Zeroizing::new(literal)),
        (None, Some(reference)) => referenced_password(secrets, certificate, field, &reference),
        (None, None) => Err(PasswordError::Absent { field }),
    }
}

fn referenced_password(
    secrets: &SecretSource,
    certificate: &Certificate,
    field: &'static str,
    reference: &SecretKeySelector,
) -> Result<Password, PasswordError> {
    let namespace = &certificate.metadata.namespace;
    let secret = NamespacedName::new(namespace, &reference.name);
    let bytes = secrets.resolve(&secret, &reference.key);
    let bytes = bytes.map_err(|why| PasswordError::Secret { field, why })?;
    let is_no_password = |what: &str| {
        let why = format!("secret {}, `{}`: {what}", secret.short(), reference.key);
        PasswordError::Content { field, why }
    };
    let text = text_of(&bytes).map_err(is_no_password)?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// The bytes of a Secret as a password, or why they are none.
fn text_of(bytes: &[u8]) -> Result<&str, &'static str> {
    match std::str::from_utf8(bytes) {
        Ok("") => Err("empty"),
        Ok(text) if text.ends_with('\r') => {
            Err("it ends with a carriage return (a line end of Windows): remove that")
        }
        Ok(text) => Ok(text),
        Err(_) => Err("not UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_with_the_line_end_of_windows_is_refused() {
        assert_eq!(text_of(b"changeit"), Ok("changeit"));
        assert_eq!(text_of(b" \rx"), Ok(" \rx"));
        let fault = "it ends with a carriage return (a line end of Windows): remove that";
        assert_eq!(text_of(b"changeit\r"), Err(fault));
        assert_eq!((text_of(b""), text_of(&[0xff])), (Err("empty"), Err("not UTF-8")));
    }
}
