//! Root acts as the owner of the state, where that is another user, as in the packages.
//!
//! A run by hand and the one of a timer then write the same files, may read the same secrets, and
//! fail for the same reasons. Of root's rights, those to open port 80 and to run hooks as root stay.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;

use clap::parser::ValueSource::DefaultValue;

use crate::cli::environment::Source;
use crate::cli::global::HookTime;
use crate::cli::{CliError, Directory, ExitCode, Level, Shell, escape};
use crate::host::rights::group_name;
use crate::resource::ValidationMethod;
use crate::solver::listener::{listener_addresses, remember_holders};

/// Makes this process of root one of the owner of the state. Without effect for other
/// users, and where root lacks the rights for it: then the state names its owner. Must come before
/// anything is started or written.
pub(super) fn become_owner(shell: &mut Shell) -> Result<(), CliError> {
    if !shell.environment.is_root() || shell.acts_as.is_some() {
        return Ok(());
    }
    let state = shell.environment.state_dir(shell.global.state_dir.as_deref());
    let Ok(state) = state.map(|state| state.path) else { return Ok(()) };
    let owner = system::become_owner(&state).map_err(|error| {
        let state = escape(&state.to_string_lossy()).into_owned();
        let message = format!("root cannot act as the owner of {state}: {error}");
        CliError::new(ExitCode::State, message)
    })?;
    let Some(owner) = owner else { return Ok(()) };
    shell.acts_as = Some(owner);
    // As in the packages: root's manifests name them, and no other user can change them.
    let is_default = shell.matches.value_source("hooks").is_none_or(|from| from == DefaultValue);
    if is_default && shell.config.entry("hooks").is_none() {
        shell.global.hooks = HookTime::AsRoot;
    }
    Ok(())
}

/// Looks which processes have the ports of HTTP-01, as root, who is going to act as another user.
pub(super) fn remember_ports(shell: &Shell) {
    if shell.environment.is_root() {
        let global = &shell.global;
        let mut addresses = listener_addresses(&global.http01_listen, &ValidationMethod::HTTP01);
        let tls_alpn01 = &ValidationMethod::TLS_ALPN01;
        addresses.extend(listener_addresses(&global.tlsalpn01_listen, tls_alpn01));
        remember_holders(addresses);
    }
}

/// Keeps the rights that a unit of systemd gave this process (`AmbientCapabilities=`) from the programs
/// that it starts: the port is certctl's, and a hook that runs as root gets root's.
pub(super) fn keep_rights() {
    system::keep_rights();
}

/// Says whose rights the run had, behind what these may be the reason of: not of a name that is not
/// found, unless the owner has manifests of its own.
pub(super) fn explain(code: ExitCode, is_absence: bool, shell: &mut Shell) {
    let may_be_reason = matches!(code, ExitCode::Manifest | ExitCode::Output | ExitCode::State);
    // Where the errors are told once a day, so is this.
    let is_relevant = may_be_reason && (shell.output.has_talked() || shell.output.has_data());
    if let Some(owner) = shell.acts_as.take().filter(|_| is_relevant) {
        let has_roots_hooks = code == ExitCode::Output && shell.global.hooks == HookTime::AsRoot;
        let hooks = if has_roots_hooks { "; hooks ran as root" } else { "" };
        let mut text = format!("note: this ran as {owner}, as the timer does{hooks}");
        let (environment, global) = (&shell.environment, &shell.global);
        let is_named = |found: &Directory| matches!(found.source, Source::Flag(_));
        let state = environment.state_dir(global.state_dir.as_deref()).ok();
        let config = environment.config_dir(global.config_dir.as_deref()).ok();
        // The manifests are root's then, and the state remembers those of its owner.
        let may_have_own =
            state.as_ref().is_some_and(is_named) && !config.as_ref().is_some_and(is_named);
        if may_have_own {
            text.extend(with_own_manifests(&owner));
        }
        if may_have_own || !is_absence {
            shell.output.talk(Level::Info, &text);
        }
    }
}

/// The line that does the same with the owner's own manifests; `None` for a user ID without a user,
/// which has no manifests and which sudo refuses.
fn with_own_manifests(owner: &str) -> Option<String> {
    let user = nix::unistd::User::from_name(owner).ok().flatten()?;
    Some(format!("\n  with the manifests of {owner}: the same with sudo -u {}", user.name))
}

/// The ID of the user that the runs of this root become: the owner of the state, where that is another one.
pub(super) fn of_runs(shell: &Shell) -> Option<u32> {
    state_of_another(shell).map(|found| found.uid())
}

/// The state, where this is root and it belongs to another user.
fn state_of_another(shell: &Shell) -> Option<Metadata> {
    let state = shell.environment.state_dir(shell.global.state_dir.as_deref()).ok()?;
    let found = fs::metadata(state.path).ok()?;
    (shell.environment.is_root() && found.uid() != 0).then_some(found)
}

/// The options of `install` for a secret that root stores: for the runs alone, which are its own or
/// those of the owner of the state.
pub(super) fn options_of_install(shell: &Shell) -> String {
    let Some(found) = state_of_another(shell) else { return "-m 0600".to_owned() };
    format!("-m 0640 -g {}", group_name(found.gid()))
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::CString;
    use std::fs;
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use nix::unistd::{Gid, Uid, User, initgroups, setgroups, setresgid, setresuid};
    use rustix::thread::{
        CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
        set_capabilities, set_keep_capabilities,
    };

    /// The rights of root that stay: to open port 80, to start a hook as root, and to stop it.
    const RETAINED: CapabilitySet = CapabilitySet::NET_BIND_SERVICE
        .union(CapabilitySet::SETUID)
        .union(CapabilitySet::SETGID)
        .union(CapabilitySet::KILL);

    /// Without effect on a kernel that has no such rights.
    pub(super) fn keep_rights() {
        clear_ambient_capability_set().ok();
    }

    /// Gives this process user and groups of the folder's owner, and returns its name; `None` where
    /// that is root, there is no folder, or root's rights have been taken away.
    pub(super) fn become_owner(folder: &Path) -> io::Result<Option<String>> {
        let Ok(found) = fs::metadata(folder) else { return Ok(None) };
        let uid = Uid::from_raw(found.uid());
        if uid.is_root() {
            return Ok(None);
        }
        let user = User::from_uid(uid)?;
        let gid = user.as_ref().map_or(Gid::from_raw(found.gid()), |user| user.gid);
        let permitted = capabilities(None)?.permitted;
        if !permitted.contains(CapabilitySet::SETUID | CapabilitySet::SETGID) {
            return Ok(None);
        }
        set_keep_capabilities(true)?;
        match &user {
            Some(user) => initgroups(&CString::new(user.name.as_str())?, gid)?,
            None => setgroups(&[gid])?,
        }
        setresgid(gid, gid, gid)?;
        setresuid(uid, uid, uid)?;
        // What this process starts has none of them.
        let retained = permitted & RETAINED;
        let inheritable = CapabilitySet::empty();
        set_capabilities(
            None,
            CapabilitySets { effective: retained, permitted: retained, inheritable },
        )?;
        Ok(Some(user.map_or_else(|| format!("user {uid}"), |user| user.name)))
    }
}

/// Other systems have no part of root's rights that could be kept.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::path::Path;

    pub(super) fn keep_rights() {}

    pub(super) fn become_owner(_folder: &Path) -> io::Result<Option<String>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_owner_is_for_a_user_that_sudo_knows() {
        let line = "\n  with the manifests of root: the same with sudo -u root";
        assert_eq!(with_own_manifests("root").as_deref(), Some(line));
        assert_eq!(with_own_manifests("user 4200001"), None);
    }
}
