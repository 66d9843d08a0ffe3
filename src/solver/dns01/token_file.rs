//! A token in a file that the environment names; another program replaces it regularly.

use std::fmt::Display;

use zeroize::Zeroizing;

use super::ProviderError;

/// The content of the file, without surrounding white space. `variable` names the file.
pub(super) fn token_file(
    provider: &'static str,
    variable: &'static str,
    path: &str,
) -> Result<Zeroizing<String>, ProviderError> {
    let failed = |reason: &dyn Display| ProviderError::Credential {
        provider,
        field: variable,
        reason: format!("{path}: {reason}"),
    };
    let text = std::fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|error| failed(&error))?;
    match text.trim() {
        "" => Err(failed(&"this is empty")),
        token => Ok(Zeroizing::new(token.to_owned())),
    }
}
