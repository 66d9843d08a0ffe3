//! The workspace of a verb, and the errors in its manifests.

use super::count::count;
use super::error::CliError;
use super::exit::ExitCode;
use super::output::escape;
use super::shell::Shell;
use crate::manifest::{self, Loaded};
use crate::workspace::{Request, Targets, Workspace};

/// Opens the state directory of this run, for reading.
pub(crate) async fn open(shell: &Shell) -> Result<Workspace, CliError> {
    Ok(Workspace::open(shell.settings()?).await?)
}

/// Reads manifests, reports their errors, and returns the requested targets.
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

/// Prints every diagnostic, and with -v the skipped objects.
pub(crate) fn show(shell: &mut Shell, loaded: &Loaded) {
    for diagnostic in &loaded.diagnostics {
        shell.output.finding(diagnostic);
    }
    for skipped in &loaded.skipped {
        tracing::debug!("{skipped:?}");
    }
}

/// The error that stops a run before it starts.
pub(crate) fn refused(loaded: &Loaded) -> CliError {
    let (errors, warnings) = manifest::count(&loaded.diagnostics);
    let mut found = count(errors, "error");
    if warnings > 0 {
        found = format!("{found}, {}", count(warnings, "warning"));
    }
    let place = match loaded.files.as_slice() {
        [] => String::new(),
        [file] => format!(" in {}", escape(&file.to_string_lossy())),
        files => format!(" in {}", count(files.len(), "file")),
    };
    CliError::new(ExitCode::Manifest, format_args!("{found}{place}"))
}
