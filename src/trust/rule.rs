//! The rule for one file, folder or link.
//!
//! | | must belong to | must not be writable by |
//! | --- | --- | --- |
//! | a symbolic link | root, or the user of this process | (the mode of a link has no meaning) |
//! | a folder | the same | others; as root also: a group. A sticky folder is fine |
//! | a file | the same | others; as root also: a group |
//!
//! In a sticky folder such as /tmp all users may make entries, and only their owner, the
//! folder's owner and root may replace or rename them. The walk goes on only through entries that
//! belong to root or to this process's user, in a folder that does: so the entry that was checked
//! cannot be exchanged. What another user has made there first is refused for its owner. sudo and
//! OpenSSH (`StrictModes`) accept /tmp for the same reason.
//!
//! A group that may write is refused as root, as OpenSSH does: root's files need no group. For
//! other users it is accepted: with a umask of 002, all files of a user are writable by the user's
//! own group.

use std::fmt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};
use thiserror::Error;

/// Why a file is not trusted.
#[derive(Debug, Error)]
pub enum TrustError {
    /// A system call failed.
    #[error("cannot check {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// Another user owns it.
    #[error("{} is owned by user {owner} (mode {mode:04o}), not by {trusted}", path.display())]
    Owner { path: PathBuf, is_folder: bool, owner: u32, mode: u32, trusted: Trusted },
    /// Others than its owner can write to it.
    #[error(
        "{} can be written by users other than {trusted} (owner {}, mode {mode:04o})",
        path.display(), owner_text(*owner)
    )]
    Writable { path: PathBuf, is_folder: bool, owner: u32, mode: u32, trusted: Trusted },
    /// A secret that others can read or change.
    #[error("{} is open to others (mode {mode:04o})", path.display())]
    Open { path: PathBuf, mode: u32 },
    /// A symbolic link where none is followed.
    #[error("{} is a symbolic link", path.display())]
    Link { path: PathBuf },
    /// A manifest must not have files written among certctl's own.
    #[error("{} {relation} {}, whose files are certctl's own", path.display(), own.display())]
    Reserved { path: PathBuf, relation: Relation, own: PathBuf },
    /// The operator allows it elsewhere only.
    #[error("{} is not below any of output-roots", path.display())]
    Outside { path: PathBuf, roots: Vec<PathBuf> },
}

/// How a folder lies to one of certctl's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Same,
    Above,
    Below,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "is",
            Self::Above => "contains",
            Self::Below => "lies below",
        })
    }
}

/// A user by its number; root by its name.
fn owner_text(user: u32) -> String {
    if user == 0 { "root".to_owned() } else { format!("user {user}") }
}

/// The users who may own what is on the way, and write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trusted {
    us: u32,
    also: Option<u32>,
    /// Whether groups may write.
    groups: bool,
}

impl Trusted {
    /// Root, and the user of this process.
    pub fn of_process() -> Self {
        Self::of_user(rustix::process::geteuid().as_raw())
    }

    /// Root alone.
    pub const fn root() -> Self {
        Self::of_user(0)
    }

    pub(super) const fn of_user(us: u32) -> Self {
        Self { us, also: None, groups: us != 0 }
    }

    /// The same, and the user of this number.
    #[must_use]
    pub const fn and(self, user: u32) -> Self {
        Self { also: Some(user), ..self }
    }

    /// The same; groups may write.
    #[must_use]
    pub const fn and_groups(self) -> Self {
        Self { groups: true, ..self }
    }

    /// Whether only root is trusted.
    pub fn is_root_only(self) -> bool {
        self.us == 0 && self.also.is_none_or(|user| user == 0)
    }

    /// The rule for one entry, by its owner and mode.
    pub(super) fn judge(self, path: &Path, stat: &Stat) -> Result<(), TrustError> {
        let (owner, kind) = (stat.st_uid, FileType::from_raw_mode(stat.st_mode));
        let (path, mode, trusted) = (path.to_path_buf(), mode_of(stat), self);
        let is_folder = kind == FileType::Directory;
        if owner != 0 && owner != self.us && Some(owner) != self.also {
            return Err(TrustError::Owner { path, is_folder, owner, mode, trusted });
        }
        let is_safe = match kind {
            FileType::Directory => mode & 0o1000 != 0,
            FileType::RegularFile | FileType::Fifo => false,
            // The mode of a link has no meaning; the others hold no content.
            FileType::Symlink
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => true,
        };
        let refused = if self.groups { 0o002 } else { 0o022 };
        if mode & refused != 0 && !is_safe {
            return Err(TrustError::Writable { path, is_folder, owner, mode, trusted });
        }
        Ok(())
    }
}

impl fmt::Display for Trusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("root")?;
        let others = [Some(self.us), self.also.filter(|also| *also != self.us)];
        for user in others.into_iter().flatten().filter(|user| *user != 0) {
            write!(f, " or user {user}")?;
        }
        Ok(())
    }
}

impl TrustError {
    /// Whether there is no such file or folder.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}

/// Checks the mode of a file that holds a secret: only owner and group may read it, and only the
/// owner may write it (0640 is accepted).
pub fn check_secret(path: &Path, mode: u32) -> Result<(), TrustError> {
    let mode = mode & 0o7777;
    if mode & 0o027 != 0 {
        return Err(TrustError::Open { path: path.to_path_buf(), mode });
    }
    Ok(())
}

/// The permission bits.
pub(super) fn mode_of(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
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
