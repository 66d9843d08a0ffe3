//! The description of one field of a manifest.

pub use crate::resource::{Choices, FieldType as Type, Used};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// From the object's root, lists without brackets: `spec.acme.solvers.dns01`.
    pub path: &'static str,
    pub kind: Type,
    pub used: Used,
    /// The value when absent; empty when there is none, `required` for a mandatory field.
    pub default: &'static str,
    /// Meaning and accepted values.
    pub rule: &'static str,
    /// A value, as YAML; empty for what has fields of its own.
    pub example: &'static str,
}

/// The kinds of manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Certificate,
    Issuer,
    ClusterIssuer,
    Secret,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Certificate, Self::Issuer, Self::ClusterIssuer, Self::Secret];

    /// Reads a kind, in any case and number: `certificates`.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        match word.strip_suffix('s').unwrap_or(&word) {
            "certificate" | "cert" | "crt" => Some(Self::Certificate),
            "issuer" => Some(Self::Issuer),
            "clusterissuer" => Some(Self::ClusterIssuer),
            "secret" => Some(Self::Secret),
            _ => None,
        }
    }

    /// Name as in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certificate => "Certificate",
            Self::Issuer => "Issuer",
            Self::ClusterIssuer => "ClusterIssuer",
            Self::Secret => "Secret",
        }
    }

    /// Its `apiVersion`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Certificate | Self::Issuer | Self::ClusterIssuer => "cert-manager.io/v1",
            Self::Secret => "v1",
        }
    }
}

/// [`Field::default`] of a field that must be there.
pub const REQUIRED: &str = "required";
