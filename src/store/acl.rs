//! POSIX access control lists, as Linux keeps them: whether a file or folder has one.
//!
//! A file that is made in a folder with a default ACL inherits its entries. They mean nothing while
//! the file is 0600: the group bits are then the mask of all of them. `chmod 0640` opens that mask,
//! and with it the file for every user and group that the entries name.

use std::os::fd::AsFd;

use rustix::io::{Errno, retry_on_intr};

/// The two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acl {
    /// What new files of a folder inherit.
    Default,
    /// Permissions of users and groups, beyond the permission bits.
    Access,
}

/// Whether there is such a list. A file system without them has none.
#[cfg(target_os = "linux")]
pub(super) fn has(entry: impl AsFd, acl: Acl) -> Result<bool, Errno> {
    match retry_on_intr(|| rustix::fs::fgetxattr_query(&entry, attribute(acl))) {
        Ok(_) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere ACLs are not inherited in this way.
#[cfg(not(target_os = "linux"))]
pub(super) fn has(_entry: impl AsFd, _acl: Acl) -> Result<bool, Errno> {
    Ok(false)
}

#[cfg(target_os = "linux")]
fn attribute(acl: Acl) -> &'static str {
    match acl {
        Acl::Default => "system.posix_acl_default",
        Acl::Access => "system.posix_acl_access",
    }
}

/// Lets another user read: `setfacl -m u:65534:r`, with `-d` for a default ACL. `false` when the
/// file system has no ACLs.
#[cfg(all(test, target_os = "linux"))]
pub(super) fn give(path: &std::path::Path, acl: Acl) -> bool {
    const ANY_ID: u32 = u32::MAX;
    let entries =
        [(1_u16, 6_u16, ANY_ID), (2, 4, 65_534), (4, 4, ANY_ID), (16, 4, ANY_ID), (32, 0, ANY_ID)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, bits, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(bits.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    let flags = rustix::fs::XattrFlags::empty();
    match retry_on_intr(|| rustix::fs::setxattr(path, attribute(acl), &bytes, flags)) {
        Err(Errno::OPNOTSUPP) if !cfg!(feature = "real-servers") => false,
        done => {
            assert_eq!(done, Ok(()), "{}", path.display());
            true
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn what_is_made_below_a_default_acl_inherits_it() {
        let scratch = tempfile::tempdir().unwrap();
        let open = |path: &std::path::Path| File::open(path).unwrap();
        assert_eq!(has(open(scratch.path()), Acl::Default), Ok(false));
        if !give(scratch.path(), Acl::Default) {
            return;
        }
        let folder = open(scratch.path());
        assert_eq!((has(&folder, Acl::Default), has(&folder, Acl::Access)), (Ok(true), Ok(false)));
        let file = File::create(scratch.path().join("tls.key")).unwrap();
        assert_eq!((has(&file, Acl::Default), has(&file, Acl::Access)), (Ok(false), Ok(true)));
    }
}
