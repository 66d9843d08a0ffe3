//! A `kind: Secret` manifest: credentials that manifests refer to, or a pair to adopt.
//!
//! Contract: no message, diagnostic or `Debug` output contains a value.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::resource::{NamespacedName, Origin};

use super::field::{Field, Fields};
use super::name::{SECRET_KEY, is_secret_key};
use super::sink::Sink;

/// A decoded Secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretManifest {
    pub namespace: String,
    pub name: String,
    /// `data` decoded from base64, with `stringData` over it.
    pub data: BTreeMap<String, Zeroizing<Vec<u8>>>,
    /// `type`; empty when absent.
    pub secret_type: String,
    pub origin: Origin,
}

impl SecretManifest {
    pub fn key(&self) -> NamespacedName {
        NamespacedName::new(self.namespace.clone(), self.name.clone())
    }
}

impl std::fmt::Debug for SecretManifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretManifest")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("keys", &self.data.keys().collect::<Vec<_>>())
            .field("secret_type", &self.secret_type)
            .finish_non_exhaustive()
    }
}

/// Entries by name.
type Data = BTreeMap<String, Zeroizing<Vec<u8>>>;

/// Reads `data`, `stringData` and `type`.
pub(crate) fn content(object: &mut Fields<'_>, sink: &mut Sink<'_>) -> (Data, String) {
    let mut data = Data::new();
    if let Some(field) = object.take("data") {
        for (key, value) in entries(&field, sink) {
            let compact: Zeroizing<String> =
                Zeroizing::new(text_of(&value).chars().filter(|c| !c.is_whitespace()).collect());
            match STANDARD.decode(compact.as_bytes()) {
                Ok(bytes) => {
                    data.insert(key, Zeroizing::new(bytes));
                }
                Err(_) => value.refuse(sink, "not base64: plain text goes into stringData"),
            }
        }
    }
    if let Some(field) = object.take("stringData") {
        for (key, value) in entries(&field, sink) {
            data.insert(key, Zeroizing::new(text_of(&value).as_bytes().to_vec()));
        }
    }
    if let Some(field) = object.take("immutable") {
        field.boolean(sink);
    }
    let secret_type = object.take("type").and_then(|field| field.text(sink));
    (data, secret_type.unwrap_or_default())
}

/// The entries with a valid key and type; null is an empty value.
fn entries<'n>(field: &Field<'n>, sink: &mut Sink<'_>) -> Vec<(String, Field<'n>)> {
    let mut found = Vec::new();
    for (entry, value) in field.entries(sink) {
        if !is_secret_key(&entry.key) {
            sink.error("E0109", entry.key_span, &field.path, SECRET_KEY);
        } else if value.node.value == super::tree::Value::Null || value.node.as_text().is_some() {
            found.push((entry.key.clone(), value));
        } else {
            sink.error("E0103", entry.key_span, &value.path, "expected text");
        }
    }
    found
}

fn text_of<'n>(field: &Field<'n>) -> &'n str {
    field.node.as_text().unwrap_or_default()
}
