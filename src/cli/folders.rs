//! The folders of manifests and state, as commands that certctl suggests name them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::environment::Source;
use super::shell::Shell;
use crate::trust::quoted;

/// The flags of the folders, as they were typed.
pub(super) fn flags(shell: &Shell) -> String {
    flags_of(shell, |source| matches!(source, Source::Flag(_)))
}

/// certctl as the user that a folder belongs to, who may read what this one may not; root where that
/// is not known. `verb` with a blank before it.
pub(super) fn as_owner(shell: &Shell, folder: &Path, verb: &str) -> String {
    as_user(shell, fs::metadata(folder).map_or(0, |found| found.uid()), verb)
}

/// certctl as another user.
pub(super) fn as_user(shell: &Shell, user: u32, verb: &str) -> String {
    let user = if user == 0 { String::new() } else { format!("-u '#{user}' ") };
    // sudo does not pass variables on.
    let flags = flags_of(shell, |source| matches!(source, Source::Flag(_) | Source::Variable(_)));
    format!("sudo {user}certctl{verb}{flags}")
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
