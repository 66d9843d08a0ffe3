//! `config` of one provider: its fields, and the credentials that they refer to.

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::resource::SecretKeySelector;
use crate::solver::dns01::config::decoded;
use crate::solver::dns01::error::shown;
use crate::solver::dns01::listed::{ConfigField, ConfigKind};
use crate::solver::dns01::{Context, ProviderError};

/// A value of each field, in their order; empty for one that is absent.
pub(super) struct Values {
    pub(super) all: Vec<Zeroizing<String>>,
    /// Those of them that are credentials.
    pub(super) secrets: Vec<Zeroizing<String>>,
}

/// Reads `config` and gets the credentials.
pub(super) fn read(
    provider: &'static str,
    fields: &'static [ConfigField],
    config: Option<&Value>,
    context: &Context<'_>,
) -> Result<Values, ProviderError> {
    let fault = |reason: String| ProviderError::Settings { provider, reason };
    let nothing = Map::new();
    let config = match config {
        None => &nothing,
        Some(Value::Object(config)) => config,
        Some(other) => {
            let kind = kind_of(other);
            return Err(fault(format!("config: expected a map, got {kind}")));
        }
    };
    if let Some(stranger) = config.keys().find(|key| fields.iter().all(|f| f.name != **key)) {
        let known: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
        let (stranger, known) = (shown(stranger), known.join(", "));
        return Err(fault(format!("config: unknown field `{stranger}`, expected {known}")));
    }
    let mut values = Values { all: Vec::new(), secrets: Vec::new() };
    for field in fields {
        let value = match config.get(field.name) {
            Some(value) => one(provider, *field, value, context)?,
            None if field.kind.is_needed() => {
                return Err(fault(format!("config: missing field `{}`", field.name)));
            }
            None => Zeroizing::default(),
        };
        if field.kind.is_secret() && !value.is_empty() {
            values.secrets.push(value.clone());
        }
        values.all.push(value);
    }
    Ok(values)
}

fn one(
    provider: &'static str,
    field: ConfigField,
    value: &Value,
    context: &Context<'_>,
) -> Result<Zeroizing<String>, ProviderError> {
    let fault = |reason: &str| ProviderError::Settings {
        provider,
        reason: format!("config.{}: {reason}", field.name),
    };
    match field.kind {
        ConfigKind::Secret | ConfigKind::SecretIfAny => {
            context.text(provider, field.name, &selector(provider, field, value)?)
        }
        ConfigKind::Document => {
            document(provider, field, &selector(provider, field, value)?, context)
        }
        ConfigKind::Text | ConfigKind::TextIfAny => {
            let text = if let Value::String(text) = value {
                text.trim().to_owned()
            } else if let Value::Number(number) = value {
                number.to_string()
            } else {
                return Err(fault(&format!("expected a text, got {}", kind_of(value))));
            };
            if text.is_empty() {
                return Err(fault("this is empty"));
            }
            if text.chars().any(char::is_control) {
                return Err(fault("there are control characters in it"));
            }
            Ok(Zeroizing::new(text))
        }
        ConfigKind::Flag => {
            let Value::Bool(is_set) = value else {
                return Err(fault(&format!("expected true or false, got {}", kind_of(value))));
            };
            Ok(Zeroizing::new(if *is_set { "true".to_owned() } else { String::new() }))
        }
    }
}

fn selector(
    provider: &'static str,
    field: ConfigField,
    value: &Value,
) -> Result<SecretKeySelector, ProviderError> {
    decoded(provider, value).map_err(|mut error| {
        if let ProviderError::Settings { reason, .. } = &mut error {
            *reason = reason.replacen("config", &format!("config.{}", field.name), 1);
        }
        error
    })
}

fn document(
    provider: &'static str,
    field: ConfigField,
    selector: &SecretKeySelector,
    context: &Context<'_>,
) -> Result<Zeroizing<String>, ProviderError> {
    let bytes = context.bytes(provider, field.name, selector)?;
    let bad = |reason: &str| ProviderError::Credential {
        provider,
        field: field.name,
        reason: format!("secret {}, key {}: {reason}", selector.name, selector.key),
    };
    let text = std::str::from_utf8(&bytes).map_err(|_| bad("this is not text"))?;
    if text.trim().is_empty() {
        return Err(bad("this is empty"));
    }
    Ok(Zeroizing::new(text.to_owned()))
}

/// The JSON type of a value, without its content, which may be a credential.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
