//! Random bytes for nonces, tokens and serial numbers.

use aws_lc_rs::rand;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// `bytes` random bytes in base64url.
pub(super) fn token(bytes: usize) -> String {
    let mut buffer = vec![0_u8; bytes];
    fill(&mut buffer);
    URL_SAFE_NO_PAD.encode(buffer)
}

/// A positive serial number of 16 bytes without leading zeros (RFC 5280 section 4.1.2.2).
pub(super) fn serial() -> [u8; 16] {
    let mut buffer = [0_u8; 16];
    fill(&mut buffer);
    if let Some(first) = buffer.first_mut() {
        *first = (*first & 0x3f) | 0x40;
    }
    buffer
}

fn fill(buffer: &mut [u8]) {
    #[expect(clippy::expect_used, reason = "aws-lc aborts before it lacks randomness")]
    rand::fill(buffer).expect("the system's random source");
}
