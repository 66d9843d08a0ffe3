//! The DNS providers of `create`, each with the fields that a usual set-up of it needs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::place::{Placed, scalar};
use crate::resource::Dns01Provider;
use crate::resource::dns01::{CHANGE_ME, FieldKind, SettingsField};
use crate::solver::dns01::{ConfigField, ConfigKind, webhook_providers};

/// A DNS provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dns01(&'static Provider);

/// A DNS provider, and how manifests name it.
#[derive(Debug, PartialEq, Eq)]
struct Provider {
    /// Name as it is typed.
    name: &'static str,
    /// The field of `dns01` with its settings; empty of one that a webhook names.
    field: &'static str,
    fields: Vec<Field>,
}

/// A field of its settings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    meaning: &'static str,
    /// A value; empty where there is none to show.
    example: &'static str,
}

/// Kind of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A reference to a secret of one line.
    Secret,
    /// A reference to a secret that is a file.
    File,
    Text,
    /// Text with a usual value.
    Word,
}

impl Dns01 {
    /// Name as it is typed.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The fields that are asked for.
    pub(super) fn fields(self) -> &'static [Field] {
        &self.0.fields
    }

    /// The names of cert-manager's own.
    pub(super) fn own() -> Vec<&'static str> {
        OWN.iter().map(|(name, ..)| *name).collect()
    }

    /// An entry of `solvers`: with these values, or with values that must be changed.
    pub(super) fn entry(self, values: &BTreeMap<&str, String>, placed: &Placed) -> String {
        let Provider { name, field, fields } = self.0;
        let page = if field.is_empty() { name } else { PAGE };
        let mut text =
            format!("      # To list all fields of this provider, run certctl explain {page}\n");
        for one in fields.iter().filter(|field| field.kind.is_secret()) {
            let from = if one.kind == Kind::File { "FILE" } else { "/dev/stdin" };
            let (install, folder, key) = (&placed.install, placed.secrets(), key_of(one.name));
            let _ = write!(
                text,
                "      # Store {key} ({}) in a file:\n      #   install -D {install} {from} {folder}/{name}/{key}\n",
                one.meaning.trim_end_matches('.')
            );
        }
        let (head, indent) = if field.is_empty() {
            let webhook = "webhook:\n            groupName: certctl\n            solverName: ";
            (format!("{webhook}{name}\n            config:"), 14)
        } else {
            (format!("{field}:"), 12)
        };
        let _ = writeln!(text, "      - dns01:\n          {head}");
        for Field { name: one, kind, example, .. } in fields {
            let value = match values.get(one) {
                _ if kind.is_secret() => format!("{{name: {name}, key: {}}}", key_of(one)),
                Some(value) => scalar(value),
                None if example.is_empty() => scalar(CHANGE_ME),
                None => scalar(example),
            };
            let _ = writeln!(text, "{:indent$}{one}: {value}", "");
        }
        text.trim_end().to_owned()
    }
}

impl Field {
    /// The question for its value.
    pub(super) fn question(&self) -> String {
        let meaning = self.meaning.trim_end_matches('.');
        let suffix = match self.kind {
            Kind::File => " (path of the file)".to_owned(),
            Kind::Text if !self.example.is_empty() => format!(" (such as {})", self.example),
            Kind::Secret | Kind::Text | Kind::Word => String::new(),
        };
        format!("{}: {meaning}{suffix}", key_of(self.name))
    }

    /// Meaning of an empty answer.
    pub(super) fn default(&self) -> Option<&'static str> {
        (self.kind == Kind::Word).then_some(self.example)
    }

    fn of_table(row: &SettingsField) -> Self {
        let kind = match row.kind {
            FieldKind::Secret if FILES.contains(&row.name) => Kind::File,
            FieldKind::Secret => Kind::Secret,
            FieldKind::Word(_) | FieldKind::WordInAnyCase(_) => Kind::Word,
            FieldKind::Text
            | FieldKind::Server
            | FieldKind::FileName
            | FieldKind::Object(_)
            | FieldKind::Any
            | FieldKind::ClusterOnly => Kind::Text,
        };
        Self { name: row.name, kind, meaning: row.meaning, example: row.example }
    }

    fn of_config(field: &ConfigField) -> Self {
        let kind = match field.kind {
            ConfigKind::Secret | ConfigKind::SecretIfAny => Kind::Secret,
            ConfigKind::Document => Kind::File,
            ConfigKind::Text | ConfigKind::TextIfAny | ConfigKind::Flag => Kind::Text,
        };
        let meaning = if field.meaning.is_empty() { field.lego } else { field.meaning };
        Self { name: field.name, kind, meaning, example: "" }
    }
}

impl Kind {
    pub(super) fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::File)
    }
}

/// The entry of a Secret: `apiTokenSecretRef` refers to `apiToken`.
pub(super) fn key_of(field: &'static str) -> &'static str {
    field.trim_end_matches("SecretRef")
}

/// cert-manager's own: as it is typed, its field, and the fields of its settings that are asked for.
const OWN: &[(&str, &str, &str)] = &[
    ("acme-dns", "acmeDNS", "host accountSecretRef"),
    (
        "akamai",
        "akamai",
        "serviceConsumerDomain clientTokenSecretRef clientSecretSecretRef accessTokenSecretRef",
    ),
    (
        "azure-dns",
        "azureDNS",
        "subscriptionID resourceGroupName tenantID clientID clientSecretSecretRef",
    ),
    ("cloud-dns", "cloudDNS", "project serviceAccountSecretRef"),
    ("cloudflare", "cloudflare", "apiTokenSecretRef"),
    ("digitalocean", "digitalocean", "tokenSecretRef"),
    ("rfc2136", "rfc2136", "nameserver tsigKeyName tsigAlgorithm tsigSecretSecretRef"),
    ("route53", "route53", "region accessKeyID secretAccessKeySecretRef"),
];

/// A program of the operator's own.
const EXEC: [Field; 2] = [
    Field {
        name: "command",
        kind: Kind::Text,
        meaning: "Your program in the folder solvers.d.",
        example: "nsupdate",
    },
    Field { name: "mode", kind: Kind::Word, meaning: "payload or lego.", example: "payload" },
];

/// Secrets that are files.
const FILES: [&str; 2] = ["accountSecretRef", "serviceAccountSecretRef"];
/// The page about the fields of cert-manager's own.
const PAGE: &str = "issuer.spec.acme.solvers.dns01";

impl ValueEnum for Dns01 {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Dns01>> = LazyLock::new(|| {
            let own = OWN.iter().map(|(name, field, names)| {
                let mut rows = Dns01Provider::TABLES.iter().filter(|(own, _)| own == field);
                let rows = rows.next().map_or(&[][..], |(_, table)| table.fields);
                let row = |name| rows.iter().find(|row| row.name == name).map(Field::of_table);
                Provider { name, field, fields: names.split(' ').filter_map(row).collect() }
            });
            let exec = Provider { name: "exec", field: "", fields: EXEC.into() };
            let listed = webhook_providers().into_iter().map(|one| {
                let fields = one.shown().map(Field::of_config).collect();
                Provider { name: one.name, field: "", fields }
            });
            let all: Vec<Provider> = own.chain([exec]).chain(listed).collect();
            all.leak().iter().map(Dns01).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let Provider { name, field, .. } = self.0;
        let value = PossibleValue::new(name);
        Some(if field.is_empty() || field == name { value } else { value.alias(field) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_that_is_asked_for_is_in_the_table_of_its_provider() {
        for (name, field, names) in OWN {
            let provider = Dns01::from_str(name, false).unwrap();
            let found: Vec<&str> = provider.fields().iter().map(|field| field.name).collect();
            assert_eq!(found.join(" "), *names, "{field}");
        }
        let of = |name: &str| Dns01::from_str(name, false).unwrap().fields();
        let questions: Vec<String> = of("rfc2136").iter().map(Field::question).collect();
        let expected = [
            "nameserver: The primary server, HOST or HOST:PORT (such as 192.0.2.1:53)",
            "tsigKeyName: Name of the key that signs the updates (such as acme)",
            "tsigAlgorithm: HMACMD5, HMACSHA1, HMACSHA224, HMACSHA256, HMACSHA384 or HMACSHA512",
            "tsigSecret: The key that signs the updates, in base64",
        ];
        assert_eq!(questions, expected);
        assert_eq!(of("rfc2136")[2].default(), Some("HMACSHA256"));
        assert_eq!(of("cloud-dns")[1].kind, Kind::File);
    }
}
