//! A private key: generated, read, written and used, never shown.
//!
//! Keys of all forms are held as PKCS#8 version 1 (RFC 5208), which every TLS server reads; PKCS#1
//! (RFC 8017) and SEC 1 (RFC 5915) forms are derived from it on demand.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RsaKeyPair};
use zeroize::Zeroizing;

use super::key_der::{self, Parts};
use super::key_error::KeyError;
use super::pem;
use super::signing::{self, KeyPair, SigningError};
use crate::resource::{
    KeyAlgorithm, KeyEncoding, KeyFacts, PublicKeyDigest, SignatureAlgorithm, hex,
};

/// A private key. It is zeroized when it is dropped; Debug shows its public facts only.
#[derive(Clone)]
pub struct PrivateKey {
    pkcs8: Zeroizing<Vec<u8>>,
    spki: Vec<u8>,
    facts: KeyFacts,
    pair: Arc<KeyPair>,
}

impl PrivateKey {
    /// Generates a key: RSA with `bits` 2048, 3072, 4096 or 8192, ECDSA with 256, 384 or 521,
    /// Ed25519 with any (its size is fixed). RSA keys take seconds.
    pub fn generate(algorithm: KeyAlgorithm, bits: u32) -> Result<Self, KeyError> {
        let failed = KeyError::Generation { algorithm, bits };
        match algorithm {
            KeyAlgorithm::Rsa => generate_rsa(bits),
            KeyAlgorithm::Ecdsa => {
                let curve = ecdsa_algorithm(bits)?;
                let document = EcdsaKeyPair::generate_pkcs8(curve, &SystemRandom::new());
                Self::from_pkcs8(document.map_err(|_| failed)?.as_ref())
            }
            KeyAlgorithm::Ed25519 => {
                let document = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new());
                Self::from_pkcs8(document.map_err(|_| failed)?.as_ref())
            }
        }
    }

    /// Reads the first key of a PEM text: PKCS#8 of either version, PKCS#1, SEC 1 with or without
    /// a block of EC parameters before it. At most [`MAX_KEY_BYTES`] are read.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        if text.len() > MAX_KEY_BYTES {
            return Err(KeyError::TooLong { bytes: text.len(), max: MAX_KEY_BYTES });
        }
        for block in pem::blocks(text) {
            let block = block?;
            if block.is_encrypted {
                return Err(KeyError::Encrypted);
            }
            match block.label {
                // Written by `openssl ecparam -genkey`; the key that follows names its curve.
                "EC PARAMETERS" => {}
                "PRIVATE KEY" => return Self::from_pkcs8(&block.der),
                "RSA PRIVATE KEY" => return Self::from_parts(key_der::read_pkcs1(&block.der)?),
                "EC PRIVATE KEY" => return Self::from_parts(key_der::read_sec1(&block.der, None)?),
                "ENCRYPTED PRIVATE KEY" => return Err(KeyError::Encrypted),
                label => return Err(KeyError::Label { label: label.to_owned() }),
            }
        }
        Err(KeyError::NotFound)
    }

    /// The key in PEM: `RSA PRIVATE KEY` or `EC PRIVATE KEY` for PKCS1, `PRIVATE KEY` for PKCS8
    /// and for Ed25519, which has no other form.
    pub fn to_pem(&self, encoding: KeyEncoding) -> Zeroizing<String> {
        let label = match (encoding, self.facts.algorithm) {
            (KeyEncoding::Pkcs1, KeyAlgorithm::Rsa) => "RSA PRIVATE KEY",
            (KeyEncoding::Pkcs1, KeyAlgorithm::Ecdsa) => "EC PRIVATE KEY",
            (KeyEncoding::Pkcs1, KeyAlgorithm::Ed25519) | (KeyEncoding::Pkcs8, _) => "PRIVATE KEY",
        };
        pem::encode(label, &self.der(encoding))
    }

    /// The key as `PRIVATE KEY`.
    pub fn to_pkcs8_pem(&self) -> Zeroizing<String> {
        self.to_pem(KeyEncoding::Pkcs8)
    }

    /// The bytes inside the block that [`Self::to_pem`] writes.
    pub fn der(&self, encoding: KeyEncoding) -> Zeroizing<Vec<u8>> {
        match encoding {
            KeyEncoding::Pkcs1 => key_der::write_traditional(&self.pkcs8),
            KeyEncoding::Pkcs8 => self.pkcs8.clone(),
        }
    }

    /// Algorithm, size, and digest of the public half.
    pub fn facts(&self) -> &KeyFacts {
        &self.facts
    }

    /// The public half as DER of a `SubjectPublicKeyInfo` (RFC 5280 section 4.1.2.7).
    pub fn public_key_der(&self) -> &[u8] {
        &self.spki
    }

    /// Signs a message. ECDSA signatures are in DER (RFC 5480, appendix A), as certificates have
    /// them.
    pub fn sign(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
    ) -> Result<Vec<u8>, SigningError> {
        signing::sign(&self.pair, &self.pkcs8, &self.facts, algorithm, message)
    }

    /// Signs a message for a JWS: like [`Self::sign`], but ECDSA signatures are of fixed length
    /// (RFC 7518 section 3.4).
    pub fn sign_jws(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
    ) -> Result<Vec<u8>, SigningError> {
        let signature = self.sign(algorithm, message)?;
        match self.facts.algorithm {
            KeyAlgorithm::Rsa | KeyAlgorithm::Ed25519 => Ok(signature),
            KeyAlgorithm::Ecdsa => signing::fixed_length(&signature, self.facts.size)
                .ok_or(SigningError::Refused { wanted: algorithm }),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        Self::from_parts(key_der::read_pkcs8(der)?)
    }

    /// Validates the key with the library that will sign with it, and normalizes it.
    fn from_parts(parts: Parts) -> Result<Self, KeyError> {
        let (algorithm, size, pkcs8, spki, pair) = match parts {
            Parts::Rsa { bits, pkcs1 } => {
                let algorithm = KeyAlgorithm::Rsa;
                if !RSA_BITS.contains(&bits) {
                    return Err(KeyError::Size { algorithm, bits });
                }
                let pair = RsaKeyPair::from_der(&pkcs1).map_err(rejected)?;
                let spki = signature::KeyPair::public_key(&pair).as_der().map_err(damaged)?;
                (algorithm, bits, key_der::rsa_pkcs8(&pkcs1)?, spki, KeyPair::Rsa(pair))
            }
            Parts::Ecdsa { bits, sec1 } => {
                let algorithm = ecdsa_algorithm(bits)?;
                let pair =
                    EcdsaKeyPair::from_private_key_der(algorithm, &sec1).map_err(rejected)?;
                let public = signature::KeyPair::public_key(&pair);
                let pkcs8 = key_der::ecdsa_pkcs8(&sec1, public.as_ref())?;
                let spki = public.as_der().map_err(damaged)?;
                (KeyAlgorithm::Ecdsa, bits, pkcs8, spki, KeyPair::Ecdsa(pair))
            }
            Parts::Ed25519 { seed } => {
                let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(rejected)?;
                let spki = signature::KeyPair::public_key(&pair).as_der().map_err(damaged)?;
                let pkcs8 = key_der::ed25519_pkcs8(&seed)?;
                (KeyAlgorithm::Ed25519, 256, pkcs8, spki, KeyPair::Ed25519(pair))
            }
        };
        let spki = spki.as_ref().to_vec();
        let facts = KeyFacts { algorithm, size, public_key: public_key_digest(&spki) };
        Ok(Self { pkcs8, spki, facts, pair: Arc::new(pair) })
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// The encoding of the key in a PEM text, as [`PrivateKey::to_pem`] writes it.
pub fn key_encoding(pem: &str) -> KeyEncoding {
    let is_pkcs8 = pem.contains("-----BEGIN PRIVATE KEY-----");
    if is_pkcs8 { KeyEncoding::Pkcs8 } else { KeyEncoding::Pkcs1 }
}

/// The facts of the key in a PEM text.
pub fn key_facts(pem: &str) -> Result<KeyFacts, KeyError> {
    PrivateKey::from_pem(pem).map(|key| key.facts)
}

/// The digest that identifies a public key, over the DER of its `SubjectPublicKeyInfo`.
pub(super) fn public_key_digest(spki: &[u8]) -> PublicKeyDigest {
    PublicKeyDigest(hex(digest::digest(&digest::SHA256, spki).as_ref()))
}

fn generate_rsa(bits: u32) -> Result<PrivateKey, KeyError> {
    let failed = KeyError::Generation { algorithm: KeyAlgorithm::Rsa, bits };
    let size = match bits {
        2048 => KeySize::Rsa2048,
        3072 => KeySize::Rsa3072,
        4096 => KeySize::Rsa4096,
        8192 => KeySize::Rsa8192,
        _ => return Err(failed),
    };
    let pair = RsaKeyPair::generate(size).map_err(|_| failed.clone())?;
    let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).map_err(|_| failed)?;
    PrivateKey::from_pkcs8(der.as_ref())
}

fn ecdsa_algorithm(bits: u32) -> Result<&'static EcdsaSigningAlgorithm, KeyError> {
    match bits {
        256 => Ok(&signature::ECDSA_P256_SHA256_ASN1_SIGNING),
        384 => Ok(&signature::ECDSA_P384_SHA384_ASN1_SIGNING),
        521 => Ok(&signature::ECDSA_P521_SHA512_ASN1_SIGNING),
        _ => Err(KeyError::Size { algorithm: KeyAlgorithm::Ecdsa, bits }),
    }
}

fn rejected(reason: aws_lc_rs::error::KeyRejected) -> KeyError {
    KeyError::Damaged { reason: reason.description_().to_owned() }
}

fn damaged(_: aws_lc_rs::error::Unspecified) -> KeyError {
    KeyError::Damaged { reason: "its public key cannot be derived".to_owned() }
}

/// The longest PEM text that is read as a private key; an RSA key of 8192 bits takes about half.
pub const MAX_KEY_BYTES: usize = 13_000;

/// RSA keys that are read; `resource::RSA_SIZES` has those that are made.
const RSA_BITS: std::ops::RangeInclusive<u32> = 2048..=8192;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::PemError;

    /// As `openssl ecparam -name prime256v1 -genkey` writes it.
    const EC: &str = "-----BEGIN EC PARAMETERS-----
BggqhkjOPQMBBw==
-----END EC PARAMETERS-----
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIKfQQTkGiXRru1xw/iC4HlNA+TA0CVSizgQDCL/SmvsnoAoGCCqGSM49
AwEHoUQDQgAEmDSQlMXQ5RjgMpDSe0lAn0iedDpFX3XzynwkH0jSVawKBK5seQ9i
M909hZ0W2pzJ9Z+cyjmlLgS8gvzwV/r1DA==
-----END EC PRIVATE KEY-----
";
    /// The same key, as `openssl pkey` writes it.
    const EC_PKCS8: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgp9BBOQaJdGu7XHD+
ILgeU0D5MDQJVKLOBAMIv9Ka+yehRANCAASYNJCUxdDlGOAykNJ7SUCfSJ50OkVf
dfPKfCQfSNJVrAoErmx5D2Iz3T2FnRbanMn1n5zKOaUuBLyC/PBX+vUM
-----END PRIVATE KEY-----
";
    const EC_DIGEST: &str = "f02466246400a3bcaf621ee89a079b8ede5c953f650e4d2921a925d4dd73ef8e";
    /// RFC 8410 section 10.3, both versions of one key.
    const ED25519_V1: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";
    const ED25519_V2: &str = "-----BEGIN PRIVATE KEY-----
MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB
Z9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PRIVATE KEY-----
";
    /// The same key with a public half tagged as ring 0.16 does it, and without one.
    const ED25519_V2_OF_RING: &str = "-----BEGIN PRIVATE KEY-----
MFMCAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
oSMDIQAZv0QJaYTN/oVBusFn3DuWyFCGqjC2tssMXDitcDFm4Q==
-----END PRIVATE KEY-----
";
    const ED25519_V2_ALONE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";
    const ED25519_DIGEST: &str = "a1e9156054e04fac899ae9f275132cdc07a5dbc4ea2c2ad3a1ffc6e0d253681f";

    #[test]
    fn every_form_of_a_key_is_the_same_key() {
        let facts = |algorithm, digest: &str| {
            let public_key = PublicKeyDigest(digest.to_owned());
            Ok(KeyFacts { algorithm, size: 256, public_key })
        };
        let ec = facts(KeyAlgorithm::Ecdsa, EC_DIGEST);
        let ed25519 = facts(KeyAlgorithm::Ed25519, ED25519_DIGEST);
        let cases: &[(String, &Result<KeyFacts, KeyError>)] = &[
            (EC.to_owned(), &ec),
            (EC.replace('\n', "\r\n"), &ec),
            (EC_PKCS8.to_owned(), &ec),
            (format!("Bag Attributes: x\n{EC_PKCS8}\nmore text\n"), &ec),
            (EC_PKCS8.trim_end().to_owned(), &ec),
            (ED25519_V1.to_owned(), &ed25519),
            (ED25519_V2.to_owned(), &ed25519),
            (ED25519_V2_OF_RING.to_owned(), &ed25519),
            (ED25519_V2_ALONE.to_owned(), &ed25519),
        ];
        for (text, expected) in cases {
            assert_eq!(key_facts(text), **expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_usable_key_is_refused_with_its_reason() {
        let label = |text: &str| KeyError::Label { label: text.to_owned() };
        let block = |label: &str, der: &[u8]| pem::encode(label, der).to_string();
        let encrypted = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
                         DEK-Info: AES-128-CBC,00\n\nAAAA\n-----END EC PRIVATE KEY-----\n";
        // RFC 8410: X25519, which cannot sign.
        let x25519 = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VuBCIEIBjj7pYFc6A4RnPbKUureaWvSkLkT/sC7heOeICE2BJP
-----END PRIVATE KEY-----";
        let secp256k1 = "-----BEGIN EC PRIVATE KEY-----
MHQCAQEEIAcJicNpdSJOtBsFDe340Gi0apq1anRP1FEPtvOzguYdoAcGBSuBBAAK
oUQDQgAEpk76fhSK4f05pDPW/I23eFfkn1ndaV4KDK3kOablfiJxcOYm3hPR1kIZ
PTM0VduF71WFtZNwKCH2PVP79SBPFQ==
-----END EC PRIVATE KEY-----";
        let cases: &[(String, KeyError)] = &[
            (String::new(), KeyError::NotFound),
            ("garbage".to_owned(), KeyError::NotFound),
            (block("EC PARAMETERS", &[1]), KeyError::NotFound),
            (" ".repeat(13_001), KeyError::TooLong { bytes: 13_001, max: 13_000 }),
            (encrypted.to_owned(), KeyError::Encrypted),
            (block("ENCRYPTED PRIVATE KEY", &[1]), KeyError::Encrypted),
            (block("OPENSSH PRIVATE KEY", &[1]), label("OPENSSH PRIVATE KEY")),
            (block("CERTIFICATE", &[1]), label("CERTIFICATE")),
            (x25519.to_owned(), KeyError::Algorithm { oid: "1.3.101.110".to_owned() }),
            (secp256k1.to_owned(), KeyError::Curve { oid: "1.3.132.0.10".to_owned() }),
            (
                block("RSA PRIVATE KEY", &rsa_of_bits(2040)),
                KeyError::Size { algorithm: KeyAlgorithm::Rsa, bits: 2040 },
            ),
            (
                block("RSA PRIVATE KEY", &rsa_of_bits(8200)),
                KeyError::Size { algorithm: KeyAlgorithm::Rsa, bits: 8200 },
            ),
            (
                EC_PKCS8[..60].to_owned(),
                PemError::Unterminated { label: "PRIVATE KEY".to_owned() }.into(),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(key_facts(text).as_ref(), Err(expected), "{text}");
        }
    }

    /// The head of an `RSAPrivateKey` whose modulus has `bits` bits, a multiple of eight from
    /// 2040 on.
    fn rsa_of_bits(bits: u16) -> Vec<u8> {
        let modulus = bits / 8 + 1;
        let mut der = vec![0x30, 0x82];
        der.extend((modulus + 7).to_be_bytes());
        der.extend([2, 1, 0, 2, 0x82]);
        der.extend(modulus.to_be_bytes());
        der.push(0);
        der.extend(vec![0xff; usize::from(bits / 8)]);
        der
    }

    #[test]
    fn damaged_keys_are_refused_wherever_the_damage_is() {
        for (form, label) in [(EC_PKCS8, "PRIVATE KEY"), (ED25519_V1, "PRIVATE KEY")] {
            let der = pem::blocks(form).last().unwrap().unwrap().der;
            for length in 0..der.len() {
                let found = key_facts(&pem::encode(label, &der[..length]));
                assert!(matches!(found, Err(KeyError::Damaged { .. })), "{length}: {found:?}");
            }
            let longer = [&der[..], &[0]].concat();
            let found = key_facts(&pem::encode(label, &longer));
            assert!(matches!(found, Err(KeyError::Damaged { .. })), "{found:?}");
        }
        // A public half that belongs to another key.
        let mut der = pem::blocks(EC).last().unwrap().unwrap().der;
        der[20] ^= 1;
        let found = key_facts(&pem::encode("EC PRIVATE KEY", &der));
        assert!(matches!(found, Err(KeyError::Damaged { .. })), "{found:?}");
    }

    #[test]
    fn keys_are_made_and_survive_both_encodings() {
        let ec = (KeyAlgorithm::Ecdsa, "EC PRIVATE KEY");
        let cases = [
            (KeyAlgorithm::Rsa, 2048, "RSA PRIVATE KEY"),
            (ec.0, 256, ec.1),
            (ec.0, 384, ec.1),
            (ec.0, 521, ec.1),
            (KeyAlgorithm::Ed25519, 256, "PRIVATE KEY"),
        ];
        for (algorithm, bits, label) in cases {
            let key = PrivateKey::generate(algorithm, bits).unwrap();
            assert_eq!((key.facts().algorithm, key.facts().size), (algorithm, bits));
            for (encoding, label) in
                [(KeyEncoding::Pkcs1, label), (KeyEncoding::Pkcs8, "PRIVATE KEY")]
            {
                let text = key.to_pem(encoding);
                assert!(text.starts_with(&format!("-----BEGIN {label}-----\n")), "{algorithm}");
                let again = PrivateKey::from_pem(&text).unwrap();
                assert_eq!(again.facts(), key.facts());
                assert_eq!(again.to_pkcs8_pem(), key.to_pkcs8_pem());
                let inside = pem::blocks(&text).next().unwrap().unwrap().der;
                assert_eq!(inside, key.der(encoding));
            }
        }
    }

    #[test]
    fn the_traditional_form_is_what_openssl_writes() {
        let key = PrivateKey::from_pem(EC_PKCS8).unwrap();
        let (_, block) = EC.split_once("-----END EC PARAMETERS-----\n").unwrap();
        assert_eq!(*key.to_pem(KeyEncoding::Pkcs1), block);
        assert_eq!(*key.to_pkcs8_pem(), EC_PKCS8);
        let ed25519 = PrivateKey::from_pem(ED25519_V2).unwrap();
        assert_eq!(*ed25519.to_pem(KeyEncoding::Pkcs1), ED25519_V1);
    }

    #[test]
    fn keys_of_other_sizes_are_not_made() {
        let generate =
            |algorithm, bits| PrivateKey::generate(algorithm, bits).map(|key| key.facts().clone());
        for bits in [1024, 2047, 2049, 3071, 7680, 8193] {
            let algorithm = KeyAlgorithm::Rsa;
            assert_eq!(generate(algorithm, bits), Err(KeyError::Generation { algorithm, bits }));
        }
        let (algorithm, bits) = (KeyAlgorithm::Ecdsa, 255);
        assert_eq!(generate(algorithm, bits), Err(KeyError::Size { algorithm, bits }));
    }

    #[test]
    fn debug_shows_no_secret() {
        let key = PrivateKey::from_pem(ED25519_V1).unwrap();
        let expected = format!("PrivateKey {{ facts: {:?}, .. }}", key.facts());
        assert_eq!(format!("{key:?}"), expected);
    }
}
