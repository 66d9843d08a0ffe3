//! The key of a certificate as a signer, for its revocation without an account (RFC 8555 section
//! 7.6): RSA, ECDSA on the NIST curves, Ed25519.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256,
};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::AcmeError;

/// A certificate's private key.
pub struct CertificateKey {
    algorithm: &'static str,
    jwk: Value,
    pair: Pair,
}

enum Pair {
    Rsa(rsa::KeyPair),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl CertificateKey {
    /// Takes a key in PKCS#8, and its public half as a `SubjectPublicKeyInfo`; both in DER.
    pub fn new(pkcs8: &[u8], public_key: &[u8]) -> Result<Self, AcmeError> {
        let curves: [(&'static EcdsaSigningAlgorithm, &str, &str); 3] = [
            (&ECDSA_P256_SHA256_FIXED_SIGNING, "ES256", "P-256"),
            (&ECDSA_P384_SHA384_FIXED_SIGNING, "ES384", "P-384"),
            (&ECDSA_P521_SHA512_FIXED_SIGNING, "ES512", "P-521"),
        ];
        for (signing, algorithm, curve) in curves {
            if let Ok(pair) = EcdsaKeyPair::from_private_key_der(signing, pkcs8) {
                // One byte 4, then x and y of the same length (SEC 1 section 2.3.3).
                let point = pair.public_key().as_ref();
                let (_, both) = point.split_at_checked(1).unwrap_or_default();
                let (x, y) = both.split_at_checked(both.len() / 2).unwrap_or_default();
                let jwk = json!({"kty": "EC", "crv": curve, "x": encode(x), "y": encode(y)});
                return Ok(Self { algorithm, jwk, pair: Pair::Ecdsa(pair) });
            }
        }
        if let Ok(pair) = rsa::KeyPair::from_pkcs8(pkcs8) {
            let (n, e) =
                rsa_numbers(public_key).ok_or_else(|| unusable("it has no public half"))?;
            let jwk = json!({"kty": "RSA", "n": n, "e": e});
            return Ok(Self { algorithm: "RS256", jwk, pair: Pair::Rsa(pair) });
        }
        match Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8) {
            Ok(pair) => {
                let x = encode(pair.public_key().as_ref());
                let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": x});
                Ok(Self { algorithm: "EdDSA", jwk, pair: Pair::Ed25519(pair) })
            }
            Err(_) => Err(unusable("it is of an unknown kind")),
        }
    }

    /// The word for `alg` (RFC 7518 section 3.1, RFC 8037).
    pub(super) fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// The public key as a JWK (RFC 7517).
    pub(super) fn jwk(&self) -> &Value {
        &self.jwk
    }

    /// The signature of `message` as JWS has it.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, AcmeError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(|_| unusable("signing failed"))?;
                Ok(signature)
            }
            Pair::Ecdsa(pair) => pair
                .sign(&random, message)
                .map(|signature| signature.as_ref().to_vec())
                .map_err(|_| unusable("signing failed")),
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

impl std::fmt::Debug for CertificateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertificateKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

/// Modulus and exponent, without leading zeros (RFC 7518 section 6.3.1).
fn rsa_numbers(public_key: &[u8]) -> Option<(String, String)> {
    let (_, info) = SubjectPublicKeyInfo::from_der(public_key).ok()?;
    let PublicKey::RSA(rsa) = info.parsed().ok()? else { return None };
    let number = |bytes: &[u8]| {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        encode(bytes.get(zeros..).unwrap_or_default())
    };
    Some((number(rsa.modulus), number(rsa.exponent)))
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn unusable(why: &str) -> AcmeError {
    AcmeError::Unsupported { what: format!("signing with the certificate's key: {why}") }
}
