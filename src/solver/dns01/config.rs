//! The `config` of a webhook, as settings.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ProviderError;
use super::error::shown;

/// Reads a `config`. What stands in it may be a credential that was meant to be a reference, so
/// that no text of it is shown but the names of its fields.
pub(super) fn decoded<T: DeserializeOwned>(
    provider: &'static str,
    config: &Value,
) -> Result<T, ProviderError> {
    T::deserialize(config).map_err(|error| {
        let said = error.to_string();
        let wrong = ["invalid type: ", "invalid value: "].iter().find_map(|p| said.strip_prefix(p));
        let reason = match wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
            Some((found, expected)) => {
                let kind = found.split([' ', '"', '`']).next().unwrap_or_default();
                let expected = expected.trim_start_matches("struct ");
                format!("config: a {kind} stands where {expected} is expected")
            }
            None => format!("config: {}", shown(&said)),
        };
        ProviderError::Settings { provider, reason }
    })
}
