//! The few DER elements (X.690) that keystores are built from.

use der::asn1::AnyRef;
use der::{Encode, Tag, TagNumber};
use zeroize::Zeroizing;

/// Encoded elements; some hold a key.
pub(super) type Bytes = Zeroizing<Vec<u8>>;

/// A value by itself: INTEGER, NULL, OBJECT IDENTIFIER.
#[expect(clippy::expect_used, reason = "a keystore is far shorter than what `der` encodes")]
pub(super) fn encoded(value: &impl Encode) -> Bytes {
    Zeroizing::new(value.to_der().expect("it is short"))
}

/// An element around parts that are encoded already.
#[expect(clippy::expect_used, reason = "a keystore is far shorter than what `der` encodes")]
fn element(tag: Tag, parts: &[&[u8]]) -> Bytes {
    let content = Zeroizing::new(parts.concat());
    encoded(&AnyRef::new(tag, &content).expect("it is short"))
}

/// SEQUENCE.
pub(super) fn sequence(parts: &[&[u8]]) -> Bytes {
    element(Tag::Sequence, parts)
}

/// SET.
pub(super) fn set(parts: &[&[u8]]) -> Bytes {
    element(Tag::Set, parts)
}

/// OCTET STRING.
pub(super) fn octets(bytes: &[u8]) -> Bytes {
    element(Tag::OctetString, &[bytes])
}

/// `[0] EXPLICIT`, or `[0] IMPLICIT` of a primitive type.
pub(super) fn tagged(constructed: bool, content: &[u8]) -> Bytes {
    element(Tag::ContextSpecific { constructed, number: TagNumber(0) }, &[content])
}

/// BMPString.
pub(super) fn bmp_string(text: &str) -> Bytes {
    element(Tag::BmpString, &[&utf16(text)])
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
            (0_u32, &[0x02, 0x01, 0x00][..]),
            (0x7f, &[0x02, 0x01, 0x7f]),
            (0x80, &[0x02, 0x02, 0x00, 0x80]),
            (2048, &[0x02, 0x02, 0x08, 0x00]),
            (u32::MAX, &[0x02, 0x05, 0x00, 0xff, 0xff, 0xff, 0xff]),
        ] {
            assert_eq!(*encoded(&value), expected, "{value}");
        }
    }
}
