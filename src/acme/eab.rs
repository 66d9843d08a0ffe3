//! External account bindings (RFC 8555 section 7.3.4): an HMAC binds an account key to a customer
//! of the CA.

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::jws::{encode, flattened};
use super::key::SigningKey;

/// An external account binding (RFC 8555 section 7.3.4).
#[derive(Clone)]
pub struct Eab {
    /// The key identifier that the CA issued.
    pub key_id: String,
    /// The HMAC key that the CA issued, decoded.
    pub hmac_key: Zeroizing<Vec<u8>>,
}

impl Eab {
    /// The `externalAccountBinding` of a newAccount: an HS256 JWS of the account's public key,
    /// without a nonce.
    pub(super) fn bind(&self, key: &SigningKey, new_account: &str) -> Value {
        let protected = json!({"alg": "HS256", "kid": self.key_id, "url": new_account});
        let (protected, payload) = (encode(&protected), encode(&key.jwk()));
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &self.hmac_key);
        let tag = hmac::sign(&secret, format!("{protected}.{payload}").as_bytes());
        flattened(&protected, &payload, tag.as_ref())
    }
}

impl std::fmt::Debug for Eab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Eab").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}
