//! Webroot: tokens as files below a document root that another web server serves.
//!
//! The root itself may be reached through links; below it certctl follows none: it opens each
//! folder relative to its parent. The root may belong to the web server's user; no third
//! user may be able to change the way to it. New folders are 0755 and stay, since other programs may
//! use them; token files are 0644, created exclusively, and removed only while they hold our content.
//!
//! | file of the token | `put` | `remove` |
//! | --- | --- | --- |
//! | missing | written | nothing to do |
//! | our key authorization | nothing to do | removed |
//! | a prefix of it, or empty: truncated by a crash | written again | removed |
//! | anything else | error that names the file | left alone |

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, accessat, fchmod, fstat, mkdirat, openat, unlinkat,
};
use rustix::io::Errno;
use thiserror::Error;

use crate::host::rights::{self, can_be_listed, can_be_made, closed_above, has_nothing_of_others};
use crate::resource::{Fix, Letters, Obstacle, Permit, Right, Setting, Token};
use crate::trust::{Bounds, Folder, TrustError, Trusted, Walk, is_fresh, owner_of};

/// A document root.
#[derive(Debug)]
pub struct Webroot {
    path: PathBuf,
    directory: OwnedFd,
}

impl Webroot {
    /// Opens the document root, which must exist.
    pub fn open(path: &Path, bounds: &Bounds) -> Result<Self, WebrootError> {
        let owner = owner_of(path)?;
        // The owner of the root decides anyway what is served from there, and so does a group that
        // may write to it. A link that this owner made leads no further than to what is theirs too.
        let trusted = Trusted::of_process().and(owner).and_groups();
        let Folder { handle: directory, path: real } = Walk::new(Some(trusted)).folder(path)?;
        bounds.check(&directory, &real, None)?;
        Ok(Self { path: path.to_owned(), directory })
    }

    /// Presents a token. Idempotent.
    pub fn put(&self, token: &Token, key_authorization: &str) -> Result<(), WebrootError> {
        let Reached { folder, path, .. } = self.descend(Missing::Make)?;
        let path = path.join(token.as_str());
        match read(&folder, token, key_authorization).map_err(io_error("read", &path))? {
            Found::Nothing => {}
            Found::Whole => return Ok(()),
            Found::CutShort => {
                unlink(&folder, token).map_err(io_error("remove", &path))?;
            }
            Found::Foreign => return Err(WebrootError::Foreign { path }),
        }
        if let Err(source) = create(&folder, token, key_authorization) {
            if source.kind() == io::ErrorKind::AlreadyExists {
                return Err(WebrootError::Foreign { path });
            }
            // A truncated file is useless; report the first error.
            drop(unlink(&folder, token));
            return Err(WebrootError::Io { action: "write", path, source });
        }
        Ok(())
    }

    /// Removes a token, and returns whether its file existed. A file that holds anything but
    /// `key_authorization` is foreign and stays.
    pub fn remove(&self, token: &Token, key_authorization: &str) -> Result<bool, WebrootError> {
        let (folder, path) = match self.descend(Missing::Stop) {
            Ok(Reached { folder, path, is_end: true }) => (folder, path.join(token.as_str())),
            // No token can exist there.
            Ok(Reached { is_end: false, .. }) | Err(WebrootError::NotAFolder { .. }) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        match read(&folder, token, key_authorization).map_err(io_error("read", &path))? {
            Found::Nothing => Ok(false),
            Found::Foreign => {
                tracing::warn!(path = %path.display(), "not removed: it does not contain \
                    certctl's response");
                Ok(false)
            }
            Found::Whole | Found::CutShort => {
                unlink(&folder, token).map_err(io_error("remove", &path))?;
                Ok(true)
            }
        }
    }

    /// Whether permissions allow writing a token; changes nothing.
    pub fn check_writable(&self) -> Result<(), WebrootError> {
        let Reached { folder, path, is_end } = self.descend(Missing::Stop)?;
        let action = if is_end {
            "write to"
        } else if path == self.path {
            "make .well-known/acme-challenge in"
        } else {
            "make acme-challenge in"
        };
        let access = Access::WRITE_OK | Access::EXEC_OK;
        let allowed = accessat(&folder, ".", access, AtFlags::EACCESS);
        allowed.map_err(|errno| io_error(action, &path)(errno.into()))
    }

    /// An error of the webroot at `path`, and what to do about it.
    pub fn obstacle(path: &Path, error: &WebrootError) -> Obstacle {
        Obstacle::new(error).with(Self::fix(path, error))
    }

    fn fix(path: &Path, error: &WebrootError) -> Option<Fix> {
        let tokens = FOLDERS.iter().fold(path.to_owned(), |path, name| path.join(name));
        match error {
            WebrootError::Untrusted(error) => rights::trusted(error),
            WebrootError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                let permit = if can_be_made(path) {
                    Permit::new(path, Right::Folders)
                } else {
                    rights::own_folder(&tokens, 0o755, None)?
                };
                // A typing error, most of the time: the server serves nothing from there.
                Some(Fix::Set(Setting::DocumentRoot(Box::new(permit))))
            }
            WebrootError::Io { source, .. } => (source.kind() == io::ErrorKind::PermissionDenied)
                .then(|| permission(path, &tokens).into()),
            WebrootError::Foreign { .. } | WebrootError::NotAFolder { .. } => None,
        }
    }

    /// Opens the folder of the tokens.
    fn descend(&self, missing: Missing) -> Result<Reached, WebrootError> {
        let mut path = self.path.clone();
        let mut folder = self.directory.try_clone().map_err(io_error("open", &path))?;
        for name in FOLDERS {
            path.push(name);
            let is_new = match missing {
                Missing::Stop => false,
                Missing::Make => make_folder(&folder, name).map_err(io_error("make", &path))?,
            };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&folder, name, flags, Mode::empty()) {
                Ok(opened) => folder = opened,
                Err(Errno::NOENT) => {
                    path.pop();
                    return Ok(Reached { folder, path, is_end: false });
                }
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(WebrootError::NotAFolder { path }),
                Err(errno) => return Err(io_error("open", &path)(errno.into())),
            }
            if is_new && is_fresh(&folder).map_err(|errno| io_error("read", &path)(errno.into()))? {
                // The umask may have removed permissions that the web server needs.
                let widened = fchmod(&folder, FOLDER_MODE);
                widened.map_err(|errno| io_error("make", &path)(errno.into()))?;
            }
        }
        Ok(Reached { folder, path, is_end: true })
    }
}

/// What lets this process put files into the folder of the tokens: as a folder of its own, or into the
/// one that others put theirs in. Its owner does where root should not.
fn permission(root: &Path, tokens: &Path) -> Permit {
    let shared = |folder, letters| (rights::shared_folder(folder, letters), folder, letters);
    let above: Vec<&Path> = tokens.ancestors().skip(1).take(FOLDERS.len()).collect();
    let closed = |folder: &&Path| folder.exists() && !can_be_listed(folder);
    let (of_root, folder, letters) = if let Some(closed) = closed_above(root) {
        shared(closed, Letters::Enter)
    } else if let Some(closed) = above.into_iter().rev().find(closed) {
        shared(closed, Letters::List)
    } else if has_nothing_of_others(tokens, |_| false) {
        (rights::own_folder(tokens, 0o755, None), tokens, Letters::Write)
    } else {
        shared(tokens, Letters::Write)
    };
    let user = rights::own_user();
    of_root.unwrap_or_else(|| Permit::new(folder, Right::ByOwner { user, letters }))
}

/// Whether permissions allow writing tokens below the document root at `path`; changes nothing.
pub fn check_webroot(path: &Path, bounds: &Bounds) -> Result<(), Obstacle> {
    let found = Webroot::open(path, bounds).and_then(|webroot| webroot.check_writable());
    found.map_err(|error| Webroot::obstacle(path, &error))
}

/// What to do about a missing folder.
#[derive(Clone, Copy)]
enum Missing {
    Make,
    Stop,
}

/// The deepest folder that was opened.
struct Reached {
    folder: OwnedFd,
    path: PathBuf,
    /// Whether this is the folder of the tokens, or one above it.
    is_end: bool,
}

/// The content of a token's file.
enum Found {
    Nothing,
    Whole,
    CutShort,
    Foreign,
}

/// Whether the folder was created.
fn make_folder(parent: &OwnedFd, name: &str) -> io::Result<bool> {
    match mkdirat(parent, name, FOLDER_MODE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn read(folder: &OwnedFd, token: &Token, key_authorization: &str) -> io::Result<Found> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match openat(folder, token.as_str(), flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(Found::Nothing),
        // A link or a socket.
        Err(Errno::LOOP | Errno::NXIO | Errno::OPNOTSUPP) => return Ok(Found::Foreign),
        Err(errno) => return Err(errno.into()),
    };
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) != FileType::RegularFile {
        return Ok(Found::Foreign);
    }
    let ours = key_authorization.as_bytes();
    let mut found = Vec::new();
    let one_more = u64::try_from(ours.len()).unwrap_or(u64::MAX).saturating_add(1);
    File::from(opened).take(one_more).read_to_end(&mut found)?;
    Ok(if found == ours {
        Found::Whole
    } else if ours.starts_with(&found) {
        Found::CutShort
    } else {
        Found::Foreign
    })
}

fn create(folder: &OwnedFd, token: &Token, key_authorization: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(folder, token.as_str(), flags, FILE_MODE)?;
    fchmod(&opened, FILE_MODE)?;
    File::from(opened).write_all(key_authorization.as_bytes())
}

fn unlink(folder: &OwnedFd, token: &Token) -> io::Result<()> {
    match unlinkat(folder, token.as_str(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WebrootError {
    move |source| WebrootError::Io { action, path: path.to_owned(), source }
}

/// Why a webroot cannot be used.
#[derive(Debug, Error)]
pub enum WebrootError {
    /// The operating system denied the operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// A file of the token's name exists with other content.
    #[error("{} exists, but does not contain certctl's response", path.display())]
    Foreign { path: PathBuf },
    /// A link or a file in the place of a folder.
    #[error("{} is a link or not a folder (links below the webroot are not \
        followed)", path.display())]
    NotAFolder { path: PathBuf },
    /// Another user could exchange the root.
    #[error(transparent)]
    Untrusted(TrustError),
}

impl From<TrustError> for WebrootError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Io { path, source } => Self::Io { action: "open", path, source },
            TrustError::Owner { .. }
            | TrustError::Writable { .. }
            | TrustError::Open { .. }
            | TrustError::Link { .. }
            | TrustError::Reserved { .. }
            | TrustError::Outside { .. } => Self::Untrusted(error),
        }
    }
}

/// [`super::CHALLENGE_PATH`] in components.
const FOLDERS: [&str; 2] = [".well-known", "acme-challenge"];
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;
    use crate::resource::CHALLENGE_PATH;

    struct Stage {
        root: tempfile::TempDir,
        webroot: Webroot,
        token: Token,
    }

    fn stage() -> Stage {
        let root = tempfile::tempdir().unwrap();
        let www = root.path().join("www");
        fs::create_dir(&www).unwrap();
        for folder in [root.path(), &www] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let webroot = Webroot::open(&root.path().join("www"), &Bounds::default()).unwrap();
        Stage { root, webroot, token: "tok".parse().unwrap() }
    }

    impl Stage {
        fn file(&self) -> PathBuf {
            self.root.path().join("www/.well-known/acme-challenge/tok")
        }

        fn write(&self, text: &str) {
            fs::create_dir_all(self.file().parent().unwrap()).unwrap();
            File::create(self.file()).unwrap().write_all(text.as_bytes()).unwrap();
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_token_is_readable_by_the_web_server_and_goes_without_its_folders() {
        let stage = stage();
        assert_eq!(format!("/{}/", FOLDERS.join("/")), CHALLENGE_PATH);
        assert!(!stage.webroot.remove(&stage.token, "tok.abc").unwrap());
        stage.webroot.put(&stage.token, "tok.abc").unwrap();
        stage.webroot.put(&stage.token, "tok.abc").unwrap();
        assert_eq!(fs::read_to_string(stage.file()).unwrap(), "tok.abc");
        let folder = stage.file().parent().unwrap().to_owned();
        let modes = [mode(&stage.file()), mode(&folder), mode(folder.parent().unwrap())];
        assert_eq!(modes, [0o644, 0o755, 0o755]);
        assert!(stage.webroot.remove(&stage.token, "tok.abc").unwrap());
        assert!(!stage.webroot.remove(&stage.token, "tok.abc").unwrap());
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_ours_is_neither_replaced_nor_removed() {
        for foreign in ["something else", "tok.abcd", "x"] {
            let stage = stage();
            stage.write(foreign);
            let refused = stage.webroot.put(&stage.token, "tok.abc").unwrap_err().to_string();
            let expected = format!(
                "{} exists, but does not contain certctl's \
                    response",
                stage.file().display()
            );
            assert_eq!(refused, expected);
            assert!(!stage.webroot.remove(&stage.token, "tok.abc").unwrap());
            assert_eq!(fs::read_to_string(stage.file()).unwrap(), foreign);
        }
    }

    #[test]
    fn what_a_crash_cut_short_is_ours() {
        for cut in ["", "tok."] {
            let stage = stage();
            stage.write(cut);
            stage.webroot.put(&stage.token, "tok.abc").unwrap();
            assert_eq!(fs::read_to_string(stage.file()).unwrap(), "tok.abc");
            stage.write(cut);
            assert!(stage.webroot.remove(&stage.token, "tok.abc").unwrap());
        }
    }

    #[test]
    fn no_link_below_the_webroot_is_followed() {
        for linked in [".well-known", ".well-known/acme-challenge"] {
            let stage = stage();
            let elsewhere = stage.root.path().join("elsewhere");
            fs::create_dir_all(elsewhere.join("acme-challenge")).unwrap();
            let link = stage.root.path().join("www").join(linked);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(&elsewhere, &link).unwrap();
            let refused = stage.webroot.put(&stage.token, "tok.abc").unwrap_err().to_string();
            let check = stage.webroot.check_writable().unwrap_err().to_string();
            let start = format!("{} is a link or not a folder", link.display());
            assert!(refused.starts_with(&start) && check.starts_with(&start), "{refused}, {check}");
            assert!(!stage.webroot.remove(&stage.token, "tok.abc").unwrap());
            assert_eq!(fs::read_dir(elsewhere.join("acme-challenge")).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_linked_file_is_neither_written_nor_removed() {
        let stage = stage();
        let victim = stage.root.path().join("victim");
        File::create(&victim).unwrap().write_all(b"tok.abc").unwrap();
        fs::create_dir_all(stage.file().parent().unwrap()).unwrap();
        symlink(&victim, stage.file()).unwrap();
        let refused = stage.webroot.put(&stage.token, "tok.abc").unwrap_err();
        assert!(matches!(refused, WebrootError::Foreign { .. }), "{refused}");
        assert!(!stage.webroot.remove(&stage.token, "tok.abc").unwrap());
        assert!(fs::symlink_metadata(stage.file()).unwrap().is_symlink());
    }

    #[test]
    fn the_root_itself_may_be_a_link_and_must_be_there() {
        let stage = stage();
        let link = stage.root.path().join("link");
        symlink(stage.root.path().join("www"), &link).unwrap();
        Webroot::open(&link, &Bounds::default()).unwrap().put(&stage.token, "tok.abc").unwrap();
        assert!(stage.file().is_file());
        let missing = Webroot::open(&stage.root.path().join("none"), &Bounds::default())
            .unwrap_err()
            .to_string();
        assert!(missing.starts_with("cannot open "), "{missing}");
    }

    #[test]
    fn whether_it_is_writable_is_found_without_writing() {
        let stage = stage();
        stage.webroot.check_writable().unwrap();
        assert_eq!(fs::read_dir(stage.root.path().join("www")).unwrap().count(), 0);
        if rustix::process::geteuid().is_root() {
            return;
        }
        let closed = fs::Permissions::from_mode(0o555);
        fs::set_permissions(stage.root.path().join("www"), closed).unwrap();
        let refused = stage.webroot.check_writable().unwrap_err().to_string();
        let www = stage.root.path().join("www");
        let start = format!("cannot make .well-known/acme-challenge in {}: ", www.display());
        assert!(refused.starts_with(&start), "{refused}");
    }
}
