//! TSIG (RFC 8945): requests are signed with a shared key, and answers must be.
//!
//! hickory signs with SHA-256 and longer only, while cert-manager's default is HMAC-MD5, so certctl
//! writes the record itself. It neither makes nor accepts truncated signatures.

use ::hmac::{Hmac, KeyInit as _, Mac as _};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use hickory_proto::rr::Name;
use hickory_proto::rr::rdata::TSIG;

use md5::Md5;
use zeroize::Zeroizing;

/// How a key signs (RFC 8945 section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    /// From `tsigAlgorithm`, in any case; empty is MD5, as in cert-manager.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        if word.is_empty() {
            return Some(Self::Md5);
        }
        ALGORITHMS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(word)).map(|(_, it, _)| *it)
    }

    /// As in messages, in lower case and without a trailing dot.
    pub(super) fn name(self) -> &'static str {
        ALGORITHMS.iter().find(|(_, it, _)| *it == self).map_or("", |(.., name)| name)
    }

    fn mac(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Md5 => return md5(key, data),
            Self::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha224 => hmac::HMAC_SHA224,
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha384 => hmac::HMAC_SHA384,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::sign(&hmac::Key::new(algorithm, key), data).as_ref().to_vec()
    }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of every length (RFC 2104 section 3)")]
fn md5(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mac = Hmac::<Md5>::new_from_slice(key).expect("every length is good");
    mac.chain_update(data).finalize().into_bytes().to_vec()
}

/// A shared key. It is never shown.
pub(super) struct Key {
    name: Name,
    algorithm: Algorithm,
    secret: Zeroizing<Vec<u8>>,
}

/// A request, ready to be sent.
pub(super) struct Signed {
    pub(super) bytes: Vec<u8>,
    /// The signature, which the answer's covers too; empty without a key.
    pub(super) mac: Vec<u8>,
    /// Seconds since 1970.
    pub(super) time: u64,
}

/// A TSIG record of an answer.
pub(super) struct Found {
    /// Where in the message it begins.
    pub(super) start: usize,
    pub(super) key: Name,
    pub(super) record: TSIG,
}

impl Key {
    pub(super) fn new(name: &Name, algorithm: Algorithm, secret: Zeroizing<Vec<u8>>) -> Self {
        Self { name: name.to_lowercase(), algorithm, secret }
    }

    /// For messages: the name and the algorithm.
    pub(super) fn shown(&self) -> String {
        format!("`{}` ({})", bare(&self.name), self.algorithm.name())
    }

    /// Signs a request.
    pub(super) fn sign(&self, message: &[u8], time: u64) -> Signed {
        let terms = Terms { time, fudge: FUDGE, error: 0, other: &[] };
        let mac = self.algorithm.mac(&self.secret, &[message, &self.variables(&terms)].concat());
        let bytes = self.record(message, &mac, &terms);
        Signed { bytes, mac, time }
    }

    /// Checks that the answer is signed with this key, as an answer to that request (RFC 8945
    /// section 5.3).
    pub(super) fn verify(
        &self,
        request: &Signed,
        answer: &[u8],
        found: &Found,
    ) -> Result<(), &'static str> {
        let algorithm = found.record.algorithm.to_name();
        if bare(&found.key) != bare(&self.name)
            || !bare(&algorithm).eq_ignore_ascii_case(self.algorithm.name())
        {
            return Err("it is signed with another key");
        }
        let mut message = answer.get(..found.start).unwrap_or_default().to_vec();
        if let Some(id) = message.get_mut(..2) {
            id.copy_from_slice(&found.record.oid.to_be_bytes());
        }
        let additional = additional(&message).saturating_sub(1);
        set_additional(&mut message, additional);
        let record = &found.record;
        let terms = Terms {
            time: record.time,
            fudge: record.fudge,
            error: record.error.map_or(0, u16::from),
            other: &record.other,
        };
        let data =
            [&length(&request.mac)[..], &request.mac, &message, &self.variables(&terms)].concat();
        verify_slices_are_equal(&self.algorithm.mac(&self.secret, &data), &record.mac)
            .map_err(|_| "its signature is wrong")
    }

    /// Signs an answer as a server does.
    #[cfg(test)]
    pub(super) fn sign_answer(
        &self,
        request: &Found,
        message: &[u8],
        (time, error, other): (u64, u16, &[u8]),
    ) -> Vec<u8> {
        let terms = Terms { time, fudge: FUDGE, error, other };
        let before = [&length(&request.record.mac)[..], &request.record.mac].concat();
        let data = [&before, message, &self.variables(&terms)].concat();
        self.record(message, &self.algorithm.mac(&self.secret, &data), &terms)
    }

    /// The message with the record at its end (RFC 8945 section 4.2).
    fn record(&self, message: &[u8], mac: &[u8], terms: &Terms<'_>) -> Vec<u8> {
        let data = [
            wire(self.algorithm.name().split('.').map(str::as_bytes)).as_slice(),
            &time48(terms.time),
            &terms.fudge.to_be_bytes(),
            &length(mac),
            mac,
            message.get(..2).unwrap_or_default(),
            &terms.error.to_be_bytes(),
            &length(terms.other),
            terms.other,
        ]
        .concat();
        let mut bytes = message.to_vec();
        set_additional(&mut bytes, additional(message).saturating_add(1));
        bytes.extend(wire(self.name.iter()));
        bytes.extend(TYPE.to_be_bytes());
        bytes.extend(CLASS_AND_TTL);
        bytes.extend(length(&data));
        bytes.extend(data);
        bytes
    }

    /// RFC 8945 section 4.3.3.
    fn variables(&self, terms: &Terms<'_>) -> Vec<u8> {
        [
            wire(self.name.iter()).as_slice(),
            &CLASS_AND_TTL,
            &wire(self.algorithm.name().split('.').map(str::as_bytes)),
            &time48(terms.time),
            &terms.fudge.to_be_bytes(),
            &terms.error.to_be_bytes(),
            &length(terms.other),
            terms.other,
        ]
        .concat()
    }
}

/// The TSIG variables, which are signed after the message.
struct Terms<'a> {
    time: u64,
    fudge: u16,
    error: u16,
    other: &'a [u8],
}

/// The name in lower case, without a trailing dot.
pub(super) fn bare(name: &Name) -> String {
    let text = name.to_lowercase().to_ascii();
    text.strip_suffix('.').map_or(text.clone(), ToOwned::to_owned)
}

/// A name in canonical form: lower case, not compressed.
fn wire<'a>(labels: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in labels {
        bytes.extend(u8::try_from(label.len()));
        bytes.extend(label.to_ascii_lowercase());
    }
    bytes.push(0);
    bytes
}

fn time48(time: u64) -> [u8; 6] {
    let [_, _, time @ ..] = time.to_be_bytes();
    time
}

/// Nothing here comes near 64 KiB.
fn length(bytes: &[u8]) -> [u8; 2] {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes()
}

/// The count of the last section (RFC 1035 section 4.1.1).
fn additional(message: &[u8]) -> u16 {
    let count = message.get(10..12).and_then(|count| count.try_into().ok());
    u16::from_be_bytes(count.unwrap_or_default())
}

fn set_additional(message: &mut [u8], count: u16) {
    if let Some(place) = message.get_mut(10..12) {
        place.copy_from_slice(&count.to_be_bytes());
    }
}

/// How far clocks may be apart, in seconds (RFC 8945 section 10).
pub(super) const FUDGE: u16 = 300;

const TYPE: u16 = 250;
/// ANY, and 0 s.
const CLASS_AND_TTL: [u8; 6] = [0, 255, 0, 0, 0, 0];

/// As in a manifest, and as in a message.
const ALGORITHMS: [(&str, Algorithm, &str); 6] = [
    ("HMACMD5", Algorithm::Md5, "hmac-md5.sig-alg.reg.int"),
    ("HMACSHA1", Algorithm::Sha1, "hmac-sha1"),
    ("HMACSHA224", Algorithm::Sha224, "hmac-sha224"),
    ("HMACSHA256", Algorithm::Sha256, "hmac-sha256"),
    ("HMACSHA384", Algorithm::Sha384, "hmac-sha384"),
    ("HMACSHA512", Algorithm::Sha512, "hmac-sha512"),
];

#[cfg(test)]
mod tests {
    use super::super::message::read;
    use super::*;

    /// Made by `tests/fixtures/tsig/make`.
    const VECTORS: &str = include_str!("../../../../tests/fixtures/tsig/vectors.txt");
    const TIME: u64 = 1_767_323_045;

    fn unhex(text: &str) -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2);
        pairs.map(|b| u8::from_str_radix(str::from_utf8(b).unwrap(), 16).unwrap()).collect()
    }

    fn key(algorithm: Algorithm) -> Key {
        let name = Name::from_ascii("Key.Test.").unwrap();
        Key::new(&name, algorithm, Zeroizing::new((1..=40).collect()))
    }

    #[test]
    fn signatures_are_those_that_another_implementation_makes() {
        let mut seen = Vec::new();
        for line in VECTORS.lines() {
            let (name, hex) = line.split_once(' ').unwrap();
            let (_, algorithm, _) = ALGORITHMS.iter().find(|(.., it)| *it == name).unwrap();
            let hex: Vec<Vec<u8>> = hex.split(' ').map(unhex).collect();
            let [unsigned, signed, answer, late]: [Vec<u8>; 4] = hex.try_into().unwrap();
            let key = key(*algorithm);
            let request = key.sign(&unsigned, TIME);
            assert_eq!(request.bytes, signed, "{name}");
            for answer in [answer, late] {
                let (_, found) = read(&answer).unwrap();
                assert_eq!(key.verify(&request, &answer, &found.unwrap()), Ok(()), "{name}");
            }
            seen.push(name);
        }
        assert_eq!(seen, ALGORITHMS.map(|(.., name)| name));
    }

    #[test]
    fn an_answer_with_another_bit_is_not_accepted() {
        let line = VECTORS.lines().next().unwrap();
        let hex: Vec<Vec<u8>> = line.split(' ').skip(1).map(unhex).collect();
        let [unsigned, _, answer, _]: [Vec<u8>; 4] = hex.try_into().unwrap();
        let key = key(Algorithm::Md5);
        let request = key.sign(&unsigned, TIME);
        let mut read_all = 0;
        for bit in 0..answer.len() * 8 {
            let mut forged = answer.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            // Names are compared without case; the signature covers them in lower case.
            let case_only = forged.eq_ignore_ascii_case(&answer);
            let Ok((_, Some(found))) = read(&forged) else { continue };
            read_all += 1;
            let verified = key.verify(&request, &forged, &found).is_ok();
            assert!(!verified || case_only || is_unsigned(bit / 8, &found), "bit {bit}");
        }
        assert!(read_all > 300, "{read_all}");
        let other = key.sign(&unsigned, TIME + 1);
        let (_, found) = read(&answer).unwrap();
        assert_eq!(key.verify(&other, &answer, &found.unwrap()), Err("its signature is wrong"));
    }

    /// The id, which the record repeats, and class and TTL of the record, which are constant.
    fn is_unsigned(index: usize, found: &Found) -> bool {
        index < 2 || (found.start + 12..found.start + 18).contains(&index)
    }

    #[test]
    fn algorithms_have_the_names_of_manifests() {
        for (word, algorithm, _) in ALGORITHMS {
            assert_eq!(Algorithm::from_word(&word.to_lowercase()), Some(algorithm));
            assert_eq!(Algorithm::from_word(word), Some(algorithm));
        }
        assert_eq!(Algorithm::from_word(""), Some(Algorithm::Md5));
        assert_eq!(Algorithm::from_word("hmac-sha256"), None);
    }
}
