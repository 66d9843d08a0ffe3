//! The folders of manifests and state, as commands that certctl suggests name them.

use std::path::Path;

use super::environment::{Directory, SYSTEM_CONFIG, Source};
use super::error::CliError;
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

/// A folder of the scheduled runs of this host, where the commands of this user read the user's own
/// instead.
pub(super) fn unread(shell: &Shell) -> Option<&'static str> {
    let (environment, global) = (&shell.environment, &shell.global);
    let config = environment.config_dir(global.config_dir.as_deref()).ok()?;
    [SYSTEM_CONFIG, SYSTEM_STATE].into_iter().find(|path| is_unread(&config, Path::new(path)))
}

fn is_unread(config: &Directory, of_system: &Path) -> bool {
    config.source == Source::User && of_system.exists()
}

/// The error of what was not found, with where else it may be: that helps more than what helps where
/// all has been read.
pub(super) fn with_unread(error: CliError, unread: Option<&str>) -> CliError {
    match unread.filter(|_| error.is_absence) {
        Some(folder) => error.hinted(format_args!("sudo certctl …, for the manifests in {folder}")),
        None => error,
    }
}

const SYSTEM_STATE: &str = "/var/lib/certctl";

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::cli::exit::ExitCode;

    #[test]
    fn the_folders_of_the_host_are_unread_where_a_user_reads_its_own() {
        let there = tempfile::tempdir().unwrap();
        let missing = there.path().join("missing");
        for (source, path, unread) in [
            (Source::User, there.path(), true),
            (Source::User, &missing, false),
            (Source::Owner, there.path(), false),
            (Source::Root, there.path(), false),
            (Source::Flag("--config-dir"), there.path(), false),
        ] {
            let config = Directory { path: PathBuf::from("/home/me/.config/certctl"), source };
            assert_eq!(is_unread(&config, path), unread, "{source:?}");
        }
    }

    #[test]
    fn what_was_not_found_may_be_where_this_user_does_not_read() {
        let error =
            || CliError::new(ExitCode::Manifest, "`web` not found").hinted("certctl status");
        let hint = |error: CliError, unread| with_unread(error, unread).hint.unwrap();
        assert_eq!(
            hint(error().of_absence(), Some("/etc/certctl")),
            "sudo certctl …, for the manifests in /etc/certctl"
        );
        assert_eq!(hint(error().of_absence(), None), "certctl status");
        assert_eq!(hint(error(), Some("/etc/certctl")), "certctl status");
    }
}
