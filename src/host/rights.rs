//! The user of this process, what it may do with a path, and what would let it do more.
//!
//! Contract: nothing is changed. What lets a user in never takes a folder away from those who use it:
//! one that holds files of others keeps its owner and its mode.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User};
use rustix::fs::{Access, AtFlags, CWD};

use crate::resource::{Fix, Letters, Look, Permit, Right, Setting};
use crate::trust::{TrustError, Trusted, Walk};

/// Where packages install the program of ACLs.
const SETFACL: [&str; 2] = ["/usr/bin/setfacl", "/bin/setfacl"];

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

/// Returns whether root started this process, which may act as another user since.
pub fn is_of_root() -> bool {
    rustix::process::geteuid().is_root() || may_become_root()
}

/// Returns whether sudo started this process, for a user who is not root.
pub fn is_by_sudo() -> bool {
    is_of_root() && std::env::var_os("SUDO_USER").is_some_and(|user| !user.is_empty())
}

/// Returns whether only root can change where a path leads, whose last name, or several, may be
/// missing: a command that root types follows no link of another user's there.
fn is_roots_way(path: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else { return false };
    let above = path.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
    let walk = Walk::new(Some(Trusted::root()));
    !path.is_symlink() && above.is_none_or(|above| walk.look(above).is_ok())
}

/// A folder, or one that holds nothing of others, as this process's own; `group` may read it too,
/// instead of this process's. `None` where another user could have root do that to another folder.
pub fn own_folder(folder: &Path, mode: u32, group: Option<u32>) -> Option<Permit> {
    is_roots_way(folder).then(|| {
        let group = group.map_or_else(own_group, group_name);
        Permit::new(folder, Right::Folder { user: own_user(), group, mode })
    })
}

/// These permissions in a folder, which stays what it is for all others. `None` as above.
pub fn shared_folder(folder: &Path, letters: Letters) -> Option<Permit> {
    is_roots_way(folder).then(|| {
        let has_program = SETFACL.iter().any(|path| Path::new(path).exists());
        Permit::new(folder, Right::Shared { user: own_user(), letters, has_program })
    })
}

/// An entry, with all that is in it, or a folder alone, as that of a user and that user's group.
pub fn of_owner(path: &Path, user: u32, is_whole: bool) -> Permit {
    own(path, user, is_whole, None, false)
}

/// The same of an entry of another user. What root made is trusted; all else is to be looked at first. A
/// file that is open to others is closed, as its mode would be the next error.
pub fn of_foreign(path: &Path, owner: u32, user: u32) -> Permit {
    let found = if path.is_dir() { Look::Folder } else { Look::File };
    let look = (owner != 0).then_some(found);
    let meta = path.symlink_metadata();
    let is_open = meta.is_ok_and(|found| found.is_file() && found.mode() & 0o077 != 0);
    own(path, user, true, look, is_open)
}

fn own(path: &Path, user: u32, is_whole: bool, look: Option<Look>, is_open: bool) -> Permit {
    let known = User::from_uid(Uid::from_raw(user)).ok().flatten();
    let user = known.map_or_else(
        || user.to_string(),
        |known| format!("{}:{}", known.name, group_name(known.gid.as_raw())),
    );
    let is_whole = is_whole && path.is_dir();
    Permit::new(path, Right::Own { user, is_whole, look, is_open })
}

/// Finds the permit that lets this process use a path that the system denied it: for the entry on
/// the way to `path` that has the wrong owner in a folder of ours, or a mode that shuts its own
/// owner out. `None` where it is neither.
pub fn denied(path: &Path) -> Option<Permit> {
    let us = rustix::process::geteuid().as_raw();
    for at in path.ancestors().take_while(|_| us != 0) {
        let Ok(found) = at.symlink_metadata() else { continue };
        if found.uid() != us {
            let is_ours = at.parent()?.metadata().is_ok_and(|above| above.uid() == us);
            return is_ours.then(|| of_foreign(at, found.uid(), us));
        }
        let least = if found.is_dir() { 0o700 } else { 0o600 };
        if !found.is_symlink() && found.mode() & least != least {
            return Some(Permit::new(at, Right::OfOwner { mode: (at == path).then_some(least) }));
        }
    }
    None
}

/// Finds the permit that lets this process read a path that the system denied it: for the first
/// entry on the way to `path` that is closed to it. The rights of others stay. `None` where this
/// process is root, or the entry is the home of a user.
pub fn reading(path: &Path) -> Option<Permit> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    if let Some(permit) = denied(path).filter(|permit| !permit.needs_look()) {
        return Some(permit);
    }
    let path = std::path::absolute(path).ok()?;
    let at = closed_above(&path).unwrap_or(&path);
    let found = at.metadata().ok()?;
    if is_home(at, found.uid()) {
        return None;
    }
    let letters = if found.is_dir() { Letters::List } else { Letters::Read };
    // No user but root has the rights of its group.
    let is_unshared = found.uid() == 0 && (found.gid() == 0 || found.mode() & 0o070 == 0);
    if !is_unshared {
        return shared_folder(at, letters);
    }
    Some(Permit::new(at, Right::Group { group: own_group(), letters, is_secret: false }))
}

/// Finds the fix that makes a file, a folder or a link a trusted one. It never makes the content of
/// another user trusted unread: that user's text stays, and so does every handle that is still
/// open.
pub fn trusted(error: &TrustError) -> Option<Fix> {
    let closed = |path: &Path, is_secret, look| {
        Some(Fix::Permit(Permit::new(path, Right::Closed { is_secret, look })))
    };
    match error {
        TrustError::Io { .. } | TrustError::Link { .. } => None,
        TrustError::Reserved { .. } => Some(Fix::Set(Setting::Folder)),
        TrustError::Outside { roots, .. } => Some(Fix::Set(Setting::FolderBelow(roots.clone()))),
        TrustError::Owner { path, is_folder, owner, .. } => {
            let what = Right::Anew { owner: *owner, is_folder: *is_folder };
            Some(Fix::Permit(Permit::new(path, what)))
        }
        TrustError::Writable { path, is_folder, .. } => {
            closed(path, false, Some(if *is_folder { Look::Folder } else { Look::File }))
        }
        TrustError::Open { path, mode } => {
            closed(path, true, (mode & 0o022 != 0).then_some(Look::File))
        }
    }
}

/// Returns whether a folder is the home of its owner.
fn is_home(folder: &Path, owner: u32) -> bool {
    let known = User::from_uid(Uid::from_raw(owner)).ok().flatten();
    known.is_some_and(|known| known.dir == folder)
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

/// Returns whether the permissions of the first folder above that exists let this process make
/// folders.
pub fn can_be_made(folder: &Path) -> bool {
    let above = folder.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
    above.is_some_and(|above| may(above, Access::WRITE_OK | Access::EXEC_OK))
}

/// Returns whether a folder is missing, or holds only what `is_own` tells to be this program's.
pub fn has_nothing_of_others(folder: &Path, is_own: impl Fn(&Path) -> bool) -> bool {
    if folder.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return true;
    }
    let entries = fs::read_dir(folder);
    entries.is_ok_and(|mut entries| entries.all(|one| one.is_ok_and(|one| is_own(&one.path()))))
}

/// Returns whether this process may search a folder.
pub fn can_be_searched(folder: &Path) -> bool {
    may(folder, Access::EXEC_OK)
}

/// Returns whether this process may list a folder, too.
pub fn can_be_listed(folder: &Path) -> bool {
    may(folder, Access::READ_OK | Access::EXEC_OK)
}

/// Returns whether this process may read a file.
pub fn can_be_read(file: &Path) -> bool {
    may(file, Access::READ_OK)
}

fn may(folder: &Path, access: Access) -> bool {
    rustix::fs::accessat(CWD, folder, access, AtFlags::EACCESS).is_ok()
}

/// Returns whether this process, which is not root's, may give a file to another user, and then
/// change its mode and remove it.
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

/// Returns whether this process has kept the right to act as root.
#[cfg(target_os = "linux")]
fn may_become_root() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|ours| ours.permitted.contains(CapabilitySet::SETUID))
}

#[cfg(not(target_os = "linux"))]
fn may_become_root() -> bool {
    false
}

#[cfg(test)]
mod tests;
