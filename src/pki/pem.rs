//! PEM: the textual encoding of keys, requests and certificates (RFC 7468).
//!
//! Reading takes one pass over the text, skips text outside the blocks, accepts any line ending,
//! and leaves no copy of a body in memory. The callers limit the size of the whole text.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use thiserror::Error;
use zeroize::Zeroizing;

/// Why a text cannot be split into PEM blocks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PemError {
    /// A block has a first line and no last one.
    #[error("PEM block `{label}` has no END line")]
    Unterminated {
        /// The label after BEGIN.
        label: String,
    },
    /// The last line of a block names another label than its first.
    #[error("PEM block `{begin}` ends with `{end}`")]
    LabelMismatch {
        /// The label after BEGIN.
        begin: String,
        /// The label after END.
        end: String,
    },
    /// The body is not base64.
    #[error("PEM block `{label}` is not base64")]
    Base64 {
        /// The label after BEGIN.
        label: String,
    },
}

/// One block: its label, whether its headers say that it is encrypted, and its bytes.
pub(super) struct Block<'a> {
    pub(super) label: &'a str,
    pub(super) is_encrypted: bool,
    pub(super) der: Zeroizing<Vec<u8>>,
}

/// Iterates over the blocks of a text; ends after the first error.
pub(super) fn blocks(text: &str) -> Blocks<'_> {
    Blocks { rest: text }
}

/// The iterator of [`blocks`].
pub(super) struct Blocks<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<Block<'a>, PemError>;

    fn next(&mut self) -> Option<Self::Item> {
        let label = loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(label) = boundary(self.next_line().trim(), "-----BEGIN ") {
                break label;
            }
        };
        let body = self.rest;
        loop {
            let length = body.len() - self.rest.len();
            if self.rest.is_empty() {
                return Some(Err(PemError::Unterminated { label: label.to_owned() }));
            }
            let Some(end) = boundary(self.next_line().trim(), "-----END ") else { continue };
            if end != label {
                self.rest = "";
                let (begin, end) = (label.to_owned(), end.to_owned());
                return Some(Err(PemError::LabelMismatch { begin, end }));
            }
            let block = decode(label, body.get(..length).unwrap_or_default());
            if block.is_err() {
                self.rest = "";
            }
            return Some(block);
        }
    }
}

impl<'a> Blocks<'a> {
    fn next_line(&mut self) -> &'a str {
        let end = self.rest.bytes().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, rest) = match end {
            // Both are one byte, and never a part of another character.
            Some(end) => (self.rest.get(..end), self.rest.get(end.saturating_add(1)..)),
            None => (Some(self.rest), None),
        };
        self.rest = rest.unwrap_or_default();
        line.unwrap_or_default()
    }
}

/// The label of a boundary line, if the line is one.
fn boundary<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.strip_prefix(start)?.strip_suffix("-----")
}

fn decode<'a>(label: &'a str, body: &str) -> Result<Block<'a>, PemError> {
    let mut is_encrypted = false;
    let mut digits = Zeroizing::new(Vec::with_capacity(body.len()));
    let mut lines = Blocks { rest: body };
    while !lines.rest.is_empty() {
        let line = lines.next_line();
        // RFC 1421 headers, as OpenSSL writes them into an encrypted key; base64 has no colon.
        if line.contains(':') {
            is_encrypted |= line.starts_with("Proc-Type:") && line.contains("ENCRYPTED");
        } else if line.bytes().any(|byte| byte.is_ascii_whitespace()) {
            digits.extend(line.bytes().filter(|byte| !byte.is_ascii_whitespace()));
        } else {
            digits.extend_from_slice(line.as_bytes());
        }
    }
    let mut der = Zeroizing::new(Vec::with_capacity(digits.len()));
    match BASE64.decode_vec(&*digits, &mut der) {
        Ok(()) => Ok(Block { label, is_encrypted, der }),
        Err(_) => Err(PemError::Base64 { label: label.to_owned() }),
    }
}

/// Writes one block: lines of 64 characters, each ended by a line feed.
pub(super) fn encode(label: &str, der: &[u8]) -> Zeroizing<String> {
    // Enough for base64, its line ends and both boundary lines, so that no copy is left behind.
    let mut text = String::with_capacity(der.len() / 3 * 4 + der.len() / 48 + 2 * label.len() + 64);
    text.push_str("-----BEGIN ");
    text.push_str(label);
    text.push_str("-----\n");
    for line in der.chunks(48) {
        BASE64.encode_string(line, &mut text);
        text.push('\n');
    }
    text.push_str("-----END ");
    text.push_str(label);
    text.push_str("-----\n");
    Zeroizing::new(text)
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[cfg(test)]
mod tests {
    use super::*;

    type Found = Vec<Result<(String, bool, Vec<u8>), PemError>>;

    fn read(text: &str) -> Found {
        blocks(text)
            .map(|block| block.map(|b| (b.label.to_owned(), b.is_encrypted, b.der.to_vec())))
            .collect()
    }

    #[test]
    fn blocks_are_found_in_any_surroundings() {
        let good = |label: &str, der: &[u8]| Ok((label.to_owned(), false, der.to_vec()));
        let cases: Vec<(&str, Found)> = vec![
            ("", vec![]),
            ("no block at all\n", vec![]),
            ("-----BEGIN A-----\nAQID\n-----END A-----", vec![good("A", &[1, 2, 3])]),
            ("-----BEGIN A-----\r\nAQ\r\nID\r\n-----END A-----\r\n", vec![good("A", &[1, 2, 3])]),
            ("-----BEGIN A-----\rAQID\r-----END A-----\r", vec![good("A", &[1, 2, 3])]),
            (
                "subject=x\n-----BEGIN A B-----\nAQ==\n-----END A B-----\nissuer\n\
                 -----BEGIN C-----\n-----END C-----\n",
                vec![good("A B", &[1]), good("C", &[])],
            ),
            (
                "-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES,00\n\nAQID\n-----END A-----",
                vec![Ok(("A".to_owned(), true, vec![1, 2, 3]))],
            ),
            ("-----BEGIN A-----\nAQID\n", vec![Err(PemError::Unterminated { label: "A".into() })]),
            (
                "-----BEGIN A-----\nAQID\n-----END B-----\n-----BEGIN A-----\n-----END A-----",
                vec![Err(PemError::LabelMismatch { begin: "A".into(), end: "B".into() })],
            ),
            (
                "-----BEGIN A-----\nAQ!D\n-----END A-----\n",
                vec![Err(PemError::Base64 { label: "A".into() })],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_never_outgrows_its_buffer() {
        for length in 0..200u8 {
            let der: Vec<u8> = (0..length).collect();
            let text = encode("SOME LABEL", &der);
            assert!(text.lines().all(|line| line.len() <= 64));
            assert_eq!(read(&text), vec![Ok(("SOME LABEL".to_owned(), false, der))]);
            let needed = usize::from(length) / 3 * 4 + usize::from(length) / 48 + 20 + 64;
            assert!(text.len() <= needed, "{} > {needed}", text.len());
        }
    }

    #[test]
    fn reading_takes_time_in_proportion_to_the_text() {
        let empty = "-----BEGIN A-----\n-----END A-----\n".repeat(20_000);
        assert_eq!(blocks(&empty).count(), 20_000);
        let open = "-----BEGIN A-----\n".repeat(40_000);
        assert_eq!(blocks(&open).count(), 1);
    }
}
