//! What solver and self-check of HTTP-01 share: the path, the token, the self-check's header.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest;
use thiserror::Error;

use super::hex;

/// The path under which a CA requests tokens (RFC 8555 section 8.3), with a slash at
/// both ends.
pub const CHALLENGE_PATH: &str = "/.well-known/acme-challenge/";

/// Where a CA requests a token of a name: over HTTP, at port 80.
pub fn challenge_url(name: impl fmt::Display, token: &str) -> String {
    format!("http://{name}{CHALLENGE_PATH}{token}")
}

/// A request with this header is a self-check, of this process or another; it is answered like
/// any other but not counted as a hit. A stranger who sends it only hides his own request.
pub const SELF_CHECK_HEADER: &str = "x-certctl-self-check";

/// The listener's answer to a self-check repeats the Host of the request in this header: what
/// arrived there shows what a proxy on the way has changed.
pub const RECEIVED_HOST_HEADER: &str = "x-certctl-received-host";

/// The listener's answer to a self-check for a token that it does not have has this header: another
/// certctl than the one that presented the token has the port.
pub const UNKNOWN_TOKEN_HEADER: &str = "x-certctl-unknown-token";

/// A challenge's token: 1 to 512 characters of the base64url alphabet (RFC 8555 section 8.3), so
/// it holds no separator, no dot and nothing that a URL would escape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(String);

impl Token {
    /// What stands for the token of TLS-ALPN-01, of which the CA sends the server name alone: its
    /// SHA-256, since a name has dots. The case of letters does not count.
    pub fn of_server_name(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        Self(hex(digest::digest(&digest::SHA256, lower.as_bytes()).as_ref()))
    }

    /// The token's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(TokenError::TooLong { bytes: text.len() });
        }
        let stranger = |c: &char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_');
        match text.chars().find(stranger) {
            Some(character) => Err(TokenError::Character { character }),
            None => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not a token.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// Nothing.
    #[error("the CA sent an empty token")]
    Empty,
    /// Over 512 bytes.
    #[error("the CA sent a token of {bytes} bytes, at most {MAX_BYTES} are taken")]
    TooLong {
        /// Length found, in bytes.
        bytes: usize,
    },
    /// A character outside the base64url alphabet.
    #[error("the CA sent a token with {character:?}, which is not of the base64url alphabet")]
    Character {
        /// The first such character.
        character: char,
    },
}

const MAX_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_name_is_one_token_whatever_its_case() {
        let token = Token::of_server_name("abc");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(token.as_str(), expected);
        assert_eq!(token.to_string().parse(), Ok(token.clone()));
        assert_eq!(Token::of_server_name("aBC"), token);
        assert_ne!(Token::of_server_name("abc."), token);
    }

    #[test]
    fn only_the_base64url_alphabet_makes_a_token() {
        let long = "a".repeat(512);
        for good in ["a", "-_-", "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0", &long] {
            assert_eq!(good.parse::<Token>().map(|t| t.to_string()), Ok(good.to_owned()));
        }
        let wrong = |character| TokenError::Character { character };
        let cases = [
            (String::new(), TokenError::Empty),
            ("a".repeat(513), TokenError::TooLong { bytes: 513 }),
            ("../../x".to_owned(), wrong('.')),
            ("a/b".to_owned(), wrong('/')),
            ("a\0".to_owned(), wrong('\0')),
            ("a%2fb".to_owned(), wrong('%')),
            ("a\r\nb".to_owned(), wrong('\r')),
            ("a\"".to_owned(), wrong('"')),
            ("ä".to_owned(), wrong('ä')),
            ("a=".to_owned(), wrong('=')),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Token>(), Err(expected), "{text:?}");
        }
    }
}
