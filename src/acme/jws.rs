//! Flattened JSON JWS (RFC 7515 section 7.2.2, RFC 8555 section 6.2): every request with any kind
//! of key is signed here.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};

use super::error::AcmeError;
use super::key::SigningKey;

/// The signing key, and how the CA finds the public key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signer<'a> {
    /// By the public key in the request itself: newAccount, and revocation by the certificate's
    /// key.
    Key(&'a SigningKey),
    /// By the URL of the account that the key belongs to.
    Account(&'a SigningKey, &'a str),
}

impl<'a> Signer<'a> {
    /// The key that signs.
    pub(super) fn key(self) -> &'a SigningKey {
        match self {
            Self::Key(key) | Self::Account(key, _) => key,
        }
    }
}

/// A JWS of `payload` for `url`; without a payload it is a POST-as-GET (RFC 8555 section 6.3).
pub(super) fn sign(
    signer: Signer<'_>,
    nonce: &str,
    url: &str,
    payload: Option<&Value>,
) -> Result<Value, AcmeError> {
    let alg = signer.key().alg();
    let protected = encode(&match signer {
        Signer::Key(key) => json!({"alg": alg, "jwk": key.jwk(), "nonce": nonce, "url": url}),
        Signer::Account(_, kid) => json!({"alg": alg, "kid": kid, "nonce": nonce, "url": url}),
    });
    let payload = payload.map(encode).unwrap_or_default();
    let signature = signer.key().sign(format!("{protected}.{payload}").as_bytes())?;
    Ok(flattened(&protected, &payload, &signature))
}

/// JSON as a part of a JWS.
pub(super) fn encode(value: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

/// Joins the parts of a JWS.
pub(super) fn flattened(protected: &str, payload: &str, signature: &[u8]) -> Value {
    let signature = BASE64_URL_SAFE_NO_PAD.encode(signature);
    json!({"protected": protected, "payload": payload, "signature": signature})
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::hmac;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RsaPublicKeyComponents, UnparsedPublicKey,
    };

    use super::super::eab::Eab;
    use super::*;
    use crate::pki::PrivateKey;
    use crate::resource::KeyAlgorithm;

    fn key(algorithm: KeyAlgorithm, bits: u32) -> SigningKey {
        SigningKey::new(PrivateKey::generate(algorithm, bits).unwrap()).unwrap()
    }

    fn part(jws: &Value, name: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(jws[name].as_str().unwrap()).unwrap()
    }

    fn signed(jws: &Value) -> String {
        format!("{}.{}", jws["protected"].as_str().unwrap(), jws["payload"].as_str().unwrap())
    }

    fn json_part(jws: &Value, name: &str) -> Value {
        serde_json::from_slice(&part(jws, name)).unwrap()
    }

    #[test]
    fn a_signature_verifies_with_the_key_in_the_header() {
        let cases = [
            ("RS256", key(KeyAlgorithm::Rsa, 2048)),
            ("ES256", key(KeyAlgorithm::Ecdsa, 256)),
            ("ES384", key(KeyAlgorithm::Ecdsa, 384)),
            ("EdDSA", key(KeyAlgorithm::Ed25519, 256)),
        ];
        for (alg, key) in cases {
            let url = "https://ca.test/new-account";
            let payload = json!({"onlyReturnExisting": true});
            let jws = sign(Signer::Key(&key), "n-1", url, Some(&payload)).unwrap();
            let protected = json_part(&jws, "protected");
            assert_eq!(
                protected,
                json!({"alg": alg, "jwk": key.jwk(), "nonce": "n-1", "url": url})
            );
            assert_eq!(json_part(&jws, "payload"), payload);
            let member = |name| part(&protected["jwk"], name);
            let (message, signature) = (signed(&jws), part(&jws, "signature"));
            let message = message.as_bytes();
            let point = || [vec![4], member("x"), member("y")].concat();
            let verified = match alg {
                "RS256" => RsaPublicKeyComponents { n: member("n"), e: member("e") }.verify(
                    &RSA_PKCS1_2048_8192_SHA256,
                    message,
                    &signature,
                ),
                "ES256" => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point())
                    .verify(message, &signature),
                "ES384" => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point())
                    .verify(message, &signature),
                _ => UnparsedPublicKey::new(&ED25519, member("x")).verify(message, &signature),
            };
            assert_eq!(verified, Ok(()), "{alg}");
        }
    }

    #[test]
    fn an_account_signs_with_its_url_and_a_post_as_get_has_an_empty_payload() {
        let key = key(KeyAlgorithm::Ecdsa, 256);
        let signer = Signer::Account(&key, "https://a/1");
        for (payload, expected) in [(None, &b""[..]), (Some(json!({})), b"{}")] {
            let jws = sign(signer, "n", "https://a/o", payload.as_ref()).unwrap();
            assert_eq!(
                json_part(&jws, "protected"),
                json!({"alg": "ES256", "kid": "https://a/1", "nonce": "n", "url": "https://a/o"})
            );
            assert_eq!(part(&jws, "payload"), expected);
        }
    }

    #[test]
    fn an_external_account_binding_verifies_with_the_hmac_key() {
        for key in [key(KeyAlgorithm::Ecdsa, 384), key(KeyAlgorithm::Ed25519, 256)] {
            let eab = Eab { key_id: "kid-7".into(), hmac_key: b"secret bytes".to_vec().into() };
            let jws = eab.bind(&key, "https://ca.test/new-account");
            assert_eq!(
                json_part(&jws, "protected"),
                json!({"alg": "HS256", "kid": "kid-7", "url": "https://ca.test/new-account"})
            );
            assert_eq!(json_part(&jws, "payload"), key.jwk());
            let secret = hmac::Key::new(hmac::HMAC_SHA256, b"secret bytes");
            hmac::verify(&secret, signed(&jws).as_bytes(), &part(&jws, "signature")).unwrap();
        }
    }
}
