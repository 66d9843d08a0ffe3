//! The runs that share a port: the runtime folder has a folder `.PORT` for each, in which an empty
//! file named by its process shows that a run has a token presented there. So a run learns, without
//! a look at every socket of the host, which others need its answers and that one has ended.
//!
//! The last run that leaves removes the folder. No run keeps it open: one that enters meanwhile makes
//! it again.

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

/// The runs that share one port.
#[derive(Debug)]
pub(super) struct Presence {
    runtime: OwnedFd,
    /// Of the port's folder, in the runtime folder.
    path: PathBuf,
    /// Which folder it was when it was looked at, and when that had last changed: its number, seconds
    /// and nanoseconds. `None` when there was none.
    changed: Option<(u64, i64, u64)>,
    /// The others that had a token presented then.
    others: HashSet<Pid>,
}

impl Presence {
    /// The runs at a port, below the runtime folder.
    pub(super) fn open(runtime: BorrowedFd<'_>, port: u16) -> Option<Self> {
        let runtime = runtime.try_clone_to_owned().ok()?;
        let path = PathBuf::from(format!(".{port}"));
        let mut presence = Self { runtime, path, changed: None, others: HashSet::new() };
        presence.has_one_gone();
        Some(presence)
    }

    /// Shows that this process has a token presented. Files that killed processes left go.
    pub(super) fn enter(&self) -> Result<(), Errno> {
        // A folder that another run removes in between takes no file.
        for _ in 0..MOST_TRIES {
            match self.try_enter() {
                Err(Errno::NOENT) => {}
                ended => return ended,
            }
        }
        Err(Errno::NOENT)
    }

    fn try_enter(&self) -> Result<(), Errno> {
        match mkdirat(&self.runtime, &self.path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let folder = self.folder()?;
        for name in names(&folder).filter(|pid| !lives(*pid)) {
            unlink(&folder, name)?;
        }
        let own = getpid().as_raw_nonzero().to_string();
        // It may be there: an earlier process had the same number.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(folder, own, flags, Mode::RUSR | Mode::WUSR).map(|file| drop(File::from(file)))
    }

    /// This process has no token presented any more. The last one removes the folder.
    pub(super) fn withdraw(&self) -> Result<(), Errno> {
        match self.folder() {
            Ok(folder) => unlink(&folder, getpid())?,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        }
        match unlinkat(&self.runtime, &self.path, AtFlags::REMOVEDIR) {
            // POSIX has two codes for a folder with files.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Whether another process that lives has a token presented.
    pub(super) fn has_others(&self) -> bool {
        self.others().next().is_some()
    }

    /// Whether another process has taken its tokens back, or was killed, since the last call.
    pub(super) fn has_one_gone(&mut self) -> bool {
        let found = statat(&self.runtime, &self.path, AtFlags::SYMLINK_NOFOLLOW).ok();
        let changed = found.map(|stat| (stat.st_ino, stat.st_mtime, stat.st_mtime_nsec));
        // A process that is killed leaves its file.
        if changed == self.changed && self.others.iter().all(|pid| lives(*pid)) {
            return false;
        }
        let others: HashSet<Pid> = self.others().collect();
        let has_gone = !others.is_superset(&self.others);
        (self.changed, self.others) = (changed, others);
        has_gone
    }

    fn others(&self) -> impl Iterator<Item = Pid> {
        let found = self.folder().into_iter().flat_map(|folder| names(&folder));
        found.filter(|pid| *pid != getpid() && lives(*pid))
    }

    /// The folder of the port, where it is one that only this user can write to.
    fn folder(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.runtime, &self.path, flags, Mode::empty())?;
        let is_ours = is_private(&fstat(&opened)?, rustix::process::geteuid().as_raw());
        if is_ours { Ok(opened) } else { Err(Errno::PERM) }
    }
}

/// How often a run tries to enter a folder that others remove.
const MOST_TRIES: u32 = 1000;

fn names(folder: &OwnedFd) -> impl Iterator<Item = Pid> + use<> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str().ok()?.parse().ok()?))
}

/// Opens a folder, made if it is missing, in which only this user can write.
pub(super) fn private_folder(
    parent: impl AsFd,
    path: &Path,
    mode: Mode,
    uid: u32,
) -> Option<OwnedFd> {
    match mkdirat(&parent, path, mode) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(_) => return None,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(&parent, path, flags, Mode::empty()).ok()?;
    is_private(&fstat(&opened).ok()?, uid).then_some(opened)
}

pub(super) fn is_private(found: &Stat, uid: u32) -> bool {
    found.st_uid == uid && found.st_mode & WRITABLE_BY_OTHERS == 0
}

/// Whether a process is there; one of another user cannot be signalled.
fn lives(pid: Pid) -> bool {
    !matches!(test_kill_process(pid), Err(Errno::SRCH))
}

fn unlink(folder: &OwnedFd, pid: Pid) -> Result<(), Errno> {
    match unlinkat(folder, pid.as_raw_nonzero().to_string(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

pub(super) const WRITABLE_BY_OTHERS: u32 = 0o022;

#[cfg(test)]
mod tests {
    use super::*;

    struct Stage {
        root: tempfile::TempDir,
        presence: Presence,
    }

    fn at(root: &tempfile::TempDir, port: u16) -> Presence {
        Presence::open(File::open(root.path()).unwrap().as_fd(), port).unwrap()
    }

    fn stage() -> Stage {
        let root = tempfile::tempdir().unwrap();
        let presence = at(&root, 80);
        presence.enter().unwrap();
        Stage { root, presence }
    }

    impl Stage {
        /// As another process, which has this number, does it.
        fn enter(&self, pid: u32) -> PathBuf {
            let path = self.root.path().join(format!(".80/{pid}"));
            File::create(&path).unwrap();
            path
        }
    }

    #[test]
    fn a_run_that_takes_its_tokens_back_is_noticed_once() {
        let mut stage = stage();
        assert!(!stage.presence.has_others() && !stage.presence.has_one_gone());
        let other = stage.enter(std::os::unix::process::parent_id());
        assert!(stage.presence.has_others() && !stage.presence.has_one_gone());
        std::fs::remove_file(other).unwrap();
        assert!(!stage.presence.has_others() && stage.presence.has_one_gone());
        assert!(!stage.presence.has_one_gone());
    }

    #[test]
    fn a_killed_run_is_noticed_and_the_next_one_removes_its_file() {
        let mut stage = stage();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let file = stage.enter(child.id());
        assert!(stage.presence.has_others() && !stage.presence.has_one_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!stage.presence.has_others() && stage.presence.has_one_gone());
        stage.presence.enter().unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn a_run_at_another_port_is_none_of_them() {
        let mut stage = stage();
        let other = at(&stage.root, 81);
        std::fs::create_dir(stage.root.path().join(".81")).unwrap();
        let file = stage.root.path().join(format!(".81/{}", std::os::unix::process::parent_id()));
        File::create(&file).unwrap();
        assert!(other.has_others() && !stage.presence.has_others());
        std::fs::remove_file(file).unwrap();
        assert!(!stage.presence.has_one_gone());
    }

    #[test]
    fn the_last_run_that_leaves_removes_the_folder() {
        let mut stage = stage();
        let folder = stage.root.path().join(".80");
        let file = stage.enter(std::os::unix::process::parent_id());
        assert!(!stage.presence.has_one_gone());
        stage.presence.withdraw().unwrap();
        assert!(file.exists() && stage.presence.has_others());
        // The other one leaves as well.
        std::fs::remove_file(file).unwrap();
        std::fs::remove_dir(&folder).unwrap();
        assert!(!stage.presence.has_others() && stage.presence.has_one_gone());
        // Its folder is another one now, in which others are seen.
        let late = at(&stage.root, 80);
        late.enter().unwrap();
        let file = stage.enter(std::os::unix::process::parent_id());
        assert!(stage.presence.has_others() && !stage.presence.has_one_gone());
        std::fs::remove_file(file).unwrap();
        assert!(stage.presence.has_one_gone());
        late.withdraw().unwrap();
        assert!(!folder.exists());
        late.withdraw().unwrap();
    }

    #[test]
    fn a_run_enters_though_others_remove_the_folder_again_and_again() {
        let root = tempfile::tempdir().unwrap();
        let (presence, folder) = (at(&root, 80), root.path().join(".80"));
        let own = folder.join(std::process::id().to_string());
        let (rounds, begun) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let folder = &folder;
            // As often as a few runs that leave, each time that this one enters.
            scope.spawn(move || {
                while begun.recv().is_ok() {
                    (0..20).for_each(|_| drop(std::fs::remove_dir(folder)));
                }
            });
            for _ in 0..2000 {
                rounds.send(()).unwrap();
                presence.enter().unwrap();
                assert!(own.exists());
                presence.withdraw().unwrap();
            }
            drop(rounds);
        });
        assert!(!folder.exists());
    }
}
