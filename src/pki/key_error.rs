//! What can be wrong with a private key.

use thiserror::Error;

use super::pem::PemError;
use crate::resource::KeyAlgorithm;

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
    #[error("error decoding private key PEM block: no PEM data was found in given input")]
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
