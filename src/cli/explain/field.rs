//! What there is to say of one field of a manifest.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// From the object's root, lists without brackets: `spec.acme.solvers.dns01`.
    pub path: &'static str,
    /// What may stand there.
    pub kind: Type,
    /// Who uses it.
    pub used: Used,
    /// What holds when it is absent; empty when nothing does, `required` when it must be there.
    pub default: &'static str,
    /// What it means, and what may be written.
    pub rule: &'static str,
    /// A value, as YAML; empty for what has fields of its own.
    pub example: &'static str,
}

/// What may stand at a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
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

impl Type {
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

/// The kinds of manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kinds")]
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
