//! The fields of manifests, and their descriptions.

mod description;
pub mod lego;
pub mod table;

pub use description::{Choices, Field, Kind, REQUIRED, Type, Used};

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

/// Prefix of the paths of the DNS providers' fields.
pub(in crate::cli) const DNS01: &str = "spec.acme.solvers.dns01.";
/// Prefix of the paths of annotations.
pub const ANNOTATIONS: &str = "metadata.annotations.";
