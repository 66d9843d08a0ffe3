//! A private key as a value: made, read, written and used, never shown.
//!
//! Whatever it was read from, it is held as PKCS#8 version 1 (RFC 5208), which every TLS server
//! reads; PKCS#1 (RFC 8017) and SEC 1 (RFC 5915) forms are derived from that when asked for.

use std::fmt;

use aws_lc_rs::digest;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RsaKeyPair};
use rsa::pkcs8::EncodePrivateKey;
use thiserror::Error;
use zeroize::Zeroizing;

use super::key_der::{self, Parts};
use super::pem::{self, PemError};
use super::signing::SigningError;
use crate::resource::{KeyAlgorithm, KeyEncoding, KeyFacts, PublicKeyDigest, SignatureAlgorithm};

/// Why a private key cannot be made or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// No key of this algorithm has, or may have, this size.
    #[error("{algorithm} key of {bits} bits: {} expected", sizes(*algorithm))]
    Size {
        /// The algorithm.
        algorithm: KeyAlgorithm,
        /// Bits asked for or found.
        bits: u32,
    },
    /// The generator failed.
    #[error("cannot generate a {algorithm} key of {bits} bits")]
    Generation {
        /// The algorithm.
        algorithm: KeyAlgorithm,
        /// Bits asked for.
        bits: u32,
    },
    /// The text is longer than any key that could be used.
    #[error("private key file has {bytes} bytes, more than {max}")]
    TooLong {
        /// Length of the text.
        bytes: usize,
        /// The longest text that is read.
        max: usize,
    },
    /// There is no PEM block in the text, or only EC parameters.
    #[error("no PEM encoded private key found")]
    NotFound,
    /// The text is not PEM.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// The key needs a password.
    #[error("private key is encrypted")]
    Encrypted,
    /// The block is something else than a private key of a known form.
    #[error("PEM block `{label}` is not a private key that can be used")]
    Label {
        /// What stands after BEGIN.
        label: String,
    },
    /// The bytes are not what the label promises.
    #[error("private key is damaged: {reason}")]
    Damaged {
        /// What is wrong with them.
        reason: String,
    },
    /// A key for something else than RSA, ECDSA or Ed25519.
    #[error("private key has unsupported algorithm {oid}")]
    Algorithm {
        /// The algorithm's object identifier.
        oid: String,
    },
    /// An elliptic curve other than P-256, P-384 and P-521, or none named.
    #[error("private key has unsupported elliptic curve {oid}")]
    Curve {
        /// The curve's object identifier; empty when none is named.
        oid: String,
    },
}

fn sizes(algorithm: KeyAlgorithm) -> &'static str {
    match algorithm {
        KeyAlgorithm::Rsa => "2048 to 8192",
        KeyAlgorithm::Ecdsa => "256, 384 or 521",
        KeyAlgorithm::Ed25519 => "256",
    }
}

/// A private key. Its bytes leave memory when it is dropped; Debug shows its facts only.
#[derive(Clone)]
pub struct PrivateKey {
    pkcs8: Zeroizing<Vec<u8>>,
    spki: Vec<u8>,
    facts: KeyFacts,
}

impl PrivateKey {
    /// Makes a new key: RSA with `bits` 2048 to 8192, ECDSA with 256, 384 or 521, Ed25519 with
    /// any (the size of that one is fixed). RSA keys take seconds, those of unusual sizes more.
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
        super::signing::sign(&self.pkcs8, &self.facts, algorithm, message)
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        Self::from_parts(key_der::read_pkcs8(der)?)
    }

    /// Has the key checked by the library that will sign with it, and puts it in order.
    fn from_parts(parts: Parts) -> Result<Self, KeyError> {
        match parts {
            Parts::Rsa { bits, pkcs1 } => {
                let algorithm = KeyAlgorithm::Rsa;
                if !RSA_BITS.contains(&bits) {
                    return Err(KeyError::Size { algorithm, bits });
                }
                let pair = RsaKeyPair::from_der(&pkcs1).map_err(rejected)?;
                let spki = signature::KeyPair::public_key(&pair).as_der().map_err(damaged)?;
                let pkcs8 = key_der::rsa_pkcs8(&pkcs1)?;
                Ok(Self::assemble(algorithm, bits, pkcs8, spki.as_ref()))
            }
            Parts::Ecdsa { bits, sec1 } => {
                let algorithm = ecdsa_algorithm(bits)?;
                let pair =
                    EcdsaKeyPair::from_private_key_der(algorithm, &sec1).map_err(rejected)?;
                let public = signature::KeyPair::public_key(&pair);
                let pkcs8 = key_der::ecdsa_pkcs8(&sec1, public.as_ref())?;
                let spki = public.as_der().map_err(damaged)?;
                Ok(Self::assemble(KeyAlgorithm::Ecdsa, bits, pkcs8, spki.as_ref()))
            }
            Parts::Ed25519 { seed } => {
                let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(rejected)?;
                let spki = signature::KeyPair::public_key(&pair).as_der().map_err(damaged)?;
                let pkcs8 = key_der::ed25519_pkcs8(&seed)?;
                Ok(Self::assemble(KeyAlgorithm::Ed25519, 256, pkcs8, spki.as_ref()))
            }
        }
    }

    fn assemble(
        algorithm: KeyAlgorithm,
        size: u32,
        pkcs8: Zeroizing<Vec<u8>>,
        spki: &[u8],
    ) -> Self {
        let facts = KeyFacts { algorithm, size, public_key: public_key_digest(spki) };
        Self { pkcs8, spki: spki.to_vec(), facts }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// What is known of the key in a PEM text.
pub fn key_facts(pem: &str) -> Result<KeyFacts, KeyError> {
    PrivateKey::from_pem(pem).map(|key| key.facts)
}

/// The digest that stands for a public key, over the DER of its `SubjectPublicKeyInfo`.
pub(super) fn public_key_digest(spki: &[u8]) -> PublicKeyDigest {
    PublicKeyDigest(hex(digest::digest(&digest::SHA256, spki).as_ref()))
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing into a string cannot fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// aws-lc makes RSA keys of four sizes; the rest come from a slower generator.
fn generate_rsa(bits: u32) -> Result<PrivateKey, KeyError> {
    let algorithm = KeyAlgorithm::Rsa;
    let failed = KeyError::Generation { algorithm, bits };
    let size = match bits {
        2048 => KeySize::Rsa2048,
        3072 => KeySize::Rsa3072,
        4096 => KeySize::Rsa4096,
        8192 => KeySize::Rsa8192,
        2049..=8191 => {
            let count = usize::try_from(bits).map_err(|_| failed.clone())?;
            let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, count)
                .map_err(|_| failed.clone())?;
            return PrivateKey::from_pkcs8(key.to_pkcs8_der().map_err(|_| failed)?.as_bytes());
        }
        _ => return Err(KeyError::Size { algorithm, bits }),
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

const RSA_BITS: std::ops::RangeInclusive<u32> = 2048..=8192;
