//! The runs that share a port: the runtime folder has a folder `.PORT` for each, in which an empty
//! file named by its process, and on Linux the time of its start, shows that a run has a token
//! presented there: numbers come back. So a run learns, without a look at every socket of the host,
//! which others need its answers and that one has ended, or was stopped.
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

use crate::program::ProcessState;

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
    others: HashSet<Process>,
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
        for process in processes(&folder).filter(|process| !process.lives()) {
            unlink(&folder, process)?;
        }
        let own = Process::this().name();
        // It may be there: an earlier process had the same number.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(folder, own, flags, Mode::RUSR | Mode::WUSR).map(|file| drop(File::from(file)))
    }

    /// This process has no token presented any more. The last one removes the folder.
    pub(super) fn withdraw(&self) -> Result<(), Errno> {
        match self.folder() {
            Ok(folder) => unlink(&folder, Process::this())?,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        }
        match unlinkat(&self.runtime, &self.path, AtFlags::REMOVEDIR) {
            // POSIX has two codes for a folder with files.
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Whether another process that is at work has a token presented.
    pub(super) fn has_others(&self) -> bool {
        self.others().next().is_some()
    }

    /// Whether another process has taken its tokens back, was killed or stopped, since the last call.
    pub(super) fn has_one_gone(&mut self) -> bool {
        let found = statat(&self.runtime, &self.path, AtFlags::SYMLINK_NOFOLLOW).ok();
        let changed = found.map(|stat| (stat.st_ino, stat.st_mtime, stat.st_mtime_nsec));
        // A process that is killed leaves its file.
        if changed == self.changed && self.others.iter().all(|process| process.is_at_work()) {
            return false;
        }
        let others: HashSet<Process> = self.others().collect();
        let has_gone = !others.is_superset(&self.others);
        (self.changed, self.others) = (changed, others);
        has_gone
    }

    fn others(&self) -> impl Iterator<Item = Process> {
        let found = self.folder().into_iter().flat_map(|folder| processes(&folder));
        found.filter(|process| process.pid != getpid() && process.is_at_work())
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

/// A process that has, or had, a token presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Process {
    pid: Pid,
    /// The time of its start, as the system counts; `None` where it does not say.
    started: Option<u64>,
}

impl Process {
    fn this() -> Self {
        let pid = getpid();
        let started = ProcessState::of(pid.as_raw_nonzero().get()).map(|found| found.started);
        Self { pid, started }
    }

    /// The one of a file.
    fn of(name: &str) -> Option<Self> {
        let (pid, started) = match name.split_once('-') {
            Some((pid, started)) => (pid, Some(started.parse().ok()?)),
            None => (name, None),
        };
        Some(Self { pid: Pid::from_raw(pid.parse().ok()?)?, started })
    }

    /// Its file.
    fn name(self) -> String {
        let pid = self.pid.as_raw_nonzero();
        self.started.map_or_else(|| pid.to_string(), |started| format!("{pid}-{started}"))
    }

    /// Whether it is there; one of another user cannot be signalled.
    fn lives(self) -> bool {
        let is_there = !matches!(test_kill_process(self.pid), Err(Errno::SRCH));
        is_there && self.state().is_none_or(|found| self.is_it(&found))
    }

    /// Whether it is there, and not stopped.
    fn is_at_work(self) -> bool {
        self.lives() && self.state().is_none_or(|found| !found.is_stopped)
    }

    fn state(self) -> Option<ProcessState> {
        ProcessState::of(self.pid.as_raw_nonzero().get())
    }

    /// Another process may have got its number.
    fn is_it(self, found: &ProcessState) -> bool {
        self.started.is_none_or(|started| started == found.started)
    }
}

fn processes(folder: &OwnedFd) -> impl Iterator<Item = Process> + use<> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Process::of(entry.file_name().to_str().ok()?))
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

fn unlink(folder: &OwnedFd, process: Process) -> Result<(), Errno> {
    match unlinkat(folder, process.name(), AtFlags::empty()) {
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_with_the_number_of_a_killed_run_is_none() {
        let stage = stage();
        let parent = std::os::unix::process::parent_id();
        let started = ProcessState::of(i32::try_from(parent).unwrap()).unwrap().started;
        let file = stage.root.path().join(format!(".80/{parent}-{}", started + 1));
        File::create(&file).unwrap();
        assert!(!stage.presence.has_others());
        stage.presence.enter().unwrap();
        assert!(!file.exists());
        let file = stage.root.path().join(format!(".80/{parent}-{started}"));
        File::create(&file).unwrap();
        assert!(stage.presence.has_others());
        stage.presence.enter().unwrap();
        assert!(file.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_stopped_run_is_waited_for_by_none_and_its_file_stays() {
        let mut stage = stage();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let file = stage.enter(child.id());
        assert!(stage.presence.has_others() && !stage.presence.has_one_gone());
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let is_stopped = || ProcessState::of(pid.as_raw_nonzero().get()).unwrap().is_stopped;
        while !is_stopped() {
            std::thread::yield_now();
        }
        assert!(!stage.presence.has_others() && stage.presence.has_one_gone());
        stage.presence.enter().unwrap();
        assert!(file.exists());
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        while is_stopped() {
            std::thread::yield_now();
        }
        assert!(stage.presence.has_others());
        child.kill().unwrap();
        child.wait().unwrap();
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
        let own = folder.join(Process::this().name());
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
