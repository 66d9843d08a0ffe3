//! Bytes in lower-case hexadecimal: fingerprints, serial numbers, digests.

/// Two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    text.extend(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hex(&[0, 0x0f, 0xa5]), "000fa5");
    }
}
