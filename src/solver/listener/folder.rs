//! Token folder: the state's `http01/` directory, where every certctl process on this state finds
//! the tokens that any of them has presented; and the runtime folder, where those of all states do.
//!
//! A port that certctl processes share gives each connection to any of them, so each must know the
//! tokens of all. The kernel lets processes of one user share a port, and the runtime folder is that
//! user's: `/run/certctl/http01`, or `certctl/http01` in `/run/user/<uid>`. A folder that belongs to
//! another user, or in which others can write, is not used, and a file of another user is not
//! believed. Without a runtime folder the port is not shared at all: `socket.rs`.
//!
//! Beside the tokens, the runtime folder shows which processes have one presented: `presence.rs`.
//!
//! One file per token, 0600, named after the token (or its SHA-256 when the token is longer than
//! 200 characters), in the same envelope as other stored documents. All access is relative to a
//! handle of the directory and follows no link. A file is written in place: the CA requests a token
//! only after `put` has returned, and a truncated file holds no answer: the run that presents the
//! token replaces it. A file of a newer version stays. After a power failure a file may be missing;
//! the next run presents it again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::digest;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fstat, linkat, mkdirat, openat, stat, unlinkat,
};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::presence::{Presence, WRITABLE_BY_OTHERS, is_private, private_folder};
use crate::resource::envelope::{self, Document, Unreadable};
use crate::resource::{Token, hex};

/// The stored document of one token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PresentedToken {
    /// The CA's token.
    pub token: String,
    /// The body of the answer (RFC 8555 section 8.1).
    pub key_authorization: String,
}

impl Document for PresentedToken {
    const KIND: &'static str = "PresentedToken";
    const VERSION: u64 = 1;
}

/// The folder, with a cache of the tokens that this process presented. Clones share both.
#[derive(Clone, Debug)]
pub struct TokenFolder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Directory,
    /// For processes of other states on this host.
    runtime: Option<Directory>,
    own: Mutex<BTreeMap<String, PresentedToken>>,
    /// Of the listeners of this process.
    ports: Mutex<BTreeMap<u16, Presence>>,
    /// Whether no removal can come back after a power failure, but those that the next run would
    /// make again: a file that has its token's name and that no order owes is removed by the store.
    is_synced: AtomicBool,
}

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    handle: OwnedFd,
    /// Whether only files of this user, or of root, are believed.
    is_guarded: bool,
}

impl TokenFolder {
    /// Opens the folder and creates it (0700) when it is missing; its parent must exist.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        Self::with(path, None)
    }

    /// The same, with the runtime folder of this user on this host, if there can be one.
    pub fn open_shared(path: &Path) -> Result<Self, FolderError> {
        let uid = rustix::process::geteuid().as_raw();
        let bases = [PathBuf::from(RUN), PathBuf::from(format!("{RUN}/user/{uid}"))];
        Self::with(path, bases.iter().find_map(|base| runtime_folder(base, uid)))
    }

    /// The same with a runtime folder below `base`.
    #[cfg(test)]
    pub(crate) fn open_beside(path: &Path, base: &Path) -> Result<Self, FolderError> {
        Self::with(path, runtime_folder(base, rustix::process::geteuid().as_raw()))
    }

    fn with(path: &Path, runtime: Option<Directory>) -> Result<Self, FolderError> {
        let failed = |action| {
            move |errno: Errno| FolderError::Io {
                action,
                path: path.to_owned(),
                source: errno.into(),
            }
        };
        match mkdirat(CWD, path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("make")(errno)),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty()).map_err(failed("open"))?;
        let state = Directory { path: path.to_owned(), handle, is_guarded: false };
        let (own, ports, is_synced) = (Mutex::default(), Mutex::default(), AtomicBool::new(true));
        Ok(Self(Arc::new(Inner { state, runtime, own, ports, is_synced })))
    }

    /// Whether processes of other states answer for its tokens too.
    pub fn is_shared(&self) -> bool {
        self.0.runtime.is_some()
    }

    /// Presents a token: after the return, every process that shares the port answers for `token`.
    /// Idempotent; a file that differs or is truncated is replaced.
    pub fn put(&self, token: &Token, key_authorization: &str) -> Result<(), FolderError> {
        let presented = PresentedToken {
            token: token.to_string(),
            key_authorization: key_authorization.to_owned(),
        };
        let Inner { state, runtime, .. } = &*self.0;
        let is_new = state.put(token, &presented)?;
        if let Some(runtime) = runtime
            && !(is_new && runtime.link(token, state))
        {
            runtime.put(token, &presented)?;
        }
        let is_first = self.own().is_empty();
        self.own().insert(token.to_string(), presented);
        if is_first {
            self.show(Presence::enter);
        }
        Ok(())
    }

    /// Removes a token; succeeds when it is absent. It is gone for good after [`Self::sync`].
    pub fn remove(&self, token: &Token) -> Result<(), FolderError> {
        self.own().remove(token.as_str());
        if self.own().is_empty() {
            self.show(Presence::withdraw);
        }
        if file_name(token) != token.as_str() {
            self.0.is_synced.store(false, Ordering::Relaxed);
        }
        self.directories().try_for_each(|directory| directory.unlink(&file_name(token)))
    }

    /// The listener's answer for `token`: the one that this process presented, else the one in a
    /// folder. None when the folders cannot be read.
    pub fn find(&self, token: &Token) -> Option<PresentedToken> {
        let own = self.own().get(token.as_str()).cloned();
        own.or_else(|| self.directories().find_map(|directory| directory.get(token).ok().flatten()))
    }

    /// Makes the removals so far durable, once: that they are done is recorded next.
    pub fn sync(&self) -> Result<(), FolderError> {
        if self.0.is_synced.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.0.state.sync()
    }

    /// A listener on this port answers for the tokens from now on.
    pub(super) fn serve(&self, port: u16) {
        let Some(runtime) = &self.0.runtime else { return };
        let Some(presence) = Presence::open(runtime.handle.as_fd(), port) else { return };
        self.ports().entry(port).or_insert(presence);
        if !self.own().is_empty() {
            self.show(Presence::enter);
        }
    }

    /// Whether another process that shares this port has a token presented.
    pub(super) fn holds_others(&self, port: u16) -> bool {
        self.ports().get(&port).is_some_and(Presence::has_others)
    }

    /// Whether another process that shares a port has taken its tokens back since the last call.
    pub fn has_one_gone(&self) -> bool {
        self.ports().values_mut().any(Presence::has_one_gone)
    }

    fn show(&self, what: impl Fn(&Presence) -> Result<(), Errno>) {
        for (port, presence) in &*self.ports() {
            // Otherwise a run that ends does not wait for this one.
            if let Err(errno) = what(presence) {
                tracing::debug!(port, %errno, "other runs do not see whether a token is presented");
            }
        }
    }

    fn directories(&self) -> impl Iterator<Item = &Directory> {
        [&self.0.state].into_iter().chain(&self.0.runtime)
    }

    fn ports(&self) -> std::sync::MutexGuard<'_, BTreeMap<u16, Presence>> {
        self.0.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, PresentedToken>> {
        self.0.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Directory {
    /// Returns whether the file was missing.
    fn put(&self, token: &Token, presented: &PresentedToken) -> Result<bool, FolderError> {
        let file = file_name(token);
        let failed =
            |source| FolderError::Io { action: "write", path: self.path.join(&file), source };
        let text = envelope::seal(presented).map_err(|e| failed(e.into()))?;
        let mut created = self.create(&file, &text);
        let is_new = created.is_ok();
        if created.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            if self.get(token)?.as_ref() == Some(presented) {
                return Ok(false);
            }
            self.unlink(&file)?;
            created = self.create(&file, &text);
        }
        created.map(|()| is_new).map_err(|source| {
            drop(self.unlink(&file));
            failed(source)
        })
    }

    /// Makes the file of another folder appear here as well, when both are on one file system and
    /// there is none.
    fn link(&self, token: &Token, other: &Self) -> bool {
        let file = file_name(token);
        linkat(&other.handle, &file, &self.handle, &file, AtFlags::empty()).is_ok()
    }

    fn get(&self, token: &Token) -> Result<Option<PresentedToken>, FolderError> {
        let file = file_name(token);
        let found = self.read(&file)?;
        Ok(found.filter(|presented| presented.token == token.as_str()))
    }

    fn read(&self, file: &str) -> Result<Option<PresentedToken>, FolderError> {
        let failed = |source: io::Error| FolderError::Io {
            action: "read",
            path: self.path.join(file),
            source,
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match openat(&self.handle, file, flags, Mode::empty()) {
            Ok(opened) => opened,
            // Missing, a link, or a socket: not written by certctl.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::OPNOTSUPP) => return Ok(None),
            Err(errno) => return Err(failed(errno.into())),
        };
        let stat = fstat(&opened).map_err(|errno| failed(errno.into()))?;
        let uid = rustix::process::geteuid().as_raw();
        let is_believed = !self.is_guarded || [0, uid].contains(&stat.st_uid);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_believed {
            return Ok(None);
        }
        let mut text = Vec::new();
        File::from(opened).take(MAX_FILE_BYTES).read_to_end(&mut text).map_err(failed)?;
        match envelope::open(&text) {
            Ok(presented) => Ok(Some(presented)),
            Err(Unreadable::Damaged(_)) => Ok(None),
            Err(Unreadable::Version(found)) => {
                Err(FolderError::Newer { path: self.path.join(file), found })
            }
        }
    }

    fn create(&self, file: &str, text: &[u8]) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.handle, file, flags, Mode::RUSR | Mode::WUSR)?;
        File::from(opened).write_all(text)
    }

    fn sync(&self) -> Result<(), FolderError> {
        rustix::fs::fsync(&self.handle).map_err(|errno| FolderError::Io {
            action: "sync",
            path: self.path.clone(),
            source: errno.into(),
        })
    }

    fn unlink(&self, file: &str) -> Result<(), FolderError> {
        match unlinkat(&self.handle, file, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(FolderError::Io {
                action: "remove",
                path: self.path.join(file),
                source: errno.into(),
            }),
        }
    }
}

/// `certctl/http01` below `base`, created when it is missing; None when another user could write
/// there, or this one cannot.
fn runtime_folder(base: &Path, uid: u32) -> Option<Directory> {
    let found = stat(base).ok()?;
    if found.st_uid != 0 && !is_private(&found, uid) || found.st_mode & WRITABLE_BY_OTHERS != 0 {
        return None;
    }
    let outer = private_folder(CWD, &base.join("certctl"), Mode::from_raw_mode(0o755), uid)?;
    let handle = private_folder(&outer, Path::new("http01"), Mode::RWXU, uid)?;
    Some(Directory { path: base.join("certctl/http01"), handle, is_guarded: true })
}

/// Tokens contain no dot, so the two kinds of names cannot collide.
fn file_name(token: &Token) -> String {
    if token.as_str().len() <= MAX_NAME_BYTES {
        return token.to_string();
    }
    let hash = digest::digest(&digest::SHA256, token.as_str().as_bytes());
    hex(hash.as_ref()) + ".sha256"
}

/// Why the folder of presented tokens cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The operating system denied the operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// A file of a newer certctl.
    #[error(
        "{}: was written by a newer certctl: its format is version {found}, this certctl knows \
         versions up to {}; the file is unchanged",
        path.display(),
        PresentedToken::VERSION
    )]
    Newer { path: PathBuf, found: u64 },
}

/// Emptied at every boot.
const RUN: &str = if cfg!(target_os = "macos") { "/var/run" } else { "/run" };
/// File systems allow 255 bytes; this leaves space for a backup tool's suffix.
const MAX_NAME_BYTES: usize = 200;
/// Far above the size of a token and a key authorization.
const MAX_FILE_BYTES: u64 = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn token(text: &str) -> Token {
        text.parse().unwrap()
    }

    fn presented(token: &str, key: &str) -> PresentedToken {
        PresentedToken { token: token.into(), key_authorization: key.into() }
    }

    fn scratch() -> (tempfile::TempDir, PathBuf, TokenFolder) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("http01");
        let folder = TokenFolder::open(&path).unwrap();
        (root, path, folder)
    }

    #[test]
    fn what_one_process_puts_another_finds_until_it_is_removed() {
        let (_root, path, one) = scratch();
        let other = TokenFolder::open(&path).unwrap();
        let long = "L".repeat(300);
        one.put(&token("tok-1"), "tok-1.abc").unwrap();
        one.put(&token("tok-1"), "tok-1.abc").unwrap();
        one.put(&token(&long), "long.abc").unwrap();
        let first = presented("tok-1", "tok-1.abc");
        let second = presented(&long, "long.abc");
        assert_eq!(other.find(&token("tok-1")), Some(first));
        assert_eq!(other.find(&token(&long)), Some(second));
        one.remove(&token("tok-1")).unwrap();
        one.remove(&token("tok-1")).unwrap();
        assert_eq!(one.find(&token("tok-1")), None);
        assert_eq!(other.find(&token("tok-1")), None);
    }

    #[test]
    fn the_file_is_the_documented_one_and_private() {
        let (_root, path, folder) = scratch();
        folder.put(&token("tok"), "tok.abc").unwrap();
        let text = fs::read_to_string(path.join("tok")).unwrap();
        let expected = concat!(
            "{\n  \"version\": 1,\n  \"kind\": \"PresentedToken\",\n  \"document\": {\n    ",
            "\"token\": \"tok\",\n    \"keyAuthorization\": \"tok.abc\"\n  }\n}\n"
        );
        assert_eq!(text, expected);
        assert_eq!(fs::metadata(path.join("tok")).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    }

    #[test]
    fn truncated_and_linked_files_are_unknown_and_replaced() {
        let (root, path, folder) = scratch();
        let victim = root.path().join("victim");
        let tempting = serde_json::to_string(&presented("link", "evil")).unwrap();
        File::create(&victim).unwrap().write_all(tempting.as_bytes()).unwrap();
        File::create(path.join("short")).unwrap().write_all(b"{\"vers").unwrap();
        symlink(&victim, path.join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
        for name in ["short", "link", "socket"] {
            assert_eq!(folder.0.state.get(&token(name)).unwrap(), None, "{name}");
            folder.put(&token(name), "key").unwrap();
            let found = folder.0.state.get(&token(name)).unwrap();
            assert_eq!(found, Some(presented(name, "key")));
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), tempting);
    }

    #[test]
    fn a_file_under_a_wrong_name_is_unknown() {
        let (_root, path, folder) = scratch();
        folder.put(&token("tok"), "key").unwrap();
        fs::copy(path.join("tok"), path.join("alias")).unwrap();
        assert_eq!(folder.0.state.get(&token("alias")).unwrap(), None);
        assert_eq!(folder.0.state.get(&token("tok")).unwrap(), Some(presented("tok", "key")));
    }

    #[test]
    fn a_file_of_a_newer_format_is_called_newer_and_left_alone() {
        let (_root, path, folder) = scratch();
        let text = "{\"version\":2,\"new\":1}";
        File::create(path.join("new")).unwrap().write_all(text.as_bytes()).unwrap();
        let refused = folder.put(&token("new"), "key").unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "{}: was written by a newer certctl: its format is version 2, this certctl knows \
                 versions up to 1; the file is unchanged",
                path.join("new").display()
            )
        );
        assert_eq!(folder.find(&token("new")), None);
        assert_eq!(fs::read_to_string(path.join("new")).unwrap(), text);
    }

    #[test]
    fn a_folder_that_is_a_link_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("elsewhere")).unwrap();
        symlink(root.path().join("elsewhere"), root.path().join("http01")).unwrap();
        let refused = TokenFolder::open(&root.path().join("http01")).map(|_| ());
        let text = refused.unwrap_err().to_string();
        assert!(text.starts_with("cannot open "), "{text}");
    }

    /// Two states of one host, with the runtime folder below `run`.
    fn two_states(run: &Path) -> [TokenFolder; 2] {
        let folder = |state| TokenFolder::open_beside(&run.parent().unwrap().join(state), run);
        ["one", "two"].map(|state| folder(state).unwrap())
    }

    #[test]
    fn processes_of_two_states_find_each_others_tokens() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        fs::create_dir(&run).unwrap();
        let [one, two] = two_states(&run);
        assert!(one.is_shared() && two.is_shared());
        one.put(&token("tok"), "tok.abc").unwrap();
        assert_eq!(two.find(&token("tok")), Some(presented("tok", "tok.abc")));
        one.remove(&token("tok")).unwrap();
        assert_eq!(two.find(&token("tok")), None);
        assert_eq!(fs::read_dir(run.join("certctl/http01")).unwrap().count(), 0);
    }

    #[test]
    fn a_runtime_folder_in_which_others_can_write_is_not_used() {
        let loose = fs::Permissions::from_mode(0o777);
        for (below, is_used) in
            [("..", true), ("", false), ("certctl", false), ("certctl/http01", false)]
        {
            let root = tempfile::tempdir().unwrap();
            let run = root.path().join("run");
            fs::create_dir_all(run.join("certctl/http01")).unwrap();
            fs::set_permissions(run.join(below), loose.clone()).unwrap();
            assert_eq!(two_states(&run).map(|state| state.is_shared()), [is_used; 2], "{below}");
        }
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        fs::create_dir_all(run.join("elsewhere/http01")).unwrap();
        symlink(run.join("elsewhere"), run.join("certctl")).unwrap();
        assert!(runtime_folder(&run, rustix::process::geteuid().as_raw()).is_none());
    }

    #[test]
    fn a_token_in_the_runtime_folder_that_another_user_owns_is_not_believed() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("run");
        fs::create_dir(&run).unwrap();
        let [one, two] = two_states(&run);
        one.put(&token("tok"), "tok.abc").unwrap();
        if rustix::process::geteuid().is_root() {
            let file = run.join("certctl/http01/tok");
            std::os::unix::fs::chown(file, Some(65_534), None).unwrap();
            assert_eq!(two.find(&token("tok")), None);
        }
        let uid = rustix::process::geteuid().as_raw();
        assert!(runtime_folder(&run, uid.wrapping_add(1)).is_none());
    }
}
