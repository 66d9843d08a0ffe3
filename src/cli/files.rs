//! Files that a verb writes into a folder of the user's choice.

use std::path::Path;

use rustix::fs::Mode;

use crate::cli::{CliError, Hint};
use crate::host::rights;
use crate::trust::{TrustError, Walk};

/// Writes files into a folder, which is made when it is missing, and in which no other user may
/// make or replace files.
pub(super) fn put(folder: &Path, files: &[(&str, &str)]) -> Result<(), CliError> {
    let failed = |error: TrustError| {
        if let TrustError::Io { path, source } = &error {
            return CliError::manifest(format!("cannot write {}: {source}", path.display()));
        }
        let hint = rights::trusted(&error).map(Hint::from);
        CliError { hint, ..CliError::manifest(&error) }
    };
    let mode = Mode::from_raw_mode(0o755);
    let folder = Walk::trusting_us().made_folder(folder, mode).map_err(failed)?;
    files.iter().try_for_each(|(name, text)| folder.replace(name, text.as_bytes()).map_err(failed))
}
