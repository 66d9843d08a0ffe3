//! Why a keystore cannot be made, and the random bytes that it is made with.

use thiserror::Error;

/// Why a keystore cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeystoreError {
    /// A Java keystore counts its texts with 16 bits.
    #[error("an alias of {bytes} bytes is too long")]
    AliasTooLong { bytes: usize },
    /// The library returned an error.
    #[error("the cryptographic library could not {action}")]
    Library {
        /// The failed operation.
        action: &'static str,
    },
}

/// Fills an array with random bytes.
pub(super) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], KeystoreError> {
    let mut bytes = [0; LENGTH];
    let action = "draw random bytes";
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| KeystoreError::Library { action })?;
    Ok(bytes)
}
