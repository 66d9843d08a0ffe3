//! The folders of the configuration and of the state, and what is in them.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::unistd::User;
use rustix::fs::{Access, AtFlags, CWD};

use crate::cli::environment::SYSTEM_STATE;
use crate::cli::{Shell, count, folders};
use crate::engine::ports::{HostRecord, Store, StoreError};
use crate::host::rights::{self, user_name};
use crate::host::scheduler::Units;
use crate::manifest::{self, Diagnostic, Loaded};
use crate::resource::{Check, Creation, Finding, Fix, Obstacle, Permit, Right, Setting, Severity};
use crate::store::OpenMode;
use crate::workspace::open_state;

/// The folder of manifests, and `config.toml` in it.
pub(super) fn config(shell: &Shell) -> Vec<Finding> {
    let config = match shell.environment.config_dir(shell.global.config_dir.as_deref()) {
        Ok(config) => config.path,
        Err(error) => return vec![Finding::wrong("config", Obstacle::new(error))],
    };
    let shown = config.display();
    let folder = match fs::read_dir(&config) {
        Ok(_) => Finding::well("config", shown),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let obstacle = Obstacle::new(format_args!("{shown} does not exist"));
            Finding::warning(
                "config",
                obstacle.with(Fix::Permit(Permit::new(config.as_path(), Right::Folders))),
            )
        }
        Err(error) => {
            let obstacle = Obstacle::new(format_args!("cannot read {shown}: {error}"));
            let is_denied = error.kind() == ErrorKind::PermissionDenied;
            let fix = match &shell.acts_as {
                _ if !is_denied => None,
                // Root needs no other user to type it.
                Some(_) => rights::reading(&config).map(Fix::Permit),
                None => Some(Fix::Again(None)),
            };
            return vec![Finding::wrong("config", obstacle.with(fix))];
        }
    };
    let unread = folders::unread(shell).map(|path| {
        let obstacle = Obstacle::new(format_args!(
            "the scheduled runs use {path}; the commands of this user do not read it"
        ));
        Finding::warning("config", obstacle.with(Fix::Again(None)))
    });
    let mistakes = shell.config.mistakes.iter().map(config_file);
    [folder].into_iter().chain(unread).chain(mistakes).collect()
}

/// A mistake in `config.toml`.
fn config_file(mistake: &Diagnostic) -> Finding {
    let Diagnostic { path, line, field, message, suggestion, help, fix, .. } = mistake;
    let place = if *line == 0 { String::new() } else { format!(":{line}") };
    let field = if field.is_empty() { String::new() } else { format!(" {field}:") };
    let suggestion = suggestion.as_ref().map(|word| Fix::Set(Setting::Value(format!("`{word}`"))));
    let help = help.as_ref().filter(|_| suggestion.is_none());
    let help = help.map(|help| format!("; {help}")).unwrap_or_default();
    let fact = format!("{}{place}:{field} {message}{help}", path.display());
    Finding::wrong("config.toml", Obstacle::new(fact).with(suggestion.or_else(|| fix.clone())))
}

/// Content of the folder of manifests; `None` where it cannot be read.
pub(super) fn manifests(shell: &Shell, loaded: &Loaded) -> Option<Finding> {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok()?.path;
    let is_unread = |error: std::io::Error| error.kind() != ErrorKind::NotFound;
    (!fs::read_dir(&config).is_err_and(is_unread)).then(|| in_folder(loaded))
}

fn in_folder(loaded: &Loaded) -> Finding {
    let (errors, _) = manifest::count(&manifest::joined(&loaded.diagnostics));
    let certificates = loaded.certificates.len();
    if errors > 0 {
        let obstacle = Obstacle::new(count(errors, "error"));
        return Finding::wrong("manifests", obstacle.with(Fix::Check(Check::Manifests(None))));
    }
    if certificates == 0 {
        return Finding::warning(
            "manifests",
            Obstacle::new("no Certificate yet").with(Fix::Create(Creation::Certificate)),
        );
    }
    let issuers = count(loaded.issuers.len(), "Issuer");
    Finding::well("manifests", format_args!("{}, {issuers}", count(certificates, "Certificate")))
}

/// The state, and whether a run could write into it.
pub(super) fn state(shell: &Shell) -> Finding {
    let path = match shell.environment.state_dir(shell.global.state_dir.as_deref()) {
        Ok(state) => state.path,
        Err(error) => return Finding::wrong("state", Obstacle::new(error)),
    };
    if path == Path::new(SYSTEM_STATE)
        && let Some(units) = Units::read(false, shell.acts_as.is_some())
        && let Some(user) = units.user.as_deref()
        && let Some(user) = User::from_name(user).ok().flatten()
        && let Some(found) = of_another(&path, &user, units.is_enabled())
    {
        return found;
    }
    let opened = open_state(&path, OpenMode::ReadOnly);
    match opened.and_then(|state| state.host_record().check_entries()) {
        Ok(()) if path.exists() => Finding::well("state", path.display()),
        Ok(()) => absent(&path),
        Err(error) => refused(&error),
    }
}

/// A state, or a part of it, that does not belong to the user of the scheduled runs.
fn of_another(path: &Path, user: &User, is_scheduled: bool) -> Option<Finding> {
    let wanted = user.uid.as_raw();
    let is_foreign = |found: &fs::Metadata| found.uid() != wanted;
    let owner = fs::symlink_metadata(path).ok().filter(is_foreign)?.uid();
    let obstacle = Obstacle::new(format_args!(
        "{} belongs to user {}; certctl.service runs as {} and cannot use it",
        path.display(),
        user_name(owner),
        user.name
    ));
    let obstacle = obstacle.with(Fix::Permit(rights::of_owner(path, wanted, true)));
    // Something else may run certctl here.
    let severity = if is_scheduled { Severity::Wrong } else { Severity::Warning };
    Some(Finding::new(severity, "state", obstacle))
}

/// A state that is not there: the first run makes it, where it can.
fn absent(path: &Path) -> Finding {
    let shown = path.display();
    let above = path.ancestors().skip(1).find(|above| above.exists()).unwrap_or(Path::new("."));
    let access = Access::WRITE_OK | Access::EXEC_OK;
    match rustix::fs::accessat(CWD, above, access, AtFlags::EACCESS) {
        Ok(()) => Finding::well(
            "state",
            format_args!("{shown} does not exist yet; the first run creates it"),
        ),
        Err(error) => {
            let above = above.display();
            let obstacle =
                Obstacle::new(format_args!("{shown} cannot be created in {above}: {error}"));
            Finding::wrong("state", obstacle.with(Fix::Again(None)))
        }
    }
}

fn refused(error: &StoreError) -> Finding {
    // Not even as root can this process act as the owner.
    let is_of_root = matches!(error, StoreError::ForeignOwner { us: 0, .. });
    let fix = error.fix().filter(|fix| !(is_of_root && matches!(fix, Fix::Again(_))));
    Finding::wrong("state", Obstacle::new(error).with(fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_is_not_of_the_user_of_the_service_is_given_to_it() {
        let scratch = tempfile::tempdir().unwrap();
        let state = scratch.path();
        let owner = fs::metadata(state).unwrap().uid();
        let own = User::from_uid(owner.into()).unwrap().unwrap();
        assert_eq!(of_another(state, &own, true), None);
        assert_eq!(of_another(&state.join("missing"), &own, true), None);
        let other = if owner == 0 { "daemon" } else { "root" };
        let other = User::from_name(other).unwrap().unwrap();
        for (is_scheduled, verdict) in [(true, Severity::Wrong), (false, Severity::Warning)] {
            let found = of_another(state, &other, is_scheduled).unwrap();
            let fact = format!(
                "{} belongs to user {}; certctl.service runs as {} and cannot use it",
                state.display(),
                own.name,
                other.name
            );
            assert_eq!((found.severity, found.fact), (verdict, fact));
            let of_other = rights::of_owner(state, other.uid.as_raw(), true);
            assert_eq!(found.fix, Some(of_other.into()));
        }
    }
}
