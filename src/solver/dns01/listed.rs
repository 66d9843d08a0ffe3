//! The providers that a `webhook` with groupName certctl can name beyond cert-manager's: what
//! their `config` may hold, as data.

use crate::resource::dns01::{CHANGE_ME, FieldKind, SettingsTable};

/// A provider by its `solverName`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookProvider {
    pub name: &'static str,
    /// What `config` may hold.
    pub fields: &'static [ConfigField],
}

/// A field of `config`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigField {
    pub name: &'static str,
    pub kind: ConfigKind,
    /// What it means; empty where only lego's variable says it.
    pub meaning: &'static str,
    /// The environment variable from which lego has the value, or for [`ConfigKind::Document`] the
    /// path of a file with it; empty if there is none.
    pub lego: &'static str,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigKind {
    /// A reference to an entry of a Secret that is one line.
    Secret,
    /// The same, optional.
    SecretIfAny,
    /// A reference to an entry of a Secret that is a file: PEM or JSON.
    Document,
    /// A text or number that is no secret.
    Text,
    /// The same, optional.
    TextIfAny,
    /// `true` or `false`, optional.
    Flag,
}

impl ConfigKind {
    pub fn is_needed(self) -> bool {
        matches!(self, Self::Secret | Self::Document | Self::Text)
    }

    /// Whether the field refers to an entry of a Secret.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::SecretIfAny | Self::Document)
    }
}

impl WebhookProvider {
    /// A provider by the table of its settings, which are texts and references to Secrets.
    pub(super) fn of(name: &'static str, table: &'static SettingsTable) -> Self {
        let fields = table.fields.iter().map(|field| {
            let kind = match (&field.kind, field.is_required) {
                (FieldKind::Secret, true) => ConfigKind::Secret,
                (FieldKind::Secret, false) => ConfigKind::SecretIfAny,
                (_, true) => ConfigKind::Text,
                (_, false) => ConfigKind::TextIfAny,
            };
            ConfigField { name: field.name, kind, meaning: field.meaning, lego: "" }
        });
        Self { name, fields: fields.collect::<Vec<_>>().leak() }
    }

    /// An entry of `solvers` with the fields that are needed, and with values to be changed; each
    /// line begins with `indent`.
    pub fn entry(&self, indent: &str) -> String {
        let name = self.name;
        let mut text = format!(
            "{indent}- dns01:\n{indent}    webhook:\n{indent}      groupName: certctl\n\
             {indent}      solverName: {name}\n{indent}      config:\n"
        );
        for field in self.shown() {
            let field_name = field.name;
            let value = if field.kind.is_secret() {
                format!("{{name: {name}, key: {}}}", field.key())
            } else {
                format!("\"{CHANGE_ME}\"")
            };
            text = format!("{text}{indent}        {field_name}: {value}\n");
        }
        text
    }

    /// The fields that a usual set-up needs.
    pub fn shown(&self) -> impl Iterator<Item = &'static ConfigField> {
        let Self { name, fields } = *self;
        fields.iter().filter(move |field| is_shown(name, field))
    }
}

/// Joker and ClouDNS have several ways to log in.
fn is_shown(provider: &str, field: &ConfigField) -> bool {
    let is_way =
        matches!((provider, field.name), ("joker", "apiKeySecretRef") | ("cloudns", "authID"));
    is_way || field.kind.is_needed()
}

impl ConfigField {
    /// The entry of a Secret that an example names: `apiTokenSecretRef` refers to `apiToken`.
    fn key(&self) -> &'static str {
        self.name.trim_end_matches("SecretRef")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Dns01Provider;
    use crate::resource::dns01::Rfc2136;

    #[test]
    fn a_table_of_settings_is_what_config_may_hold() {
        let provider = WebhookProvider::of("toy", Rfc2136::TABLE);
        let kinds: Vec<(&str, ConfigKind)> =
            provider.fields.iter().map(|field| (field.name, field.kind)).collect();
        let expected = [
            ("nameserver", ConfigKind::Text),
            ("tsigSecretSecretRef", ConfigKind::SecretIfAny),
            ("tsigKeyName", ConfigKind::TextIfAny),
            ("tsigAlgorithm", ConfigKind::TextIfAny),
            ("protocol", ConfigKind::TextIfAny),
        ];
        assert_eq!(kinds, expected);
        let meanings: Vec<&str> = provider.fields.iter().map(|field| field.meaning).collect();
        let expected: Vec<&str> = Rfc2136::TABLE.fields.iter().map(|row| row.meaning).collect();
        assert_eq!(meanings, expected);
    }

    #[test]
    fn the_settings_of_a_webhooks_provider_are_texts_and_references() {
        for (name, table) in Dns01Provider::OWN_TABLES {
            for field in table.fields {
                let is_nested = matches!(
                    field.kind,
                    FieldKind::Object(_) | FieldKind::Any | FieldKind::ClusterOnly
                );
                assert!(!is_nested, "{name}: {}", field.name);
            }
        }
    }
}
