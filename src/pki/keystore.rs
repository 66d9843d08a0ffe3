//! Java and PKCS#12 keystores as bytes, for servers that read no PEM.
//!
//! Contract: the store's password is the key's password; the key is PKCS#8 version 1, followed by
//! its whole chain. The same input gives different bytes each time, because each store has its own
//! salts. This module reads no stores.
//!
//! Implemented here and not by a crate: the available PKCS#12 crates lack PBMAC1 and encrypt the
//! private key of a LegacyRC2 store with 40 bits, where cert-manager and OpenSSL use 3DES.

mod asn1;
mod encryption;
mod error;
mod jks;
mod pkcs12;

use zeroize::Zeroizing;

use super::chain::Chain;
use super::private_key::PrivateKey;
use crate::resource::{KeyEncoding, KeystoreProfile};

pub use error::KeystoreError;
use pkcs12::authority_alias;

/// The content of the stores of one issued Secret.
#[derive(Clone, Copy, Debug)]
pub struct KeystoreContents<'a> {
    /// The private key.
    pub key: &'a PrivateKey,
    /// Its certificate, with those above it.
    pub chain: &'a Chain,
    /// The CA certificates of `ca.crt`; most often none.
    pub authorities: Option<&'a Chain>,
}

impl KeystoreContents<'_> {
    /// A Java keystore with one key entry. Java compares aliases without case, so this one is
    /// written in lower case.
    pub fn jks(&self, alias: &str, password: &str) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
        let pkcs8 = self.key.der(KeyEncoding::Pkcs8);
        let mut store = jks::Store::new(password, self.milliseconds());
        store.key_entry(alias, &pkcs8, self.chain.certificates())?;
        Ok(store.finish())
    }

    /// A Java keystore with the CA certificates as `ca`, `ca-1`, ….
    pub fn jks_truststore(&self, password: &str) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
        let mut store = jks::Store::new(password, self.milliseconds());
        for (index, der) in self.authority_certificates().iter().enumerate() {
            store.trusted_entry(&authority_alias(index), der)?;
        }
        Ok(store.finish())
    }

    /// A PKCS#12 store (RFC 7292) with the key, its chain, and the CA certificates behind them.
    pub fn pkcs12(
        &self,
        profile: KeystoreProfile,
        password: &str,
    ) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
        let above = self.authority_certificates();
        pkcs12::key_store(self.key, self.chain.certificates(), above, profile, password)
    }

    /// A PKCS#12 store with the CA certificates, with Java's attribute for trusted ones.
    pub fn pkcs12_truststore(
        &self,
        profile: KeystoreProfile,
        password: &str,
    ) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
        pkcs12::trust_store(self.authority_certificates(), profile, password)
    }

    fn authority_certificates(&self) -> &[Vec<u8>] {
        self.authorities.map_or(&[], Chain::certificates)
    }

    /// The time of the entries, derived without a clock.
    fn milliseconds(&self) -> i64 {
        self.chain.leaf().not_before.as_millisecond()
    }
}
