//! The few DER elements (X.690) that keystores are built from.

use der::asn1::ObjectIdentifier;
use zeroize::Zeroizing;

/// Encoded elements; some hold a key.
pub(super) type Bytes = Zeroizing<Vec<u8>>;

/// An element around parts that are encoded already.
pub(super) fn element(tag: u8, parts: &[&[u8]]) -> Bytes {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(length + 10));
    bytes.push(tag);
    let digits = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0);
    match digits.collect::<Vec<u8>>().as_slice() {
        [] => bytes.push(0),
        [short] if *short < 0x80 => bytes.push(*short),
        long => {
            bytes.push(0x80 | u8::try_from(long.len()).unwrap_or(0x7f));
            bytes.extend_from_slice(long);
        }
    }
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// SEQUENCE.
pub(super) fn sequence(parts: &[&[u8]]) -> Bytes {
    element(0x30, parts)
}

/// SET of one element.
pub(super) fn set(only: &[u8]) -> Bytes {
    element(0x31, &[only])
}

/// OCTET STRING.
pub(super) fn octets(bytes: &[u8]) -> Bytes {
    element(0x04, &[bytes])
}

/// `[0] EXPLICIT`.
pub(super) fn explicit(content: &[u8]) -> Bytes {
    element(0xa0, &[content])
}

/// OBJECT IDENTIFIER.
pub(super) fn oid(oid: ObjectIdentifier) -> Bytes {
    element(0x06, &[oid.as_bytes()])
}

/// NULL.
pub(super) fn null() -> Bytes {
    element(0x05, &[])
}

/// INTEGER.
pub(super) fn integer(value: u32) -> Bytes {
    let digits: Vec<u8> = value.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    // A first bit that is set would make it negative.
    let sign: &[u8] = if digits.first().is_none_or(|first| *first >= 0x80) { &[0] } else { &[] };
    element(0x02, &[sign, &digits])
}

/// BMPString.
pub(super) fn bmp_string(text: &str) -> Bytes {
    element(0x1e, &[&utf16(text)])
}

/// The password as Java keystores and PKCS#12 derive keys from it: UTF-16, the high byte first.
pub(super) fn utf16(password: &str) -> Bytes {
    Zeroizing::new(password.encode_utf16().flat_map(u16::to_be_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_integers_take_the_shortest_form() {
        for (length, expected) in [
            (0, vec![0x04, 0x00]),
            (0x7f, vec![0x04, 0x7f]),
            (0x80, vec![0x04, 0x81, 0x80]),
            (0x100, vec![0x04, 0x82, 0x01, 0x00]),
        ] {
            let found = octets(&vec![0; length]);
            assert_eq!(found[..expected.len()], expected, "{length}");
            assert_eq!(found.len(), expected.len() + length);
        }
        for (value, expected) in [
            (0, &[0x02, 0x01, 0x00][..]),
            (0x7f, &[0x02, 0x01, 0x7f]),
            (0x80, &[0x02, 0x02, 0x00, 0x80]),
            (2048, &[0x02, 0x02, 0x08, 0x00]),
            (u32::MAX, &[0x02, 0x05, 0x00, 0xff, 0xff, 0xff, 0xff]),
        ] {
            assert_eq!(*integer(value), expected, "{value}");
        }
    }
}
