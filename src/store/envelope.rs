//! How a JSON document is written down: `{"version":1,"kind":"Order","document":{…}}`.
//!
//! Contract: the version is looked at before anything else, so a file of a newer certctl is told
//! from a damaged one. An unknown field, a second `version` and anything after the end are damage.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::resource::{Account, CertificateRecord, CertificateRequest, Order};

/// The version that is written, and the only one that is read.
pub(super) const VERSION: u64 = 1;

/// A noun that is stored as JSON.
pub(super) trait Document: Serialize + DeserializeOwned {
    /// Its name in the file.
    const KIND: &'static str;
}

impl Document for CertificateRecord {
    const KIND: &'static str = "Certificate";
}

impl Document for CertificateRequest {
    const KIND: &'static str = "CertificateRequest";
}

impl Document for Order {
    const KIND: &'static str = "Order";
}

impl Document for Account {
    const KIND: &'static str = "Account";
}

/// Why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It is of another version.
    Version(u64),
    /// It is damaged, and how.
    Damaged(String),
}

/// Writes a document.
pub(super) fn seal<T: Document>(document: &T) -> Result<Vec<u8>, serde_json::Error> {
    let envelope = Sealed { version: VERSION, kind: T::KIND, document };
    let mut bytes = serde_json::to_vec_pretty(&envelope)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a document.
pub(super) fn open<T: Document>(bytes: &[u8]) -> Result<T, Unreadable> {
    let damaged = |error: serde_json::Error| Unreadable::Damaged(one_line(&error.to_string()));
    let label: Label = serde_json::from_slice(bytes).map_err(damaged)?;
    if label.version != VERSION {
        return Err(Unreadable::Version(label.version));
    }
    let envelope: Envelope<T> = serde_json::from_slice(bytes).map_err(damaged)?;
    if envelope.kind != T::KIND {
        let why = format!("it is of kind {:?}, not {:?}", one_line(&envelope.kind), T::KIND);
        return Err(Unreadable::Damaged(why));
    }
    Ok(envelope.document)
}

#[derive(Serialize)]
struct Sealed<'a, T> {
    version: u64,
    kind: &'static str,
    document: &'a T,
}

/// What every version has; other fields may follow in a newer one.
#[derive(Deserialize)]
struct Label {
    version: u64,
    #[serde(default, rename = "document")]
    _document: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<T> {
    #[serde(rename = "version")]
    _version: u64,
    kind: String,
    document: T,
}

/// A text from a damaged file is neither believed nor long.
fn one_line(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
