//! The fields of manifests, and their descriptions.

pub mod lego;
pub mod table;

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

    /// As in a manifest.
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

/// All fields of a kind, those above before those below.
pub fn all(kind: Kind) -> Vec<Field> {
    let own: &[&str] = match kind {
        Kind::Certificate => &["Annotations", "Certificate"],
        Kind::Issuer | Kind::ClusterIssuer => &["Annotations", "Issuer"],
        Kind::Secret => &["Secret"],
    };
    let titles = ["Metadata"].into_iter().chain(own.iter().copied()).chain(["Status"]);
    titles.flat_map(table::section).copied().collect()
}

/// The last part of a path: a key of its mapping. Annotations have dots in them.
pub fn key_of(path: &str) -> &str {
    match path.strip_prefix(ANNOTATIONS) {
        Some(annotation) if !annotation.is_empty() => annotation,
        Some(_) | None => path.rsplit('.').next().unwrap_or(path),
    }
}

/// The fields right below a path; the kind's own when it is empty.
pub fn below(kind: Kind, path: &str) -> Vec<Field> {
    let is_child = |field: &Field| {
        let parent = field.path.strip_suffix(key_of(field.path)).unwrap_or_default();
        parent.trim_end_matches('.') == path
    };
    all(kind).into_iter().filter(is_child).collect()
}

/// How the paths of the DNS providers' fields begin.
pub(in crate::cli) const DNS01: &str = "spec.acme.solvers.dns01.";
/// How the paths of annotations begin.
pub const ANNOTATIONS: &str = "metadata.annotations.";
