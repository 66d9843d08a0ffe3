//! HTTP-01 without a token: a server answers any one with `TOKEN.THUMBPRINT`, since the key
//! authorization of every token of an account ends in the same thumbprint (RFC 8555 section 8.1).

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand;

use crate::resource::{Token, TokenError, hex};

/// The thumbprint of the account's key (RFC 7638) in a key authorization.
pub(super) fn thumbprint_of(key_authorization: &str) -> &str {
    key_authorization.rsplit_once('.').map_or(key_authorization, |(_, thumbprint)| thumbprint)
}

/// A token that no CA has given and no file has: only a server that answers any token has an answer.
pub fn made_up_token() -> Result<Token, MadeUpTokenError> {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes)?;
    Ok(format!("certctl-check-{}", hex(&bytes)).parse()?)
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum MadeUpTokenError {
    #[error("no random bytes available")]
    Random(#[from] Unspecified),
    #[error(transparent)]
    Token(#[from] TokenError),
}
