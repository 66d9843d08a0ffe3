//! The folders of manifests and state, as commands that certctl suggests name them.

use super::environment::Source;
use super::shell::Shell;
use crate::trust::quoted;

/// The flags of the folders, as they were typed.
pub(super) fn flags(shell: &Shell) -> String {
    flags_of(shell, |source| matches!(source, Source::Flag(_)))
}

/// certctl as root, who may read what this user may not, and acts as the owner of the state. `verb`
/// with a blank before it.
pub(super) fn as_root(shell: &Shell, verb: &str) -> String {
    // sudo does not pass variables on.
    let flags = flags_of(shell, |source| matches!(source, Source::Flag(_) | Source::Variable(_)));
    format!("sudo certctl{verb}{flags}")
}

fn flags_of(shell: &Shell, is_meant: fn(Source) -> bool) -> String {
    let (environment, global) = (&shell.environment, &shell.global);
    let folders = [
        ("--config-dir", environment.config_dir(global.config_dir.as_deref())),
        ("--state-dir", environment.state_dir(global.state_dir.as_deref())),
    ];
    let flags = folders.into_iter().filter_map(|(flag, found)| {
        let found = found.ok().filter(|found| is_meant(found.source))?;
        Some(format!(" {flag} {}", quoted(&found.path)))
    });
    flags.collect()
}
