//! Errors of private keys.

use thiserror::Error;

use super::pem::PemError;
use crate::resource::KeyAlgorithm;

/// Why a private key cannot be generated or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The size is not supported for this algorithm.
    #[error("{algorithm} key of {bits} bits: {} expected", sizes(*algorithm))]
    Size {
        algorithm: KeyAlgorithm,
        /// Bits requested or found.
        bits: u32,
    },
    /// The generator failed.
    #[error("cannot generate a {algorithm} key of {bits} bits")]
    Generation {
        algorithm: KeyAlgorithm,
        /// Bits requested.
        bits: u32,
    },
    /// The text exceeds the limit.
    #[error("private key file has {bytes} bytes, more than {max}")]
    TooLong {
        /// Length of the text.
        bytes: usize,
        /// The longest text that is read.
        max: usize,
    },
    /// There is no PEM block in the text, or only EC parameters.
    #[error("error decoding private key PEM block: no PEM data was found in given input")]
    NotFound,
    /// The text is not PEM.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// The key is encrypted.
    #[error("private key is encrypted")]
    Encrypted,
    /// The block is not a private key of a known form.
    #[error("PEM block `{label}` is not a private key that can be used")]
    Label {
        /// The label of the block.
        label: String,
    },
    /// The content does not match the label.
    #[error("private key is damaged: {reason}")]
    Damaged { reason: String },
    /// A key that is not RSA, ECDSA or Ed25519.
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
