use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, Stat};

use super::*;

const OTHER: u32 = 65_534;

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        // Not through a macro: the harness would keep it to itself.
        writeln!(std::io::stderr(), "NOT RUN: only root can make another user's files").ok();
    }
    is_root
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn write(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    chmod(path, 0o644);
}

fn text(walk: &Walk, path: &Path) -> Result<String, String> {
    let mut text = String::new();
    walk.file(path, false).map_err(|e| e.to_string())?.read_to_string(&mut text).unwrap();
    Ok(text)
}

fn stat(kind: FileType, owner: u32, mode: u32) -> Stat {
    let mut stat = rustix::fs::stat("/").unwrap();
    (stat.st_uid, stat.st_mode) = (owner, kind.as_raw_mode() | mode);
    stat
}

#[test]
fn each_user_trusts_root_and_themselves() {
    let (folder, file, link) = (FileType::Directory, FileType::RegularFile, FileType::Symlink);
    let root = Trusted::root();
    let (owned, open) = (Some("is owned by"), Some("can be written by"));
    // Another user than root; a number that no test runs as.
    let us = Trusted::of_user(4711);
    for (trusted, kind, owner, mode, expected) in [
        (root, file, 0, 0o644, None),
        (root, folder, 0, 0o755, None),
        (root, folder, 0, 0o1777, None),
        (root, link, 0, 0o777, None),
        (root, file, 1000, 0o600, owned),
        (root, link, 1000, 0o777, owned),
        (root, folder, 1000, 0o1777, owned),
        (root, file, 0, 0o664, open),
        (root, file, 0, 0o1646, open),
        (root, FileType::Fifo, 0, 0o622, open),
        (root, folder, 0, 0o777, open),
        (root, FileType::CharacterDevice, 0, 0o666, None),
        (root.and(33), folder, 33, 0o755, None),
        (root.and(33), folder, 33, 0o775, open),
        (root.and(33), folder, 34, 0o755, owned),
        (root.and(33).and_groups(), folder, 33, 0o775, None),
        (root.and(33).and_groups(), folder, 33, 0o777, open),
        (us, file, 4711, 0o664, None),
        (us, file, 0, 0o664, None),
        (us, file, 4711, 0o646, open),
        (us, folder, 4711, 0o777, open),
        (us, file, 1000, 0o600, owned),
    ] {
        let found = trusted.judge(Path::new("/a"), &stat(kind, owner, mode));
        let found = found.err().map(|error| error.to_string());
        let is_right = match (&found, expected) {
            (Some(found), Some(expected)) => found.contains(expected),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(is_right, "{kind:?} {owner} {mode:o}: {found:?}, not {expected:?}");
    }
    assert_eq!(us.and(33).to_string(), "root or user 4711 or user 33");
}

#[test]
fn secrets_are_for_owner_and_group_only() {
    for (mode, fine) in [
        (0o600, true),
        (0o400, true),
        (0o640, true),
        (0o440, true),
        (0o644, false),
        (0o660, false),
        (0o602, false),
        (0o601, false),
    ] {
        assert_eq!(check_secret(Path::new("/a"), mode).is_ok(), fine, "{mode:o}");
    }
}

/// `a/b/file`, and links to it.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    for folder in ["a", "a/b"] {
        chmod(&root.join(folder), 0o755);
    }
    write(&root.join("a/b/file"), "good");
    (scratch, root)
}

#[test]
fn a_walk_reads_what_the_system_reads() {
    let (_scratch, root) = tree();
    let walk = Walk::trusting_us();
    symlink(root.join("a"), root.join("absolute")).unwrap();
    symlink("absolute/b/../b", root.join("relative")).unwrap();
    symlink("../../relative/file", root.join("a/b/up")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    for path in ["a/b/file", "absolute/b/file", "relative/file", "a/b/up", "a/./b/../b/file"] {
        assert_eq!(text(&walk, &root.join(path)), Ok("good".to_owned()), "{path}");
        let seen = walk.look(&root.join(path)).unwrap();
        assert_eq!((seen.path, seen.is_file), (root.join("a/b/file"), true));
    }
    assert_eq!(walk.folder(&root.join("relative")).unwrap().path, root.join("a/b"));
    assert_eq!(walk.folder(Path::new("/")).unwrap().path, Path::new("/"));
    for path in ["loop", "dangling", "none", "a/none/file", "a/b/file/x"] {
        let system = fs::read(root.join(path)).unwrap_err();
        let TrustError::Io { source, .. } = walk.file(&root.join(path), false).unwrap_err() else {
            panic!("{path}")
        };
        assert_eq!(source.kind(), system.kind(), "{path}");
    }
    let error = walk.without_links().file(&root.join("relative/file"), false).unwrap_err();
    assert!(matches!(error, TrustError::Link { .. }), "{error}");
}

#[test]
fn what_others_may_write_is_refused_for_every_user() {
    let (_scratch, root) = tree();
    let walk = Walk::trusting_us();
    let file = root.join("a/b/file");
    for (path, mode) in [("a/b/file", 0o646), ("a/b", 0o757), ("a", 0o777)] {
        let path = root.join(path);
        let before = fs::metadata(&path).unwrap().mode();
        chmod(&path, mode);
        let error = walk.file(&file, false).unwrap_err();
        assert!(matches!(&error, TrustError::Writable { path: p, .. } if *p == path), "{error}");
        chmod(&path, before);
    }
    // As /tmp: others may add to it, and exchange nothing of ours.
    chmod(&root.join("a"), 0o1777);
    assert_eq!(text(&walk, &file), Ok("good".to_owned()));
}

/// Each folder and each link on the way, one after the other in another user's hands.
#[test]
fn a_link_in_the_middle_of_the_way_is_checked() {
    if !is_root() {
        return;
    }
    let (_scratch, root) = tree();
    let walk = Walk::trusting_us();
    fs::create_dir(root.join("theirs")).unwrap();
    // The path as written and the path at its end are root's; the folder of the second link is not.
    symlink(root.join("theirs/link"), root.join("ours")).unwrap();
    symlink(root.join("a"), root.join("theirs/link")).unwrap();
    assert_eq!(text(&walk, &root.join("ours/b/file")), Ok("good".to_owned()));
    for path in ["theirs", "theirs/link", "ours", "a", "a/b", "a/b/file"] {
        std::os::unix::fs::lchown(root.join(path), Some(OTHER), None).unwrap();
        let error = walk.file(&root.join("ours/b/file"), false).unwrap_err();
        let path = root.join(path);
        assert!(matches!(&error, TrustError::Owner { path: p, .. } if *p == path), "{error}");
        assert!(walk.look(&root.join("ours/b/file")).is_err());
        std::os::unix::fs::lchown(&path, Some(0), None).unwrap();
    }
    // In a sticky folder another user's link is refused, and what is behind it too.
    chmod(&root.join("theirs"), 0o1777);
    assert_eq!(text(&walk, &root.join("ours/b/file")), Ok("good".to_owned()));
    std::os::unix::fs::lchown(root.join("theirs/link"), Some(OTHER), None).unwrap();
    assert!(text(&walk, &root.join("ours/b/file")).is_err());
}

#[test]
fn folders_are_made_private_and_not_behind_a_dangling_link() {
    let (_scratch, root) = tree();
    let walk = Walk::trusting_us();
    let made = walk.made_folder(&root.join("a/x/y"), Mode::RWXU).unwrap();
    assert_eq!(made.path, root.join("a/x/y"));
    for folder in ["a/x", "a/x/y"] {
        assert_eq!(fs::metadata(root.join(folder)).unwrap().mode() & 0o7777, 0o700);
    }
    symlink("nowhere", root.join("dangling")).unwrap();
    for path in ["dangling", "dangling/x"] {
        assert!(walk.made_folder(&root.join(path), Mode::RWXU).unwrap_err().is_missing());
    }
    let (above, name) = walk.folder_or_parent(&root.join("a/new")).unwrap();
    assert_eq!((above.path, name.unwrap()), (root.join("a"), "new".into()));
    assert!(walk.folder_or_parent(&root.join("a/new/new")).is_err());
}

#[test]
fn a_file_is_replaced_and_no_link_is_written_through() {
    let (_scratch, root) = tree();
    write(&root.join("victim"), "untouched");
    symlink(root.join("victim"), root.join("a/page")).unwrap();
    let folder = Walk::trusting_us().folder(&root.join("a")).unwrap();
    folder.replace("page", b"one").unwrap();
    folder.replace("page", b"two").unwrap();
    assert_eq!(fs::read_to_string(root.join("a/page")).unwrap(), "two");
    assert_eq!(fs::read_to_string(root.join("victim")).unwrap(), "untouched");
    assert_eq!(fs::read_dir(root.join("a")).unwrap().count(), 2);
}

/// Another user can rename a folder of ours in their folder, to where one was just made.
#[test]
fn a_folder_that_holds_something_is_not_the_one_just_made() {
    let (_scratch, root) = tree();
    let fresh = |path: &str| {
        let folder = Walk::new(None).folder(&root.join(path)).unwrap();
        is_fresh(&folder.handle).unwrap()
    };
    fs::create_dir(root.join("new")).unwrap();
    assert_eq!([fresh("new"), fresh("a"), fresh("a/b")], [true, false, false]);
    if is_root() {
        chown(root.join("new"), Some(OTHER), None).unwrap();
        assert!(!fresh("new"));
    }
}

/// `certctl validate -f <(command)`, and a file that the shell has opened.
#[test]
fn a_descriptor_of_this_process_is_the_callers_choice() {
    if !Path::new("/proc/self/fd").exists() {
        return;
    }
    let (_scratch, root) = tree();
    let walk = Walk::trusting_us();
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"piped").unwrap();
    drop(writer);
    for folder in ["/dev/fd", "/proc/self/fd"] {
        let path = Path::new(folder).join(reader.as_raw_fd().to_string());
        assert!(text(&walk, &path).is_ok_and(|text| text == "piped" || text.is_empty()));
    }
    let open = File::open(root.join("a/b/file")).unwrap();
    let path = Path::new("/dev/fd").join(open.as_raw_fd().to_string());
    fs::remove_file(root.join("a/b/file")).unwrap();
    assert_eq!(text(&walk, &path), Ok("good".to_owned()));
    if is_root() {
        let open = File::create(root.join("theirs")).unwrap();
        chown(root.join("theirs"), Some(OTHER), None).unwrap();
        let path = Path::new("/dev/fd").join(open.as_raw_fd().to_string());
        assert!(text(&walk, &path).unwrap_err().contains("is owned by user 65534"));
    }
}
