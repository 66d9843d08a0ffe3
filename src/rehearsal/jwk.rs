//! Public account keys as JWK (RFC 7517, RFC 8037) and by thumbprint (RFC 7638): RSA, the NIST
//! curves, Ed25519.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519,
    EcdsaVerificationAlgorithm, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::problem::{Problem, ProblemType};

/// A public key that may sign requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// The two coordinates, as long as the curve's field each.
    Ec { curve: Curve, x: Vec<u8>, y: Vec<u8> },
    /// Modulus and exponent, big endian without leading zeros.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// The public key of RFC 8032, 32 bytes.
    Ed25519 { x: Vec<u8> },
}

/// A curve of RFC 7518 section 6.2.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|curve| curve.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// Bytes of a coordinate.
    fn length(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    fn alg(self) -> &'static str {
        match self {
            Self::P256 => "ES256",
            Self::P384 => "ES384",
            Self::P521 => "ES512",
        }
    }

    fn verification(self) -> &'static EcdsaVerificationAlgorithm {
        match self {
            Self::P256 => &ECDSA_P256_SHA256_FIXED,
            Self::P384 => &ECDSA_P384_SHA384_FIXED,
            Self::P521 => &ECDSA_P521_SHA512_FIXED,
        }
    }
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
        let coordinate = |field: &str, length: usize| match bytes(field)? {
            found if found.len() == length => Ok(found),
            found => Err(bad(format!("jwk: {field:?} has {} bytes, not {length}", found.len()))),
        };
        let (kty, crv) = (text("kty"), text("crv"));
        match (kty, crv, crv.and_then(Curve::from_name)) {
            (Some("EC"), _, Some(curve)) => {
                let length = curve.length();
                Ok(Self::Ec { curve, x: coordinate("x", length)?, y: coordinate("y", length)? })
            }
            (Some("OKP"), Some("Ed25519"), _) => Ok(Self::Ed25519 { x: coordinate("x", 32)? }),
            (Some("RSA"), ..) => {
                let (n, e) = (bytes("n")?, bytes("e")?);
                if !(256..=1024).contains(&n.len()) {
                    return Err(bad("jwk: RSA keys have 2048 to 8192 bits here".into()));
                }
                Ok(Self::Rsa { n, e })
            }
            _ => Err(bad(format!("jwk: kty {kty:?} with crv {crv:?} is not accepted"))),
        }
    }

    /// A key on a curve, by its uncompressed point (SEC 1 section 2.3.3).
    pub(super) fn of_point(point: &[u8]) -> Option<Self> {
        let [4, both @ ..] = point else { return None };
        let curve = Curve::ALL.into_iter().find(|curve| 2 * curve.length() == both.len())?;
        let (x, y) = both.split_at(curve.length());
        Some(Self::Ec { curve, x: x.to_vec(), y: y.to_vec() })
    }

    /// RFC 7638, SHA-256, base64url.
    pub(super) fn thumbprint(&self) -> String {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let canonical = match self {
            Self::Ec { curve, x, y } => {
                let (curve, x, y) = (curve.name(), encode(x), encode(y));
                format!(r#"{{"crv":"{curve}","kty":"EC","x":"{x}","y":"{y}"}}"#)
            }
            Self::Rsa { n, e } => {
                format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, encode(e), encode(n))
            }
            Self::Ed25519 { x } => {
                format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, encode(x))
            }
        };
        encode(digest(&SHA256, canonical.as_bytes()).as_ref())
    }

    /// The one `alg` that this key signs with.
    fn alg(&self) -> &'static str {
        match self {
            Self::Ec { curve, .. } => curve.alg(),
            Self::Rsa { .. } => "RS256",
            Self::Ed25519 { .. } => "EdDSA",
        }
    }

    pub(super) fn verify(
        &self,
        alg: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Problem> {
        if alg != self.alg() {
            return Err(Problem::signature_algorithm(
                format!("alg {alg:?} does not fit the key"),
                &[self.alg().to_owned()],
            ));
        }
        let verified = match self {
            Self::Ec { curve, x, y } => {
                // An uncompressed point (SEC 1 section 2.3.3).
                let point = [&[4_u8], x.as_slice(), y.as_slice()].concat();
                UnparsedPublicKey::new(curve.verification(), point).verify(message, signature)
            }
            Self::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            Self::Ed25519 { x } => UnparsedPublicKey::new(&ED25519, x).verify(message, signature),
        };
        verified.map_err(|_| Problem::malformed("JWS: the signature does not verify"))
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
    fn the_thumbprint_of_an_ed25519_key_is_that_of_rfc_8037() {
        // Appendix A.3.
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": x });
        assert_eq!(
            PublicKey::from_jwk(&jwk).unwrap().thumbprint(),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
        );
    }

    #[test]
    fn keys_of_other_kinds_are_refused() {
        let cases = [
            json!({ "kty": "EC", "crv": "P-384", "x": "AA", "y": "AA" }),
            json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }),
            json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
            json!({ "kty": "OKP", "crv": "Ed25519", "x": "AA" }),
            json!({ "kty": "OKP", "crv": "P-256", "x": "AA" }),
            json!({ "kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA" }),
            json!("none"),
        ];
        for jwk in cases {
            let kind = PublicKey::from_jwk(&jwk).unwrap_err().kind;
            assert_eq!(kind, ProblemType::BadPublicKey, "{jwk}");
        }
    }
}
