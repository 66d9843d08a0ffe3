//! Decodes and encodes the DER of private key files.
//!
//! Decoding is strict about structure (one value, no bytes after it) and lenient about what other
//! programs omit or add: attributes, public keys, parameters, padding of EC scalars.

use der::asn1::{AnyRef, BitStringRef, ObjectIdentifier, OctetStringRef, UintRef};
use der::{Decode, Encode, Reader, Sequence, SliceReader, Tag};
use x509_cert::spki::AlgorithmIdentifierRef;
use zeroize::Zeroizing;

use super::key_error::KeyError;

/// What a private key consists of, whichever form it was read from.
pub(super) enum Parts {
    /// RFC 8017 `RSAPrivateKey`, and the bits of its modulus.
    Rsa { bits: u32, pkcs1: Zeroizing<Vec<u8>> },
    /// RFC 5915 `ECPrivateKey` with its curve named, and the bits of the curve.
    Ecdsa { bits: u32, sec1: Zeroizing<Vec<u8>> },
    /// The seed (RFC 8032 section 5.1.5).
    Ed25519 { seed: Zeroizing<Vec<u8>> },
}

/// RFC 5915 section 3.
#[derive(Sequence)]
struct EcPrivateKey<'a> {
    version: u8,
    private_key: &'a OctetStringRef,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    curve: Option<ObjectIdentifier>,
    #[asn1(context_specific = "1", tag_mode = "EXPLICIT", optional = "true")]
    public_key: Option<BitStringRef<'a>>,
}

/// RFC 5208 section 5, without attributes.
#[derive(Sequence)]
struct PrivateKeyInfo<'a> {
    version: u8,
    algorithm: AlgorithmIdentifierRef<'a>,
    private_key: &'a OctetStringRef,
}

/// PKCS#8 of version 1 (RFC 5208) or 2 (RFC 5958); attributes and public key are dropped.
pub(super) fn read_pkcs8(der: &[u8]) -> Result<Parts, KeyError> {
    let (algorithm, private_key) = split_pkcs8(der).map_err(damaged)?;
    if algorithm.oid == RSA {
        read_pkcs1(private_key)
    } else if algorithm.oid == EC {
        let curve = algorithm.parameters.map(AnyRef::decode_as::<ObjectIdentifier>);
        read_sec1(private_key, curve.transpose().map_err(damaged)?)
    } else if algorithm.oid == ED25519 {
        let seed = <&OctetStringRef>::from_der(private_key).map_err(damaged)?.as_bytes();
        Ok(Parts::Ed25519 { seed: Zeroizing::new(seed.to_vec()) })
    } else {
        Err(KeyError::Algorithm { oid: algorithm.oid.to_string() })
    }
}

/// `RSAPrivateKey` (RFC 8017, appendix A.1.2).
pub(super) fn read_pkcs1(der: &[u8]) -> Result<Parts, KeyError> {
    let bits = modulus_bits(der).map_err(damaged)?;
    Ok(Parts::Rsa { bits, pkcs1: Zeroizing::new(der.to_vec()) })
}

/// `ECPrivateKey` (RFC 5915); `curve` is the one named outside of it, if any.
pub(super) fn read_sec1(der: &[u8], curve: Option<ObjectIdentifier>) -> Result<Parts, KeyError> {
    let key = EcPrivateKey::from_der(der).map_err(damaged)?;
    let Some(curve) = curve.or(key.curve) else {
        return Err(KeyError::Curve { oid: String::new() });
    };
    let Some((_, bits)) = CURVES.iter().find(|(oid, _)| *oid == curve) else {
        return Err(KeyError::Curve { oid: curve.to_string() });
    };
    let scalar = pad(key.private_key.as_bytes(), *bits)?;
    let scalar = OctetStringRef::new(&scalar).map_err(damaged)?;
    let complete = EcPrivateKey { version: 1, private_key: scalar, curve: Some(curve), ..key };
    Ok(Parts::Ecdsa { bits: *bits, sec1: Zeroizing::new(complete.to_der().map_err(damaged)?) })
}

/// PKCS#8 version 1 around an `RSAPrivateKey`.
pub(super) fn rsa_pkcs8(pkcs1: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    write_pkcs8(RSA, Some(AnyRef::NULL), pkcs1).map_err(damaged)
}

/// PKCS#8 version 1 around an `ECPrivateKey`; the curve is named outside, the public key inside,
/// as OpenSSL writes it.
pub(super) fn ecdsa_pkcs8(sec1: &[u8], public: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let write = || {
        let key = EcPrivateKey::from_der(sec1)?;
        let curve = key.curve.as_ref().map(AnyRef::from);
        let public_key = Some(BitStringRef::from_bytes(public)?);
        let inner = EcPrivateKey { curve: None, public_key, ..key };
        write_pkcs8(EC, curve, &Zeroizing::new(inner.to_der()?))
    };
    write().map_err(damaged)
}

/// PKCS#8 version 1 around a seed (RFC 8410 section 7). OpenSSL 3.0 does not read version 2.
pub(super) fn ed25519_pkcs8(seed: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let write = || {
        let inner = Zeroizing::new(OctetStringRef::new(seed)?.to_der()?);
        write_pkcs8(ED25519, None, &inner)
    };
    write().map_err(damaged)
}

/// The form from before PKCS#8: `RSAPrivateKey`, `ECPrivateKey` with curve and public key; for
/// Ed25519, which has none, PKCS#8 itself.
pub(super) fn write_traditional(pkcs8: &[u8]) -> Zeroizing<Vec<u8>> {
    let write = || {
        let (algorithm, private_key) = split_pkcs8(pkcs8)?;
        if algorithm.oid == RSA {
            return Ok(private_key.to_vec());
        }
        if algorithm.oid != EC {
            return Ok(pkcs8.to_vec());
        }
        let curve = algorithm.parameters.map(AnyRef::decode_as::<ObjectIdentifier>).transpose()?;
        EcPrivateKey { curve, ..EcPrivateKey::from_der(private_key)? }.to_der()
    };
    // The input comes from `*_pkcs8`, so decoding cannot fail.
    Zeroizing::new(write().unwrap_or_else(|_: der::Error| pkcs8.to_vec()))
}

fn split_pkcs8(der: &[u8]) -> der::Result<(AlgorithmIdentifierRef<'_>, &[u8])> {
    let mut fields = sequence(der)?;
    let version = u8::decode(&mut fields)?;
    if version > 1 {
        return Err(Tag::Integer.value_error().into());
    }
    let algorithm = AlgorithmIdentifierRef::decode(&mut fields)?;
    let private_key = <&OctetStringRef>::decode(&mut fields)?.as_bytes();
    while !fields.is_finished() {
        AnyRef::decode(&mut fields)?;
    }
    Ok((algorithm, private_key))
}

fn write_pkcs8(
    oid: ObjectIdentifier,
    parameters: Option<AnyRef<'_>>,
    private_key: &[u8],
) -> der::Result<Zeroizing<Vec<u8>>> {
    let private_key = OctetStringRef::new(private_key)?;
    let algorithm = AlgorithmIdentifierRef { oid, parameters };
    PrivateKeyInfo { version: 0, algorithm, private_key }.to_der().map(Zeroizing::new)
}

fn modulus_bits(pkcs1: &[u8]) -> der::Result<u32> {
    let mut fields = sequence(pkcs1)?;
    u8::decode(&mut fields)?;
    let modulus = UintRef::decode(&mut fields)?;
    let bytes = u32::from(modulus.len());
    let unused = modulus.as_bytes().first().map_or(0, |byte| byte.leading_zeros());
    Ok((bytes * 8).saturating_sub(unused))
}

fn sequence(der: &[u8]) -> der::Result<SliceReader<'_>> {
    let outer = AnyRef::from_der(der)?;
    der::Tagged::tag(&outer).assert_eq(Tag::Sequence)?;
    SliceReader::new(outer.value())
}

/// A scalar has as many bytes as the field (RFC 5915 section 3); some programs drop leading
/// zeros or add one.
fn pad(scalar: &[u8], bits: u32) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let first = scalar.iter().position(|byte| *byte != 0).unwrap_or(scalar.len());
    let digits = scalar.get(first..).unwrap_or_default();
    let length = usize::try_from(bits.div_ceil(8)).unwrap_or_default();
    let Some(missing) = length.checked_sub(digits.len()) else {
        let reason = format!("its scalar has {} bytes, the curve {length}", digits.len());
        return Err(KeyError::Damaged { reason });
    };
    let mut padded = Zeroizing::new(Vec::with_capacity(length));
    padded.resize(missing, 0);
    padded.extend_from_slice(digits);
    Ok(padded)
}

fn damaged(error: der::Error) -> KeyError {
    KeyError::Damaged { reason: error.to_string() }
}

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const CURVES: &[(ObjectIdentifier, u32)] = &[
    (ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7"), 256),
    (ObjectIdentifier::new_unwrap("1.3.132.0.34"), 384),
    (ObjectIdentifier::new_unwrap("1.3.132.0.35"), 521),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sec1(scalar: &[u8], curve: Option<ObjectIdentifier>) -> Vec<u8> {
        let private_key = OctetStringRef::new(scalar).unwrap();
        EcPrivateKey { version: 1, private_key, curve, public_key: None }.to_der().unwrap()
    }

    fn complete(der: &[u8], curve: Option<ObjectIdentifier>) -> Result<Vec<u8>, KeyError> {
        match read_sec1(der, curve)? {
            Parts::Ecdsa { sec1, .. } => Ok(sec1.to_vec()),
            Parts::Rsa { .. } | Parts::Ed25519 { .. } => panic!("not an EC key"),
        }
    }

    #[test]
    fn scalars_are_brought_to_the_length_of_the_field() {
        let p256 = Some(CURVES[0].0);
        let padded = |length: usize| [vec![0; length - 1], vec![7]].concat();
        for length in [1, 31, 32, 33, 40] {
            let found = complete(&sec1(&padded(length), p256), None);
            assert_eq!(found, Ok(sec1(&padded(32), p256)), "{length}");
        }
        let reason = "its scalar has 33 bytes, the curve 32".to_owned();
        let found = complete(&sec1(&[7; 33], p256), None);
        assert_eq!(found, Err(KeyError::Damaged { reason }));
    }

    #[test]
    fn the_curve_may_be_named_inside_or_outside() {
        let p384 = Some(CURVES[1].0);
        let expected = Ok(sec1(&[7; 48], p384));
        assert_eq!(complete(&sec1(&[7; 48], p384), None), expected);
        assert_eq!(complete(&sec1(&[7; 48], None), p384), expected);
        let unnamed = complete(&sec1(&[7; 48], None), None);
        assert_eq!(unnamed, Err(KeyError::Curve { oid: String::new() }));
    }
}
