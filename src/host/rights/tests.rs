use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use super::*;

const OTHER: u32 = 65_534;

/// Files that another user may have written are never made trusted unread.
#[test]
fn nothing_gives_away_what_another_user_wrote() {
    let (path, trusted_user) = (|| PathBuf::from("/a"), Trusted::root());
    let of = |error: &TrustError| trusted(error).unwrap();
    let owner = |is_folder| TrustError::Owner {
        path: path(),
        is_folder,
        owner: 7,
        mode: 0o644,
        trusted: trusted_user,
    };
    let writable = |is_folder| TrustError::Writable {
        path: path(),
        is_folder,
        owner: 0,
        mode: 0o777,
        trusted: trusted_user,
    };
    let open = |mode| TrustError::Open { path: path(), mode };
    let right = |what| Fix::from(Permit::new(path(), what));
    for is_folder in [false, true] {
        assert_eq!(of(&owner(is_folder)), right(Right::Anew { owner: 7, is_folder }));
        let look = Some(if is_folder { Look::Folder } else { Look::File });
        assert_eq!(of(&writable(is_folder)), right(Right::Closed { is_secret: false, look }));
    }
    for (mode, look) in [(0o644, None), (0o666, Some(Look::File))] {
        assert_eq!(of(&open(mode)), right(Right::Closed { is_secret: true, look }));
    }
}

#[test]
fn a_folder_may_be_closed_to_another_user() {
    let root = tempfile::tempdir().unwrap();
    let closed = root.path().join("closed");
    fs::create_dir_all(closed.join("below")).unwrap();
    let us = rustix::process::geteuid().as_raw();
    for (mode, user, expected) in [
        (0o700, us + 1, Some(&closed)),
        (0o700, us, None),
        (0o600, us, Some(&closed)),
        (0o710, us + 1, None),
        (0o701, us + 1, None),
    ] {
        fs::set_permissions(root.path(), Permissions::from_mode(0o711)).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
        let folder = closed.join("below");
        assert_eq!(closed_to(&folder, user), expected.map(PathBuf::as_path), "{mode:o} {user}");
        // One that is to be made.
        assert_eq!(closed_to(&closed, user), None, "{mode:o} {user}");
    }
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn nothing_that_root_types_follows_a_link_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let at = |below: &str| scratch.path().join(below);
    fs::create_dir_all(at("theirs/new")).unwrap();
    fs::create_dir(at("ours")).unwrap();
    symlink(at("ours"), at("theirs/tls")).unwrap();
    symlink(at("ours"), at("link")).unwrap();
    chown(at("theirs"), Some(OTHER), Some(OTHER)).unwrap();
    for below in ["theirs/tls", "theirs/tls/x", "theirs/new", "theirs/missing/too", "link"] {
        assert_eq!(own_folder(&at(below), 0o750, None), None, "{below}");
        assert_eq!(shared_folder(&at(below), Letters::List), None, "{below}");
    }
    // A folder of theirs, in one of root's, is the one that is named.
    for below in ["theirs", "ours", "ours/missing", "missing/too", "link/x"] {
        assert!(own_folder(&at(below), 0o750, None).is_some(), "{below}");
        assert!(shared_folder(&at(below), Letters::List).is_some(), "{below}");
    }
}
