//! Removing below a folder's handle: the one way by which trees are removed, in state and outputs.
//!
//! Contract: each name is resolved in the handle of the folder that contained it, and no link
//! is followed at any level. A user who owns a folder above can move it and put a link in its
//! place at any moment: nothing outside the folder that is open here is removed.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::entries;

/// How deep folders may be nested. What certctl writes has few levels; a deeper nest, made by
/// another user, must not exhaust file handles and stack.
const MAX_DEPTH: usize = 64;

/// Removes the entry of this name, with all that is in it if it is a folder. One that is not there
/// is no error.
pub(crate) fn remove_tree(parent: impl AsFd, name: &str) -> io::Result<()> {
    remove(parent.as_fd(), &CString::new(name)?, MAX_DEPTH)
}

fn remove(parent: BorrowedFd<'_>, name: &CString, depth: usize) -> io::Result<()> {
    let refused = match retry_on_intr(|| rustix::fs::unlinkat(parent, name, AtFlags::empty())) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        // That it is a folder, as Linux and as POSIX say it.
        Err(error @ (Errno::ISDIR | Errno::PERM)) => error,
        Err(error) => return Err(error.into()),
    };
    let Some(deeper) = depth.checked_sub(1) else {
        let why = format!("folders are nested more than {MAX_DEPTH} deep");
        return Err(io::Error::other(why));
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match retry_on_intr(|| rustix::fs::openat(parent, name, flags, Mode::empty())) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => return Err(refused.into()),
        Err(error) => return Err(error.into()),
    };
    for name in entries::names(&folder)? {
        remove(folder.as_fd(), &name, deeper)?;
    }
    match retry_on_intr(|| rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap();
    }

    #[test]
    fn a_tree_is_removed_and_what_its_links_lead_to_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let place = |below: &str| scratch.path().join(below);
        write(&place("victim/key"));
        write(&place("here/set/deep/er/file"));
        write(&place("here/other/file"));
        symlink(place("victim"), place("here/set/link")).unwrap();
        symlink(place("victim"), place("here/set/deep/link")).unwrap();
        symlink(place("victim"), place("here/link")).unwrap();
        let here = File::open(place("here")).unwrap();
        for name in ["set", "link", "none"] {
            remove_tree(&here, name).unwrap();
        }
        remove_tree(&here, "set").unwrap();
        let left: Vec<_> =
            fs::read_dir(place("here")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["other"]);
        assert!(place("victim/key").exists() && place("here/other/file").exists());
        remove_tree(File::open(place("here/other")).unwrap(), "file").unwrap();
        assert!(!place("here/other/file").exists());
    }

    #[test]
    fn a_name_is_looked_up_in_the_open_folder_whatever_stands_in_its_place() {
        let scratch = tempfile::tempdir().unwrap();
        let place = |below: &str| scratch.path().join(below);
        write(&place("victim/set/key"));
        write(&place("here/set/key"));
        let here = File::open(place("here")).unwrap();
        fs::rename(place("here"), place("moved")).unwrap();
        symlink(place("victim"), place("here")).unwrap();
        remove_tree(&here, "set").unwrap();
        assert!(place("victim/set/key").exists());
        assert!(!place("moved/set").exists());
    }

    #[test]
    fn a_nest_that_is_too_deep_is_an_error_and_not_a_crash() {
        let scratch = tempfile::tempdir().unwrap();
        let nest = |depth: usize| "d/".repeat(depth);
        fs::create_dir_all(scratch.path().join(nest(MAX_DEPTH))).unwrap();
        let here = File::open(scratch.path()).unwrap();
        remove_tree(&here, "d").unwrap();
        fs::create_dir_all(scratch.path().join(nest(MAX_DEPTH + 1))).unwrap();
        let error = remove_tree(&here, "d").unwrap_err();
        assert_eq!(error.to_string(), "folders are nested more than 64 deep");
    }
}
