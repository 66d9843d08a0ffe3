//! The format of a stored JSON document: `{"version":1,"kind":"Order","document":{…}}`.
//!
//! Contract: each kind has its own version, which any added field raises. The version is checked
//! before anything else: a newer document is refused as newer and left unchanged, an older
//! one is migrated as it is read. An unknown field, a second `version` and anything
//! after the end are damage.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Account, AccountLimits, BannedKeys, CertificateRecord, CertificateRequest, CertificateSpec,
    HostSection, Order, Queue, RevokedCertificate, SecretFiles, SecretMetadata, escape,
};

/// A type that is stored as JSON.
pub(crate) trait Document: Serialize + DeserializeOwned {
    /// Its name in the file.
    const KIND: &'static str;
    /// The version that is written. Older ones, from 1 on, are read.
    const VERSION: u64;

    /// Changes the JSON of an older version into that of this one. Fields that were only added,
    /// each with a default, need nothing.
    fn upgrade(_from: u64, _document: &mut Value) {}
}

impl Document for CertificateRecord {
    const KIND: &'static str = "Certificate";
    const VERSION: u64 = 1;
}

impl Document for HostSection {
    const KIND: &'static str = "HostSection";
    const VERSION: u64 = 1;
}

/// Its version stands with the fields of the Certificate's spec, which is most of it.
impl Document for CertificateRequest {
    const KIND: &'static str = "CertificateRequest";
    const VERSION: u64 = CertificateSpec::FORMAT;
}

impl Document for Order {
    const KIND: &'static str = "Order";
    const VERSION: u64 = 1;
}

impl Document for Account {
    const KIND: &'static str = "Account";
    const VERSION: u64 = 1;
}

impl Document for AccountLimits {
    const KIND: &'static str = "AccountLimits";
    const VERSION: u64 = 1;
}

impl Document for BannedKeys {
    const KIND: &'static str = "BannedKeys";
    const VERSION: u64 = 1;
}

impl Document for RevokedCertificate {
    const KIND: &'static str = "RevokedCertificate";
    const VERSION: u64 = 1;
}

impl Document for Queue {
    const KIND: &'static str = "Queue";
    const VERSION: u64 = 1;
}

impl Document for SecretMetadata {
    const KIND: &'static str = "SecretMetadata";
    const VERSION: u64 = 1;
}

impl SecretMetadata {
    /// The facts of a Secret's files.
    pub(crate) fn of(files: &SecretFiles) -> Option<Result<Self, Unreadable>> {
        let bytes = files.0.get(Self::FILE)?;
        Some(open(bytes))
    }
}

/// Why a document is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It has a newer version, or one that never existed.
    Version(u64),
    /// It is damaged, with the reason.
    Damaged(String),
}

/// Writes a document.
pub(crate) fn seal<T: Document>(document: &T) -> Result<Vec<u8>, serde_json::Error> {
    let envelope = Sealed { version: T::VERSION, kind: T::KIND, document };
    let mut bytes = serde_json::to_vec_pretty(&envelope)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a document.
pub(crate) fn open<T: Document>(bytes: &[u8]) -> Result<T, Unreadable> {
    // Most documents are of this version, and read once; the others, and what is wrong, are looked
    // at version first. As text they are checked at once, and not each string in them.
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(Envelope { version, kind, document }) = serde_json::from_str::<Envelope<T>>(text)
        && version == T::VERSION
        && kind == T::KIND
    {
        return Ok(document);
    }
    let damaged = |error: serde_json::Error| Unreadable::Damaged(one_line(&error.to_string()));
    let label: Label = serde_json::from_slice(bytes).map_err(damaged)?;
    let Some(version) = label.version else {
        return Err(Unreadable::Damaged("it has no version".to_owned()));
    };
    if version == T::VERSION {
        return of_kind::<T, T>(serde_json::from_slice(bytes).map_err(damaged)?);
    }
    if version == 0 || version > T::VERSION {
        return Err(Unreadable::Version(version));
    }
    let mut document = of_kind::<T, Value>(serde_json::from_slice(bytes).map_err(damaged)?)?;
    T::upgrade(version, &mut document);
    // As text again: one decoder of each type is in the binary, not two.
    let text = serde_json::to_vec(&document).map_err(damaged)?;
    serde_json::from_slice(&text).map_err(damaged)
}

fn of_kind<T: Document, D>(envelope: Envelope<D>) -> Result<D, Unreadable> {
    if envelope.kind == T::KIND {
        return Ok(envelope.document);
    }
    let why = format!("it is of kind \"{}\", not \"{}\"", one_line(&envelope.kind), T::KIND);
    Err(Unreadable::Damaged(why))
}

#[derive(Serialize)]
struct Sealed<'a, T> {
    version: u64,
    kind: &'static str,
    document: &'a T,
}

/// The fields of every version; a newer one may add others.
#[derive(Deserialize)]
struct Label {
    version: Option<u64>,
    #[serde(default, rename = "document")]
    _document: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<T> {
    version: u64,
    kind: String,
    document: T,
}

/// A text from a damaged file is neither trusted nor long.
fn one_line(text: &str) -> String {
    escape(&text.chars().take(200).collect::<String>()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::fs::File;
    use std::io::Write as _;
    use std::path::Path;

    use schemars::JsonSchema;
    use serde_json::json;

    use super::*;
    use crate::store::samples;

    fn check_damages<T: Document + Clone + PartialEq + Debug>(document: &T) {
        let good = seal(document).unwrap();
        assert_eq!(open::<T>(&good), Ok(document.clone()));
        // The last byte is the newline: without it the document is whole.
        let mut damages: Vec<_> = (0..good.len() - 1).map(|end| good[..end].to_vec()).collect();
        let text = String::from_utf8(good.clone()).unwrap();
        let version = format!("\"version\": {}", T::VERSION);
        let twice = format!("{version}, {version}");
        let (extra, comma) = (format!("{version}, \"extra\": 1"), format!("{version},"));
        let edits = [
            (version.as_str(), "\"version\": -1"),
            (&version, "\"version\": 1.0"),
            (&version, "\"version\": 99999999999999999999"),
            (&version, &twice),
            (&version, &extra),
            (&comma, ""),
            ("\"document\": {", "\"document\": {\"ext\\u001bra\": 1,"),
            ("\"document\": {", "\"document\": {}, \"document\": {"),
            ("\"kind\": \"", "\"kind\": \"\\u001b"),
        ];
        damages.extend(edits.map(|(from, to)| text.replacen(from, to, 1).into_bytes()));
        damages.extend([
            vec![0; 512],
            vec![0xff; 10],
            [&*good, b"}"].concat(),
            [&*good, &*good].concat(),
            [&*b"[".repeat(100_000), &*good].concat(),
            b"{\"version\":1,\"kind\":\"Order\",\"document\":null}".to_vec(),
        ]);
        for damage in damages {
            match open::<T>(&damage) {
                Err(Unreadable::Damaged(why)) => {
                    assert!(why.len() < 1000 && !why.chars().any(char::is_control), "{why:?}");
                }
                found => panic!("{found:?} from {}", String::from_utf8_lossy(&damage)),
            }
        }
        for (index, bit) in (0..good.len()).flat_map(|i| (0..8).map(move |bit| (i, 1 << bit))) {
            let mut damage = good.clone();
            damage[index] ^= bit;
            // It may still be a valid document, or of another version; it must only not panic.
            drop(open::<T>(&damage));
        }
    }

    #[test]
    fn no_damage_is_taken_for_a_document() {
        check_damages(&samples::record());
        check_damages(&samples::request());
        check_damages(&samples::order());
        check_damages(&samples::account());
        check_damages(&samples::queue());
        check_damages(&samples::secret_metadata());
    }

    /// What is kept of a schema: names, types and what is required, without what is only said.
    fn shape(schema: &mut Value) {
        match schema {
            Value::Object(fields) => {
                fields.retain(|name, value| {
                    let is_documentation =
                        matches!(name.as_str(), "description" | "title" | "$schema");
                    !(is_documentation && value.is_string())
                });
                fields.values_mut().for_each(shape);
            }
            Value::Array(items) => items.iter_mut().for_each(shape),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// `CERTCTL_REGENERATE=1 cargo test --lib envelope` writes the shape of a version that has none
    /// yet, and never changes one: binaries that are in use have it.
    fn check_shape<T: Document + JsonSchema>() {
        let mut schema = schemars::schema_for!(T).to_value();
        shape(&mut schema);
        let found = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats");
        let file = folder.join(format!("{}.{}.json", T::KIND, T::VERSION));
        if !file.exists() && std::env::var_os("CERTCTL_REGENERATE").is_some() {
            File::create(&file).unwrap().write_all(found.as_bytes()).unwrap();
        }
        let frozen = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(
            found,
            frozen,
            "{0} changed: raise its VERSION, and upgrade {1}",
            T::KIND,
            T::VERSION
        );
    }

    #[test]
    fn whatever_changes_the_shape_of_a_document_raises_its_version() {
        check_shape::<CertificateRecord>();
        check_shape::<CertificateRequest>();
        check_shape::<Order>();
        check_shape::<Account>();
        check_shape::<AccountLimits>();
        check_shape::<BannedKeys>();
        check_shape::<RevokedCertificate>();
        check_shape::<Queue>();
        check_shape::<SecretMetadata>();
        check_shape::<crate::solver::listener::PresentedToken>();
    }

    /// A kind as it is in its second version, which renamed a field and added one.
    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Renamed {
        owner: String,
        #[serde(default)]
        group: Option<String>,
    }

    impl Document for Renamed {
        const KIND: &'static str = "Renamed";
        const VERSION: u64 = 2;

        fn upgrade(from: u64, document: &mut Value) {
            if from < 2
                && let Some(fields) = document.as_object_mut()
                && let Some(user) = fields.remove("user")
            {
                fields.insert("owner".to_owned(), user);
            }
        }
    }

    #[test]
    fn a_document_of_the_version_before_is_migrated_and_damage_in_it_is_damage() {
        let first = r#"{"version":1,"kind":"Renamed","document":{"user":"www"}}"#;
        let expected = Renamed { owner: "www".to_owned(), group: None };
        assert_eq!(open::<Renamed>(first.as_bytes()).as_ref(), Ok(&expected));
        // What is written is of the second version, and read as it is.
        let second = seal(&expected).unwrap();
        let envelope: Value = serde_json::from_slice(&second).unwrap();
        let document = json!({ "owner": "www", "group": null });
        assert_eq!(envelope, json!({ "version": 2, "kind": "Renamed", "document": document }));
        assert_eq!(open(&second), Ok(expected));
        let third = first.replace("\"version\":1", "\"version\":3");
        assert_eq!(open::<Renamed>(third.as_bytes()), Err(Unreadable::Version(3)));
        for (from, to) in [
            ("{\"user\"", "{\"extra\":1,\"user\""),
            ("\"kind\":\"Renamed\"", "\"kind\":\"Order\""),
            ("\"user\":\"www\"", ""),
            ("\"www\"", "7"),
        ] {
            let damage = first.replacen(from, to, 1);
            assert_ne!(damage, first, "{from}");
            let found = open::<Renamed>(damage.as_bytes());
            assert!(matches!(found, Err(Unreadable::Damaged(_))), "{damage}: {found:?}");
        }
    }

    #[test]
    fn a_newer_version_is_distinguished_from_damage() {
        for (text, version) in [
            ("{\"version\":2,\"kind\":\"Order\",\"document\":{\"new\":1},\"sum\":\"ab\"}", 2),
            ("{\"version\":0}", 0),
            ("{\"sum\":[[]],\"version\":18446744073709551615}", u64::MAX),
        ] {
            assert_eq!(open::<Order>(text.as_bytes()), Err(Unreadable::Version(version)), "{text}");
        }
    }

    #[test]
    fn one_kind_is_not_read_as_another() {
        let keys = seal(&BannedKeys::default()).unwrap();
        assert!(matches!(open::<Queue>(&keys), Err(Unreadable::Damaged(_))));
    }
}
