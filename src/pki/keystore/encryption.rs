//! Encryption and authentication by a password: the schemes of RFC 7292 and RFC 8018.

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{AES_256, PaddedBlockEncryptingKey, UnboundCipherKey};
use aws_lc_rs::{digest, hmac, pbkdf2};
use cbc::Encryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeEncrypt, KeyIvInit};
use der::asn1::{Null, ObjectIdentifier};
use des::TdesEde3;
use rc2::Rc2;
use zeroize::Zeroizing;

use super::asn1::{Bytes, encoded, octets, sequence, utf16};
use super::error::{KeystoreError, random};

/// The iteration count of the old schemes: that of OpenSSL and cert-manager.
const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(2047);
/// The iteration count of the new schemes: Java's.
const MODERN_ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(9999);
/// The block length of SHA-1 and SHA-256, which the derivation of RFC 7292 works in.
const BLOCK: usize = 64;

const PBE_SHA1_3DES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.3");
const PBE_SHA1_RC2_40: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.6");
const PBKDF2: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5.12");
const PBES2: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5.13");
const PBMAC1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.5.14");
const HMAC_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.2.9");
const AES_256_CBC: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.1.42");
const SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");

/// How something is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encryption {
    /// RC2 with 40 bits (RFC 7292 appendix C): practically no protection.
    Rc2,
    /// 3DES with three keys (RFC 7292 appendix C).
    TripleDes,
    /// AES-256 under PBKDF2 with HMAC-SHA256 (RFC 8018 section 6.2).
    Aes256,
}

impl Encryption {
    /// The AlgorithmIdentifier, and the plain text encrypted.
    pub(super) fn encrypt(
        self,
        password: &str,
        plain: &[u8],
    ) -> Result<(Bytes, Vec<u8>), KeystoreError> {
        match self {
            Self::Rc2 => {
                // Its key of five bytes is also its effective length.
                old_scheme::<Encryptor<Rc2>>(PBE_SHA1_RC2_40, 5, password, plain)
            }
            Self::TripleDes => {
                old_scheme::<Encryptor<TdesEde3>>(PBE_SHA1_3DES, 24, password, plain)
            }
            Self::Aes256 => aes256(password, plain),
        }
    }
}

fn old_scheme<C: KeyIvInit + BlockModeEncrypt>(
    scheme: ObjectIdentifier,
    key_length: usize,
    password: &str,
    plain: &[u8],
) -> Result<(Bytes, Vec<u8>), KeystoreError> {
    let salt = random::<8>()?;
    let algorithm = &digest::SHA1_FOR_LEGACY_USE_ONLY;
    let key = derive(algorithm, Purpose::Encryption, password, &salt, key_length);
    let start = derive(algorithm, Purpose::InitialVector, password, &salt, 8);
    let failed = |_| KeystoreError::Library { action: "set up a cipher" };
    let cipher = C::new_from_slices(&key, &start).map_err(failed)?;
    let parameters = sequence(&[&octets(&salt), &encoded(&ITERATIONS.get())]);
    let identifier = sequence(&[&encoded(&scheme), &parameters]);
    Ok((identifier, cipher.encrypt_padded_vec::<Pkcs7>(plain)))
}

fn aes256(password: &str, plain: &[u8]) -> Result<(Bytes, Vec<u8>), KeystoreError> {
    let failed = |_| KeystoreError::Library { action: "encrypt with AES-256" };
    let salt = random::<16>()?;
    let key = pbkdf2_key(password, &salt);
    let key = UnboundCipherKey::new(&AES_256, &*key).map_err(failed)?;
    let cipher = PaddedBlockEncryptingKey::cbc_pkcs7(key).map_err(failed)?;
    let mut text = plain.to_vec();
    let context = cipher.encrypt(&mut text).map_err(failed)?;
    let start = <&[u8]>::try_from(&context).map_err(failed)?;
    let cipher = sequence(&[&encoded(&AES_256_CBC), &octets(start)]);
    let parameters = sequence(&[&pbkdf2_identifier(&salt, None), &cipher]);
    Ok((sequence(&[&encoded(&PBES2), &parameters]), text))
}

fn pbkdf2_key(password: &str, salt: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
    pbkdf2::derive(algorithm, MODERN_ITERATIONS, salt, password.as_bytes(), &mut *key);
    key
}

fn pbkdf2_identifier(salt: &[u8], key_length: Option<u32>) -> Bytes {
    let length = key_length.map(|length| encoded(&length)).unwrap_or_default();
    let pseudo_random = sequence(&[&encoded(&HMAC_SHA256), &encoded(&Null)]);
    let iterations = encoded(&MODERN_ITERATIONS.get());
    let parameters = sequence(&[&octets(salt), &iterations, &length, &pseudo_random]);
    sequence(&[&encoded(&PBKDF2), &parameters])
}

/// How a store is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authentication {
    /// HMAC-SHA1 (RFC 7292 section 4).
    HmacSha1,
    /// HMAC-SHA256, likewise.
    HmacSha256,
    /// HMAC-SHA256 under PBKDF2 (RFC 9579).
    Pbmac1,
}

impl Authentication {
    /// The MacData over the contents.
    pub(super) fn mac_data(self, password: &str, contents: &[u8]) -> Result<Bytes, KeystoreError> {
        let salt = random::<16>()?;
        let (algorithm, mac) = match self {
            Self::HmacSha1 => {
                let (digest, mac) =
                    (&digest::SHA1_FOR_LEGACY_USE_ONLY, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY);
                let key = derive(digest, Purpose::Authentication, password, &salt, 20);
                (sequence(&[&encoded(&SHA1), &encoded(&Null)]), sign(mac, &key, contents))
            }
            Self::HmacSha256 => {
                let key = derive(&digest::SHA256, Purpose::Authentication, password, &salt, 32);
                (
                    sequence(&[&encoded(&SHA256), &encoded(&Null)]),
                    sign(hmac::HMAC_SHA256, &key, contents),
                )
            }
            Self::Pbmac1 => {
                let key = pbkdf2_key(password, &salt);
                let scheme = sequence(&[&encoded(&HMAC_SHA256), &encoded(&Null)]);
                let parameters = sequence(&[&pbkdf2_identifier(&salt, Some(32)), &scheme]);
                let algorithm = sequence(&[&encoded(&PBMAC1), &parameters]);
                (algorithm, sign(hmac::HMAC_SHA256, &*key, contents))
            }
        };
        let digest_info = sequence(&[&algorithm, &octets(mac.as_ref())]);
        // PBMAC1 has its own salt and count and leaves these two unread.
        Ok(sequence(&[&digest_info, &octets(&salt), &encoded(&ITERATIONS.get())]))
    }
}

fn sign(algorithm: hmac::Algorithm, key: &[u8], contents: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(algorithm, key), contents)
}

/// What a derived key is for (RFC 7292 appendix B.3).
#[derive(Clone, Copy)]
enum Purpose {
    Encryption,
    InitialVector,
    Authentication,
}

/// A key of `length` bytes (RFC 7292 appendix B.2).
fn derive(
    algorithm: &'static digest::Algorithm,
    purpose: Purpose,
    password: &str,
    salt: &[u8],
    length: usize,
) -> Zeroizing<Vec<u8>> {
    let purpose = match purpose {
        Purpose::Encryption => 1,
        Purpose::InitialVector => 2,
        Purpose::Authentication => 3,
    };
    let mut password = utf16(password);
    password.extend_from_slice(&[0, 0]);
    let mut input = Zeroizing::new(filled(salt));
    input.extend(filled(&password));
    let mut key = Zeroizing::new(Vec::with_capacity(length + BLOCK));
    while key.len() < length {
        let mut context = digest::Context::new(algorithm);
        context.update(&[purpose; BLOCK]);
        context.update(&input);
        let mut link = context.finish();
        for _ in 1..ITERATIONS.get() {
            link = digest::digest(algorithm, link.as_ref());
        }
        key.extend_from_slice(link.as_ref());
        let step: Vec<u8> = link.as_ref().iter().copied().cycle().take(BLOCK).collect();
        for block in input.chunks_mut(BLOCK) {
            add_one_more(block, &step);
        }
    }
    key.truncate(length);
    key
}

/// The bytes again and again, until whole blocks are full.
fn filled(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().cycle().take(bytes.len().div_ceil(BLOCK) * BLOCK).collect()
}

/// `number + step + 1`, the last byte being the lowest, without what overflows.
fn add_one_more(number: &mut [u8], step: &[u8]) {
    let mut carry = 1_u16;
    for (digit, increment) in number.iter_mut().zip(step).rev() {
        let [high, low] = (u16::from(*digit) + u16::from(*increment) + carry).to_be_bytes();
        *digit = low;
        carry = high.into();
    }
}
