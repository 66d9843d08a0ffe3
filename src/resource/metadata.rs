//! ObjectMeta, without the fields that only a cluster uses.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NamespacedName;
use super::name::{namespace, object_name};

/// Name, namespace, labels and annotations of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// `metadata.name`.
    #[serde(deserialize_with = "object_name")]
    pub name: String,
    /// `metadata.namespace`; empty for a ClusterIssuer.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "namespace")]
    pub namespace: String,
    /// `metadata.labels`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// The pair that identifies the object among those of its kind.
    pub fn key(&self) -> NamespacedName {
        NamespacedName { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

/// The position of an object in the manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file, as the user named it; `-` for standard input.
    pub path: PathBuf,
    /// Line of `metadata.name`, counted from 1.
    pub line: usize,
    /// Column of `metadata.name`, counted from 1.
    pub column: usize,
}
