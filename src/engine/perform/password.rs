//! The passwords of keystores: their sources, and whether the live keystores use them.

use std::collections::BTreeSet;

use zeroize::Zeroizing;

use super::error;
use crate::controller::EffectError;
use crate::engine::gather::salted_digest;
use crate::manifest::{SecretError, SecretSource};
use crate::resource::{Certificate, NamespacedName, PublishedPair, SecretKeySelector, keystore};

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

/// The password of a keystore, by its file name.
pub(in crate::engine) fn password(
    secrets: &SecretSource,
    certificate: &Certificate,
    name: &str,
) -> Result<Password, EffectError> {
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
        (None, Some(reference)) => referenced_password(secrets, certificate, &reference)
            .map_err(|why| error::precondition(format!("{field}.passwordSecretRef: {why}"))),
        (None, None) => Err(error::precondition(format!("{field} has no password"))),
    }
}

fn referenced_password(
    secrets: &SecretSource,
    certificate: &Certificate,
    reference: &SecretKeySelector,
) -> Result<Password, String> {
    let namespace = &certificate.metadata.namespace;
    let secret = NamespacedName::new(namespace, &reference.name);
    let bytes =
        secrets.resolve(&secret, &reference.key).map_err(|error: SecretError| error.to_string())?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| format!("secret {secret}, `{}`: not UTF-8", reference.key))?;
    if text.is_empty() {
        return Err(format!("secret {secret}, `{}`: empty", reference.key));
    }
    Ok(Zeroizing::new(text.to_owned()))
}
