//! Java keystores of version 2, the format that `keytool -storetype JKS` reads.
//!
//! | part | bytes |
//! | --- | --- |
//! | head | magic, version, number of entries: 4 bytes each |
//! | key entry | 1, alias, milliseconds, protected key, chain |
//! | trusted entry | 2, alias, milliseconds, certificate |
//! | tail | SHA-1 over the password, a constant, and everything before |
//!
//! The key is protected by an XOR with a chain of SHA-1 digests over salt and password: the format
//! requires this weak protection. Prefer PKCS#12.

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA1_OUTPUT_LEN};
use der::asn1::{Null, ObjectIdentifier};
use zeroize::Zeroizing;

use super::asn1::{encoded, octets, sequence, utf16};
use super::error::{KeystoreError, random};

const MAGIC: u32 = 0xfeed_feed;
const VERSION: u32 = 2;
const KEY_ENTRY: u32 = 1;
const TRUSTED_ENTRY: u32 = 2;
/// The constant that Java adds to the final digest.
const WHITENER: &[u8] = b"Mighty Aphrodite";
/// Sun's key protector.
const KEY_PROTECTOR: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.42.2.17.1.1");

/// A store that entries are put into.
pub(super) struct Store {
    password: Zeroizing<Vec<u8>>,
    milliseconds: i64,
    count: u32,
    entries: Zeroizing<Vec<u8>>,
}

impl Store {
    pub(super) fn new(password: &str, milliseconds: i64) -> Self {
        let password = utf16(password);
        Self { password, milliseconds, count: 0, entries: Zeroizing::default() }
    }

    pub(super) fn key_entry(
        &mut self,
        alias: &str,
        pkcs8: &[u8],
        chain: &[Vec<u8>],
    ) -> Result<(), KeystoreError> {
        let protected = self.protect(pkcs8)?;
        self.begin(KEY_ENTRY, alias)?;
        self.counted(&protected);
        self.number(chain.len());
        for der in chain {
            self.certificate(der)?;
        }
        Ok(())
    }

    pub(super) fn trusted_entry(&mut self, alias: &str, der: &[u8]) -> Result<(), KeystoreError> {
        self.begin(TRUSTED_ENTRY, alias)?;
        self.certificate(der)
    }

    /// The store as a file.
    pub(super) fn finish(self) -> Zeroizing<Vec<u8>> {
        let mut file = Zeroizing::new(Vec::with_capacity(self.entries.len() + 32));
        for number in [MAGIC, VERSION, self.count] {
            file.extend_from_slice(&number.to_be_bytes());
        }
        file.extend_from_slice(&self.entries);
        let digest = sha1(&[&self.password, WHITENER, &file]);
        file.extend_from_slice(&digest);
        file
    }

    fn begin(&mut self, kind: u32, alias: &str) -> Result<(), KeystoreError> {
        self.count += 1;
        self.entries.extend_from_slice(&kind.to_be_bytes());
        self.text(&alias.to_lowercase())?;
        self.entries.extend_from_slice(&self.milliseconds.to_be_bytes());
        Ok(())
    }

    fn certificate(&mut self, der: &[u8]) -> Result<(), KeystoreError> {
        self.text("X.509")?;
        self.counted(der);
        Ok(())
    }

    /// A text as Java's `writeUTF` writes it; beyond the BMP each half of a pair counts alone.
    fn text(&mut self, text: &str) -> Result<(), KeystoreError> {
        let mut bytes = Vec::with_capacity(text.len());
        for unit in text.encode_utf16() {
            let low = |shift: u32| u8::try_from((unit >> shift) & 0x3f).unwrap_or(0) | 0x80;
            match unit {
                1..=0x7f => bytes.push(u8::try_from(unit).unwrap_or(0)),
                0 | 0x80..=0x7ff => {
                    bytes.extend([0xc0 | u8::try_from(unit >> 6).unwrap_or(0), low(0)]);
                }
                _ => {
                    bytes.extend([0xe0 | u8::try_from(unit >> 12).unwrap_or(0), low(6), low(0)]);
                }
            }
        }
        let length = u16::try_from(bytes.len())
            .map_err(|_| KeystoreError::AliasTooLong { bytes: bytes.len() })?;
        self.entries.extend_from_slice(&length.to_be_bytes());
        self.entries.extend_from_slice(&bytes);
        Ok(())
    }

    fn counted(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.entries.extend_from_slice(bytes);
    }

    fn number(&mut self, number: usize) {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.entries.extend_from_slice(&number.to_be_bytes());
    }

    /// An EncryptedPrivateKeyInfo (RFC 5208 section 6) of Sun's key protector.
    fn protect(&self, pkcs8: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeystoreError> {
        let salt = random::<SHA1_OUTPUT_LEN>()?;
        let mut protected = Zeroizing::new(salt.to_vec());
        let mut link = salt;
        for block in pkcs8.chunks(SHA1_OUTPUT_LEN) {
            link = sha1(&[&self.password, &link]);
            protected.extend(block.iter().zip(link).map(|(plain, key)| plain ^ key));
        }
        protected.extend_from_slice(&sha1(&[&self.password, pkcs8]));
        let algorithm = sequence(&[&encoded(&KEY_PROTECTOR), &encoded(&Null)]);
        Ok(sequence(&[&algorithm, &octets(&protected)]))
    }
}

fn sha1(parts: &[&[u8]]) -> [u8; SHA1_OUTPUT_LEN] {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    for part in parts {
        context.update(part);
    }
    let mut digest = [0; SHA1_OUTPUT_LEN];
    for (to, from) in digest.iter_mut().zip(context.finish().as_ref()) {
        *to = *from;
    }
    digest
}
