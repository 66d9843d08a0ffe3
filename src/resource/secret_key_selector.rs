//! A reference to a key of a Secret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of a Secret and the entry in it.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretKeySelector {
    /// The Secret's name.
    pub name: String,
    /// The entry; empty where the field has a default of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}
