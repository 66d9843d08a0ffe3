//! The facts of a key: its algorithm, size and digest; and how keys are encoded.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `spec.privateKey.algorithm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KeyAlgorithm {
    /// RSA; cert-manager's default.
    #[default]
    #[serde(rename = "RSA")]
    Rsa,
    /// ECDSA on a NIST curve.
    #[serde(rename = "ECDSA")]
    Ecdsa,
    /// Ed25519.
    Ed25519,
}

impl fmt::Display for KeyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The sizes of the RSA keys that are made, in bits. cert-manager makes any from 2048 to 8192.
pub const RSA_SIZES: [u32; 4] = [2048, 3072, 4096, 8192];

/// `spec.privateKey.encoding`: how tls.key is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum KeyEncoding {
    /// `RSA PRIVATE KEY`, or SEC 1 `EC PRIVATE KEY`; Ed25519 stays PKCS#8.
    #[default]
    #[serde(rename = "PKCS1")]
    Pkcs1,
    /// `PRIVATE KEY`.
    #[serde(rename = "PKCS8")]
    Pkcs8,
}

/// `spec.signatureAlgorithm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SignatureAlgorithm {
    /// RSA PKCS#1 v1.5 with SHA-256.
    #[serde(rename = "SHA256WithRSA")]
    Sha256WithRsa,
    /// RSA PKCS#1 v1.5 with SHA-384.
    #[serde(rename = "SHA384WithRSA")]
    Sha384WithRsa,
    /// RSA PKCS#1 v1.5 with SHA-512.
    #[serde(rename = "SHA512WithRSA")]
    Sha512WithRsa,
    /// ECDSA with SHA-256.
    #[serde(rename = "ECDSAWithSHA256")]
    EcdsaWithSha256,
    /// ECDSA with SHA-384.
    #[serde(rename = "ECDSAWithSHA384")]
    EcdsaWithSha384,
    /// ECDSA with SHA-512.
    #[serde(rename = "ECDSAWithSHA512")]
    EcdsaWithSha512,
    /// Ed25519.
    #[serde(rename = "PureEd25519")]
    PureEd25519,
}

impl fmt::Display for SignatureAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl SignatureAlgorithm {
    /// The key algorithm this signature needs.
    pub fn key_algorithm(self) -> KeyAlgorithm {
        match self {
            Self::Sha256WithRsa | Self::Sha384WithRsa | Self::Sha512WithRsa => KeyAlgorithm::Rsa,
            Self::EcdsaWithSha256 | Self::EcdsaWithSha384 | Self::EcdsaWithSha512 => {
                KeyAlgorithm::Ecdsa
            }
            Self::PureEd25519 => KeyAlgorithm::Ed25519,
        }
    }

    /// Whether certctl can sign with a key of this algorithm and size: the library pairs P-256 and
    /// P-384 with the hash of their own length only. cert-manager takes each pair.
    pub fn fits(self, algorithm: KeyAlgorithm, bits: u32) -> bool {
        let fits_curve = match (self, bits) {
            (Self::EcdsaWithSha256, 384)
            | (Self::EcdsaWithSha384, 256)
            | (Self::EcdsaWithSha512, 256 | 384) => false,
            (
                Self::Sha256WithRsa
                | Self::Sha384WithRsa
                | Self::Sha512WithRsa
                | Self::EcdsaWithSha256
                | Self::EcdsaWithSha384
                | Self::EcdsaWithSha512
                | Self::PureEd25519,
                _,
            ) => true,
        };
        self.key_algorithm() == algorithm && fits_curve
    }
}

/// SHA-256 over a SubjectPublicKeyInfo, in lower-case hexadecimal: two keys are the same when
/// their digests are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PublicKeyDigest(pub String);

/// The facts of a private or public key for the controllers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyFacts {
    /// The algorithm.
    pub algorithm: KeyAlgorithm,
    /// Bits of the modulus or the curve; 256 for Ed25519.
    pub size: u32,
    /// Digest of the public half.
    pub public_key: PublicKeyDigest,
}
