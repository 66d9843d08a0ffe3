//! The description of a manifest's field: for `explain`, the schema and the manual.

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldDoc {
    pub name: &'static str,
    pub kind: FieldType,
    pub used: Used,
    pub is_required: bool,
    /// Its meaning, and the allowed values.
    pub meaning: &'static str,
    /// The default; empty when there is none.
    pub default: &'static str,
    /// A value, as YAML; empty for what has fields of its own.
    pub example: &'static str,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Text.
    Text,
    /// true or false.
    Bool,
    /// A whole number.
    Integer,
    /// Text such as `2160h` or `1h30m`: hours, minutes, seconds; no days.
    Duration,
    /// One of these words.
    Word(Choices),
    /// A list of text.
    Texts,
    /// A list of these words.
    Choices(Choices),
    /// A mapping from text to text.
    TextMap,
    /// A mapping with fields of its own.
    Object,
    /// A list of such mappings.
    Objects,
    /// `name` of a Secret and `key` of an entry in it.
    SecretRef,
    /// Anything.
    Anything,
}

impl FieldType {
    /// The type's name, as kubectl prints it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text | Self::Duration | Self::Word(_) => "string",
            Self::Bool => "boolean",
            Self::Integer => "integer",
            Self::Texts | Self::Choices(_) => "[]string",
            Self::TextMap => "map[string]string",
            Self::Object | Self::SecretRef => "Object",
            Self::Objects => "[]Object",
            Self::Anything => "any",
        }
    }
}

/// Words with commas between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices(pub &'static str);

impl Choices {
    /// One by one.
    pub fn list(self) -> impl Iterator<Item = &'static str> {
        self.0.split(", ")
    }
}

/// Which program uses a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// cert-manager in a cluster, and certctl.
    Both,
    /// Only a cluster; certctl accepts and ignores it.
    Cluster,
    /// Only certctl; a cluster ignores it.
    Certctl,
}

impl Used {
    /// In words.
    pub fn users(self) -> &'static str {
        match self {
            Self::Both => "cert-manager and certctl",
            Self::Cluster => "a cluster; certctl accepts it and does not use it",
            Self::Certctl => "certctl; a cluster ignores it",
        }
    }
}

/// Values that are omitted when empty.
pub(super) trait Absent {
    fn is_absent(&self) -> bool;
}

impl Absent for bool {
    fn is_absent(&self) -> bool {
        !self
    }
}

impl Absent for String {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T> Absent for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Absent for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}
