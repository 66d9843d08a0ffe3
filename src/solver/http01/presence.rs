//! The runs that share a port: the runtime folder has a folder `.PORT` for each, in which an empty
//! file named by its process shows that a run has a token presented there. So a run learns, without
//! a look at every socket of the host, which others need its answers and that one has ended.

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat, fstat, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

/// The runs that share one port.
#[derive(Debug)]
pub(super) struct Presence {
    folder: OwnedFd,
    /// When the folder had last changed as it was looked at: seconds and nanoseconds.
    changed: Option<(i64, u64)>,
    /// The others that had a token presented then.
    others: HashSet<Pid>,
}

impl Presence {
    /// Opens the folder of a port, below the runtime folder.
    pub(super) fn open(runtime: impl AsFd, port: u16) -> Option<Self> {
        let uid = rustix::process::geteuid().as_raw();
        let path = format!(".{port}");
        let folder = private_folder(runtime, path.as_ref(), Mode::RWXU, uid)?;
        let mut presence = Self { folder, changed: None, others: HashSet::new() };
        presence.has_one_gone();
        Some(presence)
    }

    /// Shows that this process has a token presented. Files that killed processes left go.
    pub(super) fn enter(&self) -> Result<(), Errno> {
        for name in self.names().filter(|pid| !lives(*pid)) {
            unlink(&self.folder, name)?;
        }
        let own = getpid().as_raw_nonzero().to_string();
        // It may be there: an earlier process had the same number.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.folder, own, flags, Mode::RUSR | Mode::WUSR).map(|file| drop(File::from(file)))
    }

    /// This process has no token presented any more.
    pub(super) fn leave(&self) -> Result<(), Errno> {
        unlink(&self.folder, getpid())
    }

    /// Whether another process that lives has a token presented.
    pub(super) fn has_others(&self) -> bool {
        self.others().next().is_some()
    }

    /// Whether another process has taken its tokens back, or was killed, since the last call.
    pub(super) fn has_one_gone(&mut self) -> bool {
        let changed = fstat(&self.folder).ok().map(|stat| (stat.st_mtime, stat.st_mtime_nsec));
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
        self.names().filter(|pid| *pid != getpid() && lives(*pid))
    }

    fn names(&self) -> impl Iterator<Item = Pid> {
        let entries = Dir::read_from(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str().ok()?.parse().ok()?))
    }
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

    fn stage() -> Stage {
        let root = tempfile::tempdir().unwrap();
        let presence = Presence::open(File::open(root.path()).unwrap(), 80).unwrap();
        presence.enter().unwrap();
        Stage { root, presence }
    }

    impl Stage {
        /// As another process, which has this number, does it.
        fn enter(&self, pid: u32) -> std::path::PathBuf {
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
        let other = Presence::open(File::open(stage.root.path()).unwrap(), 81).unwrap();
        let file = stage.root.path().join(format!(".81/{}", std::os::unix::process::parent_id()));
        File::create(&file).unwrap();
        assert!(other.has_others() && !stage.presence.has_others());
        std::fs::remove_file(file).unwrap();
        assert!(!stage.presence.has_one_gone());
    }
}
