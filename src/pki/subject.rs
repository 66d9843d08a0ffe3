//! The subject of a signing request: from `spec.subject` and `spec.commonName`, or from
//! `spec.literalSubject`, an RFC 4514 string.
//!
//! As cert-manager does it, several values of one attribute share one relative name, and a
//! literal subject, written most specific first, is reversed into the order of DER.

use der::asn1::{Any, Ia5String, ObjectIdentifier, PrintableString, Utf8StringRef};
use der::{Decode, Encode};
use thiserror::Error;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};

use crate::resource::CertificateSpec;

/// Why a subject cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SubjectError {
    /// An attribute without `=`.
    #[error("literal subject: `{text}` is not of the form attribute=value")]
    NoValue {
        /// The attribute as written.
        text: String,
    },
    /// An attribute with nothing after `=`.
    #[error("literal subject: attribute `{attribute}` has no value")]
    EmptyValue {
        /// The attribute's name as written.
        attribute: String,
    },
    /// Neither a known name nor an object identifier.
    #[error("literal subject: unknown attribute `{attribute}`: use one of {}", known())]
    UnknownAttribute {
        /// The attribute's name as written.
        attribute: String,
    },
    /// A character that RFC 4514 section 2.4 requires to be escaped.
    #[error("literal subject: `{character}` must be escaped with a backslash")]
    Unescaped { character: char },
    /// A backslash before something that cannot be escaped, or at the end.
    #[error("literal subject: bad escape in `{text}`")]
    Escape {
        /// The attribute's value as written.
        text: String,
    },
    /// Escaped bytes that are not UTF-8.
    #[error("literal subject: `{text}` is not UTF-8")]
    NotUtf8 {
        /// The attribute's value as written.
        text: String,
    },
    /// `#` not followed by the hexadecimal form of one DER value.
    #[error("literal subject: `{text}` is not a DER value in hexadecimal")]
    Hexadecimal {
        /// The attribute's value as written.
        text: String,
    },
    /// A value that is not allowed for its attribute, for instance `DC=Müller`, or too long.
    #[error("subject cannot be encoded: {reason}")]
    Encoding { reason: String },
}

impl From<der::Error> for SubjectError {
    fn from(error: der::Error) -> Self {
        Self::Encoding { reason: error.to_string() }
    }
}

/// The subject of a spec; empty when it has none.
pub(super) fn subject(spec: &CertificateSpec) -> Result<Name, SubjectError> {
    let sequence = if spec.literal_subject.is_empty() {
        structured(spec)?
    } else {
        parse(&spec.literal_subject)?
    };
    Ok(Name::from_der(&sequence.to_der()?)?)
}

/// The CN inside an RFC 4514 string, empty when there is none; the most specific of several.
pub fn literal_subject_common_name(literal: &str) -> Result<String, SubjectError> {
    let sequence = parse(literal)?;
    let mut values: Vec<String> = Vec::new();
    for attribute in sequence.iter().flat_map(RelativeDistinguishedName::iter) {
        if attribute.oid == COMMON_NAME {
            values.push(String::from_utf8_lossy(attribute.value.value()).into_owned());
        }
    }
    Ok(values.pop().unwrap_or_default())
}

fn structured(spec: &CertificateSpec) -> Result<RdnSequence, SubjectError> {
    let subject = spec.subject.clone().unwrap_or_default();
    let common_name = spec.common_name.clone();
    let attributes = [
        (COUNTRY, subject.countries),
        (ORGANIZATION, subject.organizations),
        (ORGANIZATIONAL_UNIT, subject.organizational_units),
        (LOCALITY, subject.localities),
        (PROVINCE, subject.provinces),
        (STREET, subject.street_addresses),
        (POSTAL_CODE, subject.postal_codes),
        (SERIAL_NUMBER, vec![subject.serial_number]),
        (COMMON_NAME, vec![common_name]),
    ];
    let mut sequence = RdnSequence::default();
    for (oid, mut values) in attributes {
        values.retain(|value| !value.is_empty());
        values.sort_unstable();
        values.dedup();
        if !values.is_empty() {
            let texts = values.iter().map(|value| text_attribute(oid, value));
            sequence
                .push(RelativeDistinguishedName::try_from(texts.collect::<Result<Vec<_>, _>>()?)?);
        }
    }
    Ok(sequence)
}

/// RFC 4514 section 3, with spaces allowed around the separators.
fn parse(literal: &str) -> Result<RdnSequence, SubjectError> {
    let mut names = split(literal, ',')
        .into_iter()
        .map(|name| {
            let attributes: Result<Vec<_>, SubjectError> =
                split(name, '+').into_iter().map(attribute).collect();
            Ok(RelativeDistinguishedName::try_from(attributes?)?)
        })
        .collect::<Result<Vec<_>, SubjectError>>()?;
    names.reverse();
    Ok(RdnSequence::from(names))
}

/// Splits at each `separator` that no backslash precedes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut escaped = false;
    text.split(|character| {
        let splits = character == separator && !escaped;
        escaped = character == '\\' && !escaped;
        splits
    })
    .collect()
}

fn attribute(text: &str) -> Result<AttributeTypeAndValue, SubjectError> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| SubjectError::NoValue { text: text.trim().to_owned() })?;
    let (name, value) = (name.trim(), trim_value(value));
    let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let oid = match known {
        Some((_, oid)) => *oid,
        None => ObjectIdentifier::new(name)
            .map_err(|_| SubjectError::UnknownAttribute { attribute: name.to_owned() })?,
    };
    if let Some(digits) = value.strip_prefix('#') {
        let wrong = || SubjectError::Hexadecimal { text: value.to_owned() };
        let der = unhex(digits).ok_or_else(wrong)?;
        return Ok(AttributeTypeAndValue { oid, value: Any::from_der(&der).map_err(|_| wrong())? });
    }
    let value = unescape(value)?;
    if value.is_empty() {
        return Err(SubjectError::EmptyValue { attribute: name.to_owned() });
    }
    text_attribute(oid, &value)
}

/// Drops the spaces around a value, except one that is escaped.
fn trim_value(value: &str) -> &str {
    let value = value.trim_start();
    let trimmed = value.trim_end();
    let backslashes = trimmed.bytes().rev().take_while(|byte| *byte == b'\\').count();
    if backslashes % 2 == 1 { value.get(..=trimmed.len()).unwrap_or(value) } else { trimmed }
}

/// RFC 4514 section 2.4.
fn unescape(value: &str) -> Result<String, SubjectError> {
    let bad = || SubjectError::Escape { text: value.to_owned() };
    let mut bytes = Vec::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        if matches!(character, '"' | '+' | ',' | ';' | '<' | '>' | '\0') {
            return Err(SubjectError::Unescaped { character });
        }
        if character != '\\' {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let next = characters.next().ok_or_else(bad)?;
        if matches!(next, '"' | '+' | ',' | ';' | '<' | '>' | '\\' | ' ' | '#' | '=') {
            bytes.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            let second = characters.next().ok_or_else(bad)?;
            let pair: String = [next, second].iter().collect();
            bytes.extend(unhex(&pair).ok_or_else(bad)?);
        }
    }
    String::from_utf8(bytes).map_err(|_| SubjectError::NotUtf8 { text: value.to_owned() })
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    if digits.is_empty() || digits.len() % 2 == 1 {
        return None;
    }
    let digits: Option<Vec<u8>> =
        digits.chars().map(|digit| digit.to_digit(16)?.try_into().ok()).collect();
    digits?.chunks_exact(2).map(|pair| Some(pair.first()? << 4 | pair.last()?)).collect()
}

/// `PrintableString` where it can be, else `UTF8String` (RFC 5280 section 4.1.2.4); `IA5String`
/// where the attribute is defined so (RFC 5280, appendix A.1).
fn text_attribute(
    oid: ObjectIdentifier,
    text: &str,
) -> Result<AttributeTypeAndValue, SubjectError> {
    let value = if oid == DOMAIN_COMPONENT || oid == EMAIL_ADDRESS {
        Any::encode_from(&Ia5String::new(text)?)?
    } else if let Ok(printable) = PrintableString::new(text) {
        Any::encode_from(&printable)?
    } else {
        Any::encode_from(&Utf8StringRef::new(text)?)?
    };
    Ok(AttributeTypeAndValue { oid, value })
}

fn known() -> String {
    NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The names cert-manager knows (RFC 4514 section 3 and Go's SERIALNUMBER); others are written as
/// object identifiers.
const NAMES: &[(&str, ObjectIdentifier)] = &[
    ("C", COUNTRY),
    ("O", ORGANIZATION),
    ("OU", ORGANIZATIONAL_UNIT),
    ("CN", COMMON_NAME),
    ("SERIALNUMBER", SERIAL_NUMBER),
    ("L", LOCALITY),
    ("ST", PROVINCE),
    ("STREET", STREET),
    ("DC", DOMAIN_COMPONENT),
    ("UID", USER_ID),
];

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const SERIAL_NUMBER: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.5");
const COUNTRY: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.6");
const LOCALITY: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.7");
const PROVINCE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.8");
const STREET: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.9");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
const ORGANIZATIONAL_UNIT: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.11");
const POSTAL_CODE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.17");
const USER_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("0.9.2342.19200300.100.1.1");
const DOMAIN_COMPONENT: ObjectIdentifier =
    ObjectIdentifier::new_unwrap("0.9.2342.19200300.100.1.25");
const EMAIL_ADDRESS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.1");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Subject;

    /// One line per relative name: `oid=tag:value`, joined by ` + `.
    fn shown(sequence: &RdnSequence) -> Vec<String> {
        let attribute = |a: &AttributeTypeAndValue| {
            let (tag, value) = (der::Tagged::tag(&a.value), a.value.value());
            format!("{}={}:{}", a.oid, tag.number().value(), String::from_utf8_lossy(value))
        };
        sequence
            .iter()
            .map(|name| name.iter().map(attribute).collect::<Vec<_>>().join(" + "))
            .collect()
    }

    #[test]
    fn literal_subjects_are_read_as_rfc_4514_says() {
        let cases: &[(&str, &[&str])] = &[
            ("CN=a,O=b", &["2.5.4.10=19:b", "2.5.4.3=19:a"]),
            ("cn = a b , O = c", &["2.5.4.10=19:c", "2.5.4.3=19:a b"]),
            ("CN=a+OU=b,O=c", &["2.5.4.10=19:c", "2.5.4.3=19:a + 2.5.4.11=19:b"]),
            // Repeated values stay: Go's encoder sorts a SET OF and removes nothing.
            ("CN=a+CN=a", &["2.5.4.3=19:a + 2.5.4.3=19:a"]),
            ("CN=a\\,b\\+c\\=d", &["2.5.4.3=19:a,b+c=d"]),
            ("CN=a=b", &["2.5.4.3=19:a=b"]),
            ("CN=a\\ ,O=\\ b", &["2.5.4.10=19: b", "2.5.4.3=19:a "]),
            ("CN=a\\\\ ", &["2.5.4.3=12:a\\"]),
            ("CN=M\\C3\\BCller", &["2.5.4.3=12:Müller"]),
            ("CN=Müller", &["2.5.4.3=12:Müller"]),
            ("CN=\\#1", &["2.5.4.3=12:#1"]),
            ("CN=#0C0161", &["2.5.4.3=12:a"]),
            (
                "UID=u,DC=example,DC=net",
                &[
                    "0.9.2342.19200300.100.1.25=22:net",
                    "0.9.2342.19200300.100.1.25=22:example",
                    "0.9.2342.19200300.100.1.1=19:u",
                ],
            ),
            ("1.2.3.4=x", &["1.2.3.4=19:x"]),
        ];
        for (literal, expected) in cases {
            let found = parse(literal).map(|s| shown(&s)).unwrap();
            assert_eq!(found, *expected, "{literal}");
        }
    }

    #[test]
    fn what_is_no_literal_subject_is_refused() {
        let text = |text: &str| text.to_owned();
        let cases: &[(&str, SubjectError)] = &[
            ("CN", SubjectError::NoValue { text: text("CN") }),
            ("CN=a,", SubjectError::NoValue { text: text("") }),
            ("CN=", SubjectError::EmptyValue { attribute: text("CN") }),
            ("XY=a", SubjectError::UnknownAttribute { attribute: text("XY") }),
            ("CN=a;O=b", SubjectError::Unescaped { character: ';' }),
            ("CN=\"a\"", SubjectError::Unescaped { character: '"' }),
            ("CN=a\\", SubjectError::Escape { text: text("a\\") }),
            ("CN=a\\xy", SubjectError::Escape { text: text("a\\xy") }),
            ("CN=\\ff", SubjectError::NotUtf8 { text: text("\\ff") }),
            ("CN=#0C02", SubjectError::Hexadecimal { text: text("#0C02") }),
            ("CN=#", SubjectError::Hexadecimal { text: text("#") }),
        ];
        for (literal, expected) in cases {
            assert_eq!(parse(literal).as_ref(), Err(expected), "{literal}");
        }
        assert!(matches!(parse("DC=Müller"), Err(SubjectError::Encoding { .. })));
    }

    #[test]
    fn repeated_values_of_an_attribute_all_survive() {
        let spec = CertificateSpec {
            common_name: "a.example".to_owned(),
            subject: Some(Subject {
                organizations: vec!["B".to_owned(), "A".to_owned(), "B".to_owned()],
                countries: vec!["DE".to_owned()],
                serial_number: "1".to_owned(),
                ..Subject::default()
            }),
            ..CertificateSpec::default()
        };
        let found = structured(&spec).map(|sequence| shown(&sequence));
        let expected = [
            "2.5.4.6=19:DE",
            "2.5.4.10=19:A + 2.5.4.10=19:B",
            "2.5.4.5=19:1",
            "2.5.4.3=19:a.example",
        ];
        assert_eq!(found.as_deref(), Ok(&expected.map(str::to_owned)[..]));
    }

    #[test]
    fn the_common_name_of_a_literal_subject_is_its_most_specific_one() {
        let cases = [("CN=a,O=b", "a"), ("O=b", ""), ("CN=a,CN=b", "a"), ("CN=\\41,O=c", "A")];
        for (literal, expected) in cases {
            assert_eq!(literal_subject_common_name(literal).as_deref(), Ok(expected), "{literal}");
        }
    }
}
