//! The account key: ECDSA P-256 in PKCS#8, the one kind that `instant-acme` signs with.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair,
};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use rustls::pki_types::pem::{PemObject, SectionKind};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::AcmeError;

/// An account key. Cheap to clone; its `Debug` shows the thumbprint only.
#[derive(Clone)]
pub struct AccountKey {
    pair: Arc<EcdsaKeyPair>,
    pkcs8: Arc<Zeroizing<Vec<u8>>>,
}

impl AccountKey {
    /// A new P-256 key.
    pub fn generate() -> Result<Self, AcmeError> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map_err(|_| unusable("the random source failed"))?;
        Self::new(pair)
    }

    /// Reads the first private key in `pem`: PKCS#8 or SEC 1.
    ///
    /// # Errors
    /// `UnsupportedAccountKey` for a key of another kind, `AccountKey` for anything else.
    pub fn from_pem(pem: &str) -> Result<Self, AcmeError> {
        let sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes());
        for section in sections {
            let (kind, der) = section.map_err(|error| unusable(format!("bad PEM: {error}")))?;
            let der = Zeroizing::new(der);
            if kind == SectionKind::RsaPrivateKey {
                return Err(unsupported(rsa_name(&der)));
            }
            if kind == SectionKind::PrivateKey || kind == SectionKind::EcPrivateKey {
                return Self::from_der(&der);
            }
        }
        Err(unusable("there is no PEM private key"))
    }

    fn from_der(der: &[u8]) -> Result<Self, AcmeError> {
        let with = |algorithm| EcdsaKeyPair::from_private_key_der(algorithm, der);
        if let Ok(pair) = with(&ECDSA_P256_SHA256_FIXED_SIGNING) {
            return Self::new(pair);
        }
        let others: [(&'static EcdsaSigningAlgorithm, &str); 2] = [
            (&ECDSA_P384_SHA384_FIXED_SIGNING, "ECDSA P-384"),
            (&ECDSA_P521_SHA512_FIXED_SIGNING, "ECDSA P-521"),
        ];
        for (algorithm, name) in others {
            if with(algorithm).is_ok() {
                return Err(unsupported(name));
            }
        }
        if rsa::KeyPair::from_pkcs8(der).is_ok() {
            return Err(unsupported(rsa_name(der)));
        }
        if Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).is_ok() {
            return Err(unsupported("Ed25519"));
        }
        Err(unusable("it is no private key, or of an unknown kind"))
    }

    fn new(pair: EcdsaKeyPair) -> Result<Self, AcmeError> {
        let document = pair.to_pkcs8v1().map_err(|_| unusable("it cannot be encoded"))?;
        let pkcs8 = Zeroizing::new(document.as_ref().to_vec());
        Ok(Self { pair: Arc::new(pair), pkcs8: Arc::new(pkcs8) })
    }

    /// The key as PKCS#8 PEM, to be stored.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, AcmeError> {
        der::pem::encode_string("PRIVATE KEY", der::pem::LineEnding::LF, &self.pkcs8)
            .map(Zeroizing::new)
            .map_err(|error| unusable(format!("it cannot be encoded: {error}")))
    }

    /// The RFC 7638 thumbprint, base64url.
    pub fn thumbprint(&self) -> String {
        let (x, y) = self.coordinates();
        // RFC 7638 section 3: these members, in this order, without white space.
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, canonical.as_bytes()))
    }

    /// The key authorization of `token` (RFC 8555 section 8.1).
    pub fn key_authorization(&self, token: &str) -> String {
        format!("{token}.{}", self.thumbprint())
    }

    /// The public key as a JWK (RFC 7517).
    pub(super) fn jwk(&self) -> Value {
        let (x, y) = self.coordinates();
        json!({"kty": "EC", "crv": "P-256", "x": x, "y": y})
    }

    /// The fixed-length ES256 signature of `message` (RFC 7518 section 3.4).
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, AcmeError> {
        let signature = self.pair.sign(&SystemRandom::new(), message);
        signature.map(|s| s.as_ref().to_vec()).map_err(|_| unusable("signing failed"))
    }

    /// The key in the form `instant-acme` reads.
    pub(super) fn pkcs8_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(BASE64_URL_SAFE_NO_PAD.encode(self.pkcs8.as_slice()))
    }

    fn coordinates(&self) -> (String, String) {
        // An uncompressed point: one byte 4, then x and y of the same length (SEC 1 section 2.3.3).
        let point = self.pair.public_key().as_ref();
        let (_, both) = point.split_at_checked(1).unwrap_or_default();
        let (x, y) = both.split_at_checked(both.len() / 2).unwrap_or_default();
        (BASE64_URL_SAFE_NO_PAD.encode(x), BASE64_URL_SAFE_NO_PAD.encode(y))
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AccountKey").field(&self.thumbprint()).finish()
    }
}

fn rsa_name(der: &[u8]) -> String {
    let pair = rsa::KeyPair::from_pkcs8(der).or_else(|_| rsa::KeyPair::from_der(der));
    match pair {
        Ok(pair) => format!("RSA {}", pair.public_modulus_len() * 8),
        Err(_) => "RSA".to_owned(),
    }
}

fn unsupported(algorithm: impl Into<String>) -> AcmeError {
    AcmeError::UnsupportedAccountKey { algorithm: algorithm.into() }
}

fn unusable(why: impl Into<String>) -> AcmeError {
    AcmeError::AccountKey { why: why.into() }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, SignatureAlgorithm,
    };

    use super::*;

    #[test]
    fn a_key_survives_being_written_and_read() {
        let key = AccountKey::generate().unwrap();
        let pem = key.to_pem().unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"), "no PKCS#8");
        let read = AccountKey::from_pem(&format!("# a comment\n{}", *pem)).unwrap();
        assert_eq!(read.jwk(), key.jwk());
        assert_eq!(read.thumbprint(), key.thumbprint());
        assert_eq!(key.key_authorization("tok"), format!("tok.{}", key.thumbprint()));
    }

    #[test]
    fn sec_1_keys_are_read_and_the_thumbprint_is_rfc_7638() {
        // RFC 8555 has no worked example with P-256; this key and value are from `openssl ecparam`
        // and an independent SHA-256 of the canonical JWK.
        let key = AccountKey::from_pem(SEC1).unwrap();
        assert_eq!(
            key.jwk(),
            json!({
                "kty": "EC", "crv": "P-256",
                "x": "fwKnXQdv5Auo1MCUJATw1K-ht_xSFwqcZAXufq7uBXc",
                "y": "kF-8nXcjgFzsAHctagU_35Hd82SW5xV1IxUo-A7w9qM",
            })
        );
        assert_eq!(key.thumbprint(), "QLhSvf0etyvkvKA5HaXuskZWFehsiMoKuH2Hsnuuz5E");
    }

    #[test]
    fn other_kinds_are_named() {
        let pem = |algorithm: &'static SignatureAlgorithm| {
            KeyPair::generate_for(algorithm).unwrap().serialize_pem()
        };
        let cases = [
            (pem(&PKCS_RSA_SHA256), unsupported("RSA 2048")),
            (pem(&PKCS_ECDSA_P384_SHA384), unsupported("ECDSA P-384")),
            (pem(&PKCS_ED25519), unsupported("Ed25519")),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n".into(),
                unsupported("RSA"),
            ),
            (String::new(), unusable("there is no PEM private key")),
            (
                "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".into(),
                unusable("it is no private key, or of an unknown kind"),
            ),
        ];
        for (pem, expected) in cases {
            assert_eq!(AccountKey::from_pem(&pem).unwrap_err(), expected);
        }
    }

    const SEC1: &str = "-----BEGIN EC PRIVATE KEY-----\n\
        MHcCAQEEIN65cnb/b68Mw1DhldtF7fTtoGXDO532QXqZ4wHQaUUnoAoGCCqGSM49\n\
        AwEHoUQDQgAEfwKnXQdv5Auo1MCUJATw1K+ht/xSFwqcZAXufq7uBXeQX7yddyOA\n\
        XOwAdy1qBT/fkd3zZJbnFXUjFSj4DvD2ow==\n\
        -----END EC PRIVATE KEY-----";
}
