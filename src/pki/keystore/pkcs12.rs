//! PKCS#12 stores (RFC 7292), in cert-manager's four profiles.
//!
//! | profile | certificates | key | authentication |
//! | --- | --- | --- | --- |
//! | LegacyRC2 | RC2, 40 bits | 3DES | HMAC-SHA1 |
//! | LegacyDES | 3DES | 3DES | HMAC-SHA1 |
//! | Modern2023 | AES-256 | AES-256 | HMAC-SHA256 |
//! | Modern2026 | AES-256 | AES-256 | PBMAC1 (RFC 9579) |

use aws_lc_rs::digest;
use der::asn1::ObjectIdentifier;

use super::asn1::{Bytes, bmp_string, encoded, octets, sequence, set, tagged};
use super::encryption::{Authentication, Encryption};
use super::error::KeystoreError;
use crate::pki::private_key::PrivateKey;
use crate::resource::{KeyEncoding, KeystoreProfile};

/// The alias of a CA certificate.
pub(super) fn authority_alias(index: usize) -> String {
    if index == 0 { "ca".to_owned() } else { format!("ca-{index}") }
}

const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const ENCRYPTED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.6");
const KEY_BAG: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.10.1.2");
const CERTIFICATE_BAG: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.10.1.3");
const X509_CERTIFICATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.22.1");
const FRIENDLY_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.20");
const LOCAL_KEY_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.21");
/// Java trusts a certificate without a key only with this attribute.
const TRUSTED_KEY_USAGE: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("2.16.840.1.113894.746875.1.1");
const ANY_EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// A store with a key, its chain, and CA certificates. The leaf is tied to the key.
pub(super) fn key_store(
    key: &PrivateKey,
    chain: &[Vec<u8>],
    authorities: &[Vec<u8>],
    profile: KeystoreProfile,
    password: &str,
) -> Result<Bytes, KeystoreError> {
    let (for_certificates, for_key, authentication) = schemes(profile);
    let leaf = chain.first().map(Vec::as_slice).unwrap_or_default();
    let id = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, leaf);
    let tie = attribute(LOCAL_KEY_ID, &octets(id.as_ref()));
    let mut bags = Vec::new();
    for (index, der) in chain.iter().chain(authorities).enumerate() {
        let attributes: &[&[u8]] = if index == 0 { &[&tie] } else { &[] };
        bags.push(certificate_bag(der, attributes));
    }
    let certificates = encrypted_contents(for_certificates, password, &bags)?;
    let pkcs8 = key.der(KeyEncoding::Pkcs8);
    let (algorithm, cipher_text) = for_key.encrypt(password, &pkcs8)?;
    let shrouded = sequence(&[&algorithm, &octets(&cipher_text)]);
    let bag = bag(KEY_BAG, &shrouded, &[&tie]);
    let key = sequence(&[&encoded(&DATA), &tagged(true, &octets(&sequence(&[&bag])))]);
    store(&[&certificates, &key], authentication, password)
}

/// A store with trusted CA certificates alone.
pub(super) fn trust_store(
    authorities: &[Vec<u8>],
    profile: KeystoreProfile,
    password: &str,
) -> Result<Bytes, KeystoreError> {
    let (for_certificates, _, authentication) = schemes(profile);
    let trusted = attribute(TRUSTED_KEY_USAGE, &encoded(&ANY_EXTENDED_KEY_USAGE));
    let bags: Vec<Bytes> = authorities
        .iter()
        .enumerate()
        .map(|(index, der)| {
            let name = attribute(FRIENDLY_NAME, &bmp_string(&authority_alias(index)));
            certificate_bag(der, &[&name, &trusted])
        })
        .collect();
    let certificates = encrypted_contents(for_certificates, password, &bags)?;
    store(&[&certificates], authentication, password)
}

/// For certificates, for the key, and for the whole.
fn schemes(profile: KeystoreProfile) -> (Encryption, Encryption, Authentication) {
    use Authentication::{HmacSha1, HmacSha256, Pbmac1};
    use Encryption::{Aes256, Rc2, TripleDes};
    match profile {
        KeystoreProfile::LegacyRC2 => (Rc2, TripleDes, HmacSha1),
        KeystoreProfile::LegacyDES => (TripleDes, TripleDes, HmacSha1),
        KeystoreProfile::Modern2023 => (Aes256, Aes256, HmacSha256),
        KeystoreProfile::Modern2026 => (Aes256, Aes256, Pbmac1),
    }
}

/// A PFX (RFC 7292 section 4) around contents that are encrypted where they have to be.
fn store(
    contents: &[&[u8]],
    authentication: Authentication,
    password: &str,
) -> Result<Bytes, KeystoreError> {
    let safe = sequence(contents);
    let mac = authentication.mac_data(password, &safe)?;
    let contents = sequence(&[&encoded(&DATA), &tagged(true, &octets(&safe))]);
    Ok(sequence(&[&encoded(&3_u32), &contents, &mac]))
}

/// A ContentInfo with EncryptedData (RFC 5652 section 8) around bags.
fn encrypted_contents(
    encryption: Encryption,
    password: &str,
    bags: &[Bytes],
) -> Result<Bytes, KeystoreError> {
    let parts: Vec<&[u8]> = bags.iter().map(|bag| bag.as_slice()).collect();
    let (algorithm, cipher_text) = encryption.encrypt(password, &sequence(&parts))?;
    let text = tagged(false, &cipher_text);
    let info = sequence(&[&encoded(&DATA), &algorithm, &text]);
    let data = sequence(&[&encoded(&0_u32), &info]);
    Ok(sequence(&[&encoded(&ENCRYPTED_DATA), &tagged(true, &data)]))
}

fn certificate_bag(der: &[u8], attributes: &[&[u8]]) -> Bytes {
    let value = sequence(&[&encoded(&X509_CERTIFICATE), &tagged(true, &octets(der))]);
    bag(CERTIFICATE_BAG, &value, attributes)
}

/// A SafeBag (RFC 7292 section 4.2).
fn bag(kind: ObjectIdentifier, value: &[u8], attributes: &[&[u8]]) -> Bytes {
    let attributes = if attributes.is_empty() { Bytes::default() } else { set(attributes) };
    sequence(&[&encoded(&kind), &tagged(true, value), &attributes])
}

fn attribute(kind: ObjectIdentifier, value: &[u8]) -> Bytes {
    sequence(&[&encoded(&kind), &set(&[value])])
}
