//! Keys, certificates and requests for the placeholders in angle brackets.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use certctl::pki::{PrivateKey, build_csr};
use certctl::resource::{CertificateSpec, KeyAlgorithm};
use jiff::{SignedDuration, Timestamp};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::input::algorithm;

/// The PEM of a placeholder that stands for one text; other text stays as it is.
pub(crate) fn pem(text: &str, now: Timestamp) -> String {
    let Some(inner) = placeholder(text) else { return text.to_owned() };
    let words: Vec<&str> = inner.split_ascii_whitespace().collect();
    match words.first().copied() {
        Some("key") => key_pem(&key_name(&words)),
        Some("cert") => certificate_pem(&words, now),
        Some("CSR") => {
            let spec = CertificateSpec { common_name: common_name(&words), ..Default::default() };
            build_csr(&spec, &key(&key_name(&words))).unwrap().pem
        }
        Some(kind) if words.last() == Some(&"PEM") => key_pem(kind),
        _ => panic!("unknown placeholder `{text}`"),
    }
}

/// Key and certificate of a placeholder that stands for both.
pub(crate) fn pair(text: &str, now: Timestamp) -> (String, String) {
    let inner = placeholder(text).unwrap_or_else(|| panic!("no placeholder: `{text}`"));
    let words: Vec<&str> = inner.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    assert!(words.starts_with(&["matching", "pair"]), "unknown placeholder `{text}`");
    (key_pem(&key_name(&words)), certificate_pem(&words, now))
}

fn placeholder(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?.strip_suffix('>')?;
    Some(inner.strip_prefix("valid ").unwrap_or(inner))
}

/// The key's letter, or else its kind, such as `ECDSA P-521`.
fn key_name(words: &[&str]) -> String {
    let is_kind = |word: &&str| matches!(*word, "RSA" | "ECDSA" | "Ed25519");
    if let Some(letter) = named(words) {
        return letter.to_owned();
    }
    let Some(at) = words.iter().position(is_kind) else { return "of the case".to_owned() };
    let kind = words.get(at).copied().unwrap_or_default();
    let bits = words.get(at + 1).map(|word| word.trim_start_matches("P-"));
    match bits.filter(|bits| bits.parse::<u32>().is_ok()) {
        Some(bits) => format!("{kind}-{bits}"),
        None => kind.to_owned(),
    }
}

/// `key A`: the letter.
fn named<'a>(words: &[&'a str]) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == "key")?;
    words.get(at + 1).copied()
}

fn common_name(words: &[&str]) -> String {
    let name = words.iter().find_map(|word| word.strip_prefix("CN="));
    name.unwrap_or_default().trim_end_matches(',').to_owned()
}

/// The key of this name, always the same; a name such as `ECDSA-384` says what it is.
fn key(name: &str) -> PrivateKey {
    static KEYS: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(Mutex::default);
    let mut keys = KEYS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let pem = keys.entry(name.to_owned()).or_insert_with(|| {
        let (kind, bits) = match name.split_once('-') {
            Some((kind, bits)) => (algorithm(kind), bits.parse().unwrap()),
            None if matches!(name, "RSA" | "ECDSA" | "Ed25519") => {
                let kind = algorithm(name);
                (kind, if kind == KeyAlgorithm::Rsa { 2048 } else { 256 })
            }
            None => (KeyAlgorithm::Rsa, 2048),
        };
        PrivateKey::generate(kind, bits).unwrap().to_pkcs8_pem().to_string()
    });
    PrivateKey::from_pem(pem).unwrap()
}

pub(crate) fn key_pem(name: &str) -> String {
    key(name).to_pkcs8_pem().to_string()
}

fn certificate_pem(words: &[&str], now: Timestamp) -> String {
    let name = common_name(words);
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let day = |days: i64| {
        let time = now.checked_add(SignedDuration::from_hours(24 * days)).unwrap();
        let date = time.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
        let part = |number: i8| u8::try_from(number).unwrap();
        rcgen::date_time_ymd(date.year().into(), part(date.month()), part(date.day()))
    };
    (params.not_before, params.not_after) = (day(-1), day(90));
    let pair = KeyPair::from_pem(&key_pem(&key_name(words))).unwrap();
    params.self_signed(&pair).unwrap().pem()
}
