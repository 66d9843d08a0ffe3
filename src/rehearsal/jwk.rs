//! Public account keys: P-256 (ES256) and RSA (RS256), as JWK (RFC 7517) and by thumbprint
//! (RFC 7638).

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::problem::{Problem, ProblemType};

/// A public key that may sign requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// The two coordinates, 32 bytes each.
    P256 { x: Vec<u8>, y: Vec<u8> },
    /// Modulus and exponent, big endian without leading zeros.
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

impl PublicKey {
    pub(super) fn from_jwk(jwk: &Value) -> Result<Self, Problem> {
        let bad = |detail: String| Problem::new(ProblemType::BadPublicKey, detail);
        let text = |field: &str| jwk.get(field).and_then(Value::as_str);
        let bytes = |field: &str| {
            text(field)
                .and_then(|value| URL_SAFE_NO_PAD.decode(value).ok())
                .ok_or_else(|| bad(format!("jwk: {field:?} is missing or not base64url")))
        };
        match (text("kty"), text("crv")) {
            (Some("EC"), Some("P-256")) => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                if x.len() != 32 || y.len() != 32 {
                    return Err(bad("jwk: coordinates of P-256 have 32 bytes".into()));
                }
                Ok(Self::P256 { x, y })
            }
            (Some("RSA"), _) => {
                let (n, e) = (bytes("n")?, bytes("e")?);
                if !(256..=1024).contains(&n.len()) {
                    return Err(bad("jwk: RSA keys have 2048 to 8192 bits here".into()));
                }
                Ok(Self::Rsa { n, e })
            }
            (kty, crv) => Err(bad(format!("jwk: kty {kty:?} with crv {crv:?} is not accepted"))),
        }
    }

    /// RFC 7638, SHA-256, base64url.
    pub(super) fn thumbprint(&self) -> String {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let canonical = match self {
            Self::P256 { x, y } => {
                format!(r#"{{"crv":"P-256","kty":"EC","x":"{}","y":"{}"}}"#, encode(x), encode(y))
            }
            Self::Rsa { n, e } => {
                format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, encode(e), encode(n))
            }
        };
        encode(digest(&SHA256, canonical.as_bytes()).as_ref())
    }

    pub(super) fn verify(
        &self,
        alg: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Problem> {
        let verified = match (self, alg) {
            (Self::P256 { .. }, "ES256") => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.bits())
                    .verify(message, signature)
            }
            (Self::Rsa { n, e }, "RS256") => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            (Self::P256 { .. } | Self::Rsa { .. }, _) => {
                return Err(Problem::new(
                    ProblemType::BadSignatureAlgorithm,
                    format!("alg {alg:?} does not fit the key"),
                ));
            }
        };
        verified.map_err(|_| Problem::malformed("JWS: the signature does not verify"))
    }

    /// The uncompressed point of an EC key; the modulus of an RSA key.
    fn bits(&self) -> Vec<u8> {
        match self {
            Self::P256 { x, y } => [&[4_u8], x.as_slice(), y.as_slice()].concat(),
            Self::Rsa { n, .. } => n.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_thumbprint_is_that_of_rfc_7638() {
        // The example key of RFC 7638 section 3.1.
        let jwk = json!({ "kty": "RSA", "e": "AQAB", "alg": "RS256", "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw" });
        assert_eq!(
            PublicKey::from_jwk(&jwk).unwrap().thumbprint(),
            "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
        );
    }

    #[test]
    fn keys_of_other_kinds_are_refused() {
        let cases = [
            json!({ "kty": "EC", "crv": "P-384", "x": "AA", "y": "AA" }),
            json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }),
            json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
            json!({ "kty": "OKP", "crv": "Ed25519", "x": "AA" }),
            json!("none"),
        ];
        for jwk in cases {
            let kind = PublicKey::from_jwk(&jwk).unwrap_err().kind;
            assert_eq!(kind, ProblemType::BadPublicKey, "{jwk}");
        }
    }
}
