//! Signature algorithms: selection for a key, encoding, signing and verification.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RsaKeyPair, RsaSignatureEncoding,
    UnparsedPublicKey, VerificationAlgorithm,
};
use der::asn1::{Any, ObjectIdentifier, UintRef};
use der::{Decode as _, Sequence};
use thiserror::Error;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_parser::asn1_rs::Oid;
use x509_parser::signature_algorithm::RsaSsaPssParams;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

use crate::resource::{KeyAlgorithm, KeyFacts, SignatureAlgorithm};

/// Why signing is not possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SigningError {
    /// The algorithm is for another kind of key.
    #[error("signature algorithm {wanted} needs an {} key, not {found}", wanted.key_algorithm())]
    WrongKey {
        /// The requested signature algorithm.
        wanted: SignatureAlgorithm,
        /// The kind of the key.
        found: KeyAlgorithm,
    },
    /// The library does not support the curve with this hash.
    #[error("signature algorithm {wanted} is not available with an ECDSA key of {bits} bits")]
    WrongSize {
        /// The requested signature algorithm.
        wanted: SignatureAlgorithm,
        /// Bits of the key.
        bits: u32,
    },
    /// The library returned an error.
    #[error("cannot sign with {wanted}")]
    Refused {
        /// The requested signature algorithm.
        wanted: SignatureAlgorithm,
    },
}

/// cert-manager's default algorithm: the stronger the key, the longer the hash.
pub(super) fn default_algorithm(key: &KeyFacts) -> SignatureAlgorithm {
    match (key.algorithm, key.size) {
        (KeyAlgorithm::Rsa, 4096..) => SignatureAlgorithm::Sha512WithRsa,
        (KeyAlgorithm::Rsa, 3072..) => SignatureAlgorithm::Sha384WithRsa,
        (KeyAlgorithm::Rsa, _) => SignatureAlgorithm::Sha256WithRsa,
        (KeyAlgorithm::Ecdsa, 521..) => SignatureAlgorithm::EcdsaWithSha512,
        (KeyAlgorithm::Ecdsa, 384..) => SignatureAlgorithm::EcdsaWithSha384,
        (KeyAlgorithm::Ecdsa, _) => SignatureAlgorithm::EcdsaWithSha256,
        (KeyAlgorithm::Ed25519, _) => SignatureAlgorithm::PureEd25519,
    }
}

/// How the algorithm is written in a CSR: RSA with NULL parameters (RFC 8017, appendix A.2.4), the
/// others without any (RFC 5758 section 3.2, RFC 8410 section 3).
pub(super) fn identifier(algorithm: SignatureAlgorithm) -> AlgorithmIdentifierOwned {
    let (oid, parameters) = match algorithm {
        SignatureAlgorithm::Sha256WithRsa => ("1.2.840.113549.1.1.11", Some(Any::null())),
        SignatureAlgorithm::Sha384WithRsa => ("1.2.840.113549.1.1.12", Some(Any::null())),
        SignatureAlgorithm::Sha512WithRsa => ("1.2.840.113549.1.1.13", Some(Any::null())),
        SignatureAlgorithm::EcdsaWithSha256 => ("1.2.840.10045.4.3.2", None),
        SignatureAlgorithm::EcdsaWithSha384 => ("1.2.840.10045.4.3.3", None),
        SignatureAlgorithm::EcdsaWithSha512 => ("1.2.840.10045.4.3.4", None),
        SignatureAlgorithm::PureEd25519 => ("1.3.101.112", None),
    };
    AlgorithmIdentifierOwned { oid: ObjectIdentifier::new_unwrap(oid), parameters }
}

/// A private key decoded for the library; decoded once, because each decoding validates it again.
pub(super) enum KeyPair {
    Rsa(RsaKeyPair),
    /// For signatures in DER, with the hash of [`default_algorithm`].
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// Signs `message` with a pair; `pkcs8` and `key` are of the same key.
pub(super) fn sign(
    pair: &KeyPair,
    pkcs8: &[u8],
    key: &KeyFacts,
    wanted: SignatureAlgorithm,
    message: &[u8],
) -> Result<Vec<u8>, SigningError> {
    if wanted.key_algorithm() != key.algorithm {
        return Err(SigningError::WrongKey { wanted, found: key.algorithm });
    }
    let refused = |_| SigningError::Refused { wanted };
    match pair {
        KeyPair::Rsa(pair) => {
            let padding = rsa_padding(wanted).ok_or(SigningError::Refused { wanted })?;
            let mut signature = vec![0; pair.public_modulus_len()];
            pair.sign(padding, &SystemRandom::new(), message, &mut signature).map_err(refused)?;
            Ok(signature)
        }
        KeyPair::Ecdsa(pair) => {
            let Some(algorithm) = ecdsa(wanted, key.size) else {
                return Err(SigningError::WrongSize { wanted, bits: key.size });
            };
            let other = if wanted == default_algorithm(key) {
                None
            } else {
                let read = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8);
                Some(read.map_err(|_| SigningError::Refused { wanted })?)
            };
            let signature = other.as_ref().unwrap_or(pair).sign(&SystemRandom::new(), message);
            Ok(signature.map_err(refused)?.as_ref().to_vec())
        }
        KeyPair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
    }
}

/// An ECDSA signature in DER (RFC 3279 section 2.2.3) as r and s side by side, each as long as the
/// order of the curve (RFC 7518 section 3.4).
pub(super) fn fixed_length(der: &[u8], bits: u32) -> Option<Vec<u8>> {
    #[derive(Sequence)]
    struct EcdsaSignature<'a> {
        r: UintRef<'a>,
        s: UintRef<'a>,
    }
    let EcdsaSignature { r, s } = EcdsaSignature::from_der(der).ok()?;
    let length = usize::try_from(bits.div_ceil(8)).ok()?;
    let mut fixed = Vec::with_capacity(2 * length);
    for number in [r, s] {
        let digits = number.as_bytes();
        fixed.resize(fixed.len() + length.checked_sub(digits.len())?, 0);
        fixed.extend_from_slice(digits);
    }
    Some(fixed)
}

fn rsa_padding(wanted: SignatureAlgorithm) -> Option<&'static RsaSignatureEncoding> {
    match wanted {
        SignatureAlgorithm::Sha256WithRsa => Some(&signature::RSA_PKCS1_SHA256),
        SignatureAlgorithm::Sha384WithRsa => Some(&signature::RSA_PKCS1_SHA384),
        SignatureAlgorithm::Sha512WithRsa => Some(&signature::RSA_PKCS1_SHA512),
        SignatureAlgorithm::EcdsaWithSha256
        | SignatureAlgorithm::EcdsaWithSha384
        | SignatureAlgorithm::EcdsaWithSha512
        | SignatureAlgorithm::PureEd25519 => None,
    }
}

/// The library pairs P-256 and P-384 with the hash of their own length only.
fn ecdsa(wanted: SignatureAlgorithm, bits: u32) -> Option<&'static EcdsaSigningAlgorithm> {
    match (bits, wanted) {
        (256, SignatureAlgorithm::EcdsaWithSha256) => {
            Some(&signature::ECDSA_P256_SHA256_ASN1_SIGNING)
        }
        (384, SignatureAlgorithm::EcdsaWithSha384) => {
            Some(&signature::ECDSA_P384_SHA384_ASN1_SIGNING)
        }
        (521, SignatureAlgorithm::EcdsaWithSha256) => {
            Some(&signature::ECDSA_P521_SHA256_ASN1_SIGNING)
        }
        (521, SignatureAlgorithm::EcdsaWithSha384) => {
            Some(&signature::ECDSA_P521_SHA384_ASN1_SIGNING)
        }
        (521, SignatureAlgorithm::EcdsaWithSha512) => {
            Some(&signature::ECDSA_P521_SHA512_ASN1_SIGNING)
        }
        _ => None,
    }
}

/// The result of [`verify`].
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Good,
    Bad,
    /// The algorithm, or its combination with this key, is not supported.
    Unknown,
}

/// Checks the signature of a certificate or CSR under the signer's public key.
pub fn verify(
    signer: &SubjectPublicKeyInfo<'_>,
    algorithm: &AlgorithmIdentifier<'_>,
    signature: &[u8],
    message: &[u8],
) -> Verdict {
    let Some(verification) = verification(signer, algorithm) else { return Verdict::Unknown };
    let key = UnparsedPublicKey::new(verification, &signer.subject_public_key.data);
    match key.verify(message, signature) {
        Ok(()) => Verdict::Good,
        Err(_) => Verdict::Bad,
    }
}

fn verification(
    signer: &SubjectPublicKeyInfo<'_>,
    algorithm: &AlgorithmIdentifier<'_>,
) -> Option<&'static dyn VerificationAlgorithm> {
    let curve = signer.algorithm.parameters.as_ref().and_then(|any| any.as_oid().ok());
    let curve = curve.as_ref().map(Oid::to_id_string).unwrap_or_default();
    match (algorithm.algorithm.to_id_string().as_str(), curve.as_str()) {
        ("1.2.840.113549.1.1.11", _) => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        ("1.2.840.113549.1.1.12", _) => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        ("1.2.840.113549.1.1.13", _) => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        ("1.2.840.113549.1.1.10", _) => rsa_pss(algorithm),
        ("1.2.840.10045.4.3.2", P256) => Some(&signature::ECDSA_P256_SHA256_ASN1),
        ("1.2.840.10045.4.3.3", P256) => Some(&signature::ECDSA_P256_SHA384_ASN1),
        ("1.2.840.10045.4.3.4", P256) => Some(&signature::ECDSA_P256_SHA512_ASN1),
        ("1.2.840.10045.4.3.2", P384) => Some(&signature::ECDSA_P384_SHA256_ASN1),
        ("1.2.840.10045.4.3.3", P384) => Some(&signature::ECDSA_P384_SHA384_ASN1),
        ("1.2.840.10045.4.3.4", P384) => Some(&signature::ECDSA_P384_SHA512_ASN1),
        ("1.2.840.10045.4.3.2", P521) => Some(&signature::ECDSA_P521_SHA256_ASN1),
        ("1.2.840.10045.4.3.3", P521) => Some(&signature::ECDSA_P521_SHA384_ASN1),
        ("1.2.840.10045.4.3.4", P521) => Some(&signature::ECDSA_P521_SHA512_ASN1),
        ("1.3.101.112", _) => Some(&signature::ED25519),
        _ => None,
    }
}

/// RSASSA-PSS names its hash in the parameters (RFC 4055 section 3.1).
fn rsa_pss(algorithm: &AlgorithmIdentifier<'_>) -> Option<&'static dyn VerificationAlgorithm> {
    let parameters = RsaSsaPssParams::try_from(algorithm.parameters.as_ref()?).ok()?;
    match parameters.hash_algorithm_oid().to_id_string().as_str() {
        "2.16.840.1.101.3.4.2.1" => Some(&signature::RSA_PSS_2048_8192_SHA256),
        "2.16.840.1.101.3.4.2.2" => Some(&signature::RSA_PSS_2048_8192_SHA384),
        "2.16.840.1.101.3.4.2.3" => Some(&signature::RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}

const P256: &str = "1.2.840.10045.3.1.7";
const P384: &str = "1.3.132.0.34";
const P521: &str = "1.3.132.0.35";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::PrivateKey;
    use x509_parser::prelude::FromDer;

    #[test]
    fn the_hash_grows_with_the_key() {
        let cases = [
            (KeyAlgorithm::Rsa, 2048, "SHA256WithRSA"),
            (KeyAlgorithm::Rsa, 3071, "SHA256WithRSA"),
            (KeyAlgorithm::Rsa, 3072, "SHA384WithRSA"),
            (KeyAlgorithm::Rsa, 4096, "SHA512WithRSA"),
            (KeyAlgorithm::Rsa, 8192, "SHA512WithRSA"),
            (KeyAlgorithm::Ecdsa, 256, "ECDSAWithSHA256"),
            (KeyAlgorithm::Ecdsa, 384, "ECDSAWithSHA384"),
            (KeyAlgorithm::Ecdsa, 521, "ECDSAWithSHA512"),
            (KeyAlgorithm::Ed25519, 256, "PureEd25519"),
        ];
        for (algorithm, size, expected) in cases {
            let public_key = crate::resource::PublicKeyDigest(String::new());
            let facts = KeyFacts { algorithm, size, public_key };
            assert_eq!(default_algorithm(&facts).to_string(), expected, "{algorithm} {size}");
        }
    }

    #[test]
    fn signatures_verify_and_what_does_not_fit_the_key_is_refused() {
        use SignatureAlgorithm as S;
        let good: &[(KeyAlgorithm, u32, &[S])] = &[
            (KeyAlgorithm::Rsa, 2048, &[S::Sha256WithRsa, S::Sha384WithRsa, S::Sha512WithRsa]),
            (KeyAlgorithm::Ecdsa, 256, &[S::EcdsaWithSha256]),
            (KeyAlgorithm::Ecdsa, 384, &[S::EcdsaWithSha384]),
            (
                KeyAlgorithm::Ecdsa,
                521,
                &[S::EcdsaWithSha256, S::EcdsaWithSha384, S::EcdsaWithSha512],
            ),
            (KeyAlgorithm::Ed25519, 256, &[S::PureEd25519]),
        ];
        let all = [good[0].2, good[3].2, good[4].2].concat();
        for (algorithm, bits, fitting) in good {
            let key = PrivateKey::generate(*algorithm, *bits).unwrap();
            let (_, signer) = SubjectPublicKeyInfo::from_der(key.public_key_der()).unwrap();
            for wanted in &all {
                let found = key.sign(*wanted, b"message");
                // What a manifest may ask for can be signed.
                assert_eq!(wanted.fits(*algorithm, *bits), fitting.contains(wanted));
                if !fitting.contains(wanted) {
                    let found_key = *algorithm;
                    let expected = if wanted.key_algorithm() == found_key {
                        SigningError::WrongSize { wanted: *wanted, bits: *bits }
                    } else {
                        SigningError::WrongKey { wanted: *wanted, found: found_key }
                    };
                    assert_eq!(found, Err(expected));
                    continue;
                }
                let signature = found.unwrap();
                let written = der::Encode::to_der(&identifier(*wanted)).unwrap();
                let (_, written) = AlgorithmIdentifier::from_der(&written).unwrap();
                let check = |message: &[u8]| verify(&signer, &written, &signature, message);
                assert_eq!(check(b"message"), Verdict::Good, "{wanted:?} {bits}");
                assert_eq!(check(b"massage"), Verdict::Bad, "{wanted:?} {bits}");
            }
        }
    }

    #[test]
    fn numbers_of_a_fixed_length_signature_keep_their_leading_zeros() {
        // r = 1, s = 0x80 followed by 31 zero bytes: DER puts a zero before it.
        let s = [&[0x80][..], &[0; 31]].concat();
        let der = [&[0x30, 0x26, 2, 1, 1, 2, 0x21, 0][..], &s].concat();
        let r = [&[0; 31][..], &[1]].concat();
        assert_eq!(fixed_length(&der, 256), Some([r, s].concat()));
        assert_eq!(fixed_length(&der, 248), None);
        assert_eq!(fixed_length(&der[1..], 256), None);
    }
}
