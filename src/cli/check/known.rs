//! The manifests and the state, for checks that also work without them.

use crate::cli::error::CliError;
use crate::cli::shell::Shell;
use crate::cli::targets::show;
use crate::workspace::check::Known;

/// The manifests, and the state where it can be read; prints the errors of the manifests only when
/// `reports`.
pub(in crate::cli) async fn known(shell: &mut Shell, reports: bool) -> Result<Known, CliError> {
    let path = shell.environment.state_dir(shell.global.state_dir.as_deref());
    let path = path.map(|found| found.path).unwrap_or_default();
    let known = Known::read(shell.settings_at(path)?).await?;
    if reports {
        show(shell, &known.targets.loaded);
    }
    Ok(known)
}
