//! Flattened JSON JWS (RFC 7515 section 7.2.2, RFC 8555 section 6.2), for what `instant-acme`
//! cannot do:
//!
//! - newAccount with a key that is on disk already: find, register with contacts and EAB;
//! - contacts of an account;
//! - newOrder with `notAfter`;
//! - accept and finalize by URL alone, without reading the authorization or order first;
//! - revocation, also by the key of the certificate.
//!
//! Later: import of RSA accounts.

use aws_lc_rs::hmac;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};

use super::account::Eab;
use super::{AccountKey, AcmeError, CertificateKey};

/// Who signs, as the CA is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signer<'a> {
    /// The public key itself: newAccount only.
    Key,
    /// The account URL.
    Account(&'a str),
}

/// An ES256 JWS of `payload` for `url`.
pub(super) fn sign(
    key: &AccountKey,
    signer: Signer<'_>,
    nonce: &str,
    url: &str,
    payload: &Value,
) -> Result<Value, AcmeError> {
    let protected = match signer {
        Signer::Key => json!({"alg": "ES256", "jwk": key.jwk(), "nonce": nonce, "url": url}),
        Signer::Account(kid) => json!({"alg": "ES256", "kid": kid, "nonce": nonce, "url": url}),
    };
    let (protected, payload) = (encode(&protected), encode(payload));
    let signature = key.sign(format!("{protected}.{payload}").as_bytes())?;
    Ok(flattened(&protected, &payload, &signature))
}

/// A JWS of `payload` for `url`, signed with the key of a certificate.
pub(super) fn sign_by_certificate(
    key: &CertificateKey,
    nonce: &str,
    url: &str,
    payload: &Value,
) -> Result<Value, AcmeError> {
    let protected = encode(&json!({
        "alg": key.algorithm(), "jwk": key.jwk(), "nonce": nonce, "url": url,
    }));
    let payload = encode(payload);
    let signature = key.sign(format!("{protected}.{payload}").as_bytes())?;
    Ok(flattened(&protected, &payload, &signature))
}

/// The `externalAccountBinding` of a newAccount (RFC 8555 section 7.3.4): an HS256 JWS of the
/// account's public key, without a nonce.
pub(super) fn external_account_binding(key: &AccountKey, eab: &Eab, new_account: &str) -> Value {
    let protected = encode(&json!({"alg": "HS256", "kid": eab.key_id, "url": new_account}));
    let payload = encode(&key.jwk());
    let secret = hmac::Key::new(hmac::HMAC_SHA256, &eab.hmac_key);
    let tag = hmac::sign(&secret, format!("{protected}.{payload}").as_bytes());
    flattened(&protected, &payload, tag.as_ref())
}

fn encode(value: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

fn flattened(protected: &str, payload: &str, signature: &[u8]) -> Value {
    let signature = BASE64_URL_SAFE_NO_PAD.encode(signature);
    json!({"protected": protected, "payload": payload, "signature": signature})
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

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
        let key = AccountKey::generate().unwrap();
        let url = "https://ca.test/new-account";
        let payload = json!({"onlyReturnExisting": true});
        let jws = sign(&key, Signer::Key, "n-1", url, &payload).unwrap();
        let protected = json_part(&jws, "protected");
        assert_eq!(
            protected,
            json!({"alg": "ES256", "jwk": key.jwk(), "nonce": "n-1", "url": url})
        );
        assert_eq!(json_part(&jws, "payload"), payload);
        let point = [vec![4], part(&protected["jwk"], "x"), part(&protected["jwk"], "y")].concat();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
            .verify(signed(&jws).as_bytes(), &part(&jws, "signature"))
            .unwrap();
    }

    #[test]
    fn an_account_signs_with_its_url() {
        let key = AccountKey::generate().unwrap();
        let jws = sign(&key, Signer::Account("https://a/1"), "n", "https://a/o", &json!({}));
        let jws = jws.unwrap();
        assert_eq!(
            json_part(&jws, "protected"),
            json!({"alg": "ES256", "kid": "https://a/1", "nonce": "n", "url": "https://a/o"})
        );
        assert_eq!(part(&jws, "payload"), b"{}");
    }

    #[test]
    fn an_external_account_binding_verifies_with_the_hmac_key() {
        let key = AccountKey::generate().unwrap();
        let eab = Eab { key_id: "kid-7".into(), hmac_key: b"secret bytes".to_vec().into() };
        let jws = external_account_binding(&key, &eab, "https://ca.test/new-account");
        assert_eq!(
            json_part(&jws, "protected"),
            json!({"alg": "HS256", "kid": "kid-7", "url": "https://ca.test/new-account"})
        );
        assert_eq!(json_part(&jws, "payload"), key.jwk());
        let secret = hmac::Key::new(hmac::HMAC_SHA256, b"secret bytes");
        hmac::verify(&secret, signed(&jws).as_bytes(), &part(&jws, "signature")).unwrap();
    }
}
