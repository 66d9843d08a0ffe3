//! Outputs: the live files in a folder of the operator's, laid out as in the state.
//!
//! Contract: owner, group and mode are set before there is content; what goes live does so in one
//! rename of `..data`. Nothing is followed inside the folder, and as root no link on the way to it.
//! What certctl did not write is never replaced: a stable name that is not our link, or a `..data`
//! that leads elsewhere, is an error. The set before stays until the next one.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Component, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use thiserror::Error;

use super::secret::{DATA, REVISION_PREFIX, stable_target};
use crate::resource::SecretFiles;

/// Where to, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The folder: absolute. Its parent must be there.
    pub folder: PathBuf,
    /// The user that the files are to belong to; this process's when `None`.
    pub owner: Option<u32>,
    /// Their group; this process's when `None`.
    pub group: Option<u32>,
    /// The permission bits of the files; others get none of them.
    pub mode: u32,
}

/// Why an output was not written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The system said no.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something of somebody else's is in the way.
    #[error("{} is not certctl's ({found}); it is not replaced", path.display())]
    Foreign {
        /// What is in the way.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The way to the folder goes over a link.
    #[error("{} is a symbolic link; as root, outputs are written to real folders only", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// What is there must stay.
    #[error("{}: {reason}", path.display())]
    Newer {
        /// What is there.
        path: PathBuf,
        /// Why it stays.
        reason: String,
    },
}

impl Output {
    /// Puts the files live there. `may_replace` looks at the `tls.crt` that is there, and says why
    /// it must stay when it must.
    pub fn write(
        &self,
        revision: u32,
        files: &SecretFiles,
        may_replace: &dyn Fn(&[u8]) -> Result<(), String>,
    ) -> Result<(), OutputError> {
        let folder = self.open()?;
        let names: Vec<&String> = files.0.keys().filter(|name| *name != METADATA_FILE).collect();
        for name in &names {
            self.check_name(&folder, name)?;
        }
        let live = self.live(&folder)?;
        if let Some(live) = &live
            && let Some(there) = Self::read(&folder, live, "tls.crt")
        {
            may_replace(&there).map_err(|reason| OutputError::Newer {
                path: self.folder.join("tls.crt"),
                reason,
            })?;
        }
        let fresh = self.fill(&folder, revision, files, &names)?;
        for name in &names {
            self.link(&folder, &stable_target(name), name)?;
        }
        self.link(&folder, &fresh, DATA)?;
        rustix::fs::fsync(&folder).map_err(|e| self.failed("sync", "", e))?;
        // Files that others may read still do not outlive the setting that let them.
        let before = live.filter(|before| Self::are_guarded_alike(&folder, before, &fresh));
        self.prune(&folder, &fresh, before.as_deref(), files)
    }

    /// Opens the folder, and makes it when only it is missing.
    fn open(&self) -> Result<OwnedFd, OutputError> {
        let is_root = rustix::process::geteuid().is_root();
        let mut walked = PathBuf::from("/");
        let mut handle = rustix::fs::open("/", FOLDER, Mode::empty())
            .map_err(|e| self.failed("open", "/", e))?;
        let follow = if is_root { OFlags::NOFOLLOW } else { OFlags::empty() };
        let parts: Vec<_> = self
            .folder
            .components()
            .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
            .collect();
        for (index, part) in parts.iter().enumerate() {
            walked.push(part);
            let failed = |action, error: Errno| OutputError::Io {
                action,
                path: walked.clone(),
                source: error.into(),
            };
            let open = || rustix::fs::openat(&handle, *part, FOLDER | follow, Mode::empty());
            handle = match open() {
                Err(Errno::NOENT) if index + 1 == parts.len() => {
                    let mode = Mode::from_raw_mode(0o755);
                    rustix::fs::mkdirat(&handle, *part, mode).map_err(|e| failed("create", e))?;
                    let new = open().map_err(|e| failed("open", e))?;
                    rustix::fs::fchmod(&new, mode).map_err(|e| failed("change", e))?;
                    new
                }
                Err(Errno::LOOP | Errno::NOTDIR) if is_root => {
                    return Err(OutputError::Link { path: walked });
                }
                other => other.map_err(|e| failed("open", e))?,
            };
        }
        Ok(handle)
    }

    /// A stable name is our link, or nothing.
    fn check_name(&self, folder: &OwnedFd, name: &str) -> Result<(), OutputError> {
        match rustix::fs::readlinkat(folder, name, Vec::new()) {
            Ok(target) if target.to_bytes() == stable_target(name).as_bytes() => Ok(()),
            Err(Errno::NOENT) => Ok(()),
            Ok(_) => Err(self.foreign(name, "a link to something else")),
            Err(Errno::INVAL) => Err(self.foreign(name, "a file or folder")),
            Err(error) => Err(self.failed("read", name, error)),
        }
    }

    /// The set that is live there.
    fn live(&self, folder: &OwnedFd) -> Result<Option<String>, OutputError> {
        match rustix::fs::readlinkat(folder, DATA, Vec::new()) {
            Ok(target) => {
                let target = target.to_string_lossy().into_owned();
                if target.starts_with(REVISION_PREFIX) && !target.contains('/') {
                    Ok(Some(target))
                } else {
                    Err(self.foreign(DATA, "a link to something else"))
                }
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::INVAL) => Err(self.foreign(DATA, "a file or folder")),
            Err(error) => Err(self.failed("read", DATA, error)),
        }
    }

    fn read(folder: &OwnedFd, set: &str, name: &str) -> Option<Vec<u8>> {
        use std::io::Read as _;
        let set = rustix::fs::openat(folder, set, FOLDER | OFlags::NOFOLLOW, Mode::empty()).ok()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(&set, name, flags, Mode::empty()).ok()?);
        let mut bytes = Vec::new();
        file.take(1 << 20).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Whether the files of two sets have the same owner, group and mode.
    fn are_guarded_alike(folder: &OwnedFd, one: &str, other: &str) -> bool {
        let of = |set: &str| {
            let stat = rustix::fs::statat(folder, format!("{set}/tls.key"), AtFlags::empty());
            stat.map(|stat| (stat.st_mode, stat.st_uid, stat.st_gid))
        };
        of(one).is_ok_and(|one| of(other) == Ok(one))
    }

    /// Writes a complete set that is not live yet.
    fn fill(
        &self,
        folder: &OwnedFd,
        revision: u32,
        files: &SecretFiles,
        names: &[&String],
    ) -> Result<String, OutputError> {
        let mut number = 0_u64;
        let fresh = loop {
            let name = format!("{REVISION_PREFIX}{revision}-{number}");
            match rustix::fs::mkdirat(folder, &name, Mode::RWXU) {
                Ok(()) => break name,
                Err(Errno::EXIST) => number = number.saturating_add(1),
                Err(error) => return Err(self.failed("create", &name, error)),
            }
        };
        let set = rustix::fs::openat(folder, &fresh, FOLDER | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|e| self.failed("open", &fresh, e))?;
        for name in names {
            let Some(bytes) = files.0.get(*name) else { continue };
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let path = format!("{fresh}/{name}");
            let file = rustix::fs::openat(&set, name.as_str(), flags, Mode::RUSR | Mode::WUSR)
                .map_err(|e| self.failed("create", &path, e))?;
            self.give(&file, self.mode & !0o007, &path)?;
            let mut file = File::from(file);
            let written = file.write_all(bytes).and_then(|()| file.sync_all());
            written.map_err(|source| OutputError::Io {
                action: "write",
                path: self.folder.join(&path),
                source,
            })?;
        }
        // Whoever may read the files must be able to reach them.
        self.give(&set, 0o755, &fresh)?;
        rustix::fs::fsync(&set).map_err(|e| self.failed("sync", &fresh, e))?;
        Ok(fresh)
    }

    fn give(&self, entry: &OwnedFd, mode: u32, name: &str) -> Result<(), OutputError> {
        if self.owner.is_some() || self.group.is_some() {
            let (owner, group) = (self.owner.map(Uid::from_raw), self.group.map(Gid::from_raw));
            rustix::fs::fchown(entry, owner, group)
                .map_err(|e| self.failed("give away", name, e))?;
        }
        rustix::fs::fchmod(entry, Mode::from_raw_mode(mode))
            .map_err(|e| self.failed("change the mode of", name, e))
    }

    /// Makes or moves a link in one rename.
    fn link(&self, folder: &OwnedFd, target: &str, name: &str) -> Result<(), OutputError> {
        let there = rustix::fs::readlinkat(folder, name, Vec::new());
        if there.is_ok_and(|there| there.to_bytes() == target.as_bytes()) {
            return Ok(());
        }
        let temporary = format!(".certctl-{}-{name}", std::process::id());
        // What a killed run of the same number left there is ours.
        match rustix::fs::unlinkat(folder, &temporary, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(self.failed("remove", &temporary, error)),
        }
        rustix::fs::symlinkat(target, folder, &temporary)
            .map_err(|e| self.failed("create", &temporary, e))?;
        rustix::fs::renameat(folder, &temporary, folder, name)
            .map_err(|e| self.failed("replace", name, e))
    }

    /// Removes what is no longer needed of ours: older sets, links to files that are gone, and
    /// what killed runs left.
    fn prune(
        &self,
        folder: &OwnedFd,
        fresh: &str,
        before: Option<&str>,
        files: &SecretFiles,
    ) -> Result<(), OutputError> {
        let failed = |error| self.failed("list", "", error);
        for entry in rustix::fs::Dir::read_from(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let is_old = name.starts_with(REVISION_PREFIX) && name != fresh && Some(name) != before;
            if is_old {
                let path = self.folder.join(name);
                std::fs::remove_dir_all(&path).map_err(|source| OutputError::Io {
                    action: "remove",
                    path,
                    source,
                })?;
            } else if !files.0.contains_key(name)
                && rustix::fs::readlinkat(folder, name, Vec::new())
                    .is_ok_and(|target| target.to_bytes() == stable_target(name).as_bytes())
            {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())
                    .map_err(|e| self.failed("remove", name, e))?;
            }
        }
        Ok(())
    }

    fn failed(&self, action: &'static str, name: &str, error: Errno) -> OutputError {
        OutputError::Io { action, path: self.folder.join(name), source: error.into() }
    }

    fn foreign(&self, name: &str, found: &'static str) -> OutputError {
        OutputError::Foreign { path: self.folder.join(name), found }
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Published like any file, and read by no server.
const METADATA_FILE: &str = "metadata.json";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use zeroize::Zeroizing;

    use std::path::Path;

    use super::*;

    fn files(text: &str, names: &[&str]) -> SecretFiles {
        let bytes = || Zeroizing::new(text.as_bytes().to_vec());
        SecretFiles(names.iter().map(|name| ((*name).to_owned(), bytes())).collect())
    }

    fn output(folder: &Path) -> Output {
        let folder = folder.canonicalize().unwrap().join("tls");
        Output { folder, owner: None, group: None, mode: 0o640 }
    }

    const PAIR: [&str; 3] = ["metadata.json", "tls.crt", "tls.key"];
    const ANY: &dyn Fn(&[u8]) -> Result<(), String> = &|_| Ok(());

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_files_are_laid_out_as_in_the_state_and_switch_together() {
        let scratch = tempfile::tempdir().unwrap();
        let output = output(scratch.path());
        output.write(1, &files("1", &[&PAIR[..], &["key.der"]].concat()), ANY).unwrap();
        output.write(2, &files("2", &PAIR), ANY).unwrap();
        output.write(3, &files("3", &PAIR), ANY).unwrap();
        let expected = ["..data", "..revision-2-0", "..revision-3-0", "tls.crt", "tls.key"];
        assert_eq!(names(&output.folder), expected);
        let key = output.folder.join("tls.key");
        assert_eq!(fs::read_to_string(&key).unwrap(), "3");
        assert_eq!(fs::metadata(&key).unwrap().mode() & 0o7777, 0o640);
        let target = fs::read_link(&key).unwrap();
        assert_eq!(target, Path::new("..data/tls.key"));
    }

    #[test]
    fn what_is_not_ours_stays() {
        let cases = [
            ("tls.key", None),
            ("tls.key", Some("/etc/passwd")),
            ("..data", None),
            ("..data", Some("/etc")),
        ];
        for (name, link) in cases {
            let scratch = tempfile::tempdir().unwrap();
            let output = output(scratch.path());
            fs::create_dir(&output.folder).unwrap();
            let place = output.folder.join(name);
            match link {
                Some(target) => symlink(target, place).unwrap(),
                None => fs::create_dir(place).unwrap(),
            }
            let error = output.write(1, &files("1", &PAIR), ANY).unwrap_err();
            assert!(matches!(error, OutputError::Foreign { .. }), "{error}");
            assert_eq!(names(&output.folder), [name], "nothing else is left");
        }
    }

    #[test]
    fn a_newer_pair_is_not_replaced_by_an_older_one() {
        let scratch = tempfile::tempdir().unwrap();
        let output = output(scratch.path());
        output.write(2, &files("new", &PAIR), ANY).unwrap();
        let refuse: &dyn Fn(&[u8]) -> Result<(), String> = &|there| {
            assert_eq!(there, b"new");
            Err("it is newer".to_owned())
        };
        let error = output.write(1, &files("old", &PAIR), refuse).unwrap_err();
        assert!(matches!(error, OutputError::Newer { .. }), "{error}");
        assert_eq!(fs::read_to_string(output.folder.join("tls.crt")).unwrap(), "new");
    }

    #[test]
    fn files_that_more_people_could_read_do_not_stay() {
        let scratch = tempfile::tempdir().unwrap();
        let mut output = output(scratch.path());
        output.write(1, &files("1", &PAIR), ANY).unwrap();
        output.mode = 0o600;
        output.write(1, &files("1", &PAIR), ANY).unwrap();
        assert_eq!(names(&output.folder), ["..data", "..revision-1-1", "tls.crt", "tls.key"]);
    }

    #[test]
    fn a_missing_parent_is_not_made_up() {
        let scratch = tempfile::tempdir().unwrap();
        let mut output = output(scratch.path());
        output.folder = output.folder.join("deeper");
        let error = output.write(1, &files("1", &PAIR), ANY).unwrap_err();
        assert!(error.to_string().starts_with("cannot open"), "{error}");
    }
}
