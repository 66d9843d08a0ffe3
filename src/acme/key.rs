//! The keys that sign requests, as JOSE has them (RFC 7517, RFC 7518, RFC 8037): an account's, and
//! a certificate's own for its revocation.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;
use zeroize::Zeroizing;

use super::error::AcmeError;
use crate::pki::{KeyError, PrivateKey};
use crate::resource::{KeyAlgorithm, SignatureAlgorithm};

/// A private key that signs requests. Its `Debug` shows the thumbprint only.
pub(super) struct SigningKey {
    private: PrivateKey,
    kind: Kind,
    /// The members that RFC 7638 section 3.2 requires, in its order.
    jwk: BTreeMap<&'static str, String>,
    thumbprint: String,
}

/// The signature algorithm of a kind of key.
struct Kind {
    /// The value of `alg` (RFC 7518 section 3.1, RFC 8037 section 3.1).
    alg: &'static str,
    /// For `crv`, where the kind of key has one.
    curve: &'static str,
    signature: SignatureAlgorithm,
}

impl SigningKey {
    pub(super) fn new(private: PrivateKey) -> Result<Self, AcmeError> {
        let facts = private.facts();
        let kind = kind(facts.algorithm, facts.size);
        let jwk = jwk(private.public_key_der(), kind.curve).ok_or_else(|| {
            AcmeError::Unsupported { what: "a key without a public half".to_owned() }
        })?;
        let thumbprint = thumbprint(&jwk);
        Ok(Self { private, kind, jwk, thumbprint })
    }

    /// The value of `alg`.
    pub(super) fn alg(&self) -> &'static str {
        self.kind.alg
    }

    /// The public key as a JWK (RFC 7517).
    pub(super) fn jwk(&self) -> Value {
        json!(self.jwk)
    }

    /// The signature of `message` in the form of JWS.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, AcmeError> {
        let signature = self.private.sign_jws(self.kind.signature, message);
        signature.map_err(|error| AcmeError::Unsupported { what: error.to_string() })
    }

    /// The kind of key, such as `RSA 2048` and `ECDSA P-256`.
    pub(super) fn name(&self) -> String {
        let facts = self.private.facts();
        match facts.algorithm {
            KeyAlgorithm::Rsa => format!("RSA {}", facts.size),
            KeyAlgorithm::Ecdsa => format!("ECDSA {}", self.kind.curve),
            KeyAlgorithm::Ed25519 => "Ed25519".to_owned(),
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.thumbprint).finish()
    }
}

/// An account key. Cheap to clone; its `Debug` shows the thumbprint only.
#[derive(Clone, Debug)]
pub struct AccountKey(Arc<SigningKey>);

impl AccountKey {
    /// A new P-256 key.
    pub fn generate() -> Result<Self, AcmeError> {
        Self::new(PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).map_err(|error| refused(&error))?)
    }

    /// Reads the first private key in `pem`: PKCS#8, PKCS#1 or SEC 1.
    ///
    /// # Errors
    /// `UnsupportedAccountKey` for a key of a kind or size that few CAs accept, `AccountKey` for
    /// anything else.
    pub fn from_pem(pem: &str) -> Result<Self, AcmeError> {
        Self::new(PrivateKey::from_pem(pem).map_err(|error| refused(&error))?)
    }

    fn new(private: PrivateKey) -> Result<Self, AcmeError> {
        let key = SigningKey::new(private)?;
        let facts = key.private.facts();
        // Let's Encrypt accepts RSA up to 4096 bits and no P-521.
        let is_usable = match facts.algorithm {
            KeyAlgorithm::Rsa => facts.size <= 4096,
            KeyAlgorithm::Ecdsa => facts.size <= 384,
            KeyAlgorithm::Ed25519 => true,
        };
        if is_usable {
            Ok(Self(Arc::new(key)))
        } else {
            Err(AcmeError::UnsupportedAccountKey { key: key.name() })
        }
    }

    /// The key as PKCS#8 PEM, to be stored.
    pub fn to_pem(&self) -> Zeroizing<String> {
        self.0.private.to_pkcs8_pem()
    }

    /// The kind of key, such as `RSA 2048` and `ECDSA P-256`.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// The RFC 7638 thumbprint, base64url.
    pub fn thumbprint(&self) -> &str {
        &self.0.thumbprint
    }

    /// The key authorization of `token` (RFC 8555 section 8.1).
    pub fn key_authorization(&self, token: &str) -> String {
        format!("{token}.{}", self.thumbprint())
    }

    pub(super) fn signing(&self) -> &SigningKey {
        &self.0
    }
}

/// Why a key cannot be an account key: an unsupported kind, or no key at all.
fn refused(error: &KeyError) -> AcmeError {
    let key = if let KeyError::Size { algorithm, bits } = error {
        format!("{algorithm} {bits}")
    } else if let KeyError::Curve { oid } = error {
        format!("ECDSA on the curve {oid}")
    } else if let KeyError::Algorithm { oid } = error {
        format!("of the algorithm {oid}")
    } else {
        return AcmeError::AccountKey { why: error.to_string() };
    };
    AcmeError::UnsupportedAccountKey { key }
}

fn kind(algorithm: KeyAlgorithm, size: u32) -> Kind {
    let (alg, curve, signature) = match (algorithm, size) {
        (KeyAlgorithm::Rsa, _) => ("RS256", "", SignatureAlgorithm::Sha256WithRsa),
        (KeyAlgorithm::Ecdsa, ..=256) => ("ES256", "P-256", SignatureAlgorithm::EcdsaWithSha256),
        (KeyAlgorithm::Ecdsa, ..=384) => ("ES384", "P-384", SignatureAlgorithm::EcdsaWithSha384),
        (KeyAlgorithm::Ecdsa, _) => ("ES512", "P-521", SignatureAlgorithm::EcdsaWithSha512),
        (KeyAlgorithm::Ed25519, _) => ("EdDSA", "Ed25519", SignatureAlgorithm::PureEd25519),
    };
    Kind { alg, curve, signature }
}

/// RFC 7518 section 6, RFC 8037 section 2.
fn jwk(public_key: &[u8], curve: &str) -> Option<BTreeMap<&'static str, String>> {
    let (_, info) = SubjectPublicKeyInfo::from_der(public_key).ok()?;
    Some(match info.parsed().ok()? {
        PublicKey::RSA(rsa) => BTreeMap::from([
            ("e", encode(without_zeros(rsa.exponent))),
            ("kty", "RSA".to_owned()),
            ("n", encode(without_zeros(rsa.modulus))),
        ]),
        PublicKey::EC(point) => {
            // One byte 4, then x and y of the same length (SEC 1 section 2.3.3).
            let (_, both) = point.data().split_at_checked(1)?;
            let (x, y) = both.split_at_checked(both.len() / 2)?;
            BTreeMap::from([
                ("crv", curve.to_owned()),
                ("kty", "EC".to_owned()),
                ("x", encode(x)),
                ("y", encode(y)),
            ])
        }
        PublicKey::Unknown(bytes) => BTreeMap::from([
            ("crv", curve.to_owned()),
            ("kty", "OKP".to_owned()),
            ("x", encode(bytes)),
        ]),
        PublicKey::DSA(_) | PublicKey::GostR3410(_) | PublicKey::GostR3410_2012(_) => return None,
    })
}

/// RFC 7638 section 3: the digest over the members in lexical order, without white space.
fn thumbprint(jwk: &BTreeMap<&'static str, String>) -> String {
    encode(digest(&SHA256, json!(jwk).to_string().as_bytes()).as_ref())
}

/// DER prefixes a zero byte to a number whose first bit is set; JWK does not (RFC 7518 section
/// 6.3.1).
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, UnparsedPublicKey,
    };

    use super::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_str!(concat!("../../tests/fixtures/account-keys/", $name, ".pem"))
        };
    }
    fn decode(text: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn rsa_and_ed25519_signatures_are_those_that_the_rfcs_print() {
        let rsa = AccountKey::from_pem(RFC_7515_RSA).unwrap();
        let input = format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}");
        assert_eq!(encode(&rsa.signing().sign(input.as_bytes()).unwrap()), RFC_7515_A2_SIGNATURE);
        assert_eq!(rsa.signing().jwk(), json!({"kty": "RSA", "n": RFC_7515_N, "e": "AQAB"}));

        let ed25519 = AccountKey::from_pem(RFC_8037_ED25519).unwrap();
        let input = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = encode(&ed25519.signing().sign(input.as_bytes()).unwrap());
        assert_eq!(signature, RFC_8037_A4_SIGNATURE);
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        assert_eq!(ed25519.signing().jwk(), json!({"kty": "OKP", "crv": "Ed25519", "x": x}));
        // Appendix A.3.
        assert_eq!(ed25519.thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn ecdsa_signatures_verify_with_the_public_keys_that_the_rfcs_print() {
        let cases = [
            (RFC_7515_P256, &ECDSA_P256_SHA256_FIXED, RFC_7515_A3_POINT, "P-256", "ES256"),
            (RFC_6979_P384, &ECDSA_P384_SHA384_FIXED, RFC_6979_A26_POINT, "P-384", "ES384"),
        ];
        for (pem, verification, (x, y), curve, alg) in cases {
            let key = AccountKey::from_pem(pem).unwrap();
            let jwk = json!({"kty": "EC", "crv": curve, "x": x, "y": y});
            assert_eq!((key.signing().jwk(), key.signing().alg()), (jwk, alg));
            let point = [vec![4], decode(x), decode(y)].concat();
            let public = UnparsedPublicKey::new(verification, point);
            // Many, because r and s sometimes start with a zero byte.
            for number in 0..300 {
                let input = format!("{number}.{PAYLOAD}");
                let signature = key.signing().sign(input.as_bytes()).unwrap();
                assert_eq!(public.verify(input.as_bytes(), &signature), Ok(()), "{alg} {number}");
            }
        }
        let published = UnparsedPublicKey::new(
            &ECDSA_P256_SHA256_FIXED,
            [vec![4], decode(RFC_7515_A3_POINT.0), decode(RFC_7515_A3_POINT.1)].concat(),
        );
        let input = format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}");
        let signature = decode(RFC_7515_A3_SIGNATURE);
        assert_eq!(published.verify(input.as_bytes(), &signature), Ok(()));
    }

    #[test]
    fn thumbprints_are_those_of_rfc_7638() {
        let jwk = BTreeMap::from([
            ("e", "AQAB".to_owned()),
            ("kty", "RSA".to_owned()),
            ("n", RFC_7638_N.to_owned()),
        ]);
        assert_eq!(thumbprint(&jwk), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
        // From `openssl ecparam` and an independent SHA-256 of the canonical JWK.
        let key = AccountKey::from_pem(SEC1).unwrap();
        assert_eq!(key.thumbprint(), "QLhSvf0etyvkvKA5HaXuskZWFehsiMoKuH2Hsnuuz5E");
        assert_eq!(key.key_authorization("tok"), format!("tok.{}", key.thumbprint()));
    }

    #[test]
    fn keys_of_every_kind_are_read_and_survive_being_written() {
        let generated = AccountKey::generate().unwrap();
        assert_eq!(generated.name(), "ECDSA P-256");
        let cases = [
            ("ECDSA P-256", "ES256", generated.to_pem().to_string()),
            ("ECDSA P-256", "ES256", SEC1.to_owned()),
            ("ECDSA P-384", "ES384", RFC_6979_P384.to_owned()),
            ("Ed25519", "EdDSA", RFC_8037_ED25519.to_owned()),
            ("RSA 2048", "RS256", RFC_7515_RSA.to_owned()),
            ("RSA 4096", "RS256", fixture!("rsa-4096").to_owned()),
        ];
        for (name, alg, pem) in cases {
            let key = AccountKey::from_pem(&format!("# a comment\n{pem}")).unwrap();
            assert_eq!((key.name().as_str(), key.signing().alg()), (name, alg));
            let written = key.to_pem();
            assert!(written.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{name}");
            assert_eq!(AccountKey::from_pem(&written).unwrap().thumbprint(), key.thumbprint());
            assert_eq!(
                format!("{key:?}"),
                format!("AccountKey(SigningKey({:?}))", key.thumbprint())
            );
        }
    }

    #[test]
    fn keys_that_few_cas_take_are_named() {
        let unsupported = |key: &str| AcmeError::UnsupportedAccountKey { key: key.to_owned() };
        let unusable = |why: &str| AcmeError::AccountKey { why: why.to_owned() };
        let cases = [
            (fixture!("rsa-1024"), unsupported("RSA 1024")),
            (fixture!("rsa-4104"), unsupported("RSA 4104")),
            (fixture!("p521"), unsupported("ECDSA P-521")),
            (SECP256K1, unsupported("ECDSA on the curve 1.3.132.0.10")),
            (X25519, unsupported("of the algorithm 1.3.101.110")),
            (
                "",
                unusable(
                    "error decoding private key PEM block: no PEM data was found in given input",
                ),
            ),
            (
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
                unusable("private key is encrypted"),
            ),
        ];
        for (pem, expected) in cases {
            assert_eq!(AccountKey::from_pem(pem).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_certificate_may_have_a_key_that_no_account_has() {
        let private = PrivateKey::from_pem(fixture!("p521")).unwrap();
        let key = SigningKey::new(private).unwrap();
        assert_eq!((key.alg(), key.name().as_str()), ("ES512", "ECDSA P-521"));
        assert_eq!(key.sign(b"message").unwrap().len(), 132);
    }

    const PAYLOAD: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
        cGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    /// RFC 7515, appendix A.2.
    const RFC_7515_RSA: &str = "-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd/wWJcyQoTbji9k0
l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL+yRT+SFd2lZS+pC
gNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb/7OMg0LOL+bSf63kpaSHSX
ndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uD
Zlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxXFvUK+DWNmoudF8NAco9/h9iaGNj8
q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQIDAQABAoIBABKucaRpzQorw35S
bEUAVx8dYXUdZOlJcHtiWQ+dC6V8ljxAHj/PLyzTveyI5QO/xkObCyjIL303l2cf
UhPu2MFaJdjVzqACXuOrLot/eSFvxjvqVidTtAZExqFRJ9mylUVAoLvhowVWmC1O
n95fZCXxTUtxNEG1Xcc7m0rtzJKs45J+N/V9DP1edYH6USyPSWGp6wuA+KgHRnKK
Vf9GRx80JQY7nVNkL17eHoTWEwga+lwi0FEoW9Y7lDtWXYmKBWhUE+U8PGxlJf8f
40493HDw1WRQ/aSLoS4QTp3rn7gYgeHEvfJdkkf0UMhlknlo53M09EFPdadQ4TlU
bjqKc50CgYEA4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH/5IB3jw3bcxGn6QLvnE
tfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw/Py5PJdTJNPY8cQn7ouZ2KKDcmnPG
BY5t7yLc1QlQ5xHdwW1VhvKn+nXqhJTBgIPgtldC+KDV5z+y2XDwGUcCgYEAuQPE
fgmVtjL0Uyyx88GZFF1fOunH3+7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYs
p1ZSe7zFYHj7C6ul7TjeLQeZD/YwD66t62wDmpe/HlB+TnBA+njbglfIsRLtXlnD
zQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdcCgYAHAp9XcCSrn8wVkMVkKdb7
DOX4IKjzdahm+ctDAJN4O/y7OW5FKebvUjdAIt2GuoTZ71iTG+7F0F+lP88jtjP4
U4qe7VHoewl4MKOfXZKTe+YCS1XbNvfgwJ3Ltyl1OH9hWvu2yza7q+d5PCsDzqtm
27kxuvULVeya+TEdAB1ijQKBgQCH/3r6YrVH/uCWGy6bzV1nGNOdjKc9tmkfOJmN
54dxdixdpozCQ6U4OxZrsj3FcOhHBsqAHvX2uuYjagqvo3cOj1TRqNocX40omfCC
Mx3bD1yPPf/6TI2XECva/ggqEY2mYzmIiA5LVVmc5nrybr+lssFKneeyxN2Wq93S
0iJMdQKBgCGHewxzoa1r8ZMD0LETNrToK423K377UCYqXfg5XMclbrjPbEC3YI1Z
NqMtuhdBJqUnBi6tjKMF+34Xf0CUN8ncuXGO2CAYvO8PdyCixHX52ybaDjy1FtCE
6yUXjoKNXKvUm7MWGsAYH6f4IegOetN5NvmUMFStCSkh7ixZLkN1
-----END RSA PRIVATE KEY-----
";
    const RFC_7515_N: &str = "\
        ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1\
        Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpa\
        SHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4\
        LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    const RFC_7515_A2_SIGNATURE: &str = "\
        cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O\
        8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARN\
        PvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ\
        1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    /// RFC 7515, appendix A.3.
    const RFC_7515_P256: &str = "-----BEGIN EC PRIVATE KEY-----
MHcCAQEEII6bEJ5xkJi/mASH3x9dd+nLKWBuvtImO19XwhPfhPSyoAoGCCqGSM49
AwEHoUQDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72b
focs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
-----END EC PRIVATE KEY-----
";
    const RFC_7515_A3_POINT: (&str, &str) = (
        "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    );
    const RFC_7515_A3_SIGNATURE: &str = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djx\
        La8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    /// RFC 6979, appendix A.2.6.
    const RFC_6979_P384: &str = "-----BEGIN EC PRIVATE KEY-----
MIGkAgEBBDBrnT2tLhuMHAWxmHW2ZZ9N4jw7Znvyl7qapHdAeHE32JbVck5McKgl
+HLJ6mDS7fWgBwYFK4EEACKhZANiAATsOk5BW04ZpFaGGAKfQn+l2pqLxK6S4C4G
quUoazAMZN748OqQVYZgZKJUUVSAvBOAFdm3LX1XJE6o75rAxiGJZwilk2f537n1
TKhLPxydsSiLIxw64NT+c0T9JTMmRyA=
-----END EC PRIVATE KEY-----
";
    const RFC_6979_A26_POINT: (&str, &str) = (
        "7DpOQVtOGaRWhhgCn0J_pdqai8SukuAuBqrlKGswDGTe-PDqkFWGYGSiVFFUgLwT",
        "gBXZty19VyROqO-awMYhiWcIpZNn-d-59UyoSz8cnbEoiyMcOuDU_nNE_SUzJkcg",
    );
    /// RFC 8037, appendix A.
    const RFC_8037_ED25519: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
    const RFC_8037_A4_SIGNATURE: &str = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4\
        iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    /// RFC 7638 section 3.1.
    const RFC_7638_N: &str = "\
        0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc\
        _BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQ\
        R0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bF\
        TWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
    const SEC1: &str = "-----BEGIN EC PRIVATE KEY-----\n\
        MHcCAQEEIN65cnb/b68Mw1DhldtF7fTtoGXDO532QXqZ4wHQaUUnoAoGCCqGSM49\n\
        AwEHoUQDQgAEfwKnXQdv5Auo1MCUJATw1K+ht/xSFwqcZAXufq7uBXeQX7yddyOA\n\
        XOwAdy1qBT/fkd3zZJbnFXUjFSj4DvD2ow==\n\
        -----END EC PRIVATE KEY-----";
    const SECP256K1: &str = "-----BEGIN EC PRIVATE KEY-----
MHQCAQEEIAcJicNpdSJOtBsFDe340Gi0apq1anRP1FEPtvOzguYdoAcGBSuBBAAK
oUQDQgAEpk76fhSK4f05pDPW/I23eFfkn1ndaV4KDK3kOablfiJxcOYm3hPR1kIZ
PTM0VduF71WFtZNwKCH2PVP79SBPFQ==
-----END EC PRIVATE KEY-----";
    const X25519: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VuBCIEIBjj7pYFc6A4RnPbKUureaWvSkLkT/sC7heOeICE2BJP
-----END PRIVATE KEY-----";
}
