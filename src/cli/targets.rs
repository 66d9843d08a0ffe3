//! The workspace of a verb, and what is wrong with the manifests in it.

use super::count::count;
use super::error::CliError;
use super::exit::ExitCode;
use super::shell::Shell;
use crate::manifest::{self, Loaded};
use crate::workspace::{Request, Targets, Workspace};

/// Opens the state that this verb is about, for reading.
pub(crate) async fn open(shell: &Shell) -> Result<Workspace, CliError> {
    Ok(Workspace::open(shell.settings()?).await?)
}

/// Reads manifests, says what is wrong with them, and makes targets of what is requested.
pub(crate) fn targets(
    shell: &mut Shell,
    workspace: &mut Workspace,
    request: &Request,
) -> Result<Targets, CliError> {
    let selection = workspace.select(request);
    show(shell, &selection.loaded);
    if selection.is_refused() {
        return Err(refused(&selection.loaded));
    }
    Ok(workspace.targets(request, selection)?)
}

/// Prints every finding, and with -v what was passed over.
pub(crate) fn show(shell: &mut Shell, loaded: &Loaded) {
    for diagnostic in &loaded.diagnostics {
        shell.output.finding(diagnostic);
    }
    for skipped in &loaded.skipped {
        tracing::debug!("{skipped:?}");
    }
}

/// The error that ends a run before it begins.
pub(crate) fn refused(loaded: &Loaded) -> CliError {
    let (errors, warnings) = manifest::count(&loaded.diagnostics);
    let found = [count(errors, "error"), count(warnings, "warning")].join(", ");
    let files = count(loaded.files.len(), "file");
    CliError::new(ExitCode::Manifest, format_args!("{found} in {files}; nothing was changed"))
}
