//! The `config` of a webhook, as settings.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ProviderError;
use super::error::shown;

/// Reads a `config`. A value may be a credential pasted in place of a reference, so errors contain
/// only field names.
pub(super) fn decoded<T: DeserializeOwned>(
    provider: &'static str,
    config: &Value,
) -> Result<T, ProviderError> {
    T::deserialize(config).map_err(|error| {
        let message = error.to_string();
        let wrong =
            ["invalid type: ", "invalid value: "].iter().find_map(|p| message.strip_prefix(p));
        let reason = match wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
            Some((found, expected)) => {
                let kind = found.split([' ', '"', '`']).next().unwrap_or_default();
                let expected = expected.trim_start_matches("struct ");
                format!("config: expected {expected}, got a {kind}")
            }
            None => format!("config: {}", shown(&message)),
        };
        ProviderError::Settings { provider, reason }
    })
}
