//! The user of this process as commands name it, and the commands by which root lets it write.
//!
//! Contract: nothing is changed. A command never takes a folder away from those who use it: one that
//! holds files of others keeps its owner and its mode.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User};
use rustix::fs::{Access, AtFlags, CWD};

use super::rule::{Trusted, quoted};
use super::walk::Walk;

/// Where packages install it.
const SETFACL: [&str; 2] = ["/usr/bin/setfacl", "/bin/setfacl"];

/// A command, and what must come before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The command.
    pub line: String,
    /// As a comment behind it; `None` where the command can just be run.
    pub look: Option<&'static str>,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)?;
        self.look.map_or(Ok(()), |look| write!(f, " # {look}"))
    }
}

/// The name of a group, or its number.
pub fn group_name(number: u32) -> String {
    let named = Group::from_gid(Gid::from_raw(number)).ok().flatten();
    named.map_or_else(|| number.to_string(), |named| named.name)
}

/// The group of this process.
pub fn own_group() -> String {
    group_name(rustix::process::getegid().as_raw())
}

/// The user of this process, by name or number.
pub fn own_user() -> String {
    user_name(Uid::effective().as_raw())
}

/// The name of a user, or its number.
pub fn user_name(number: u32) -> String {
    let named = User::from_uid(Uid::from_raw(number)).ok().flatten();
    named.map_or_else(|| number.to_string(), |named| named.name)
}

/// What stands before a command that root runs: nothing where it is root who types.
pub fn sudo() -> &'static str {
    if is_of_root() && !is_by_sudo() { "" } else { "sudo " }
}

/// What stands before a command on what this process owns: nothing, but where sudo started it.
pub fn sudo_on_own() -> &'static str {
    if is_by_sudo() { "sudo " } else { "" }
}

/// What stands before a command that makes this entry and the folders above it that are missing:
/// nothing where this process may make them.
pub fn sudo_to_make(path: &Path) -> &'static str {
    if can_be_made(path) { sudo_on_own() } else { sudo() }
}

/// Whether root started this process, which may act as another user since.
pub fn is_of_root() -> bool {
    rustix::process::geteuid().is_root() || may_become_root()
}

/// Whether only root can change where a path leads, whose last name, or several, may be missing: a
/// command that root types follows no link of another user's there.
fn is_roots_way(path: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else { return false };
    let above = path.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
    let walk = Walk::new(Some(Trusted::root()));
    !path.is_symlink() && above.is_none_or(|above| walk.look(above).is_ok())
}

/// The command that makes a folder, or one that holds nothing of others, this process's own; `group`
/// may read it too, instead of this process's. `None` where another user could have root do that to
/// another folder.
pub fn command_for_own(folder: &Path, mode: &str, group: Option<u32>) -> Option<String> {
    if !is_roots_way(folder) {
        return None;
    }
    let group = group.map_or_else(own_group, group_name);
    let (sudo, user, folder) = (sudo(), own_user(), quoted(folder));
    Some(format!("{sudo}install -d -m {mode} -o {user} -g {group} {folder}"))
}

/// The command that lets this process into a folder with these permissions, which stays what it is
/// for all others; with the package of its program where that is not installed. `None` as above.
pub fn command_for_shared(folder: &Path, permissions: &str) -> Option<String> {
    if !is_roots_way(folder) {
        return None;
    }
    let (sudo, user, folder) = (sudo(), own_user(), quoted(folder));
    let is_installed = SETFACL.iter().any(|path| Path::new(path).exists());
    let package = if is_installed { "" } else { "   # of the package acl" };
    Some(format!("{sudo}setfacl -m u:{user}:{permissions} {folder}{package}"))
}

/// The command that gives an entry, with all that is in it, or a folder alone, to a user and that
/// user's group.
pub fn command_for_owner(path: &Path, user: u32, is_whole: bool) -> String {
    let known = User::from_uid(Uid::from_raw(user)).ok().flatten();
    let to = known.map_or_else(
        || user.to_string(),
        |known| format!("{}:{}", known.name, group_name(known.gid.as_raw())),
    );
    let whole = if is_whole && path.is_dir() { "-R " } else { "" };
    format!("{}chown {whole}{to} {}", sudo(), quoted(path))
}

/// The command that closes a file or a folder, with all that is in it or alone, to all but its owner.
pub fn command_for_private(path: &Path, is_whole: bool) -> String {
    let whole = if is_whole { "-R " } else { "" };
    format!("{}chmod {whole}go-rwx {}", sudo_on_own(), quoted(path))
}

/// What lets this process use what the system denied it: the command that puts right the entry on
/// the way to `path` that has the wrong owner in a folder of ours, or a mode that shuts its own owner
/// out. `None` where it is neither.
pub fn command_for_denied(path: &Path) -> Option<Remedy> {
    let us = rustix::process::geteuid().as_raw();
    for at in path.ancestors().take_while(|_| us != 0) {
        let Ok(found) = at.symlink_metadata() else { continue };
        if found.uid() != us {
            let is_ours = at.parent()?.metadata().is_ok_and(|above| above.uid() == us);
            return is_ours.then(|| command_for_foreign(at, found.uid(), us));
        }
        let (least, is_folder) = if found.is_dir() { (0o700, true) } else { (0o600, false) };
        if !found.is_symlink() && found.mode() & least != least {
            let mode = match (at == path, is_folder) {
                (true, true) => "0700",
                (true, false) => "0600",
                (false, _) => "u+rwx",
            };
            let line = format!("{}chmod {mode} {}", sudo_on_own(), quoted(at));
            return Some(Remedy { line, look: None });
        }
    }
    None
}

/// The command by which root lets this process read what the system denied it: the first entry on
/// the way to `path` that is closed to it. What others use stays as it is for them. `None` where
/// this process is root, or the entry is the home of a user.
pub fn command_for_reading(path: &Path) -> Option<String> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    if let Some(Remedy { line, look: None }) = command_for_denied(path) {
        return Some(line);
    }
    let path = std::path::absolute(path).ok()?;
    let at = closed_above(&path).unwrap_or(&path);
    let found = at.metadata().ok()?;
    if is_home(at, found.uid()) {
        return None;
    }
    let letters = if found.is_dir() { "rx" } else { "r" };
    // No user but root has the rights of its group.
    let is_unshared = found.uid() == 0 && (found.gid() == 0 || found.mode() & 0o070 == 0);
    if !is_unshared {
        return command_for_shared(at, letters);
    }
    let (sudo, group, at) = (sudo(), own_group(), quoted(at));
    Some(format!("{sudo}chgrp {group} {at} && {sudo}chmod g+{letters} {at}"))
}

/// Whether a folder is the home of its owner.
fn is_home(folder: &Path, owner: u32) -> bool {
    let known = User::from_uid(Uid::from_raw(owner)).ok().flatten();
    known.is_some_and(|known| known.dir == folder)
}

/// The command that gives an entry of another user to this one. What root made is trusted; all else
/// is to be looked at first.
pub fn command_for_foreign(path: &Path, owner: u32, user: u32) -> Remedy {
    let look = match (owner, path.is_dir()) {
        (0, _) => None,
        (_, true) => Some("after a look at what is in it"),
        (_, false) => Some("after a look at what it says"),
    };
    Remedy { line: command_for_owner(path, user, true), look }
}

/// Whether sudo started this process, for a user who is not root.
fn is_by_sudo() -> bool {
    is_of_root() && std::env::var_os("SUDO_USER").is_some_and(|user| !user.is_empty())
}

/// The home of the person who types, also with sudo.
pub fn home_of_typist() -> Option<PathBuf> {
    let by_sudo = std::env::var_os("SUDO_USER").filter(|_| is_by_sudo());
    let by_sudo = by_sudo.and_then(|user| User::from_name(user.to_str()?).ok().flatten());
    let user = by_sudo.or_else(|| User::from_uid(Uid::effective()).ok().flatten());
    user.map(|user| user.dir).or_else(|| std::env::var_os("HOME").map(PathBuf::from))
}

/// The first folder on the way to this one that this process may not search; none is missing before
/// it.
pub fn closed_above(folder: &Path) -> Option<&Path> {
    let above: Vec<&Path> = folder.ancestors().skip(1).collect();
    above
        .into_iter()
        .rev()
        .find(|above| above.symlink_metadata().is_ok() && !may(above, Access::EXEC_OK))
}

/// The same for a user with this ID, by permissions alone: a group that may search a folder may be the user's.
pub fn closed_to(folder: &Path, user: u32) -> Option<&Path> {
    let above: Vec<&Path> = folder.ancestors().skip(1).collect();
    above.into_iter().rev().find(|above| {
        above.metadata().is_ok_and(|found| {
            let search = if found.uid() == user { 0o100 } else { 0o011 };
            found.mode() & search == 0
        })
    })
}

/// Whether the permissions of the first folder above that exists let this process make folders.
pub fn can_be_made(folder: &Path) -> bool {
    let above = folder.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
    above.is_some_and(|above| may(above, Access::WRITE_OK | Access::EXEC_OK))
}

/// Whether a folder is missing, or holds only what `is_own` tells to be this program's.
pub fn has_nothing_of_others(folder: &Path, is_own: impl Fn(&Path) -> bool) -> bool {
    if folder.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return true;
    }
    let entries = fs::read_dir(folder);
    entries.is_ok_and(|mut entries| entries.all(|one| one.is_ok_and(|one| is_own(&one.path()))))
}

/// Whether this process may search a folder.
pub fn can_be_searched(folder: &Path) -> bool {
    may(folder, Access::EXEC_OK)
}

/// Whether this process may list a folder, too.
pub fn can_be_listed(folder: &Path) -> bool {
    may(folder, Access::READ_OK | Access::EXEC_OK)
}

/// Whether this process may read a file.
pub fn can_be_read(file: &Path) -> bool {
    may(file, Access::READ_OK)
}

fn may(folder: &Path, access: Access) -> bool {
    rustix::fs::accessat(CWD, folder, access, AtFlags::EACCESS).is_ok()
}

/// Whether this process, which is not root's, may give a file to another user, and then change its
/// mode and remove it.
#[cfg(target_os = "linux")]
pub fn may_give_away() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    let needed = CapabilitySet::CHOWN | CapabilitySet::FOWNER | CapabilitySet::DAC_OVERRIDE;
    capabilities(None).is_ok_and(|ours| ours.effective.contains(needed))
}

/// The same elsewhere: root's alone.
#[cfg(not(target_os = "linux"))]
pub fn may_give_away() -> bool {
    false
}

/// Whether this process has kept the right to act as root.
#[cfg(target_os = "linux")]
fn may_become_root() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|ours| ours.permitted.contains(CapabilitySet::SETUID))
}

#[cfg(not(target_os = "linux"))]
fn may_become_root() -> bool {
    false
}
