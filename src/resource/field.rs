//! What there is to say of a field of a manifest: for `explain`, the schema and the manual.

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldDoc {
    /// As in a manifest.
    pub name: &'static str,
    /// What may stand there.
    pub kind: FieldType,
    /// Who uses it.
    pub used: Used,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it means, and what may be written.
    pub meaning: &'static str,
    /// What holds when it is absent; empty when nothing does.
    pub default: &'static str,
    /// A value, as YAML; empty for what has fields of its own.
    pub example: &'static str,
}

/// What may stand at a field.
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
    Word(Words),
    /// A list of text.
    Texts,
    /// A list of these words.
    Words(Words),
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
    /// As kubectl writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text | Self::Duration | Self::Word(_) => "string",
            Self::Bool => "boolean",
            Self::Integer => "integer",
            Self::Texts | Self::Words(_) => "[]string",
            Self::TextMap => "map[string]string",
            Self::Object | Self::SecretRef => "Object",
            Self::Objects => "[]Object",
            Self::Anything => "any",
        }
    }
}

/// Words with commas between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words(pub &'static str);

impl Words {
    /// One by one.
    pub fn list(self) -> impl Iterator<Item = &'static str> {
        self.0.split(", ")
    }
}

/// Who uses a field.
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
    pub fn words(self) -> &'static str {
        match self {
            Self::Both => "cert-manager and certctl",
            Self::Cluster => "a cluster; certctl accepts it and does not use it",
            Self::Certctl => "certctl; a cluster ignores it",
        }
    }
}

/// Values that are not written when they say nothing.
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
