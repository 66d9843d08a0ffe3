//! Checks which users could have written a file, as OpenSSH's `StrictModes` does.
//!
//! Contract: as root, a file and every folder above it must be owned by root and writable only by
//! root; a sticky folder such as /tmp is accepted, since other users cannot replace root's files in it.
//! An error carries the command that fixes it.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a file is not trusted.
#[derive(Debug, Error)]
pub enum TrustError {
    /// Its metadata cannot be read.
    #[error("cannot check {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// Another user owns it.
    #[error("{} is owned by user {owner}, not by {trusted}", path.display())]
    Owner { path: PathBuf, owner: u32, trusted: Trusted },
    /// Others than its owner can write to it.
    #[error("{} can be written by others than {trusted} (mode {mode:04o})", path.display())]
    Writable { path: PathBuf, mode: u32, trusted: Trusted },
    /// A secret that others can read or change.
    #[error("{} is open to others (mode {mode:04o})", path.display())]
    Open { path: PathBuf, mode: u32 },
}

/// The users who may own a file or folder, and write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trusted {
    /// Root alone.
    Root,
    /// Root, and the user of this number.
    RootAnd(u32),
}

impl fmt::Display for Trusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("root"),
            Self::RootAnd(user) => write!(f, "root or user {user}"),
        }
    }
}

impl TrustError {
    /// The command that fixes it.
    pub fn command(&self) -> Option<String> {
        let (command, path) = match self {
            Self::Io { .. } => return None,
            Self::Owner { path, .. } => ("chown root:root", path),
            Self::Writable { path, .. } => ("chmod go-w", path),
            Self::Open { path, .. } => ("chmod g-w,o-rwx", path),
        };
        Some(format!("{command} {}", quoted(path)))
    }
}

/// Checks a manifest, hook or secret and all folders above it, if certctl runs as root.
///
/// Checks both the path as written and the path that its symbolic links resolve to: a user who can
/// replace a link decides which file is read.
pub fn check_trust(path: &Path, is_root: bool) -> Result<(), TrustError> {
    if !is_root {
        return Ok(());
    }
    let failed = |source| TrustError::Io { path: path.to_path_buf(), source };
    let written = std::path::absolute(path).map_err(failed)?;
    let real = std::fs::canonicalize(path).map_err(failed)?;
    for walk in [written.as_path(), real.as_path()] {
        for step in walk.ancestors() {
            let metadata = std::fs::symlink_metadata(step)
                .map_err(|source| TrustError::Io { path: step.to_path_buf(), source })?;
            let kind = if metadata.is_symlink() {
                Kind::Link
            } else if metadata.is_dir() {
                Kind::Folder
            } else {
                Kind::File
            };
            judge(step, kind, metadata.uid(), metadata.mode(), Trusted::Root)?;
        }
    }
    Ok(())
}

/// Checks the mode of a file that holds a secret: only owner and group may read it, and only the
/// owner may write it (0640 is accepted).
pub fn check_secret(path: &Path, metadata: &std::fs::Metadata) -> Result<(), TrustError> {
    let mode = metadata.mode() & 0o7777;
    if mode & 0o027 != 0 {
        return Err(TrustError::Open { path: path.to_path_buf(), mode });
    }
    Ok(())
}

/// The same rule for one open folder, by its owner and mode.
pub fn check_folder(
    path: &Path,
    owner: u32,
    mode: u32,
    trusted: Trusted,
) -> Result<(), TrustError> {
    judge(path, Kind::Folder, owner, mode, trusted)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    /// A link: its owner is checked, its mode has no meaning.
    Link,
}

fn judge(
    path: &Path,
    kind: Kind,
    owner: u32,
    mode: u32,
    trusted: Trusted,
) -> Result<(), TrustError> {
    let mode = mode & 0o7777;
    if owner != 0 && trusted != Trusted::RootAnd(owner) {
        return Err(TrustError::Owner { path: path.to_path_buf(), owner, trusted });
    }
    let sticky = kind == Kind::Folder && mode & 0o1000 != 0;
    if kind != Kind::Link && mode & 0o022 != 0 && !sticky {
        return Err(TrustError::Writable { path: path.to_path_buf(), mode, trusted });
    }
    Ok(())
}

/// A path quoted for a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@".contains(c);
    if text.chars().all(plain) && !text.starts_with('-') {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn root_trusts_what_only_root_can_change() {
        for (kind, owner, mode, command) in [
            (Kind::File, 0, 0o100_644, None),
            (Kind::Folder, 0, 0o40_755, None),
            (Kind::Folder, 0, 0o41_777, None),
            (Kind::Link, 0, 0o120_777, None),
            (Kind::File, 1000, 0o600, Some("chown root:root '/a b'")),
            (Kind::Link, 1000, 0o777, Some("chown root:root '/a b'")),
            (Kind::Folder, 1000, 0o1777, Some("chown root:root '/a b'")),
            (Kind::File, 0, 0o664, Some("chmod go-w '/a b'")),
            (Kind::File, 0, 0o1646, Some("chmod go-w '/a b'")),
            (Kind::Folder, 0, 0o777, Some("chmod go-w '/a b'")),
        ] {
            let found = judge(Path::new("/a b"), kind, owner, mode, Trusted::Root).err();
            assert_eq!(found.and_then(|error| error.command()).as_deref(), command, "{mode:o}");
        }
    }

    #[test]
    fn the_owner_of_an_output_is_trusted_beside_root() {
        let also = Trusted::RootAnd(33);
        let owned = "/a is owned by user 34, not by root or user 33";
        let written = "/a can be written by others than root or user 33 (mode 0775)";
        for (owner, mode, trusted, expected) in [
            (0, 0o40_755, also, None),
            (33, 0o40_700, also, None),
            (0, 0o41_777, also, None),
            (34, 0o40_755, also, Some(owned)),
            (33, 0o40_775, also, Some(written)),
            (33, 0o40_755, Trusted::Root, Some("/a is owned by user 33, not by root")),
        ] {
            let found = check_folder(Path::new("/a"), owner, mode, trusted).err();
            assert_eq!(found.map(|error| error.to_string()).as_deref(), expected);
        }
    }

    #[test]
    fn the_walk_goes_up_to_the_root_and_along_links() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        std::fs::File::create(&file).unwrap();
        let chmod = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(&file, 0o644);
        assert!(check_trust(&file, false).is_ok());
        if !rustix::process::geteuid().is_root() {
            assert!(matches!(check_trust(&file, true), Err(TrustError::Owner { .. })));
            return;
        }
        assert!(check_trust(&file, true).is_ok());
        let link = folder.path().join("link.yaml");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(check_trust(&link, true).is_ok());
        chmod(&file, 0o666);
        assert!(matches!(check_trust(&link, true), Err(TrustError::Writable { mode: 0o666, .. })));
        chmod(&file, 0o644);
        chmod(folder.path(), 0o777);
        let error = check_trust(&file, true).unwrap_err();
        let expected = format!("chmod go-w {}", folder.path().display());
        assert_eq!(error.command(), Some(expected));
        assert!(check_trust(&folder.path().join("none"), true).is_err());
    }

    #[test]
    fn secrets_are_for_owner_and_group_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::File::create(&file).unwrap();
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
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let metadata = std::fs::metadata(&file).unwrap();
            assert_eq!(check_secret(&file, &metadata).is_ok(), fine, "{mode:o}");
        }
    }
}
